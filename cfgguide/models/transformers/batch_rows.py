"""Where each row of a batch is in its grammar, according to the ids that it has generated.

In: the rows of one call of ``generate``, step by step: beams may have been reordered, drafts
rejected, and rows that have ended still come. Out: a step node of an index for each row. It is
looked up by what the row has written, in a table from generated ids to step nodes; usually only the
last token is new. What is not in the table is read again, so a step node depends only on the
grammar and the generated ids.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.engine.index.index import Index
from cfgguide.engine.index.memo import Step
from cfgguide.engine.masks.subset import Int32Array, is_in_bitmask
from cfgguide.errors import BudgetError, BudgetWarning, GenerationError
from cfgguide.guide.budget import TokenBudget, allowed_within
from cfgguide.guide.repetition import Float64Array, Loop, Loops, Repetition, Written

_MAX_STEPS = 256  # of each row that are remembered
RESERVE = 64  # tokens by which one token is not known to lengthen what finishes a sentence

Ids = tuple[int, ...]
IdArray = npt.NDArray[np.int64]


class GeneratedRows:
    """The rows of one call of ``generate``.

    Parameters
    ----------
    indexes : sequence of Index
        One for all rows, or one for each prompt; then the rows of a prompt (its beams, or its
        texts) follow each other.
    prompts : int64, shape (n_rows, prompt_length)
        How the rows begin, padding included.
    max_new_tokens : int, optional
        Maximum number of tokens after the prompt within which a sentence is finished, EOS included.
    is_exact : bool
        Whether the masks are within that from the first token on. If not, only when few tokens are
        left beyond those that finish the sentence, since earlier masks cost more so.
    trailing : bool
        Whether ignored text may stand behind a sentence where nothing else could follow.
    repetition : Repetition, optional
        What is done about text that repeats itself.

    Raises
    ------
    GenerationError
        If the rows cannot be shared out among the indexes.
    """

    def __init__(
        self,
        indexes: Sequence[Index],
        prompts: IdArray,
        max_new_tokens: int | None = None,
        *,
        is_exact: bool = True,
        trailing: bool = False,
        repetition: Repetition | None = None,
    ) -> None:
        self._indexes = indexes
        self._loops = [Loops(index, repetition) if repetition else None for index in indexes]
        self._written: list[dict[Ids, Written]] = [{} for _ in indexes]
        self._max_new_tokens = max_new_tokens
        self._is_exact = is_exact
        self._is_trailing = trailing
        self._prompts = prompts.copy()
        # For each index: from generated ids to where they lead, or None if the row has ended.
        self._states: list[dict[Ids, Step | None]] = [{} for _ in indexes]
        self._is_cut = False
        self._index_of = self._shared_out()  # for each row, the number of its index
        self._indexes_of: dict[Ids, set[int]] = {}  # for each prompt
        for prompt, number in zip(_rows_of(prompts), self._index_of, strict=True):
            self._indexes_of.setdefault(prompt, set()).add(number)

    def _shared_out(self) -> list[int]:
        n_rows, n_indexes = len(self._prompts), len(self._indexes)
        if n_rows % n_indexes:
            raise GenerationError(
                f"{n_rows} rows cannot be shared out among {n_indexes} indexes; "
                "give one index for each prompt of the batch, or one for all"
            )
        n_each = n_rows // n_indexes
        index_of = [row // n_each for row in range(n_rows)]
        for row, number in enumerate(index_of if n_indexes > 1 else []):
            first = number * n_each
            if not np.array_equal(self._prompts[row], self._prompts[first]):
                raise GenerationError(
                    f"rows {first} and {row} have one index and different prompts: "
                    f"{n_rows} rows, {n_indexes} indexes; "
                    "give one index for each prompt of the batch, or one for all"
                )
        return index_of

    def begin_alike(self, ids: IdArray) -> bool:
        """Return whether rows begin with the prompts, and it is clear which index each has.

        Rows may be missing if each prompt has one index. And a row may have another row's prompt:
        diverse beam search copies the first row over those of a prompt that is done.

        Parameters
        ----------
        ids : int64, shape (n_rows, length)
            Prompt and generated ids of each row.
        """
        return self._numbers(ids) is not None

    def _numbers(self, ids: IdArray) -> list[int] | None:
        """Return the number of each row's index, or None if it is not clear."""
        prompts = ids[:, : self._prompts.shape[1]]
        if np.array_equal(prompts, self._prompts):
            return self._index_of
        possible = [self._indexes_of.get(prompt, set()) for prompt in _rows_of(prompts)]
        is_whole = len(prompts) == len(self._prompts)
        if not all(numbers and (is_whole or len(numbers) == 1) for numbers in possible):
            return None
        if not is_whole:
            return [min(numbers) for numbers in possible]
        return [
            own if own in numbers else min(numbers)
            for own, numbers in zip(self._index_of, possible, strict=True)
        ]

    def _generated(self, ids: IdArray) -> list[Ids]:
        return _rows_of(ids[:, self._prompts.shape[1] :])

    def go_on(self, ids: IdArray) -> bool:
        """Return whether each row was seen before, or is such a row with one more token.

        False if all of the new tokens were ruled out: no model has written them.
        """
        if (numbers := self._numbers(ids)) is None:
            return False
        n_likely = 0
        for number, generated in zip(numbers, self._generated(ids), strict=True):
            states = self._states[number]
            if generated not in states:
                if not generated or generated[:-1] not in states:
                    return False
                before = states[generated[:-1]]
                if before is not None and not self._is_allowed(number, before, generated):
                    continue
            n_likely += 1
        return n_likely > 0

    def masks(self, ids: IdArray) -> list[Int32Array | None]:
        """Return the mask of each row; None if it has ended.

        The rows must :meth:`begin_alike`.

        A token that the mask forbids also ends a row: if fewer tokens are allowed than there are
        beams, beam search adds such rows, and later drops them for their score.

        Returns
        -------
        list of (int32, shape (ceil(vocabulary size / 32),))
            Bit ``i % 32`` of word ``i // 32`` is set if token ``i`` is allowed.

        Raises
        ------
        BudgetError
            If no sentence is known that a row can finish in time.
        """
        masks: list[Int32Array | None] = []
        for number, generated in zip(self._numbers(ids) or (), self._generated(ids), strict=True):
            step = self._step(number, generated)
            masks.append(None if step is None else self._mask(number, step, generated))
        for states, written in zip(self._states, self._written, strict=True):
            _forget(states, len(ids))
            _forget(written, len(ids))
        return masks

    def weighed(
        self, ids: IdArray, row: int, token_ids: IdArray, logits: Float64Array
    ) -> Float64Array:
        """Return the logits of a row's allowed tokens, less what free ones have lost.

        The rows are those that :meth:`masks` was asked for last.
        """
        number, generated = (self._numbers(ids) or ())[row], self._generated(ids)[row]
        loops, step = self._loops[number], self._states[number][generated]
        assert loops is not None, "there is something to weigh"
        assert step is not None, "the row goes on"
        return loops.weighed(self._text(number, generated), step, token_ids, logits)

    def loops_of(self, ids: IdArray) -> tuple[tuple[Loop, ...], ...]:
        """Return the loops that were closed in each row."""
        rows = zip(self._numbers(ids) or (), self._generated(ids), strict=True)
        return tuple(self._text(number, generated).loops for number, generated in rows)

    def _text(self, number: int, generated: Ids) -> Written:
        """Return what a row has written, up to where it ended."""
        loops, known = self._loops[number], self._written[number]
        n_known = len(generated)
        while n_known and generated[:n_known] not in known:
            n_known -= 1
        written = known.get(generated[:n_known], Written(b""))
        for n_read in range(n_known, len(generated)):
            before = self._step(number, generated[:n_read])
            if loops is None or before is None:
                break
            if not self._is_allowed(number, before, generated[: n_read + 1]):
                break
            token_id = generated[n_read]
            piece = self._indexes[number].vocabulary.tokens[token_id] or b""
            written = loops.after(written, before, token_id, piece)
            known[generated[: n_read + 1]] = written
        return written

    def _step(self, number: int, generated: Ids) -> Step | None:
        index, states = self._indexes[number], self._states[number]
        known = len(generated)
        while known and generated[:known] not in states:
            known -= 1
        step = states[generated[:known]] if known else index.start
        for n_read in range(known + 1, len(generated) + 1):
            if step is None:
                break
            token_id = generated[n_read - 1]
            if not self._is_allowed(number, step, generated[:n_read]):
                step = None
                break
            following = index.advance(step, token_id)
            step = None if following.is_end else following
        states[generated] = step
        return step

    def _is_allowed(self, number: int, before: Step, generated: Ids) -> bool:
        return is_in_bitmask(generated[-1], self._mask(number, before, generated[:-1]))

    def _mask(self, number: int, step: Step, generated: Ids) -> Int32Array:
        mask, loops = self._grammars_mask(number, step, generated), self._loops[number]
        if loops is None:
            return mask
        return loops.narrowed(self._text(number, generated), step, mask)

    def _grammars_mask(self, number: int, step: Step, generated: Ids) -> Int32Array:
        index = self._indexes[number]
        if not self._is_trailing and index.is_at_end(step):
            return index.eos_bitmask
        if self._max_new_tokens is None:
            return index.allowed(step).bitmask
        n_left = self._max_new_tokens - len(generated)
        if not self._is_exact and TokenBudget.of(index).fits(step, n_left - RESERVE):
            return index.allowed(step).bitmask
        try:
            return allowed_within(index, step, n_left)
        except BudgetError as error:
            if self._is_exact:
                raise
            self._say_cut(error)
            return index.allowed(step).bitmask

    def _say_cut(self, error: BudgetError) -> None:
        if not self._is_cut:
            warnings.warn(
                f"a text will be cut before its end: {error}", BudgetWarning, stacklevel=2
            )
        self._is_cut = True


def _rows_of(ids: IdArray) -> list[Ids]:
    return [tuple(row) for row in ids.tolist()]


def _forget(known: dict[Ids, Any], n_rows: int) -> None:
    """Forget the oldest rows, but none to which a rejected draft may return."""
    while len(known) > _MAX_STEPS * n_rows:
        del known[next(iter(known))]
