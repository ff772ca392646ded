"""Answers to questions that ask each other, and sometimes themselves.

In: questions, each with a function that decides it by asking others. Out: the least answers: a
value exists only if it can be written with an end. ::

    is there a value of a: {required: [b], properties: {b: a}}?     only if there is one of a: no

A question that is asked again while it is being decided is answered by no. An answer that rests on
such a one is not yet settled. The first question of those that rest on each other is decided again
until no answer grows; then all of them are settled.

Source: Chen, Warren, "Tabled evaluation with delaying for general logic programs" (1996), for
programs without negation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from cfgguide.base.locks import tell_child

_NEVER = 1 << 60
_DEEPEST = 24  # questions that ask each other, of about 18 calls each: Python allows 1,000 calls
#: Verdicts with one condition in common, by which others are found; at 16 and 512 the same work.
_N_KEPT = 128


class Settled:
    """Answers that are known.

    Answers only grow, from what is false to what is true, and one that is true is settled at once.
    """

    def __init__(self) -> None:
        self._answers: dict[Hashable, bool] = {}
        self.begin_child()
        tell_child(self)

    def begin_child(self) -> None:
        """Decide nothing: what another thread was deciding when it was forked is never decided."""
        self._open: dict[Hashable, int] = {}  # what is being decided, with its depth
        self._resting: dict[Hashable, int] = {}  # answers, with the depth of what they rest on
        self._rests_on = _NEVER  # the least depth that the current answer rests on
        self._has_grown = False
        self._put_off: dict[Hashable, Callable[[], bool]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being decided."""
        return not self._open

    def is_settled(self, question: Hashable) -> bool:
        """Return whether the answer to a question is known for good."""
        return question in self._answers

    def answer(self, question: Hashable, decide: Callable[[], bool]) -> bool:
        """Return the answer to a question."""
        if question in self._answers:
            return self._answers[question]
        depth = self._open.get(question, self._resting.get(question))
        if depth is not None:
            self._rests_on = min(self._rests_on, depth)
            return False
        outer, depth = self._rests_on, len(self._open)
        if depth >= _DEEPEST:
            self._put_off[question] = decide
            self._rests_on = 0
            return False
        if not depth and (self._resting or self._put_off):
            self._resting, self._put_off = {}, {}  # of one that was interrupted
        n_resting = len(self._resting)
        self._open[question] = depth
        try:
            found = self._decided(question, decide, depth, n_resting)
        except BaseException:
            self._forget(n_resting)
            raise
        finally:
            self._open.popitem()  # it is the last; unlike `del`, this runs nothing of Python's
            rests_on, self._rests_on = self._rests_on, outer
        if question not in self._answers:
            self._resting[question] = rests_on
            self._rests_on = min(outer, rests_on)
        return found

    def _decided(
        self,
        question: Hashable,
        decide: Callable[[], bool],
        depth: int,
        n_resting: int,
    ) -> bool:
        has_grown_before, self._has_grown = self._has_grown, False
        while True:
            self._rests_on = _NEVER
            found = decide()
            if found:
                self._has_grown = self._answers[question] = True
                self._forget(n_resting)
                break
            if depth == 0:
                self._decide_put_off()
            if self._rests_on < depth:
                break
            if not self._has_grown or self._rests_on == _NEVER:
                self._settle(question, n_resting)
                break
            self._has_grown = False
            self._forget(n_resting)
        self._has_grown = self._has_grown or has_grown_before
        return found

    def _decide_put_off(self) -> None:
        """Decide what was put off, and what is put off meanwhile."""
        decided: set[Hashable] = set()
        while waiting := [each for each in self._put_off if each not in decided]:
            for each in waiting:
                decided.add(each)
                self.answer(each, self._put_off[each])

    def _settle(self, question: Hashable, n_resting: int) -> None:
        """Settle that an answer, and those that rest on it, are no."""
        self._answers |= dict.fromkeys([question, *list(self._resting)[n_resting:]], False)
        self._forget(n_resting)

    def _forget(self, n_resting: int) -> None:
        """Have the answers decided again that came after some others."""
        for other in list(self._resting)[n_resting:]:
            del self._resting[other]


class Verdicts:
    """Whether some value meets all conditions of a set, as far as the verdicts on others tell.

    What meets a set meets its subsets.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}  # of conditions: a set of them is a set of bits
        self._known: dict[int, bool] = {}
        self._met: dict[Hashable, tuple[int, ...]] = {}  # by each condition

    def _set(self, conditions: frozenset[Hashable]) -> int:
        number = self._numbers.setdefault
        return sum(1 << number(each, len(self._numbers)) for each in conditions)

    def of(self, conditions: frozenset[Hashable]) -> bool | None:
        """Return whether some value meets all; None if that is not known."""
        asked = self._set(conditions)
        known = self._known.get(asked)
        if known is not None or not conditions:
            return known
        sets = min((self._met.get(each, ()) for each in conditions), key=len)
        return True if any(asked & each == asked for each in sets) else None

    def add(self, conditions: frozenset[Hashable], *, is_met: bool) -> None:
        """Keep a verdict."""
        asked = self._set(conditions)
        self._known[asked] = is_met
        for each in conditions if is_met else ():
            self._met[each] = (*self._met.get(each, ()), asked)[-_N_KEPT:]
