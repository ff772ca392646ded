r"""How a text is cut into lexemes, with every way to read it still open.

In: a recogniser, and bytes one by one. Out: a :class:`Lexing`, which has the hypotheses of a
:class:`~cfgguide.engine.machine.recognizer.Configuration` and remembers the lexemes that led to
each. It takes the same steps as :meth:`Recognizer.advance`; it is slower, and tells *why*. ::

    terminals DOT "." ELLIPSIS "..."    after "..": a lexeme ".." that may become ELLIPSIS,
                                        or DOT, and a lexeme "." that may become DOT

Where two ways lead to the same hypothesis, the first is kept: nothing that follows can tell them
apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cfgguide.automata.dfa import DEAD
from cfgguide.automata.witness import PREFERRED
from cfgguide.base.limits import check_step
from cfgguide.diagnostics.explanation import Lexeme
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis, Recognizer

DEFAULT_MAX_STATES = 10_000  # in a search for example texts
_MANY = 300  # states, from which on it pays to look ahead
IGNORED = "(ignored)"  # stands for the terminal of a lexeme that the lexer drops


class _Chain(NamedTuple):
    """Lexemes that have ended, the last one first; ways share what they have in common.

    Attributes
    ----------
    terminal : str
        That of the last lexeme, or `IGNORED`.
    start, end : int
        Its place in the text, in bytes.
    could_go_on : bool
        Whether it ended only because of what follows it.
    before : _Chain or None
        The lexemes before it.
    """

    terminal: str
    start: int
    end: int
    could_go_on: bool
    before: _Chain | None


class Way(NamedTuple):
    """The lexemes of one way to read a text, and where the lexeme begins that is still open."""

    chain: _Chain | None
    start: int

    def lexemes(self, text: bytes, since: int = 0) -> tuple[Lexeme, ...]:
        """Return the lexemes of the text that ended after a place, or because of what follows it.

        Parameters
        ----------
        text : bytes
            All that was read.
        since : int
            The place, in bytes.
        """
        lexemes = []
        chain = self.chain
        while chain is not None and chain.end >= since:
            if chain.end > since or chain.could_go_on:
                lexemes.append(Lexeme(chain.terminal, chain.start, text[chain.start : chain.end]))
            chain = chain.before
        return tuple(reversed(lexemes))


@dataclass(frozen=True)
class Lexing:
    """All ways to read a text.

    Attributes
    ----------
    ways : dict of Hypothesis to Way
        The hypotheses, in the order of the recogniser's, and the way that led to each.
    context : int
        As in :class:`~cfgguide.engine.machine.recognizer.Configuration`.
    n_bytes : int
        Length of the text.
    n_compared : int
        Ways of which others stand for some.

    Examples
    --------
    >>> from cfgguide import Grammar
    >>> from cfgguide.index import compile_recognizer
    >>> recognizer = compile_recognizer(Grammar('start: "." "." | "..."'))
    >>> lexing = Lexing.of(recognizer)
    >>> *_, lexing = lexing.steps(recognizer, b"..")
    >>> [(way.start, way.lexemes(b"..")) for way in lexing.ways.values()]
    [(0, ()), (1, (Lexeme(terminal='DOT', start=0, text=b'.'),))]
    """

    ways: dict[Hypothesis, Way]
    context: int
    n_bytes: int
    n_compared: int = 1

    @classmethod
    def of(cls, recognizer: Recognizer) -> Lexing:
        """Return how the empty text is read."""
        initial = recognizer.initial
        return cls(dict.fromkeys(initial.hypotheses, Way(None, 0)), initial.context, 0)

    @property
    def configuration(self) -> Configuration:
        """The recogniser's configuration after the same text."""
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
            for following in recognizer.extended(hypothesis, byte_class):
                ways.setdefault(following, way)
            for start in recognizer.ended(hypothesis, self.context, byte_class):
                for following in recognizer.extended(start, byte_class):
                    ways.setdefault(following, self._ended(recognizer, hypothesis, way))
        if not ways:
            return None
        kept = {each: ways[each] for each in recognizer.without_covered([*ways])}
        recognizer.check_ambiguity(len(kept))
        context = int(scanner.contexts[self.context, byte_class])
        return Lexing(kept, context, self.n_bytes + 1, len(ways))

    def steps(self, recognizer: Recognizer, data: bytes) -> Iterator[Lexing]:
        """Yield how the text is read with each byte more, up to the first that Lark refuses."""
        lexing = self
        for byte in data:
            following = lexing.after(recognizer, byte)
            if following is None:
                break
            lexing = following
            yield lexing

    def likeliest(self, recognizer: Recognizer) -> tuple[Hypothesis, Way]:
        """Return one way to read the text, one that makes it a sentence if there is one."""
        return min(
            self.ways.items(),
            key=lambda way: not recognizer.is_sentence(Configuration((way[0],), self.context)),
        )

    def _ended(self, recognizer: Recognizer, hypothesis: Hypothesis, way: Way) -> Way:
        """Return the way on which the open lexeme has ended."""
        scanner, state = recognizer.scanner, hypothesis.scanner_state
        name = name_of(recognizer, int(scanner.match[state]))
        could_go_on = bool(scanner.can_continue[state] or scanner.equivalence_classes[state])
        return Way(_Chain(name, way.start, self.n_bytes, could_go_on, way.chain), self.n_bytes)


def name_of(recognizer: Recognizer, terminal_id: int) -> str:
    """Return the name of a terminal, or `IGNORED`."""
    terminals = recognizer.parse_table.terminals
    return terminals[terminal_id] if terminal_id < recognizer.scanner.ignored else IGNORED


def shortest_texts(
    recognizer: Recognizer,
    configuration: Configuration,
    terminal_ids: set[int],
    is_right: Callable[[Hypothesis, int], bool],
    *,
    max_states: int = DEFAULT_MAX_STATES,
) -> tuple[dict[int, bytes], bool]:
    """Return, for each terminal, a short text that goes on from a place and ends with its lexeme.

    Parameters
    ----------
    recognizer : Recognizer
        Of the grammar.
    configuration : Configuration
        The place: the open lexeme may go on, or end and another one begin.
    terminal_ids : set of int
        The terminals to look for.
    is_right : callable
        Takes the hypothesis and the context at the end of a lexeme; says whether to take it.
    max_states : int
        Most hypotheses to look at.

    Returns
    -------
    tuple of (dict of int to bytes, bool)
        The texts, and whether the search was complete: no other terminal has one.
    """
    scanner = recognizer.scanner
    bytes_of_classes = _readable_bytes(recognizer)
    sources = [(source, configuration.context) for source in sources_of(recognizer, configuration)]
    paths = dict.fromkeys(sources, b"")
    texts: dict[int, bytes] = {}
    pending = deque(paths)
    while pending and len(paths) <= max_states and len(texts) < len(terminal_ids):
        here = pending.popleft()
        hypothesis, context = here
        if len(paths) > _MANY and (terminal_ids - texts.keys()).isdisjoint(
            scanner.terminal_ids_ahead(hypothesis.scanner_state)
        ):
            continue  # no terminal that is still looked for can be reached from here
        row = scanner.transitions[hypothesis.scanner_state].tolist()
        for byte, byte_class in bytes_of_classes:
            if row[byte_class] == DEAD:
                continue
            for extended in recognizer.extended(hypothesis, byte_class):
                check_step(0)
                following = extended, int(scanner.contexts[context, byte_class])
                if paths.get(following):
                    continue
                path = paths[here] + bytes([byte])
                if following not in paths:  # else a source, to which a loop has led
                    paths[following] = path
                    pending.append(following)
                terminal_id = int(scanner.match[extended.scanner_state])
                is_wanted = terminal_id in terminal_ids and terminal_id not in texts
                if is_wanted and is_right(*following):
                    texts[terminal_id] = path
    return texts, not pending or len(texts) == len(terminal_ids)


def sources_of(recognizer: Recognizer, configuration: Configuration) -> list[Hypothesis]:
    """Return the hypotheses of a configuration, and what they become if their lexemes end here."""
    return [
        *configuration.hypotheses,
        *(
            fresh
            for hypothesis in configuration.hypotheses
            for fresh in recognizer.ended(hypothesis, configuration.context)
        ),
    ]


def _readable_bytes(recognizer: Recognizer) -> list[tuple[int, int]]:
    """Return one byte of each byte class and the class, the most readable first."""
    classes = recognizer.scanner.byte_classes.tolist()
    first: dict[int, int] = {}
    for byte in PREFERRED:
        first.setdefault(classes[byte], byte)
    return [(byte, byte_class) for byte_class, byte in first.items()]
