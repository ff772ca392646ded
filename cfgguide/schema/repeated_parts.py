"""Items and properties that have come before: which tokens of a mask would write them again.

In: the mask of a place in a schema's text, or what a text remembers
(:mod:`cfgguide.engine.byte_machine.seen_parts`). Out: the mask without tokens that write a part
once more. Few tokens can, by where their commas, quotes and brackets are; of these each is read.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import partial

import numpy as np

from cfgguide.base.bounded import BoundedDict
from cfgguide.base.remembered import remembered_up_to
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.engine.byte_machine.byte_walker import ByteWalker
from cfgguide.engine.byte_machine.seen_parts import BETWEEN, ByteConfiguration
from cfgguide.engine.byte_machine.shared_masks import SharedMasks
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import Subset, bitmask_of, token_ids_in
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
    is_cut,
    rests_of,
)
from cfgguide.schema.unique import DifferentScalars

_N_SUBSETS = 256
_N_FEW = 64  # places in texts
_BITS = 4

# A comma, and something of another value, or of a name; in a string, its end before.
_NEXT = rb',[ \t\n\r]*["0-9tfn\[{-]'
_ITEMS = re.compile(rb"""(?:["0-9\]}]|null|true|false)[ \t\n\r]*""" + _NEXT)
_NEXT_ITEM = re.compile(_NEXT)
_BEGUN = re.compile(rb"\A[^\[{]*[\[{](?s:.)*,")  # perhaps an array or object, and a comma in it
_COMMA = re.compile(rb'\A(?:[^",]|"(?:[^"\\]|\\.)*")*,', re.DOTALL)  # one outside of strings
_ENDED_NAME = re.compile(rb'\A[^"]*+"(?s:.)*,')  # the end of a name, and of the property
_ENDED_STRING = re.compile(rb'"[ \t\n\r\]}]*,')  # the end of a string, and of what it is in
# Perhaps a whole item or name after a comma, or without one.
_WHOLE = re.compile(rb',[^"]*(?:[,\]}:]|true|false|null|"(?:[^"\\]|\\.)*")', re.DOTALL)
_ENDED = re.compile(rb'\A[^"\]}]*+(?:[\]}]|"(?:[^"\\]|\\.)*")', re.DOTALL)
# To a bracket that closes what was open before: of those that do not, only pairs are left out.
_OTHER = rb'(?:[^"\[\]{}]|"(?:[^"\\]|\\.)*+")'
_TO_BRACKET = rb"(?:%b|[\[{]%b*+[\]}])*+(?:[\]}]|[\[{]%b*+[\[{](?s:.)*[\]}])" % ((_OTHER,) * 3)
_BRACKET = re.compile(rb"\A" + _TO_BRACKET, re.DOTALL)
_QUOTE_AND_BRACKET = re.compile(rb'\A(?:[^"\\]|\\.)*+"' + _TO_BRACKET, re.DOTALL)
_NAMES = re.compile(rb'\A[^:]*+:(?s:.)*,[ \t\n\r]*+"')  # two names of an object
_BLANK = re.compile(rb"\A[ \t\n\r]+\Z")  # outside of lexemes, whatever may come may come later
# A string, or the rest of the one in which a token begins; or what comes last, after a bracket; or
# white space.
_SPACES = re.compile(
    rb'("(?:[^"\\]|\\.)*+"?+)|((?<=[\]}])[ \t\n\r]*+,?+[ \t\n\r]*+\Z)|[ \t\n\r]++', re.DOTALL
)
_IN_STRING = re.compile(
    rb'((?:\A|")(?:[^"\\]|\\.)*+"?+)|((?<=[\]}])[ \t\n\r]*+,?+[ \t\n\r]*+\Z)|[ \t\n\r]++',
    re.DOTALL,
)


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
        self._few: BoundedDict[Hashable, Int32Array] = BoundedDict(_N_FEW)

    def distinct(self, configuration: ByteConfiguration, subset: Subset) -> Subset:
        """Return a subset without tokens that write the same part twice: a walk does not see it.

        The array or object has had no part yet, or begins in the token: of others that have, a text
        remembers which, and `narrowed` looks at them.
        """
        suspects = self.adding(configuration)
        place = self._automaton.place(configuration.state)
        if not isinstance(place, ObjectBegun | ArrayBegun):
            suspects = suspects & self._matching(_BEGUN)
        token_ids = token_ids_in(subset.bitmask & suspects).tolist()
        return subset.without(self._refused(configuration, token_ids))

    def adding(self, configuration: ByteConfiguration) -> Int32Array:
        """Return the tokens in which a comma comes that ends an item or a property."""
        if not self._automaton.is_in_string(configuration.state):
            return self._matching(_COMMA)
        is_name = isinstance(self._automaton.meaning_of_frame(configuration.stack.state), NameOf)
        return self._matching(_ENDED_NAME if is_name else _ENDED_STRING)

    def _matching(self, pattern: re.Pattern[bytes]) -> Int32Array:
        """Return the tokens in which a pattern is found."""
        return SharedMasks.of(self._vocabulary).matching(pattern)

    def _refused(self, configuration: ByteConfiguration, token_ids: list[int]) -> list[int]:
        """Return which of some tokens the recogniser refuses.

        Those that differ only in how much white space they have are read once.
        """
        if not token_ids:
            return []
        automaton, found = self._automaton, dict[bytes, bool]()
        is_spaced = automaton.layout.space is None
        spaces = _IN_STRING if automaton.is_in_string(configuration.state) else _SPACES
        is_followed = automaton.completions.is_followed_freely(*configuration[:3])
        shortened = partial(_shortened, b"" if is_followed else b",")
        refused = []
        for token_id in token_ids:
            token = self._vocabulary.tokens[token_id] or b""
            token = spaces.sub(shortened, token) if is_spaced else token
            if token not in found:
                found[token] = self._machine.follow(configuration, token) is None
            if found[token]:
                refused.append(token_id)
        return refused

    # -- texts that remember what has come --------------------------------------------------

    def narrowed(self, configuration: ByteConfiguration, subset: Subset) -> Subset:
        """Return a subset without what a text remembers: masks do not know that."""
        scalars = self._automaton.completions.different_scalars(*configuration[:3])
        found = None if scalars is None else self._scalars(configuration, scalars, subset)
        if found is None:
            suspects = self._suspects(configuration)
            place = self._automaton.place(configuration.state)
            if self._automaton.layout.space and isinstance(place, ObjectBegun | ArrayBegun):
                # Behind as much white space as there may be, more of it says that this is empty.
                suspects = suspects | self._matching(_BLANK)
            found = [], token_ids_in(subset.bitmask & suspects).tolist()
        repeated, doubtful = found
        return subset.without(repeated + self._refused(configuration, doubtful))

    def _scalars(
        self, configuration: ByteConfiguration, scalars: DifferentScalars, subset: Subset
    ) -> tuple[list[int], list[int]] | None:
        """Return the tokens that write a scalar again, and those of a subset that may.

        None where few are left.
        """
        state, _, memory = configuration[:3]
        completions, part = self._automaton.completions, memory.opens[-1]
        begun = b"" if part.start == BETWEEN else memory.text[part.start :]
        used, masks = part.used, SharedMasks.of(self._vocabulary)
        place = IN_STRING if begun[:1] == b'"' else IN_OTHER if begun else ENDED
        if place is ENDED and isinstance(self._automaton.place(state), Value):
            place = DUE
        tokens: ScalarTokens = masks.of_tokens(ScalarTokens, place)
        if not scalars.are_known(used, begun) or not completions.are_more(
            scalars.values, len(used) + tokens.most
        ):
            return None
        repeated = tokens.writing(used, begun)
        doubtful = self._unclear(subset, tokens, scalars, scalars.are_spelled(used))
        if scalars.are_few:
            repeated += tokens.leaving(scalars.exhausted(used, begun))
            if not scalars.has_free_strings(used):
                rests = beginnings_of(rests_of(used, begun or b'"'))
                more = tokens.leaving(filter(is_cut, rests))
                more += masks.escaping(rests) if place is IN_STRING else []
                doubtful = doubtful + [each for each in more if each in subset]
        return repeated, doubtful

    @remembered_up_to(_N_SUBSETS)
    def _unclear(
        self, subset: Subset, tokens: ScalarTokens, scalars: DifferentScalars, are_spelled: bool
    ) -> list[int]:
        """Return the tokens of a subset of which it is not known what they write or leave."""
        found = tokens.unclear
        if are_spelled:
            found = found | tokens.spelled
        if scalars.are_few:
            found = found | tokens.following
            found = found if scalars.are_strings else found | tokens.opening
        unclear: list[int] = token_ids_in(subset.bitmask & found).tolist()
        return unclear

    def _suspects(self, configuration: ByteConfiguration) -> Int32Array:
        """Return the tokens that what a text remembers may refuse.

        While a part is read that can become none of those that have come, that is only what ends it
        and begins another one. Otherwise it is what ends a part, or leaves few ways to finish it.
        """
        state, stack, memory = configuration[:3]
        completions = self._automaton.completions
        is_between = completions.is_between(state, stack, memory)
        may_repeat = completions.may_repeat(memory)
        takes_more = completions.takes_more(state, stack, memory)
        is_followed = completions.is_followed_freely(state, stack, memory)
        is_string = self._automaton.is_in_string(state)
        ends = self._matching(_QUOTE_AND_BRACKET if is_string else _BRACKET)
        suspects = followed = self.adding(configuration)
        if takes_more:
            followed = followed & self._matching(_WHOLE)
        elif is_followed:
            followed = followed & self._matching(_ITEMS if is_string else _NEXT_ITEM)
        if not is_between and not may_repeat:
            is_inside = memory.opens[-1].height < stack.height
            return followed & (ends | self._matching(_NAMES)) if is_inside else followed
        rests = None if is_between else completions.rests_of_strings(state, stack, memory)
        if rests is not None:
            return followed | self._repeating(rests, is_free=takes_more)
        if not takes_more:
            if is_followed and not is_between:  # what ends before a comma began before the token
                suspects = suspects & self._matching(_WHOLE)
            return suspects | self._leaving_few(configuration)
        if is_between:
            ends = self._matching(_ENDED)
        return followed | ends if may_repeat or memory.opens[-1].used else followed

    def _leaving_few(self, configuration: ByteConfiguration) -> Int32Array:
        """Return the tokens that end a part, or leave few ways to finish it."""
        memory, completions = configuration.memory, self._automaton.completions
        n = 1 << -(-memory.n_used.bit_length() // _BITS) * _BITS  # seldom more than before
        key = (*completions.matters(*configuration[:3]), n)
        known = self._few.get(key)
        if known is None:
            known = self._few[key] = self._found_few(configuration, n)
        return known

    def _found_few(self, configuration: ByteConfiguration, n: int) -> Int32Array:
        """Return the tokens that end a part, or leave as few ways as `n`."""
        completions = self._automaton.completions
        outcomes = self._walker.walk_plainly(configuration)
        for number, token_id in enumerate(outcomes.first_tokens()):
            after = outcomes.configuration(number)
            token = self._vocabulary.tokens[token_id] or b""
            if completions.is_free(configuration, token, after, n):
                outcomes.resolve(number, is_live=False)
        bitmask = np.zeros(self._vocabulary.n_words, dtype=np.int32)
        self._walker.fill(bitmask)
        is_inside = self._automaton.is_in_lexeme(configuration.state)
        return bitmask if is_inside else bitmask & ~self._matching(_BLANK)

    def _repeating(self, rests: list[bytes], *, is_free: bool) -> Int32Array:
        """Return the tokens that may finish a string by one of some rests, or begin with one.

        The latter only where it may be all that is left.
        """
        shared = SharedMasks.of(self._vocabulary)
        token_ids = [each for rest in rests for each in shared.ending_strings.get(rest, ())]
        if rests and not is_free:
            begun = beginnings_of(rests) | {b""}
            token_ids += shared.writing(begun) + shared.escaping(begun)
        return bitmask_of(token_ids, self._vocabulary.n_words)


def _shortened(comma: bytes, found: re.Match[bytes]) -> bytes:
    """Return a string as it is, and one space for any number of them, or none at the end.

    After a bracket there, a comma is left out if others may follow in any case.
    """
    if found[1] is not None:
        return found[1]
    if found[2] is None:
        return b" "
    return comma if b"," in found[2] else b""
