"""The index: from configurations to the subsets of the vocabulary that may follow.

In: a compiled grammar's recogniser and a vocabulary. Out: an :class:`Index`, which gives the
:class:`Subset` of a configuration: computed on the first visit, looked up ever after
(:mod:`cfgguide.index.configuration_trie`), kept in a file if wanted (:mod:`cfgguide.index.file`).

Source: Willard & Louf 2023, section 4.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from cfgguide.errors import IndexFormatError
from cfgguide.index import cached as cached_masks
from cfgguide.index import file as index_file
from cfgguide.index import precompute
from cfgguide.index.configuration_trie import (
    ConfigurationTrie,
    IndentationKey,
    Mask,
    Path,
    StoredTrie,
)
from cfgguide.index.footprint import footprint
from cfgguide.index.indentation import IndentationKeys
from cfgguide.index.precompute import Built, Progress
from cfgguide.index.step_cache import StepCache, StepNode
from cfgguide.limits import Budget
from cfgguide.liveness.liveness import BELOW, Liveness
from cfgguide.mask.arrays import Int32Array
from cfgguide.mask.subset import Subset, UnpackedMasks, bitmask_of
from cfgguide.mask.walk import Outcome, Walker
from cfgguide.recognizer import file as grammar_file
from cfgguide.recognizer.recognizer import Configuration, Recognizer
from cfgguide.storage import archive
from cfgguide.storage.archive import Arrays
from cfgguide.vocabulary.notebook import PLAIN, coloured, token_table
from cfgguide.vocabulary.vocabulary import Vocabulary

KIND = "index"
VERSION = 1  # of what the masks mean


class Index:
    """Masks of one grammar for one vocabulary.

    Make one with :func:`cfgguide.compile`, or read one with :meth:`load`. Many guides may use one
    index, from many threads.

    Parameters
    ----------
    recognizer : Recognizer
        Reads bytes as the grammar's Lark parser would.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    liveness : Liveness
        Decides whether a sentence can follow.
    max_bytes : int, optional
        Most bytes of its masks; those used longest ago go first. By default all are kept.

    Attributes
    ----------
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    recognizer : Recognizer
        Reads bytes as the grammar's Lark parser would.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        vocabulary: Vocabulary,
        liveness: Liveness,
        *,
        max_bytes: int | None = None,
    ) -> None:
        self.recognizer = recognizer
        self.vocabulary = vocabulary
        self._liveness = liveness
        self._walker = Walker(recognizer, vocabulary.trie, liveness.assurance)
        self._indentations = (
            IndentationKeys(recognizer, vocabulary) if recognizer.indentation_rules else None
        )
        self._unpacked = UnpackedMasks(vocabulary.n_words)
        self._entries = ConfigurationTrie(self._unpacked, max_bytes=max_bytes)
        self._eos = bitmask_of(vocabulary.eos_token_ids, vocabulary.n_words)
        self._step_cache = StepCache(recognizer.initial)
        self._lock = threading.Lock()
        # What a guide was given to be filled last, and that as an array.
        self.checked_out: tuple[Any, Int32Array] = (object(), np.empty(0, dtype=np.int32))
        self._n_cached = 0  # of `n_made`, when the cache was written

    def __repr__(self) -> str:
        return (
            f"Index(n_entries={self.n_entries}, n_subsets={self.n_subsets}, nbytes={self.nbytes}, "
            f"vocabulary={self.vocabulary!r})"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the tokens that may come first, if their mask was made already."""
        first = self.start.subset
        table = token_table(self.vocabulary, first.token_ids().tolist()) if first else ""
        return coloured([(repr(self), PLAIN)]) + table

    @property
    def start(self) -> StepNode:
        """The visit of the configuration before any token."""
        return self._step_cache.start

    @property
    def n_entries(self) -> int:
        """Number of entries of the configuration trie."""
        return len(self._entries)

    @property
    def n_made(self) -> int:
        """Number of masks that were made here and not found in a file."""
        return self._entries.n_made

    @property
    def n_subsets(self) -> int:
        """Number of distinct masks."""
        return len(self._entries.subsets)

    @property
    def nbytes(self) -> int:
        """Bytes of all masks, what they are found by, and the copies in use, about."""
        return self._entries.nbytes

    @property
    def footprint(self) -> int:
        """Bytes that would be freed with it: masks, tables, workspace and all it remembers.

        It takes some milliseconds to find out. What the vocabulary holds does not count.
        """
        vocabulary = self.vocabulary
        trie = vocabulary.trie
        return footprint(
            self, shared=[vocabulary, vocabulary.spelling, trie, trie.packed, *trie.packed]
        )

    def walker(self) -> Walker:
        """Return a walker, for one thread at a time, that can be used while masks are made."""
        return Walker(self.recognizer, self.vocabulary.trie, self._liveness.assurance)

    def over(self, others: Vocabulary) -> Index:
        """Return an index of other tokens, after which all goes on with this vocabulary."""
        return Index(self.recognizer, others, self._liveness)

    def rest(self) -> None:
        """Free the workspace in which masks are made; the next new mask makes another."""
        with self._lock:
            self._walker.rest()

    def forget_steps(self) -> None:
        """Forget where tokens led, but not the masks; guides go on as they were."""
        with self._lock:
            self._step_cache.forget()

    @property
    def digest(self) -> str:
        """SHA-256 in hex of what the masks depend on: the grammar's tables and the vocabulary."""
        return archive.digest({}, [VERSION, self.recognizer.digest, self.vocabulary.digest])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the grammar's tables and all masks to a file.

        The file is written under another name and renamed when it is complete.

        Parameters
        ----------
        path : path
            The file; one that is there is replaced.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        archive.write(path, *self.packed(), kind=KIND, digest=self.digest)

    def keep(self) -> None:
        """Keep the masks in the user's cache, with those that are there by then.

        :func:`cfgguide.compile` finds them there in later processes. Nothing happens if no mask is
        new or the cache is off; what cannot be kept is made anew another time.
        """
        if self.n_made > self._n_cached:
            self._n_cached = self.n_made
            self.add_cached()
            cached_masks.store(self.digest, *self._packed_masks(self._everything()))

    def add_cached(self) -> None:
        """Use the masks that are in the user's cache, if there are any."""
        found = cached_masks.load(self.digest)
        try:
            if found is not None:
                self.add_packed(*found)
        except IndexFormatError:
            cached_masks.drop(self.digest)

    def packed(self) -> tuple[Arrays, object]:
        """Return the grammar's tables and all masks as arrays and a JSON value."""
        tables, grammar = self._packed_tables()
        masks, found = self._packed_masks(self._everything())
        return tables | masks, grammar | found

    def _everything(self) -> dict[Path, Subset]:
        with self._lock:
            return self._entries.everything()

    def _packed_masks(self, entries: dict[Path, Subset]) -> tuple[Arrays, dict[str, object]]:
        masks, found = index_file.packed(entries.items(), self.vocabulary.n_words)
        return {f"masks.{name}": array for name, array in masks.items()}, {"masks": found}

    def _packed_tables(self) -> tuple[Arrays, dict[str, object]]:
        tables = (
            self.recognizer.parse_table,
            self.recognizer.scanner,
            self.recognizer.indentation_rules,
        )
        arrays, grammar = grammar_file.packed(*tables)
        return {f"grammar.{name}": array for name, array in arrays.items()}, {"grammar": grammar}

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        tokenizer_or_vocabulary: object,
        *,
        max_bytes: int | None = None,
    ) -> Index:
        """Open an index that was saved.

        The file is mapped: masks are read as they are asked for, and processes that open the same
        file share its memory. New masks are made as always.

        Parameters
        ----------
        path : path
            The file.
        tokenizer_or_vocabulary : Vocabulary, or a tokenizer
            What the index was made for.
        max_bytes : int, optional
            As for :class:`Index`.

        Raises
        ------
        IndexFormatError
            If the file is not whole, not an index, or one for another vocabulary or version.
        """
        vocabulary = Vocabulary.of(tokenizer_or_vocabulary)
        arrays, value = archive.read(path, kind=KIND)
        if not isinstance(value, dict) or "grammar" not in value:
            raise IndexFormatError(f"{os.fspath(path)!r} holds no grammar; make it anew")
        tables = grammar_file.unpacked(archive.part(arrays, "grammar."), value["grammar"])
        budget = Budget()
        recognizer = Recognizer(*tables, budget=budget)
        liveness = Liveness(recognizer, vocabulary.spelling, budget=budget)
        budget.stop_clock()
        index = cls(recognizer, vocabulary, liveness, max_bytes=max_bytes)
        index.add_file(path)
        return index

    def add_file(self, path: str | os.PathLike[str]) -> None:
        """Use the masks of a saved index of the same grammar and vocabulary.

        Raises
        ------
        IndexFormatError
            If the file is not whole, or not such an index.
        """
        self.add_packed(*archive.read(path, kind=KIND, digest=self.digest))

    def add_packed(self, arrays: Arrays, value: object) -> None:
        """Use masks as :meth:`packed` returns them; raises as :meth:`add_file`."""
        masks = value.get("masks") if isinstance(value, dict) else None
        tokens = self.vocabulary.trie.packed.token_ids
        possible = self._eos | bitmask_of(tokens, self.vocabulary.n_words)
        stored: StoredTrie = index_file.Stored(
            archive.part(arrays, "masks."), masks, possible=possible, unpacked=self._unpacked
        )
        with self._lock:
            self._entries.put_behind(stored)

    def subset(self, configuration: Configuration) -> Subset:
        """Return the tokens that may follow, EOS among them where the text is a sentence."""
        with self._lock:
            n_dropped = self._entries.n_dropped
            indentation_rules = (
                self._indentations.part(configuration) if self._indentations else None
            )
            if (found := self._entries.find(configuration, indentation_rules)) is None:
                found = self._fill(configuration, indentation_rules)
            if self._entries.n_dropped > n_dropped:
                self._step_cache.forget()  # they hold what was dropped
            return found

    def mask_of(self, configuration: Configuration) -> Mask | None:
        """Make a mask, where of the stacks only the topmost states may be known.

        Returns
        -------
        Mask or None
            None if the mask depends on what lies below.

        Raises
        ------
        LimitError
            If it costs more than the grammar's limits.
        """
        with self._lock:
            return self._mask(configuration)

    def build(
        self,
        *,
        n_processes: int | None = None,
        max_bytes: int | None = precompute.DEFAULT_MAX_BYTES,
        max_seconds: float | None = None,
        progress: Progress = None,
    ) -> Built:
        """Make masks ahead of their first use, until all are made or a bound is reached.

        What is not made is made when it is first asked for, as without this. So are those of
        configurations in which the text can be read in several ways, or that claim something of the
        text to come, and all masks of grammars with an indenter. Guides may use the index at the
        same time. What was made stays when the call is interrupted, and a later call goes on.

        Parameters
        ----------
        n_processes : int, optional
            Processes that make masks: 1 for this one, more for others, which this one feeds. By
            default this one, and after two seconds one for each core.
        max_bytes : int, optional
            Most bytes of the masks and of what is still to be tried. An index that is bounded
            itself is not filled beyond that.
        max_seconds : float, optional
            Most seconds; a mask that is being made is finished.
        progress : bool or callable, optional
            True for a bar on standard error, by default where that is a terminal. A callable gets
            a :class:`~cfgguide.index.precompute.Built` every now and then.

        Returns
        -------
        Built
            How much was made.

        Examples
        --------
        >>> import cfgguide
        >>> vocabulary = cfgguide.Vocabulary([b"(", b"((", b")", b"))", None], eos_token_ids=4)
        >>> index = cfgguide.compile(cfgguide.Grammar('start: "(" start? ")"'), vocabulary)
        >>> built = index.build()
        >>> built.share, built.is_complete
        (1.0, True)
        """
        work = precompute.Work(
            self._liveness,
            self.vocabulary,
            self._entries,
            self._lock,
            self.mask_of,
            self._save_tables,
        )
        return precompute.build(
            work,
            n_processes=n_processes,
            max_bytes=max_bytes,
            max_seconds=max_seconds,
            progress=progress,
        )

    def _save_tables(self, path: str | os.PathLike[str]) -> None:
        """Write an index without masks, for another process to open."""
        tables, grammar = self._packed_tables()
        masks, found = self._packed_masks({})
        archive.write(
            path, tables | masks, grammar | found, kind=KIND, digest=self.digest, is_durable=False
        )

    def allowed(self, step_node: StepNode) -> Subset:
        """Return the tokens that may follow a visited configuration."""
        if step_node.subset is None:
            step_node.subset = self.subset(step_node.configuration)
        return step_node.subset

    def accepts(self, step_node: StepNode, token_id: int) -> bool:
        """Return whether one token may follow; its mask is not made for that."""
        if step_node.subset is not None:
            return token_id in step_node.subset
        return token_id in step_node.following or self._accepts(step_node.configuration, token_id)

    def advance(self, step_node: StepNode, token_id: int) -> StepNode:
        """Return where an accepted token leads; EOS leads nowhere else.

        Raises
        ------
        IndexFormatError
            If the grammar refuses it, and only the mask of a file allows it.
        """
        following = step_node.following.get(token_id)
        if following is not None:
            return following
        before, token = step_node.configuration, self.vocabulary.tokens[token_id]
        if token is None:
            if token_id in self.vocabulary.eos_token_ids and self.recognizer.is_sentence(before):
                return step_node
        else:
            after = self.recognizer.advance(before, token)
            if after is not None:
                return self._step_cache.step(step_node, token_id, after)
        raise IndexFormatError(
            f"the index allows token {token_id}, which the grammar refuses: it was read from a "
            "file that somebody made up; remove it"
        )

    def _accepts(self, configuration: Configuration, token_id: int) -> bool:
        if not 0 <= token_id < self.vocabulary.size:
            return False
        if token_id in self.vocabulary.eos_token_ids:
            return self.recognizer.is_sentence(configuration)
        token = self.vocabulary.tokens[token_id]
        after = self.recognizer.advance(configuration, token) if token else None
        return after is not None and self.is_live(after)

    def is_live(self, configuration: Configuration, *, quickly: bool = False) -> bool:
        """Return whether tokens can complete it; `quickly`: only if that is known at once."""
        with self._lock:
            if quickly:
                return self._liveness.assurance.is_sure_of(self.recognizer, configuration)
            return self._liveness.is_live(configuration)

    def expected(self, configuration: Configuration) -> tuple[str, ...]:
        """Return the names of the terminals that may come next; see :meth:`Guide.expected`."""
        with self._lock:
            return self._liveness.expected(configuration)

    def _fill(
        self, configuration: Configuration, indentation_rules: IndentationKey | None
    ) -> Subset:
        mask = self._mask(
            configuration, is_sentence=bool(indentation_rules and indentation_rules.is_sentence)
        )
        assert mask is not None, "below the bottom of a whole stack nothing is asked for"
        return self._entries.add(configuration, mask, indentation_rules)

    def _mask(self, configuration: Configuration, *, is_sentence: bool = False) -> Mask | None:
        if (walk := self._walker.walk(configuration)) is None:
            return None
        inspected, reads = walk.inspected, walk.reads
        for number in walk.open_outcomes:
            outcome = walk.outcome(number)
            is_live = self._is_live(outcome, configuration, inspected)
            if is_live is None:
                return None
            walk.resolve(number, is_live=is_live)
            if self._indentations:
                reads |= self._indentations.read_to_decide(outcome.configuration)
        bitmask = np.zeros(self.vocabulary.n_words, dtype=np.int32)
        self._walker.fill(bitmask)
        if walk.is_sentence or is_sentence:
            bitmask |= self._eos
        return Mask(max(inspected), bitmask, reads)

    def _is_live(
        self, outcome: Outcome, configuration: Configuration, inspected: list[int]
    ) -> bool | None:
        """Decide an outcome, and note in `inspected` how deep that looked into the base.

        None if what decides lies below a part of a stack.
        """
        answer = self._liveness.decide(outcome.configuration)
        if BELOW in answer.heights:
            return None
        for height, (home, shared) in zip(answer.heights, outcome.origins, strict=True):
            if height <= shared:
                top = configuration.hypotheses[home].stack.height
                inspected[home] = max(inspected[home], top - height + 1)
        return answer.is_live
