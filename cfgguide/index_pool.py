"""A pool of indexes, for services that receive grammars at run time.

In: a vocabulary and a bound on memory; then grammars. Out: the index of each, made when it is first
requested. When all indexes together hold more memory than the bound, the least recently requested
are dropped. A guide of a dropped index still works.

An index grows with use, so what it holds is measured (:mod:`cfgguide.base.footprint`): when
it is made, when its workspace is released, and in turn, one index every few requests; but, once it
is made, for a hundredth of the time at most. Most of a small index is the workspace in which masks
are made. So only the indexes requested last keep theirs; another index allocates it again for its
next new mask.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from cfgguide.base.limits import Budget, Limits, check_bound
from cfgguide.base.locks import new_lock
from cfgguide.base.progress import run_within_limits
from cfgguide.compiler import compile
from cfgguide.engine.index.index import Index
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import LimitError
from cfgguide.grammar.grammar import Grammar
from cfgguide.output_types import output_type

Cancelled = Callable[[], bool]

DEFAULT_MAX_BYTES = 500_000_000

_MAX_WORKSPACES = 16  # indexes that keep theirs
_SPREAD = 1.25  # resident bytes per counted byte: freed objects leave holes (docs/design/0010)
_N_REQUESTS = 32  # after so many, another index is measured again
_PAUSE = 100  # no index is measured again for so many times as long as the last measurement took
_AT_MOST = 60.0  # seconds that this takes


class FirstVisits(NamedTuple):
    """Masks that were made for the first time, and the seconds of that."""

    n: int
    seconds: float


@dataclass(frozen=True)
class Requested:
    """An index, and whether it was made when it was requested."""

    index: Index
    is_new: bool


class _Entry:
    """What the pool knows of a grammar; whoever holds the lock makes the index."""

    def __init__(self) -> None:
        self.lock = new_lock()
        self.index: Index | None = None
        self.nbytes = 0  # when it was measured last
        self.measured = 0  # the request at which that was
        self.error: Exception | None = None  # for those who have waited, not for later requests
        self.asking: list[Cancelled] = []  # of those who wait, whether they have left
        self.is_left = False  # whether all had, so that it was not compiled

    def all_left(self) -> bool:
        """Return whether nobody waits any more."""
        return all(has_left() for has_left in list(self.asking))


class IndexPool:
    """Indexes of many grammars for one vocabulary, bounded in memory; thread-safe.

    Parameters
    ----------
    tokenizer_or_vocabulary : Vocabulary, or a tokenizer
        What is written with; a tokenizer goes through :meth:`Vocabulary.from_tokenizer`.
    max_bytes : int
        Approximate bound on the resident memory of all indexes together. The index requested last
        is always kept; the masks of an index are bounded by half of this.
    limits : Limits, optional
        What compiling a grammar may cost.
    use_cache : bool
        Whether to use the user's cache (:mod:`cfgguide.base.cache`) for each grammar.

    Raises
    ------
    LimitError
        If `max_bytes` is no number from 0 up.

    Examples
    --------
    >>> vocabulary = Vocabulary([b"yes", b"n", b"o", None], eos_token_ids=3)
    >>> pool = IndexPool(vocabulary)
    >>> index = pool.index(Grammar('start: "yes" | "no"'))
    >>> pool.index(Grammar('start: "yes" | "no"')) is index, len(pool)
    (True, 1)
    """

    def __init__(
        self,
        tokenizer_or_vocabulary: object,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        limits: Limits | None = None,
        use_cache: bool = True,
    ) -> None:
        self.vocabulary = Vocabulary.of(tokenizer_or_vocabulary)
        check_bound("bytes", max_bytes)
        self._max_bytes = int(max_bytes)
        self._limits = limits
        self._use_cache = use_cache
        self._lock = new_lock()
        self._entries: OrderedDict[Grammar, _Entry] = OrderedDict()  # most recent last
        self._with_workspace: OrderedDict[Grammar, None] = OrderedDict()
        self._n_requests = 0
        self._pause_ends = 0.0  # by the clock of `time.monotonic`
        self._visits_dropped = FirstVisits(0, 0.0)

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`, and so for processes: an empty pool like this one."""
        again = partial(
            IndexPool,
            max_bytes=self._max_bytes,
            limits=self._limits,
            use_cache=self._use_cache,
        )
        return again, (self.vocabulary,)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def nbytes(self) -> int:
        """Bytes that the indexes held when each was measured last."""
        with self._lock:
            return sum(entry.nbytes for entry in self._entries.values())

    @property
    def shared(self) -> list[object]:
        """What the indexes hold that others of the vocabulary hold as well."""
        with self._lock:
            made = [entry.index for entry in self._entries.values() if entry.index is not None]
        return [part for index in made for part in index.shared]

    @property
    def first_visits(self) -> FirstVisits:
        """What all indexes made so far, those included that were dropped: until they were."""
        with self._lock:
            made = [entry.index for entry in self._entries.values() if entry.index is not None]
            dropped = self._visits_dropped
        return FirstVisits(
            dropped.n + sum(index.n_made for index in made),
            dropped.seconds + sum(index.seconds_made for index in made),
        )

    def index(
        self,
        grammar: object,
        *,
        progress: bool | None = False,
        cancelled: Cancelled | None = None,
    ) -> Index:
        """Return the index of a grammar; equal grammars have one.

        A request for a grammar that is being compiled waits for it; other requests do not. Files
        that a grammar imports are read when it is compiled.

        Parameters
        ----------
        grammar : Grammar, type, mapping, ...
            What may be written, as :func:`cfgguide.compile` takes it.
        progress : bool, optional
            As for :func:`cfgguide.compile`.
        cancelled : callable, optional
            Asked often whether to give up, from another thread too. A grammar that others wait for
            as well is compiled until all have given up.

        Raises
        ------
        CfgGuideError
            As :func:`cfgguide.compile`. The next request tries to compile the grammar again.
        """
        return self.requested(grammar, progress=progress, cancelled=cancelled).index

    def requested(
        self,
        grammar: object,
        *,
        progress: bool | None = False,
        cancelled: Cancelled | None = None,
    ) -> Requested:
        """Return the index of a grammar as :meth:`index` does, and whether it was made for this."""
        is_new = False
        asked = grammar if isinstance(grammar, Grammar) else output_type(grammar).grammar
        while True:
            with self._lock:
                entry = self._entries.setdefault(asked, _Entry())
                self._entries.move_to_end(asked)
            if entry.index is not None:
                break
            has_left = cancelled or (lambda: False)
            entry.asking.append(has_left)
            try:
                with entry.lock:
                    if entry.is_left and not has_left():
                        continue  # those who had asked before left
                    if entry.error is not None:
                        raise entry.error
                    is_new = entry.index is None  # an interruption lets the next one try
                    entry.index = entry.index or self._compiled(asked, entry, progress)
                    break
            finally:
                entry.asking.remove(has_left)
        index = entry.index
        self._bound(asked, is_new=is_new)
        return Requested(index, is_new)

    def ready(self, grammar: Grammar) -> Index | None:
        """Return the index of a grammar if it is made; nothing is waited for.

        Whoever asks calls :meth:`hold_bounds` afterwards, which may take a moment.
        """
        with self._lock:
            entry = self._entries.get(grammar)
            if entry is None or entry.index is None:
                return None
            self._entries.move_to_end(grammar)
            return entry.index

    def hold_bounds(self, requested: Grammar) -> None:
        """Measure what may have grown since, and drop indexes until the rest fits."""
        self._bound(requested, is_new=False)

    def _compiled(self, grammar: Grammar, entry: _Entry, progress: bool | None) -> Index:
        started = time.thread_time()
        try:
            index = compile(
                grammar,
                self.vocabulary,
                limits=self._limits,
                max_bytes=self._max_bytes // 2,
                use_cache=self._use_cache,
                progress=progress,
                cancelled=entry.all_left,
            )
            # Every guide begins with this mask, and the workspace is measured too.
            run_within_limits(
                partial(_make_first_mask, index),
                self._limits,
                progress,
                entry.all_left,
                started=started,
            )
        except Exception as error:
            with self._lock:
                if self._entries.get(grammar) is entry:
                    del self._entries[grammar]
            entry.is_left = isinstance(error, LimitError) and entry.all_left()
            entry.error = error
            raise
        return index

    def _bound(self, requested: Grammar, *, is_new: bool) -> None:
        """Measure what may have grown, and drop indexes until the rest fits."""
        started = time.monotonic()
        for entry, index in self._to_measure(requested, is_new=is_new):
            entry.nbytes = index.footprint
            ended = time.monotonic()
            self._pause_ends = ended + _PAUSE * (ended - started)
        dropped: list[Index] = []
        with self._lock:
            n_bytes = sum(entry.nbytes for entry in self._entries.values())
            for grammar, entry in list(self._entries.items()):
                if _SPREAD * n_bytes <= self._max_bytes:
                    break
                if grammar != requested and entry.index is not None:
                    n_bytes -= entry.nbytes
                    del self._entries[grammar]
                    self._with_workspace.pop(grammar, None)
                    n, seconds = self._visits_dropped
                    self._visits_dropped = FirstVisits(
                        n + entry.index.n_made, seconds + entry.index.seconds_made
                    )
                    dropped.append(entry.index)

    def _to_measure(self, requested: Grammar, *, is_new: bool) -> list[tuple[_Entry, Index]]:
        chosen: dict[_Entry, None] = {}
        released: list[_Entry] = []
        with self._lock:
            self._n_requests += 1
            entry = self._entries.get(requested)
            if is_new and entry is not None:
                chosen[entry] = None
            now = time.monotonic()
            has_time = now >= self._pause_ends
            if has_time and (is_new or self._n_requests % _N_REQUESTS == 0):
                made = (each for each in self._entries.values() if each.index is not None)
                chosen |= dict.fromkeys(sorted(made, key=lambda each: each.measured)[:1])
            self._with_workspace[requested] = None
            self._with_workspace.move_to_end(requested)
            while len(self._with_workspace) > _MAX_WORKSPACES:
                entry = self._entries.get(self._with_workspace.popitem(last=False)[0])
                released += [] if entry is None else [entry]
            if has_time:
                chosen |= dict.fromkeys(released)
            if chosen:
                self._pause_ends = max(self._pause_ends, now + _AT_MOST)  # one thread at a time
            for each in chosen:
                each.measured = self._n_requests
        for each in released:
            if each.index is not None:
                each.index.release_workspace()
        return [(each, each.index) for each in chosen if each.index is not None]


def _make_first_mask(index: Index, budget: Budget) -> None:
    budget.begin("the first mask")
    index.allowed(index.start)
