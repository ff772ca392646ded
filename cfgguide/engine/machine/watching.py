"""A recogniser whose texts a monitor follows.

In: a recogniser and a monitor before any text. Out: a :class:`WatchingRecognizer`. Its stacks are
:class:`WatchedStack`: the place where the lexeme began that is being read, and as much of its text
as the monitor may ask for. All else that a recogniser does is the same.

A hypothesis is *possible* if its lexeme may become one that may come at its place. Stacks are never
shortened: the monitor follows every reduction.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from cfgguide.base import archive
from cfgguide.base.bounded import BoundedDict
from cfgguide.base.sets import members
from cfgguide.engine.machine.gaps import Gaps
from cfgguide.engine.machine.lexeme_sets import LexemeSets
from cfgguide.engine.machine.lexer_places import Lexer, LexerPlace
from cfgguide.engine.machine.places import ParsePoint, Places
from cfgguide.engine.machine.reading import PlainReader
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.engine.monitors.monitor import Monitor
from cfgguide.engine.monitors.text_sets import Texts
from cfgguide.grammar.lr.indentation import Indentation
from cfgguide.grammar.lr.indentation_names import COUNTED, INLINE, JOIN, NEWLINE
from cfgguide.grammar.lr.stack import Stack

_MAX_CANDIDATES = 50_000  # pairs of states, of about 200 bytes each
_MAX_POSSIBLE = 2_000  # answers for all scanner states, of a few kB each

_COUNTED = (COUNTED, NEWLINE)  # roles of lexemes whose bytes an indenter counts

IMPOSSIBLE, POSSIBLE, BY_TEXT, BY_OTHER_TEXT = range(4)


class WatchedStack(Stack):
    """The stack of a place, and the text of the lexeme that began there.

    Attributes
    ----------
    place : ParsePoint
        Where the lexeme began.
    text : bytes
        What has come of it; empty where the monitor asks for none of the terminals that it may
        become.
    """

    __slots__ = ("place", "text")

    def __init__(self, place: ParsePoint, text: bytes = b"") -> None:
        self.place = place
        self.text = text
        self.state = place.stack.state
        self.below = place.stack.below
        self.height = place.stack.height
        self._hash = hash((place, text))

    def longer(self, added: bytes) -> WatchedStack:
        """Return the same with more text."""
        return WatchedStack(self.place, self.text + added) if added else self

    def between(self) -> WatchedStack:
        """Return the same without text."""
        return WatchedStack(self.place) if self.text else self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WatchedStack):
            return False
        return self.text == other.text and self.place == other.place

    def __hash__(self) -> int:
        return self._hash


class WatchingRecognizer(Recognizer):
    """Reads bytes as another recogniser does, and refuses what a monitor does.

    Make one with :meth:`of`.
    """

    places: Places
    lexemes: LexemeSets
    gaps: Gaps
    lexer: Lexer
    followed: int
    told_apart: int
    _is_asked: list[bool]
    _ignored: int
    _acceptable_in: dict[int, int]
    _candidates: BoundedDict[tuple[int, int], tuple[int, ...]]
    _possible_at: BoundedDict[Hashable, npt.NDArray[np.int8]]

    @classmethod
    def of(
        cls,
        recognizer: Recognizer,
        monitor: Monitor,
        *,
        spelled: frozenset[int],
        goes_on: Callable[[Stack], bool],
        is_live: Callable[[Stack, Monitor], bool] | None = None,
    ) -> Self:
        """Return the recogniser of a grammar's own and a monitor before any text.

        Parameters
        ----------
        recognizer : Recognizer
            That of the grammar.
        monitor : Monitor
            Before any text.
        spelled : frozenset of int
            The bytes that can be written.
        goes_on : callable
            Whether a sentence of the grammar can follow where a lexeme has just ended on a stack.
        is_live : callable, optional
            The same for sentences that the monitor allows too; asked where it does not know itself.

        Raises
        ------
        GrammarError
            If the grammar lacks what the monitor follows, or has several parses of a text.
        """
        made = cls.__new__(cls)
        made.__dict__.update(recognizer.with_whole_stacks().__dict__)
        made.__dict__.pop("digest", None)
        places = Places(
            recognizer.parse_table,
            recognizer.scanner,
            monitor,
            spelled=spelled,
            goes_on=goes_on,
            is_live=is_live,
        )
        made.places = places
        made.lexemes = LexemeSets.of(recognizer)
        made.lexer = Lexer.of(recognizer)
        made.gaps = Gaps.of(recognizer, spelled)
        scanner = recognizer.scanner
        made._ignored = scanner.ignored
        made._acceptable_in = {}
        made._candidates = BoundedDict(_MAX_CANDIDATES)
        made._possible_at = BoundedDict(_MAX_POSSIBLE)
        made.followed = sum(1 << each for each, is_one in enumerate(places.is_followed) if is_one)
        made.told_apart = made.followed
        if made.indentation_reader is not None:
            roles = made.indentation_reader.indentation_rules.roles
            made.told_apart |= sum(1 << each for each, role in enumerate(roles) if role in _COUNTED)
            table: object = _WatchedTable()
            made.indentation_reader = made.indentation_reader.with_parse_table(table)  # type: ignore[arg-type]
        asked = made.lexemes.leads_to(made.followed)
        made._is_asked = asked.tolist()
        made._plain_reader = PlainReader(
            recognizer.parse_table, scanner, made.indentation_reader, None, asked, _after
        )
        start = places.place(recognizer.initial.hypotheses[0].stack, monitor)
        made.initial = Configuration(
            tuple(
                each._replace(stack=WatchedStack(start)) for each in recognizer.initial.hypotheses
            )
        )
        made.__dict__["digest"] = archive.digest({}, [recognizer.digest, repr(monitor)])
        return made

    def advance(self, configuration: Configuration, data: bytes) -> Configuration | None:
        """Return the configuration after more bytes; None if Lark or the monitor refuses them.

        Raises
        ------
        MonitorError
            If the monitor fails.
        LimitError
            If there are more ways to read them than `max_hypotheses`.
        """
        after = super().advance(configuration, data)
        if after is None:
            return None
        possible = tuple(filter(self.is_possible, after.hypotheses))
        return after._replace(hypotheses=possible) if possible else None

    def _followed(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        self.check_ambiguity(len(hypotheses))
        return hypotheses

    def may_become(self, lexer_place: LexerPlace, place: ParsePoint, text: bytes) -> bool | None:
        """Return whether a lexeme may become one that the monitor allows at its place.

        Parameters
        ----------
        lexer_place : LexerPlace
            Where the lexer is, after bytes that the grammar allows.
        place : ParsePoint
            Where the lexeme began.
        text : bytes
            What has come of it.

        Returns
        -------
        bool or None
            None if that is not known without reading with the parser.
        """
        if len(lexer_place.states) == 1 and not lexer_place.left:
            return self._is_possible(lexer_place.states[0][0], place, text)
        possible = [each for each in lexer_place.states if self._is_possible(each[0], place, text)]
        if len(possible) == len(lexer_place.states) and not lexer_place.left:
            return True
        if any(self.gaps.can_end(*each, self._allowed(each[0], place)) for each in possible):
            return True
        return None if possible or lexer_place.left else False

    def decided_by(
        self, lexer_place: LexerPlace, place: ParsePoint
    ) -> tuple[Texts, ...] | bool | None:
        """Return what :meth:`may_become` says of a lexeme, or the texts one of which it begins.

        Returns
        -------
        tuple of Texts, or bool or None
            None if the lexeme has to be asked about with each text.
        """
        if len(lexer_place.states) > 1 or lexer_place.left:
            return None
        scanner_state = lexer_place.states[0][0]
        if self._is_dropped(self.lexemes.ahead(scanner_state), place):
            return True
        decisive: list[Texts] = []
        for terminal_id in self._terminals(scanner_state, place.stack.state):
            may, texts = place.may(terminal_id)
            if not may:
                continue
            if texts is None or (
                texts.is_endless and self.lexemes.endless(terminal_id)[scanner_state]
            ):
                return True
            if texts.is_endless:
                return None
            decisive.append(texts)
        return tuple(decisive) or False

    def _allowed(self, scanner_state: int, place: ParsePoint) -> int:
        """Return those of the terminals that a lexeme may become that may come, as bits."""
        ahead = self.lexemes.ahead(scanner_state) & self._acceptable(place.stack.state)
        return sum(1 << terminal_id for terminal_id in members(ahead) if place.may(terminal_id)[0])

    def extended(
        self, hypothesis: Hypothesis, byte_class: int, byte: int | None = None
    ) -> list[Hypothesis]:
        """Return what a hypothesis becomes if one more byte belongs to its lexeme."""
        following = super().extended(hypothesis, byte_class)
        if byte is None:
            return following
        stack, added = watched(hypothesis.stack), bytes((byte,))
        return [
            each._replace(
                stack=stack.longer(added) if self._is_asked[each.scanner_state] else stack.between()
            )
            for each in following
        ]

    def shifts(
        self, stack: Stack, indentation: Indentation, terminal_id: int
    ) -> tuple[tuple[Stack, Indentation], ...]:
        """Return stack and indentation after a lexeme; none if it is refused."""
        if terminal_id < self.scanner.ignored and self.indentation_reader is None:
            after = _after(stack, terminal_id)
            return () if after is None else ((after, indentation),)
        shifted = super().shifts(stack, indentation, terminal_id)
        return tuple((watched(after).between(), unindented) for after, unindented in shifted)

    def glimpse(
        self,
        place: ParsePoint,
        indentation: Indentation,
        terminal_id: int,
        text: bytes,
        added: bytes,
    ) -> tuple[ParsePoint, Indentation] | None:
        """Return place and indentation after a lexeme; None if it is refused.

        Parameters
        ----------
        place : ParsePoint
            Where it began.
        indentation : Indentation
            Where `added` begins.
        terminal_id : int
            What it is.
        text, added : bytes
            What was read of it, and the rest.
        """
        if self.indentation_reader is None:
            after = place.glimpse(terminal_id, text + added)
            return None if after is None else (after, indentation)
        there = self.indentation_reader.read(indentation, added, terminal_id)
        shifted = self.shifts(WatchedStack(place, text + added), there, terminal_id)
        return (watched(shifted[0][0]).place, shifted[0][1]) if shifted else None

    def is_sentence(self, configuration: Configuration) -> bool:
        """Return whether Lark parses the text if it ends here, and the monitor allows it."""
        return any(
            watched(stack).place.can_end_now()
            for hypothesis in configuration.hypotheses
            for stack in self._at_the_end(hypothesis)
        )

    def is_possible(self, hypothesis: Hypothesis) -> bool:
        """Return whether the lexeme of a hypothesis may become one that may come there."""
        stack = watched(hypothesis.stack)
        return self._is_possible(hypothesis.scanner_state, stack.place, stack.text)

    def _is_possible(self, scanner_state: int, place: ParsePoint, text: bytes) -> bool:
        if self._is_dropped(self.lexemes.ahead(scanner_state), place):
            return True
        for terminal_id in self._terminals(scanner_state, place.stack.state):
            may, texts = place.may(terminal_id)
            if may and (texts is None or self._begins(scanner_state, terminal_id, texts, text)):
                return True
        return False

    def _terminals(self, scanner_state: int, parse_state: int) -> tuple[int, ...]:
        """Return the acceptable terminals that a lexeme may become; those first without texts."""
        key = scanner_state, parse_state
        terminals = self._candidates.get(key)
        if terminals is None:
            found = members(self.lexemes.ahead(scanner_state) & self._acceptable(parse_state))
            terminals = tuple(sorted(found, key=lambda each: self.followed >> each & 1))
            self._candidates[key] = terminals
        return terminals

    def _acceptable(self, parse_state: int) -> int:
        """Return the terminals for which a parse state has an action, as bits."""
        bits = self._acceptable_in.get(parse_state)
        if bits is None:
            row = np.flatnonzero(self.parse_table.action[parse_state])
            bits = self._acceptable_in[parse_state] = sum(1 << int(each) for each in row)
        return bits

    def possible(self, place: ParsePoint) -> npt.NDArray[np.int8]:
        """Return whether a lexeme may become one that may come at a place, as far as states tell.

        Returns
        -------
        int8, shape (n_scanner_states,)
            `POSSIBLE` or `IMPOSSIBLE`; `BY_TEXT` if its text decides, `BY_OTHER_TEXT` if that may
            be any but a few.
        """
        dropped = self.dropped(place)
        key = place.bits, place.restricted, place.endless, dropped
        known = self._possible_at.get(key)
        if known is None:
            known = self._possible_at[key] = self._possible(place, dropped)
        return known

    def _possible(self, place: ParsePoint, dropped: int) -> npt.NDArray[np.int8]:
        lexemes, n_states = self.lexemes, self.scanner.n_states
        free = place.bits & ~place.restricted | 1 << self.scanner.ignored | dropped
        is_possible = lexemes.leads_to(free)
        answers = np.full(n_states, IMPOSSIBLE, dtype=np.int8)
        for terminal_id in members(place.restricted):
            leads = lexemes.leads_to(1 << terminal_id)
            texts = place.allowed[terminal_id]
            assert texts is not None, "it is restricted"
            if texts.is_endless:
                endless = lexemes.endless(terminal_id)
                is_possible = is_possible | endless
                answers[leads] = BY_OTHER_TEXT
            else:
                answers[leads & (answers != BY_OTHER_TEXT)] = BY_TEXT
        answers[is_possible] = POSSIBLE
        return answers

    def _is_dropped(self, ahead: int, place: ParsePoint) -> bool:
        """Return whether one of some terminals, as bits, is ignored or dropped at a place."""
        dropped = ahead >> self._ignored & 1 or (
            self.indentation_reader is not None and ahead & self.dropped(place)
        )
        return bool(dropped)

    def dropped(self, place: ParsePoint) -> int:
        """Return the terminals that an indenter reads at a place and does not feed, as bits.

        Line breaks are among them where the grammar takes none: that is, in brackets.
        """
        reader = self.indentation_reader
        if reader is None:
            return 0
        stack, newline, dropped = place.stack, reader.indentation_rules.newline, 0
        for role, terminals in self._never_fed.items():
            if reader.takes(role, stack.state):
                dropped |= terminals
        if self.parse_table.shift(stack, newline) is None:
            dropped |= 1 << newline
        return dropped

    @cached_property
    def _never_fed(self) -> dict[int, int]:
        """The terminals, as bits, of each role of those that an indenter may drop anywhere."""
        roles = self.indentation_rules.roles.tolist() if self.indentation_rules else []
        return {
            wanted: sum(
                1 << terminal_id for terminal_id, role in enumerate(roles) if role == wanted
            )
            for wanted in (INLINE, JOIN)
        }

    def possible_terminals(self, hypothesis: Hypothesis) -> list[int]:
        """Return the terminals that the lexeme of a hypothesis may become at its place."""
        state, stack = hypothesis.scanner_state, watched(hypothesis.stack)
        ahead = self.lexemes.ahead(state)
        return [
            terminal_id
            for terminal_id, texts in stack.place.allowed.items()
            if ahead >> terminal_id & 1
            and (texts is None or self._begins(state, terminal_id, texts, stack.text))
        ]

    def _ahead(self, hypothesis: Hypothesis, most: int) -> list[int]:
        possible = self.possible_terminals(hypothesis)
        return [each for each in super()._ahead(hypothesis, most) if each in possible]

    def relevant_and_allowed(self, hypothesis: Hypothesis) -> tuple[Hashable, Hashable]:
        """Return what is relevant where a lexeme began, and what may come there, found anew."""
        place = watched(hypothesis.stack).place
        allowed = self.places.found(place.stack, place.monitor)
        return (place.stack, place.relevant), frozenset(allowed.items())

    def lexer_number(self, configuration: Configuration) -> int:
        """Return the number of the lexer's place, where all hypotheses have one stack."""
        states = tuple(each[:2] for each in configuration.hypotheses)
        terminal_set = self._set_of_state[configuration.hypotheses[0].stack.state]
        return self.lexer.number(LexerPlace(states, configuration.context), terminal_set)

    @cached_property
    def tells_followed_from_ignored(self) -> bool:
        """Return whether no lexeme whose text the monitor asks for begins with ignored text."""
        ignored = np.flatnonzero(self.scanner.match == self.scanner.ignored).tolist()
        return not any(self.lexemes.ahead(state) & self.followed for state in ignored)

    def restricted(self, scanner_state: int, place: ParsePoint) -> list[tuple[int, Texts]]:
        """Return the terminals that a lexeme may become, and that have only some texts there."""
        ahead = self.lexemes.ahead(scanner_state) & place.restricted
        return [
            (terminal_id, texts)
            for terminal_id, texts in place.allowed.items()
            if texts is not None and ahead >> terminal_id & 1
        ]

    def _begins(self, scanner_state: int, terminal_id: int, texts: Texts, text: bytes) -> bool:
        if texts.is_endless:
            return self.lexemes.has_other(scanner_state, terminal_id, text, texts)
        return texts.begins(text)


def _after(stack: Stack, terminal_id: int) -> Stack | None:
    """Return the stack after a terminal; None if it is refused."""
    begun = watched(stack)
    after = begun.place.after(terminal_id, begun.text)
    return None if after is None else WatchedStack(after)


class _WatchedTable:
    """What an indenter feeds, followed by the monitor."""

    shift = staticmethod(_after)


def watched(stack: Stack) -> WatchedStack:
    """Return a stack of a configuration that a monitor follows, as what it is."""
    assert isinstance(stack, WatchedStack), "all stacks are watched here"
    return stack
