"""Makes the masks of an index ahead of their first use.

In: what an index is made of (:class:`Work`), and bounds. Out: its entries, and a :class:`Built`
that says how much of the space of configurations they cover (:mod:`cfgguide.index.frontier`).

The masks are made by this process, or by others (:mod:`cfgguide.index.workers`) to which this one
deals out parts of configurations and from which it collects the masks. Only this process knows what
has been decided, and every mask is put in when it comes: whatever is interrupted or killed, what
was put in stays.

Source: Willard & Louf 2023, section 4.1.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from cfgguide.errors import LimitError
from cfgguide.index.configuration_trie import ConfigurationTrie, Mask
from cfgguide.index.frontier import DEFAULT_MAX_DEPTH, Answer, Frontier, Part, Unmade, answer
from cfgguide.liveness.liveness import Liveness
from cfgguide.recognizer.recognizer import Configuration
from cfgguide.vocabulary.vocabulary import Vocabulary

DEFAULT_MAX_BYTES = 500_000_000

_ALONE_SECONDS = 2.0  # before other processes are started
_PART_BYTES = 300  # of a part that is kept in memory, about
_ENTRY_BYTES = 8_000  # of a deep entry without its mask, at most
_CHUNK = 128  # parts dealt out at once
_SHOW_SECONDS = 0.2  # between two reports of progress
_BAR = "{l_bar}{bar}| [{elapsed}{postfix}]"


@dataclass(frozen=True)
class Built:
    """How much of an index has been made ahead.

    Attributes
    ----------
    n_decided : int
        Pairs of a scanner state and the topmost parse states for which there is a mask.
    n_left : int
        Pairs known of that are still to be tried; each may stand for many.
    n_given_up : int
        Pairs that were too deep, or cost more than the grammar's limits; they stay lazy.
    share : float
        The share of the configurations that the decided pairs cover, from 0 to 1, if at each place
        of a stack the parse states that can be there are equally many.
    n_entries, n_subsets : int
        Entries and distinct masks of the index.
    n_bytes : int
        Bytes of both, about.
    seconds : float
        How long it took.
    n_lost_workers : int
        Processes that ended before they were told to.
    """

    n_decided: int
    n_left: int
    n_given_up: int
    share: float
    n_entries: int
    n_subsets: int
    n_bytes: int
    seconds: float
    n_lost_workers: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be made ahead."""
        return not self.n_left and not self.n_given_up

    def __str__(self) -> str:
        left = [f"{self.n_left:,} left"] if self.n_left else []
        left += [f"{self.n_given_up:,} given up"] if self.n_given_up else []
        lost = self.n_lost_workers
        left += [f"{lost} worker{'s'[: lost > 1]} lost"] if lost else []
        share = math.floor(1000 * self.share) / 10  # all but a few is not all
        return (
            f"{share:.1f}% covered: {self.n_decided:,} pairs of scanner state and stack suffix "
            f"decided, {', '.join(left) or 'none left'}; {self.n_entries:,} entries, "
            f"{self.n_subsets:,} distinct masks, {self.n_bytes:,} bytes; {self.seconds:.1f} s"
        )


Progress = bool | Callable[[Built], None] | None


@dataclass(frozen=True)
class Work:
    """What building needs of an index.

    Attributes
    ----------
    liveness, vocabulary, entries
        The index's own.
    lock : context manager
        Held while `entries` are changed.
    mask_of : callable
        Makes the mask of a configuration, as ``Index.mask_of``.
    save_tables : callable
        Writes an index without masks to a path.
    """

    liveness: Liveness
    vocabulary: Vocabulary
    entries: ConfigurationTrie
    lock: AbstractContextManager[Any]
    mask_of: Callable[[Configuration], Mask | None]
    save_tables: Callable[[str], None]


def build(
    work: Work,
    *,
    n_processes: int | None = None,
    max_bytes: int | None = DEFAULT_MAX_BYTES,
    max_seconds: float | None = None,
    max_depth: int = DEFAULT_MAX_DEPTH,
    progress: Progress = None,
) -> Built:
    """Make masks until all are made or a bound is reached; see :meth:`cfgguide.Index.build`.

    Raises
    ------
    LimitError
        If `n_processes` is not above 0.
    """
    if n_processes is not None and n_processes < 1:
        raise LimitError(f"n_processes is a number above 0, not {n_processes!r}")
    building = _Building(work, max_bytes=max_bytes, max_seconds=max_seconds, max_depth=max_depth)
    with shown(progress) as show:
        if n_processes is None:
            building.alone(_ALONE_SECONDS, show)
            n_processes = _n_cores()
        if n_processes > 1 and not building.is_over:
            building.with_workers(n_processes, show)
        else:
            building.alone(None, show)
        show(building.built)
    return building.built


def _n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Building:
    """One call of `build`."""

    def __init__(
        self, work: Work, *, max_bytes: int | None, max_seconds: float | None, max_depth: int
    ) -> None:
        self._started = time.monotonic()
        self._work = work
        self._max_seconds = max_seconds
        self._max_bytes = max_bytes
        with work.lock:
            if work.entries.max_bytes is None:
                work.entries.take_in()
            else:  # from there on others would be dropped
                most = work.entries.max_bytes
                self._max_bytes = most if max_bytes is None else min(most, max_bytes)
            known = list(work.entries.paths())
        self._frontier = Frontier(work.liveness, known, max_depth=max_depth)
        self._n_lost_workers = 0

    @property
    def built(self) -> Built:
        entries, frontier = self._work.entries, self._frontier
        return Built(
            frontier.n_decided,
            frontier.n_left,
            frontier.n_given_up,
            min(frontier.share, 1.0) if frontier.n_left or frontier.n_given_up else 1.0,
            len(entries),
            len(entries.subsets),
            entries.nbytes_kept,
            time.monotonic() - self._started,
            self._n_lost_workers,
        )

    @property
    def is_over(self) -> bool:
        """Whether nothing is left, or a bound is reached."""
        return not self._frontier.n_left or self._is_bounded

    @property
    def _is_bounded(self) -> bool:
        is_late = self._max_seconds is not None and self._seconds > self._max_seconds
        return is_late or self._is_full

    @property
    def _is_full(self) -> bool:
        if self._max_bytes is None:
            return False
        next_ones = 4 * self._work.vocabulary.n_words + _ENTRY_BYTES  # it may come to be kept whole
        kept = self._work.entries.nbytes_kept + _PART_BYTES * self._frontier.n_kept
        return kept + next_ones > self._max_bytes

    def alone(self, seconds: float | None, show: Callable[[Built], None]) -> None:
        """Make masks in this process, for so long."""
        shown = time.monotonic()
        while not self.is_over and (seconds is None or self._seconds < seconds):
            for part in self._frontier.take(1):
                self._put(part, answer(self._work.mask_of, part))
            if time.monotonic() - shown > _SHOW_SECONDS:
                show(self.built)
                shown = time.monotonic()

    def with_workers(self, n_processes: int, show: Callable[[Built], None]) -> None:
        """Make masks in other processes."""
        from cfgguide.index.workers import Workers  # seldom needed: it starts processes

        with Workers(n_processes, self._work.save_tables, self._work.vocabulary) as workers:
            try:
                while True:
                    while workers.n_idle and not self._is_bounded:
                        parts = self._frontier.take(_CHUNK)
                        if not parts:
                            break
                        workers.deal(parts)
                    if not workers.n_busy or self._is_bounded:
                        break
                    for parts, answers in workers.collect(_SHOW_SECONDS):
                        self._put_all(parts, answers)
                    show(self.built)
            finally:
                for parts in workers.dealt:
                    self._frontier.put_back(parts)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _put_all(self, parts: list[Part], answers: list[Answer] | None) -> None:
        if answers is None:  # it was killed: another may have more luck with them
            self._n_lost_workers += 1
            self._frontier.put_back(parts)
            return
        for part, found in zip(parts, answers, strict=True):
            if self._is_full:
                self._frontier.put_back([part])
            else:
                self._put(part, found)

    def _put(self, part: Part, found: Answer) -> None:
        if found is Unmade.TOO_SHALLOW:
            self._frontier.undecided(part)
        elif found is Unmade.TOO_COSTLY:
            self._frontier.give_up(part)
        else:
            path = part.path(found.depth)
            with self._work.lock:
                self._work.entries.add_precomputed(path, found)
            self._frontier.decided(part, path)


@contextmanager
def shown(progress: Progress) -> Iterator[Callable[[Built], None]]:
    """Give what shows how far the building has come; `progress` is as for `Index.build`."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield lambda built: None
    else:
        from tqdm import tqdm

        is_hidden = None if progress is None else False  # None: where there is no terminal
        with tqdm(total=100.0, unit="%", disable=is_hidden, bar_format=_BAR) as bar:

            def show(built: Built) -> None:
                bar.n = 100 * built.share
                bar.set_postfix_str(f"{built.n_entries:,} entries, {built.n_left:,} left")

            yield show
