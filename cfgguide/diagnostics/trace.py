r"""How a text is cut into lexemes, with every way to read it still open.

In: a recogniser, and bytes one by one. Out: a :class:`Lexing`, which has the hypotheses of a
:class:`~cfgguide.recognizer.recognizer.Configuration` and remembers of each the lexemes that led to
it. It is a slow twin of :meth:`Recognizer.advance`, for whoever wants to know *why*. ::

    terminals DOT "." ELLIPSIS "..."    after "..": a lexeme ".." that may become ELLIPSIS,
                                        or DOT, and a lexeme "." that may become DOT

Where two ways come to the same hypothesis, the first is kept: nothing that follows can tell them
apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cfgguide.automata.dfa import DEAD
from cfgguide.automata.witness import PREFERRED
from cfgguide.lexer.scanner import NO_MATCH
from cfgguide.recognizer.recognizer import Configuration, Hypothesis, Recognizer

DEFAULT_MAX_STATES = 10_000  # in a search for example texts
_MANY = 300  # of these, where it is worth while to look ahead
IGNORED = "(ignored)"  # stands for the terminal of a lexeme that the lexer drops


class ReadLexeme(NamedTuple):
    """A lexeme that was read: its terminal, its place in bytes, and whether it could have gone on.

    Attributes
    ----------
    terminal : str
        The terminal, or ``(ignored)``.
    start, end : int
        Its place in the text, in bytes.
    could_go_on : bool
        Whether it ended only because something else followed.
    """

    terminal: str
    start: int
    end: int
    could_go_on: bool


class _Chain(NamedTuple):
    """Lexemes, the last one first; ways share what they have in common."""

    last: ReadLexeme
    before: _Chain | None


class Way(NamedTuple):
    """The lexemes of one way to read a text, and where the one begins that the scanner is in."""

    chain: _Chain | None
    start: int

    def lexemes(self, since: int = 0) -> tuple[ReadLexeme, ...]:
        """Return the lexemes that end at a place of the text or after it."""
        found = []
        chain = self.chain
        while chain is not None and chain.last.end >= since:
            found.append(chain.last)
            chain = chain.before
        return tuple(reversed(found))


@dataclass(frozen=True)
class Lexing:
    """All ways to read a text.

    Attributes
    ----------
    ways : dict of Hypothesis to Way
        The hypotheses, in the order of the recogniser's, and how each was come to.
    context : int
        As in :class:`~cfgguide.recognizer.recognizer.Configuration`.
    n_bytes : int
        Length of the text.

    Examples
    --------
    >>> from cfgguide import Grammar
    >>> from cfgguide.index import compile_recognizer
    >>> recognizer = compile_recognizer(Grammar('start: "." "." | "..."'))
    >>> lexing = Lexing.of(recognizer)
    >>> for byte in b"..":
    ...     lexing = lexing.after(recognizer, byte)
    >>> [(way.start, way.lexemes()) for way in lexing.ways.values()]
    [(0, ()), (1, (ReadLexeme(terminal='DOT', start=0, end=1, could_go_on=True),))]
    """

    ways: dict[Hypothesis, Way]
    context: int
    n_bytes: int

    @classmethod
    def of(cls, recognizer: Recognizer) -> Lexing:
        """Return how the empty text is read."""
        initial = recognizer.initial
        return cls(dict.fromkeys(initial.hypotheses, Way(None, 0)), initial.context, 0)

    @property
    def configuration(self) -> Configuration:
        """What the recogniser knows after the same text."""
        return Configuration(tuple(self.ways), self.context)

    def after(self, recognizer: Recognizer, byte: int) -> Lexing | None:
        """Return how the text is read with one more byte, or None if Lark refuses it.

        Raises
        ------
        LimitError
            If there are more ways than `max_hypotheses`.
        """
        scanner = recognizer.scanner
        byte_class = int(scanner.byte_classes[byte])
        ways: dict[Hypothesis, Way] = {}
        for hypothesis, way in self.ways.items():
            for moved in moves(recognizer, hypothesis, byte_class):
                ways.setdefault(moved, way)
            for behind, fresh in self._ends(recognizer, hypothesis, way, byte_class):
                for moved in moves(recognizer, fresh, byte_class):
                    ways.setdefault(moved, behind)
        if not ways:
            return None
        if len(ways) > 1:
            recognizer.budget.check("max_hypotheses", len(ways) - 1, "the grammar")
        return Lexing(ways, int(scanner.contexts[self.context, byte_class]), self.n_bytes + 1)

    def _ends(
        self, recognizer: Recognizer, hypothesis: Hypothesis, way: Way, byte_class: int
    ) -> Iterator[tuple[Way, Hypothesis]]:
        """Yield what holds if the lexeme ends before a byte: the way, and where the next starts."""
        state, obligations = hypothesis.scanner_state, hypothesis.obligations
        if not recognizer.ahead.after(recognizer.ahead.ending(state, obligations), byte_class):
            return  # the scanner matches more
        name = name_of(recognizer, int(recognizer.scanner.match[state]))
        could_go_on = bool(recognizer.scanner.can_continue[state])
        lexeme = ReadLexeme(name, way.start, self.n_bytes, could_go_on)
        behind = Way(_Chain(lexeme, way.chain), self.n_bytes)
        for fresh in ended(recognizer, hypothesis, self.context):
            yield behind, fresh


def moves(recognizer: Recognizer, hypothesis: Hypothesis, byte_class: int) -> Iterator[Hypothesis]:
    """Yield what a hypothesis is after one more byte, of some class, of its lexeme."""
    ahead, reader = recognizer.ahead, recognizer.indentation_reader
    state, obligations, stack, indentation = hypothesis
    target = int(recognizer.scanner.transitions[state, byte_class])
    if target == DEAD:
        return
    for after in ahead.after(obligations, byte_class):
        for resolved, owed in ahead.resolved(target, after):
            moved = (
                indentation if reader is None else reader.moved(indentation, resolved, byte_class)
            )
            if moved is not None and not ahead.is_hopeless(resolved, owed):
                yield Hypothesis(resolved, owed, stack, moved)


def name_of(recognizer: Recognizer, terminal_id: int) -> str:
    """Return the name of the terminal that a label stands for."""
    terminals = recognizer.parse_table.terminals
    return terminals[terminal_id] if terminal_id < recognizer.scanner.ignored else IGNORED


def terminal_ids_ahead(recognizer: Recognizer, scanner_state: int) -> list[int]:
    """Return the labels that a scanner state has or may come to, ascending.

    What the parser and the text to come say to them is not looked at.
    """
    known = recognizer.derived(_no_terminal_ids_yet)
    if scanner_state not in known:
        known[scanner_state] = _found_terminal_ids(recognizer, scanner_state)
    return known[scanner_state]


def _no_terminal_ids_yet(recognizer: Recognizer) -> dict[int, list[int]]:
    return {}


def _found_terminal_ids(recognizer: Recognizer, scanner_state: int) -> list[int]:
    scanner = recognizer.scanner
    seen = dict.fromkeys([scanner_state])
    for state in (pending := list(seen)):  # grows while it is walked
        if state == DEAD:
            continue
        following = {
            resolved
            for target in set(scanner.transitions[state].tolist())
            for resolved in _resolved(recognizer, target)
        }
        new = dict.fromkeys(sorted(following - seen.keys()))
        seen |= new
        pending += new
    terminal_ids = {int(scanner.match[state]) for state in seen}
    return sorted(terminal_ids - {NO_MATCH})


def ended(recognizer: Recognizer, hypothesis: Hypothesis, context: int) -> tuple[Hypothesis, ...]:
    """Return what holds if the lexeme ends here; nothing if it does not match or is refused."""
    state, obligations, stack, indentation = hypothesis
    terminal_id = int(recognizer.scanner.match[state])
    shifted = recognizer.shift(stack, indentation, terminal_id) if terminal_id != NO_MATCH else None
    if shifted is None:
        return ()
    obligations = recognizer.ahead.ending(state, obligations)
    start = recognizer.start(shifted[0], context)
    return tuple(
        Hypothesis(fresh, owed, *shifted)
        for fresh, owed in recognizer.ahead.resolved(start, obligations)
    )


def shortest_texts(
    recognizer: Recognizer,
    configuration: Configuration,
    terminal_ids: set[int],
    is_right: Callable[[Hypothesis, int], bool],
    *,
    max_states: int = DEFAULT_MAX_STATES,
) -> tuple[dict[int, bytes], bool]:
    """Return, for each label, a short text that goes on from a place and ends with such a lexeme.

    Parameters
    ----------
    recognizer : Recognizer
        Of the grammar.
    configuration : Configuration
        The place: the lexeme that the scanner is in may go on, or end and another one begin.
    terminal_ids : set of int
        What is looked for.
    is_right : callable
        Asked of the hypothesis and the context at the end of a lexeme; False looks on.
    max_states : int
        Most hypotheses looked at.

    Returns
    -------
    tuple of (dict of int to bytes, bool)
        The texts, and whether there are surely no others.
    """
    scanner = recognizer.scanner
    steps = _readable_bytes(recognizer)
    sources = [*configuration.hypotheses]
    for hypothesis in configuration.hypotheses:
        sources += ended(recognizer, hypothesis, configuration.context)
    paths = dict.fromkeys(((each, configuration.context) for each in sources), b"")
    found: dict[int, bytes] = {}
    pending = deque(paths)
    while pending and len(paths) <= max_states and len(found) < len(terminal_ids):
        here = pending.popleft()
        hypothesis, context = here
        if len(paths) > _MANY and terminal_ids.isdisjoint(
            terminal_id
            for terminal_id in terminal_ids_ahead(recognizer, hypothesis.scanner_state)
            if terminal_id not in found
        ):
            continue  # what is still looked for is not reached from here
        row = scanner.transitions[hypothesis.scanner_state].tolist()
        for byte, byte_class in steps:
            if row[byte_class] == DEAD:
                continue
            for moved in moves(recognizer, hypothesis, byte_class):
                following = moved, int(scanner.contexts[context, byte_class])
                if paths.get(following):
                    continue
                path = paths[here] + bytes([byte])
                if following not in paths:  # else a source, to which a loop has led
                    paths[following] = path
                    pending.append(following)
                terminal_id = int(scanner.match[moved.scanner_state])
                if (
                    terminal_id in terminal_ids
                    and terminal_id not in found
                    and is_right(*following)
                ):
                    found[terminal_id] = path
    return found, not pending or len(found) == len(terminal_ids)


def _resolved(recognizer: Recognizer, state: int) -> list[int]:
    """Return the states that a scanner state stands for, whatever the answers."""
    looked_for, yes, no = recognizer.scanner.assertions[state].tolist()
    if looked_for == DEAD:
        return [state]
    return [resolved for answer in (yes, no) for resolved in _resolved(recognizer, answer)]


def _readable_bytes(recognizer: Recognizer) -> list[tuple[int, int]]:
    """Return one byte of each byte class and the class, the most readable first."""
    classes = recognizer.scanner.byte_classes.tolist()
    first: dict[int, int] = {}
    for byte in PREFERRED:
        first.setdefault(classes[byte], byte)
    return [(byte, byte_class) for byte_class, byte in first.items()]
