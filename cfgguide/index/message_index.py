"""The index of messages: that of a schema, with what is around the values.

In: a :class:`~cfgguide.messages.message_grammar.MessageGrammar` and a vocabulary. Out: a
:class:`MessageIndex`. Where a text has had all the tokens that it may have, its masks have only the
tokens that leave it: those that begin its end, or go on with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cfgguide.errors import IndexFormatError, SchemaError, VocabularyError
from cfgguide.index.index import FindsEndings
from cfgguide.index.schema_index import SchemaIndex
from cfgguide.index.step_cache import StepNode
from cfgguide.mask.arrays import Int32Array
from cfgguide.mask.subset import Subset, bitmask_of
from cfgguide.messages.automaton import (
    CountingConfiguration,
    MessageAutomaton,
    MessageEndings,
    MessageRecognizer,
)
from cfgguide.messages.message_grammar import MessageGrammar, read_again
from cfgguide.pushdown.outcomes import Outcomes, SplitOutcomes
from cfgguide.pushdown.walker import PushdownWalker
from cfgguide.recognizer.recognizer import Configuration
from cfgguide.schema.automaton import SchemaAutomaton
from cfgguide.storage.archive import Arrays
from cfgguide.vocabulary.vocabulary import Vocabulary


class MessageIndex(SchemaIndex):
    """Masks of messages for one vocabulary; parameters as for :class:`SchemaIndex`."""

    _grammar: MessageGrammar
    _automaton: MessageAutomaton
    _reader: MessageRecognizer

    def _begun(self, vocabulary: Vocabulary) -> SchemaAutomaton:
        automaton = self._grammar.automaton(vocabulary.symbols)
        if not vocabulary.spelling.spells_any_of(automaton.structure.needed):
            raise VocabularyError(
                "the vocabulary has no tokens for some bytes of the message; use a tokenizer with "
                "a token for every byte"
            )
        return automaton

    def _reader_of(self, digest: str) -> MessageRecognizer:
        return MessageRecognizer(self._automaton, digest)

    def walker(self) -> Any:
        """Return a walker of its own for one thread, to be used while this index makes masks."""
        return _Walker(self._automaton, self.vocabulary, self._reader)

    def endings(self) -> FindsEndings:
        """Return what finds short endings of texts, of bytes that are in tokens."""
        return MessageEndings(self._automaton, self.vocabulary.spelling.reachable_bytes)

    def packed(self) -> tuple[Arrays, object]:
        """Return the structural tag and the options."""
        grammar = self._grammar
        message = {
            "tag": grammar.schema,
            "options": asdict(grammar.options),
            "reading": list(grammar.reading),
        }
        return {}, {"grammar": {}, "schema": message}

    def subset(self, configuration: Configuration) -> Subset:
        """Return the tokens that may follow, EOS among them where the text is a sentence."""
        if not self._reader.is_exhausted(configuration):
            return super().subset(_plain(configuration))
        subset = super().subset(_plain(configuration))
        walker: Any = self._walker
        with self._lock:
            leaving = walker.leaving(configuration)
        return Subset.of(subset.bitmask & leaving)

    def is_at_end(self, step_node: StepNode) -> bool:
        """Return whether the text is a sentence, and only EOS or white space may follow."""
        ((state, *_),) = step_node.configuration.hypotheses
        number = self._automaton.number_of(state)
        if number is None:
            return False
        part = self._automaton.structure.states[number]
        return part.is_end and not part.moves and not part.values


class _Walker(PushdownWalker):
    """A walker whose masks leave a text that has had all of its tokens."""

    def __init__(
        self, automaton: MessageAutomaton, vocabulary: Vocabulary, reader: MessageRecognizer
    ) -> None:
        super().__init__(automaton, vocabulary)
        self._structure = automaton.structure
        self._reader = reader
        self._leaving: dict[bytes, Int32Array] = {}
        self._walked: Configuration | None = None

    def walk(self, configuration: Configuration) -> Outcomes | SplitOutcomes:
        """Return what all tokens lead to."""
        self._walked = configuration
        return super().walk(configuration)

    def fill(self, bitmask: Int32Array) -> None:
        """Make the mask of the last walk."""
        super().fill(bitmask)
        leaving = None if self._walked is None else self.leaving(self._walked)
        if leaving is not None:
            bitmask &= leaving

    def leaving(self, configuration: Configuration) -> Int32Array | None:
        """Return the tokens that leave the text, or lead there; None if it may go on."""
        text = self._reader.text_of(configuration)
        if text is None or not self._reader.is_exhausted(configuration):
            return None
        ((state, *_),) = configuration.hypotheses
        end = self._end_of(self._reader.pushdown.number_of(state) or 0, text)
        if end not in self._leaving:
            self._leaving[end] = self._going_on(end)
        return self._leaving[end]

    def _end_of(self, number: int, text: int) -> bytes:
        """Return bytes that lead out of a text, or to where the message may end."""
        end = bytearray()
        states = self._structure.states
        while states[number].text == text and not states[number].is_end:
            moved, number = self._structure.nearer(number)
            if not isinstance(moved, bytes):
                break
            end += self._spelled(moved)
        return bytes(end)

    def _spelled(self, data: bytes) -> bytes:
        return data[:1]

    def _going_on(self, end: bytes) -> Int32Array:
        """Return the tokens that some bytes begin with, or that begin with them."""
        found = [
            token_id
            for token_id, token in enumerate(self._tokens)
            if token and (end.startswith(token) or (end and token.startswith(end)))
        ]
        return bitmask_of(found, self._n_words)


def _plain(configuration: Configuration) -> Configuration:
    """Return a configuration without the number of its tokens."""
    if isinstance(configuration, CountingConfiguration):
        return Configuration(configuration.hypotheses)
    return configuration


def grammar_of(value: Mapping[str, Any]) -> MessageGrammar:
    """Return the grammar of an index that was read from a file.

    Raises
    ------
    IndexFormatError
        If the file is wrong.
    """
    try:
        return read_again(value["tag"], value["options"], value["reading"])
    except (KeyError, TypeError, ValueError, SchemaError) as error:
        raise IndexFormatError(
            f"the index cannot be used: its structural tag is wrong ({error}); make it again"
        ) from None
