"""Makes the masks of a grammar in Lark's language: a walk, and decisions about what it leaves open.

In: an :class:`~cfgguide.engine.machine.lr_machine.LrMachine`, a vocabulary, and configurations.
Out: their masks, and how much of the stacks each depends on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cfgguide.base import archive
from cfgguide.base.archive import Arrays
from cfgguide.base.collector import collector_off
from cfgguide.engine.index import index_cache
from cfgguide.engine.index.configuration_trie import ConfigurationTrie, Mask
from cfgguide.engine.liveness.liveness import BELOW
from cfgguide.engine.machine.recognizer import Configuration
from cfgguide.engine.masks import stored_classes
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.lr_keys import IndentationKeys, LrKey, scanner_part
from cfgguide.engine.masks.subset import Subset
from cfgguide.engine.masks.token_classes import ClassTrie, TokenClasses
from cfgguide.engine.masks.walk import LrWalker, Outcome
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from cfgguide.engine.machine.lr_machine import LrMachine

_CLASSES = "classes."  # with which the names of their arrays begin
_N_LOOKED_AT = 16  # tokens that may show quickly that a text goes on


class LrMasks:
    """Makes masks of one grammar for one vocabulary.

    Parameters
    ----------
    machine : LrMachine
        Of the grammar.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    token_classes : TokenClasses, optional
        Those of the vocabulary, if they are known.

    Attributes
    ----------
    token_classes : TokenClasses
        The tokens that no configuration can tell apart.
    own_walker : LrWalker
        With which masks are made.
    """

    like = staticmethod(scanner_part)

    def __init__(
        self,
        machine: LrMachine,
        vocabulary: Vocabulary,
        token_classes: TokenClasses | None = None,
    ) -> None:
        self._machine = machine
        self.recognizer = machine.recognizer
        self._vocabulary = vocabulary
        self.token_classes = token_classes or TokenClasses(self.recognizer, vocabulary.trie)
        self.own_walker = self.new_walker()
        self._eos = vocabulary.eos_bitmask

    def new_walker(self) -> LrWalker:
        """Return a walker of its own for one thread."""
        always_live = self._machine.liveness.always_live
        tokens = self._vocabulary.tokens
        return LrWalker(self.recognizer, self.token_classes, always_live, tokens)

    def walker(self, subset: Callable[[Configuration], Subset]) -> LrWalker:
        """Return a walker of its own for one thread; it needs no masks."""
        return self.new_walker()

    def release_workspace(self) -> None:
        """Free the workspace; the next mask allocates another."""
        self.own_walker.release_workspace()

    def shared(self) -> list[object]:
        """Return nothing: only the vocabulary is held by others as well."""
        return []

    @cached_property
    def _indentations(self) -> IndentationKeys | None:
        if self.recognizer.indentation_rules is None:
            return None
        return IndentationKeys(self.recognizer, self._vocabulary)

    def key(self, configuration: Configuration) -> LrKey:
        """Return under what the mask of a configuration is remembered."""
        if self._indentations is None:
            return LrKey(configuration)
        return LrKey(configuration, self._indentations.part(configuration))

    def mask(self, key: LrKey, known: ConfigurationTrie) -> Mask | None:
        """Make the mask of a key; None if it depends on what is below the known tops of stacks.

        Raises
        ------
        LimitError
            If it costs more than the grammar's limits.
        """
        with collector_off(), self.recognizer.budget.steps.begun():
            return self._mask(key, known)

    def _mask(self, key: LrKey, known: ConfigurationTrie) -> Mask | None:
        configuration, indentation = key
        if (walk := self.own_walker.walk_tops(configuration)) is None:
            return None
        inspected, reads = walk.inspected, walk.reads
        for index in walk.open_outcomes:
            outcome = walk.outcome(index)
            is_live = self._is_live(outcome, configuration, inspected)
            if is_live is None:
                return None
            walk.resolve(index, is_live=is_live)
            if self._indentations is not None:
                reads |= self._indentations.read_to_decide(outcome.configuration)
        ranges = self.own_walker.join_live()
        is_sentence = walk.is_sentence or (indentation is not None and indentation.is_sentence)
        with_classes = walk.trie is not self._vocabulary.trie.packed
        walked = _digest(ranges, with_classes, is_sentence)
        # The ranges tell the mask: one that is equal and known need not be filled again.
        equal = known.subsets.walked(walked)
        if equal is not None:
            return Mask(max(inspected), equal.bitmask, reads, walked)
        bitmask = np.empty(self._vocabulary.n_words, dtype=np.int32)
        self.own_walker.fill(bitmask)
        if is_sentence:
            bitmask |= self._eos
        return Mask(max(inspected), bitmask, reads, walked)

    def _is_live(
        self, outcome: Outcome, configuration: Configuration, inspected: list[int]
    ) -> bool | None:
        """Decide an outcome, and note in `inspected` how much of the base that has read.

        None if the known tops of the stacks do not decide.
        """
        answer = self._machine.liveness.decide(outcome.configuration)
        if BELOW in answer.heights:
            return None
        if outcome.origins is not None:  # else all of the base is inspected
            for height, (home, shared) in zip(answer.heights, outcome.origins, strict=True):
                if height <= shared:
                    top = configuration.hypotheses[home].stack.height
                    inspected[home] = max(inspected[home], top - height + 1)
        return answer.is_live

    def narrowed(self, configuration: Configuration, subset: Subset) -> Subset:
        """Return the subset: its key knows all."""
        return subset

    def is_at_end(self, configuration: Configuration, allowed: Callable[[], Subset]) -> bool:
        """Return whether the text is a sentence, and only EOS or ignored text may follow."""
        return (
            self._machine.is_sentence(configuration)
            and not self._goes_on(configuration, allowed())
            and len(self._machine.expected(configuration, is_whole=True)) == 1
        )

    def _goes_on(self, configuration: Configuration, allowed: Subset) -> bool:
        """Return whether some token surely begins or goes on with a lexeme that is not ignored.

        It is one that the mask allows, and only terminals that the parser gets are possible then.
        """
        scanner = self.recognizer.scanner
        token_ids = allowed.token_ids()
        for token_id in token_ids[:: len(token_ids) // _N_LOOKED_AT + 1].tolist():
            token = self._vocabulary.tokens[token_id]
            after = self.recognizer.advance(configuration, token) if token else None
            if after is not None and all(
                max(scanner.terminal_ids_ahead(hypothesis.scanner_state), default=scanner.ignored)
                < scanner.ignored
                for hypothesis in after.hypotheses
            ):
                return True
        return False

    @property
    def are_complete(self) -> bool:
        """Whether none lacks a token: of many readings, a mask takes only so much time."""
        return not self.recognizer.is_open

    # -- files ------------------------------------------------------------------------------

    @property
    def files(self) -> LrMasks:
        """What files hold beside masks: token classes."""
        return self

    def packed(self) -> Arrays:
        """Return the token classes as arrays, if they are known."""
        made = self.token_classes.trie
        classes = stored_classes.packed(made) if isinstance(made, ClassTrie) else {}
        return {f"{_CLASSES}{name}": array for name, array in classes.items()}

    def use_packed(self, arrays: Arrays) -> None:
        """Use token classes that were packed, unless they are known.

        Raises
        ------
        IndexFormatError
            If they are damaged.
        """
        classes = archive.part(arrays, _CLASSES)
        if classes and not self.token_classes.are_made:
            self.token_classes.trie = stored_classes.unpacked(self._vocabulary.trie, classes)

    def prepare(self, digest: str | None) -> None:
        """Find the token classes; with a digest, use the user's cache, or store them there."""
        if digest is not None:
            n_states, trie = self.recognizer.scanner.n_states, self._vocabulary.trie
            index_cache.share_token_classes(digest, n_states, trie, self.token_classes)
        if not self.token_classes.are_made:
            self.token_classes.work_a_while()


def _digest(ranges: Int32Array, *flags: bool) -> bytes:
    """Return a digest of live tokens and of what else their mask depends on."""
    return hashlib.sha256(ranges.tobytes() + bytes(flags)).digest()[:16]
