"""The tokens that a monitor allows at a place, of those that the grammar allows, without a walk.

In: a configuration whose lexemes all began at one place, and the grammar's mask. Out: the tokens
that may follow.

* A token that stays in the lexeme that is being read may follow if that may become a terminal that
  the monitor allows at its place; in lexemes whose text decides, only tokens with which one of the
  texts begins are looked up (:mod:`cfgguide.engine.masks.text_tokens`). All places where the same
  may come share these tokens.
* Tokens that end the lexeme are judged together if they end it alike
  (:mod:`cfgguide.engine.masks.lexeme_rests`): what is left of them is judged at the place after it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable
from itertools import chain, count
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from cfgguide.base.bounded import BoundedDict
from cfgguide.base.sets import members
from cfgguide.engine.machine.lexer_places import LexerPlace
from cfgguide.engine.machine.places import ParsePoint
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis
from cfgguide.engine.machine.watching import (
    BY_OTHER_TEXT,
    BY_TEXT,
    IMPOSSIBLE,
    POSSIBLE,
    WatchedStack,
    WatchingRecognizer,
    watched,
)
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.beginning import BeginningTokens
from cfgguide.engine.masks.lexeme_rests import Rests, Stays
from cfgguide.engine.masks.staying_tokens import StayingTokens
from cfgguide.engine.masks.subset import Subset, are_in_bitmask, bitmask_of
from cfgguide.engine.masks.text_tokens import TokensOfTexts
from cfgguide.engine.monitors.text_sets import Texts
from cfgguide.grammar.lr.indentation import Indentation

_MAX_KNOWN = 2_000  # masks of lexemes that are being read, and kinds of tokens
_FEW = 20  # texts, each of which is asked about
_MAX_JUDGED = 20_000  # answers about tokens after a lexeme, of some hundred bytes each


class AllowedTokens(NamedTuple):
    """The tokens that may follow.

    Attributes
    ----------
    token_ids : list of int
        Those that do not stay in the lexeme, or are not told from its state.
    unclear : list of int
        Those of which only reading tells.
    """

    token_ids: list[int]
    unclear: list[int]

    def add(self, token_ids: Iterable[int], answer: bool | None) -> None:
        """Add tokens of which it is known whether they may follow; None if it is not."""
        if answer is not False:
            (self.unclear if answer is None else self.token_ids).extend(token_ids)


class Kinds(NamedTuple):
    """How tokens are judged that the grammar allows, whatever the texts are that may come.

    Attributes
    ----------
    number : int
        Of these kinds.
    possible : int32, shape (n_words,)
        Those that may follow anyway, as bits.
    by_text : int32, shape (n_words,), optional
        Those that may follow if one of the texts begins with them; None if there are none.
    rests : Rests
        Those that have to be judged.
    """

    number: int
    possible: Int32Array
    by_text: Int32Array | None
    rests: Rests


class KnownKinds(BoundedDict[Hashable, Kinds]):
    """Kinds by what they depend on."""

    def __init__(self) -> None:
        super().__init__(_MAX_KNOWN)
        self.numbers = count()


class PlaceMasks:
    """Finds the tokens that a monitor allows at a place.

    Parameters
    ----------
    recognizer : WatchingRecognizer
        Knows the monitor.
    beginning : BeginningTokens
        Of the vocabulary.
    staying : StayingTokens
        Of the grammar's lexer.
    kinds : KnownKinds
        Of the grammar and the vocabulary; monitors may share them.
    texts : TokensOfTexts
        Of the monitor's texts.
    """

    def __init__(
        self,
        recognizer: WatchingRecognizer,
        beginning: BeginningTokens,
        staying: StayingTokens,
        kinds: KnownKinds,
        texts: TokensOfTexts,
    ) -> None:
        self._recognizer = recognizer
        self._lexer = recognizer.lexer
        self._set_of_state: list[int] = recognizer.parse_table.set_of_state.tolist()
        self._beginning = beginning
        self._vocabulary = beginning.vocabulary
        self._staying = staying
        self._texts = texts
        self._kinds = kinds
        self._near: BoundedDict[Hashable, Int32Array] = BoundedDict(_MAX_KNOWN)
        self._rests: WeakValueDictionary[Hashable, Rests] = WeakValueDictionary()
        self._staying_in: BoundedDict[tuple[Stays, Texts, bytes], tuple[int, ...]]
        self._staying_in = BoundedDict(_MAX_JUDGED)

    def allowed(
        self,
        configuration: Configuration,
        grammatical: Subset,
        first_bytes: npt.NDArray[np.bool_] | None,
    ) -> tuple[Int32Array, AllowedTokens]:
        """Return the tokens that may follow: those that stay in the lexeme, as bits, and others.

        The bits are shared, so not to be written to; shape (n_words,).

        Parameters
        ----------
        configuration : Configuration
            Its hypotheses have one stack and one indentation.
        grammatical : Subset
            The tokens that the grammar allows there.
        first_bytes : bool, shape (256,), optional
            With which of the bytes a token begins that is asked about; by default with any.
        """
        hypothesis = configuration.hypotheses[0]
        stack = watched(hypothesis.stack)
        number = self._recognizer.lexer_number(configuration)
        # Where no lexeme has begun, it may become any terminal.
        ahead = -1 if self._lexer.is_between(number) else self._lexer.ahead(number)
        kinds = self._kinds_of(number, ahead, stack.place, grammatical, first_bytes)
        allowed = AllowedTokens([], [])
        self._judge(kinds.rests, number, stack, hypothesis.indentation, allowed)
        stack.place.forget()
        return self._near_tokens(kinds, ahead, hypothesis), allowed

    def _judge(
        self,
        rests: Rests,
        number: int,
        begun: WatchedStack,
        indentation: Indentation,
        allowed: AllowedTokens,
    ) -> None:
        """Judge tokens by what is left of them, where a lexeme is being read."""
        lexer, recognizer, place, text = self._lexer, self._recognizer, begun.place, begun.text
        stays, ends, may_be = rests.at(number)
        for each in stays:
            lexer_place = lexer.places[each.number]
            decided = recognizer.decided_by(lexer_place, place)
            if isinstance(decided, bool):
                allowed.add(chain.from_iterable(each.by_text.values()), decided)
            elif decided is not None:
                for texts in decided:
                    allowed.token_ids.extend(self._going_on(each, texts, text))
            else:
                for added, token_ids in each.by_text.items():
                    answer = recognizer.may_become(lexer_place, place, text + added)
                    allowed.add(token_ids, answer)
        allowed.unclear.extend(may_be)
        for terminal_id, added, context, below in ends:
            ended = recognizer.glimpse(place, indentation, terminal_id, text, added)
            if ended is not None:
                after, unindented = ended
                start = lexer.start(self._set_of_state[after.stack.state], context)
                self._judge(below, start, WatchedStack(after), unindented, allowed)

    def _going_on(self, stays: Stays, texts: Texts, text: bytes) -> Iterable[int]:
        """Return the tokens that stay in a lexeme with which one of some texts goes on."""
        if len(stays.by_text) <= _FEW:
            by_text = stays.by_text.items()
            return [each for added, ids in by_text if texts.begins(text + added) for each in ids]
        key = stays, texts, text
        known = self._staying_in.get(key)
        if known is None:
            known = self._staying_in[key] = _beginning(stays, texts, text)
        return known

    def _near_tokens(self, kinds: Kinds, ahead: int, hypothesis: Hypothesis) -> Int32Array:
        """Return the tokens after which the lexeme may become one that the monitor allows."""
        if kinds.by_text is None:
            return kinds.possible
        place, text = watched(hypothesis.stack).place, watched(hypothesis.stack).text
        texts = tuple(place.allowed[each] for each in members(place.restricted & ahead))
        key = kinds.number, text, texts
        near = self._near.get(key)
        if near is None:
            near = kinds.possible | kinds.by_text & self._texts.tokens(hypothesis)
            self._near[key] = near
        return near

    def _kinds_of(
        self,
        number: int,
        ahead: int,
        place: ParsePoint,
        grammatical: Subset,
        first_bytes: npt.NDArray[np.bool_] | None,
    ) -> Kinds:
        """Return how the tokens are judged."""
        begins = None if first_bytes is None else first_bytes.tobytes()
        dropped = self._recognizer.dropped(place)
        bits = place.bits & ahead, place.restricted & ahead, place.endless & ahead, dropped & ahead
        key = number, *bits, self._recognizer.followed, grammatical.key, begins
        known = self._kinds.get(key)
        if known is None:
            asked = grammatical.bitmask
            if first_bytes is not None:
                asked = asked & self._beginning.with_any(first_bytes)
            known = self._kinds[key] = self._told_apart(number, place, asked)
        return known

    def _told_apart(self, number: int, place: ParsePoint, asked: Int32Array) -> Kinds:
        staying = self._staying.of(number)
        possible = self._recognizer.possible(place)
        wanted: dict[int, list[int]] = {POSSIBLE: [], BY_TEXT: [], BY_OTHER_TEXT: []}
        for each, after in enumerate(staying.places):
            answer = self._answer(after, possible, place.bits)
            if answer != IMPOSSIBLE:
                wanted[answer].append(each)
        n_words = self._vocabulary.n_words
        certain = bitmask_of(staying.token_ids(wanted[POSSIBLE]), n_words) & asked
        by_text = None
        if wanted[BY_TEXT]:
            by_text = bitmask_of(staying.token_ids(wanted[BY_TEXT]), n_words) & asked
        judged = np.concatenate([staying.token_ids(wanted[BY_OTHER_TEXT]), staying.leaving])
        token_ids = tuple(judged[are_in_bitmask(judged, asked)].tolist())
        written = tuple(self._vocabulary.tokens[each] or b"" for each in token_ids)
        rests = Rests(self._lexer, self._recognizer.told_apart, token_ids, written, self._rests)
        return Kinds(next(self._kinds.numbers), certain, by_text, rests)

    def _answer(self, after: LexerPlace, possible: npt.NDArray[np.int8], allowed: int) -> int:
        """Return whether tokens that lead somewhere in the lexer may follow.

        That is `IMPOSSIBLE`; `POSSIBLE` if the grammar allows them; `BY_TEXT` if one of the texts
        begins with them besides; `BY_OTHER_TEXT` if they have to be read.
        """
        answers = [int(possible[state]) for state, _ in after.states]
        first = answers[0]
        if answers.count(first) == len(answers) and not after.left:
            return first
        # What the grammar allows may rest on a state that the monitor refuses: is another enough?
        wanted = POSSIBLE if POSSIBLE in answers else BY_TEXT
        if wanted == BY_TEXT and (BY_OTHER_TEXT in answers or after.left):
            return BY_OTHER_TEXT
        is_enough = any(
            answer == wanted and self._recognizer.gaps.can_end(*each, allowed)
            for each, answer in zip(after.states, answers, strict=True)
        )
        return wanted if is_enough else BY_OTHER_TEXT


def _beginning(stays: Stays, texts: Texts, text: bytes) -> tuple[int, ...]:
    """Return the same: what tokens add is visited as a tree of bytes."""
    added, token_ids = stays.texts, list[int]()
    pending = [(b"", 0, len(added))]
    while pending:
        begun, first, end = pending.pop()
        if not texts.begins(text + begun):
            continue
        n_bytes = len(begun)
        if len(added[first]) == n_bytes:
            token_ids += stays.by_text[begun]
            first += 1
        wanted = texts.next_bytes(text + begun)
        while first < end:
            longer = added[first][: n_bytes + 1]
            after = bisect_right(added, longer, first, end, key=lambda each: each[: n_bytes + 1])
            if wanted is None or longer[-1] in wanted:
                pending.append((longer, first, after))
            first = after
    return tuple(token_ids)
