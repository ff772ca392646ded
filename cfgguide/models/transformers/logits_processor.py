"""A logits processor for transformers' ``generate``.

In: an :class:`~cfgguide.engine.index.index.Index`, or one for each prompt; at each step the ids and
the logits of all rows. Out: the logits with minus infinity for every token that the grammar does
not allow.

transformers gives a processor only the ids. Where a row is in its grammar follows from what it has
generated (:mod:`cfgguide.models.transformers.batch_rows`), once it is known where the prompt
ends: at the first step of a call of ``generate``
(:mod:`cfgguide.models.transformers.generate_calls`).
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cfgguide.base.locks import new_lock
from cfgguide.engine.index.index import Index
from cfgguide.engine.masks.rows import copy_rows
from cfgguide.engine.masks.subset import token_ids_in
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import GenerationError
from cfgguide.guide.budget import TokenBudget, check_finish, check_max_new_tokens
from cfgguide.guide.repetition import Loop, Repetition
from cfgguide.models.bitmask import apply_last, check_columns
from cfgguide.models.transformers.batch_rows import GeneratedRows, IdArray
from cfgguide.models.transformers.generate_calls import calling_list, is_draft, max_length
from cfgguide.shared_indexes import shared_index

if TYPE_CHECKING:
    import torch

#: From the id() of a list of processors to that list and the rows of its call.
_Calls = dict[int, tuple["weakref.ref[list[object]]", GeneratedRows]]


class LogitsProcessor:
    """Masks logits so that every row writes a sentence of the grammar.

    The sentence begins where the prompt ends. One object serves any number of calls of
    ``generate``, one after another or from several threads; transformers' list of processors tells
    them apart.

    Without such a list, as in a loop of your own, a call counts as the next step if each of its
    rows was seen before, or is such a row with one more token that was not ruled out; otherwise its
    rows are new prompts. If a new prompt happens to look like a next step, call :meth:`reset`
    before it.

    Parameters
    ----------
    index : Index, or what it is of; or a sequence of Index
        What may be written: one for all rows, or one for each prompt of the batch. transformers
        keeps the rows of a prompt, its beams or its ``num_return_sequences``, side by side. With a
        tokenizer also a grammar, a type, a schema, ..., as
        :func:`cfgguide.output_types.output_type` takes them.
    tokenizer : Vocabulary, or a tokenizer; optional
        The model's, unless there is an index.
    prompt_length : int, optional
        How many ids of each row are the prompt, padding included. By default the length of the
        rows at the first step of a ``generate``. Give it to go on with a sentence that was begun.
    max_new_tokens : int, optional
        Maximum number of tokens after the prompt within which each row finishes its sentence, EOS
        included: a token is allowed only if a sentence still fits after it. By default what
        ``generate`` was called with. Then masks leave out what does not fit only when few tokens
        are left, which costs less; should a text have to be cut all the same, a `BudgetWarning`
        says so.
    finish : bool
        Whether to finish sentences in time at all. If not, texts are cut where ``generate`` stops.
    trailing : bool
        Whether ignored text, such as white space, may stand behind a sentence where nothing else
        could follow. If not, only EOS may.
    repetition : bool or Repetition
        What is done about text that repeats itself in strings, numbers, comments, names and arrays
        (:class:`cfgguide.Repetition`); True closes loops.

    Attributes
    ----------
    notes : tuple of (tuple of Loop)
        The loops that were closed in each row of the last step.

    Raises
    ------
    GenerationError
        If there is no index, the indexes are for different vocabularies, `prompt_length` is
        negative, or `max_new_tokens` not positive.
    BudgetError
        If no sentence can be finished within `max_new_tokens`; if that comes from ``generate``, at
        its first step.

    Examples
    --------
    >>> import torch, cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
    >>> process = LogitsProcessor(cfgguide.compile(cfgguide.Grammar('start: "ab"'), vocabulary))
    >>> process(torch.tensor([[1, 1]]), torch.zeros(1, 3)).tolist()
    [[0.0, -inf, -inf]]
    >>> process(torch.tensor([[1, 1, 0]]), torch.zeros(1, 3)).tolist()
    [[-inf, 0.0, -inf]]
    """

    def __init__(
        self,
        index: object,
        tokenizer: object = None,
        *,
        prompt_length: int | None = None,
        max_new_tokens: int | None = None,
        finish: bool = True,
        trailing: bool = False,
        repetition: bool | Repetition = False,
    ) -> None:
        check_finish(finish)
        self._repetition = Repetition.of(repetition)
        self._indexes = _indexes(index, tokenizer)
        self._given_prompt_length = prompt_length
        self._max_new_tokens = max_new_tokens
        self._is_finishing = finish
        self._is_trailing = trailing
        self._vocabulary = _common_vocabulary(self._indexes)
        if prompt_length is not None and prompt_length < 0:
            raise GenerationError(f"prompt_length is {prompt_length}; it is 0 or more")
        if max_new_tokens is not None:
            check_max_new_tokens(max_new_tokens)
            for one in self._indexes if not prompt_length else ():
                TokenBudget.of(one).check(one.start, max_new_tokens)
        self._lock = new_lock()
        self.reset()

    def __reduce__(self) -> tuple[Any, ...]:
        """For `copy` and `pickle`: one that has seen no rows."""
        again = partial(
            LogitsProcessor,
            prompt_length=self._given_prompt_length,
            max_new_tokens=self._max_new_tokens,
            finish=self._is_finishing,
            trailing=self._is_trailing,
            repetition=self._repetition or False,
        )
        return again, (self._indexes,)

    def reset(self) -> None:
        """Forget the rows seen so far: the next call begins new texts."""
        self.notes: tuple[tuple[Loop, ...], ...] = ()
        self._rows: GeneratedRows | None = None  # of calls without a list of processors
        self._calls: _Calls = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores with minus infinity for the tokens that are not allowed.

        Parameters
        ----------
        input_ids : int64, shape (n_rows, length)
            Prompt and generated ids of each row, on any device.
        scores : floating, shape (n_rows, n_columns)
            Logits of the next token, on any device; columns beyond the vocabulary are never
            allowed.

        Returns
        -------
        torch.Tensor
            A new tensor like `scores`.

        Raises
        ------
        ModelError
            If the model has fewer columns than the vocabulary has ids. An assistant model may have
            fewer: its drafts are not masked then, but the model's judgement of them is.
        GenerationError
            If the shapes are others; if something else has already ruled out everything that the
            grammar allows in a row; if the rows cannot be shared out among the indexes, are shorter
            than `prompt_length`, or do not begin with the prompts of their call of ``generate``.
        BudgetError
            If no sentence is known that a row can finish within `max_new_tokens`.
        """
        import torch

        n_columns = scores.shape[-1]
        if n_columns < self._vocabulary.size and is_draft():
            return scores  # by an assistant with another tokenizer; masked when it is judged
        check_columns(n_columns, self._vocabulary.size)
        if input_ids.ndim != 2 or scores.ndim != 2 or len(input_ids) != len(scores):
            raise GenerationError(
                f"ids have the shape (rows, length) and scores (rows, columns), not "
                f"{tuple(input_ids.shape)} and {tuple(scores.shape)}; "
                "for one text, add an axis: ids[None]"
            )
        ids: IdArray = input_ids.numpy(force=True)
        rows = self._rows_of(ids)
        bitmask = np.empty((len(ids), self._vocabulary.n_words), dtype=np.int32)
        masks = rows.masks(ids)
        has_ended = np.array([mask is None for mask in masks])
        only_eos = self._indexes[0].eos_bitmask
        copy_rows([only_eos if mask is None else mask for mask in masks], bitmask)
        masked = scores.clone(memory_format=torch.contiguous_format)
        apply_last(masked, bitmask, has_ended=has_ended)
        if self._repetition is not None:
            self.notes = rows.loops_of(ids)
            for row in np.flatnonzero(~has_ended) if self._repetition.weighs else ():
                token_ids = token_ids_in(bitmask[row])
                allowed = torch.from_numpy(token_ids).to(masked.device)
                logits = masked[row, allowed].double().numpy(force=True)
                weighed = torch.from_numpy(rows.weighed(ids, int(row), token_ids, logits))
                masked[row, allowed] = weighed.to(masked)
        return masked

    def _rows_of(self, ids: IdArray) -> GeneratedRows:
        """Return the rows of the call of ``generate`` that this is a step of."""
        caller = calling_list()
        if caller is None:
            if self._rows is None or not self._rows.go_on(ids):
                self._rows = self._begun(ids)
            return self._rows
        reference, rows = self._calls.get(id(caller), (None, None))
        if reference is None or rows is None or reference() is not caller:
            rows = self._rows_of_outer_call(ids) or self._begun(ids)
            with self._lock:  # replaced, not changed: another thread may be reading it
                going_on = {key: call for key, call in self._calls.items() if call[0]() is not None}
                self._calls = going_on | {id(caller): (weakref.ref(caller), rows)}
        elif not rows.begin_alike(ids):
            raise GenerationError(
                "the rows do not begin with the prompts of the first step, and one list of "
                "processors is for one generate; make a new list, or call reset() in between"
            )
        return rows

    def _rows_of_outer_call(self, ids: IdArray) -> GeneratedRows | None:
        """Return the rows that an assistant model drafts for, if this is a draft.

        The assistant begins each draft with its own ``generate``, whose prompt is the text so far.
        """
        for reference, rows in self._calls.values():
            outer = reference()
            if outer is not None and len(ids) == 1 and rows.go_on(ids) and is_draft(outer):
                return rows
        return None

    def _begun(self, ids: IdArray) -> GeneratedRows:
        """Return new rows, at the first step of a call of ``generate``."""
        length = ids.shape[1] if self._given_prompt_length is None else self._given_prompt_length
        if length > ids.shape[1]:
            raise GenerationError(
                f"prompt_length is {length}, but the rows have only {ids.shape[1]} ids"
            )
        n = self._max_new_tokens if self._is_finishing else None
        is_exact = n is not None
        most = max_length() if self._is_finishing and not is_exact else None
        if most is not None and most > length:
            n = most - length
            for one in self._indexes if length == ids.shape[1] else ():
                TokenBudget.of(one).check(one.start, n)
        return GeneratedRows(
            self._indexes, ids[:, :length], n, is_exact=is_exact, trailing=self._is_trailing,
            repetition=self._repetition,
        )  # fmt: skip


def _indexes(index: object, tokenizer: object) -> tuple[Index, ...]:
    if isinstance(index, list | tuple) and all(isinstance(each, Index) for each in index):
        return tuple(index)
    return (shared_index(index, tokenizer, is_written=True),)


def _common_vocabulary(indexes: Sequence[Index]) -> Vocabulary:
    if not indexes:
        raise GenerationError("there is no index; give one, or one for each prompt of the batch")
    for number, index in enumerate(indexes):
        if index.vocabulary.digest != indexes[0].vocabulary.digest:
            raise GenerationError(
                f"index {number} is for another vocabulary than index 0; "
                "make all of them for the tokenizer of the model"
            )
    return indexes[0].vocabulary
