"""Generation: a model, a prompt and an index in; a sentence of the grammar out.

The loop is :mod:`cfgguide.integrations.loop`; this module sets it up, streams the text, and says
whether it is complete. Nothing but the mask and the temperature touches the model's distribution,
however the model's own settings are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from cfgguide.errors import GenerationError
from cfgguide.guide.forced import encoder_of
from cfgguide.guide.guide import Guide
from cfgguide.guide.healing import Healing
from cfgguide.index.index import Index
from cfgguide.integrations.loop import Writing
from cfgguide.integrations.model_steps import ModelSteps

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
    n_model_calls : int
        How often the model was asked.
    n_forced : int
        How many tokens came without asking it, because nothing else could.
    """

    text: str
    token_ids: tuple[int, ...]
    is_complete: bool
    n_model_calls: int = 0
    n_forced: int = 0


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
    finish: bool = True,
    force: bool = True,
    heal: bool = False,
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
    finish : bool
        Whether to finish a sentence within `max_new_tokens`: a token after which none would fit is
        not allowed. If not, the text is cut when the tokens run out.
    force : bool
        Whether text that must come next is written without asking the model, in the tokenizer's own
        tokens (:mod:`cfgguide.guide.forced`). If not, the model chooses each token of it.
    heal : bool
        Whether the last tokens before the text, of `prompt` or `prefix`, are taken back, and the
        model writes their bytes again and goes on, perhaps in the same token
        (:mod:`cfgguide.guide.healing`). These tokens count in `max_new_tokens`, and those of the
        prompt are in `token_ids`, but not in `text`.

    Returns
    -------
    Generation
        The text, and whether it is complete.

    Raises
    ------
    GenerationError
        If `max_new_tokens`, `temperature` or `seed` make no sense, or a chat has no template.
    BudgetError
        If no sentence can be finished within `max_new_tokens`.
    ModelError
        If the model's logits do not fit the vocabulary.
    TokenRejectedError
        If no sentence begins with `prefix`.
    """
    import torch

    _check(max_new_tokens, temperature, seed)
    prompt_ids = _encoded(prompt, tokenizer)
    read_ids = [*prompt_ids, *_ids_of(prefix, tokenizer)]
    guide = Guide(index)
    for token_id in read_ids[len(prompt_ids) :]:
        guide.advance(token_id)
    left = b""
    if heal:
        healed = Healing(index).taken_back(read_ids)
        read_ids, left = list(healed.token_ids), healed.bytes_left
    if progress is None:
        progress = on_text is None and sys.stderr.isatty()
    bar = tqdm(total=max_new_tokens, unit="token", disable=not progress, leave=False)

    def on_token(token_id: int, piece: str) -> None:
        bar.update()
        if piece and on_text is not None:
            on_text(piece)

    writing = Writing(
        index,
        guide.step_node,
        max_new_tokens,
        left=left,
        finish=finish,
        encode=encoder_of(tokenizer) if force else None,
        temperature=temperature,
        on_token=on_token,
    )
    steps = ModelSteps(model)
    with bar, torch.random.fork_rng(devices=_cuda_devices(model), enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        writing.write(
            steps.logits, read_ids, lambda text: until is not None and until(prefix + text)
        )
    return Generation(
        prefix + writing.text,
        (*read_ids[len(prompt_ids) :], *writing.token_ids),
        writing.is_complete,
        steps.n_calls,
        writing.n_forced,
    )


def _check(max_new_tokens: int, temperature: float, seed: int | None) -> None:
    if max_new_tokens < 1:
        raise GenerationError(f"max_new_tokens is {max_new_tokens}; at least 1 is needed")
    if not 0 <= temperature < float("inf"):
        raise GenerationError(f"temperature is {temperature}; it is 0 (greedy) or positive")
    if seed is not None and not -(2**63) <= seed < 2**64:
        raise GenerationError(f"seed is {seed}; it is a number of at most 64 bits")


def _encoded(prompt: str | Sequence[Message], tokenizer: PreTrainedTokenizerBase) -> list[int]:
    encode: Any = tokenizer
    if not isinstance(prompt, str):
        if not getattr(tokenizer, "chat_template", None):
            raise GenerationError(
                "the prompt is a chat, but the tokenizer has no chat template; "
                "give the prompt as a text"
            )
        messages = [dict(message) for message in prompt]
        is_begun = bool(messages) and messages[-1].get("role") == "assistant"
        encode = tokenizer.apply_chat_template
        found = encode(
            messages,
            add_generation_prompt=not is_begun,
            continue_final_message=is_begun,
            return_dict=True,
        )
        return list(found["input_ids"])
    if not prompt:  # a model needs at least one token to start from
        prompt = tokenizer.bos_token or tokenizer.eos_token
    return list(encode(prompt)["input_ids"])


def _ids_of(prefix: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the tokens of a text that is nothing but text."""
    if not prefix:
        return []
    encode: Any = tokenizer.encode
    ids: list[int] = encode(prefix, add_special_tokens=False, split_special_tokens=True)
    return ids


def _cuda_devices(model: PreTrainedModel) -> list[torch.device]:
    return [model.device] if model.device.type == "cuda" else []
