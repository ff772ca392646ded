"""Language models that any machine can make: a real class of transformers with random weights.

Such a model has arbitrary opinions about the next token and gives them in a millisecond, which is
what a mask must withstand. Nothing is downloaded.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from support.small_tokenizers import END_OF_TEXT, standard_library_tokenizer

#: The id of EOS, and of padding, in everything that this module makes.
EOS = 0
N_SMALL = 400


@functools.cache
def random_model(
    n_columns: int, *, seed: int = 0, dtype: torch.dtype = torch.float32
) -> LlamaForCausalLM:
    """A Llama of one layer whose logits spread over about 10 units; do not change it."""
    return fresh_random_model(n_columns, seed=seed, dtype=dtype)


def fresh_random_model(
    n_columns: int, *, seed: int = 0, dtype: torch.dtype = torch.float32, n_layers: int = 1
) -> LlamaForCausalLM:
    """A model of its own, for a test that changes it or wants more layers."""
    model = untrained(
        LlamaForCausalLM, seed, vocab_size=n_columns, hidden_size=32, intermediate_size=64,
        num_hidden_layers=n_layers, num_attention_heads=2, num_key_value_heads=2,
        max_position_embeddings=1024, initializer_range=0.4, bos_token_id=None, pad_token_id=EOS,
    )  # fmt: skip
    return model.to(dtype)


def untrained(model_class: Any, seed: int, **configuration: Any) -> Any:
    """A model of a class of transformers with random weights."""
    config = model_class.config_class(eos_token_id=EOS, **configuration)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return model_class(config).eval()


def vocabulary_of(pieces: Sequence[str | bytes]) -> Vocabulary:
    """EOS as id 0, every single byte as ids 1 to 256, then the pieces."""
    tokens: list[bytes | None] = [None, *Vocabulary.of_bytes().tokens[:256]]
    tokens += [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    return Vocabulary(tokens, eos_token_ids=EOS)


def short_vocabulary_of(pieces: Sequence[str | bytes]) -> Vocabulary:
    """EOS as id 0 and then the pieces, nothing else: a text soon comes to its end."""
    tokens = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    return Vocabulary([None, *tokens], eos_token_ids=EOS)


def small_tokenizer() -> PreTrainedTokenizerFast:
    """The first 400 tokens of the standard library's: EOS, all bytes, and the commonest merges."""
    trained = json.loads(standard_library_tokenizer().to_str())
    model = trained["model"]
    model["vocab"] = {token: index for token, index in model["vocab"].items() if index < N_SMALL}
    model["merges"] = [pair for pair in model["merges"] if "".join(pair) in model["vocab"]]
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(trained)), eos_token=END_OF_TEXT
    )
