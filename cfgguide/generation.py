"""Generation: a model, a prompt and an index in; a sentence of the grammar out.

The loop is transformers' own ``generate``; this module sets it up so that nothing but the mask and
the temperature touches the model's distribution, streams the text, and says whether it is complete.
"""

from __future__ import annotations

import codecs
import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from cfgguide.errors import GenerationError
from cfgguide.index import Index
from cfgguide.logits_processor import LogitsProcessor

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Message = Mapping[str, str]  # "role" and "content", as in transformers' chat templates


@dataclass(frozen=True)
class Generation:
    """What a model wrote.

    Attributes
    ----------
    text : str
        The text, without the prompt. Where it was cut inside a character, that part is missing.
    token_ids : tuple of int
        Its tokens, EOS included if the model wrote one.
    is_complete : bool
        Whether the text is a sentence of the grammar that the model ended with EOS. If not, the
        tokens ran out, and the text is the start of a sentence.
    """

    text: str
    token_ids: tuple[int, ...]
    is_complete: bool


def generate(
    model: PreTrainedModel,
    prompt: str | Sequence[Message],
    *,
    tokenizer: PreTrainedTokenizerBase,
    index: Index,
    max_new_tokens: int,
    temperature: float = 0.0,
    seed: int | None = None,
    on_text: Callable[[str], None] | None = None,
    progress: bool | None = None,
) -> Generation:
    """Return what a model writes after a prompt, within a grammar.

    Parameters
    ----------
    model : PreTrainedModel
        A causal language model of transformers.
    prompt : str or sequence of messages
        A text to continue, or a chat, which goes through the tokenizer's chat template.
    tokenizer : PreTrainedTokenizerBase
        The model's tokenizer.
    index : Index
        Of the grammar and this tokenizer; see :func:`cfgguide.compile`.
    max_new_tokens : int
        Most tokens to write, EOS included; at least 1.
    temperature : float
        0 takes the most probable token at each step; otherwise tokens are sampled.
    seed : int, optional
        Makes sampling reproducible; the global random state stays as it was.
    on_text : callable, optional
        Called with each piece of text as it is written.
    progress : bool, optional
        Whether to show a bar of tokens; by default on a terminal, unless `on_text` is given.

    Returns
    -------
    Generation
        The text, and whether it is complete.

    Raises
    ------
    GenerationError
        If `max_new_tokens`, `temperature` or `seed` make no sense, or a chat has no template.
    ModelError
        If the model's logits do not fit the vocabulary.
    """
    import torch

    _check(max_new_tokens, temperature, seed)
    encoded = _encoded(prompt, tokenizer).to(model.device)
    length = int(encoded["input_ids"].shape[1])
    if progress is None:
        progress = on_text is None and sys.stderr.isatty()
    bar = tqdm(total=max_new_tokens, unit="token", disable=not progress, leave=False)
    stream = _Stream(index, on_text, bar)
    with bar, torch.random.fork_rng(devices=_cuda_devices(model), enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        write: Any = _without_own_settings(model).generate
        write(
            input_ids=encoded["input_ids"],
            attention_mask=encoded["attention_mask"],
            generation_config=_settings(index, max_new_tokens, temperature),
            logits_processor=[LogitsProcessor(index, prompt_length=length)],
            streamer=stream,
        )
    return stream.generation()


def _settings(index: Index, max_new_tokens: int, temperature: float) -> Any:
    """Return transformers' settings for greedy decoding, or for sampling from all tokens."""
    import transformers

    make: Any = transformers.GenerationConfig
    eos_token_ids = list(index.vocabulary.eos_token_ids)
    sampling = {"temperature": temperature, "top_k": 0} if temperature > 0 else {}
    return make(
        max_new_tokens=max_new_tokens,
        do_sample=temperature > 0,
        eos_token_id=eos_token_ids,
        pad_token_id=eos_token_ids[0],
        **sampling,
    )


def _without_own_settings(model: PreTrainedModel) -> Any:
    """Return the same model without the generation settings that came with it.

    transformers takes what we leave open from there: penalties that change the distribution, or
    tokens to suppress, which might be all that the grammar allows.
    """
    import transformers

    bare: Any = copy.copy(model)  # shares the weights
    make: Any = transformers.GenerationConfig
    bare.generation_config = make()
    return bare


class _Stream:
    """Receives tokens from transformers as they are written."""

    def __init__(self, index: Index, on_text: Callable[[str], None] | None, bar: Any) -> None:
        self._vocabulary = index.vocabulary
        self._on_text = on_text
        self._bar = bar
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_prompt = True
        self._token_ids: list[int] = []
        self._pieces: list[str] = []

    def put(self, value: torch.Tensor) -> None:
        """Take the prompt (first call), or the ids of the next tokens."""
        if self._is_prompt:
            self._is_prompt = False
            return
        for token_id in value.reshape(-1).tolist():
            self._token_ids.append(token_id)
            self._bar.update()
            piece = self._decoder.decode(self._vocabulary.tokens[token_id] or b"")
            self._pieces.append(piece)
            if piece and self._on_text is not None:
                self._on_text(piece)

    def end(self) -> None:
        """Take the end of generation."""

    def generation(self) -> Generation:
        is_complete = bool(self._token_ids) and (
            self._token_ids[-1] in self._vocabulary.eos_token_ids
        )
        return Generation("".join(self._pieces), tuple(self._token_ids), is_complete)


def _check(max_new_tokens: int, temperature: float, seed: int | None) -> None:
    if max_new_tokens < 1:
        raise GenerationError(f"max_new_tokens is {max_new_tokens}; at least 1 is needed")
    if not 0 <= temperature < float("inf"):
        raise GenerationError(f"temperature is {temperature}; it is 0 (greedy) or positive")
    if seed is not None and not -(2**63) <= seed < 2**64:
        raise GenerationError(f"seed is {seed}; it is a number of at most 64 bits")


def _encoded(prompt: str | Sequence[Message], tokenizer: PreTrainedTokenizerBase) -> Any:
    if not isinstance(prompt, str):
        if not getattr(tokenizer, "chat_template", None):
            raise GenerationError(
                "the prompt is a chat, but the tokenizer has no chat template; "
                "give the prompt as a text"
            )
        return tokenizer.apply_chat_template(
            [dict(message) for message in prompt],
            add_generation_prompt=True,
            return_dict=True,
            return_tensors="pt",
        )
    if not prompt:  # a model needs at least one token to start from
        prompt = tokenizer.bos_token or tokenizer.eos_token
    return tokenizer(prompt, return_tensors="pt")


def _cuda_devices(model: PreTrainedModel) -> list[torch.device]:
    return [model.device] if model.device.type == "cuda" else []
