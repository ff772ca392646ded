"""The index of a JSON Schema: masks of a pushdown automaton that is made as texts are read.

In: a :class:`~cfgguide.schema.schema_grammar.SchemaGrammar` and a vocabulary. Out: a
:class:`SchemaIndex`, an :class:`~cfgguide.engine.index.index.Index` in all that it can be asked. It
is made in milliseconds, so a file of it holds the schema and no masks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from cfgguide.base import archive
from cfgguide.base.archive import Arrays
from cfgguide.base.collector import collector_off
from cfgguide.base.footprint import footprint
from cfgguide.engine.byte_machine.automaton import ENDING, IS_END, NONE
from cfgguide.engine.byte_machine.byte_recognizer import PushdownRecognizer
from cfgguide.engine.byte_machine.byte_views import ALL_BITS
from cfgguide.engine.byte_machine.scalars import any_strings, plain_strings
from cfgguide.engine.byte_machine.seen_parts import RememberingConfiguration
from cfgguide.engine.byte_machine.shared_masks import SharedMasks
from cfgguide.engine.byte_machine.walker import PushdownWalker
from cfgguide.engine.index.configuration_trie import Mask
from cfgguide.engine.index.index import FindsEndings, Index
from cfgguide.engine.index.step_cache import StepNode
from cfgguide.engine.machine.recognizer import Configuration
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import Subset, are_in_bitmask
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import IndexFormatError, SchemaError
from cfgguide.schema.automaton import SchemaAutomaton
from cfgguide.schema.endings import SchemaEndings
from cfgguide.schema.json_schema import read_again
from cfgguide.schema.schema_grammar import SchemaGrammar

VERSION = 1  # of what the masks mean
# The end of one value, a comma, and something of another one; or of names.
_ITEMS = re.compile(
    rb"""(?:["0-9\]}]|null|true|false)[ \t\n\r]*,[ \t\n\r]*(?:"(?s:.)|[0-9tfn\[{-])"""
)
_COMMA = re.compile(rb'\A(?:[^",]|"(?:[^"\\]|\\.)*")*,', re.DOTALL)  # one outside of strings
_ENDED_NAME = re.compile(rb'\A[^"]*+"(?s:.)*,')  # the end of a name, and of the property
_ENDED_STRING = re.compile(rb'"[ \t\n\r\]}]*,')  # the end of a string, and of what it is in
_WHOLE = re.compile(rb",(?s:.)*[,\]}:]")  # perhaps a whole item or name after a comma
_BLANK = re.compile(rb"\A[ \t\n\r]+\Z")  # outside of lexemes, whatever may come may come later
_N_ADDED = 8  # items and names that a token may end
_N_ASKED = 3  # times, before it is found out
_MAX_KNOWN = 10_000  # places of which it is known how freely texts go on


class SchemaIndex(Index):
    """Masks of one schema for one vocabulary.

    Parameters
    ----------
    grammar : SchemaGrammar
        The grammar of the schema.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    max_bytes : int, optional
        Most bytes of its masks; the least recently used go first. By default all are kept.
    automaton : SchemaAutomaton, optional
        Of the grammar; two indexes that share one share configurations.
    """

    def __init__(
        self,
        grammar: SchemaGrammar,
        vocabulary: Vocabulary,
        *,
        max_bytes: int | None = None,
        automaton: SchemaAutomaton | None = None,
    ) -> None:
        self._grammar = grammar
        # How many parts may have come so that texts go on freely; how many are too many; and how
        # often that was asked for others.
        self._freedom: dict[tuple[int, ...], tuple[int, int, int]] = {}
        digest = archive.digest({}, [VERSION, grammar.schema, repr(grammar.options)])
        self._automaton = automaton or self._begun(vocabulary)
        self._reader = self._reader_of(digest)
        recognizer: Any = self._reader
        nothing: Any = None  # nothing has to be decided: what is dead is never made
        super().__init__(recognizer, vocabulary, nothing, max_bytes=max_bytes)
        # Large masks are those inside strings, which differ little; each state has few others.
        self._entries.like = len

    has_tables = False

    def _begun(self, vocabulary: Vocabulary) -> SchemaAutomaton:
        """Return the automaton."""
        return self._grammar.automaton()

    def _reader_of(self, digest: str) -> PushdownRecognizer:
        """Return what reads with the automaton."""
        return PushdownRecognizer(self._automaton, digest)

    def walker(self) -> Any:
        """Return a walker of its own for one thread, to be used while this index makes masks."""
        return PushdownWalker(self._automaton, self.vocabulary)

    @property
    def n_parse_states(self) -> int | None:
        """None: there is no parse table."""
        return None

    def endings(self) -> FindsEndings:
        """Return what finds short endings of texts, of bytes that are in tokens."""
        return SchemaEndings(self._automaton, self.vocabulary.spelling.reachable_bytes)

    def with_vocabulary(self, vocabulary: Vocabulary) -> Index:
        """Return an index whose next token is from another vocabulary."""
        return type(self)(self._grammar, vocabulary, automaton=self._automaton)

    @property
    def footprint(self) -> int:
        """Bytes that would be freed with it: masks, tables, workspace and all that it remembers."""
        vocabulary = self.vocabulary
        shared = [vocabulary, vocabulary.tokens, vocabulary.trie, vocabulary.trie.packed]
        strings = [any_strings(), plain_strings(), any_strings().lexemes, plain_strings().lexemes]
        masks = SharedMasks.of(vocabulary)
        return footprint(self, shared=[*shared, *vocabulary.trie.packed, *strings, masks])

    def load_cached(self) -> None:
        """Do nothing: masks are made as quickly as they are read."""

    def cache_masks(self) -> None:
        """Do nothing: masks are made as quickly as they are read."""

    def packed(self) -> tuple[Arrays, object]:
        """Return the schema and its options."""
        options = self._grammar.options
        schema = {"schema": self._grammar.schema, "options": asdict(options)}
        return {}, {"grammar": {}, "schema": schema}

    def save_tables(self, path: str | os.PathLike[str]) -> None:
        """Write the index for another process to load."""
        self.save(path)

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`, and so for processes: the schema and the vocabulary."""
        return _unpickled, (type(self), self._grammar, self.vocabulary, self.max_bytes)

    def _packed_tables(self) -> tuple[Arrays, dict[str, object]]:
        arrays, value = self.packed()
        assert isinstance(value, dict), "it is made above"
        return arrays, value

    def add_packed(self, arrays: Arrays, value: object) -> None:
        """Do nothing: there are no masks in files of schemas."""

    def release_workspace(self) -> None:
        """Free the workspace in which masks are made; the new one is small."""
        with self._lock:
            self._walker = self.walker()

    def is_live(self, configuration: Configuration, *, quickly: bool = False) -> bool:
        """Return whether tokens can complete a sentence."""
        with self._lock:
            return self._reader.is_live(configuration)

    def is_at_end(self, step_node: StepNode) -> bool:
        """Return whether the text is a sentence, and only EOS or white space may follow."""
        ((state, *_),) = step_node.configuration.hypotheses
        return bool(self._automaton.arrays.states[state, IS_END])

    def expected(self, configuration: Configuration) -> tuple[str, ...]:
        """Return the names of what may come next; see :meth:`Guide.expected`."""
        with self._lock:
            ((state, _, stack, _),) = configuration.hypotheses
            found = set(self._automaton.expected(state, stack.state))
            if self.recognizer.is_sentence(configuration):
                found.add("$END")
        return tuple(sorted(found))

    def _mask(self, configuration: Configuration, *, is_sentence: bool = False) -> Mask | None:
        ((state, _, stack, _),) = configuration.hypotheses
        walker: Any = self._walker
        with collector_off():
            bitmask, depth = walker.mask(state, stack)
        if self.recognizer.is_sentence(configuration):
            bitmask |= self._eos
        if self._automaton.arrays.states[state, ENDING] != NONE:
            depth = max(depth, 1)  # whether the text may end is asked of the topmost frame
        if self._automaton.remembering or self._automaton.recalling:
            self._remove_repeated(configuration, bitmask)
        return Mask(depth, bitmask)

    def _remove_repeated(self, configuration: Configuration, bitmask: Int32Array) -> None:
        """Remove tokens that write the same item twice, which a walk does not see.

        Such a token has a comma between both; and if there may be no other item, at the end of one.
        """
        suspects = self._after_commas(configuration)
        if self._automaton.is_endless:
            suspects = suspects & self._matching(_ITEMS)
        self._remove(configuration, bitmask, suspects)

    def _after_commas(self, configuration: Configuration) -> Int32Array:
        """Return the tokens after which a comma has come that ends an item or a property."""
        ((state, _, stack, _),) = configuration.hypotheses
        if not self._automaton.is_in_string(state):
            return self._matching(_COMMA)
        kind = self._automaton.meaning_of_frame(stack.state)[0]
        return self._matching(_ENDED_NAME if kind == "name" else _ENDED_STRING)

    def _matching(self, pattern: re.Pattern[bytes]) -> Int32Array:
        """Return the tokens in which a pattern is found."""
        return SharedMasks.of(self.vocabulary).matching(pattern)

    def _remove(
        self, configuration: Configuration, bitmask: Int32Array, suspects: Int32Array
    ) -> None:
        """Remove of some tokens those that the recogniser refuses."""
        for token_id in Subset.of(bitmask & suspects).token_ids().tolist():
            token = self.vocabulary.tokens[token_id]
            if self.recognizer.advance(configuration, token or b"") is None:
                bitmask.view(np.uint32)[token_id >> 5] &= ALL_BITS ^ (1 << (token_id & 31))

    # -- texts that remember what has come --------------------------------------------------

    def subset(self, configuration: Configuration) -> Subset:
        """Return the tokens that may follow, EOS among them where the text is a sentence.

        Masks do not know what a text remembers; what that refuses is removed for each text.
        """
        if not isinstance(configuration, RememberingConfiguration):
            return super().subset(configuration)
        bitmask = super().subset(configuration.plain).bitmask.copy()
        with self._lock:
            self._remove(configuration, bitmask, self._suspects(configuration))
        return Subset.of(bitmask)

    def _suspects(self, configuration: RememberingConfiguration) -> Int32Array:
        """Return the tokens that what a text remembers may refuse.

        While a part is read that can become none of those that have come, that is only what ends it
        and begins another one. Otherwise it is what ends a part, or leaves few ways to finish it.
        """
        ((state, _, stack, _),) = configuration.hypotheses
        memory, completions = configuration.memory, self._automaton.completions
        suspects = self._after_commas(configuration)
        if not completions.is_between(state, stack, memory) and not completions.may_repeat(memory):
            is_free = self._is_free(configuration, suspects)
            return suspects & self._matching(_WHOLE) if is_free else suspects
        walker: Any = self._walker
        outcomes = walker.walk_plainly(configuration)
        tokens = outcomes.first_tokens()
        for number, token_id in enumerate(tokens):
            after = outcomes.outcome(number).configuration
            token = self.vocabulary.tokens[token_id] or b""
            if completions.is_free(configuration, token, after):
                outcomes.resolve(number, is_live=False)
        bitmask = np.zeros(self.vocabulary.n_words, dtype=np.int32)
        walker.fill(bitmask)
        bitmask |= suspects
        return bitmask if self._automaton.is_in_lexeme(state) else bitmask & ~self._matching(_BLANK)

    def _is_free(self, configuration: RememberingConfiguration, suspects: Int32Array) -> bool:
        """Return whether texts surely go on after any of some tokens that end no further part.

        They do if there are more ways than parts have come. What is found out holds for all texts
        in this place that remember no more.
        """
        ((state, _, stack, _),) = configuration.hypotheses
        n = sum(len(each.used) for each in configuration.memory.opens)
        place = (state, *stack)
        free, too_many, n_asked = self._freedom.get(place, (-1, 1 << 60, 0))
        if n <= free or n >= too_many:
            return n <= free
        if len(self._freedom) >= _MAX_KNOWN:
            self._freedom.clear()
        if n_asked < _N_ASKED:
            self._freedom[place] = free, too_many, n_asked + 1
            return False
        is_free = self._has_ways(configuration, suspects & ~self._matching(_WHOLE), 4 * n)
        self._freedom[place] = (4 * n, too_many, 0) if is_free else (free, n, 0)
        return is_free

    def _has_ways(
        self, configuration: RememberingConfiguration, suspects: Int32Array, n: int
    ) -> bool:
        """Return whether texts go on after some tokens, had there been `n` other parts before."""
        walker: Any = self._walker
        outcomes = walker.walk_plainly(configuration)
        places, numbers = outcomes.places()
        token_ids = outcomes.trie.token_ids[places]
        is_suspect = are_in_bitmask(token_ids, suspects)
        _, firsts = np.unique(numbers[is_suspect], return_index=True)
        for token_id in token_ids[is_suspect][firsts].tolist():
            after = self.recognizer.advance(configuration, self.vocabulary.tokens[token_id] or b"")
            if after is None or not self._automaton.has_ways(after, n + _N_ADDED):
                return False
        return True


def _unpickled(
    kind: type[SchemaIndex],
    grammar: SchemaGrammar,
    vocabulary: Vocabulary,
    max_bytes: int | None,
) -> SchemaIndex:
    return kind(grammar, vocabulary, max_bytes=max_bytes)


def grammar_of(value: Mapping[str, Any]) -> SchemaGrammar:
    """Return the grammar of an index that was read from a file.

    Raises
    ------
    IndexFormatError
        If the file is wrong.
    """
    try:
        return read_again(value["schema"], value["options"])
    except (KeyError, TypeError, ValueError, SchemaError) as error:
        raise IndexFormatError(
            f"the index cannot be used: its schema is wrong ({error}); make it again"
        ) from None
