r"""Follows one request of an engine: tokens in, rows of its bitmask out.

A :class:`~cfgguide.guide.guide.Guide` is strict: a token that may not come is an error, and after
EOS there is nothing. Engines are not. They ask about drafts that turn out wrong, pad them with -1,
go on past the end, take tokens back, and let each request name tokens that stop it. A
:class:`Matcher` is a guide for them; all adapters use it.

A *stop token* is EOS, or one that the request names. It ends the sentence where one may end, as EOS
does, or with it, if it is a special terminal. Elsewhere the engine would cut the text there, so a
stop token that is also text is left out of the mask, as long as another token is in it. ::

    JSON, stop token `\n`       [ 1        `,`  `]`  ` `        but not `\n`
                                [ 1 ]      EOS  `\n`            where it ends

Where a text is complete, and nothing but ignored text could follow, it ends: small models write
white space there until their tokens run out.

Where an engine would cut the text after some tokens, masks near there have only tokens after which
the text can still end in time (:mod:`cfgguide.guide.budget`).

All requests of an engine wait for what one of them takes. So a stranger's has an
:class:`Allowance`: a bound on each step that was not taken before, and on all of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, overload

from cfgguide.base.collector import collector_off
from cfgguide.base.limits import Limits, Steps
from cfgguide.engine.index.index import Index
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import bitmask_of
from cfgguide.errors import (
    BudgetError,
    CfgGuideError,
    LimitError,
    RollbackError,
    TokenRejectedError,
    shown,
)
from cfgguide.guide.batch import write_ready_rows
from cfgguide.guide.budget import TokenBudget
from cfgguide.guide.buffers import EVERYTHING, write_row, write_rows
from cfgguide.guide.guide import Guide, as_token_id
from cfgguide.models.serving.isolation import Verdicts, takes_long

Result = TypeVar("Result")

#: So many times as long as a step may take all steps of a text, and this much more for each token:
#: about as long as an engine takes for one.
_AT_ONCE, _A_TOKEN = 8, 0.02
#: Tokens before the end from which on a text is led there, beside those of a way out; how many are
#: left beside a way out, at least, until it is looked for; seconds of such a mask.
_NEAR, _RESERVE, _LED_SECONDS = 64, 24, 0.1
PADDING = -1  # what engines write where there is no token


class _StepError(LimitError):
    """A step has taken what it may."""


class Allowance:
    """What the steps of a request may take of the processor: each, and all together.

    A request that takes more is refused from then on: later ones with its text, and those that
    are being written, at their next step that has to be made.

    Parameters
    ----------
    limits : Limits
        `max_seconds` and `max_memory` of a step.
    verdicts : Verdicts
        Where the refusal is noted.
    key : bytes
        Of the request, there.
    """

    def __init__(self, limits: Limits, verdicts: Verdicts, key: bytes) -> None:
        self._limits, self._verdicts, self._key = limits, verdicts, key
        self._spent = 0.0  # seconds

    def copy(self) -> Allowance:
        """Return one for a copy of the request, of which as much is spent."""
        copy = Allowance(self._limits, self._verdicts, self._key)
        copy._spent = self._spent
        return copy

    def run(self, work: Callable[[], Result], n_tokens: int) -> Result:
        """Return what a step returns, of a text that has so many tokens.

        Raises
        ------
        CfgGuideError
            Of the step; a :class:`LimitError` if it takes too much, or another one has.
        """
        verdict = self._verdicts.of(self._key)
        if isinstance(verdict, CfgGuideError):
            raise verdict
        most = self._limits.max_seconds
        left = _AT_ONCE * most + _A_TOKEN * n_tokens - self._spent
        is_last = left < most
        steps = Steps(self._limits, error=_StepError, what="a mask", way_out="simplify the request")
        steps.max_seconds = min(most, left)
        spent, started = self._spent, time.thread_time()
        try:
            with collector_off(), steps.begun():
                found = work()
        except _StepError as error:
            failed = error.args[0]
        else:
            failed = ""
        finally:
            self._spent = spent + time.thread_time() - started
        if self._spent - spent > steps.max_seconds:
            what = f"a text of {n_tokens} tokens" if is_last else "a mask"
            failed = takes_long(what, spent + left if is_last else most)
        if not failed:
            return found
        refusal = LimitError(failed)
        self._verdicts.note(self._key, refusal)
        raise refusal


class Finishing:
    """Leads one text to its end, as long as that costs little.

    Near the end, masks are those within the tokens left. What is near depends on the text: one that
    has opened twenty objects has to write what each of them requires. So the way out is looked at
    now and then, the sooner the fewer tokens there are beside it: with each token, it grows by
    those of a short text at most, mostly. Of a grammar with tables, where such masks take
    longer, they are not made before a way out takes almost all tokens; and if one takes too long,
    the text goes that way.

    Parameters
    ----------
    index : Index
        Of the grammar.
    limits : Limits
        `max_seconds` and `max_memory` of a step.
    """

    def __init__(self, index: Index, limits: Limits) -> None:
        limits = replace(limits, max_seconds=min(limits.max_seconds, _LED_SECONDS))
        self._steps = Steps(limits, error=_StepError, what="finishing a text")
        self._budget = TokenBudget.of(index)
        self._growth = max(1, len(self._budget.way_out(index.start) or ()))
        self._near = _NEAR + 2 * self._growth
        self._looks_at = sys.maxsize  # tokens that are left
        self._has_tables = index.machine.n_parse_states is not None
        #: The tokens of a text, and of a way out of it. Where drafts are taken back, other texts of
        #: the same length follow.
        self._led: tuple[int, ...] = ()

    def copy(self) -> Finishing:
        """Return one for a copy of the text."""
        copy = Finishing.__new__(Finishing)
        copy.__dict__.update(self.__dict__)
        return copy

    def bitmask(self, guide: Guide, n: int, *, trailing: bool) -> Int32Array | None:
        """Return the mask of what ends within `n` tokens; None where that is far, or not known."""
        if n > max(self._near, self._looks_at) or guide.is_finished:
            return None
        way_out = self._led[guide.n_tokens :]
        if way_out and guide.token_ids == self._led[: guide.n_tokens]:
            return bitmask_of(way_out[:1], guide.index.vocabulary.n_words)
        if n > self._near and self._is_far(guide, n):
            return None
        try:
            with collector_off(), self._steps.begun():
                if self._has_tables and self._budget.fits(guide.step, n - _RESERVE):
                    return None
                return guide.bitmask(within=n, trailing=trailing)
        except BudgetError:  # nothing ends in time, so the text will be cut
            return None
        except _StepError:
            found = self._budget.way_out(guide.step)
        if found is None or len(found) > n:
            return None
        self._led = (*guide.token_ids, *found)
        return bitmask_of(found[:1], guide.index.vocabulary.n_words)

    def _is_far(self, guide: Guide, n: int) -> bool:
        """Return whether the end is far off; note when that is to be asked again."""
        try:
            with collector_off(), self._steps.begun():
                found = self._budget.way_out(guide.step)
        except _StepError:
            self._looks_at = self._near
            return True
        room = n - self._near - len(found or ())
        self._looks_at = n - max(1, room // self._growth)
        return room > 0


class Matcher:
    r"""Follows one request.

    Not thread-safe: a request belongs to one thread at a time. Many matchers may share an index.

    Parameters
    ----------
    index : Index
        Of the grammar.
    stop_token_ids : iterable of int, optional
        Tokens that end the sentence, beside the vocabulary's EOS. Ids beyond the vocabulary are
        left out.
    trailing : bool
        Whether ignored text, such as white space, may stand behind a sentence where nothing else
        could follow.
    allowance : Allowance, optional
        What its steps may take; by default what those of the grammar may.
    max_tokens : int, optional
        After how many tokens the engine cuts the text, EOS included.
    finishing : Finishing, optional
        Leads the text to an end before that.

    Attributes
    ----------
    max_tokens : int or None
        As above; it may be set before the first token.
    n_waits : int
        Batches in a row that left its mask for later; see :func:`fill_bitmasks`.

    Examples
    --------
    >>> import cfgguide, numpy as np
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", b"\n", None], eos_token_ids=3)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "a" "b"*'), vocabulary)
    >>> matcher = Matcher(index, stop_token_ids=[2])
    >>> matcher.accept([0, 1]), matcher.accept([0]), matcher.validate([1, 1, 0])
    (True, False, [1, 1])
    >>> rows = np.zeros((1, 1), dtype=np.int32)
    >>> matcher.fill_bitmask(rows, 0)
    >>> [token_id for token_id in range(4) if rows[0, 0] >> token_id & 1]
    [1, 2, 3]
    >>> matcher.accept([2]), matcher.is_terminated
    (True, True)
    """

    def __init__(
        self,
        index: Index,
        *,
        stop_token_ids: Iterable[int] | None = (),
        trailing: bool = False,
        allowance: Allowance | None = None,
        max_tokens: int | None = None,
        finishing: Finishing | None = None,
    ) -> None:
        self.max_tokens, self._finishing = max_tokens, finishing
        self._is_trailing = trailing
        self._allowance = allowance
        vocabulary = index.vocabulary
        try:
            named = iter(() if stop_token_ids is None else stop_token_ids)
        except TypeError:
            said = f"stop_token_ids is {shown(stop_token_ids)}; it is a list of token ids"
            raise TokenRejectedError(said) from None
        stops = {as_token_id(token_id) for token_id in named}
        others = stops - set(vocabulary.eos_token_ids)
        self._guide = Guide(index)
        self._stops = stops | set(vocabulary.eos_token_ids)
        self._n_ended = 0  # tokens from the stop token on
        self.n_waits = 0
        self._ending = self._stops & vocabulary.symbol_ids  # special terminals: not left out
        others -= self._ending
        inside = sorted(each for each in others if 0 <= each < vocabulary.size)
        self._stop_bits = bitmask_of(inside, vocabulary.n_words) if inside else None
        eos = vocabulary.eos_token_ids[0]
        self._eos_word, self._eos_bit = eos >> 5, 1 << (eos & 31)

    def __repr__(self) -> str:
        return f"Matcher({self._guide!r}, is_terminated={self.is_terminated})"

    @property
    def index(self) -> Index:
        """The index of the grammar."""
        return self._guide.index

    @property
    def guide(self) -> Guide:
        """The guide of the text so far, without stop tokens."""
        return self._guide

    @property
    def n_tokens(self) -> int:
        """How many tokens were accepted, those from the stop token on included."""
        return self._guide.n_tokens + self._n_ended

    @property
    def is_terminated(self) -> bool:
        """Whether a stop token was accepted that ends a sentence."""
        if self._n_ended or not self._ending:
            return self._n_ended > 0
        return self._guide.last_token_id in self._ending and self._guide.is_accepting

    @property
    def is_ready(self) -> bool:
        """Whether the mask of the next token is known, so that it need not be made."""
        return self.is_terminated or self._guide.is_ready

    def accept(self, token_ids: Sequence[int]) -> bool:
        """Consume tokens, all or none; return whether all may come.

        Whatever comes after a stop token is accepted. -1 is padding, and not counted.
        """
        n_tokens, n_ended = self._guide.n_tokens, self._n_ended
        for token_id in token_ids:
            if not self._consume(token_id):
                self._go_back(n_tokens, n_ended)
                return False
        return True

    def _go_back(self, n_tokens: int, n_ended: int) -> None:
        self._guide.rollback(self._guide.n_tokens - n_tokens)
        self._n_ended = n_ended

    def _consume(self, token_id: int) -> bool:
        if type(token_id) is not int:
            token_id = as_token_id(token_id)
        if token_id == PADDING:
            return True
        guide = self._guide
        is_stop = token_id in self._stops and guide.is_accepting
        if is_stop or self._n_ended or (self._ending and self.is_terminated):
            self._n_ended += 1
            return True
        if self._allowance is not None:  # not by a call: a decode loop is here at every step
            step = guide.step
            is_end_known = self._is_trailing or step.is_at_end is not None
            if not is_end_known or step.after(token_id) is None:
                advance = partial(guide.try_advance, token_id, trailing=self._is_trailing)
                return self._allowance.run(advance, self.n_tokens)
        return guide.try_advance(token_id, trailing=self._is_trailing)

    def validate(self, token_ids: Sequence[int]) -> list[int]:
        """Return the first of some tokens that may come one after the other; none is consumed.

        Nothing may come after a stop token, and padding ends the tokens.
        """
        n_tokens, n_ended = self._guide.n_tokens, self._n_ended
        valid: list[int] = []
        try:
            for token_id in token_ids:
                is_over = self._n_ended or (self._ending and self.is_terminated)
                if is_over or token_id == PADDING or not self._consume(token_id):
                    break
                valid.append(token_id)
        finally:
            self._go_back(n_tokens, n_ended)
        return valid

    def rollback(self, n: int) -> None:
        """Take back the last `n` tokens.

        Raises
        ------
        RollbackError
            If `n` is negative or more than were accepted; nothing is taken back then.
        """
        if not 0 <= n <= self.n_tokens:
            raise RollbackError(f"cannot roll back {n} tokens: {self.n_tokens} were accepted")
        n_ended = min(n, self._n_ended)
        self._guide.rollback(n - n_ended)
        self._n_ended -= n_ended

    def reset(self) -> None:
        """Go back to before the first token."""
        self._guide = Guide(self.index)
        self._n_ended = 0

    def copy(self) -> Matcher:
        """Return an independent matcher in the same state."""
        copy = Matcher.__new__(Matcher)
        copy.__dict__.update(self.__dict__)
        copy._guide, copy.n_waits = self._guide.copy(), 0
        copy._allowance = None if self._allowance is None else self._allowance.copy()
        copy._finishing = None if self._finishing is None else self._finishing.copy()
        return copy

    def __copy__(self) -> Matcher:
        return self.copy()

    def __deepcopy__(self, _memo: object) -> Matcher:
        return self.copy()  # the index is shared: nothing of it changes what another one sees

    def fill_bitmask(self, bitmasks: Any, row: int) -> None:
        """Write the mask of the next token into a row.

        After a stop token, the stop tokens are in it, and nothing else; so where a text ends.

        Parameters
        ----------
        bitmasks : int32 array, shape (n_rows, n_words)
            A numpy array, or a torch tensor on the CPU, with as many words as the vocabulary needs
            or more. The layout is that of :meth:`Guide.fill_bitmask`.
        row : int
            The row.

        Raises
        ------
        BitmaskError
            If `bitmasks` has another dtype or shape, too few words, or no such row.
        """
        write_row(self.bitmask(), bitmasks, row)

    def bitmask(self) -> Int32Array:
        """Return the mask of the next token, to be read only; see :meth:`fill_bitmask`.

        Returns
        -------
        int32, shape (ceil(vocabulary size / 32),)
            Bit ``i % 32`` of word ``i // 32`` is set if token ``i`` may come.
        """
        stops = self._stop_bits
        if self._n_ended or (self._ending and self.is_terminated):
            bitmask = self.index.eos_bitmask
        elif (led := self._led()) is not None:
            bitmask = led
        else:
            allowance, step = self._allowance, self._guide.step
            is_end_known = self._is_trailing or step.is_at_end is not None
            if allowance is None or (is_end_known and step.subset is not None):
                bitmask = self._guide.bitmask(trailing=self._is_trailing)
            else:
                mask = partial(self._guide.bitmask, trailing=self._is_trailing)
                bitmask = allowance.run(mask, self.n_tokens)
        if stops is None:
            return bitmask
        if int(bitmask[self._eos_word]) & self._eos_bit:
            return bitmask | stops
        others = bitmask & ~stops  # the text may not end here
        return others if others.any() else bitmask

    def _led(self) -> Int32Array | None:
        """Return the mask that leads to an end in time, if the end is near."""
        if self.max_tokens is None or self._finishing is None:
            return None
        n_left = self.max_tokens - self._guide.n_tokens
        return self._finishing.bitmask(self._guide, n_left, trailing=self._is_trailing)

    def forced_token_ids(self, tokenizer: object) -> tuple[int, ...]:
        """Return the tokens that have to come; see :meth:`Guide.forced_token_ids`."""
        if self.is_terminated:
            return ()
        if self._allowance is None:
            return self._guide.forced_token_ids(tokenizer)
        step = partial(self._guide.forced_token_ids, tokenizer)
        return self._allowance.run(step, self.n_tokens)


@overload
def fill_bitmasks(matchers: Sequence[Matcher | None], bitmasks: Any) -> None: ...


@overload
def fill_bitmasks(
    matchers: Sequence[Matcher | None], bitmasks: Any, *, max_new_masks: int
) -> list[int]: ...


def fill_bitmasks(
    matchers: Sequence[Matcher | None], bitmasks: Any, *, max_new_masks: int | None = None
) -> list[int] | None:
    """Write the masks of many requests into rows, in one copy that lets other threads run.

    Parameters
    ----------
    matchers : sequence of Matcher or None
        One for each row; None for a row without a grammar, where everything is allowed.
    bitmasks : int32 array, shape (n_matchers, n_words)
        As for :meth:`Matcher.fill_bitmask`.
    max_new_masks : int, optional
        Most masks to make in this call, as for :func:`cfgguide.fill_bitmasks`: rows whose masks are
        left for later are zeroed and returned. By default all are made.

    Returns
    -------
    list of int, or None
        With `max_new_masks`, the rows that are not ready, ascending.

    Raises
    ------
    BitmaskError
        If `bitmasks` has another dtype or shape, or too few words; nothing is written then. Or if
        `max_new_masks` is no number from 0 on.

    Examples
    --------
    >>> import cfgguide, numpy as np
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "a" "b"'), vocabulary)
    >>> rows = np.zeros((2, 1), dtype=np.int32)
    >>> fill_bitmasks([Matcher(index), None], rows)
    >>> rows.tolist()
    [[1], [-1]]
    """
    if max_new_masks is not None:
        return write_ready_rows(matchers, bitmasks, max_new_masks)
    masks = [EVERYTHING if matcher is None else matcher.bitmask() for matcher in matchers]
    write_rows(masks, bitmasks)
    return None
