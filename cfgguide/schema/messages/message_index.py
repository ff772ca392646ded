"""The index of messages: that of a schema, with what is around the values.

In: a :class:`~cfgguide.schema.messages.message_grammar.MessageGrammar` and a vocabulary. Out: a
:class:`MessageIndex`. Where a text has had all the tokens that it may have, its masks have only the
tokens that leave it, or lead nearer to its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cfgguide.base.archive import Arrays
from cfgguide.engine.byte_machine.outcomes import Outcomes, SplitOutcomes
from cfgguide.engine.byte_machine.walker import PushdownWalker
from cfgguide.engine.index.index import FindsEndings
from cfgguide.engine.index.step_cache import StepNode
from cfgguide.engine.machine.recognizer import Configuration
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import Subset, bitmask_of
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import IndexFormatError, SchemaError
from cfgguide.schema.automaton import SchemaAutomaton
from cfgguide.schema.messages.message_automaton import (
    LEFT,
    CountingConfiguration,
    MessageAutomaton,
    MessageEndings,
    MessageRecognizer,
)
from cfgguide.schema.messages.message_grammar import MessageGrammar, read_again
from cfgguide.schema.schema_index import SchemaIndex


class MessageIndex(SchemaIndex):
    """Masks of messages for one vocabulary; parameters as for :class:`SchemaIndex`."""

    _grammar: MessageGrammar
    _automaton: MessageAutomaton
    _reader: MessageRecognizer

    def _begun(self, vocabulary: Vocabulary) -> SchemaAutomaton:
        return self._grammar.automaton(vocabulary.symbols, vocabulary.spelling.reachable_bytes)

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
        subset = super().subset(_plain(configuration))
        walker: Any = self._walker
        with self._lock:
            leaving = walker.leaving(configuration)
        return subset if leaving is None else Subset.of(subset.bitmask & (leaving | self._eos))

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
        self._vocabulary = vocabulary
        self._reader = reader
        self._leaving: dict[int, Int32Array] = {}  # by states of the structure
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
        if not self._reader.is_exhausted(configuration):
            return None
        ((state, *_),) = configuration.hypotheses
        number = self._reader.pushdown.number_of(state)
        assert number is not None, "a text is being read"
        if number not in self._leaving:
            self._leaving[number] = bitmask_of(self._tokens_that_leave(number), self._n_words)
        return self._leaving[number]

    def _tokens_that_leave(self, number: int) -> list[int]:
        """Return the tokens of which each byte leads out of the text, or nearer to the end."""
        byte, depth, skip, first_token, token_ids = self._vocabulary.trie.arrays
        found: list[int] = []
        path = [number]  # the states after the bytes of a node's parents
        node = 0
        while node < len(byte):
            del path[depth[node] :]
            after = self._reader.pushdown.leaving(path[-1], int(byte[node]))
            following = int(skip[node])
            if after is not None:
                path.append(after)
                is_left = after == LEFT
                end = following if is_left else node + 1
                found += token_ids[first_token[node] : first_token[end]].tolist()
                following = following if is_left else node + 1
            node = following
        return found


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
