"""The tokens that a monitor allows at a place, of those that the grammar allows, without a walk.

In: a configuration whose lexemes all began at one place, and the grammar's mask. Out: the tokens
that may follow.

* A token that stays in the lexeme that is being read may follow if that may become a terminal that
  the monitor allows at its place; in lexemes whose text decides, only tokens with which one of the
  texts begins are looked up (:mod:`cfgguide.engine.masks.text_tokens`). All places where the same
  may come share these tokens.
* Tokens that end the lexeme are judged together if they end it alike
  (:mod:`cfgguide.engine.masks.lexeme_rests`): what is left of them is judged at the place after it.
  Texts that the monitor does not tell apart count as one, as long as no other text is left.
"""

from __future__ import annotations

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
    WatchingRecognizer,
    watched,
)
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.beginning import BeginningTokens
from cfgguide.engine.masks.lexeme_rests import NamedEnds, Rests
from cfgguide.engine.masks.staying_tokens import StayingTokens
from cfgguide.engine.masks.subset import Subset, are_in_bitmask, bitmask_of
from cfgguide.engine.masks.text_tokens import TokensOfTexts
from cfgguide.engine.monitors.monitor import BelowTopError

_MAX_KNOWN = 2_000  # masks of lexemes that are being read, and kinds of tokens
_MAX_JUDGED = 20_000  # answers about tokens after a lexeme, of some hundred bytes each
_DEPTHS = (2, 4, 8, 16)  # of what is read of a monitor for them, one after another


class AllowedTokens(NamedTuple):
    """The tokens that may follow.

    Attributes
    ----------
    near : int32, shape (n_words,)
        Those that stay in the lexeme, as bits; shared, so not to be written to.
    token_ids : list of int
        Others.
    unclear : list of int
        Those of which only reading tells.
    """

    near: Int32Array
    token_ids: list[int]
    unclear: list[int]

    def add(self, token_ids: Iterable[int], answer: bool | None) -> None:
        """Add tokens of which it is known whether they may follow; None if it is not."""
        if answer is not False:
            (self.unclear if answer is None else self.token_ids).extend(token_ids)


_UNTOLD = AllowedTokens(np.empty(0, dtype=np.int32), [], [])  # more of the monitor tells it


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

    Attributes
    ----------
    is_usable : bool
        Whether this serves the grammar: there is no indenter, and lexemes that a monitor follows
        can be told from ignored text.
    """

    def __init__(
        self,
        recognizer: WatchingRecognizer,
        beginning: BeginningTokens,
        staying: StayingTokens,
        kinds: KnownKinds,
        texts: TokensOfTexts,
    ) -> None:
        self.is_usable = recognizer.indentation_reader is None and texts.is_usable
        self._recognizer = recognizer
        self._lexer = recognizer.lexer
        self._set_of_state: list[int] = recognizer.parse_table.set_of_state.tolist()
        self._beginning = beginning
        self._vocabulary = beginning.vocabulary
        self._staying = staying
        self._texts = texts
        self._kinds = kinds
        self._near: BoundedDict[Hashable, Int32Array] = BoundedDict(_MAX_KNOWN)
        self._nothing = np.empty(0, dtype=np.int32)
        self._rests: WeakValueDictionary[Hashable, Rests] = WeakValueDictionary()
        self._judged: BoundedDict[Hashable, AllowedTokens] = BoundedDict(_MAX_JUDGED)

    def allowed(
        self,
        configuration: Configuration,
        grammatical: Subset,
        first_bytes: npt.NDArray[np.bool_] | None,
    ) -> AllowedTokens:
        """Return the tokens that may follow.

        Parameters
        ----------
        configuration : Configuration
            Its hypotheses have one stack.
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
        near = self._near_tokens(kinds, ahead, hypothesis)
        allowed = AllowedTokens(near, [], [])
        self._judge(kinds.rests, number, stack.place, stack.text, allowed)
        stack.place.forget()
        return allowed

    def _judge(
        self,
        rests: Rests,
        number: int,
        place: ParsePoint,
        text: bytes,
        allowed: AllowedTokens,
        again: set[int] | None = None,
    ) -> None:
        """Judge tokens by what is left of them, where a lexeme is being read.

        With `again`, another lexeme stands for those that the tokens have ended; tokens of which
        more texts matter are noted there instead.
        """
        lexer, recognizer = self._lexer, self._recognizer
        stays, ends, named, unclear = rests.at(number)
        for after, by_text in stays:
            lexer_place = lexer.places[after]
            if not recognizer.asks_text(lexer_place, place):
                answer = recognizer.may_become(lexer_place, place, text)
                allowed.add(chain.from_iterable(by_text.values()), answer)
            elif again is not None:
                again.update(chain.from_iterable(by_text.values()))
            else:
                for added, token_ids in by_text.items():
                    answer = recognizer.may_become(lexer_place, place, text + added)
                    allowed.add(token_ids, answer)
        allowed.unclear.extend(unclear)
        for terminal_id, context, below in ends:
            self._judge_after(place, terminal_id, b"", context, below, allowed, again)
        for each in named:
            if again is None:
                self._judge_named(each, place, text, allowed)
            else:
                again.update(each.together.token_ids)

    def _judge_after(
        self,
        place: ParsePoint,
        terminal_id: int,
        text: bytes,
        context: int,
        rests: Rests,
        allowed: AllowedTokens,
        again: set[int] | None = None,
    ) -> None:
        """Judge tokens by what is left of them after a lexeme."""
        after = place.glimpse(terminal_id, text)
        if after is None:
            return
        start = self._lexer.start(self._set_of_state[after.stack.state], context)
        if again is not None:
            self._judge(rests, start, after, b"", allowed, again)
            return
        judged = self._judged_at(after, rests, start)
        allowed.token_ids.extend(judged.token_ids)
        allowed.unclear.extend(judged.unclear)

    def _judged_at(self, place: ParsePoint, rests: Rests, number: int) -> AllowedTokens:
        """Return which of what is left of some tokens may follow at a place, and remember it.

        As little is read of the monitor as tells it, since many places have the same top.

        Raises
        ------
        BelowTopError
            If the monitor is the top of one, and more of that decides.
        """
        for depth in _DEPTHS:
            top = place.top(depth)
            key = rests, number, top.stack, top.relevant
            judged = self._judged.get(key)
            if judged is None:
                judged = AllowedTokens(self._nothing, [], [])
                try:
                    self._judge(rests, number, top, b"", judged)
                except BelowTopError:
                    judged = _UNTOLD
                self._judged[key] = judged
            if judged is not _UNTOLD:
                return judged
            if top is place:
                raise BelowTopError
        judged = AllowedTokens(self._nothing, [], [])
        self._judge(rests, number, place, b"", judged)
        return judged

    def _judge_named(
        self, ends: NamedEnds, place: ParsePoint, text: bytes, allowed: AllowedTokens
    ) -> None:
        """Judge tokens that end a lexeme whose text matters."""
        by_text, told_apart = ends.by_text, place.told_apart(ends.terminal_id)
        alone: Iterable[bytes] = by_text
        if told_apart is not None:
            n = len(text)
            apart = {each[n:] for each in told_apart if each.startswith(text)} & by_text.keys()
            other = next((added for added in by_text if added not in apart), None)
            if other is not None:
                found, again = AllowedTokens(allowed.near, [], []), set[int]()
                self._judge_after(
                    *(place, ends.terminal_id, text + other, ends.context, ends.together),
                    *(found, again),
                )
                text_of = ends.text_of
                apart |= {text_of[each] for each in again}
                others = {token_id for added in apart for token_id in by_text[added].token_ids}
                allowed.token_ids.extend(each for each in found.token_ids if each not in others)
                allowed.unclear.extend(each for each in found.unclear if each not in others)
            alone = apart
        for added in alone:
            self._judge_after(
                *(place, ends.terminal_id, text + added, ends.context, by_text[added], allowed)
            )

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
        bits = place.bits & ahead, place.restricted & ahead, place.endless & ahead
        key = number, *bits, self._recognizer.named, grammatical.key, begins
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
        rests = Rests(self._lexer, self._recognizer.named, token_ids, written, self._rests)
        return Kinds(next(self._kinds.numbers), certain, by_text, rests)

    def _answer(self, after: LexerPlace, possible: npt.NDArray[np.int8], allowed: int) -> int:
        """Return whether tokens that lead somewhere in the lexer may follow.

        That is `IMPOSSIBLE`; `POSSIBLE` if the grammar allows them; `BY_TEXT` if one of the texts
        begins with them besides; `BY_OTHER_TEXT` if they have to be read.
        """
        answers = [int(possible[state]) for state, _ in after.states]
        first = answers[0]
        if answers.count(first) == len(answers) and not after.may_have_left:
            return first
        # What the grammar allows may rest on a state that the monitor refuses: is another enough?
        wanted = POSSIBLE if POSSIBLE in answers else BY_TEXT
        if wanted == BY_TEXT and (BY_OTHER_TEXT in answers or after.may_have_left):
            return BY_OTHER_TEXT
        is_enough = any(
            answer == wanted and self._recognizer.gaps.can_end(*each, allowed)
            for each, answer in zip(after.states, answers, strict=True)
        )
        return wanted if is_enough else BY_OTHER_TEXT
