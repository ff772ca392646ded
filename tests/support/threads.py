"""Work in several threads at once, whose errors are not lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def in_threads(work: Callable[[Given], Made], given: Iterable[Given]) -> list[Made]:
    """Return what a function makes of each value, in a thread for each; raise what one raises."""
    values = list(given)
    with ThreadPoolExecutor(len(values)) as threads:
        return list(threads.map(work, values))
