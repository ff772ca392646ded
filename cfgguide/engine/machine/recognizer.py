"""Configurations: all that the lexer and the parser know after some bytes.

In: a :class:`~cfgguide.grammar.lr.table.ParseTable` and a
:class:`~cfgguide.engine.lexer.scanner.Scanner`. Out: a :class:`Recognizer`, which starts a
:class:`Configuration` and advances it byte by byte.

What Lark's lexer makes of the bytes so far depends on bytes still to come: after ``..`` the
scanner may go on to ``...``, or fall back to ``.`` and lex the second dot again; after ``if`` a
look-ahead may forbid a letter. A configuration is therefore a set of *hypotheses*, each a scanner
state, a parser stack, and the obligations about the text to come that it rests on
(:mod:`cfgguide.engine.lexer.lookahead`). Whatever follows, exactly one way to go on keeps all its
obligations.

A lexeme that matches now may go on, or end here with the obligation that the scanner matches no
more. What holds if it ends is worked out only when the next byte is read. ::

    terminals DOT "." ELLIPSIS "..."    "."    (. final)
                                        ".."   (..)    DOT shifted (. final), if no ... here
                                        "..x"  DOT DOT shifted (x final)

A grammar that leaves conflicts to the text (:mod:`cfgguide.grammar.lr.general`) has a hypothesis
for each reading that differs in what may follow, and there may be ever more. Of too many, some are
followed.

Stacks are shortened on the way, so that configurations with the same future are one
(:mod:`cfgguide.engine.machine.short_stacks`); with `shortens_stacks=False` they are left as they
are.

This is the slow and obvious form of the machine; :mod:`cfgguide.engine.masks.walk` is its compiled
twin.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import fields
from functools import cached_property
from itertools import compress, islice
from math import inf
from typing import NamedTuple, TypeVar

import numpy as np

from cfgguide.base import archive
from cfgguide.base.derived import Derived
from cfgguide.base.limits import Budget, check_step
from cfgguide.base.locks import new_lock
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS, Lookahead, Obligations
from cfgguide.engine.lexer.scanner import NO_MATCH, Scanner
from cfgguide.engine.lexer.shortest_lexemes import FAR, Distances, LexemeTexts
from cfgguide.engine.machine.indentation_reader import IndentationReader
from cfgguide.engine.machine.reading import PlainReader
from cfgguide.engine.machine.short_stacks import ShortStacks
from cfgguide.grammar.lr.inclusion import FEWER_OF_MANY, FEWER_READINGS, Effort
from cfgguide.grammar.lr.indentation import FLAT, NO_COLUMN, Indentation, IndentationRules
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.stack_costs import StackCosts
from cfgguide.grammar.lr.table import END, START_STATE, ParseTable

Value = TypeVar("Value")

_N_NAMED = 4  # ways to read a text, and as many with the lexeme ended, that names are told from
_N_LOOKED_AT = 100  # stacks, and scanner states, that names are told from
_MAX_COMPARED = 512  # hypotheses in which none is found for which another one stands
_N_COMPARED = 16  # hypotheses with a lower stack that each is compared with, and as many others
#: Ways to read a text that are followed, of a grammar that leaves them open: the largest of these
#: that `max_hypotheses` allows. The kernels of walks have room for as many.
FOLLOWED = (4, 16, 64)
_KEPT = 4  # of more than these, one in so many is followed
_MANY_WAYS = 4  # of more than these, each that another one stands for is worth a long proof
_N_SORTED_OUT = 4  # times as many are compared at most
_MAX_WAYS = 4  # to end a lexeme, that are compared


class Hypothesis(NamedTuple):
    """One way to lex and parse the text so far.

    Attributes
    ----------
    scanner_state : int
        Where the scanner is; never an assertion state.
    obligations : tuple of int
        What must come true of the text to come; see :mod:`cfgguide.engine.lexer.lookahead`.
    stack : Stack
        The parser's stack at the start of the lexeme that the scanner is in, or a shorter one on
        which everything that can follow is the same.
    indentation : Indentation
        The open blocks and brackets; always the same without an indenter.
    """

    scanner_state: int
    obligations: Obligations
    stack: Stack
    indentation: Indentation = FLAT


class Configuration(NamedTuple):
    """What the lexer and the parser know after some bytes.

    Attributes
    ----------
    hypotheses : tuple of Hypothesis
        At least one, in the order in which they were found; all different.
    context : int
        What the text so far means to look-behind at the start of a lexeme; a context of
        :class:`~cfgguide.engine.lexer.scanner.Scanner`.
    """

    hypotheses: tuple[Hypothesis, ...]
    context: int = 0


class Recognizer:
    r"""Reads bytes as Lark's contextual lexer and LALR parser would.

    It tells whether the bytes so far are *lexed and parsed without error*.
    :mod:`cfgguide.engine.liveness.liveness` tells whether a sentence can follow.

    Examples
    --------
    >>> from cfgguide.grammar import lark_frontend
    >>> from cfgguide.engine.lexer import scanner
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
        shortens_stacks: bool = True,
    ) -> None:
        self.parse_table = parse_table
        self.scanner = scanner
        self.indentation_reader = (
            IndentationReader(indentation_rules, parse_table, scanner)
            if indentation_rules is not None
            else None
        )
        self.budget = budget or Budget()
        self._follows_all = False
        self._costs_lock = new_lock()
        self.lookahead = Lookahead(scanner)
        self._derived = Derived()
        self._contexts = memoryview(scanner.contexts.data)  # quicker to index than the array
        self._byte_classes: list[int] = scanner.byte_classes.tolist()
        self._match: list[int] = scanner.match.tolist()
        self._is_assertion: list[bool] = scanner.is_assertion.tolist()
        self._transitions = memoryview(scanner.transitions.data)
        self._starts = memoryview(scanner.starts.data)
        self._set_of_state: list[int] = parse_table.set_of_state.tolist()
        self.short_stacks = (
            ShortStacks(parse_table, scanner, indentation_rules)
            if shortens_stacks and not parse_table.may_repeat
            else None
        )
        self._make_reader()
        stack = Stack(START_STATE)
        possible = self.lookahead.resolved(self.start(stack, 0), NO_OBLIGATIONS)
        self.initial = Configuration(
            tuple(Hypothesis(state, obligations, stack) for state, obligations in possible)
        )

    def with_parse_table(self, parse_table: ParseTable) -> Recognizer:
        """Return this recogniser with another form of its parse table."""
        changed = copy(self)
        changed._derived = Derived()
        changed.parse_table = parse_table
        if self.indentation_reader is not None:
            changed.indentation_reader = self.indentation_reader.with_parse_table(parse_table)
        changed._make_reader()
        return changed

    def with_whole_stacks(self) -> Recognizer:
        """Return this recogniser, but one that leaves stacks as they are, as walks do."""
        changed = copy(self)
        changed._derived = Derived()
        changed.short_stacks = None
        changed._make_reader()
        return changed

    def _make_reader(self) -> None:
        """Make what depends on the tables."""
        n_states = self.scanner.n_states
        self._groups = self.short_stacks.groups if self.short_stacks else [0] * n_states
        self._plain_reader = PlainReader(
            self.parse_table, self.scanner, self.indentation_reader, self.short_stacks
        )

    def derived(self, make: Callable[[Recognizer], Value]) -> Value:
        """Return what a function makes of this recogniser; it is made once and kept with it."""
        return self._derived.get(make, self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hex of the parser's and the scanner's tables and the symbols' names.

        It is the same in every process, and for grammars that are written differently but have the
        same tables.
        """
        contents = {
            f"{type(table).__name__}.{field.name}": getattr(table, field.name)
            for table in (self.parse_table, self.scanner)
            for field in fields(table)
        }
        if self.indentation_rules is not None:
            contents["indentation_rules"] = self.indentation_rules.names.as_json()
        arrays = {name: value for name, value in contents.items() if isinstance(value, np.ndarray)}
        others = {name: value for name, value in contents.items() if name not in arrays}
        return archive.digest(arrays, others)

    @property
    def indentation_rules(self) -> IndentationRules | None:
        """How lines make blocks; None without an indenter."""
        reader = self.indentation_reader
        return None if reader is None else reader.indentation_rules

    def start(self, stack: Stack, context: int) -> int:
        """Return the scanner state in which a lexeme starts; it may be an assertion state."""
        return self._starts[self._set_of_state[stack.state], context]

    def read(self, configuration: Configuration, data: bytes) -> Configuration | None:
        """Return the configuration after bytes as :meth:`advance`, with all ways to read them.

        Raises
        ------
        LimitError
            If there are more than `max_hypotheses`.
        """
        reading = self.derived(_with_all_readings) if self.is_open else self
        return reading.advance(configuration, data)

    def advance(self, configuration: Configuration, data: bytes) -> Configuration | None:
        """Return the configuration after more bytes, or None if Lark refuses them.

        A grammar may leave more and more ways to read a text open. Of too many, some are followed,
        and what none of them allows is refused.

        Raises
        ------
        LimitError
            If there are more ways to read them than `max_hypotheses` otherwise.
        """
        n_read = 0
        while n_read < len(data):
            known = configuration.hypotheses
            if len(known) == 1 and not known[0].obligations:
                scanner_state, _, stack, indentation = known[0]
                plainly = self._plain_reader.read(
                    scanner_state, stack, indentation, configuration.context, data, n_read
                )
                if plainly is None:
                    return None
                scanner_state, stack, indentation, context, n_read = plainly
                after = Hypothesis(scanner_state, NO_OBLIGATIONS, stack, indentation)
                configuration = Configuration((after,), context)
                if n_read == len(data):
                    break
            check_step()
            byte, context = data[n_read], configuration.context
            byte_class = self._byte_classes[byte]
            hypotheses: list[Hypothesis] = []
            for hypothesis in configuration.hypotheses:
                hypotheses += self.extended(hypothesis, byte_class, byte)
                if self._match[hypothesis.scanner_state] != NO_MATCH:
                    for start in self.ended(hypothesis, context, byte_class):
                        hypotheses += self.extended(start, byte_class, byte)
            if not hypotheses:
                return None
            if len(hypotheses) > 1:
                hypotheses = self._followed(list(dict.fromkeys(hypotheses)))
            context = self._contexts[context, byte_class]
            configuration = Configuration(tuple(hypotheses), context)
            n_read += 1
        return configuration

    @cached_property
    def n_followed(self) -> int:
        """Ways to read a text that are followed, of a grammar that leaves them open."""
        return max(each for each in FOLLOWED if each <= max(self.budget.limits.max_hypotheses, 4))

    def _followed(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses that are followed: all for which no other one stands, if possible.

        Of too many, those are that need the fewest bytes to end the text, since somebody may count
        on that ending; first one for each place of the lexer and the parser, so that much may
        follow.
        """
        if not self.is_open:
            hypotheses = self.without_covered(hypotheses)
            self.check_ambiguity(len(hypotheses))
            return hypotheses
        check_step()
        most = self.n_followed
        if len(hypotheses) > _N_SORTED_OUT * most:
            hypotheses = self._nearest(hypotheses, _N_SORTED_OUT * most)
        hypotheses = self.without_covered(hypotheses)
        if len(hypotheses) > _MANY_WAYS:
            hypotheses = self.without_covered(hypotheses, FEWER_OF_MANY)
        return hypotheses if len(hypotheses) <= most else self._nearest(hypotheses, most // _KEPT)

    def _nearest(self, hypotheses: list[Hypothesis], n: int) -> list[Hypothesis]:
        """Return n hypotheses that are near the end of a text, in their order."""
        needed = self.n_needed(hypotheses)
        ordered = sorted(hypotheses, key=lambda each: (needed[each], each.stack.height))
        places: dict[tuple[int, Obligations, int], Hypothesis] = {}
        for each in ordered:
            places.setdefault((each.scanner_state, each.obligations, each.stack.state), each)
        chosen = {*islice(dict.fromkeys([*places.values(), *ordered]), n)}
        return [each for each in hypotheses if each in chosen]

    def n_needed(self, hypotheses: Sequence[Hypothesis]) -> dict[Hypothesis, float]:
        """Return how many bytes end the text, at least: the rest of the lexeme and what follows.

        There is no indenter.
        """
        with self._costs_lock:  # which remember what they have found
            return {each: self._n_needed(each) for each in hypotheses}

    def _n_needed(self, hypothesis: Hypothesis) -> float:
        state, _, stack, indentation = hypothesis
        need = self._costs.need(stack)
        if self.scanner.is_start[state]:
            return need.length
        distances: list[float] = self._lexeme_distances.of(state).tolist()
        ignored = distances[self.scanner.ignored]
        needed = need.length + ignored if ignored < FAR else inf
        if need.first != END and distances[need.first] < FAR:  # mostly: it is needed anyway
            rest = need.length - self._lexeme_lengths[need.first]
            return min(needed, rest + distances[need.first])
        for terminal_id in np.argsort(distances, kind="stable")[:_MAX_WAYS].tolist():
            if distances[terminal_id] >= min(needed, FAR):
                break
            for after, _ in self.shifts(stack, indentation, terminal_id):
                needed = min(needed, distances[terminal_id] + self._costs.need(after).length)
        return needed

    @cached_property
    def _lexeme_distances(self) -> Distances:
        return LexemeTexts(self.scanner, self.lookahead, frozenset(range(256))).distances

    @cached_property
    def _lexeme_lengths(self) -> list[float]:
        """The bytes of the shortest lexeme of each terminal, at least 1."""
        starts = np.unique(self.scanner.starts)
        n_bytes = self._lexeme_distances.of(starts).min(axis=0)[: self.parse_table.n_terminals]
        lengths: list[float] = np.where(n_bytes < FAR, np.maximum(n_bytes, 1), inf).tolist()
        lengths[END] = inf  # the end is no part of a text
        return lengths

    @cached_property
    def _costs(self) -> StackCosts:
        """How many bytes stacks need."""
        return StackCosts(self.parse_table, self._lexeme_lengths)

    @property
    def is_open(self) -> bool:
        """Whether there may be any number of ways to read a text, of which some are followed."""
        is_many = self.parse_table.is_general or self.scanner.asks_each
        return is_many and self.indentation_reader is None and not self._follows_all

    def without_covered(
        self, hypotheses: list[Hypothesis], effort: Effort = FEWER_READINGS
    ) -> list[Hypothesis]:
        """Return hypotheses without those for which another one stands.

        Of two that stand for each other, the one with the lower stack is kept. Of those at the
        same place of the lexer, stacks of about the same height are compared, with so much effort.
        """
        if not self.parse_table.is_general or self.short_stacks is None or len(hypotheses) < 2:
            return hypotheses
        instead: dict[Hypothesis, Hypothesis] = {}  # of those left out, one that stands for each

        def last(hypothesis: Hypothesis) -> Hypothesis:
            end = hypothesis
            while end in instead:
                end = instead[end]
            while hypothesis is not end:  # so that it is found at once
                instead[hypothesis], hypothesis = end, instead[hypothesis]
            return end

        # Where hardly any stands for another one, most of what is compared is followed no more.
        credit = _MAX_COMPARED if self.is_open else inf
        comparable: dict[tuple[int, Obligations], list[Hypothesis]] = {}
        for hypothesis in sorted(hypotheses, key=lambda each: -each.stack.height):
            comparable.setdefault(hypothesis[:2], []).append(hypothesis)
        for ordered in comparable.values():
            able = [self.short_stacks.may_cover(each.stack, effort) for each in ordered]
            for place, hypothesis in enumerate(ordered) if any(able) else ():
                # Also those left out may stand for it, as long as another one does in the end.
                first, end = max(place - _N_COMPARED, 0), place + 1 + _N_COMPARED
                for other in compress(ordered[first:end], able[first:end]):
                    if other is hypothesis:
                        continue
                    credit -= 1
                    if (
                        credit >= 0
                        and self.short_stacks.covers(
                            self._groups[other.scanner_state], other.stack, hypothesis.stack, effort
                        )
                        and last(other) is not hypothesis
                    ):
                        instead[hypothesis] = other
                        credit += 3 * _N_COMPARED
                        break
        return [hypothesis for hypothesis in hypotheses if hypothesis not in instead]

    def check_ambiguity(self, n_hypotheses: int) -> None:
        """Raise a `LimitError` if there are more ways to read a text than `max_hypotheses`."""
        if n_hypotheses > 1:
            self.budget.check("max_hypotheses", n_hypotheses - 1, "the grammar")

    def extended(
        self, hypothesis: Hypothesis, byte_class: int, byte: int | None = None
    ) -> list[Hypothesis]:
        """Return what a hypothesis becomes if one more byte belongs to its lexeme.

        Its text is kept for a monitor if the byte itself is given, too.
        """
        state, obligations, stack, indentation = hypothesis
        possible = self.lookahead.step(state, obligations, byte_class)
        reader = self.indentation_reader
        following = []  # in a loop: a comprehension is a call, and this runs for each byte
        for target, owed in possible:
            moved = reader.moved(indentation, target, byte_class) if reader else indentation
            if moved is not None:
                if self._groups[target] != self._groups[state]:
                    shorter = self._shortened(target, stack)
                    following.append(Hypothesis(target, owed, shorter, moved))
                else:
                    following.append(Hypothesis(target, owed, stack, moved))
        return following

    def _shortened(self, state: int, stack: Stack) -> Stack:
        return self._plain_reader.shortened(self._groups[state], stack)

    def ended(
        self, hypothesis: Hypothesis, context: int, byte_class: int | None = None
    ) -> list[Hypothesis]:
        """Return what a hypothesis becomes if its lexeme ends here, before the next one starts.

        There is nothing if the lexeme does not match, or is refused; or if a byte of `byte_class`
        follows, with which the scanner would match more.
        """
        state, obligations, stack, indentation = hypothesis
        if self._match[state] == NO_MATCH:
            return []
        obligations = self.lookahead.ending(state, obligations)
        if byte_class is not None and not self.lookahead.after(obligations, byte_class):
            return []
        return [
            Hypothesis(fresh, owed, *shifted)
            for shifted in self.shifts(stack, indentation, self._match[state])
            for fresh, owed in self.lookahead.resolved(self.start(shifted[0], context), obligations)
        ]

    def is_sentence(self, configuration: Configuration) -> bool:
        """Return whether Lark parses the text if it ends here."""
        return any(
            self.parse_table.is_sentence(stack)
            for hypothesis in configuration.hypotheses
            for stack in self._at_the_end(hypothesis)
        )

    def expected(self, configuration: Configuration, *, is_whole: bool = False) -> set[int]:
        """Return the terminals that may come next, as far as the tables name them at once.

        The lexeme that has begun may become one of them, or end before one. The parser takes them;
        whether a sentence can follow is not asked. `END` is there if the text may end. If
        `is_whole`, none is left out because it takes longer to find.
        """
        found = {END} if self.is_sentence(configuration) else set()
        n_ways, most = (None, sys.maxsize) if is_whole else (_N_NAMED, _N_LOOKED_AT)
        begun = configuration.hypotheses[:n_ways]
        ended = (after for each in begun for after in self.ended(each, configuration.context))
        for each in [*begun, *islice(ended, n_ways)]:
            found |= self.parse_table.taken(each.stack, self._ahead(each, most), _N_LOOKED_AT)
        return found

    def _ahead(self, hypothesis: Hypothesis, most: int) -> list[int]:
        """Return the terminals that more bytes may make of the lexeme of a hypothesis.

        Where one starts, a large scanner is searched only if something has to match there: the
        parser tells quicker what else it may be.
        """
        scanner, (state, obligations, *_) = self.scanner, hypothesis
        is_start, is_large = bool(scanner.is_start[state]), scanner.n_states > _N_LOOKED_AT
        if is_start and is_large and min(obligations, default=1) > 0:
            return np.flatnonzero(scanner.is_matched).tolist()
        states = {*scanner.transitions[state].tolist()}
        if obligations and (is_start or not is_large):
            letters = range(scanner.contexts.shape[1])
            steps = (self.lookahead.step(state, obligations, letter) for letter in letters)
            states = {following for step in steps for following, _ in step}
        near = scanner.terminal_ids_near(states, most)
        return [each for each in near if each < scanner.ignored]

    def shifts(
        self, stack: Stack, indentation: Indentation, terminal_id: int
    ) -> tuple[tuple[Stack, Indentation], ...]:
        """Return stack and indentation after a lexeme; none if it is refused.

        There are several only where the parse table keeps conflicts.
        """
        check_step(0)
        if terminal_id == self.scanner.ignored:
            has_column = indentation.column != NO_COLUMN
            moved = indentation._replace(column=NO_COLUMN) if has_column else indentation
            return ((stack, moved),)
        if terminal_id > self.scanner.ignored:
            return ()
        if self.indentation_reader is not None:
            shifted = self.indentation_reader.shift(stack, indentation, terminal_id)
            return () if shifted is None else (shifted,)
        return tuple((after, indentation) for after in self.parse_table.shifts(stack, terminal_id))

    def _at_the_end(self, hypothesis: Hypothesis) -> Iterator[Stack]:
        """Yield the stacks if the text ends here; none if the hypothesis is false then."""
        state, obligations, stack, indentation = hypothesis
        if not self.lookahead.may_end(obligations):
            return
        reader, terminal_id = self.indentation_reader, self._match[state]
        ended: tuple[tuple[Stack, Indentation], ...] = ()
        if terminal_id != NO_MATCH:
            last = indentation if reader is None else reader.last(indentation, terminal_id, state)
            if last is not None:
                ended = self.shifts(stack, last, terminal_id)
        elif self.scanner.is_start[state]:
            ended = ((stack, indentation),)
        for after, unindented in ended:
            last_stack = after if reader is None else reader.at_the_end(after, unindented)
            if last_stack is not None:
                yield last_stack


def _with_all_readings(recognizer: Recognizer) -> Recognizer:
    """Return a recogniser for which too many ways to read a text are an error."""
    changed = copy(recognizer)
    changed._derived = Derived()
    changed._follows_all = True
    return changed
