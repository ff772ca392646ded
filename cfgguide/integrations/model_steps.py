"""A model of transformers, asked step by step.

In: the tokens of a prompt, then those that were written. Out: the logits of the next one. What the
model computed of the tokens before is kept, so several tokens at once cost about as much as one.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


class ModelSteps:
    """Asks a model for the next token of one text.

    Parameters
    ----------
    model : PreTrainedModel
        A causal language model.

    Attributes
    ----------
    n_calls : int
        How often it was asked.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        from transformers import DynamicCache

        make: Any = DynamicCache
        self._model: Any = model
        self._cache = make(config=model.config)
        self._n_tokens = 0
        parameters = inspect.signature(model.forward).parameters
        #: Of the prompt only the last logits are wanted, where the model can be told so.
        self._options = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}
        self.n_calls = 0

    def logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        """Return the logits after some more tokens.

        Parameters
        ----------
        token_ids : sequence of int
            The tokens since the last call, at least one.

        Returns
        -------
        float32, shape (n_columns,)
            A new tensor on the model's device.
        """
        import torch

        self._n_tokens += len(token_ids)
        self.n_calls += 1
        device = self._model.device
        with torch.no_grad():
            out = self._model(
                input_ids=torch.tensor([list(token_ids)], dtype=torch.long, device=device),
                attention_mask=torch.ones(1, self._n_tokens, dtype=torch.long, device=device),
                past_key_values=self._cache,
                use_cache=True,
                **self._options,
            )
        logits: torch.Tensor = out.logits[0, -1].to(torch.float32, copy=True)
        return logits
