"""Configurations: all that the lexer and the parser know after some bytes.

In: a :class:`~cfgguide.parse_table.ParseTable` and a :class:`~cfgguide.scanner.Scanner`. Out: a
:class:`Recognizer`, which starts a :class:`Configuration` and advances it byte by byte.

What Lark's lexer will make of the bytes so far depends on bytes still to come: after ``..`` the
scanner may go on to ``...``, or fall back to ``.`` and lex the second dot again. A configuration
is therefore an ordered tuple of *hypotheses*, each a scanner state and a parser stack:

* the first follows the lexeme that the scanner is in;
* each next one says what holds if the one before it dies without a further match: the lexeme
  ended at its last match, and the bytes since then were lexed again, in step with the first.

A hypothesis that matches makes all after it void, since its lexeme now ends later. One whose
scanner state equals that of an earlier one dies and matches together with it, so it is never
needed. A hypothesis that matches right now stands last: what holds if the lexeme ends here is
worked out only when the next byte is read. ::

    terminals DOT "." ELLIPSIS "..."    "."    [(. final)]
                                        ".."   [(.. )  ,  DOT shifted (. final)]
                                        "..x"  [DOT DOT shifted (x final)]

This is the slow and obvious form of the machine; :mod:`cfgguide.walk` is its compiled twin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cfgguide.fsm import DEAD
from cfgguide.parse_table import START_STATE, ParseTable
from cfgguide.scanner import NO_MATCH, Scanner
from cfgguide.stack import Stack


class Hypothesis(NamedTuple):
    """A scanner state, and the parser stack at the start of the lexeme that it is in."""

    scanner_state: int
    stack: Stack


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the lexer and the parser know after some bytes.

    Attributes
    ----------
    hypotheses : tuple of Hypothesis
        At least one; most preferred first; see the module's text.
    """

    hypotheses: tuple[Hypothesis, ...]


class Recognizer:
    r"""Reads bytes as Lark's contextual lexer and LALR parser would.

    It tells whether the bytes so far are still *lexed and parsed without error*; whether a
    sentence can follow is the question of :mod:`cfgguide.liveness`.

    Examples
    --------
    >>> from cfgguide import frontend, scanner
    >>> from cfgguide.grammar import Grammar
    >>> grammar = frontend.load(Grammar('start: "." "." NAME \nNAME: /[a-z]+/'))
    >>> recognizer = Recognizer(grammar.parse_table, scanner.build(grammar))
    >>> recognizer.is_sentence(recognizer.advance(recognizer.initial, b"..x"))
    True
    >>> recognizer.advance(recognizer.initial, b".x") is None
    True
    """

    def __init__(self, parse_table: ParseTable, scanner: Scanner) -> None:
        self.parse_table = parse_table
        self.scanner = scanner
        self._transitions = memoryview(scanner.transitions.data)  # quicker to index than the array
        self._byte_classes: list[int] = scanner.byte_classes.tolist()
        self._match: list[int] = scanner.match.tolist()
        self.initial = Configuration((self.fresh(Stack(START_STATE)),))

    def fresh(self, stack: Stack) -> Hypothesis:
        """Return the hypothesis that a lexeme starts here."""
        terminal_set = self.parse_table.set_of_state[stack.state]
        return Hypothesis(int(self.scanner.starts[terminal_set]), stack)

    def advance(self, configuration: Configuration, data: bytes) -> Configuration | None:
        """Return the configuration after more bytes, or None if Lark refuses them."""
        hypotheses = configuration.hypotheses
        for byte in data:
            hypotheses = self._step(hypotheses, self._byte_classes[byte])
            if not hypotheses:
                return None
        return Configuration(hypotheses)

    def is_sentence(self, configuration: Configuration) -> bool:
        """Return whether Lark parses the text if it ends here.

        The end kills every hypothesis that does not match, so the last one decides.
        """
        scanner_state, stack = configuration.hypotheses[-1]
        label = self._match[scanner_state]
        if label == NO_MATCH:
            return self.is_fresh(configuration) and self.parse_table.is_sentence(stack)
        after = self.commit(stack, label)
        return after is not None and self.parse_table.is_sentence(after)

    def is_fresh(self, configuration: Configuration) -> bool:
        """Return whether no byte of a lexeme has been read: only so at the start of the text."""
        return configuration.hypotheses[-1] == self.initial.hypotheses[0]

    def commit(self, stack: Stack, label: int) -> Stack | None:
        """Return the stack after a lexeme, or None if the parser refuses it."""
        if label == self.scanner.ignored:
            return stack
        if label > self.scanner.ignored:
            return None
        return self.parse_table.shift(stack, label)

    def _step(self, hypotheses: tuple[Hypothesis, ...], byte_class: int) -> tuple[Hypothesis, ...]:
        following: list[Hypothesis] = []
        for state, stack in hypotheses:
            if self._extend(following, self._transitions[state, byte_class], stack):
                return tuple(following)
            if self._match[state] != NO_MATCH:  # the last hypothesis: its lexeme may end here
                after = self.commit(stack, self._match[state])
                if after is not None:
                    start = self.fresh(after).scanner_state
                    self._extend(following, self._transitions[start, byte_class], after)
        return tuple(following)

    def _extend(self, following: list[Hypothesis], state: int, stack: Stack) -> bool:
        """Append a live hypothesis; return whether it matches, which makes all others void."""
        if state == DEAD:
            return False
        if all(state != earlier.scanner_state for earlier in following):
            following.append(Hypothesis(state, stack))
        return self._match[state] != NO_MATCH
