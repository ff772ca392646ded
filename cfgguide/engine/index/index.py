"""The index: from configurations to the subsets of the vocabulary that may follow.

In: a compiled grammar's recogniser and a vocabulary. Out: an :class:`Index`, which gives the
:class:`Subset` of a configuration: computed when it is first needed, then looked up
(:mod:`cfgguide.engine.index.configuration_trie`), and saved to a file on request
(:mod:`cfgguide.engine.index.index_file`).

Source: Willard & Louf 2023, section 4.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from cfgguide.base import archive
from cfgguide.base.archive import Arrays
from cfgguide.base.derived import Derived
from cfgguide.base.footprint import footprint
from cfgguide.base.limits import Budget
from cfgguide.base.locks import new_lock
from cfgguide.engine.index import index_cache as cached_masks
from cfgguide.engine.index import index_file, stored_classes
from cfgguide.engine.index.configuration_trie import (
    ConfigurationTrie,
    IndentationKey,
    Mask,
    Path,
    StoredTrie,
)
from cfgguide.engine.index.indentation_key import IndentationKeys
from cfgguide.engine.index.step_cache import StepCache, StepNode
from cfgguide.engine.liveness.liveness import BELOW, Liveness
from cfgguide.engine.machine import grammar_file
from cfgguide.engine.machine.recognizer import Configuration, Recognizer
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import Subset, UnpackedMasks, bitmask_of
from cfgguide.engine.masks.token_classes import ClassTrie, TokenClasses
from cfgguide.engine.masks.walk import Outcome, Walker
from cfgguide.engine.vocabulary.notebook import PLAIN, coloured, token_table
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import IndexFormatError

if TYPE_CHECKING:
    from cfgguide.output_types import OutputType

Value = TypeVar("Value")

KIND = "index"
_CLASSES = "classes."
VERSION = 1  # of what the masks mean
_N_LOOKED_AT = 16  # tokens that may show quickly that a text goes on


class FindsEndings(Protocol):
    """Finds short endings."""

    def of(self, configuration: Configuration) -> bytes | None:
        """Return bytes after which the text is a sentence; None if none were found."""


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
        Most bytes of its masks; the least recently used go first. By default all are kept.

    Attributes
    ----------
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    recognizer : Recognizer
        Reads bytes as the grammar's Lark parser would.
    token_classes : TokenClasses
        The tokens that no configuration can tell apart.
    output_type : OutputType or None
        What the index was compiled from; None if it was read from a file.
    seconds_made : float
        Spent in making the masks that are counted in `n_made`.
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
        # Steps of a schema, where nothing is to be decided, have limits of their own.
        self._begun_step = recognizer.budget.steps.begun if liveness is not None else nullcontext
        self._liveness = liveness
        self.token_classes = TokenClasses(recognizer, vocabulary.trie)
        self.output_type: OutputType | None = None
        self.seconds_made = 0.0
        self._walker = self.walker()
        self._indentations = (
            IndentationKeys(recognizer, vocabulary) if recognizer.indentation_rules else None
        )
        self._unpacked = UnpackedMasks(vocabulary.n_words)
        self._entries = ConfigurationTrie(self._unpacked, max_bytes=max_bytes)
        self._eos = bitmask_of(vocabulary.eos_token_ids, vocabulary.n_words)
        self._step_cache = StepCache(recognizer.initial)
        self._lock = new_lock()
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
    def start(self) -> StepNode:
        """The node of the configuration before any token."""
        return self._step_cache.start

    @property
    def eos_bitmask(self) -> Int32Array:
        """The mask where only EOS may come, to be read only; int32, shape (n_words,)."""
        return self._eos

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
        """Approximate bytes of the masks, of what finds them, and of unpacked masks."""
        return self._entries.nbytes

    @property
    def nbytes_kept(self) -> int:
        """Approximate bytes of the masks and of what finds them."""
        return self._entries.nbytes_kept

    @property
    def max_bytes(self) -> int | None:
        """The bound on `nbytes_kept`, if there is one."""
        return self._entries.max_bytes

    @property
    def liveness(self) -> Liveness:
        """What decides whether a sentence can follow; for one thread at a time."""
        return self._liveness

    @property
    def footprint(self) -> int:
        """Bytes that would be freed with it: masks, tables, workspace and all that it remembers.

        Measuring takes some milliseconds. What the vocabulary holds does not count.
        """
        vocabulary = self.vocabulary
        trie = vocabulary.trie
        return footprint(
            self,
            shared=[
                vocabulary,
                vocabulary.tokens,
                vocabulary.spelling,
                trie,
                trie.packed,
                *trie.packed,
            ],
        )

    def derived(self, make: Callable[[Index], Value]) -> Value:
        """Return what a function makes of this index; it is made once and kept with the index.

        The value should not hold the index: nothing else would free either.
        """
        return self._derived.get(make, self)

    def walker(self) -> Walker:
        """Return a walker of its own for one thread, to be used while this index makes masks."""
        return Walker(self.recognizer, self.token_classes, self._liveness.always_live)

    @property
    def n_parse_states(self) -> int | None:
        """Number of parse states of the grammar; None if it has none."""
        return self.recognizer.parse_table.n_states

    def endings(self) -> FindsEndings | None:
        """Return what finds short endings of texts; None if they have to be searched."""
        return None

    #: Whether a scanner and parse tables read the texts.
    has_tables = True

    def with_vocabulary(self, vocabulary: Vocabulary) -> Index:
        """Return an index whose next token is from another vocabulary, and later ones from this."""
        return Index(self.recognizer, vocabulary, self._liveness)

    def release_workspace(self) -> None:
        """Free the workspace in which masks are made; the next new mask allocates another."""
        with self._lock:
            self._walker.release_workspace()

    def clear_step_cache(self) -> None:
        """Forget where tokens led, but not the masks; guides are not affected."""
        with self._lock:
            self._step_cache.clear()

    @property
    def digest(self) -> str:
        """SHA-256 in hex of what the masks depend on: the grammar's tables and the vocabulary."""
        return archive.digest({}, [VERSION, self.recognizer.digest, self.vocabulary.digest])

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
        archive.write(path, *self.packed(), kind=KIND, digest=self.digest)

    def save_tables(self, path: str | os.PathLike[str]) -> None:
        """Write the index without its masks, for another process to load."""
        tables, grammar = self._packed_tables()
        masks, lexers = self._packed_masks({})
        archive.write(
            path, tables | masks, grammar | lexers, kind=KIND, digest=self.digest, is_durable=False
        )

    def cache_masks(self) -> None:
        """Store the masks in the user's cache, together with those that are there already.

        :func:`cfgguide.compile` finds them there in later processes. Nothing happens if no mask is
        new or the cache is off. Masks that cannot be stored are made again when they are needed.
        """
        n_made = self.n_made
        if n_made > self._n_cached:
            self._load_cached_masks()
            cached_masks.store(self.digest, *self._packed_masks(self._all_entries()))
            self._n_cached = n_made

    def load_cached(self) -> None:
        """Use the masks and the token classes in the user's cache, if there are any."""
        n_states, trie = self.recognizer.scanner.n_states, self.vocabulary.trie
        cached_masks.share_token_classes(self.digest, n_states, trie, self.token_classes)
        self._load_cached_masks()

    def _load_cached_masks(self) -> None:
        cached = cached_masks.load(self.digest)
        try:
            if cached is not None:
                self.add_packed(*cached)
        except IndexFormatError:
            cached_masks.drop(self.digest)

    def packed(self) -> tuple[Arrays, object]:
        """Return the grammar's tables, all masks and token classes as arrays and a JSON value."""
        tables, grammar = self._packed_tables()
        masks, lexers = self._packed_masks(self._all_entries())
        made = self.token_classes.trie
        classes = stored_classes.packed(made) if isinstance(made, ClassTrie) else {}
        tables |= {f"{_CLASSES}{name}": array for name, array in classes.items()}
        return tables | masks, grammar | lexers

    def _all_entries(self) -> dict[Path, Subset]:
        with self._lock:
            self._entries.mend()
            return self._entries.all_entries()

    def _packed_masks(self, entries: dict[Path, Subset]) -> tuple[Arrays, dict[str, object]]:
        masks, lexers = index_file.packed(entries.items(), self.vocabulary.n_words)
        return {f"masks.{name}": array for name, array in masks.items()}, {"masks": lexers}

    def _packed_tables(self) -> tuple[Arrays, dict[str, object]]:
        tables = (
            self.recognizer.parse_table,
            self.recognizer.scanner,
            self.recognizer.indentation_rules,
        )
        arrays, grammar = grammar_file.packed(*tables)
        value: dict[str, object] = {"grammar": grammar, "special": self.vocabulary.symbols}
        return {f"grammar.{name}": array for name, array in arrays.items()}, value

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
        vocabulary = Vocabulary.of(tokenizer_or_vocabulary)
        content = archive.opened(path, kind=KIND, is_mapped=is_mapped)
        arrays, value = content.arrays, content.value
        if not isinstance(value, dict) or "grammar" not in value:
            raise IndexFormatError(f"{os.fspath(path)!r} holds no grammar; save the index again")
        if "schema" in value:
            from cfgguide.compiler import load_schema_index

            return load_schema_index(value["schema"], vocabulary, max_bytes)
        vocabulary = vocabulary.with_symbols(_symbols_in(value))
        index = cls._of_tables(arrays, value, vocabulary, max_bytes)
        content.check(index.digest)
        index.add_packed(arrays, value)
        return index

    @classmethod
    def _of_tables(
        cls, arrays: Arrays, value: dict[str, Any], vocabulary: Vocabulary, max_bytes: int | None
    ) -> Index:
        """Return an index without masks."""
        tables = grammar_file.unpacked(archive.part(arrays, "grammar."), value["grammar"])
        budget = Budget()
        recognizer = Recognizer(*tables, budget=budget)
        liveness = Liveness(recognizer, vocabulary.spelling, budget=budget)
        budget.stop_clock()
        return cls(recognizer, vocabulary, liveness, max_bytes=max_bytes)

    def __copy__(self) -> Index:
        return self  # many may use it: nothing of it changes what they see

    def __deepcopy__(self, _memo: object) -> Index:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`, and so for processes: the grammar's tables and the vocabulary, no masks."""
        return Index._of_tables, (*self._packed_tables(), self.vocabulary, self.max_bytes)

    def add_file(self, path: str | os.PathLike[str]) -> None:
        """Use the masks of a saved index of the same grammar and vocabulary.

        Raises
        ------
        IndexFormatError
            If the file is damaged, or no such index.
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
        classes = archive.part(arrays, _CLASSES)
        if classes and not self.token_classes.are_made:
            made = stored_classes.unpacked(self.vocabulary.trie, classes)
            if made is None:
                raise IndexFormatError(
                    "the index cannot be used: its token classes are wrong; make it again"
                )
            self.token_classes.trie = made
        with self._lock:
            self._entries.add_stored(stored)

    def subset(self, configuration: Configuration) -> Subset:
        """Return the tokens that may follow, EOS among them where the text is a sentence.

        Raises
        ------
        LimitError
            If finding out takes more than the grammar's limits.
        """
        with self._lock, self._begun_step():
            self._entries.mend()
            n_dropped = self._entries.n_dropped
            indentation_key = self._indentations.part(configuration) if self._indentations else None
            subset = self._entries.find(configuration, indentation_key)
            if subset is None:
                subset = self._fill(configuration, indentation_key)
            if self._entries.n_dropped > n_dropped:
                self._step_cache.drop()  # its nodes hold what was dropped
            return subset

    def known_paths(self) -> list[Path]:
        """Return the paths of all entries, those of files included.

        Unless the index is bounded, what is in files is loaded first, so that it counts.
        """
        with self._lock:
            self._entries.mend()
            if self._entries.max_bytes is None:
                self._entries.load_stored()
            return list(self._entries.paths())

    def entries(self) -> dict[Path, Subset]:
        """Return the entries that are in memory: paths, and the tokens that may follow there."""
        with self._lock:
            self._entries.mend()
            return dict(self._entries)

    def add_mask(self, path: Path, mask: Mask) -> None:
        """Keep a mask that was made for all configurations with a path."""
        with self._lock:
            self._entries.mend()
            self._entries.add_precomputed(path, mask)

    def mask_of(self, configuration: Configuration) -> Mask | None:
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
        with self._lock, self._begun_step():
            self._entries.mend()
            return self._mask(configuration)

    def allowed(self, step_node: StepNode) -> Subset:
        """Return the tokens that may follow the configuration of a node."""
        if step_node.subset is None:
            step_node.subset = self.subset(step_node.configuration)
        return step_node.subset

    def accepts(self, step_node: StepNode, token_id: int) -> bool:
        """Return whether one token may follow, without making the mask."""
        if step_node.subset is not None:
            return token_id in step_node.subset
        return token_id in step_node.following or self._accepts(step_node.configuration, token_id)

    def advance(self, step_node: StepNode, token_id: int) -> StepNode:
        """Return the node that an accepted token leads to; EOS leads to the same node.

        An EOS may also be a special terminal. After a sentence it is EOS, elsewhere the terminal.

        Raises
        ------
        IndexFormatError
            If the grammar refuses the token and only a mask from a file allows it.
        """
        following = step_node.following.get(token_id)
        if following is not None:
            return following
        before, token = step_node.configuration, self.vocabulary.tokens[token_id]
        if token_id in self.vocabulary.eos_token_ids and self.recognizer.is_sentence(before):
            return step_node
        if token is not None:
            after = self.recognizer.advance(before, token)
            if after is not None and token_id in self.vocabulary.eos_token_ids:
                return StepNode(after)  # whether it ends the text is asked each time: not cached
            if after is not None:
                return self._step_cache.step(step_node, token_id, after)
        raise IndexFormatError(
            f"the index allows token {token_id}, but the grammar refuses it: the index was loaded "
            "from a file that cfgguide did not write; remove the file"
        )

    def is_end(self, before: StepNode, token_id: int, following: StepNode) -> bool:
        """Return whether a token that led from one node to another ends the text.

        That is EOS, also one that is a special terminal with which a sentence is complete.
        """
        if token_id not in self.vocabulary.eos_token_ids:
            return False
        return following is before or self.recognizer.is_sentence(following.configuration)

    def _accepts(self, configuration: Configuration, token_id: int) -> bool:
        if not 0 <= token_id < self.vocabulary.size:
            return False
        if token_id in self.vocabulary.eos_token_ids and self.recognizer.is_sentence(configuration):
            return True
        token = self.vocabulary.tokens[token_id]
        after = self.recognizer.advance(configuration, token) if token else None
        return after is not None and self.is_live(after)

    def is_live(self, configuration: Configuration, *, quickly: bool = False) -> bool:
        """Return whether tokens can complete a sentence.

        With `quickly`, False also means that it is not known without a search.
        """
        with self._lock, self._begun_step():
            if quickly:
                return self._liveness.always_live.holds_for(self.recognizer, configuration)
            return self._liveness.is_live(configuration)

    def is_at_end(self, step_node: StepNode) -> bool:
        """Return whether the text is a sentence, and only EOS or ignored text may follow."""
        if step_node.is_at_end is None:
            step_node.is_at_end = (
                self.recognizer.is_sentence(step_node.configuration)
                and not self._goes_on(step_node)
                and len(self.expected(step_node.configuration)) == 1
            )
        return step_node.is_at_end

    def _goes_on(self, step_node: StepNode) -> bool:
        """Return whether some token surely begins or goes on with a lexeme that is not ignored.

        It is one that the mask allows, and only terminals that the parser gets are possible then.
        """
        scanner = self.recognizer.scanner
        token_ids = self.allowed(step_node).token_ids()
        for token_id in token_ids[:: len(token_ids) // _N_LOOKED_AT + 1].tolist():
            token = self.vocabulary.tokens[token_id]
            after = self.recognizer.advance(step_node.configuration, token) if token else None
            if after is not None and all(
                max(scanner.terminal_ids_ahead(hypothesis.scanner_state), default=scanner.ignored)
                < scanner.ignored
                for hypothesis in after.hypotheses
            ):
                return True
        return False

    def expected(self, configuration: Configuration) -> tuple[str, ...]:
        """Return the names of the terminals that may come next; see :meth:`Guide.expected`."""
        with self._lock, self._begun_step():
            return self._liveness.expected(configuration)

    def _fill(self, configuration: Configuration, indentation_key: IndentationKey | None) -> Subset:
        started = time.perf_counter()
        is_sentence = indentation_key is not None and indentation_key.is_sentence
        mask = self._mask(configuration, is_sentence=is_sentence)
        assert mask is not None, "nothing lies below the bottom of a whole stack"
        subset = self._entries.add(configuration, mask, indentation_key)
        self.seconds_made += time.perf_counter() - started
        return subset

    def _mask(self, configuration: Configuration, *, is_sentence: bool = False) -> Mask | None:
        if (walk := self._walker.walk(configuration)) is None:
            return None
        inspected, reads = walk.inspected, walk.reads
        for index in walk.open_outcomes:
            outcome = walk.outcome(index)
            is_live = self._is_live(outcome, configuration, inspected)
            if is_live is None:
                return None
            walk.resolve(index, is_live=is_live)
            if self._indentations:
                reads |= self._indentations.read_to_decide(outcome.configuration)
        ranges = self._walker.join_live()
        is_sentence |= walk.is_sentence
        with_classes = walk.trie is not self.vocabulary.trie.packed
        walked = _digest(ranges, with_classes, is_sentence)
        known = self._entries.subsets.walked(walked)
        if known is not None:
            return Mask(max(inspected), known.bitmask, reads, walked)
        bitmask = np.empty(self.vocabulary.n_words, dtype=np.int32)
        self._walker.fill(bitmask)
        if is_sentence:
            bitmask |= self._eos
        return Mask(max(inspected), bitmask, reads, walked)

    def _is_live(
        self, outcome: Outcome, configuration: Configuration, inspected: list[int]
    ) -> bool | None:
        """Decide an outcome, and note in `inspected` how much of the base that has read.

        None if the known tops of the stacks do not decide.
        """
        answer = self._liveness.decide(outcome.configuration)
        if BELOW in answer.heights:
            return None
        for height, (home, shared) in zip(answer.heights, outcome.origins, strict=True):
            if height <= shared:
                top = configuration.hypotheses[home].stack.height
                inspected[home] = max(inspected[home], top - height + 1)
        return answer.is_live


def _symbols_in(value: dict[str, Any]) -> dict[str, tuple[str | int, ...]]:
    """Return the special terminals that a file names."""
    special = value.get("special", {})
    is_right = isinstance(special, dict) and all(
        isinstance(tokens, list) and tokens and all(type(each) in (str, int) for each in tokens)
        for tokens in special.values()
    )
    if not is_right:
        raise IndexFormatError("the special terminals are damaged; save the index again")
    return {name: tuple(tokens) for name, tokens in special.items()}


def _digest(ranges: Int32Array, *flags: bool) -> bytes:
    """Return a digest of live tokens and of what else their mask depends on."""
    return hashlib.sha256(ranges.tobytes() + bytes(flags)).digest()[:16]
