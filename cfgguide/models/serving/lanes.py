"""Compiling for many requests at a time, so that none waits for others longer than it has to.

In: what a request asks for, who asks, and whether that client has left. Out: a future of it.
Requests for the same share one *job*, however many they are. A job goes through *lanes*, each with
threads of its own::

    at hand   every job: what only has to be loaded is loaded here; the others go on to
    new       where they are compiled; what takes long, while another job waits here, goes on to
    long      where it is compiled from the beginning, however long it takes

So nothing that only has to be loaded waits for anything to be compiled, and what is compiled within
a turn waits at most a turn for each job before it. What takes longer loses a turn. (More threads
would help nobody: they share Python's lock, and the limits of a grammar are in seconds.) Meanwhile
that lock changes hands often, for those who write texts.

A lane takes a job of each client in turn, and of one client first come, first served: who asks for
a hundred grammars keeps another one waiting for one of them.

A queue has an end. Where it is full, the last job of the client with most jobs makes room for one
of a client with fewer; other jobs are refused with a :class:`BusyError`, which says when to ask
again. So is who has waited for too long, but his job stays for a while: it keeps its place, or is
compiled to its end, and who asks again finds it there. ::

    asked  -- too late, or compiled for too long -->  told to come again
      job  ----------------- stays -------------------------------------->  found, or dropped
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from cfgguide.base.locks import new_lock, switching_often, tell_child
from cfgguide.errors import LimitError

Cancelled = Callable[[], bool]
Result = TypeVar("Result")

_N_THREADS = 2  # of a lane
_GOES_ON = object()  # instead of the result of a job that another lane takes
_TURN = 0.25  # seconds that a job may take in the lane for new ones while another one waits there
_STAYS = 20.0  # seconds that a job stays for those who were told to come again
_LOOKED_EVERY = 0.05  # seconds until it is looked again who has waited for too long


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


class _Waiting(NamedTuple):
    """Someone who waits for a job, until a time by `time.monotonic`."""

    future: Future[Any]
    has_left: Cancelled
    until: float


@dataclass(eq=False)
class _Job:
    """What some requests ask for, who asked first, and who waits for it."""

    request: Request[Any]
    client: str
    waiting: list[_Waiting] = field(default_factory=list)
    is_stopped: bool = False
    is_loaded: bool = False  # it is not compiled, and nobody waits long
    stays_until: float = -math.inf

    def all_left(self) -> bool:
        """Return whether nobody waits any more, nor was told to come again."""
        gone = (each.future.cancelled() or each.has_left() for each in list(self.waiting))
        return all(gone) and time.monotonic() > self.stays_until


class _Lane:
    """Threads, and the jobs that wait for one of them; used under the lock of its lanes."""

    def __init__(self, name: str) -> None:
        self._threads = ThreadPoolExecutor(_N_THREADS, thread_name_prefix=f"cfgguide-{name}")
        self._jobs: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._n_jobs = 0  # which is read without the lock

    def __len__(self) -> int:
        return self._n_jobs

    def __iter__(self) -> Iterator[_Job]:
        return (job for jobs in list(self._jobs.values()) for job in list(jobs))

    def n_of(self, client: str) -> int:
        return len(self._jobs.get(client, ()))

    def clients(self) -> set[str]:
        return set(self._jobs)

    def add(self, job: _Job, begin: Callable[[], None]) -> None:
        """Have a thread call a function for a job that waits: this one, if no other comes first."""
        self._jobs.setdefault(job.client, deque()).append(job)
        self._n_jobs += 1
        self._threads.submit(begin)

    def next(self) -> _Job | None:
        """Return the first job of the client whose turn it is; None if there is none left."""
        if not self._jobs:
            return None
        client, jobs = self._jobs.popitem(last=False)
        job = jobs.popleft()
        self._n_jobs -= 1
        if jobs:
            self._jobs[client] = jobs
        return job

    def last_of(self, client: str) -> _Job:
        """Return the last job of a client that has some."""
        return self._jobs[client][-1]

    def remove(self, job: _Job) -> None:
        jobs = self._jobs[job.client]
        jobs.remove(job)
        self._n_jobs -= 1
        if not jobs:
            del self._jobs[job.client]


class Lanes:
    """Runs jobs; thread-safe, and empty in a child of `fork`.

    Parameters
    ----------
    n_queued : int, optional
        Jobs that may wait to be compiled; by default any number.
    max_seconds : float
        For which a request may wait, and be compiled beside others.
    """

    def __init__(self, n_queued: int | None = None, max_seconds: float = math.inf) -> None:
        self._n_queued, self._max_seconds = n_queued, max_seconds
        self._lock = new_lock()
        self.begin_child()
        tell_child(self)

    def begin_child(self) -> None:
        """Begin with no job: the threads of the parent are not here."""
        self._at_hand = ThreadPoolExecutor(_N_THREADS, thread_name_prefix="cfgguide-at-hand")
        self._new, self._long = _Lane("new"), _Lane("long")
        self._jobs: dict[Hashable, _Job] = {}
        self._n_compiling = 0  # jobs that are being compiled
        self._looks_again = -math.inf  # who has waited for too long

    @property
    def n_waiting(self) -> int:
        """How many jobs wait to be compiled."""
        return len(self._new) + len(self._long)

    @property
    def n_long(self) -> int:
        """How many of them have had their turn."""
        return len(self._long)

    @property
    def n_compiling(self) -> int:
        """How many jobs are being compiled."""
        return self._n_compiling

    @property
    def n_clients(self) -> int:
        """Whose jobs wait."""
        with self._lock:
            return len(self._new.clients() | self._long.clients())

    def run(
        self, request: Request[Result], cancelled: Cancelled | None = None, client: str = ""
    ) -> tuple[Future[Result], bool]:
        """Return a future of what a request asks for, and whether it is the first to ask for it.

        Parameters
        ----------
        request : Request
            What is asked for.
        cancelled : callable, optional
            Asked often, from another thread, whether the client has left.
        client : str
            Who asks.
        """
        future: Future[Result] = Future()
        waiting = _Waiting(future, cancelled or _never, time.monotonic() + self._max_seconds)
        with self._lock:
            job = self._jobs.get(request.key)
            is_first = job is None
            if job is None:
                job = self._jobs[request.key] = _Job(request, client)
            job.waiting.append(waiting)
        if is_first:
            self._at_hand.submit(self._run, job, self._look)
        self._tell_late()
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
            if job.is_stopped and isinstance(error, LimitError) and not job.all_left():
                # Its turn is over, or its clients had left before another one came.
                with self._lock:
                    self._long.add(job, self._begin_long)
                return
            for future in self._ended(job):
                future.set_exception(error)
        else:
            if result is not _GOES_ON:
                for future in self._ended(job):
                    future.set_result(result)

    def _look(self, job: _Job) -> Any:
        """Load what is at hand; send on what is not."""
        job.is_loaded = job.request.is_at_hand()
        if job.is_loaded:
            return self._until(job, _never)
        with self._lock:
            given_up = self._room_for(job)
            self._new.add(job, self._begin_new)
        for each in given_up:
            for future in self._ended(each):
                future.set_exception(self._busy())
        return _GOES_ON

    def _room_for(self, job: _Job) -> list[_Job]:
        """Return jobs that wait no more, so that one more can; called with the lock held.

        Raises
        ------
        BusyError
            If no place can be had.
        """
        if self._n_queued is None or self.n_waiting < self._n_queued:
            return []
        given_up = [each for each in self._new if each.all_left()]
        if not given_up:
            clients = sorted(self._new.clients() | self._long.clients())
            longest = max(clients, key=self._n_of, default="")
            if self._n_of(longest) < self._n_of(job.client) + 2:
                raise self._busy()
            lane = self._new if self._new.n_of(longest) else self._long
            given_up = [lane.last_of(longest)]
        for each in given_up:
            (self._new if each in list(self._new) else self._long).remove(each)
        return given_up

    def _n_of(self, client: str) -> int:
        return self._new.n_of(client) + self._long.n_of(client)

    def _begin_new(self) -> None:
        self._begin(self._new, self._in_turn)

    def _begin_long(self) -> None:
        self._begin(self._long, lambda job: self._until(job, _never))

    def _begin(self, lane: _Lane, step: Callable[[_Job], Any]) -> None:
        """Compile the next job of a lane, if it was not given up."""
        with self._lock:
            job = lane.next()
            self._n_compiling += job is not None

        def compiled(job: _Job) -> Any:
            try:
                return step(job)
            finally:  # before anyone is told
                with self._lock:
                    self._n_compiling -= 1

        if job is not None:
            self._run(job, compiled)

    def _in_turn(self, job: _Job) -> Any:
        """Compile until that has taken its turn and another job waits, or nobody does any more."""
        end = time.monotonic() + _TURN
        return self._until(job, lambda: len(self._new) > 0 and time.monotonic() > end)

    def _tell_late(self) -> None:
        """Tell those who have waited for too long to come again; their jobs stay for a while."""
        now = time.monotonic()
        if now < self._looks_again:
            return
        self._looks_again = now + _LOOKED_EVERY
        late = list[_Waiting]()
        with self._lock:
            for job in self._jobs.values():
                gone = [] if job.is_loaded else [each for each in job.waiting if each.until < now]
                if gone:
                    job.waiting = [each for each in job.waiting if each not in gone]
                    job.stays_until = now + _STAYS
                    late += gone
        for future, _, _ in late:
            if future.set_running_or_notify_cancel():
                future.set_exception(self._busy())

    def _busy(self) -> BusyError:
        n = self.n_waiting
        what = f"{n} other requests wait to be compiled" if n else "the server is busy"
        return BusyError(
            f"{what}; send this one again after {BusyError.retry_after} seconds, or simplify what "
            "it asks for"
        )

    def _until(self, job: _Job, is_over: Cancelled) -> Any:
        """Make what a job is for, until its turn is over or nobody waits any more."""
        job.is_stopped = False

        def stops() -> bool:
            self._tell_late()
            job.is_stopped = job.is_stopped or job.all_left() or is_over()
            return job.is_stopped

        return job.request.make(stops)

    def _ended(self, job: _Job) -> list[Future[Any]]:
        """Return the futures of those who wait for a job, which is no more."""
        with self._lock:
            del self._jobs[job.request.key]
            waiting = job.waiting
        return [each.future for each in waiting if each.future.set_running_or_notify_cancel()]


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
