"""Configurations: all that the lexer and the parser know after some bytes.

In: a :class:`~cfgguide.parser.table.ParseTable` and a :class:`~cfgguide.lexer.scanner.Scanner`.
Out: a :class:`Recognizer`, which starts a :class:`Configuration` and advances it byte by byte.

What Lark's lexer will make of the bytes so far depends on bytes still to come: after ``..`` the
scanner may go on to ``...``, or fall back to ``.`` and lex the second dot again; after ``if`` a
look-ahead may forbid a letter. A configuration is therefore a set of *hypotheses*, each a scanner
state, a parser stack, and the claims about the text to come that it rests on
(:mod:`cfgguide.lexer.lookahead`). Whatever follows, the claims of exactly one way to go on are
true.

A lexeme that matches right now may end here, with the claim that the scanner will match no more,
or go on. What holds if it ends is worked out only when the next byte is read. ::

    terminals DOT "." ELLIPSIS "..."    "."    (. final)
                                        ".."   (..)    DOT shifted (. final), claim: no ... here
                                        "..x"  DOT DOT shifted (x final)

This is the slow and obvious form of the machine; :mod:`cfgguide.mask.walk` is its compiled twin.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cfgguide.automata.dfa import DEAD
from cfgguide.lexer.lookahead import NO_CLAIMS, Ahead, Claims
from cfgguide.lexer.scanner import NO_MATCH, Scanner
from cfgguide.limits import Budget
from cfgguide.parser.indentation import FLAT, NO_COLUMN, Layout, Lines
from cfgguide.parser.stack import Stack
from cfgguide.parser.table import START_STATE, ParseTable
from cfgguide.recognizer.indentation import LineReader
from cfgguide.storage import archive


class Hypothesis(NamedTuple):
    """One way to lex and parse the text so far.

    Attributes
    ----------
    scanner_state : int
        Where the scanner is; never a state that asks.
    claims : tuple of int
        What must come true of the text to come; see :mod:`cfgguide.lexer.lookahead`.
    stack : Stack
        The parser's stack at the start of the lexeme that the scanner is in.
    layout : Layout
        What is known of blocks and brackets; always the same without an indenter.
    """

    scanner_state: int
    claims: Claims
    stack: Stack
    layout: Layout = FLAT


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the lexer and the parser know after some bytes.

    Attributes
    ----------
    hypotheses : tuple of Hypothesis
        At least one, in the order in which they were found; all different.
    context : int
        What the text so far means to look-behind at the start of a lexeme; a context of
        :class:`~cfgguide.lexer.scanner.Scanner`.
    """

    hypotheses: tuple[Hypothesis, ...]
    context: int = 0


class Recognizer:
    r"""Reads bytes as Lark's contextual lexer and LALR parser would.

    It tells whether the bytes so far are still *lexed and parsed without error*; whether a
    sentence can follow is the question of :mod:`cfgguide.liveness.liveness`.

    Examples
    --------
    >>> from cfgguide.grammar import lark_frontend
    >>> from cfgguide.lexer import scanner
    >>> from cfgguide.grammar.grammar import Grammar
    >>> grammar = lark_frontend.load(Grammar('start: "." "." NAME \nNAME: /[a-z]+/'))
    >>> recognizer = Recognizer(grammar.parse_table, scanner.build(grammar))
    >>> recognizer.is_sentence(recognizer.advance(recognizer.initial, b"..x"))
    True
    >>> recognizer.advance(recognizer.initial, b".x") is None
    True
    """

    def __init__(
        self,
        parse_table: ParseTable,
        scanner: Scanner,
        lines: Lines | None = None,
        *,
        budget: Budget | None = None,
    ) -> None:
        self.parse_table = parse_table
        self.scanner = scanner
        self.line_reader = LineReader(lines, parse_table, scanner) if lines is not None else None
        self.budget = budget or Budget()
        self.ahead = Ahead(scanner)
        self._transitions = memoryview(scanner.transitions.data)  # quicker to index than the array
        self._contexts = memoryview(scanner.contexts.data)
        self._byte_classes: list[int] = scanner.byte_classes.tolist()
        self._match: list[int] = scanner.match.tolist()
        stack = Stack(START_STATE)
        found = self.ahead.settled(self.start(stack, 0), NO_CLAIMS)
        self.initial = Configuration(
            tuple(Hypothesis(state, claims, stack) for state, claims in found)
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hex of the parser's and the scanner's tables and the symbols' names.

        It is the same in every process, and for grammars that are written differently but come to
        the same tables.
        """
        tables = (self.parse_table, self.scanner)
        every = {
            f"{type(table).__name__}.{field.name}": getattr(table, field.name)
            for table in tables
            for field in fields(table)
        }
        arrays = {name: value for name, value in every.items() if isinstance(value, np.ndarray)}
        if self.lines is not None:
            every["lines"] = self.lines.names.as_json()
        return archive.digest(arrays, {name: every[name] for name in every.keys() - arrays.keys()})

    @property
    def lines(self) -> Lines | None:
        """The rules of lines and blocks; None without an indenter."""
        return self.line_reader.lines if self.line_reader is not None else None

    def start(self, stack: Stack, context: int) -> int:
        """Return the scanner state in which a lexeme starts; it may ask."""
        return int(self.scanner.starts[self.parse_table.set_of_state[stack.state], context])

    def advance(self, configuration: Configuration, data: bytes) -> Configuration | None:
        """Return the configuration after more bytes, or None if Lark refuses them.

        Raises
        ------
        LimitError
            If there are more ways to read them than `max_hypotheses`.
        """
        for byte in data:
            byte_class = self._byte_classes[byte]
            hypotheses = self._step(configuration, byte_class)
            if not hypotheses:
                return None
            if len(hypotheses) > 1:
                self.budget.check("max_hypotheses", len(hypotheses) - 1, "the grammar")
            context = self._contexts[configuration.context, byte_class]
            configuration = Configuration(tuple(hypotheses), context)
        return configuration

    def is_sentence(self, configuration: Configuration) -> bool:
        """Return whether Lark parses the text if it ends here."""
        return any(
            after is not None and self.parse_table.is_sentence(after)
            for after in map(self._at_the_end, configuration.hypotheses)
        )

    def _at_the_end(self, hypothesis: Hypothesis) -> Stack | None:
        """Return the stack if the text ends here, or None if the hypothesis is false then."""
        state, claims, stack, layout = hypothesis
        if not self.ahead.may_end(claims):
            return None
        if self._match[state] != NO_MATCH:
            if self.line_reader is not None:
                last = self.line_reader.last(layout, self._match[state])
                if last is None:
                    return None
                layout = last
            committed = self.commit(stack, layout, self._match[state])
            if committed is None:
                return None
            stack, layout = committed
        elif not self.scanner.is_start[state]:
            return None
        return self.line_reader.at_the_end(stack, layout) if self.line_reader else stack

    def commit(self, stack: Stack, layout: Layout, label: int) -> tuple[Stack, Layout] | None:
        """Return stack and layout after a lexeme, or None if it is refused."""
        if label == self.scanner.ignored:
            return stack, layout._replace(column=NO_COLUMN) if layout.column else layout
        if label > self.scanner.ignored:
            return None
        if self.line_reader is not None:
            return self.line_reader.commit(stack, layout, label)
        after = self.parse_table.shift(stack, label)
        return None if after is None else (after, layout)

    def _step(self, configuration: Configuration, byte_class: int) -> dict[Hypothesis, None]:
        following: dict[Hypothesis, None] = {}
        for hypothesis in configuration.hypotheses:
            self._extend(following, hypothesis, byte_class)
            state, claims, stack, layout = hypothesis
            if self._match[state] == NO_MATCH:
                continue
            claims = self.ahead.ending(state, claims)
            if not self.ahead.after(claims, byte_class):
                continue  # the scanner matches more
            committed = self.commit(stack, layout, self._match[state])
            if committed is not None:
                start = self.start(committed[0], configuration.context)
                for fresh, claimed in self.ahead.settled(start, claims):
                    self._extend(following, Hypothesis(fresh, claimed, *committed), byte_class)
        return following

    def _extend(
        self, following: dict[Hypothesis, None], hypothesis: Hypothesis, byte_class: int
    ) -> None:
        """Add what a hypothesis is after one more byte of its lexeme, unless it turns out false."""
        state, claims, stack, layout = hypothesis
        target = self._transitions[state, byte_class]
        if target == DEAD:
            return
        moved: Layout | None = layout
        for after in self.ahead.after(claims, byte_class):
            for settled, claimed in self.ahead.settled(target, after):
                if self.line_reader is not None:
                    moved = self.line_reader.moved(layout, settled, byte_class)
                if moved is not None and not self.ahead.is_hopeless(settled, claimed):
                    following[Hypothesis(settled, claimed, stack, moved)] = None
