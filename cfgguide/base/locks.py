"""Locks that are free in a child of `fork`, what else a child has to do first, and Python's lock.

In: locks, and objects. Out: the same; in a child, the locks are free and the objects were told,
before `fork` returns. A child has one thread, the one that forked. What the others were
changing then, they never finish, as if they had been interrupted. So whatever such a lock guards is
right after an interruption at any instruction: it is changed by one assignment, or a flag says that
a change was begun, and who holds the lock next makes it anew.

Held is a lock while an object of C holds it: Python looks for interruptions between ``with lock:``
and the first instruction inside of it in no version so far, and not while a lock is released.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol
from weakref import WeakSet


class Forked(Protocol):
    """Has something to do in a child."""

    def begin_child(self) -> None:
        """Do it; there is one thread, and all locks are free."""


_INTERVAL = 0.001  # seconds

_locks: WeakSet[Any] = WeakSet()
_forked: WeakSet[Any] = WeakSet()


def new_lock() -> threading.Lock:
    """Return a lock that is free in a child."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


_switching, _n_switching, _interval_before = new_lock(), 0, 0.0


def new_rlock() -> threading.RLock:
    """Return a lock that one thread may hold several times, and that is free in a child."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def tell_child(owner: Forked) -> None:
    """Have `begin_child` of an object called in each child, as long as the object lives."""
    _forked.add(owner)


@contextmanager
def switching_often() -> Iterator[None]:
    """Have Python's lock change hands after a millisecond, instead of five.

    A thread that computes for long keeps others waiting so long at each step that they take outside
    of the lock. The interval is what it was before, once all have left.
    """
    global _n_switching, _interval_before
    with _switching:
        if not _n_switching:
            _interval_before = sys.getswitchinterval()
            if _interval_before > _INTERVAL:
                sys.setswitchinterval(_INTERVAL)
        _n_switching += 1
    try:
        yield
    finally:
        with _switching:
            _n_switching -= 1
            if not _n_switching and _interval_before > _INTERVAL:
                sys.setswitchinterval(_interval_before)


def _begin_child() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()
    for lock in _locks_of_properties():
        lock._at_fork_reinit()
    for owner in list(_forked):
        owner.begin_child()


def _locks_of_properties() -> list[Any]:
    """Return the locks of our cached properties: until Python 3.12, each has one."""
    return [
        value.lock
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "cfgguide"
        for owner in list(vars(module).values())
        if isinstance(owner, type)
        for value in vars(owner).values()
        if isinstance(value, cached_property) and hasattr(value, "lock")
    ]


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_begin_child)
