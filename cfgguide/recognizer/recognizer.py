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

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from cfgguide.automata.dfa import DEAD
from cfgguide.lexer.lookahead import NO_OBLIGATIONS, Lookahead, Obligations
from cfgguide.lexer.scanner import NO_MATCH, Scanner
from cfgguide.limits import Budget
from cfgguide.parser.indentation import FLAT, NO_COLUMN, Indentation, IndentationRules
from cfgguide.parser.stack import Stack
from cfgguide.parser.table import START_STATE, ParseTable
from cfgguide.recognizer.derived import Derived
from cfgguide.recognizer.indentation import IndentationReader
from cfgguide.storage import archive

Value = TypeVar("Value")


class Hypothesis(NamedTuple):
    """One way to lex and parse the text so far.

    Attributes
    ----------
    scanner_state : int
        Where the scanner is; never a state that asks.
    obligations : tuple of int
        What must come true of the text to come; see :mod:`cfgguide.lexer.lookahead`.
    stack : Stack
        The parser's stack at the start of the lexeme that the scanner is in.
    indentation : Layout
        What is known of blocks and brackets; always the same without an indenter.
    """

    scanner_state: int
    obligations: Obligations
    stack: Stack
    indentation: Indentation = FLAT


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
        indentation_rules: IndentationRules | None = None,
        *,
        budget: Budget | None = None,
    ) -> None:
        self.parse_table = parse_table
        self.scanner = scanner
        self.indentation_reader = (
            IndentationReader(indentation_rules, parse_table, scanner)
            if indentation_rules is not None
            else None
        )
        self.budget = budget or Budget()
        self.ahead = Lookahead(scanner)
        self._derived = Derived()
        self._transitions = memoryview(scanner.transitions.data)  # quicker to index than the array
        self._contexts = memoryview(scanner.contexts.data)
        self._byte_classes: list[int] = scanner.byte_classes.tolist()
        self._match: list[int] = scanner.match.tolist()
        stack = Stack(START_STATE)
        found = self.ahead.resolved(self.start(stack, 0), NO_OBLIGATIONS)
        self.initial = Configuration(
            tuple(Hypothesis(state, obligations, stack) for state, obligations in found)
        )

    def derived(self, make: Callable[[Recognizer], Value]) -> Value:
        """Return what a function makes of this recogniser; it is made once and kept with it."""
        return self._derived.get(make, self)

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
        if self.indentation_rules is not None:
            every["indentation_rules"] = self.indentation_rules.names.as_json()
        return archive.digest(arrays, {name: every[name] for name in every.keys() - arrays.keys()})

    @property
    def indentation_rules(self) -> IndentationRules | None:
        """The rules of lines and blocks; None without an indenter."""
        return (
            self.indentation_reader.indentation_rules
            if self.indentation_reader is not None
            else None
        )

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
        state, obligations, stack, indentation = hypothesis
        if not self.ahead.may_end(obligations):
            return None
        if self._match[state] != NO_MATCH:
            if self.indentation_reader is not None:
                last = self.indentation_reader.last(indentation, self._match[state])
                if last is None:
                    return None
                indentation = last
            shifted = self.shift(stack, indentation, self._match[state])
            if shifted is None:
                return None
            stack, indentation = shifted
        elif not self.scanner.is_start[state]:
            return None
        return (
            self.indentation_reader.at_the_end(stack, indentation)
            if self.indentation_reader
            else stack
        )

    def shift(
        self, stack: Stack, indentation: Indentation, terminal_id: int
    ) -> tuple[Stack, Indentation] | None:
        """Return stack and layout after a lexeme, or None if it is refused."""
        if terminal_id == self.scanner.ignored:
            return stack, indentation._replace(
                column=NO_COLUMN
            ) if indentation.column else indentation
        if terminal_id > self.scanner.ignored:
            return None
        if self.indentation_reader is not None:
            return self.indentation_reader.shift(stack, indentation, terminal_id)
        after = self.parse_table.shift(stack, terminal_id)
        return None if after is None else (after, indentation)

    def _step(self, configuration: Configuration, byte_class: int) -> dict[Hypothesis, None]:
        following: dict[Hypothesis, None] = {}
        for hypothesis in configuration.hypotheses:
            self._extend(following, hypothesis, byte_class)
            state, obligations, stack, indentation = hypothesis
            if self._match[state] == NO_MATCH:
                continue
            obligations = self.ahead.ending(state, obligations)
            if not self.ahead.after(obligations, byte_class):
                continue  # the scanner matches more
            shifted = self.shift(stack, indentation, self._match[state])
            if shifted is not None:
                start = self.start(shifted[0], configuration.context)
                for fresh, owed in self.ahead.resolved(start, obligations):
                    self._extend(following, Hypothesis(fresh, owed, *shifted), byte_class)
        return following

    def _extend(
        self, following: dict[Hypothesis, None], hypothesis: Hypothesis, byte_class: int
    ) -> None:
        """Add what a hypothesis is after one more byte of its lexeme, unless it turns out false."""
        state, obligations, stack, indentation = hypothesis
        target = self._transitions[state, byte_class]
        if target == DEAD:
            return
        moved: Indentation | None = indentation
        for after in self.ahead.after(obligations, byte_class):
            for resolved, owed in self.ahead.resolved(target, after):
                if self.indentation_reader is not None:
                    moved = self.indentation_reader.moved(indentation, resolved, byte_class)
                if moved is not None and not self.ahead.is_hopeless(resolved, owed):
                    following[Hypothesis(resolved, owed, stack, moved)] = None
