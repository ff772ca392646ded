"""The pushdown automaton of messages: their structure, and the JSON values in it.

In: a :class:`~cfgguide.schema.messages.structure.Structure`, and the schemas of its values. Out: a
:class:`MessageAutomaton`. It reads what is around a value in states of its own, and the value as a
:class:`~cfgguide.schema.automaton.SchemaAutomaton` does: its frame says where the message goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from cfgguide.base.limits import Steps
from cfgguide.base.symbols import SYMBOLS
from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration
from cfgguide.grammar.lr.stack import Stack
from cfgguide.schema.automaton import JsonLayout, SchemaAutomaton
from cfgguide.schema.endings import NoShortEndingError, SchemaEndings
from cfgguide.schema.messages.parts import UnsupportedTagError
from cfgguide.schema.messages.structure import Structure, StructureState
from cfgguide.schema.messages.token_limits import LEFT, MessageLimits
from cfgguide.schema.places import Hole, Part
from cfgguide.schema.solver.nodes import Node
from cfgguide.schema.solver.values import Values

#: The bytes with which values of each kind begin.
_BEGINS = {
    "null": b"n",
    "true": b"t",
    "false": b"f",
    "number": b"-0123456789",
    "string": b'"',
    "array": b"[",
    "object": b"{",
}
_MANY = 32  # bytes: a state that reads more reads text
_IN_NUMBERS = frozenset(b"+-.0123456789eE")


class MessageAutomaton(SchemaAutomaton):
    """Reads messages.

    Parameters
    ----------
    structure : callable
        Makes what is around the values, and asks for each state of it whether it can be read.
    roots : sequence of Node
        Of the schema of each value, by its number.
    symbols : mapping of str to int
        The bytes of tokens that are no text, by names.
    layout, is_ordered, steps :
        As for :class:`SchemaAutomaton`.

    Raises
    ------
    UnsupportedTagError
        If a value may come where text or another value may begin with the same byte.
    """

    def __init__(
        self,
        structure: Callable[[Callable[[StructureState], None]], Structure],
        roots: Sequence[Node],
        symbols: Mapping[str, int],
        layout: JsonLayout,
        *,
        is_ordered: bool,
        steps: Steps | None = None,
    ) -> None:
        self._structure_with = structure
        self._symbols = {byte: name for name, byte in symbols.items()}
        super().__init__(roots, layout, is_ordered=is_ordered, steps=steps)
        for state in self.structure.states:
            for number, target in state.values:
                self._check_end(self.roots[number], self.structure.states[target])
        if self.structure.limits:
            self.token_limits = MessageLimits(self)

    def _begun(self) -> int:
        self.structure = self._structure_with(self._check)
        return self.state_of(0)

    def _check(self, state: StructureState) -> None:
        """Check that the next byte tells whether a value begins, and which."""
        taken = {byte for data, _ in state.moves for byte in data} if state.values else set()
        for number, _ in state.values:
            for kind in self.roots[number].kinds:
                begins = set(_BEGINS[kind])
                if not taken.isdisjoint(begins):
                    raise UnsupportedTagError(
                        f"a {kind} may come where something else begins with "
                        f"{chr(min(taken & begins))!r}, too: a structural tag has to tell them "
                        "apart by what comes before"
                    )
                taken |= begins

    def _check_end(self, root: Values, after: StructureState) -> None:
        """Check that nothing comes right after a number with which that could go on."""
        if "number" not in root.kinds:
            return
        follows = {byte for data, _ in after.moves for byte in data} | self._begins(after)
        if not follows.isdisjoint(_IN_NUMBERS):
            raise UnsupportedTagError(
                f"{chr(min(follows & _IN_NUMBERS))!r} may come right after a number, and nothing "
                "would tell where that ends: put a text between them that begins otherwise"
            )

    def _begins(self, state: StructureState) -> set[int]:
        """Return the bytes with which values begin that may come in a state."""
        kinds = {kind for number, _ in state.values for kind in self.roots[number].kinds}
        return {byte for kind in kinds for byte in _BEGINS[kind]}

    def state_of(self, number: int) -> int:
        """Return the state of the automaton for one of the structure."""
        return self._state(Part(number), is_end=self.structure.states[number].is_end)

    def number_of(self, state: int) -> int | None:
        """Return the number of a state in the structure; None inside a value."""
        place = self.meaning(state)
        return place.number if isinstance(place, Part) else None

    def leaving(self, number: int, byte: int) -> int | None:
        """Return the state of the structure after a byte, in a text that has to be left.

        `LEFT` if the byte is outside of the text; None if it leads no nearer to the end.
        """
        part, states = self.structure.states[number], self.structure.states
        for data, target in part.moves:
            if byte in data:
                if states[target].text != part.text:
                    return LEFT
                return target if states[target].distance < part.distance else None
        return LEFT if byte in self._begins(part) else None

    def _row_of_part(self, state: int, at: Part) -> None:
        part = self.structure.states[at.number]
        entries: list[tuple[Iterable[int], int]] = []
        for data, target in part.moves:
            entries.append((data, self.state_of(target)))
        for value, target in part.values:
            entries += self._values(
                self.search.goal(self.roots[value]), self._frame(Hole(target), 1)
            )
        self.set_row(state, entries)

    def _after_hole(self, _tag: int, pushed: Hole) -> int:
        return self.state_of(pushed.target)

    _rows: ClassVar[dict[type, Callable[..., None]]] = SchemaAutomaton._rows | {Part: _row_of_part}
    _follows_of: ClassVar[dict[type, Callable[..., int]]] = SchemaAutomaton._follows_of | {
        Hole: _after_hole
    }

    def is_last(self, state: int) -> bool:
        """Return whether a text that may end has."""
        number = self.number_of(state)
        if number is None:
            return False
        part = self.structure.states[number]
        return part.is_end and not part.moves and not part.values

    def ending(
        self, spelled: frozenset[int], n_tokens: Callable[[bytes], int | None]
    ) -> Callable[[ByteConfiguration], bytes | None]:
        """Return what finds short endings of bytes that are in tokens."""
        return MessageEndings(self, spelled).of

    def expected(self, state: int, frame: int, may_begin: Callable[[int], bool]) -> list[str]:
        """Return the names of what may begin, or go on, in a state."""
        number = self.number_of(state)
        if number is None:
            return super().expected(state, frame, may_begin)
        part = self.structure.states[number]
        read = bytes(byte for data, _ in part.moves for byte in data)
        found = {self._symbols[byte] for byte in read if byte in self._symbols}
        text = bytes(byte for byte in read if byte not in SYMBOLS)
        found |= {"TEXT"} if len(text) > _MANY else {repr(chr(byte)) for byte in text}
        for value, _ in part.values:
            found |= {kind.upper() for kind in self.roots[value].kinds}
        return sorted(found)


class MessageEndings(SchemaEndings):
    """Finds short endings of messages."""

    _automaton: MessageAutomaton

    def _step(self, state: int, stack: Stack) -> tuple[bytes, tuple[int, Stack] | None]:
        number = self._automaton.number_of(state)
        if number is None:
            return super()._step(state, stack)
        structure = self._automaton.structure
        if structure.states[number].is_end:
            return b"", None
        moved, target = structure.nearer(number)
        after = self._automaton.state_of(target)
        if isinstance(moved, bytes):
            return moved[:1], (after, stack)
        written = self._values.of(self._automaton.search.goal(self._automaton.roots[moved]))
        if written is None:
            raise NoShortEndingError
        return written.text, (after, stack)
