"""A logits processor for transformers' ``generate``.

In: an :class:`~cfgguide.index.Index`; at each step the ids and the logits of all rows. Out: the
logits with minus infinity for every token that the grammar does not allow.

transformers tells a processor nothing but the ids: beams are reordered between two calls, and
finished rows keep coming. So the state of a row is found by what the row has written: a table from
generated ids to visits of the index, from which only the last token is new in the usual case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cfgguide.errors import GenerationError, ModelError
from cfgguide.index import Index
from cfgguide.masking import apply_bitmask, open_rows
from cfgguide.visits import Visit

if TYPE_CHECKING:
    import torch

_KEPT_STEPS = 256  # steps of each row that are remembered

Ids = tuple[int, ...]


class LogitsProcessor:
    """Masks logits so that every row writes a sentence of the grammar.

    One object serves one call of ``generate`` after another. A call is taken for a new one unless
    each of its rows was seen before, or is such a row and one token more; so where a prompt is just
    that, say :meth:`reset` before the call.

    Parameters
    ----------
    index : Index
        What may be written.
    prompt_length : int, optional
        How many ids of each row are the prompt, padding included. By default the length of the
        rows at the first call of a ``generate``.

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

    def __init__(self, index: Index, *, prompt_length: int | None = None) -> None:
        self._index = index
        self._given_prompt_length = prompt_length
        eos = np.zeros(32 * index.vocabulary.n_words, dtype=np.bool_)
        eos[list(index.vocabulary.eos_token_ids)] = True
        self._only_eos = np.packbits(eos, bitorder="little").view(np.int32)
        self.reset()

    def reset(self) -> None:
        """Forget the rows seen so far: the next call starts a new ``generate``."""
        self._prompt_length: int | None = None
        self._prompts: set[Ids] = set()
        # After each row's generated ids: where it is, or None where it has ended.
        self._states: dict[Ids, Visit | None] = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores with minus infinity for the tokens that are not allowed.

        Parameters
        ----------
        input_ids : int64, shape (n_rows, length)
            Prompt and generated ids of each row.
        scores : floating, shape (n_rows, n_columns)
            Logits of the next token; columns beyond the vocabulary are never allowed.

        Returns
        -------
        torch.Tensor
            A new tensor like `scores`.

        Raises
        ------
        ModelError
            If the model has fewer columns than the vocabulary has ids.
        GenerationError
            If something else has already ruled out all that the grammar allows in a row.
        """
        import torch

        n_columns = scores.shape[-1]
        if n_columns < self._index.vocabulary.size:
            raise ModelError(
                f"the model's logits have {n_columns} columns, the vocabulary "
                f"{self._index.vocabulary.size} ids: the tokenizer is of another model"
            )
        rows: list[Ids] = [tuple(row) for row in input_ids.tolist()]
        if self._prompt_length is None or not all(self._is_continued(row) for row in rows):
            self.reset()
            self._prompt_length = (
                len(rows[0]) if self._given_prompt_length is None else self._given_prompt_length
            )
            self._prompts = {row[: self._prompt_length] for row in rows}
        bitmask = np.empty((len(rows), self._index.vocabulary.n_words), dtype=np.int32)
        has_ended = np.zeros(len(rows), dtype=np.bool_)
        for number, row in enumerate(rows):
            generated = row[self._prompt_length :]
            visit = self._states[generated] = self._visit(generated)
            has_ended[number] = visit is None
            bitmask[number] = (
                self._only_eos if visit is None else self._index.allowed(visit).bitmask
            )
        masked = scores.clone(memory_format=torch.contiguous_format)
        apply_bitmask(masked, bitmask)
        is_ruled_out = ~(open_rows(masked, bitmask) | has_ended)
        if is_ruled_out.any():
            raise GenerationError(
                f"row {is_ruled_out.argmax()}: every token that the grammar allows was ruled out "
                "before, by another logits processor or setting (suppress_tokens, "
                "min_new_tokens, ...); leave that out"
            )
        self._forget(len(rows))
        return masked

    def _is_continued(self, row: Ids) -> bool:
        """Return whether a row is one seen before, or that with one more token."""
        if self._given_prompt_length is not None:
            return True
        generated = row[self._prompt_length :]
        return row[: self._prompt_length] in self._prompts and (
            generated in self._states or (generated != () and generated[:-1] in self._states)
        )

    def _visit(self, generated: Ids) -> Visit | None:
        """Return the visit after a row's ids, or None if the row has ended.

        A token that the mask forbids ends a row too: beam search fills up with such rows where
        fewer tokens are allowed than it has beams, and drops them for their score.
        """
        known = len(generated)
        while known and generated[:known] not in self._states:
            known -= 1
        visit = self._states[generated[:known]] if known else self._index.start
        for token_id in generated[known:]:
            if visit is None or token_id not in self._index.allowed(visit):
                return None
            if token_id in self._index.vocabulary.eos_token_ids:
                return None
            visit = self._index.advance(visit, token_id)
        return visit

    def _forget(self, n_rows: int) -> None:
        """Forget the oldest rows, but none that a rejected draft may go back to."""
        while len(self._states) > _KEPT_STEPS * n_rows:
            del self._states[next(iter(self._states))]
