"""The monitor of Python's names: only names that are bound are read.

In: the lexemes of a text in ``grammars/python.lark``. Out: which names, and which other lexemes,
may come. It finds out by lexemes what is a target and what is read; of the rules it follows only
those that say where a lambda ends.

A name that is not bound may come where something can still bind it. Then what must follow is owed,
and all that would make it impossible is refused:

* at the start of a statement it must become a target (`x = 1`, `x, y = 1, 2`, `x: int`);
* in an argument, `f(x=1)`; in brackets and conditions, `(x := 1)`;
* in the element of a comprehension a `for` must bind it, `[x + 1 for x in y]`.

Source: https://docs.python.org/3/reference/executionmodel.html, section 4.2.
"""

from __future__ import annotations
import __future__ as future

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Any, ClassVar, Self

from cfgguide.monitors.monitor import Monitor
from cfgguide.monitors.python_scopes import (
    CALLED,
    ELEMENT,
    EMPTY,
    FIRST_IN,
    FOR,
    IF,
    IN,
    NONE,
    PLACE,
    REST,
    STAR,
    VALUE,
    Block,
    Frame,
    Names,
    Scope,
)
from cfgguide.monitors.texts import NOTHING, AllBut, OneOf, Texts

_START = Frame("start")
_NEVER_BOUND = frozenset({"__debug__"})
_UNKNOWN = "\0"  # stands for all names that were never mentioned

_WORDS = {
    "LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "LBRACE": "{", "RBRACE": "}",
    "COMMA": ",", "COLON": ":", "EQUAL": "=", "DOT": ".", "SEMICOLON": ";", "STAR": "*",
    "__ANON_0": "...", "__ANON_1": ":=", "__ANON_2": "**", "__ANON_3": "->",
    "FIELD": "{", "CONVERSION_END": "}", "SPEC_END": "}", "CONVERSION_COLON": ":",
}  # fmt: skip
_ATOMS = (
    *("DECIMAL", "REAL", "IMAGINARY", "NONE", "TRUE", "FALSE", "...", "UNDERSCORE"),
    *("DQ_EMPTY", "SQ_EMPTY"),
)
_OPERATORS = (
    *("AMPERSAND", "AND", "AT", "CIRCUMFLEX", "ELSE", "IS", "LESSTHAN", "MINUS", "MORETHAN"),
    *("NOT", "OR", "PERCENT", "PLUS", "SLASH", "TILDE", "VBAR", "FROM", "->", "FINALLY"),
    *(f"__ANON_{number}" for number in range(4, 11)),
)
_STRINGS = tuple(
    f"{prefix}{quotes}_START"
    for prefix in ("", "RAW_", "F_", "RF_", "B_", "RB_", "IN_", "IN_B_", "IN_F_")
    for quotes in ("DQ", "SQ", "TDQ", "TSQ")
)
_STRING_ENDS = ("DQ_END", "SQ_END", "TDQ_END", "TSQ_END")
_LINES = ("_NEWLINE", "_INDENT", "_DEDENT")
_KEYWORDS = {
    "IF": "if", "ELIF": "if", "WHILE": "if", "AT": "decorator", "FOR": "for", "WITH": "with",
    "DEF": "def", "CLASS": "class", "IMPORT": "import", "FROM": "from", "GLOBAL": "global",
    "NONLOCAL": "nonlocal", "DEL": "del", "RETURN": "value", "RAISE": "value", "ASSERT": "value",
    "TRY": "try", "ELSE": "if", "FINALLY": "if", "EXCEPT": "except", "ASYNC": "async",
    "YIELD": "value", "PASS": "value", "BREAK": "value", "CONTINUE": "value",
}  # fmt: skip
_BLOCKS = ("if", "for", "with", "try", "except")
_NAMES = ("NAME", "CAPTURE")
_LAMBDAS = frozenset(
    f"lambdef{{{literals}}}"
    for literals in (
        *("literal", "_dq_literal", "_sq_literal", "_tdq_literal", "_tsq_literal"),
        "_both_literal",
    )
)


class PythonNames(Monitor):
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
        "_hash",
        "_known",
        "_readable",
        "blocks",
        "builtins",
        "frames",
        "is_dotted",
        "is_head",
        "line",
        "scopes",
    )

    terminals: ClassVar[frozenset[str]] = frozenset()  # set below
    rules: ClassVar[frozenset[str]] = _LAMBDAS

    def __init__(
        self,
        builtins: Names,
        scopes: tuple[Scope, ...] = (Scope("module"),),
        blocks: tuple[Block, ...] = (),
        frames: tuple[Frame, ...] = (_START,),
        line: str = "",
        is_dotted: bool = False,
        is_head: bool = True,
    ) -> None:
        self.builtins = builtins
        self.scopes = scopes
        self.blocks = blocks
        self.frames = frames
        self.line = line
        self.is_dotted = is_dotted
        self.is_head = is_head
        self._hash = hash(self._state)
        self._readable: Names | None = None
        self._known: dict[str, Texts | None] = {}

    @property
    def _state(self) -> tuple[Hashable, ...]:
        return (
            *(self.frames, self.scopes, self.blocks),
            *(self.line, self.is_dotted, self.is_head),
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, PythonNames)
            and self._hash == other._hash
            and self._state == other._state
            and self.builtins == other.builtins
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"PythonNames({self.scopes[1:]!r}, {self.frames!r})"

    @property
    def can_finish(self) -> bool:
        """True: what would leave no way on is refused."""
        return True

    # -- events -----------------------------------------------------------------------------

    def texts(self, terminal: str) -> Texts | None:
        """Return which texts of a terminal may stand here; None if all may."""
        if terminal not in self._known:
            if terminal in _NAMES:
                self._known[terminal] = self._names()
            else:
                text = _SPELLED.get(terminal, "")
                is_taken = self._after(_WORDS.get(terminal, terminal), text) is not None
                self._known[terminal] = None if is_taken else NOTHING
        return self._known[terminal]

    def _names(self) -> Texts | None:
        """Return which names may come: some that were mentioned, and all others or none."""
        mentioned = set(_NEVER_BOUND)
        for scope in self.scopes:
            mentioned.update(scope.bound, scope.outer, scope.shared, scope.enclosing)
        for frame in self.frames:
            mentioned.update(frame.names, frame.bound, frame.walrus, frame.done, frame.bare)
            mentioned.update(frame.reads, (frame.named,))
        mentioned.update(("__future__", "__class__", "__module__", "__qualname__"))
        mentioned.update(future.all_feature_names)
        mentioned.discard("")
        taken = {name for name in mentioned if self._after("NAME", name) is not None}
        others = self.builtins - mentioned
        if others and self._after("NAME", min(others)) is not None:
            taken |= others
        if self._after("NAME", _UNKNOWN) is None:
            return OneOf(taken)
        refused = (mentioned | self.builtins) - taken
        return AllBut(refused) if refused else None

    def shifted(self, terminal: str, text: str) -> Self:
        """Return the monitor after a lexeme that may stand here."""
        after = self._after(_WORDS.get(terminal, terminal), text)
        assert after is not None, "texts() allowed it"
        return after

    def reduced(self, rule: str) -> Self | None:
        """Return the monitor after a lambda."""
        return self._with(self.frames[:-1])

    # -- parts ------------------------------------------------------------------------------

    @property
    def _top(self) -> Frame:
        return self.frames[-1]

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

    def _changed(self, **changes: Any) -> Self:
        """Return the monitor with a change to the frame on top."""
        return self._with((*self.frames[:-1], self._top._replace(**changes)))

    def _changed_at(self, place: int, **changes: Any) -> Self:
        frames = list(self.frames)
        frames[place] = frames[place]._replace(**changes)
        return self._with(tuple(frames))

    def _pushed(self, frame: Frame) -> Self:
        return self._with((*self.frames, frame))

    # -- names ------------------------------------------------------------------------------

    @property
    def readable(self) -> Names:
        """The names that are bound here."""
        if self._readable is None:
            self._readable = self._found_readable()
        return self._readable

    def _found_readable(self) -> Names:
        names = _outside(self.builtins, self.scopes)
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
            is_own = name in scope.bound and name not in _outside(self.builtins, self.scopes)
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
        return name not in self.scopes[-1].outer and name not in _NEVER_BOUND

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
                return name not in frame.walrus and name not in _NEVER_BOUND
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

    # -- lexemes ----------------------------------------------------------------------------

    def _after(self, word: str, text: str) -> Self | None:
        """Return the monitor after a lexeme; None if it may not stand here."""
        after: Self | None = _after(self, word, text)
        return after

    def _moved(self, word: str, text: str) -> Self | None:
        if self.is_dotted:
            return self._after_dot(text) if word in _NAMES else self._after_name_free(word)
        top = self._top
        if top.kind == "as" and word in (",", ":", ")"):
            closed = self._as_closed()
            return None if closed is None else closed._moved(word, text)
        if top.kind == "start":
            return self._started(word, text)
        base = _STATEMENTS.get(top.kind)
        if base is not None:
            special: Self | None = base(self, word, text)
            return special
        if self._base.kind == "match?" and len(self.frames) == 1:
            return self._after_match(word, text)
        handler = _HANDLERS.get(word)
        if handler is not None:
            after: Self | None = handler(self, word, text)
            return after
        return self._value(is_ended=False)

    def _after_dot(self, text: str) -> Self | None:
        return self._changed(is_ended=True)

    def _after_name_free(self, word: str) -> Self | None:
        """Dots and `import` may follow a dot in an import."""
        if word in (".", "..."):
            return self._with(self.frames, is_dotted=True)
        return self._changed(phase="names") if word == "IMPORT" else None

    def _started(self, word: str, text: str) -> Self | None:
        if word in _LINES:
            return self._line_moved(word)
        line = "inline" if self.line == ":" else self.line
        is_string = word in _STRINGS
        is_head = self.is_head and (is_string or word == "FROM")
        start = self._with(self.frames, line=line, is_head=is_head)
        kind = _KEYWORDS.get(word)
        is_case = word == "CASE" and self.blocks[-1:] == (Block("match"),) and not self.line
        if is_case:
            return start._with((Frame("case", is_target=True),))
        if word == "MATCH":
            frame = Frame("match?", shape=PLACE, is_ended=True, is_target=True)
            return start._with((frame._replace(bare=frozenset({"match"})),))
        if kind is None:
            return start._with((Frame("expression", is_target=True),))._moved(
                "NAME" if word == "CASE" else word, text
            )
        scope = self.scopes[-1]
        if kind in ("global", "nonlocal") and "def" not in scope.kind:
            return None
        if kind == "nonlocal" and not self._enclosing():
            return None
        if word == "YIELD":
            return start._with((Frame("value"),))._yield(word, text)
        is_target = kind in ("for", "del")
        return start._with((Frame(kind, is_target=is_target),))

    def _line_moved(self, word: str) -> Self | None:
        if word == "_INDENT":
            return self
        if word == "_DEDENT":
            return self._block_ended()
        return self._with(self.frames, line="") if self.line == ":" else self

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
        return self._with((_START,), blocks=(*self.blocks, block), line=":")

    def _after_match(self, word: str, text: str) -> Self | None:
        """`match` is a name, or begins a match statement."""
        is_bound = "match" in self.readable
        if word in (*_NAMES, *_ATOMS, *_STRINGS, "{", "NOT", "AWAIT", "TILDE", "LAMBDA"):
            return self._with((Frame("match"),))._moved(word, text)
        if not is_bound and word not in ("=", ",", ":"):
            return None
        return self._changed(kind="expression")._moved(word, text)

    def _name(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.kind in ("lambda", "params") and top.shape == EMPTY and top.phase != "body":
            if text in top.names or text in _NEVER_BOUND:
                return None
            return self._changed(names=top.names | {text}, shape=PLACE, is_ended=True)
        if top.shape not in (EMPTY, STAR):
            read = self._read(text)
            return None if read is None else read._changed(is_ended=True)
        is_free = (
            text in self.readable
            or self._may_be_target(text)
            or self._owed(text, len(self.frames)) is not None
            or (top.shape == EMPTY and self._may_be_named(text))
        )
        if not is_free:
            return None
        return self._changed(bare=frozenset({text}), shape=PLACE, is_ended=True)

    def _may_be_named(self, name: str) -> bool:
        """Return whether `=` of an argument or `:=` may follow a name here."""
        top = self._top
        return top.kind == "call" or self._takes_walrus(name)

    def _takes_walrus(self, name: str) -> bool:
        top = self._top
        if top.kind not in ("(", "[", "{", "call", "index", "if", "decorator", "match"):
            return False
        if self._base.kind in ("annotated", "def", "async def"):
            return False
        if any(f.phase in (FIRST_IN, IN, FOR) and f.is_clause for f in self.frames):
            return False
        if any(name in f.bound | f.names | f.late or name == f.named for f in self.frames):
            return False
        if any(name in f.reads and f.phase != IF for f in self.frames):
            return False
        is_inner = any(f.is_clause for f in self.frames)
        if self.scopes[-1].kind == "class" and (is_inner or self._without_clauses() is None):
            return False
        return self._binds(name) and name not in self.scopes[-1].enclosing

    def _walrus(self, word: str, text: str) -> Self | None:
        top = self._top
        names = top.bare
        if len(names) != 1 or top.shape != PLACE or not self._takes_walrus(*names):
            return None
        (name,) = names
        after = self._changed(bare=NONE)._settled(named=name, is_ended=False)
        if after is not None and self.scopes[-1].kind == "class":
            after = after._without_clauses()
        return after

    def _dot(self, word: str, text: str) -> Self | None:
        after = self._trailed()
        if after is None:
            return None
        shape = VALUE if after._top.shape == VALUE else PLACE
        return after._with(after._changed(shape=shape).frames, is_dotted=True)

    def _open(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.is_ended and word in ("(", "["):
            after = self._trailed()
            if after is None:
                return None
            if after._top.shape != VALUE:
                after = after._changed(shape=CALLED if word == "(" else PLACE)
            kind, phase = ("call", ELEMENT) if word == "(" else ("index", REST)
            if ("def" in top.kind or top.kind == "class") and top.shape == EMPTY:
                kind, phase = ("params" if "def" in top.kind else "call"), REST
            return after._pushed(Frame(kind, phase))
        is_target = word != "{" and self._is_target_here() and top.shape in (EMPTY, STAR)
        opened: Self | None = self._changed(is_ended=True)
        if top.shape in (EMPTY, STAR):
            opened = self._changed(shape=CALLED, is_ended=True)
        return None if opened is None else opened._pushed(Frame(word, ELEMENT, is_target=is_target))

    def _is_target_here(self) -> bool:
        return self._top.is_target

    def _close(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.kind in ("(", "field") and top.has_star and not top.has_comma:
            return None
        finished = self._finished()
        if finished is None:
            return None
        top = finished._top
        left = top.reads - (top.names | top.bound if top.is_clause else NONE)
        is_target = top.is_target and not top.is_clause
        after: Self | None = finished._with(finished.frames[:-1])
        for name in sorted(left):
            after = None if after is None else after._owed(name, len(after.frames))
        if after is None:
            return None
        below = after._top
        if top.kind == "params":
            return after._changed(names=top.names)
        if is_target and below.shape == CALLED:
            return after._changed(shape=PLACE, bare=below.bare | top.done)
        return after

    def _comma(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.kind in ("lambda", "params"):
            return self._changed(shape=EMPTY, is_ended=False)
        finished = self._finished()
        if finished is None:
            return None
        if top.phase == FOR and top.is_clause:
            return finished._changed(has_comma=True)
        ceased = finished._ceased()
        return None if ceased is None else ceased._changed(has_comma=True)

    def _ceased(self) -> Self | None:
        """Return the monitor where the frame on top becomes no comprehension."""
        top = self._top
        if not (top.takes or top.is_clause):
            return self
        left = top.reads - (top.names | top.bound if top.is_clause else NONE)
        after: Self | None = self._changed(phase=REST, reads=NONE)
        for name in sorted(left):
            after = None if after is None else after._owed(name, len(after.frames))
        return after

    def _equal(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.kind == "call":
            return self._changed(bare=NONE, shape=VALUE, is_ended=False)._ceased()
        if top.kind == "lambda" or top.kind == "params":
            return self._changed(shape=VALUE, is_ended=False)
        if top.kind == "field":
            if top.has_star and not top.has_comma:
                return None
            settled = self._settled()
            return None if settled is None else settled._ceased()
        if top.kind == "annotated":
            settled = self._settled(done=NONE, is_ended=False)
            return None if settled is None else settled._changed(kind="value", names=top.done)
        finished = self._finished()
        if finished is None or not finished._top.is_target:
            return None
        top = finished._top
        if top.has_star and not top.has_comma:
            return None
        names = top.names | top.done
        return finished._changed(names=names, done=NONE, has_comma=False, has_star=False)

    def _augmented(self, word: str, text: str) -> Self | None:
        names = self._top.bare
        read = self._settled(is_ended=False)
        if read is None or not all(map(read._binds, names)):
            return None
        return read._changed(kind="value", names=names)

    def _colon(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.kind == "lambda" and top.phase == "parameters":
            return self._changed(phase="body", bound=top.names, shape=VALUE, is_ended=False)
        if top.kind == "params":
            return self._changed(shape=VALUE, is_ended=False)
        if top.kind in ("{", "dict"):
            settled = self._settled(is_ended=False)
            return None if settled is None else settled._changed(kind="dict")
        if top.kind == "index":
            finished = self._finished()
            return None if finished is None else finished._changed(shape=VALUE)
        if top.kind == "field":
            if top.has_star and not top.has_comma:
                return None
            finished = self._finished()
            ceased = None if finished is None else finished._ceased()
            return None if ceased is None else ceased._changed(phase="spec")
        return self._header_ended()

    def _header_ended(self) -> Self | None:
        top = self._top
        if top.kind == "expression":
            return self._annotated()
        finished = self._finished()
        if finished is None or (top.has_star and not top.has_comma):
            return None
        top = finished._top
        if top.kind == "for":
            finished = finished._bind(top.names)
        if top.kind in _BLOCKS:
            return finished._entered(Block(top.kind))
        if top.kind == "match":
            return finished._entered(Block("match"))
        if top.kind not in ("def", "async def", "class"):
            return None
        is_visible = top.named in _outside(self.builtins, (*self.scopes, Scope("def")))
        bound = finished._bind(frozenset({top.named}))
        if top.kind == "class":
            scope = Scope("class", hidden="" if is_visible else top.named)
        else:
            scope = Scope(top.kind, top.names)
        entered = bound._entered(Block(top.kind))
        return entered._with(entered.frames, scopes=(*entered.scopes, scope))

    def _annotated(self) -> Self | None:
        finished = self._finished()
        if finished is None:
            return None
        top, scope = finished._top, self.scopes[-1]
        if not top.is_target or top.has_comma:  # match x, y:
            settled = finished._settled(shape=EMPTY)
            return None if settled is None else settled._entered(Block("match"))
        if top.done & (scope.shared | scope.enclosing):
            return None
        return finished._changed(kind="annotated", is_target=False)

    def _for(self, word: str, text: str) -> Self | None:
        top = self._top
        if not (top.takes or top.is_clause):
            return None
        after = self._clause_ended()
        if after is None or not (after._top.takes or after._top.is_clause):
            return None
        return after._changed(
            phase=FOR,
            is_target=True,
            has_comma=False,
            has_star=False,
            shape=EMPTY,
            is_ended=False,
            kind="(" if top.kind == "call" else top.kind,
            late=after._top.walrus if top.takes else top.late,
        )

    def _clause_ended(self) -> Self | None:
        """Return the monitor at the end of an element, an iterable or a condition."""
        top = self._top
        finished = self._finished() if not top.is_target else self._settled(is_ended=False)
        if finished is None or not top.is_clause:
            return finished
        return finished._changed(
            names=NONE,
            bound=top.bound | top.names,
            reads=finished._top.reads - top.names,
            shape=VALUE,
            is_ended=False,
        )

    def _in(self, word: str, text: str) -> Self | None:
        top = self._top
        if not top.is_target or not (top.phase == FOR or top.kind == "for"):
            return self._value(is_ended=False)
        finished = self._finished()
        if finished is None or (top.has_star and not (top.has_comma or finished._top.has_comma)):
            return None
        phase = top.phase
        if phase == FOR:
            phase = IN if top.bound or top.phase == IN else FIRST_IN
        return finished._changed(
            names=finished._top.done,
            done=NONE,
            is_target=False,
            has_star=False,
            has_comma=False,
            phase=phase,
            shape=VALUE,
            is_ended=False,
        )

    def _if(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.is_clause and top.phase in (FIRST_IN, IN, IF):
            ended = self._clause_ended()
            return None if ended is None else ended._changed(phase=IF)
        return self._value(is_ended=False)

    def _async(self, word: str, text: str) -> Self | None:
        if self.scopes[-1].kind != "async def" or any(f.kind == "lambda" for f in self.frames):
            return None
        top = self._top
        if not (top.takes or top.is_clause):
            return None
        ended = self._clause_ended()
        return ended if ended is None or not top.is_clause else ended._changed(phase=IF)

    def _lambda(self, word: str, text: str) -> Self | None:
        value = self._value(is_ended=True)
        return None if value is None else value._pushed(Frame("lambda", "parameters"))

    def _yield(self, word: str, text: str) -> Self | None:
        scope, kind = self.scopes[-1].kind, self._base.kind
        if scope != "def" or kind in ("def", "async def", "annotated", "class", "decorator"):
            return None
        if any(frame.is_clause or frame.kind == "lambda" for frame in self.frames):
            return None
        value = self._value(is_ended=False)
        return None if value is None else value._without_clauses()

    def _await(self, word: str, text: str) -> Self | None:
        if self.scopes[-1].kind != "async def" or self._base.kind in ("async def", "annotated"):
            return None
        if any(frame.kind == "lambda" for frame in self.frames):
            return None
        return self._value(is_ended=False)

    def _star(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.kind in ("lambda", "params") and top.shape == EMPTY and top.phase != "body":
            return self
        if top.shape != EMPTY:
            value = self._value(is_ended=False)
            is_first = word == "*" and not top.is_ended and top.shape == VALUE
            return value if value is None or not is_first else value._changed(has_star=True)
        if top.kind == "as" or (top.has_star and (top.phase == FOR or top.kind == "for")):
            return None
        ceased: Self | None = self if top.phase == FOR else self._ceased()
        if ceased is not None and top.has_star and top.is_target:
            ceased = ceased._settled(shape=EMPTY)
        if ceased is None:
            return None
        if word == "**":
            return ceased._changed(shape=VALUE)
        return ceased._changed(shape=STAR, has_star=True)

    def _as(self, word: str, text: str) -> Self | None:
        finished = self._finished()
        if finished is None:
            return None
        ceased = finished._ceased()
        return None if ceased is None else ceased._pushed(Frame("as", is_target=True))

    def _as_closed(self) -> Self | None:
        finished = self._finished()
        if finished is None:
            return None
        names = finished._top.done
        return finished._with(finished.frames[:-1])._bind(names)

    def _string(self, word: str, text: str) -> Self | None:
        value = self._value(is_ended=True)
        return None if value is None else value._pushed(Frame("string"))

    def _in_string(self, word: str, text: str) -> Self | None:
        if word in _STRING_ENDS:
            return self._with(self.frames[:-1])
        return self._pushed(Frame("field", ELEMENT))

    def _in_field(self, word: str, text: str) -> Self | None:
        if self._top.phase == "spec":
            if word == "}":
                return self._with(self.frames[:-1])
            return self._pushed(Frame("field", ELEMENT)) if word == "{" else self
        handler = _HANDLERS.get(word)
        return self._value(is_ended=False) if handler is None else handler(self, word, text)

    def _line_ended(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.has_star and not top.has_comma:
            return None
        if top.kind == "annotated" and top.shape == EMPTY:  # match x:
            return self._with((_START,), blocks=(*self.blocks, Block("match")))
        if top.kind == "expression":
            ended = self._settled()
        elif top.kind == "del":
            ended = self._finished()
        else:
            ended = self._settled(done=NONE)
        if ended is None:
            return None
        is_del = top.kind == "del"
        ended = ended._deleted(ended._top.done) if is_del else ended._bind(top.names)
        return ended._statement_ended(word)

    def _statement_ended(self, word: str) -> Self:
        started = self._with((_START,))
        if word == ";" or self.line != "inline":
            return started
        return started._with((_START,), line="")._block_ended()

    def _deleted(self, names: Names) -> Self:
        for block in reversed(self.blocks):
            if block.kind in ("if", "try", "except"):
                return self
            if block.kind in ("def", "async def", "class"):
                break
        scope = self.scopes[-1]
        scope = scope._replace(bound=scope.bound - names)
        return self._with(self.frames, scopes=(*self.scopes[:-1], scope))

    # -- statements that name things ---------------------------------------------------------

    def _import(self, word: str, text: str) -> Self | None:
        top = self._top
        if word in _NAMES:
            if not self._binds(text):
                return None
            if top.phase == "future" and text not in future.all_feature_names:
                return None
            return self._changed(bare=frozenset({text}), shape=VALUE)
        if word == ",":
            return self._changed(shape=EMPTY, done=top.done | top.bare, bare=NONE)
        if word == ".":
            return self._with(self.frames, is_dotted=True)
        if word == "*":
            return self if self.scopes[-1].kind == "module" and top.phase != "future" else None
        if word in ("_NEWLINE", ";"):
            bound = self._bind(top.done | top.bare)
            is_head = self.is_head and top.phase == "future"
            return bound._with(bound.frames, is_head=is_head)._statement_ended(word)
        return self

    def _from(self, word: str, text: str) -> Self | None:
        top = self._top
        if word in _NAMES:
            if text == "__future__" and not top.has_comma:
                return self._changed(phase="future", has_comma=True) if self.is_head else None
            return self._changed(has_comma=True)
        if word in (".", "..."):
            if top.phase == "future":
                return None
            return self._changed(has_comma=True)
        return self._with((Frame("import", top.phase),))

    def _global(self, word: str, text: str) -> Self | None:
        if word in ("_NEWLINE", ";"):
            return self._statement_ended(word)
        if word not in _NAMES:
            return self
        scope = self.scopes[-1]
        if text in scope.bound | scope.outer | scope.shared | scope.enclosing | _NEVER_BOUND:
            return None
        if self._top.kind == "global":
            scope = scope._replace(shared=scope.shared | {text})
        elif text not in self._enclosing():
            return None
        else:
            scope = scope._replace(enclosing=scope.enclosing | {text})
        return self._with(self.frames, scopes=(*self.scopes[:-1], scope))

    def _enclosing(self) -> Names:
        """Return the names that `nonlocal` may declare: of the functions around."""
        names = NONE
        for scope in self.scopes[1:-1]:
            if scope.kind != "class":
                names = (names | scope.bound) - scope.shared
        own = self.scopes[-1]
        return names - own.bound - own.outer - own.shared - own.enclosing - _NEVER_BOUND

    def _definition(self, word: str, text: str) -> Self | None:
        top = self._top
        if word in _NAMES and not top.named:
            if not self._binds(text):
                return None
            return self._changed(named=text, is_ended=True)
        handler = _HANDLERS.get(word)
        return self._value(is_ended=False) if handler is None else handler(self, word, text)

    def _async_statement(self, word: str, text: str) -> Self | None:
        kind = "async def" if word == "DEF" else _KEYWORDS[word]
        return self._with((Frame(kind, is_target=kind == "for"),))

    def _except(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.named == "as":
            if word in _NAMES:
                return self._changed(done=frozenset({text})) if self._binds(text) else None
            (name,) = top.done
            was_bound = name in self.scopes[-1].bound
            block = Block("except", "" if was_bound else name)
            return self._bind(top.done)._entered(block)
        if word == "AS":
            settled = self._settled(shape=EMPTY)
            return None if settled is None else settled._changed(named="as")
        if word == "*" and top.shape == EMPTY:
            return self
        handler = _HANDLERS.get(word)
        return self._value(is_ended=False) if handler is None else handler(self, word, text)

    # -- patterns ---------------------------------------------------------------------------

    def _pattern(self, word: str, text: str) -> Self | None:
        """Follow `case`: captures are gathered in the statement's frame."""
        base, top = self._base, self._top
        if word in _NAMES:
            return self._capture(word, text)
        if word == ".":
            read = self._changed(bare=NONE, shape=VALUE)._read_all(top.bare)
            return None if read is None else read._with(read.frames, is_dotted=True)
        if word == "(" and top.is_ended:
            read = self._changed(bare=NONE, shape=VALUE)._read_all(top.bare)
            return None if read is None else read._pushed(Frame("pattern", "class"))
        if word == "=":
            return self._changed(bare=NONE, shape=EMPTY, is_ended=False)
        caught = self._captured()
        if caught is None:
            return None
        if word in ("(", "[", "{"):
            phase = "key" if word == "{" else REST
            return caught._changed(shape=VALUE)._pushed(Frame("pattern", phase))
        if word in (")", "]", "}"):
            closed = caught._with(caught.frames[:-1])
            return closed._changed(is_ended=True)
        if word == "IF":
            return caught._with((Frame("if"),))._bind(caught._base.done)
        if word == ":" and len(self.frames) == 1:
            return caught._with((Frame("if"),))._bind(caught._base.done)._entered(Block("case"))
        if "F_" in word and word in _STRINGS:
            return None
        if word in _STRINGS:
            return caught._changed(shape=VALUE)._pushed(Frame("string"))
        if word == "VBAR":
            if caught._base.done:
                return None
            return caught._changed_at(0, is_target=False)._changed(shape=EMPTY, is_ended=False)
        if word == "AS" and not base.is_target:
            return None
        if word in (":", "AS", "**", "*"):
            phase = "value" if top.phase == "key" else top.phase
            if word == "*" and not base.is_target:
                return None
            return caught._changed(shape=EMPTY, is_ended=False, phase=phase)
        if word == ",":
            phase = "key" if top.phase == "value" else top.phase
            return caught._changed(shape=EMPTY, is_ended=False, phase=phase)
        return caught._changed(shape=VALUE, is_ended=word in _ATOMS)

    def _capture(self, word: str, text: str) -> Self | None:
        base, top = self._base, self._top
        may_capture = (
            base.is_target
            and top.phase != "key"
            and text not in base.done
            and self._binds(text)
            and text not in _NEVER_BOUND
        )
        may_be_word = top.phase == "class" and top.shape == EMPTY
        if not (may_capture or may_be_word or text in self.readable):
            return None
        if may_be_word and not may_capture and text not in self.readable:
            return None
        return self._changed(bare=frozenset({text}), shape=PLACE, is_ended=True)

    def _captured(self) -> Self | None:
        """Return the monitor where the name that has just come is a capture."""
        base, top = self._base, self._top
        if not top.bare:
            return self
        (name,) = top.bare
        if not base.is_target or top.phase == "key" or name in base.done or not self._binds(name):
            return None
        after = self._changed(bare=NONE)
        return after._changed_at(0, done=after._base.done | {name})

    # -- the end ----------------------------------------------------------------------------

    def way_out(self) -> Iterator[tuple[str, str]]:
        """Yield lexemes that lead towards the end of the text."""
        top = self._top
        yield from _CLOSING
        if top.shape != EMPTY and any(each.reads - each.done for each in self.frames):
            yield "FOR", "for"
        if top.phase == FOR and top.is_clause:
            missing = sorted(top.reads - top.done - top.bare)
            for name in missing:
                yield "NAME", name
            if missing:
                yield "COMMA", ","
            yield "IN", "in"
            yield "NAME", "_"
        yield from _WAYS_OUT


def _outside(builtins: Names, scopes: tuple[Scope, ...]) -> Names:
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


@lru_cache(maxsize=50_000)
def _after(monitor: Any, word: str, text: str) -> Any:
    return monitor._moved(word, text)


_P = PythonNames
_HANDLERS: dict[str, Any] = {
    **dict.fromkeys(_ATOMS, lambda monitor, word, text: monitor._value(is_ended=True)),
    **dict.fromkeys(_NAMES, _P._name),
    **dict.fromkeys(("(", "[", "{"), _P._open),
    **dict.fromkeys((")", "]", "}"), _P._close),
    **dict.fromkeys(_STRINGS, _P._string),
    **dict.fromkeys(("_NEWLINE", ";"), _P._line_ended),
    **dict.fromkeys(("*", "**"), _P._star),
    ".": _P._dot,
    ",": _P._comma,
    "=": _P._equal,
    ":": _P._colon,
    ":=": _P._walrus,
    "AUGMENTED": _P._augmented,
    "FOR": _P._for,
    "ASYNC": _P._async,
    "IN": _P._in,
    "IF": _P._if,
    "LAMBDA": _P._lambda,
    "YIELD": _P._yield,
    "AWAIT": _P._await,
    "AS": _P._as,
}
_STATEMENTS: dict[str, Any] = {
    "string": _P._in_string,
    "field": _P._in_field,
    "import": _P._import,
    "from": _P._from,
    "global": _P._global,
    "nonlocal": _P._global,
    "async": _P._async_statement,
    "except": _P._except,
    "case": _P._pattern,
    "pattern": _P._pattern,
    **dict.fromkeys(("def", "async def", "class"), _P._definition),
}
_SPELLED = {"CASE": "case", "MATCH": "match"}
_CLOSING = (("RPAR", ")"), ("RSQB", "]"), ("RBRACE", "}"))
_WAYS_OUT = (("ELSE", "else"), ("COLON", ":"), ("EQUAL", "="), ("DECIMAL", "1"))
PythonNames.terminals = frozenset(
    {
        *_WORDS,
        *(word for word in (*_ATOMS, *_OPERATORS) if word.isidentifier()),
        *(_STRINGS + _STRING_ENDS + _LINES + _NAMES),
        *_KEYWORDS,
        *("AS", "AUGMENTED", "AWAIT", "CASE", "IN", "LAMBDA", "MATCH"),
    }
)
