"""A causal model of transformers as a function from token ids to logits.

In: a model, and at each step the sequences to go on with, whole. Out: their logits. The keys and
values of the last call's sequences are kept, so only the tokens that are new run through the model:
the prompt once for all samples, and any number of new tokens at once. ::

    call 1   [p1 p2 p3]                       runs p1 p2 p3
    call 2   [p1 p2 p3 a] [p1 p2 p3 b]        copies the row, runs a and b
    call 3   [p1 p2 p3 b c d] [p1 p2 p3 b e]  copies b's row twice, runs c d and (gap) e

Rows of a batch are of one width. Where one has fewer new tokens, or has to forget some, a gap is
left that attention passes over; position numbers are those of the tokens without gaps. Columns at
the end that are a gap in all rows are cut off, and where gaps have come to be most of it, all runs
anew.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cfgguide.decoding.model import Ids
from cfgguide.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_MAX_GAPS = 256  # columns beyond twice the longest row, before all runs anew

_Flags = npt.NDArray[np.bool_]


class TransformersModel:
    """A causal model of transformers with attention, as :func:`cfgguide.sample` takes one.

    One object serves one caller at a time; it remembers the sequences of the last call.

    Parameters
    ----------
    model : PreTrainedModel
        Loaded as usual, on any device. Its state is all keys and values (`DynamicCache`); recurrent
        ones are none such.

    Attributes
    ----------
    n_tokens_run : int
        Tokens that ran through the model so far, over all sequences.

    Raises
    ------
    ModelError
        If it is no such model.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        forward = getattr(model, "forward", None)
        if not callable(forward):
            raise ModelError(
                f"expected a causal model of transformers, found a {type(model).__name__}: load "
                "one with transformers.AutoModelForCausalLM.from_pretrained"
            )
        self._model: Any = model
        self._takes = set(inspect.signature(forward).parameters)
        if not {"past_key_values", "attention_mask"} <= self._takes:
            raise ModelError(
                f"a {type(model).__name__} keeps no keys and values (past_key_values): give a "
                "causal model with attention, or a function of your own"
            )
        self.n_tokens_run = 0
        self.forget()

    def forget(self) -> None:
        """Free the keys and values; the next call runs all of its tokens."""
        self._cache: Any = None
        self._rows: list[tuple[int, ...]] = []
        # bool, shape (n_rows, n_columns): which columns of a row's keys are tokens of it, and not
        # gaps; there are as many as the row has tokens, in their order.
        self._is_token: _Flags = np.zeros((0, 0), dtype=np.bool_)

    def __call__(self, token_ids: Ids, /) -> npt.NDArray[np.float32]:
        """Return the logits of the token that follows one sequence; shape (n_columns,)."""
        row: npt.NDArray[np.float32] = self.logits([token_ids])[0]
        return row

    def logits(self, sequences: Sequence[Ids], /) -> npt.NDArray[np.float32]:
        """Return the logits of the tokens that follow.

        Parameters
        ----------
        sequences : sequence of (sequence of int)
            Each whole, prompt included; at least one token each.

        Returns
        -------
        float32, shape (n_sequences, n_columns)
            A row for each.

        Raises
        ------
        ModelError
            If there is no sequence, or an empty one.
        """
        wanted = [tuple(map(int, token_ids)) for token_ids in sequences]
        if not wanted or not all(wanted):
            raise ModelError(
                "a model of transformers needs at least one sequence, and at least one token to "
                "start from: give the prompt as tokens, such as its BOS"
            )
        homes, shared = self._homes(wanted)
        n_columns = self._is_token.shape[1]
        if not any(shared) or n_columns > 2 * max(map(len, wanted)) + _MAX_GAPS:
            self.forget()
            shared = [0] * len(wanted)
        try:
            return self._run(wanted, homes, shared)
        except BaseException:
            self.forget()  # the cache may hold half of the new tokens
            raise

    def _homes(self, wanted: list[tuple[int, ...]]) -> tuple[list[int], list[int]]:
        """Return for each sequence the kept row to go on from, and how many tokens they share.

        The last token always runs, since its logits are not kept.
        """
        known = {row: number for number, row in enumerate(self._rows)}
        homes, shared = [], []
        for sequence in wanted:
            home, length = known.get(sequence[:-1], -1), len(sequence) - 1
            if home < 0:
                lengths = [_n_shared(row, sequence) for row in self._rows] or [0]
                home = int(np.argmax(lengths))
                length = min(lengths[home], length)
            homes.append(home)
            shared.append(length)
        return homes, shared

    def _run(
        self, wanted: list[tuple[int, ...]], homes: list[int], shared: list[int]
    ) -> npt.NDArray[np.float32]:
        import torch
        from transformers import DynamicCache

        device = self._model.device
        if self._cache is None:
            self._cache = DynamicCache()  # without the model's settings: every key is kept
            kept = np.zeros((len(wanted), 0), dtype=np.bool_)
        else:
            kept = self._is_token[homes]
            kept &= np.cumsum(kept, axis=1) <= np.array(shared)[:, None]
            n_used = int(np.flatnonzero(kept.any(axis=0))[-1]) + 1
            if homes != list(range(len(self._rows))):
                self._cache.reorder_cache(torch.tensor(homes, device=device))
            if n_used < kept.shape[1]:
                self._cache.crop(n_used - kept.shape[1])
                kept = kept[:, :n_used]
        new = [sequence[length:] for sequence, length in zip(wanted, shared, strict=True)]
        width = max(map(len, new))
        input_ids = np.zeros((len(new), width), dtype=np.int64)
        is_new = np.zeros((len(new), width), dtype=np.bool_)
        for number, token_ids in enumerate(new):
            input_ids[number, width - len(token_ids) :] = token_ids
            is_new[number, width - len(token_ids) :] = True
        is_token = np.concatenate([kept, is_new], axis=1)
        positions = np.maximum(np.cumsum(is_token, axis=1)[:, -width:] - 1, 0)
        given = {
            "input_ids": torch.from_numpy(input_ids).to(device),
            "attention_mask": torch.from_numpy(is_token.astype(np.int64)).to(device),
            "position_ids": torch.from_numpy(positions).to(device),
            "past_key_values": self._cache,
            "use_cache": True,
            "logits_to_keep": 1,
        }
        optional = {"position_ids", "logits_to_keep"} - self._takes
        with torch.inference_mode():
            found = self._model(**{name: given[name] for name in given if name not in optional})
            logits: npt.NDArray[np.float32] = found.logits[:, -1].float().cpu().numpy()
        self._rows, self._is_token = wanted, is_token
        self.n_tokens_run += sum(map(len, new))
        return logits


def _n_shared(row: tuple[int, ...], sequence: tuple[int, ...]) -> int:
    """Return how many tokens two sequences have in common from their start."""
    if sequence[: len(row)] == row:
        return len(row)
    pairs = enumerate(zip(row, sequence, strict=False))
    return next(
        (place for place, (of_row, token_id) in pairs if of_row != token_id),
        min(len(row), len(sequence)),
    )
