"""What is bound in a Python text so far, and what it owes.

In: what :mod:`cfgguide.languages.python_monitor` has followed. Out: a :class:`PythonState`, which
knows what may be read, and settles what an element of a statement has read and bound.
"""

from __future__ import annotations

from typing import Any, Self

from cfgguide.languages.python_scopes import (
    EMPTY,
    FIRST_IN,
    FOR,
    IN,
    NONE,
    PLACE,
    REST,
    VALUE,
    Block,
    Frame,
    Names,
    Scope,
)
from cfgguide.languages.python_words import NEVER_BOUND
from cfgguide.languages.states import FramedMonitor

START = Frame("start")
UNKNOWN = "\0"  # stands for all names that were never mentioned


class PythonState(FramedMonitor[Frame]):
    """What is bound in a Python text so far, and what it owes.

    Parameters
    ----------
    builtins : frozenset of str
        The names that are bound before the text.
    scopes : tuple of Scope
        What is being written, the module first.
    blocks : tuple of Block
        The blocks that are open.
    frames : tuple of Frame
        What is open in the statement, itself first.
    line : str
        "" in a statement, ":" after the colon of a header, "inline" in a statement after it.
    is_dotted : bool
        Whether a dot has just come.
    is_head : bool
        Whether only strings and imports from `__future__` have come.
    """

    __slots__ = (
        "_readable",
        "blocks",
        "builtins",
        "is_dotted",
        "is_head",
        "line",
        "scopes",
    )

    def __init__(
        self,
        builtins: Names,
        scopes: tuple[Scope, ...] = (Scope("module"),),
        blocks: tuple[Block, ...] = (),
        frames: tuple[Frame, ...] = (START,),
        line: str = "",
        is_dotted: bool = False,
        is_head: bool = True,
    ) -> None:
        super().__init__(builtins, scopes, blocks, frames, line, is_dotted, is_head)
        self.builtins = builtins
        self.scopes = scopes
        self.blocks = blocks
        self.frames = frames
        self.line = line
        self.is_dotted = is_dotted
        self.is_head = is_head
        self._readable: Names | None = None

    def __repr__(self) -> str:
        return f"PythonNames({self.scopes[1:]!r}, {self.frames!r})"

    # -- parts ------------------------------------------------------------------------------

    @property
    def _base(self) -> Frame:
        return self.frames[0]

    def _with(self, frames: tuple[Frame, ...], **changes: Any) -> Self:
        return type(self)(
            self.builtins,
            changes.get("scopes", self.scopes),
            changes.get("blocks", self.blocks),
            frames,
            changes.get("line", self.line),
            changes.get("is_dotted", False),
            changes.get("is_head", self.is_head),
        )

    # -- names ------------------------------------------------------------------------------

    @property
    def readable(self) -> Names:
        """The names that are bound here."""
        if self._readable is None:
            self._readable = self._found_readable()
        return self._readable

    def _found_readable(self) -> Names:
        names = outside(self.builtins, self.scopes)
        scope = self.scopes[-1]
        if scope.kind == "class" and self._sees_class():
            names |= scope.bound
        elif scope.kind != "class":
            pending = {*self._base.names, *(frame.named for frame in self.frames)}
            is_bound = scope.bound | scope.shared | scope.enclosing
            if scope.kind == "module":
                names |= scope.bound
            else:
                # A function's own names are not those of scopes around it.
                names = (names - (pending - is_bound)) | scope.bound
        for frame in self.frames:
            if frame.phase == IN:
                names -= frame.names
            names = (names - frame.late) | frame.bound
        return names

    def _sees_class(self) -> bool:
        """Return whether names of the class being written are visible: not in inner scopes."""
        return not any(
            (frame.is_clause and frame.phase not in (FIRST_IN,))
            or (frame.kind == "lambda" and frame.phase == "body")
            for frame in self.frames
        )

    def _read(self, name: str) -> Self | None:
        """Return the monitor after a name was read; None if nothing can bind it."""
        if name not in self.readable:
            return self._owed(name, len(self.frames))
        if any(name in frame.bound for frame in self.frames):
            return self
        scope = self.scopes[-1]
        if scope.kind == "class":
            is_own = name in scope.bound and name not in outside(self.builtins, self.scopes)
            return self._without_clauses() if is_own else self
        if scope.kind == "module" or name in scope.bound | scope.outer:
            return self
        if name in scope.shared | scope.enclosing:
            return self
        scope = scope._replace(outer=scope.outer | {name})
        return self._with(self.frames, scopes=(*self.scopes[:-1], scope))

    def _owed(self, name: str, below: int) -> Self | None:
        """Return the monitor where a comprehension has to bind a name; None if none can."""
        for place in range(below - 1, -1, -1):
            frame = self.frames[place]
            if frame.named == name or name in frame.walrus:
                return None  # `for` cannot bind what `:=` binds
            if frame.takes:
                return self._changed_at(place, reads=self.frames[place].reads | {name})
        return None

    def _without_clauses(self) -> Self | None:
        """Return the monitor where what is open does not become a comprehension."""
        if any(frame.takes and frame.reads for frame in self.frames):
            return None
        return self._with(
            tuple(f._replace(phase=REST) if f.takes else f for f in self.frames),
        )

    def _binds(self, name: str) -> bool:
        """Return whether the scope may bind a name."""
        return name not in self.scopes[-1].outer and name not in NEVER_BOUND

    def _bind(self, names: Names) -> Self:
        """Return the monitor where names are bound."""
        if not names:
            return self
        scopes = list(self.scopes)
        shared = names & scopes[-1].shared
        scopes[0] = scopes[0]._replace(bound=scopes[0].bound | shared)
        scopes[-1] = scopes[-1]._replace(bound=scopes[-1].bound | (names - shared))
        return self._with(self.frames, scopes=tuple(scopes))

    def _may_be_target(self, name: str) -> bool:
        """Return whether the list that is being written may bind a name."""
        for frame in reversed(self.frames):
            if not frame.is_target:
                return False
            if frame.is_clause:
                return name not in frame.walrus and name not in NEVER_BOUND
            if frame.kind == "as":
                break
        if self._base.kind == "del":
            return name in self.scopes[-1].bound
        return self._binds(name)

    # -- elements ---------------------------------------------------------------------------

    def _settled(self, **changes: Any) -> Self | None:
        """Return the monitor where the current element, and so the list, is no target."""
        top = self._top
        if top.is_target and (top.phase == FOR or top.kind in ("for", "as")):
            return None
        names = top.bare | top.done if top.is_target and top.kind != "del" else top.bare
        changed = {"bare": NONE, "shape": VALUE, **changes}
        if top.kind != "del":
            changed |= {"done": NONE, "is_target": False}
        return self._changed(**changed)._read_all(names)

    def _read_all(self, names: Names) -> Self | None:
        monitor: Self | None = self
        for name in sorted(names):
            monitor = None if monitor is None else monitor._read(name)
        return monitor

    def _finished(self) -> Self | None:
        """Return the monitor at the end of an element."""
        top = self._top
        if top.named and top.kind not in ("def", "async def", "class"):
            return self._changed(named="")._finished_named(top.named)
        if top.shape == EMPTY:
            return self
        if top.kind == "del":  # "a".b is no place here, but the grammar takes nothing else
            if top.shape not in (PLACE, VALUE) or not top.bare <= self.scopes[-1].bound:
                return None
            return self._changed(shape=EMPTY, is_ended=False, done=top.done | top.bare, bare=NONE)
        is_target = top.is_target and top.shape == PLACE
        if is_target and all(map(self._may_be_target, top.bare)):
            return self._changed(shape=EMPTY, is_ended=False, done=top.done | top.bare, bare=NONE)
        return self._settled(shape=EMPTY, is_ended=False)

    def _finished_named(self, name: str) -> Self | None:
        finished = self._settled(shape=EMPTY, is_ended=False)
        if finished is None:
            return None
        frames = tuple(
            f._replace(walrus=f.walrus | {name}, reads=f.reads - {name}) for f in finished.frames
        )
        for place in range(len(frames) - 1, -1, -1):
            frame = frames[place]
            if frame.kind == "lambda" and frame.phase == "body":
                return finished._with(frames)._changed_at(place, bound=frame.bound | {name})
        return finished._with(frames)._bind(frozenset({name}))

    def _value(self, *, is_ended: bool) -> Self | None:
        """Return the monitor after a lexeme that makes the element a value."""
        top = self._top
        if top.shape == VALUE and not top.bare:
            return self._changed(is_ended=is_ended)
        return self._settled(is_ended=is_ended)

    def _trailed(self) -> Self | None:
        """Return the monitor where what has come of an element is read, and goes on."""
        return self._changed(bare=NONE, is_ended=True)._read_all(self._top.bare)

    # -- blocks -----------------------------------------------------------------------------

    def _in_expression(self, word: str, text: str) -> Self | None:
        """Return the monitor after a lexeme of an expression; None if it may not stand here."""
        raise NotImplementedError

    def _block_ended(self) -> Self:
        *blocks, block = self.blocks
        scopes = self.scopes
        if block.kind in ("class", "def", "async def"):
            scopes = scopes[:-1]
        elif block.name:
            scope = scopes[-1]
            scopes = (*scopes[:-1], scope._replace(bound=scope.bound - {block.name}))
        return self._with(self.frames, blocks=tuple(blocks), scopes=scopes)

    def _entered(self, block: Block) -> Self:
        return self._with((START,), blocks=(*self.blocks, block), line=":")

    def _statement_ended(self, word: str) -> Self:
        started = self._with((START,))
        if word == ";" or self.line != "inline":
            return started
        return started._with((START,), line="")._block_ended()

    def _enclosing(self) -> Names:
        """Return the names that `nonlocal` may declare: of the functions around."""
        names = NONE
        for scope in self.scopes[1:-1]:
            if scope.kind != "class":
                names = (names | scope.bound) - scope.shared
        own = self.scopes[-1]
        return names - own.bound - own.outer - own.shared - own.enclosing - NEVER_BOUND


def outside(builtins: Names, scopes: tuple[Scope, ...]) -> Names:
    """Return the names of other scopes that are visible in the innermost one."""
    names = builtins | scopes[0].bound if len(scopes) > 1 else builtins
    if any(scope.kind == "class" for scope in scopes[:-1]) and "def" in scopes[-1].kind:
        names |= {"__class__"}
    for scope in scopes[1:-1]:
        if scope.kind != "class":
            names |= scope.bound
    for scope in reversed(scopes):
        if scope.kind != "class":
            break
        names -= {scope.hidden}
    own = scopes[-1]
    if own.kind == "class":
        names |= {"__module__", "__qualname__"}
    return names - (own.shared - scopes[0].bound - builtins)
