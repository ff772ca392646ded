"""Places between two lexemes of a text that a monitor follows, and what may come there.

In: a parse table and a :class:`~cfgguide.engine.monitors.monitor.Monitor`. Out:
:class:`ParsePoint`, a parser stack with the monitor there; which terminals may come next, with
which texts; and the place after each of them. ::

    place ── NAME 'ab' ──> place ── ">" ──> place
    (stack, monitor)       (stack, monitor)
    NAME any, no ">"       ">" only

A terminal's lexeme first causes reductions, which the monitor may refuse; then the monitor says
which texts the terminal may have; then it is shifted. Terminals that cause the same reductions are
asked about together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from cfgguide.base.bounded import BoundedDict
from cfgguide.base.remembered import remembered, remembered_up_to
from cfgguide.base.sets import members
from cfgguide.engine.lexer.scanner import Scanner
from cfgguide.engine.monitors.monitor import Monitor
from cfgguide.engine.monitors.text_sets import OneOf, Texts
from cfgguide.errors import CfgGuideError, GrammarError, MonitorError, shown
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import END, ERROR, ParseTable

_MAX_WAYS_OUT = 100  # lexemes that are asked for
_MAX_KNOWN = 3_000  # places, and answers, of about 1 kB each

_UNKNOWN: Any = object()  # None is an answer

Answers = dict[int, Texts | None]  # of each terminal that may come: its texts, None for any


class ParsePoint:
    """A parser stack, and the monitor there.

    Attributes
    ----------
    stack : Stack
        The parser's stack, whole.
    monitor : Monitor
        What is known of the text.
    """

    __slots__ = (
        "_allowed",
        "_bits",
        "_endless",
        "_hash",
        "_places",
        "_reduced",
        "_restricted",
        "_single",
        "monitor",
        "stack",
    )

    def __init__(self, places: Places, stack: Stack, monitor: Monitor) -> None:
        self.stack = stack
        self.monitor = monitor
        self._places = places
        self._hash = hash((stack, monitor))
        self._allowed: Answers | None = None
        self._bits = self._restricted = self._endless = 0
        # Made when they are needed: there are many places, and most are asked one question.
        self._single: dict[int, tuple[bool, Texts | None]] | None = None
        self._reduced: dict[int, ParsePoint | None] | None = None

    @property
    def allowed(self) -> Answers:
        """The terminals that may come, each with its texts; `END` if the text may be over."""
        if self._allowed is None:
            self._answer()
        assert self._allowed is not None, "it was just found out"
        return self._allowed

    @property
    def bits(self) -> int:
        """The terminals that may come, as bits."""
        if self._allowed is None:
            self._answer()
        return self._bits

    @property
    def restricted(self) -> int:
        """Those of them that may not have any text, as bits."""
        if self._allowed is None:
            self._answer()
        return self._restricted

    @property
    def endless(self) -> int:
        """Those of the latter that may have all texts but a few, as bits."""
        if self._allowed is None:
            self._answer()
        return self._endless

    def may(self, terminal_id: int) -> tuple[bool, Texts | None]:
        """Return whether one terminal may come, and with which texts; None for any."""
        if self._allowed is not None:
            return terminal_id in self._allowed, self._allowed.get(terminal_id)
        if self._single is None:
            self._single = {}
        known = self._single.get(terminal_id)
        if known is None:
            known = self._single[terminal_id] = self._places.may(self, terminal_id)
        return known

    @property
    def relevant(self) -> Hashable:
        """What the monitor says is relevant for what may come."""
        relevant: Hashable = _said(self.monitor, "relevant")
        try:
            hash(relevant)
        except TypeError as error:
            kind = type(self.monitor).__name__
            raise MonitorError(f"{kind}.relevant cannot be looked up: {error}") from error
        return relevant

    def ways_out(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lexemes that the monitor names as leading towards the end."""
        return self._places.ways_out(self.monitor)

    @property
    def can_end(self) -> bool:
        """Whether the text may be over."""
        return END in self.allowed

    def after(self, terminal_id: int, text: bytes) -> ParsePoint | None:
        """Return the place after a lexeme; None if it is refused."""
        return self._places.after(self, terminal_id, text)

    def glimpse(self, terminal_id: int, text: bytes) -> ParsePoint | None:
        """Return the same, of which nothing is remembered: few of the tokens are ever chosen."""
        return self._places.found_after(self, terminal_id, text)

    def reduced(self, production: int) -> ParsePoint | None:
        """Return the place after a reduction; None if the monitor refuses it."""
        if self._reduced is None:
            self._reduced = {}
        if production not in self._reduced:
            self._reduced[production] = self._places.reduced(self, production)
        return self._reduced[production]

    def forget(self) -> None:
        """Forget what is found again quickly, and is rarely asked for a second time."""
        self._reduced = self._single = None

    def why(self, terminal_id: int, text: bytes) -> str:
        """Return what the monitor says of a lexeme that it refuses here; empty if nothing."""
        return self._places.why(self, terminal_id, text)

    def can_end_now(self) -> bool:
        """Return whether the text may be over, without finding out what else may come."""
        return self.can_end if self._allowed is not None else self._places.can_end(self)

    def _answer(self) -> None:
        self._allowed, self._bits, self._restricted, self._endless = self._places.answers(self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, ParsePoint)
            and self._hash == other._hash
            and self.stack == other.stack
            and self.monitor == other.monitor
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Place({self.stack!r}, {self.monitor!r})"


class Places:
    """The places of one grammar with one kind of monitor.

    Parameters
    ----------
    table : ParseTable
        Without conflicts: each lexeme leads to one stack.
    scanner : Scanner
        The union FSMs, which decide what terminal a text is.
    monitor : Monitor
        Before any text; it says which terminals and rules are followed.
    spelled : frozenset of int
        The bytes that can be written.
    goes_on : callable
        Whether a sentence of the grammar can follow on a stack.
    is_live : callable, optional
        Whether a sentence that the monitor allows can follow; asked where the monitor does not
        know.

    Raises
    ------
    GrammarError
        If the table has conflicts, or lacks what the monitor follows.
    """

    def __init__(
        self,
        table: ParseTable,
        scanner: Scanner,
        monitor: Monitor,
        *,
        spelled: frozenset[int],
        goes_on: Callable[[Stack], bool],
        is_live: Callable[[Stack, Monitor], bool] | None = None,
    ) -> None:
        _check(table, monitor)
        self._spelled = spelled
        self._goes_on = goes_on
        self._is_live = is_live
        self.table = table
        self._scanner = scanner
        self.is_followed = [name in monitor.terminals for name in table.terminals]
        self._rules = [left if left in monitor.rules else None for left, _ in table.productions]
        self._known: BoundedDict[tuple[Stack, Monitor], ParsePoint] = BoundedDict(_MAX_KNOWN)
        # Here, not with each place: the first would hold all that any text has come to.
        self._after: BoundedDict[tuple[ParsePoint, int, bytes], ParsePoint | None]
        self._after = BoundedDict(_MAX_KNOWN)
        self._answers: BoundedDict[tuple[Stack, Hashable], tuple[Answers, int, int, int]]
        self._answers = BoundedDict(_MAX_KNOWN)
        self._actions = memoryview(table.action.data)
        self._numbers = {name: number for number, name in enumerate(table.terminals)}

    def place(self, stack: Stack, monitor: Monitor) -> ParsePoint:
        """Return the one place of a stack and a monitor."""
        key = stack, monitor
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = ParsePoint(self, stack, monitor)
        return place

    def after(self, place: ParsePoint, terminal_id: int, text: bytes) -> ParsePoint | None:
        """Return the place after a lexeme; None if it is refused."""
        key = place, terminal_id, text if self.is_followed[terminal_id] else b""
        after: ParsePoint | None = self._after.get(key, _UNKNOWN)
        if after is _UNKNOWN:
            after = self.found_after(*key)
            after = None if after is None else self.place(after.stack, after.monitor)
            self._after[key] = after
        return after

    def found_after(self, place: ParsePoint, terminal_id: int, text: bytes) -> ParsePoint | None:
        """Return the same, of which nothing is kept."""
        if self.is_followed[terminal_id]:  # most are refused for their texts
            may, texts = place.may(terminal_id)
            if not may or (texts is not None and not texts.has(text)):
                return None
        reduced = self._reduced(place, terminal_id)
        if reduced is None:
            return None
        stack, monitor = reduced
        if self.is_followed[terminal_id]:
            name = self.table.terminals[terminal_id]
            monitor = asked(monitor, "shifted", name, text.decode("utf-8", "surrogateescape"))
        return ParsePoint(self, stack, monitor) if self._can_finish(stack, monitor) else None

    def _can_finish(self, stack: Stack, monitor: Monitor) -> bool:
        """Return whether a sentence that the monitor allows can follow."""
        promised = can_finish(monitor)
        if promised is None and self._is_live is not None:
            return self._is_live(stack, monitor)
        return promised is not False

    def may(self, place: ParsePoint, terminal_id: int) -> tuple[bool, Texts | None]:
        """Return whether a terminal may come, and with which texts; None for any."""
        reduced = self._reduced(place, terminal_id)
        if reduced is None:
            return False, None
        texts = None
        if self.is_followed[terminal_id]:
            texts = self._texts(reduced[1], terminal_id, place.stack.state)
            texts = self._finishing(*reduced, terminal_id, texts)
        elif not self._can_finish(*reduced):
            return False, None
        return texts is None or not texts.is_empty, texts

    def _finishing(
        self, stack: Stack, monitor: Monitor, terminal_id: int, texts: Texts | None
    ) -> Texts | None:
        """Return those of a few texts after which a sentence can follow; all of many."""
        if texts is None or self._is_live is None or can_finish(monitor) is not None:
            return texts
        few = texts.few()
        if few is None:
            return texts
        name = self.table.terminals[terminal_id]
        written = [text.decode("utf-8", "surrogateescape") for text in few]
        return OneOf(
            text
            for text in written
            if self._can_finish(stack, asked(monitor, "shifted", name, text))
        )

    def _reduced(self, place: ParsePoint, terminal_id: int) -> tuple[Stack, Monitor] | None:
        """Return the stack after a terminal, and the monitor before that; None if it is refused."""
        is_followed, shifted = self._unwatched(place.stack, terminal_id)
        monitor = place.monitor
        if is_followed:
            stack, monitor, is_refused = self._before(place, terminal_id)
            shifted = None if is_refused else self._pushed(stack, terminal_id)
        return None if shifted is None else (shifted, monitor)

    @remembered_up_to(10 * _MAX_KNOWN)
    def _unwatched(self, stack: Stack, terminal_id: int) -> tuple[bool, Stack | None]:
        """Return whether the monitor follows a reduction before a terminal; if not, what is after.

        That is None if the terminal is refused.
        """
        while (action := self._actions[stack.state, terminal_id]) < ERROR:
            if self._rules[-action - 1] is not None:
                return True, None
            stack = self.table.reduced(stack, -action - 1)
        return False, self._pushed(stack, terminal_id)

    def _pushed(self, stack: Stack, terminal_id: int) -> Stack | None:
        """Return the stack after a shift; None if that is refused or leads nowhere."""
        action = self._actions[stack.state, terminal_id]
        if action == ERROR:
            return None
        stack = stack.push(action - 1)
        return stack if self._goes_on(stack) else None

    def _before(self, place: ParsePoint, terminal_id: int) -> tuple[Stack, Monitor, bool]:
        """Do the reductions before a terminal, or up to the one that the monitor refuses.

        Returns
        -------
        tuple of (Stack, Monitor, bool)
            Stack and monitor after the last one that it allows, and whether it refuses one.
        """
        actions = self._actions
        while (action := actions[place.stack.state, terminal_id]) < ERROR:
            after = place.reduced(-action - 1)
            if after is None:
                return place.stack, place.monitor, True
            place = after
            if terminal_id == END and place.stack.state == self.table.end_state:
                break
        return place.stack, place.monitor, False

    def reduced(self, place: ParsePoint, production: int) -> ParsePoint | None:
        """Return the place after a reduction; None if the monitor refuses it."""
        rule, monitor = self._rules[production], place.monitor
        if rule is not None:
            monitor = asked(monitor, "reduced", rule)
            if monitor is None:
                return None
        return ParsePoint(self, self.table.reduced(place.stack, production), monitor)

    def _texts(self, monitor: Monitor, terminal_id: int, state: int) -> Texts | None:
        """Return which texts of a terminal a monitor allows, above a parse state."""
        name = self.table.terminals[terminal_id]
        texts = asked(monitor, "texts", name)
        return None if texts is None else self._read_as(texts, terminal_id, state)

    def why(self, place: ParsePoint, terminal_id: int, text: bytes) -> str:
        """Return what a monitor says of a lexeme that it refuses."""
        _, monitor, _ = self._before(place, terminal_id)
        name = self.table.terminals[terminal_id]
        said: str = asked(monitor, "why", name, text.decode("utf-8", "replace"))
        return said

    def ways_out(self, monitor: Monitor) -> Iterator[tuple[int, bytes]]:
        """Yield what a monitor names as leading towards the end, of the grammar's terminals."""
        for name, text in asked(monitor, "way_out"):
            terminal_id = self._numbers.get(name)
            if terminal_id is not None and text:
                yield terminal_id, text.encode("utf-8", "surrogateescape")

    def can_end(self, place: ParsePoint) -> bool:
        """Return whether the text may be over."""
        stack, _, is_refused = self._before(place, END)
        return not is_refused and stack.state == self.table.end_state

    def answers(self, place: ParsePoint) -> tuple[Answers, int, int, int]:
        """Return what may come at a place, as :class:`ParsePoint` has it."""
        key = place.stack, place.relevant
        known = self._answers.get(key)
        if known is None:
            if can_finish(place.monitor) is False:
                known = {}, 0, 0, 0
            else:
                answers = dict(self._found(place))
                bits = sum(1 << terminal_id for terminal_id in answers)
                texts_of = {each: texts for each, texts in answers.items() if texts is not None}
                restricted = sum(1 << each for each in texts_of)
                endless = sum(1 << each for each, texts in texts_of.items() if texts.is_endless)
                known = answers, bits, restricted, endless
            self._answers[key] = known
        return known

    def found(self, stack: Stack, monitor: Monitor) -> Answers:
        """Return what grammar and monitor allow, without looking up what is known."""
        return dict(self._found(ParsePoint(self, stack, monitor)))

    def _found(self, place: ParsePoint) -> Iterator[tuple[int, Texts | None]]:
        """Yield the terminals that grammar and monitor allow, with their texts."""
        pending = [(place, -1)]
        while pending:
            here, wanted = pending.pop()
            shifts, reductions = self._group(here.stack.state)
            for terminal_id in members(shifts & wanted):
                shifted = here.stack.push(self._actions[here.stack.state, terminal_id] - 1)
                if not self._goes_on(shifted):
                    continue
                texts = None
                if self.is_followed[terminal_id]:
                    texts = self._texts(here.monitor, terminal_id, place.stack.state)
                    texts = self._finishing(shifted, here.monitor, terminal_id, texts)
                elif not self._can_finish(shifted, here.monitor):
                    continue
                if texts is None or not texts.is_empty:
                    yield terminal_id, texts
            for production, terminals in reductions:
                rest = terminals & wanted
                after = here.reduced(production) if rest else None
                if after is None:
                    continue
                if rest & 1 and after.stack.state == self.table.end_state:
                    rest ^= 1
                    yield END, None
                pending.append((after, rest))

    def _read_as(self, texts: Texts, terminal_id: int, state: int) -> Texts:
        """Return those of some texts that the lexer reads as a terminal, above a parse state."""
        start = int(self._scanner.starts[self.table.set_of_state[state], 0])
        return self._lexed(texts, terminal_id, start)

    @remembered_up_to(_MAX_KNOWN)
    def _lexed(self, texts: Texts, terminal_id: int, start: int) -> Texts:
        def is_lexeme(text: bytes) -> bool:
            is_read = self._scanner.longest(start, text, 0) == (terminal_id, len(text))
            return is_read and self._spelled.issuperset(text)

        return texts.read_as_such(is_lexeme)

    @remembered
    def _group(self, state: int) -> tuple[int, tuple[tuple[int, int], ...]]:
        """Return the terminals that a state shifts, and its reductions with those of each."""
        row = self.table.action[state]
        shifts = sum(1 << int(each) for each in np.flatnonzero(row > 0) if each != END)
        reductions = tuple(
            (-int(action) - 1, sum(1 << int(each) for each in np.flatnonzero(row == action)))
            for action in np.unique(row[row < 0])
        )
        return shifts, reductions


def _pairs(found: Iterable[object]) -> list[object]:
    return [*islice(found, _MAX_WAYS_OUT)]


def _are_lexemes(found: object) -> bool:
    return isinstance(found, list) and all(
        isinstance(each, tuple) and len(each) == 2 and all(isinstance(part, str) for part in each)
        for each in found
    )


#: What a method returns: in words, how that is known, and what is made of it first.
_RETURNED: dict[str, tuple[str, Callable[[object], bool], Callable[[Any], object] | None]] = {
    "texts": (
        "None or a Texts, such as OneOf([...])",
        lambda found: found is None or isinstance(found, Texts),
        None,
    ),
    "shifted": ("a Monitor", lambda found: isinstance(found, Monitor), None),
    "reduced": (
        "a Monitor, or None",
        lambda found: found is None or isinstance(found, Monitor),
        None,
    ),
    "known": (
        "None or a Texts, such as OneOf([...])",
        lambda found: found is None or isinstance(found, Texts),
        None,
    ),
    "why": ("a str", lambda found: isinstance(found, str), None),
    "way_out": ("names of terminals, each with a text, as pairs of str", _are_lexemes, _pairs),
}


def asked(monitor: Monitor, method: str, *arguments: str) -> Any:
    """Call a method of a monitor; what goes wrong there is a `MonitorError`."""
    words, is_right, made_of = _RETURNED[method]
    try:
        found = getattr(monitor, method)(*arguments)
        found = found if made_of is None else made_of(found)
    except CfgGuideError:
        raise
    except Exception as error:
        raise MonitorError(
            f"the monitor {type(monitor).__name__} failed in {_call(method, arguments)}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not is_right(found):
        raise MonitorError(
            f"{type(monitor).__name__}.{_call(method, arguments)} returned {shown(found)}; "
            f"it is {words}"
        )
    return found


def _call(method: str, arguments: Iterable[str]) -> str:
    return f"{method}({', '.join(map(repr, arguments))})"


def _said(monitor: Monitor, name: str) -> Any:
    """Return a property of a monitor; what goes wrong there is a `MonitorError`."""
    try:
        return getattr(monitor, name)
    except Exception as error:
        raise MonitorError(
            f"the monitor {type(monitor).__name__} failed to say {name}: "
            f"{type(error).__name__}: {error}"
        ) from error


def can_finish(monitor: Monitor) -> bool | None:
    """Return whether a sentence that a monitor allows can follow; None if it leaves that open."""
    found = _said(monitor, "can_finish")
    if found is not None and found is not True and found is not False:
        raise MonitorError(
            f"{type(monitor).__name__}.can_finish is {shown(found)}; it is a bool, or None"
        )
    return found


def _check(table: ParseTable, monitor: Monitor) -> None:
    if table.is_general or table.may_repeat:
        raise GrammarError(
            "a monitor follows one parse of a text, and this grammar has several; "
            'use a grammar that Lark takes with parser="lalr", without rules that derive themselves'
        )
    for what, names, known in (
        ("terminal", monitor.terminals, table.terminals),
        ("rule", monitor.rules, table.nonterminals),
    ):
        missing = sorted(set(names).difference(known))
        if missing:
            there = ", ".join(sorted(name for name in known if not name.startswith("$"))[:40])
            raise GrammarError(
                f"the monitor {type(monitor).__name__} follows the {what} {missing[0]!r}, which "
                f"the grammar does not have; it has {there}"
            )
