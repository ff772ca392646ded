"""The index of a JSON Schema: masks of a pushdown automaton that is made as texts are read.

In: a :class:`~cfgguide.schema.schema_grammar.SchemaGrammar` and a vocabulary. Out: a
:class:`SchemaIndex`, an :class:`~cfgguide.index.index.Index` in all that it can be asked. It is
made in milliseconds, so a file of it holds the schema and no masks.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import asdict
from typing import Any

from cfgguide.errors import IndexFormatError, SchemaError, SchemaWarning
from cfgguide.grammar.grammar import Grammar
from cfgguide.index.configuration_trie import Mask
from cfgguide.index.footprint import footprint
from cfgguide.index.index import Index
from cfgguide.index.step_cache import StepNode
from cfgguide.pushdown.automaton import ENDING, IS_END, NONE
from cfgguide.pushdown.lexemes import any_strings, plain_strings
from cfgguide.pushdown.recognizer import PushdownRecognizer
from cfgguide.pushdown.walker import PushdownWalker
from cfgguide.recognizer.recognizer import Configuration
from cfgguide.schema.json_schema import json_schema
from cfgguide.schema.schema_grammar import SchemaGrammar
from cfgguide.storage import archive
from cfgguide.storage.archive import Arrays
from cfgguide.vocabulary.vocabulary import Vocabulary

VERSION = 1  # of what the masks mean


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
    """

    def __init__(
        self, grammar: SchemaGrammar, vocabulary: Vocabulary, *, max_bytes: int | None = None
    ) -> None:
        self._grammar = grammar
        self._automaton = grammar.automaton()
        options = grammar.options
        digest = archive.digest({}, [VERSION, grammar.schema, repr(options)])
        recognizer: Any = PushdownRecognizer(self._automaton, digest)
        nothing: Any = None  # nothing has to be decided: what is dead is never made
        super().__init__(recognizer, vocabulary, nothing, max_bytes=max_bytes)

    @property
    def is_made_ahead(self) -> bool:
        """Whether masks can be made before their first use: states are made as texts are read."""
        return False

    def walker(self) -> Any:
        """Return a walker of its own for one thread, to be used while this index makes masks."""
        return PushdownWalker(self._automaton, self.vocabulary)

    def with_vocabulary(self, vocabulary: Vocabulary) -> Index:
        """Return an index whose next token is from another vocabulary."""
        return SchemaIndex(self._grammar, vocabulary)

    @property
    def with_tables(self) -> Index:
        """An index of the same grammar that has parse tables; it is compiled at first use."""
        return self.derived(_with_tables)

    @property
    def footprint(self) -> int:
        """Bytes that would be freed with it: masks, tables, workspace and all that it remembers."""
        vocabulary = self.vocabulary
        shared = [vocabulary, vocabulary.tokens, vocabulary.trie, vocabulary.trie.packed]
        strings = [any_strings(), plain_strings(), any_strings().lexemes, plain_strings().lexemes]
        return footprint(self, shared=[*shared, *vocabulary.trie.packed, *strings])

    def load_cached(self) -> None:
        """Do nothing: masks are made as quickly as they are read."""

    def cache_masks(self) -> None:
        """Do nothing: masks are made as quickly as they are read."""

    def packed(self) -> tuple[Arrays, object]:
        """Return the schema and its options."""
        options = self._grammar.options
        schema = {"schema": self._grammar.schema, "options": asdict(options)}
        return {}, {"schema": schema}

    def save_tables(self, path: str | os.PathLike[str]) -> None:
        """Write the schema and its options: there is nothing else to write."""
        self.save(path)

    def add_packed(self, arrays: Arrays, value: object) -> None:
        """Do nothing: there are no masks in files of schemas."""

    def release_workspace(self) -> None:
        """Free the workspace in which masks are made; there is a new one, which is small."""
        with self._lock:
            self._walker = self.walker()

    def is_live(self, configuration: Configuration, *, quickly: bool = False) -> bool:
        """Return whether tokens can complete a sentence."""
        with self._lock:
            return bool(self._recognizer.is_live(configuration))

    @property
    def _recognizer(self) -> PushdownRecognizer:
        recognizer: Any = self.recognizer
        return recognizer

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
        bitmask, depth = self._walker.mask(state, stack)
        if self.recognizer.is_sentence(configuration):
            bitmask |= self._eos
        if self._automaton.arrays.states[state, ENDING] != NONE:
            depth = max(depth, 1)  # whether the text may end is asked of the topmost frame
        return Mask(depth, bitmask)


def loaded(value: object, vocabulary: Vocabulary, *, max_bytes: int | None) -> SchemaIndex:
    """Return the index of a schema that was saved.

    Raises
    ------
    IndexFormatError
        If the file holds no schema.
    """
    try:
        assert isinstance(value, dict), "it is checked here"
        options = dict(value["options"])
        if options["separators"] is not None:
            options["separators"] = tuple(options["separators"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SchemaWarning)  # it was shown when the index was made
            grammar = json_schema(value["schema"], **options)
    except (AssertionError, KeyError, TypeError, ValueError, SchemaError):
        raise IndexFormatError("the file holds no schema that can be read; save it again") from None
    assert isinstance(grammar, SchemaGrammar), "all schemas have one"
    return SchemaIndex(grammar, vocabulary, max_bytes=max_bytes)


def _with_tables(index: SchemaIndex) -> Index:
    from cfgguide.index.compiler import compile

    grammar = Grammar(index._grammar.text)
    return compile(grammar, index.vocabulary)
