"""A pool of indexes, for services that are sent their grammars.

In: a vocabulary and a bound on memory; then grammars, as they come. Out: the index of each, made
when it is first asked for. When all indexes together hold more memory than the bound, those asked
for longest ago are let go. Who still has a guide of one goes on with it.

What an index holds is measured (:mod:`cfgguide.index.footprint`), since it grows while it is used:
when it is made, when others have been asked for since, and then in turn, one with every few
questions. Most of a small index is the workspace in which masks are made. So only the indexes asked
for last keep theirs; another makes it again with its next new mask.
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

_N_AWAKE = 16  # indexes that keep their workspaces
_SPREAD = 1.25  # resident memory by count: objects that come and go leave holes (docs/design/0010)
_QUESTIONS = 32  # to known indexes, after which one of them is measured again


class IndexPool:
    """Indexes of many grammars for one vocabulary, bounded in memory. Safe with many threads.

    Parameters
    ----------
    tokenizer_or_vocabulary : Vocabulary, or a tokenizer
        What is written with; a tokenizer goes through :meth:`Vocabulary.from_tokenizer`.
    max_bytes : int
        Most bytes of resident memory for all indexes together, about; the one asked for last is
        kept in any case, and its masks are bounded by half of it.
    limits : Limits, optional
        What compiling a grammar may cost.
    use_cache : bool
        Whether the user's cache (:mod:`cfgguide.storage.cache`) is asked for each grammar, and kept
        up.

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
        self._indexes: OrderedDict[Grammar, Future[Index]] = OrderedDict()  # the last asked last
        self._bytes: OrderedDict[Grammar, int] = OrderedDict()  # the last measured last
        self._awake: OrderedDict[Grammar, None] = OrderedDict()
        self._n_questions = 0

    def __len__(self) -> int:
        return len(self._indexes)

    @property
    def nbytes(self) -> int:
        """Bytes that the indexes held when each was measured last."""
        with self._lock:
            return sum(self._bytes.values())

    def index(self, grammar: Grammar) -> Index:
        """Return the index of a grammar; equal grammars have one.

        Whoever asks for a grammar that is being compiled waits for it; others don't. Files that a
        grammar imports are read when it is compiled.

        Raises
        ------
        CfgGuideError
            As :func:`cfgguide.compile`. The grammar will be tried again when asked for again.
        """
        with self._lock:
            known = self._indexes.get(grammar)
            future = known or Future()
            self._indexes[grammar] = future
            self._indexes.move_to_end(grammar)
        if known is None:
            self._compile(grammar, future)
        index = future.result()
        self._bound(grammar, is_new=known is None)
        return index

    def _compile(self, grammar: Grammar, future: Future[Index]) -> None:
        try:
            index = compile(
                grammar,
                self.vocabulary,
                limits=self._limits,
                max_bytes=self._max_bytes // 2,
                use_cache=self._use_cache,
            )
            # Every guide begins with this mask; the workspace is there when the index is measured.
            index.allowed(index.start)
        except BaseException as error:
            with self._lock:
                del self._indexes[grammar]
            future.set_exception(error)
        else:
            future.set_result(index)

    def _bound(self, asked: Grammar, *, is_new: bool) -> None:
        """Measure what may have grown, and let go of what is too much."""
        for grammar, index in self._to_measure(asked, is_new=is_new):
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
                if grammar != asked and grammar in self._bytes:
                    n_bytes -= self._bytes.pop(grammar)
                    self._awake.pop(grammar, None)
                    self._indexes.pop(grammar).result().forget_steps()

    def _to_measure(self, asked: Grammar, *, is_new: bool) -> list[tuple[Grammar, Index]]:
        with self._lock:
            self._n_questions += 1
            grammars = [asked] if is_new else []
            if is_new or self._n_questions % _QUESTIONS == 0:
                grammars.extend(list(self._bytes)[:1])
            self._awake[asked] = None
            self._awake.move_to_end(asked)
            asleep = []
            while len(self._awake) > _N_AWAKE:
                asleep.append(self._awake.popitem(last=False)[0])
            found = {grammar: self._indexes.get(grammar) for grammar in [*asleep, *grammars]}
        indexes = {
            grammar: future.result()
            for grammar, future in found.items()
            if future is not None and future.done() and future.exception() is None
        }
        for grammar in asleep:
            if grammar in indexes:
                indexes[grammar].rest()
        return list(indexes.items())
