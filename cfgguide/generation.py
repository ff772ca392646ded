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
from cfgguide.guide import Guide
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
        The text, from `prefix` on and without the prompt. Where it was cut inside a character, that
        part is missing.
    token_ids : tuple of int
        Its tokens, EOS included if the model wrote one.
    is_complete : bool
        Whether the text is a sentence of the grammar that the model ended with EOS, or that `until`
        ended. If not, the tokens ran out, and the text is the start of a sentence.
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
    prefix: str = "",
    until: Callable[[str], bool] | None = None,
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
        A text to continue, or a chat, which goes through the tokenizer's chat template. If its last
        message is the assistant's, the model goes on with that; no part of it is in the sentence.
    tokenizer : PreTrainedTokenizerBase
        The model's tokenizer.
    index : Index
        Of the grammar and this tokenizer; see :func:`cfgguide.compile`.
    max_new_tokens : int
        Most tokens to write, EOS included; at least 1.
    prefix : str
        How the sentence begins: it stands behind the prompt, and the model goes on from there.
    until : callable, optional
        Asked of the text, `prefix` included, wherever it is a sentence: True ends it there, without
        EOS.
    temperature : float
        0 takes the most probable token at each step; otherwise tokens are sampled.
    seed : int, optional
        Makes sampling reproducible; the global random state stays as it was.
    on_text : callable, optional
        Called with each piece of text as it is written; not with `prefix`.
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
    TokenRejectedError
        If no sentence begins with `prefix`.
    """
    import torch

    _check(max_new_tokens, temperature, seed)
    encoded = _encoded(prompt, tokenizer)
    length = int(encoded["input_ids"].shape[1])
    begun = _ids_of(prefix, tokenizer)
    ending = _Ending(index, begun, until)
    added = torch.tensor([begun], dtype=torch.long)
    input_ids = torch.cat([encoded["input_ids"], added], dim=1)
    is_text = torch.cat([encoded["attention_mask"], torch.ones_like(added)], dim=1)
    if progress is None:
        progress = on_text is None and sys.stderr.isatty()
    bar = tqdm(total=max_new_tokens, unit="token", disable=not progress, leave=False)
    stream = _Stream(index, on_text, bar)
    with bar, torch.random.fork_rng(devices=_cuda_devices(model), enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        write: Any = _without_own_settings(model).generate
        write(
            input_ids=input_ids.to(model.device),
            attention_mask=is_text.to(model.device),
            generation_config=_settings(index, max_new_tokens, temperature),
            logits_processor=[LogitsProcessor(index, prompt_length=length)],
            stopping_criteria=[ending],
            streamer=stream,
        )
    token_ids = (*begun, *stream.token_ids)
    has_eos = token_ids[-1] in index.vocabulary.eos_token_ids
    return Generation(prefix + stream.text, token_ids, has_eos or ending.is_reached)


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
    """Receives tokens from transformers as they are written, one step late."""

    def __init__(self, index: Index, on_text: Callable[[str], None] | None, bar: Any) -> None:
        self._vocabulary = index.vocabulary
        self._on_text = on_text
        self._bar = bar
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_prompt = True
        self.token_ids: list[int] = []
        self.text = ""

    def put(self, value: torch.Tensor) -> None:
        """Take the prompt (first call), or the ids of the next tokens."""
        if self._is_prompt:
            self._is_prompt = False
            return
        for token_id in value.reshape(-1).tolist():
            self.token_ids.append(token_id)
            self._bar.update()
            piece = self._decoder.decode(self._vocabulary.tokens[token_id] or b"")
            self.text += piece
            if piece and self._on_text is not None:
                self._on_text(piece)

    def end(self) -> None:
        """Take the end of generation."""


class _Ending:
    """Tells transformers where a text is to end: the `until` of :func:`generate`."""

    def __init__(
        self, index: Index, begun: Sequence[int], until: Callable[[str], bool] | None
    ) -> None:
        self._until = until
        self._guide = Guide(index)
        for token_id in begun:
            self._guide.advance(token_id)
        self.is_reached = False

    def __call__(self, input_ids: torch.Tensor, scores: Any, **options: Any) -> torch.Tensor:
        """Return for the one row whether it ends with its last token; shape (1,)."""
        import torch

        if self._until is not None:
            self._guide.advance(int(input_ids[0, -1]))
            if self._guide.is_accepting and not self._guide.is_finished:
                self.is_reached = self._until(self._guide.text.decode())
        return torch.tensor([self.is_reached], device=input_ids.device)


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
        messages = [dict(message) for message in prompt]
        is_begun = bool(messages) and messages[-1].get("role") == "assistant"
        return tokenizer.apply_chat_template(
            messages,
            add_generation_prompt=not is_begun,
            continue_final_message=is_begun,
            return_dict=True,
            return_tensors="pt",
        )
    if not prompt:  # a model needs at least one token to start from
        prompt = tokenizer.bos_token or tokenizer.eos_token
    return tokenizer(prompt, return_tensors="pt")


def _ids_of(prefix: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the tokens of a text that is nothing but text."""
    if not prefix:
        return []
    encode: Any = tokenizer.encode
    ids: list[int] = encode(prefix, add_special_tokens=False, split_special_tokens=True)
    return ids


def _cuda_devices(model: PreTrainedModel) -> list[torch.device]:
    return [model.device] if model.device.type == "cuda" else []
