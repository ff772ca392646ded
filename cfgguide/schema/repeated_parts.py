"""Items and properties that have come before: which tokens of a mask would write them again.

In: the mask of a place in a schema's text, or what a text remembers
(:mod:`cfgguide.engine.byte_machine.seen_parts`). Out: the mask without tokens that write a part
once more. Few tokens can, by where their commas, quotes and brackets are; of these each is read.
"""

from __future__ import annotations

import re

import numpy as np

from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.engine.byte_machine.byte_views import ALL_BITS
from cfgguide.engine.byte_machine.byte_walker import ByteWalker
from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration
from cfgguide.engine.byte_machine.shared_masks import SharedMasks
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import Subset, bitmask_of
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.schema.automaton import SchemaAutomaton
from cfgguide.schema.places import ArrayBegun, NameOf, ObjectBegun, Value
from cfgguide.schema.scalar_tokens import (
    DUE,
    ENDED,
    IN_OTHER,
    IN_STRING,
    ScalarTokens,
    beginnings_of,
    rests_of,
)

# A comma, and something of another value, or of a name; in a string, its end before.
_NEXT = rb',[ \t\n\r]*(?:"(?s:.)|[0-9tfn\[{-])'
_ITEMS = re.compile(rb"""(?:["0-9\]}]|null|true|false)[ \t\n\r]*""" + _NEXT)
_NEXT_ITEM = re.compile(_NEXT)
_BEGUN = re.compile(rb"\A[^\[{]*[\[{](?s:.)*,")  # perhaps an array or object, and a comma in it
_COMMA = re.compile(rb'\A(?:[^",]|"(?:[^"\\]|\\.)*")*,', re.DOTALL)  # one outside of strings
_ENDED_NAME = re.compile(rb'\A[^"]*+"(?s:.)*,')  # the end of a name, and of the property
_ENDED_STRING = re.compile(rb'"[ \t\n\r\]}]*,')  # the end of a string, and of what it is in
# Perhaps a whole item or name after a comma, or without one.
_WHOLE = re.compile(rb',[^"]*(?:[,\]}:]|true|false|null|"(?:[^"\\]|\\.)*")', re.DOTALL)
_STRING = re.compile(rb'\A[ \t\n\r]*"(?:[^"\\]|\\.)*"', re.DOTALL)  # where one begins
_ENDED = re.compile(rb'\A[^"\]}]*+(?:[\]}]|"(?:[^"\\]|\\.)*")', re.DOTALL)
# To a bracket that closes what was open before: of those that do not, only pairs are left out.
_OTHER = rb'(?:[^"\[\]{}]|"(?:[^"\\]|\\.)*+")'
_TO_BRACKET = rb"(?:%b|[\[{]%b*+[\]}])*+(?:[\]}]|[\[{]%b*+[\[{](?s:.)*[\]}])" % ((_OTHER,) * 3)
_BRACKET = re.compile(rb"\A" + _TO_BRACKET, re.DOTALL)
_QUOTE_AND_BRACKET = re.compile(rb'\A(?:[^"\\]|\\.)*+"' + _TO_BRACKET, re.DOTALL)
_BLANK = re.compile(rb"\A[ \t\n\r]+\Z")  # outside of lexemes, whatever may come may come later
# A string, or the rest of the one in which a token begins; or white space.
_SPACES = re.compile(rb'("(?:[^"\\]|\\.)*+"?+)|[ \t\n\r]++', re.DOTALL)
_IN_STRING = re.compile(rb'((?:\A|")(?:[^"\\]|\\.)*+"?+)|[ \t\n\r]++', re.DOTALL)


class RepeatedParts:
    """Removes tokens from masks that write items or properties once more.

    Parameters
    ----------
    automaton : SchemaAutomaton
        Knows which may come again.
    machine : ByteMachine
        Reads with it.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    """

    def __init__(
        self, automaton: SchemaAutomaton, machine: ByteMachine, vocabulary: Vocabulary
    ) -> None:
        self._automaton = automaton
        self._machine = machine
        self._vocabulary = vocabulary
        self._walker = ByteWalker(machine, vocabulary)

    def remove(self, configuration: ByteConfiguration, bitmask: Int32Array) -> None:
        """Remove tokens that write the same part twice, which a walk does not see.

        The array or object has had no part yet, or begins in the token: of others that have, a text
        remembers which, and `narrowed` looks at them.
        """
        suspects = self.adding(configuration)
        place = self._automaton.place(configuration.state)
        if not isinstance(place, ObjectBegun | ArrayBegun):
            suspects = suspects & self._matching(_BEGUN)
        self._remove(configuration, bitmask, suspects)

    def adding(self, configuration: ByteConfiguration) -> Int32Array:
        """Return the tokens in which a comma comes that ends an item or a property."""
        if not self._automaton.is_in_string(configuration.state):
            return self._matching(_COMMA)
        is_name = isinstance(self._automaton.meaning_of_frame(configuration.stack.state), NameOf)
        return self._matching(_ENDED_NAME if is_name else _ENDED_STRING)

    def _matching(self, pattern: re.Pattern[bytes]) -> Int32Array:
        """Return the tokens in which a pattern is found."""
        return SharedMasks.of(self._vocabulary).matching(pattern)

    def _remove(
        self, configuration: ByteConfiguration, bitmask: Int32Array, suspects: Int32Array
    ) -> None:
        """Remove of some tokens those that the recogniser refuses.

        Those that differ only in how much white space they have are read once.
        """
        automaton, refused = self._automaton, dict[bytes, bool]()
        is_spaced = automaton.layout.space is None
        spaces = _IN_STRING if automaton.is_in_string(configuration.state) else _SPACES
        for token_id in Subset.of(bitmask & suspects).token_ids().tolist():
            token = self._vocabulary.tokens[token_id] or b""
            token = spaces.sub(_shortened, token) if is_spaced else token
            if token not in refused:
                refused[token] = self._machine.advance(configuration, token) is None
            if refused[token]:
                bitmask.view(np.uint32)[token_id >> 5] &= ALL_BITS ^ (1 << (token_id & 31))

    # -- texts that remember what has come --------------------------------------------------

    def narrowed(self, configuration: ByteConfiguration, subset: Subset) -> Subset:
        """Return a subset without what a text remembers: masks do not know that."""
        bitmask = subset.bitmask.copy()
        suspects = self._narrow_scalars(configuration, bitmask)
        if suspects is None:
            suspects = self._suspects(configuration)
            place = self._automaton.place(configuration.state)
            if self._automaton.layout.space and isinstance(place, ObjectBegun | ArrayBegun):
                # Behind as much white space as there may be, more of it says that this is empty.
                suspects = suspects | self._matching(_BLANK)
        self._remove(configuration, bitmask, suspects)
        return subset.changed(bitmask)

    def _narrow_scalars(
        self, configuration: ByteConfiguration, bitmask: Int32Array
    ) -> Int32Array | None:
        """Remove the tokens that write a scalar again, and return those that may.

        None where parts are no scalars, or few are left.
        """
        completions = self._automaton.completions
        scalars = completions.different_scalars(*configuration[:3])
        if scalars is None:
            return None
        begun, place = scalars.begun, self._automaton.place(configuration.state)
        kind = IN_STRING if begun[:1] == b'"' else IN_OTHER if begun else ENDED
        masks = SharedMasks.of(self._vocabulary)
        tokens: ScalarTokens = masks.of_tokens(
            ScalarTokens, DUE if isinstance(place, Value) else kind
        )
        if not completions.are_more(scalars.values, len(scalars.used) + tokens.most):
            return None
        bitmask &= ~tokens.writing(scalars.used, begun)
        found = tokens.unclear
        if scalars.is_spelled:
            found = found | tokens.spelled
        if scalars.are_few:
            bitmask &= ~tokens.leaving(scalars.exhausted())
            found = found | tokens.following
        if scalars.are_listed and kind is IN_STRING:
            rests = rests_of(scalars.used, begun)
            escaping = masks.escaping(beginnings_of(rests))
            found = found | bitmask_of(escaping, self._vocabulary.n_words)
        return found

    def _suspects(self, configuration: ByteConfiguration) -> Int32Array:
        """Return the tokens that what a text remembers may refuse.

        While a part is read that can become none of those that have come, that is only what ends it
        and begins another one. Otherwise it is what ends a part, or leaves few ways to finish it.
        """
        state, stack, memory = configuration[:3]
        completions = self._automaton.completions
        if completions.takes_more(state, stack, memory):
            found = self._ends_of_parts(configuration)
            if found is not None:
                return found
        suspects = self.adding(configuration)
        is_between = completions.is_between(state, stack, memory)
        used = completions.used_strings(state, stack, memory)
        rests = None if is_between else completions.rests_of_strings(stack, memory, used)
        if rests is not None:
            if completions.is_followed_freely(state, stack, memory):
                is_string = self._automaton.is_in_string(state)
                suspects = suspects & self._matching(_ITEMS if is_string else _NEXT_ITEM)
            is_free = not rests or (used is not None and used.are_free)
            return suspects | self._repeating(rests, is_free=is_free)
        outcomes = self._walker.walk_plainly(configuration)
        tokens = outcomes.first_tokens()
        for number, token_id in enumerate(tokens):
            after = outcomes.configuration(number)
            token = self._vocabulary.tokens[token_id] or b""
            if completions.is_free(configuration, token, after):
                outcomes.resolve(number, is_live=False)
        bitmask = np.zeros(self._vocabulary.n_words, dtype=np.int32)
        self._walker.fill(bitmask)
        bitmask |= suspects
        return bitmask if self._automaton.is_in_lexeme(state) else bitmask & ~self._matching(_BLANK)

    def _repeating(self, rests: list[bytes], *, is_free: bool) -> Int32Array:
        """Return the tokens that may finish a string by one of some rests, or begin with one.

        The latter only where it may be all that is left.
        """
        shared = SharedMasks.of(self._vocabulary)
        token_ids = [each for rest in rests for each in shared.ending_strings.get(rest, ())]
        if not is_free:
            begun = beginnings_of(rests) | {b""}
            token_ids += shared.writing(begun) + shared.escaping(begun)
        return bitmask_of(token_ids, self._vocabulary.n_words)

    def _ends_of_parts(self, configuration: ByteConfiguration) -> Int32Array | None:
        """Return the tokens that may end a part as one that has come before.

        None if a string or a name is being read that may become one of these: what matters then is
        how it goes on.
        """
        state, stack, memory = configuration[:3]
        completions = self._automaton.completions
        found = self.adding(configuration) & self._matching(_WHOLE)
        if completions.is_between(state, stack, memory):
            return found | self._matching(_ENDED)
        if not completions.may_repeat(memory):
            return found
        if not self._automaton.is_in_string(state):
            return found | self._matching(_BRACKET)
        if any(each.possible and each.height == stack.height for each in memory.opens):
            return None
        return found | self._matching(_QUOTE_AND_BRACKET)


def _shortened(found: re.Match[bytes]) -> bytes:
    """Return a string as it is, and one space for any number of them."""
    return b" " if found[1] is None else found[1]
