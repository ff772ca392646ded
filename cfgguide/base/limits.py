"""Limits on what a grammar may cost, so that time and memory stay bounded.

In: a user's :class:`Limits`. Out: a :class:`Budget`, which every step of compilation checks before
it uses more, and which raises an error that names the limit. So it knows what is being done, and
tells it to whoever wants to show it.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from math import inf
from numbers import Integral, Real
from typing import Any, TypeVar

from cfgguide.base.async_abort import resident_bytes, run_watched
from cfgguide.errors import CfgGuideError, LimitError, SchemaError, shown

Result = TypeVar("Result")

#: Bytes of a text or an ending: no model writes a longer one, so none is looked for, and what asks
#: for more is refused when it is compiled. Parts of a schema may double.
LONGEST = 100_000

# What each limit counts, and what to do other than raising it.
_COUNTED = {
    "max_nesting": (
        "nested groups, templates, or look-aheads at one position",
        "flatten it, or split it",
    ),
    "max_nfa_states": ("NFA states", "lower its counted repetitions"),
    "max_fsm_states": ("FSM states", "simplify its pattern"),
    "max_scanner_states": ("union states", "use fewer or simpler terminals"),
    "max_hypotheses": (
        "ways to read the text so far",
        "let its terminals end less far apart, look less far ahead, or leave fewer readings open",
    ),
    "max_pairs": ("pairs of a control and a state", "simplify the grammar"),
    "max_symbols": (
        "symbols once its `?`, `|`, `~` and templates are written out",
        "split it, or write fewer of them in a row",
    ),
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Limits:
    """Limits on what a grammar may cost. Exceeding one is a :class:`LimitError`.

    Parameters
    ----------
    max_nesting : int
        Nested groups in the pattern of a terminal; look-aheads at one position of a text.
    max_nfa_states : int
        NFA states of a terminal; counted repetitions are copied.
    max_fsm_states : int
        FSM states of a terminal.
    max_scanner_states : int
        States of all union FSMs.
    max_hypotheses : int
        Ways to read a text: while what its terminals look ahead for is not resolved, and where a
        grammar for Lark's Earley parser leaves readings open. Of the latter, masks follow 64 at
        most, or 16, or 4, if this is less.
    max_pairs : int
        Pairs of a control and a state that a decision on what can follow may visit.
    max_symbols : int
        Symbols of the productions of a rule, and characters of the pattern of a terminal, once
        everything that they refer to is written out.
    max_seconds : float
        Processor time that compiling may take, and each later step, such as a mask: that of the
        thread which does it. Where the system does not tell that of another thread, compiling has
        so many seconds of the clock.
    max_memory : int, optional
        Bytes by which the process may grow in any of these, whichever of its threads needs them; by
        default any number. Known on Linux only.
    allows_imports : bool
        Whether a grammar may ``%import`` files; it may always import Lark's own, such as
        ``common``.

    Examples
    --------
    >>> import cfgguide
    >>> grammar = cfgguide.Grammar("start: /a{1,5000}/")
    >>> cfgguide.index.compile_recognizer(grammar, limits=Limits(max_nfa_states=1000))
    Traceback (most recent call last):
    cfgguide.errors.LimitError: [limit] ... needs more than 1000 NFA states (max_nfa_states); ...
    """

    max_nesting: int = 100
    max_nfa_states: int = 100_000
    max_fsm_states: int = 100_000
    max_scanner_states: int = 200_000
    max_hypotheses: int = 256
    max_pairs: int = 2_000_000
    max_symbols: int = 1_000_000
    max_seconds: float = 300.0
    max_memory: int | None = None
    allows_imports: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.allows_imports, bool):
            raise LimitError(f"allows_imports is True or False, not {self.allows_imports!r}")
        for name, value in vars(self).items():
            if name == "allows_imports" or (name == "max_memory" and value is None):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise LimitError(f"{name} must be a number above 0, not {value!r}")

    @classmethod
    def for_strangers(cls) -> Limits:
        """Return limits for what comes from people whom nobody knows, over a network say.

        5 seconds, 500 MB, and no imports of files.

        >>> Limits.for_strangers()
        Limits(max_seconds=5.0, max_memory=500000000, allows_imports=False)
        """
        return cls(max_seconds=5.0, max_memory=500_000_000, allows_imports=False)

    def __repr__(self) -> str:
        changed = [
            f"{limit.name}={value!r}"
            for limit in fields(self)
            if (value := getattr(self, limit.name)) != limit.default
        ]
        return f"Limits({', '.join(changed)})"


def check_bound(unit: str, bound: Any) -> None:
    """Raise an error if a bound on bytes or seconds, as `unit` says, is no number from 0 up.

    Raises
    ------
    LimitError
        In that case.
    """
    kind: Any = Integral if unit == "bytes" else Real
    if not isinstance(bound, kind) or isinstance(bound, bool) or not bound >= 0:
        raise LimitError(f"max_{unit} is {shown(bound)}; it is a number of {unit}, from 0 up")


class Budget:
    """What is left of the limits while a grammar is compiled.

    Parameters
    ----------
    limits : Limits, optional
        The limits.
    is_timed : bool
        Whether time counts.
    show : callable, optional
        Called often with the stage of compiling.
    cancelled : callable, optional
        Asked often whether to give up, so that another thread may decide.
    started : float, optional
        When time began to count, by `time.thread_time`; by default now.

    Attributes
    ----------
    steps : Steps
        What each step may take once the grammar is compiled.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        is_timed: bool = True,
        show: Callable[[str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        started: float | None = None,
    ) -> None:
        if not isinstance(limits, Limits | None):
            raise LimitError(
                f"limits is a cfgguide.Limits, such as Limits(max_seconds=5), not {limits!r}"
            )
        self.limits = limits or Limits()
        self.steps = Steps(
            self.limits, error=LimitError, what="a step", way_out="simplify the grammar"
        )
        spent = 0.0 if started is None else time.thread_time() - started
        self._clock = _clock_of_thread()
        self._end = self._clock() - spent + self.limits.max_seconds if is_timed else inf
        self._look_again = 0.0 if is_timed else inf  # by `time.monotonic`
        self._show = show
        self._cancelled = cancelled
        self._lock: AbstractContextManager[object] = nullcontext()
        self._n_bytes = resident_bytes() if self.limits.max_memory is not None else 0
        self._n_objects = gc.get_count()[0]
        self._stage = ""

    def run(self, work: Callable[[], Result]) -> Result:
        """Return what the work returns, unless it takes too long or too much, or is cancelled.

        Raises
        ------
        LimitError
            In that case.
        """

        def locked(lock: AbstractContextManager[object]) -> Result:
            self._lock = lock
            return work()

        return run_watched(locked, self._why_stop, LimitError)

    def unwatched(self) -> AbstractContextManager[object]:
        """Return a ``with`` block inside of :meth:`run` that is not stopped: an import, say."""
        return self._lock

    def begin(self, stage: str) -> None:
        """Note which stage of compiling begins."""
        self._stage = stage
        self._show_stage()

    def stop_clock(self) -> None:
        """Stop counting time: the grammar is compiled, and what follows is its use."""
        self._end = self._look_again = inf
        self._show = None
        self._cancelled = None

    def check(self, name: str, count: int, who: str) -> None:
        """Raise an error if `who` needs more of what `name` limits, or if the time is up.

        Raises
        ------
        LimitError
            If `count` has reached the limit, or the time is up.
        """
        self._show_stage()
        limit = getattr(self.limits, name)
        if count >= limit:
            what, way_out = _COUNTED[name]
            raise LimitError(
                f"{who} needs more than {limit} {what} ({name}); {way_out}, or raise the limit"
            )
        if self._is_over():
            raise LimitError(self._too_long(who))
        check_step()

    def check_memory(self, n_bytes: int, who: str) -> None:
        """Raise an error if so many bytes more are too many: arrays take them in one step.

        Raises
        ------
        LimitError
            If `max_memory` would be exceeded.
        """
        most = self.limits.max_memory
        if most is not None and resident_bytes() - self._n_bytes + n_bytes > most:
            raise LimitError(self._too_large(who))

    def _why_stop(self) -> str | None:
        """Return why compiling has to stop, or None if it may go on."""
        if self._cancelled is not None and self._cancelled():
            return f"compiling was cancelled, at {self._stage}"
        if self._is_over():
            return self._too_long(self._stage)
        most = self.limits.max_memory
        if most is not None and resident_bytes() - self._n_bytes > most:
            return self._too_large(self._stage)
        return None

    def _is_over(self) -> bool:
        """Return whether the time is up."""
        now = time.monotonic()
        if now < self._look_again:
            return False
        left = self._end - self._clock() - _owed(self._n_objects)
        # No thread computes faster than time passes, nor owes more than three times as much.
        self._look_again = now + left / 4
        return left < 0

    def _too_large(self, who: str) -> str:
        return (
            f"compiling takes more than {self.limits.max_memory} bytes (max_memory), now at {who}; "
            "simplify the grammar, or raise the limit"
        )

    def _too_long(self, who: str) -> str:
        return (
            f"compiling takes more than {self.limits.max_seconds:g} seconds (max_seconds), now at "
            f"{who}; simplify the grammar, or raise the limit"
        )

    def _show_stage(self) -> None:
        if self._show is not None:
            self._show(self._stage)


def _clock_of_thread() -> Callable[[], float]:
    """Return what tells the processor time of this thread, in any thread."""
    try:
        clock = time.pthread_getcpuclockid(threading.get_ident())
    except (AttributeError, OSError):  # not on every system
        return time.monotonic

    def asked() -> float:
        try:
            return time.clock_gettime(clock)
        except OSError:  # the thread has ended, and others go on with the budget
            return -inf

    return asked


class Steps:
    """Bounds what each step may take: of reading a schema or making its automaton, or a mask.

    Steps are ``with`` blocks of :meth:`begun`, and those inside of others count as a part of them.
    Whatever may take long in a step calls :func:`check_step`.

    Parameters
    ----------
    limits : Limits, optional
        Of these, `max_seconds`, of the thread's processor time, and `max_memory`; by default 5
        seconds.
    cancelled : callable, optional
        Asked often whether to give up, so that another thread may decide.
    error : type
        What is raised.
    what : str
        What takes too long, in the message.
    way_out : str
        What to do, other than raising a limit.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        cancelled: Callable[[], bool] | None = None,
        *,
        error: type[CfgGuideError] = SchemaError,
        what: str = "it",
        way_out: str = "use fewer or simpler schemas for one value",
    ) -> None:
        self._error, self._what, self._way_out = error, what, way_out
        self.max_seconds = 5.0 if limits is None else limits.max_seconds
        self.max_memory = None if limits is None else limits.max_memory
        self.cancelled = cancelled

    def begun(self) -> AbstractContextManager[object]:
        """Return what a ``with`` block holds during a step: a lock of this thread's own.

        No interruption can keep a lock from being released at the end of a block.
        """
        step = _thread.step
        if step.lock.locked():
            return nullcontext()
        # What takes longer to ask is asked at the first check.
        step.end = None
        step.begun = time.perf_counter()
        step.pause_ends = 0.0
        step.steps = self
        return step.lock

    def check(self, step: _Step, now: float) -> None:
        """Raise an error if the step takes too long, or is not wanted any more."""
        step.pause_ends = now + _PAUSE
        if self.cancelled is not None and self.cancelled():
            step.pause_ends = 0.0  # whoever goes on in spite of it is told again
            raise self._error("cancelled")
        used = time.thread_time()
        if step.end is None:
            step.end = used + self.max_seconds - min(now - step.begun, _PAUSE)
            step.n_objects = gc.get_count()[0]
            step.n_bytes = resident_bytes() if self.max_memory is not None else 0
        if used + _owed(step.n_objects) > step.end:
            step.pause_ends = 0.0
            raise self._error(
                f"{self._what} takes more than {self.max_seconds:g} seconds (max_seconds); "
                f"{self._way_out}, or raise the limit"
            )
        step.n_checks += 1
        if self.max_memory is not None and step.n_checks % _N_CHECKS == 0:
            n_bytes = resident_bytes() - step.n_bytes
            if n_bytes > self.max_memory:
                step.pause_ends, step.n_checks = 0.0, step.n_checks - 1
                raise self._error(
                    f"{self._what} takes more than {self.max_memory} bytes (max_memory); "
                    f"{self._way_out}, or raise the limit"
                )


def _owed(n_before: int) -> float:
    """Return the seconds that the collector will take to look at the objects made since then.

    While many are made it is off (:mod:`cfgguide.base.collector`), and looks at all of them in one
    call of C, once the work is over or was refused: half a second for a million.
    """
    return max(0, gc.get_count()[0] - n_before) * _SECONDS_AN_OBJECT


_SECONDS_AN_OBJECT = 7e-7
_PAUSE = 0.005  # seconds between two checks: no thread has more processor time than passes
_N_CHECKS = 8  # of time for one of memory, which takes longer


class _WorkError(Exception):
    """The work that `within_work` bounds is done."""


class _Step:
    """The step that a thread is in: one object, since a thread's own are slow to look up."""

    __slots__ = (
        "begun",
        "end",
        "lock",
        "most_asked",
        "n_asked",
        "n_bytes",
        "n_checks",
        "n_objects",
        "pause_ends",
        "steps",
    )

    def __init__(self) -> None:
        self.begun = self.pause_ends = 0.0
        self.end: float | None = None
        self.n_bytes = self.n_objects = self.n_checks = self.n_asked = 0
        self.most_asked: float = inf
        self.steps = Steps()
        self.lock = threading.Lock()  # held during a step


class _Thread(threading.local):
    def __init__(self) -> None:
        self.step = _Step()


_thread = _Thread()


def check_step(work: int = 1) -> None:
    """Raise an error if the step that this thread is in takes too long, or is not wanted any more.

    Parameters
    ----------
    work : int
        As how much it counts in :func:`work_of_thread`; 0 where what is bounded by that has not
        become more.

    Raises
    ------
    SchemaError, LimitError
        In that case; outside of a step, never.
    """
    step = _thread.step
    if step.lock.locked():
        step.n_asked += work
        if step.n_asked > step.most_asked:
            raise _WorkError
        now = time.perf_counter()
        if now >= step.pause_ends:
            step.steps.check(step, now)


def work_of_thread() -> int:
    """Return the work of this thread in steps, as :func:`check_step` counts it.

    It tells of a part of a step what it has cost, whatever the clock says.
    """
    return _thread.step.n_asked


def within_work(most: int, work: Callable[[], Result], otherwise: Result) -> Result:
    """Return what a part of a step returns, or something else if it takes more work.

    Work is what `check_step` counts. What was found out by then is kept, as after an interruption.
    """
    step = _thread.step
    before = step.most_asked
    step.most_asked = min(before, step.n_asked + most)
    try:
        return work()
    except _WorkError:
        if step.n_asked > before:  # of what this is a part of
            raise
        return otherwise
    finally:
        step.most_asked = before
