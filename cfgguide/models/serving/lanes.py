"""Compiling for many requests at a time, so that none waits for others longer than it has to.

In: what a request asks for, and whether its client has left. Out: a future of it. Requests for the
same share one *job*, however many they are. A job goes through *lanes*, each with threads
of its own and with first come, first served::

    at hand   every job: what only has to be loaded is loaded here; the others go on to
    new       where they are compiled; what takes long, while another job waits here, goes on to
    long      where it is compiled from the beginning, however long it takes

So nothing that only has to be loaded waits for anything to be compiled, and what is compiled within
a turn waits at most a turn for each job before it. What takes longer loses a turn. (More threads
would help nobody: they share Python's lock, and the limits of a grammar are in seconds.) Meanwhile
that lock changes hands often, for those who write texts.

A queue has an end: a job that would have to wait with too many others, or has waited for too long,
is refused with a :class:`BusyError`, which says when to ask again. All jobs before one were asked
for before it, so none waits much longer than it may.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from cfgguide.base.locks import new_lock, switching_often, tell_child
from cfgguide.errors import LimitError

Cancelled = Callable[[], bool]
Result = TypeVar("Result")

_N_THREADS = 2  # of a lane
_GOES_ON = object()  # instead of the result of a job that another lane takes
_TURN = 0.25  # seconds that a job may take in the lane for new ones while another one waits there


class BusyError(LimitError):
    """Others have to be compiled first.

    Attributes
    ----------
    retry_after : int
        Seconds after which the request may be sent again.
    """

    retry_after = 5


@dataclass(frozen=True)
class Request(Generic[Result]):
    """What is asked for.

    Attributes
    ----------
    key : hashable
        Requests with one key are for the same.
    is_at_hand : callable
        Returns whether its grammar only has to be loaded; it may take a moment.
    make : callable
        Returns what is asked for, given a function that is asked often whether to give up.
    """

    key: Hashable
    is_at_hand: Callable[[], bool]
    make: Callable[[Cancelled], Result]


@dataclass(eq=False)
class _Job:
    """What some requests ask for, and who waits for it."""

    request: Request[Any]
    waiting: list[tuple[Future[Any], Cancelled]] = field(default_factory=list)
    is_stopped: bool = False
    asked_at: float = field(default_factory=time.monotonic)

    def all_left(self) -> bool:
        """Return whether nobody waits any more."""
        return all(future.cancelled() or has_left() for future, has_left in list(self.waiting))


class Lanes:
    """Runs jobs; thread-safe, and empty in a child of `fork`.

    Parameters
    ----------
    n_queued : int, optional
        Jobs that may wait to be compiled; by default any number.
    max_seconds : float
        For which a job may wait, and be compiled beside others.
    """

    def __init__(self, n_queued: int | None = None, max_seconds: float = math.inf) -> None:
        self._n_queued, self._max_seconds = n_queued, max_seconds
        self._lock = new_lock()
        self.begin_child()
        tell_child(self)

    def begin_child(self) -> None:
        """Begin with no job: the threads of the parent are not here."""
        self._at_hand, self._new, self._long = (
            ThreadPoolExecutor(_N_THREADS, thread_name_prefix=f"cfgguide-{name}")
            for name in ("at-hand", "new", "long")
        )
        self._jobs: dict[Hashable, _Job] = {}
        self._n_waiting = 0  # jobs in the lane for new ones
        self._n_long = 0  # jobs that wait in the lane for long ones

    @property
    def n_waiting(self) -> int:
        """How many jobs wait to be compiled."""
        return self._n_waiting + self._n_long

    def run(
        self, request: Request[Result], cancelled: Cancelled | None = None
    ) -> tuple[Future[Result], bool]:
        """Return a future of what a request asks for, and whether it is the first to ask for it.

        Parameters
        ----------
        request : Request
            What is asked for.
        cancelled : callable, optional
            Asked often, from another thread, whether the client has left.
        """
        future: Future[Result] = Future()
        with self._lock:
            job = self._jobs.get(request.key)
            is_first = job is None
            if job is None:
                job = self._jobs[request.key] = _Job(request)
            job.waiting.append((future, cancelled or _never))
        if is_first:
            self._at_hand.submit(self._run, job, self._look)
        return future, is_first

    def later(self, work: Callable[[], object]) -> None:
        """Do something that nobody waits for."""
        self._at_hand.submit(work)

    def _run(self, job: _Job, step: Callable[[_Job], Any]) -> None:
        """Run a step of a job, and tell those who wait how it ended, if it has."""
        try:
            with switching_often():
                result = step(job)
        except BaseException as error:
            is_stopped = job.is_stopped and isinstance(error, LimitError) and not job.all_left()
            if is_stopped and not self._is_late(job):
                # Its turn is over, or its clients had left before another one came.
                with self._lock:
                    self._n_long += 1
                self._long.submit(self._run, job, self._at_length)
                return
            told = self._busy() if is_stopped else error
            for future in self._ended(job):
                future.set_exception(told)
        else:
            if result is not _GOES_ON:
                for future in self._ended(job):
                    future.set_result(result)

    def _look(self, job: _Job) -> Any:
        """Load what is at hand; send on what is not."""
        if job.request.is_at_hand():
            return self._in_full(job)
        with self._lock:
            if self._n_queued is not None and self.n_waiting >= self._n_queued:
                raise self._busy()
            self._n_waiting += 1
        self._new.submit(self._run, job, self._in_turn)
        return _GOES_ON

    def _in_turn(self, job: _Job) -> Any:
        """Compile until that has taken its turn and another job waits, or nobody does any more."""
        with self._lock:
            self._n_waiting -= 1
        end = time.monotonic() + _TURN
        return self._in_time(job, lambda: self._n_waiting > 0 and time.monotonic() > end)

    def _at_length(self, job: _Job) -> Any:
        """Compile until nobody waits any more."""
        with self._lock:
            self._n_long -= 1
        return self._in_time(job, _never)

    def _in_time(self, job: _Job, is_over: Cancelled) -> Any:
        if self._is_late(job):
            raise self._busy()
        return self._until(job, lambda: is_over() or self._is_late(job))

    def _in_full(self, job: _Job) -> Any:
        """Load until all clients have left."""
        return self._until(job, _never)

    def _is_late(self, job: _Job) -> bool:
        return time.monotonic() > job.asked_at + self._max_seconds

    def _busy(self) -> BusyError:
        n = self.n_waiting
        what = f"{n} other requests wait to be compiled" if n else "the server is busy"
        return BusyError(
            f"{what}; send this one again after {BusyError.retry_after} seconds, or simplify what "
            "it asks for"
        )

    def _until(self, job: _Job, is_over: Cancelled) -> Any:
        job.is_stopped = False

        def stops() -> bool:
            job.is_stopped = job.is_stopped or job.all_left() or is_over()
            return job.is_stopped

        return job.request.make(stops)

    def _ended(self, job: _Job) -> list[Future[Any]]:
        """Return the futures of those who wait for a job, which is no more."""
        with self._lock:
            del self._jobs[job.request.key]
        return [future for future, _ in job.waiting if future.set_running_or_notify_cancel()]


def run_now(work: Callable[[], Result]) -> Future[Result]:
    """Return a future, done, of what a function returns."""
    future: Future[Result] = Future()
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)
    return future


def _never() -> bool:
    return False
