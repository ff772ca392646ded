"""Keeps Python's garbage collector from looking at what is being made.

In: a `with` block that makes many objects and hardly any garbage in cycles: grammars, schemas and
first masks. Out: the same, without the collector, which would look at all of them again and again:
a tenth of the time for a large grammar (docs/design/0022), and pauses of up to 0.2 s for a mask.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Collector:
    """The collector, which any number of threads want to be off."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_wanting = 0
        self._was_enabled = False

    def pause(self) -> None:
        """Switch it off."""
        with self._lock:
            if self._n_wanting == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._n_wanting += 1

    def resume(self) -> None:
        """Switch it on again for the last of the threads, if it was on before the first."""
        with self._lock:
            self._n_wanting -= 1
            if self._n_wanting == 0 and self._was_enabled:
                gc.enable()


_collector = _Collector()


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep the collector off inside a `with` block."""
    _collector.pause()
    try:
        yield
    finally:
        _collector.resume()
