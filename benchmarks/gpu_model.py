"""A Llama with random weights that writes a token a row: what a forward pass costs, no download.

In: a size and a batch. Out: a :class:`Decoder`, whose forward pass reads a token for each row and
makes logits. The keys and values of the whole context lie in one static cache. A query attends to
all of it, also to what was not written yet, so that every step costs what a text of that length
costs, and no mask of positions is needed. The heads of a group share their keys: they are given as
queries of one head, and nothing is repeated in memory, as in the kernels of servers.

An eager step of a small model is mostly launches of kernels. So the step is captured once as a CUDA
graph, where that works.

Weights that are random prefer no token, and a text of tokens drawn evenly is nearly all words and
letters: a string that begins does not end. So the last layer has a bias by which tokens are as
frequent as in texts (Zipf's law), with low ids the most frequent, as tokenizers number them.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface, LlamaConfig, LlamaForCausalLM, StaticCache

_ATTENTION = "grouped_whole_cache"
_N_WARM_UP = 3
_ZIPF = 10  # a token's weight is 1 / (id + _ZIPF)
#: As Llama 3.2 and 3.1 have them, and what a processor can run.
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
    "135M": {
        "hidden_size": 576,
        "intermediate_size": 1536,
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "tie_word_embeddings": True,
    },
    "1B": {
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "tie_word_embeddings": True,
    },
    "8B": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    },
}


def random_model(size: str, n_columns: int, device: torch.device) -> Any:
    """Return a model of one of `SIZES` on the device: bfloat16, or float32 on the CPU."""
    AttentionInterface.register(_ATTENTION, _attend)
    config = LlamaConfig(
        vocab_size=n_columns,
        max_position_embeddings=8192,
        attn_implementation=_ATTENTION,
        **SIZES[size],
    )
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32 if device.type == "cpu" else torch.bfloat16)
    try:
        with device:
            model = LlamaForCausalLM(config).eval()
            bias = -torch.log(torch.arange(n_columns, dtype=torch.float32) + _ZIPF)
            model.lm_head.bias = torch.nn.Parameter(bias.to(model.dtype))
            return model
    finally:
        torch.set_default_dtype(before)


def _attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attend to the whole cache; query: shape (n_rows, n_heads, 1, head_dim)."""
    n_rows, n_heads, _one, width = query.shape
    grouped = query.reshape(n_rows, key.shape[1], -1, width)
    found = torch.nn.functional.scaled_dot_product_attention(grouped, key, value, scale=scaling)
    return found.reshape(n_rows, 1, n_heads, width), None


class Decoder:
    """The forward pass of a batch, a token for each row.

    Parameters
    ----------
    model : LlamaForCausalLM
        From :func:`random_model`.
    n_rows, n_context : int
        The size of the batch, and of the cache.

    Attributes
    ----------
    ids : int64, shape (n_rows, 1)
        What the next forward pass reads; on the device.
    logits : floating, shape (n_rows, n_columns)
        What the last one made; on the device, and free to be changed in place.
    how : str
        Whether the step is a CUDA graph, and if not, why not.
    """

    logits: torch.Tensor

    def __init__(self, model: Any, n_rows: int, n_context: int) -> None:
        self._model = model
        self._cache = StaticCache(config=model.config, max_cache_len=n_context)
        self.ids = torch.zeros((n_rows, 1), dtype=torch.int64, device=model.device)
        self.forward = self._eager
        self.how = "eager"
        self._eager()  # makes the cache
        if model.device.type == "cuda":
            try:
                self.forward = self._captured()
                self.how = "CUDA graph"
            except Exception as error:  # the eager step is slower, but is there
                self.how = f"eager: {type(error).__name__}: {error}"
        self.restart()

    def restart(self) -> None:
        """Forget all tokens, so that the same ones have the same logits again.

        At most as many forward passes may follow as the context has tokens.
        """
        self._cache.reset()
        self.ids.zero_()

    def _eager(self) -> None:
        found = self._model(input_ids=self.ids, past_key_values=self._cache, use_cache=True)
        self.logits = found.logits[:, -1]

    def _captured(self) -> Any:
        """Return what replays the captured step, which always writes to the same logits."""
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(_N_WARM_UP):
                self._eager()
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._eager()
        return graph.replay
