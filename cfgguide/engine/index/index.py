"""The index: from configurations to the subsets of the vocabulary that may follow.

In: a machine and a vocabulary. Out: an :class:`Index`, which gives the :class:`Subset` of a
configuration: made by the machine when it is first needed, then looked up
(:mod:`cfgguide.engine.index.configuration_trie`). :mod:`cfgguide.engine.index.saved_index` has its
files.

Source: Willard & Louf 2023, section 4.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from cfgguide.base import archive
from cfgguide.base.derived import Derived
from cfgguide.base.footprint import footprint
from cfgguide.base.limits import Steps, check_bound
from cfgguide.engine.index import saved_index
from cfgguide.engine.index.configuration_trie import ConfigurationTrie, Mask, Path
from cfgguide.engine.index.memo import Memo, Step
from cfgguide.engine.machine.protocol import (
    AnyMachine,
    Walker,
    check_hashable,
    check_machine,
    masks_of,
)
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import Subset, UnpackedMasks
from cfgguide.engine.vocabulary.notebook import PLAIN, coloured, token_table
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import IndexFormatError, LimitError

if TYPE_CHECKING:
    import pygtrie

    from cfgguide.engine.index.index_file import Stored
    from cfgguide.output_types import OutputType

Value = TypeVar("Value")

VERSION = 1  # of what the masks mean


class Index:
    """Masks of one grammar for one vocabulary.

    Make one with :func:`cfgguide.compile`, or read one with :meth:`load`. Many guides may use one
    index, from many threads.

    Parameters
    ----------
    machine : Machine
        Reads the grammar's texts, and makes masks.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    max_bytes : int, optional
        Most bytes of its masks; the least recently used go first. By default all are kept.

    Attributes
    ----------
    machine : Machine
        Reads the grammar's texts, and makes masks.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    masks : Masks
        Makes masks, under the machine's lock.
    steps : Steps
        What each step may cost: those of the machine, or 5 seconds if it has none.
    output_type : OutputType or None
        What the index was compiled from; None if it was read from a file.
    seconds_made : float
        Spent in making the masks that are counted in `n_made`.
    """

    def __init__(
        self,
        machine: AnyMachine,
        vocabulary: Vocabulary,
        *,
        max_bytes: int | None = None,
    ) -> None:
        check_machine(machine)
        if max_bytes is not None:
            check_bound("bytes", max_bytes)
        self.machine = machine
        self.vocabulary = vocabulary
        self.masks = masks_of(machine, vocabulary)
        own = Steps(error=LimitError, what="a step")
        self.steps: Steps = getattr(machine, "steps", own)
        self.output_type: OutputType | None = None
        self.seconds_made = 0.0
        self._entries = ConfigurationTrie(vocabulary.n_words, self.masks.like, max_bytes=max_bytes)
        self._memo = Memo(machine.initial)
        self._lock = machine.lock
        self._derived = Derived()
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
    def start(self) -> Step:
        """The step before any token."""
        return self._memo.start

    @property
    def eos_bitmask(self) -> Int32Array:
        """The mask where only EOS may come, to be read only; int32, shape (n_words,)."""
        return self.vocabulary.eos_bitmask

    @property
    def n_entries(self) -> int:
        """Number of entries of the configuration trie."""
        return len(self._entries)

    @property
    def n_made(self) -> int:
        """Number of masks that were made by this index, not read from a file."""
        return self._entries.n_made

    @property
    def n_subsets(self) -> int:
        """Number of distinct masks."""
        return len(self._entries.subsets)

    @property
    def nbytes(self) -> int:
        """Approximate bytes of the masks and of what finds them."""
        return self._entries.nbytes

    @property
    def max_bytes(self) -> int | None:
        """The bound on `nbytes`, if there is one."""
        return self._entries.max_bytes

    @property
    def footprint(self) -> int:
        """Bytes that would be freed with it: masks, tables, workspace and all that it remembers.

        Measuring takes some milliseconds. What the vocabulary holds does not count, nor what is
        `shared`.
        """
        return footprint(self, shared=[*self.vocabulary.parts, *self.shared])

    @property
    def shared(self) -> list[object]:
        """What other indexes of the vocabulary hold as well, beside the vocabulary."""
        return [*self.masks.shared(), UnpackedMasks.of(self.vocabulary.n_words)]

    def derived(self, make: Callable[[Index], Value]) -> Value:
        """Return what a function makes of this index; it is made once and kept with the index.

        That is a step. The value should not hold the index: nothing else would free either.
        """
        with self.steps.begun():
            return self._derived.get(make, self)

    def walker(self) -> Walker[Any]:
        """Return a walker of its own for one thread, to be used while this index makes masks."""
        return self.masks.walker(self.subset)

    def with_vocabulary(self, vocabulary: Vocabulary) -> Index:
        """Return an index whose next token is from another vocabulary, and later ones from this."""
        return Index(self.machine, vocabulary)

    def release_workspace(self) -> None:
        """Free the workspace in which masks are made; the next new mask allocates another."""
        with self._lock:
            self.masks.release_workspace()

    def forget_steps(self) -> None:
        """Forget where tokens led, but not the masks; guides are not affected."""
        self._memo = Memo(self.machine.initial)

    @property
    def digest(self) -> str:
        """SHA-256 in hex of what the masks depend on: the machine and the vocabulary."""
        return archive.digest({}, [VERSION, self.machine.digest, self.vocabulary.digest])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the grammar's tables, all masks, and token classes if they are known, to a file.

        The file is written under another name and renamed when it is complete.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        saved_index.save(self, path)

    def cache_masks(self) -> None:
        """Store the masks in the user's cache, together with those that are there already.

        :func:`cfgguide.compile` finds them there in later processes. Nothing happens if no mask is
        new, masks mean nothing in another process, or the cache is off. Masks that cannot be stored
        are made again when they are needed.
        """
        n_made = self.n_made
        if n_made > self._n_cached:
            saved_index.cache(self)
            self._n_cached = n_made

    def load_cached(self) -> None:
        """Use what the user's cache has of this index, if there is anything."""
        saved_index.use_cached(self)

    def entries(self) -> pygtrie.Trie:
        """Return a view of all entries, those of files included: paths, and what may follow."""
        with self._lock:
            self._entries.mend()
            return self._entries.trie

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        tokenizer_or_vocabulary: object,
        *,
        max_bytes: int | None = None,
        is_mapped: bool = False,
    ) -> Index:
        """Open an index that was saved.

        The file is read, and may be changed or removed afterwards. Masks that it lacks are made as
        usual.

        Parameters
        ----------
        path : path
            The file.
        tokenizer_or_vocabulary : Vocabulary, or a tokenizer
            The one that the index was made for.
        max_bytes : int, optional
            As for :class:`Index`.
        is_mapped : bool
            Whether the file is mapped, so that processes share its memory, and each mask is read
            when it is first needed. Only for a file that is replaced, if at all, and never changed:
            cutting a mapped file short ends the processes that use it (SIGBUS). :meth:`save`
            replaces.

        Raises
        ------
        IndexFormatError
            If the file is damaged, no index, or one for another vocabulary or version.
        """
        return saved_index.load(
            path, Vocabulary.of(tokenizer_or_vocabulary), max_bytes=max_bytes, is_mapped=is_mapped
        )

    def __copy__(self) -> Index:
        return self  # many may use it: nothing of it changes what they see

    def __deepcopy__(self, _memo: object) -> Index:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`, and so for processes: the machine and the vocabulary, no masks."""
        return _unpickled, (self.machine, self.vocabulary, self.max_bytes)

    def add_file(self, path: str | os.PathLike[str]) -> None:
        """Use the masks of a saved index of the same grammar and vocabulary.

        Raises
        ------
        IndexFormatError
            If the file is damaged, or no such index.
        """
        saved_index.use_file(self, path)

    def add_stored(self, stored: Stored) -> None:
        """Use masks that are not in memory."""
        with self._lock:
            self._entries.add_stored(stored)

    def subset(self, configuration: Any) -> Subset:
        """Return the tokens that may follow, EOS among them where the text is a sentence.

        Raises
        ------
        LimitError
            If finding out takes more than the grammar's limits.
        """
        with self._lock, self.steps.begun():
            self._entries.mend()
            n_dropped, n_made = self._entries.n_dropped, self._entries.n_made
            started = time.perf_counter()
            subset = self._entries.subset(self.masks.key(configuration), self.masks)
            if self._entries.n_made > n_made:
                self.seconds_made += time.perf_counter() - started
            if self._entries.n_dropped > n_dropped:
                self.forget_steps()  # which hold what was dropped
            return self.masks.narrowed(configuration, subset)

    def known_paths(self) -> list[Path]:
        """Return the paths of all entries, those of files included.

        Unless the index is bounded, what is in files is loaded first, so that it counts.
        """
        with self._lock:
            self._entries.mend()
            if self._entries.max_bytes is None:
                self._entries.load_stored()
            return list(self._entries.paths())

    def add_mask(self, path: Path, mask: Mask) -> None:
        """Keep a mask that was made for all configurations with a path."""
        with self._lock:
            self._entries.mend()
            self._entries.add_precomputed(path, mask)

    def mask_of(self, configuration: Any) -> Mask | None:
        """Make the mask of a configuration of which only the tops of the stacks may be known.

        Returns
        -------
        Mask or None
            None if the mask depends on what is below.

        Raises
        ------
        LimitError
            If it costs more than the grammar's limits.
        """
        with self._lock, self.steps.begun():
            self._entries.mend()
            return self.masks.mask(self.masks.key(configuration), self._entries)

    def allowed(self, step: Step) -> Subset:
        """Return the tokens that may follow a step."""
        subset = step.subset
        if subset is None:
            subset = step.memo.subsets[step.number] = self.subset(step.configuration)
        return subset

    def known(self, step: Step) -> Subset | None:
        """Return the tokens that may follow a step; None if that takes a mask.

        What was made for another configuration under the same path is found, and what a file holds.
        """
        known = step.subset
        if known is None:
            with self._lock, self.steps.begun():
                self._entries.mend()
                subset = self._entries.find(self.masks.key(step.configuration))
                if subset is not None:
                    known = self.masks.narrowed(step.configuration, subset)
                    step.memo.subsets[step.number] = known
        return known

    def accepts(self, step: Step, token_id: int) -> bool:
        """Return whether one token may follow, without making the mask."""
        subset = step.subset
        if subset is not None and (token_id in subset or self.masks.are_complete):
            return token_id in subset
        return step.after(token_id) is not None or self._accepts(step, token_id)

    def advance(self, step: Step, token_id: int) -> Step:
        """Return the step of an accepted token, and remember it.

        An EOS may also be a special terminal. After a sentence it is EOS, elsewhere the terminal,
        which ends the text, too, if that completes a sentence.

        Raises
        ------
        IndexFormatError
            If the grammar refuses the token and only a mask from a file allows it.
        """
        following = step.after(token_id)
        if following is not None:
            return following
        is_eos = token_id in self.vocabulary.eos_token_ids
        if is_eos and self.is_sentence(step):
            return step.ended(token_id)
        token = self.vocabulary.tokens[token_id]
        if token is None:
            raise self._contradiction(token_id)
        with self.steps.begun():
            after = self.machine.advance(step.configuration, token)
        if after is None:
            raise self._contradiction(token_id)
        try:
            if is_eos:  # whether it ends the text is asked each time
                following = self._memo.at(after, token_id, step)
                following.is_end = self.is_sentence(following)
                return following
            if self._memo.is_full:
                self.forget_steps()
            return self._memo.led(step, token_id, after)
        except TypeError:
            check_hashable(after, f"what advance() of {type(self.machine).__name__} returned")
            raise

    def step_to(self, configuration: Any) -> Step:
        """Return a step to a configuration that was reached by other bytes than tokens."""
        return self._memo.at(configuration)

    def _contradiction(self, token_id: int) -> IndexFormatError:
        return IndexFormatError(
            f"the index allows token {token_id}, but the grammar refuses it: the index was loaded "
            "from a file that cfgguide did not write; remove the file"
        )

    def _accepts(self, step: Step, token_id: int) -> bool:
        if not 0 <= token_id < self.vocabulary.size:
            return False
        if token_id in self.vocabulary.eos_token_ids and self.is_sentence(step):
            return True
        token = self.vocabulary.tokens[token_id]
        with self.steps.begun():
            after = self.machine.advance(step.configuration, token) if token else None
            return after is not None and self.machine.is_live(after)

    def is_sentence(self, step: Step) -> bool:
        """Return whether the text may end after a step."""
        known, number = step.memo.are_sentences, step.number
        is_sentence = known[number]
        if is_sentence is None:
            is_sentence = known[number] = self.machine.is_sentence(step.configuration)
        return is_sentence

    def is_at_end(self, step: Step) -> bool:
        """Return whether the text is a sentence, and only EOS or ignored text may follow."""
        is_at_end = step.is_at_end
        if is_at_end is None:
            with self.steps.begun():
                is_at_end = self.masks.is_at_end(step.configuration, lambda: self.allowed(step))
                step.memo.are_at_end[step.number] = is_at_end
        return is_at_end


def _unpickled(machine: AnyMachine, vocabulary: Vocabulary, max_bytes: int | None) -> Index:
    return Index(machine, vocabulary, max_bytes=max_bytes)
