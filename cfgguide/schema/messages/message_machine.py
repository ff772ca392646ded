"""The machine of messages: that of a schema, with what is around the values.

In: a :class:`~cfgguide.schema.messages.message_grammar.MessageGrammar` and a vocabulary. Out: a
:class:`MessageMachine`. Where a text has had all the tokens that it may have, masks have only the
tokens that leave it, or lead nearer to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cfgguide.base.archive import Arrays
from cfgguide.base.remembered import remembered
from cfgguide.engine.byte_machine.byte_walker import ByteWalker
from cfgguide.engine.byte_machine.outcomes import ByteOutcomes, SplitOutcomes
from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import Subset, bitmask_of
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import IndexFormatError, SchemaError
from cfgguide.schema.json_schema import read_again as schema_again
from cfgguide.schema.messages.message_automaton import LEFT, MessageAutomaton, MessageEndings
from cfgguide.schema.schema_machine import SchemaMachine, SchemaMasks

if TYPE_CHECKING:
    from cfgguide.schema.messages.message_grammar import MessageGrammar
    from cfgguide.schema.schema_grammar import SchemaGrammar


class MessageMachine(SchemaMachine):
    """Reads messages; each call of `advance` is one token where tokens are counted.

    Its parameters are the grammar, the names of tokens that are no text, and the bytes that occur
    in tokens.

    The token that begins a text counts for none. After the last that the text may have, each byte
    has to lead out of the text, or nearer to the end of the message: `nearer` of the structure
    always does, so there is one, and endings have no others.
    """

    pushdown: MessageAutomaton
    grammar: MessageGrammar[Any]

    def __init__(
        self, grammar: MessageGrammar[Any], symbols: Iterable[str], used: frozenset[int]
    ) -> None:
        super().__init__(grammar, grammar.automaton(symbols, used))
        self._symbols, self._used = [*symbols], used

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: what it was made of."""
        return MessageMachine, (self.grammar, self._symbols, self._used)

    def endings(
        self, vocabulary: Vocabulary, n_tokens: Callable[[bytes], int | None]
    ) -> list[Callable[[ByteConfiguration], bytes | None]]:
        """Return the way to find short endings of bytes that are in tokens."""
        return [MessageEndings(self.pushdown, vocabulary.spelling.reachable_bytes).of]

    def masks(self, vocabulary: Vocabulary) -> MessageMasks:
        """Return what makes masks."""
        return MessageMasks(self, vocabulary)

    def packed(self) -> tuple[Arrays, dict[str, object]]:
        """Return the structural tag and the options."""
        grammar = self.grammar
        message = {
            "tag": grammar.schema,
            "options": asdict(grammar.options),
            "reading": list(grammar.reading.key),
        }
        return {}, {"schema": message}

    def advance(self, configuration: ByteConfiguration, data: bytes) -> ByteConfiguration | None:
        """Return the configuration after a token, or None if it is refused."""
        if self.is_exhausted(configuration) and not self._leaves(configuration, data):
            return None
        after = self.read(configuration, data)
        text = None if after is None else self.text_of(after)
        if after is None or text is None:
            return after
        n_tokens = 0
        if self.text_of(configuration) == text:
            n_tokens = min(configuration.n_tokens + 1, self.pushdown.structure.limits[text])
        return after._replace(n_tokens=n_tokens)

    def is_exhausted(self, configuration: ByteConfiguration) -> bool:
        """Return whether a text has had all of its tokens, so that it has to be left."""
        text = self.text_of(configuration)
        if text is None:
            return False
        return configuration.n_tokens >= self.pushdown.structure.limits[text]

    def text_of(self, configuration: ByteConfiguration) -> int | None:
        """Return the number of the text with a limit that is being read."""
        number = self._number_of(configuration)
        return None if number is None else self.pushdown.structure.states[number].text

    def _number_of(self, configuration: ByteConfiguration) -> int | None:
        if not self.pushdown.structure.limits:
            return None
        return self.pushdown.number_of(configuration.state)

    def _leaves(self, configuration: ByteConfiguration, data: bytes) -> bool:
        """Return whether a token leads out of the text, or nearer to the end."""
        number = self._number_of(configuration)
        for byte in data:
            assert number is not None, "a text is being read"
            number = self.pushdown.leaving(number, byte)
            if number is None or number == LEFT:
                return number == LEFT
        return True


class MessageMasks(SchemaMasks):
    """Makes masks of messages for one vocabulary."""

    _machine: MessageMachine
    _automaton: MessageAutomaton
    _walker: MessageWalker

    def new_walker(self) -> MessageWalker:
        """Return a walker of its own for one thread."""
        return MessageWalker(self._machine, self._vocabulary)

    def narrowed(self, configuration: ByteConfiguration, subset: Subset) -> Subset:
        """Return a subset without what a text remembers, and what does not leave a long one."""
        subset = super().narrowed(configuration, subset)
        leaving = self._walker.leaving(configuration)
        return subset if leaving is None else subset.changed(subset.bitmask & (leaving | self._eos))

    def is_at_end(self, configuration: ByteConfiguration, allowed: Callable[[], Subset]) -> bool:
        """Return whether the text is a sentence, and only EOS or white space may follow."""
        number = self._automaton.number_of(configuration.state)
        if number is None:
            return False
        part = self._automaton.structure.states[number]
        return part.is_end and not part.moves and not part.values


class MessageWalker(ByteWalker):
    """A walker whose masks leave a text that has had all of its tokens."""

    _machine: MessageMachine

    def __init__(self, machine: MessageMachine, vocabulary: Vocabulary) -> None:
        super().__init__(machine, vocabulary)
        self._vocabulary = vocabulary
        self._walked: ByteConfiguration | None = None

    def walk(self, configuration: ByteConfiguration) -> ByteOutcomes | SplitOutcomes:
        """Return what all tokens lead to."""
        self._walked = configuration
        return super().walk(configuration)

    def fill(self, bitmask: Int32Array) -> None:
        """Make the mask of the last walk."""
        super().fill(bitmask)
        leaving = None if self._walked is None else self.leaving(self._walked)
        if leaving is not None:
            bitmask &= leaving

    def leaving(self, configuration: ByteConfiguration) -> Int32Array | None:
        """Return the tokens that leave the text, or lead there; None if it may go on."""
        if not self._machine.is_exhausted(configuration):
            return None
        number = self._machine.pushdown.number_of(configuration.state)
        assert number is not None, "a text is being read"
        return self._tokens_that_leave(number)

    @remembered
    def _tokens_that_leave(self, number: int) -> Int32Array:
        """Return the tokens of which each byte leads out of the text, or nearer to the end."""
        byte, depth, skip, first_token, token_ids = self._vocabulary.trie.arrays
        found: list[int] = []
        path = [number]  # the states after the bytes of a node's parents
        node = 0
        while node < len(byte):
            del path[depth[node] :]
            after = self._machine.pushdown.leaving(path[-1], int(byte[node]))
            following = int(skip[node])
            if after is not None:
                path.append(after)
                is_left = after == LEFT
                end = following if is_left else node + 1
                found += token_ids[first_token[node] : first_token[end]].tolist()
                following = following if is_left else node + 1
            node = following
        return bitmask_of(found, self._n_words)


def grammar_of(value: Mapping[str, Any]) -> SchemaGrammar:
    """Return the grammar of messages, or of a schema, that a machine's `packed` has described.

    Raises
    ------
    IndexFormatError
        If that is wrong.
    """
    from cfgguide.schema.messages.message_grammar import read_again

    try:
        if "tag" in value:
            return read_again(value["tag"], value["options"], value["reading"])
        return schema_again(value["schema"], value["options"])
    except (KeyError, TypeError, ValueError, SchemaError) as error:
        raise IndexFormatError(
            f"the index cannot be used: its schema or tag is wrong ({error}); make it again"
        ) from None
