"""A pool of indexes, for services that receive grammars at run time.

In: a vocabulary and a bound on memory; then grammars. Out: the index of each, made when it is first
requested. When all indexes together hold more memory than the bound, the least recently requested
are dropped. A guide of a dropped index still works.

An index grows with use, so what it holds is measured (:mod:`cfgguide.storage.footprint`): when
it is made, when its workspace is released, and in turn, one index every few requests. Most of a
small index is the workspace in which masks are made. So only the indexes requested last keep
theirs; another index allocates it again for its next new mask.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future

from cfgguide.grammar.grammar import Grammar
from cfgguide.index.compiler import compile
from cfgguide.index.index import Index
from cfgguide.limits import Limits
from cfgguide.vocabulary.vocabulary import Vocabulary

DEFAULT_MAX_BYTES = 500_000_000

_MAX_WORKSPACES = 16  # indexes that keep theirs
_SPREAD = 1.25  # resident bytes per counted byte: freed objects leave holes (docs/design/0010)
_N_REQUESTS = 32  # after so many, another index is measured again


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
        Whether to use the user's cache (:mod:`cfgguide.storage.cache`) for each grammar.

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
        self._max_bytes = max_bytes
        self._limits = limits
        self._use_cache = use_cache
        self._lock = threading.Lock()
        self._indexes: OrderedDict[Grammar, Future[Index]] = OrderedDict()  # most recent last
        self._bytes: OrderedDict[Grammar, int] = OrderedDict()  # measured last is last
        self._with_workspace: OrderedDict[Grammar, None] = OrderedDict()
        self._n_requests = 0

    def __len__(self) -> int:
        return len(self._indexes)

    @property
    def nbytes(self) -> int:
        """Bytes that the indexes held when each was measured last."""
        with self._lock:
            return sum(self._bytes.values())

    def index(self, grammar: Grammar, *, progress: bool | None = False) -> Index:
        """Return the index of a grammar; equal grammars have one.

        A request for a grammar that is being compiled waits for it; other requests do not. Files
        that a grammar imports are read when it is compiled.

        Parameters
        ----------
        grammar : Grammar
            The grammar.
        progress : bool, optional
            As for :func:`cfgguide.compile`.

        Raises
        ------
        CfgGuideError
            As :func:`cfgguide.compile`. The next request tries to compile the grammar again.
        """
        with self._lock:
            known = self._indexes.get(grammar)
            future = known or Future()
            self._indexes[grammar] = future
            self._indexes.move_to_end(grammar)
        if known is None:
            self._compile(grammar, future, progress)
        index = future.result()
        self._bound(grammar, is_new=known is None)
        return index

    def _compile(self, grammar: Grammar, future: Future[Index], progress: bool | None) -> None:
        try:
            index = compile(
                grammar,
                self.vocabulary,
                limits=self._limits,
                max_bytes=self._max_bytes // 2,
                use_cache=self._use_cache,
                progress=progress,
            )
            # Every guide begins with this mask, and the workspace is measured too.
            index.allowed(index.start)
        except BaseException as error:
            with self._lock:
                del self._indexes[grammar]
            future.set_exception(error)
        else:
            future.set_result(index)

    def _bound(self, requested: Grammar, *, is_new: bool) -> None:
        """Measure what may have grown, and drop indexes until the rest fits."""
        for grammar, index in self._to_measure(requested, is_new=is_new):
            n_bytes = index.footprint
            with self._lock:
                future = self._indexes.get(grammar)
                if future is not None and future.done() and future.result() is index:
                    self._bytes[grammar] = n_bytes
                    self._bytes.move_to_end(grammar)
        with self._lock:
            n_bytes = sum(self._bytes.values())
            for grammar in list(self._indexes):
                if _SPREAD * n_bytes <= self._max_bytes:
                    break
                if grammar != requested and grammar in self._bytes:
                    n_bytes -= self._bytes.pop(grammar)
                    self._with_workspace.pop(grammar, None)
                    self._indexes.pop(grammar).result().clear_step_cache()

    def _to_measure(self, requested: Grammar, *, is_new: bool) -> list[tuple[Grammar, Index]]:
        with self._lock:
            self._n_requests += 1
            grammars = [requested] if is_new else []
            if is_new or self._n_requests % _N_REQUESTS == 0:
                grammars.extend(list(self._bytes)[:1])
            self._with_workspace[requested] = None
            self._with_workspace.move_to_end(requested)
            released = []
            while len(self._with_workspace) > _MAX_WORKSPACES:
                released.append(self._with_workspace.popitem(last=False)[0])
            futures = {grammar: self._indexes.get(grammar) for grammar in [*released, *grammars]}
        indexes = {
            grammar: future.result()
            for grammar, future in futures.items()
            if future is not None and future.done() and future.exception() is None
        }
        for grammar in released:
            if grammar in indexes:
                indexes[grammar].release_workspace()
        return list(indexes.items())
