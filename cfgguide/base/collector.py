"""Keeps Python's garbage collector from looking at what is being made.

In: a `with` block that makes many objects and hardly any garbage in cycles: grammars, schemas and
first masks. Out: the same, without the collector, which would look at all of them again and again:
a tenth of the time for a large grammar (docs/design/0022), and pauses of up to 0.2 s for a mask.
"""

from __future__ import annotations

import gc
from contextlib import AbstractContextManager
from weakref import WeakSet

from cfgguide.base.locks import new_lock, tell_child


class _Want:
    """A thread wants the collector to be off, as long as this object lives: a `with` block."""

    def __enter__(self) -> None:
        try:
            _collector.pause(self)
        except BaseException:  # an interruption: no block begins, so none ends
            _collector.resume(self)
            raise

    def __exit__(self, *_: object) -> None:
        _collector.resume(self)


class _Collector:
    """The collector, which any number of threads want to be off.

    A thread that was interrupted while it switched the collector on has lost its want, and the next
    one that does switches it on.
    """

    def __init__(self) -> None:
        self._lock = new_lock()
        self._wants: WeakSet[_Want] = WeakSet()
        self._is_paused = False  # by this object, which is to switch it on
        tell_child(self)

    def pause(self, want: _Want) -> None:
        """Switch it off."""
        with self._lock:
            self._wants.add(want)
            self._is_paused = self._is_paused or gc.isenabled()
            gc.disable()

    def resume(self, want: _Want) -> None:
        """Switch it on again for the last of the threads, if it was on before the first."""
        with self._lock:
            self._wants.discard(want)
            if self._is_paused and not self._wants:
                gc.enable()
                self._is_paused = False

    def begin_child(self) -> None:
        """Switch it on in a child: only other threads wanted it to be off."""
        self._wants = WeakSet()
        self.resume(_Want())


_collector = _Collector()


def collector_off() -> AbstractContextManager[None]:
    """Keep the collector off inside a `with` block."""
    return _Want()
