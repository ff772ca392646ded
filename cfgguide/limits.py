"""Limits on what a grammar may cost, so that time and memory stay bounded.

In: a user's :class:`Limits`. Out: a :class:`Budget`, which every step of compilation checks before
it uses more, and which raises an error that names the limit. So it knows what is being done, and
tells it to whoever wants to show it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields

from cfgguide.errors import LimitError, SchemaError

# What each limit counts, and what to do other than raising it.
_COUNTED = {
    "max_nesting": (
        "nested groups or look-aheads at one position",
        "flatten the pattern, or split the terminal",
    ),
    "max_nfa_states": ("NFA states", "lower its counted repetitions"),
    "max_fsm_states": ("FSM states", "simplify its pattern"),
    "max_scanner_states": ("union states", "use fewer or simpler terminals"),
    "max_hypotheses": (
        "ways to read the text so far",
        "let its terminals end less far apart, or look less far ahead",
    ),
    "max_pairs": ("pairs of a control and a state", "simplify the grammar"),
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
        Ways to read a text while what its terminals look ahead for is not resolved.
    max_pairs : int
        Pairs of a control and a state that a decision on what can follow may visit.
    max_seconds : float
        Time that compiling may take.

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
    max_fsm_states: int = 20_000
    max_scanner_states: int = 200_000
    max_hypotheses: int = 256
    max_pairs: int = 2_000_000
    max_seconds: float = 300.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise LimitError(f"{name} must be a number above 0, not {value!r}")

    def __repr__(self) -> str:
        changed = [
            f"{limit.name}={value!r}"
            for limit in fields(self)
            if (value := getattr(self, limit.name)) != limit.default
        ]
        return f"Limits({', '.join(changed)})"


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
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        is_timed: bool = True,
        show: Callable[[str], None] | None = None,
    ) -> None:
        if not isinstance(limits, Limits | None):
            raise LimitError(
                f"limits is a cfgguide.Limits, such as Limits(max_seconds=5), not {limits!r}"
            )
        self.limits = limits or Limits()
        self._end = time.monotonic() + self.limits.max_seconds if is_timed else float("inf")
        self._show = show
        self._stage = ""

    def begin(self, stage: str) -> None:
        """Note which stage of compiling begins."""
        self._stage = stage
        self._show_stage()

    def stop_clock(self) -> None:
        """Stop counting time: the grammar is compiled, and what follows is its use."""
        self._end = float("inf")
        self._show = None

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
        if time.monotonic() > self._end:
            raise LimitError(
                f"compiling takes more than {self.limits.max_seconds:g} seconds (max_seconds), "
                f"now at {who}; simplify the grammar, or raise the limit"
            )

    def _show_stage(self) -> None:
        if self._show is not None:
            self._show(self._stage)


class Steps:
    """Bounds what each step of reading a schema, or of making its automaton, may take.

    Steps are ``with`` blocks of :meth:`begun`, and those inside of others count as a part of them.
    Whatever may take long in a step calls :func:`check_step`.

    Parameters
    ----------
    max_seconds : float
        Of the thread's processor time.
    cancelled : callable, optional
        Asked often whether to give up, so that another thread may decide.
    """

    def __init__(
        self, max_seconds: float = 5.0, cancelled: Callable[[], bool] | None = None
    ) -> None:
        self.max_seconds = max_seconds
        self.cancelled = cancelled

    def begun(self) -> AbstractContextManager[object]:
        """Return what a ``with`` block holds during a step: a lock of this thread's own.

        No interruption can keep a lock from being released at the end of a block.
        """
        if _current.lock.locked():
            return nullcontext()
        _current.end = time.thread_time() + self.max_seconds
        _current.steps = self
        return _current.lock

    def check(self) -> None:
        """Raise an error if the step takes too long, or is not wanted any more."""
        if self.cancelled is not None and self.cancelled():
            raise SchemaError("cancelled")
        if time.thread_time() > _current.end:
            raise SchemaError(
                f"it takes more than {self.max_seconds:g} seconds (max_seconds); use fewer or "
                "simpler schemas for one value, or raise the limit"
            )


class _Current(threading.local):
    end = 0.0
    steps = Steps()

    def __init__(self) -> None:
        self.lock = threading.Lock()  # held during a step


_current = _Current()


def check_step() -> None:
    """Raise an error if the step that this thread is in takes too long, or is not wanted any more.

    Raises
    ------
    SchemaError
        In that case; outside of a step, never.
    """
    if _current.lock.locked():
        _current.steps.check()
