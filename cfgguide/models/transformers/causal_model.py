"""A causal model of transformers as a function from token ids to logits.

In: a model, and at each step whole sequences. Out: their logits. What the model computed of the
last call's sequences is kept, so only new tokens run through it: the prompt once for all samples,
and any number of new tokens at once.

:class:`SingleText` follows one text that only grows. It uses the model's own cache, so a model may
forget keys that its attention windows have passed, or keep a recurrent state.
:class:`TransformersModel` follows many sequences, which may part, be dropped and go back. For that
it needs all keys and values: ::

    call 1   [p1 p2 p3]                       runs p1 p2 p3
    call 2   [p1 p2 p3 a] [p1 p2 p3 b]        copies the row, runs a and b
    call 3   [p1 p2 p3 b c d] [p1 p2 p3 b e]  copies b's row twice, runs c d and (gap) e

The rows of a batch have one width. Where a row has fewer new tokens, or has to forget some, it gets
a gap that attention skips; position numbers count the tokens without gaps. Columns at the end that
are gaps in all rows are cut off. When most of the columns have become gaps, everything runs again.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cfgguide.automata.shared_prefixes import n_shared_letters
from cfgguide.errors import ModelError
from cfgguide.models.decoding.model import Ids

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_MAX_GAPS = 256  # columns beyond twice the longest row, before everything runs again

_Flags = npt.NDArray[np.bool_]


class SingleText:
    """A causal model of transformers, for one text that grows.

    Parameters
    ----------
    model : PreTrainedModel
        Loaded as usual, on any device.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        from transformers import DynamicCache

        make: Any = DynamicCache
        self._model: Any = model
        self._takes = set(inspect.signature(model.forward).parameters)
        self._cache = make(config=model.config)
        self._n_tokens = 0

    def __call__(self, token_ids: Ids, /) -> npt.NDArray[np.float32]:
        """Return the logits of the token that follows; shape (n_columns,).

        Parameters
        ----------
        token_ids : sequence of int
            The whole text: that of the last call, and at least one more token.
        """
        import torch

        new = list(token_ids[self._n_tokens :])
        assert new, "the text has grown since the last call"
        self._n_tokens = len(token_ids)
        device = self._model.device
        given = {
            "input_ids": torch.tensor([new], dtype=torch.long, device=device),
            "attention_mask": torch.ones(1, self._n_tokens, dtype=torch.long, device=device),
            "past_key_values": self._cache,
        }
        row: npt.NDArray[np.float32] = _last_logits(self._model, self._takes, given)[0]
        return row


class TransformersModel:
    """A causal model of transformers with attention, as :func:`cfgguide.sample` takes one.

    One object serves one caller at a time; it remembers the sequences of the last call.

    Parameters
    ----------
    model : PreTrainedModel
        Loaded as usual, on any device. Its state must be keys and values (`DynamicCache`), without
        recurrent layers.

    Attributes
    ----------
    n_tokens_run : int
        Number of tokens that ran through the model so far, over all sequences.

    Raises
    ------
    ModelError
        If it is not such a model.
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
        """Return for each sequence the kept row to continue, and how many tokens they share.

        The last token always runs, since its logits are not kept.
        """
        known = {row: number for number, row in enumerate(self._rows)}
        homes, shared = [], []
        for sequence in wanted:
            home, length = known.get(sequence[:-1], -1), len(sequence) - 1
            if home < 0:
                lengths = [n_shared_letters(row, sequence) for row in self._rows] or [0]
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
        }
        logits = _last_logits(self._model, self._takes, given)
        self._rows, self._is_token = wanted, is_token
        self.n_tokens_run += sum(map(len, new))
        return logits


def _last_logits(
    model: Any, parameters: set[str], given: dict[str, Any]
) -> npt.NDArray[np.float32]:
    """Return the logits after each row; shape (n_rows, n_columns).

    A model is given its position numbers, and told to keep the last logits only, where its
    `parameters` have that.
    """
    import torch

    given = {**given, "use_cache": True, "logits_to_keep": 1}
    optional = {"position_ids", "logits_to_keep"} - parameters
    with torch.no_grad():
        output = model(**{name: given[name] for name in given if name not in optional})
    logits: npt.NDArray[np.float32] = output.logits[:, -1].float().cpu().numpy()
    return logits
