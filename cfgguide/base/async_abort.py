"""Stops work that does not look at its limits itself.

In: work, as a function, and one that tells why to stop, if there is a reason. Out: the work's
result, or an error with that reason, soon after there is one. What others wrote, such as Lark,
counts neither seconds nor bytes, and nobody can ask it to. So a second thread asks every few
milliseconds, and has the interpreter raise an exception in the first thread before its next
bytecode. Work inside one call of C is not stopped; what may take long there must be bounded before
it begins.

The exception is no :class:`Exception`, so that ``except Exception`` does not swallow it, and it
never comes after the work: at the end, one that is still on its way is waited for. That is why the
work is a function and no ``with`` block: a context manager in Python may be hit at the first
bytecode of its ``__exit__``, before it can catch anything.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

_FIRST, _NEXT = 0.02, 0.01  # seconds before the first question, and between two
_AGAIN = 0.5  # seconds until the exception is raised again: something may have swallowed it
_STATM = Path("/proc/self/statm")


class _Stopped(BaseException):
    """Raised in the thread that is to stop."""


def run_watched(
    work: Callable[[threading.Lock], Result],
    reason: Callable[[], str | None],
    as_error: Callable[[str], Exception],
) -> Result:
    """Return what the work returns, unless there is a reason to stop it first.

    Where no thread can be started, nothing is watched.

    Parameters
    ----------
    work : callable
        It gets a lock: while it holds that, it is not stopped.
    reason : callable
        Returns why to stop, or None. It is called from another thread.
    as_error : callable
        Makes the error that is raised from the reason.
    """
    watch = _Watch(reason)
    try:
        try:
            with watch.active:
                watch.start()
                found = work(watch.lock)
        finally:
            watch.end()
    except _Stopped:
        if watch.found is None:  # the watch of a call around this one is to end
            raise
    if watch.found is not None:
        raise as_error(watch.found) from None
    return found


class _Watch:
    """Asks for a reason, and stops the thread that made it."""

    def __init__(self, reason: Callable[[], str | None]) -> None:
        self.found: str | None = None
        self._reason = reason
        self._thread_id = threading.get_ident()
        self.lock = threading.Lock()
        # Held just as long as the work lasts, whatever interrupts its end: C lets go of it.
        self.active = threading.Lock()

    def start(self) -> None:
        """Begin to ask."""
        # No object of `threading`: an interruption may leave its locks held. There may be no more
        # threads, or the platform has none.
        with contextlib.suppress(RuntimeError):
            _thread.start_new_thread(self._run, ())

    def end(self) -> None:
        """Wait for an exception that is on its way; the work is over."""
        with self.lock:
            n_looks = 2 if self.found is not None else 0
        for _ in range(n_looks):  # the interpreter looks for exceptions at the end of a loop
            time.sleep(0)

    def _run(self) -> None:
        seconds = _FIRST
        while True:
            time.sleep(seconds)
            if not self.active.locked():
                return
            seconds = _NEXT
            reason = self._reason()
            if reason is not None:
                with self.lock:
                    if self.active.locked():
                        self.found = reason
                        _raise_in(self._thread_id)
                seconds = _AGAIN


def _raise_in(thread_id: int) -> None:
    """Have the interpreter raise the exception in a thread.

    There is no way to take it back: CPython 3.11 would look for it for ever.
    """
    stopped = ctypes.py_object(_Stopped)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), stopped)


def resident_bytes() -> int:
    """Return the memory that this process has, in bytes; 0 where the system does not tell."""
    return _told(1)


def address_space() -> int:
    """Return the bytes of this process's address space; 0 where the system does not tell."""
    return _told(0)


def _told(number: int) -> int:
    try:
        return int(_STATM.read_bytes().split()[number]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def _page_size() -> int:
    try:
        import resource
    except ImportError:  # not on Unix
        return 0
    return resource.getpagesize()


_PAGE = _page_size()
