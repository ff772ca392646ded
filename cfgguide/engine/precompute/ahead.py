"""Makes the masks of an index before their first use.

In: an index, and bounds. Out: more entries of the index, and a :class:`Precomputed` that says how
much of the space of configurations they cover (:mod:`cfgguide.engine.precompute.frontier`).

The masks are made by this process, or by others (:mod:`cfgguide.engine.precompute.workers`) to
which this one sends parts of configurations and from which it collects the masks. Only this process
knows what has been decided, and it adds every mask as soon as it arrives. So an interrupted call,
or a killed worker, loses nothing that was added.

Source: Willard & Louf 2023, section 4.1.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cfgguide.base.limits import check_bound
from cfgguide.engine.index.index import Index
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.precompute.frontier import (
    DEFAULT_MAX_DEPTH,
    Answer,
    Frontier,
    FrontierPart,
    Unmade,
    answer,
)
from cfgguide.errors import GrammarError, LimitError

DEFAULT_MAX_BYTES = 500_000_000

_ALONE_SECONDS = 2.0  # before other processes are started
_PART_BYTES = 300  # of a part in memory, about
_ENTRY_BYTES = 8_000  # of a deep entry without its mask, at most
_CHUNK = 128  # parts sent to a worker at once
_SHOW_SECONDS = 0.2  # between two reports of progress
_BAR = "{l_bar}{bar}| [{elapsed}{postfix}]"


@dataclass(frozen=True)
class Precomputed:
    """How many of the masks of an index have been made.

    Attributes
    ----------
    n_decided : int
        Pairs of a scanner state and the topmost parse states for which there is a mask.
    n_left : int
        Known pairs that are still to be tried; each may lead to many more.
    n_given_up : int
        Pairs that were too deep, or cost more than the grammar's limits; their masks are made when
        they are asked for.
    share : float
        The share of all configurations that the decided pairs cover, from 0 to 1, if at each
        level of a stack all possible parse states are equally likely.
    n_entries, n_subsets : int
        Entries and distinct masks of the index.
    n_bytes : int
        Their approximate size.
    seconds : float
        Time taken.
    n_lost_workers : int
        Workers that ended unexpectedly.
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
        """Whether nothing is left to be made."""
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


Progress = bool | Callable[[Precomputed], None] | None


def precompute_masks(
    index: Index,
    *,
    n_processes: int | None = None,
    max_bytes: int | None = DEFAULT_MAX_BYTES,
    max_seconds: float | None = None,
    max_depth: int = DEFAULT_MAX_DEPTH,
    progress: Progress = None,
) -> Precomputed:
    """Make the masks of an index before their first use, until all are made or a bound is reached.

    Masks that are not made here are made when they are first asked for, as always. So are those of
    configurations that can be read in several ways or have look-ahead obligations, and all masks of
    grammars with an indenter and of JSON Schemas. Guides may use the index at the same time. An
    interrupted call keeps what it made, and a later call continues.

    Parameters
    ----------
    index : Index
        The index.
    n_processes : int, optional
        Processes that make masks: 1 for this one, more for others, which this one feeds. By
        default this one, and after two seconds one for each core.
    max_bytes : int, optional
        Most bytes of the masks and of what is still to be tried. An index with a bound of its own
        is not filled beyond that.
    max_seconds : float, optional
        Most seconds; a mask that is being made is finished.
    max_depth : int
        Most states of a stack; masks that depend on more are not made.
    progress : bool or callable, optional
        True for a bar on standard error, by default only if that is a terminal. A callable gets a
        :class:`Precomputed` several times a second.

    Returns
    -------
    Precomputed
        How much was made.

    Raises
    ------
    LimitError
        If `n_processes` is less than 1, or `max_bytes` or `max_seconds` are no numbers from 0 up.
    GrammarError
        If it is the index of a JSON Schema or a pattern.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"(", b"((", b")", b"))", None], eos_token_ids=4)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "(" start? ")"'), vocabulary)
    >>> precomputed = precompute_masks(index)
    >>> precomputed.share, precomputed.is_complete
    (1.0, True)
    """
    if index.masks.files is None:
        raise GrammarError(
            "masks of a JSON Schema or a pattern are made when they are needed, quickly; none is "
            "made ahead"
        )
    if n_processes is not None and n_processes < 1:
        raise LimitError(f"n_processes must be a number above 0, not {n_processes!r}")
    for unit, bound in (("bytes", max_bytes), ("seconds", max_seconds)):
        if bound is not None:
            check_bound(unit, bound)
    run = _Run(index, max_bytes=max_bytes, max_seconds=max_seconds, max_depth=max_depth)
    with shown(progress) as show:
        if n_processes is None:
            run.alone(_ALONE_SECONDS, show)
            n_processes = _n_cores()
        if n_processes > 1 and not run.is_over:
            run.with_workers(n_processes, show)
        else:
            run.alone(None, show)
        show(run.precomputed)
    return run.precomputed


def _n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Run:
    """One call of `precompute_masks`."""

    def __init__(
        self, index: Index, *, max_bytes: int | None, max_seconds: float | None, max_depth: int
    ) -> None:
        self._started = time.monotonic()
        self._index = index
        self._max_seconds = max_seconds
        bounds = [bound for bound in (max_bytes, index.max_bytes) if bound is not None]
        self._max_bytes = min(bounds, default=None)
        machine = index.machine
        assert isinstance(machine, LrMachine), "its masks mean the same in another process"
        self._frontier = Frontier(machine.liveness, index.known_paths(), max_depth=max_depth)
        self._n_lost_workers = 0

    @property
    def precomputed(self) -> Precomputed:
        index, frontier = self._index, self._frontier
        return Precomputed(
            frontier.n_decided,
            frontier.n_left,
            frontier.n_given_up,
            min(frontier.share, 1.0) if frontier.n_left or frontier.n_given_up else 1.0,
            index.n_entries,
            index.n_subsets,
            index.nbytes,
            self._seconds,
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
        n_bytes = self._index.nbytes + _PART_BYTES * self._frontier.n_kept
        n_bytes += 4 * self._index.vocabulary.n_words + _ENTRY_BYTES  # the next mask, at most
        return n_bytes > self._max_bytes

    def alone(self, seconds: float | None, show: Callable[[Precomputed], None]) -> None:
        """Make masks in this process, until so many seconds after the start."""
        shown = time.monotonic()
        while not self.is_over and (seconds is None or self._seconds < seconds):
            for part in self._frontier.take(1):
                self._put(part, answer(self._index.mask_of, part))
            if time.monotonic() - shown > _SHOW_SECONDS:
                show(self.precomputed)
                shown = time.monotonic()

    def with_workers(self, n_processes: int, show: Callable[[Precomputed], None]) -> None:
        """Make masks in other processes."""
        from cfgguide.engine.precompute.workers import Workers  # rarely needed

        with Workers(n_processes, self._index) as workers:
            try:
                while True:
                    while workers.n_idle and not self._is_bounded:
                        parts = self._frontier.take(_CHUNK)
                        if not parts:
                            break
                        workers.send(parts)
                    if not workers.n_busy or self._is_bounded:
                        break
                    for parts, answers in workers.collect(_SHOW_SECONDS):
                        self._put_all(parts, answers)
                    show(self.precomputed)
            finally:
                for parts in workers.pending:
                    self._frontier.put_back(parts)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _put_all(self, parts: list[FrontierPart], answers: list[Answer] | None) -> None:
        if answers is None:  # it was killed; another worker gets them
            self._n_lost_workers += 1
            self._frontier.put_back(parts)
            return
        for part, mask in zip(parts, answers, strict=True):
            if self._is_full:
                self._frontier.put_back([part])
            else:
                self._put(part, mask)

    def _put(self, part: FrontierPart, mask: Answer) -> None:
        if mask is Unmade.TOO_SHALLOW:
            self._frontier.undecided(part)
        elif mask is Unmade.TOO_COSTLY:
            self._frontier.give_up(part)
        else:
            path = part.path(mask.depth)
            self._index.add_mask(path, mask)
            self._frontier.decided(part, path)


@contextmanager
def shown(progress: Progress) -> Iterator[Callable[[Precomputed], None]]:
    """Yield a function that shows progress; `progress` is as for `precompute_masks`."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield lambda precomputed: None
    else:
        from tqdm import tqdm

        is_hidden = None if progress is None else False  # None: where there is no terminal
        with tqdm(total=100.0, unit="%", disable=is_hidden, bar_format=_BAR) as bar:

            def show(precomputed: Precomputed) -> None:
                bar.n = 100 * precomputed.share
                bar.set_postfix_str(
                    f"{precomputed.n_entries:,} entries, {precomputed.n_left:,} left"
                )

            yield show
