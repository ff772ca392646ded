"""Generation: a model of transformers, a prompt and an index in; a sentence of the grammar out.

The loop is :mod:`cfgguide.decoding.loop`; this module makes tokens of the prompt, streams the text,
and says whether it is complete. Only the mask and the arguments change the model's distribution;
the settings in the model's own generation config have no effect.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from cfgguide.decoding.loop import Seed, decode, generator
from cfgguide.decoding.prefix_tree import PrefixNode, PrefixTree
from cfgguide.decoding.warpers import Warper
from cfgguide.errors import GenerationError
from cfgguide.guide.forced import encoder_of
from cfgguide.index.index import Index
from cfgguide.integrations.transformers_model import SingleText

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Message = Mapping[str, str]  # "role" and "content", as in transformers' chat templates


@dataclass(frozen=True)
class Generation:
    """What a model wrote.

    Attributes
    ----------
    text : str
        The text, from `prefix` on and without the prompt. If it was cut inside a character, that
        part is missing.
    token_ids : tuple of int
        Its tokens, with EOS if the model wrote it.
    is_complete : bool
        Whether the text is a sentence of the grammar that the model ended with EOS, or that `until`
        ended. If not, the tokens ran out, and the text is the start of a sentence.
    n_model_calls : int
        How often the model was called.
    n_forced : int
        How many tokens were written without asking it, because nothing else could follow.
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
    top_k: int | None = None,
    top_p: float = 1.0,
    min_p: float = 0.0,
    seed: Seed = None,
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
        Maximum number of new tokens, EOS included; at least 1.
    prefix : str
        How the sentence begins: it comes after the prompt, and the model goes on from there.
    until : callable, optional
        Called with the text, `prefix` included, wherever it is a sentence: True ends it there,
        without EOS.
    temperature, top_k, top_p, min_p
        How a token is chosen among the allowed ones, see
        :class:`~cfgguide.decoding.warpers.Warper`; they are applied in this order, after the mask.
        By default the most probable token is taken at each step.
    seed : int or numpy Generator, optional
        Makes sampling reproducible; the global random states stay as they were. Without it, a seed
        is drawn from torch's global random state.
    on_text : callable, optional
        Called with each piece of text as it is written; not with `prefix`.
    progress : bool, optional
        Whether to show a bar of tokens; by default on a terminal, unless `on_text` is given.
    finish : bool
        Whether to finish a sentence within `max_new_tokens`: a token is allowed only if a sentence
        still fits after it. If not, the text is cut when the tokens run out.
    force : bool
        Whether text that must come next is written without asking the model, in the tokenizer's own
        tokens (:mod:`cfgguide.guide.forced`). If not, the model chooses each token of it.
    heal : bool
        Whether the last tokens of prompt and prefix are taken back, so that the model writes their
        bytes again and may go on in the same token (:mod:`cfgguide.guide.healing`). These tokens
        count in `max_new_tokens`, and those of the prompt are in `token_ids`, but not in `text`.

    Returns
    -------
    Generation
        The text, and whether it is complete.

    Raises
    ------
    GenerationError
        If a setting is out of its range, a chat has no template, or the model excludes all tokens
        that the grammar allows.
    BudgetError
        If no sentence can be finished within `max_new_tokens`.
    ModelError
        If the model's logits do not fit the vocabulary, or are not numbers.
    TokenRejectedError
        If no sentence begins with `prefix`.
    """
    warper = Warper(temperature, top_k, top_p, min_p)
    random = generator(_torch_seed() if seed is None and temperature else seed)
    single_text = SingleText(model)
    tree = PrefixTree(
        single_text,
        index,
        max_new_tokens=max_new_tokens,
        prefix_ids=_prefix_ids(prefix, tokenizer),
        finish=finish,
        heal=heal,
        measure=False,
    )
    prompt_ids = _prompt_ids(prompt, tokenizer)
    root = tree.root(prompt_ids)
    if progress is None:
        progress = on_text is None and sys.stderr.isatty()
    with tqdm(total=max_new_tokens, unit="token", disable=not progress, leave=False) as bar:
        stream = _Stream(index, prefix, until, on_text, bar)
        (node,) = decode(
            tree,
            [prompt_ids],
            warper=warper,
            randoms=[random],
            encode=encoder_of(tokenizer) if force else None,
            has_ended=stream.add,
        )
    return Generation(
        stream.text,
        (*root.read_ids[len(prompt_ids) :], *node.token_ids),
        stream.is_complete,
        single_text.n_calls,
        sum(step.is_forced for step in node.path()),
    )


class _Stream:
    """Passes a text on as it is written, and decides where it ends.

    Attributes
    ----------
    text : str
        The text so far.
    is_complete : bool
        Whether it is a sentence that the model or `until` has ended.
    """

    def __init__(
        self,
        index: Index,
        prefix: str,
        until: Callable[[str], bool] | None,
        on_text: Callable[[str], None] | None,
        bar: tqdm[Any],
    ) -> None:
        self._index = index
        self._until = until
        self._on_text = on_text
        self._bar = bar
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.text = prefix
        self.is_complete = False

    def add(self, node: PrefixNode) -> bool:
        """Add the last token of a node; return whether the text ends there."""
        assert node.parent is not None, "a root has no new token"
        token = self._index.vocabulary.tokens[node.token_id] or b""
        piece = self._decoder.decode(token[len(node.parent.left) :])  # less what heals the prompt
        self.text += piece
        self._bar.update()
        if piece and self._on_text is not None:
            self._on_text(piece)
        if node.is_finished:
            self.is_complete = True
        elif self._until is not None and not node.left:
            is_sentence = self._index.recognizer.is_sentence(node.step_node.configuration)
            self.is_complete = is_sentence and self._until(self.text)
        return self.is_complete


def _torch_seed() -> int:
    """Return a seed, drawn from torch's global random state."""
    import torch

    return int(torch.randint(2**63 - 1, ()))


def _prompt_ids(prompt: str | Sequence[Message], tokenizer: PreTrainedTokenizerBase) -> list[int]:
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
        encoded = encode(
            messages,
            add_generation_prompt=not is_begun,
            continue_final_message=is_begun,
            return_dict=True,
        )
        return list(encoded["input_ids"])
    if not prompt:  # a model needs at least one token to start from
        prompt = tokenizer.bos_token or tokenizer.eos_token
    return list(encode(prompt)["input_ids"])


def _prefix_ids(prefix: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the tokens of plain text, without special tokens."""
    if not prefix:
        return []
    encode: Any = tokenizer.encode
    ids: list[int] = encode(prefix, add_special_tokens=False, split_special_tokens=True)
    return ids
