"""The masks of existing sentences: for fine-tuning, and to measure a model.

In: sentences, an index and a tokenizer. Out: for each sentence the ids of its tokens, EOS at the
end, and a packed mask for every token: what the grammar allows there. ::

    text "[10]"     token_ids    [   1   0   ]   EOS     shape (5,)
                    bitmasks     what may come first, after "[", ..., after "[10]"

With them a loss can be taken over the allowed tokens only, so that a model need not learn the
syntax that a mask gives it.

Source: Willard & Louf 2023, section 5, on masks during training.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.diagnostics.diagnosis import refused_at
from cfgguide.diagnostics.explainers import explainer_of
from cfgguide.engine.index.index import Index
from cfgguide.errors import TextError
from cfgguide.guide.guide import Guide

IGNORED_TERMINAL = -100  # that of torch's cross_entropy
EVERYTHING = -1  # a word that allows all of its tokens

Text = str | Sequence[int]  # or its token ids, with or without EOS


@dataclass(frozen=True, eq=False)
class SentenceMasks:
    """The tokens of one sentence, or of a batch of sentences, and the masks of these tokens.

    Attributes
    ----------
    token_ids : int64, shape (n_tokens,) or (n_sentences, n_tokens)
        The tokens, the last of which is EOS; -100 after the end of a shorter sentence.
    bitmasks : int32, shape (..., n_words)
        For each token the packed mask that applies there, which allows it. Bit ``i % 32`` of word
        ``i // 32`` is set if token ``i`` is allowed. After the end of a shorter sentence all bits
        are set, even those beyond the vocabulary, so that no loss becomes infinite there.
    """

    token_ids: npt.NDArray[np.int64]
    bitmasks: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.token_ids)


def masks_for(
    texts: Iterable[Text], index: Index, tokenizer: object, *, eos_token_id: int | None = None
) -> list[SentenceMasks]:
    """Return the masks of every token of some sentences, and of the EOS after each.

    Each token takes an eighth of the vocabulary's size in bytes: 6 kB for 50,000 ids.

    Parameters
    ----------
    texts : iterable of (str or sequence of int)
        Sentences of the grammar, or their tokens; no prompts.
    index : Index
        Of the grammar and this tokenizer.
    tokenizer : transformers tokenizer or tokenizers.Tokenizer
        What the index was made for. No special tokens are added to a text, or read in it.
    eos_token_id : int, optional
        The EOS that ends each sentence; by default the tokenizer's, if the vocabulary has it as
        one, else the vocabulary's first.

    Returns
    -------
    list of SentenceMasks
        The masks of each text.

    Raises
    ------
    TextError
        If a text is not a sentence, or is not what its tokens spell; the message says which and
        where.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "a"+ "b"'), vocabulary)
    >>> (masks,) = masks_for([[0, 0, 1]], index, None)
    >>> masks.token_ids.tolist(), masks.bitmasks.tolist()
    ([0, 0, 1, 2], [[1], [3], [3], [4]])
    """
    eos = end_token(index, tokenizer, eos_token_id)
    return [
        _masks_of(number, tokens_of(number, text, index, tokenizer), index, eos)
        for number, text in enumerate(texts)
    ]


def stack_masks(sentences: Sequence[SentenceMasks]) -> SentenceMasks:
    """Return the masks of several sentences as one batch, filled up at the end.

    Parameters
    ----------
    sentences : sequence of SentenceMasks
        What :func:`masks_for` returns, of one index; at least one.

    Returns
    -------
    SentenceMasks
        With one more axis.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "a"* "b"'), vocabulary)
    >>> batch = stack_masks(masks_for([[0, 1], [1]], index, None))
    >>> batch.token_ids.tolist(), batch.bitmasks[..., 0].tolist()
    ([[0, 1, 2], [1, 2, -100]], [[3, 3, 4], [3, 4, -1]])
    """
    if not sentences:
        raise TextError("there are no sentences to stack")
    shape = len(sentences), max(map(len, sentences))
    token_ids = np.full(shape, IGNORED_TERMINAL, dtype=np.int64)
    bitmasks = np.full((*shape, sentences[0].bitmasks.shape[-1]), EVERYTHING, dtype=np.int32)
    for row, sentence in enumerate(sentences):
        token_ids[row, : len(sentence)] = sentence.token_ids
        bitmasks[row, : len(sentence)] = sentence.bitmasks
    return SentenceMasks(token_ids, bitmasks)


def end_token(index: Index, tokenizer: object, eos_token_id: int | None) -> int:
    """Return the EOS that ends a sentence.

    Raises
    ------
    TextError
        If it is not an EOS of the vocabulary.
    """
    known = index.vocabulary.eos_token_ids
    if eos_token_id is not None:
        if eos_token_id not in known:
            raise TextError(
                f"token {eos_token_id} is not an EOS of the vocabulary; those are {known}"
            )
        return eos_token_id
    own = getattr(tokenizer, "eos_token_id", None)
    return own if own in known else known[0]


def tokens_of(number: int, text: Text, index: Index, tokenizer: Any) -> list[int]:
    """Return the tokens of plain text, without EOS.

    Raises
    ------
    TextError
        If they spell another text; the message names it by its number.
    """
    eos_token_ids = index.vocabulary.eos_token_ids
    if not isinstance(text, str):
        ids = [int(token_id) for token_id in text]
        return ids[:-1] if ids and ids[-1] in eos_token_ids else ids
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TextError(
            f"text {number} has half a surrogate pair at character {error.start}, which is no "
            "character"
        ) from None
    if hasattr(tokenizer, "convert_ids_to_tokens"):  # of transformers
        encoded = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    else:
        encoded = tokenizer.encode(text, add_special_tokens=False).ids
    ids = list(map(int, encoded))
    tokens = [index.vocabulary.tokens[token_id] for token_id in ids]
    spelled = b"".join(token or b"<no text>" for token in tokens)
    if spelled != text.encode():
        raise TextError(
            f"text {number} is {_short(text.encode())}, but its tokens spell {_short(spelled)}; "
            "give the ids of tokens that spell it"
        )
    return ids


def _masks_of(number: int, token_ids: list[int], index: Index, eos: int) -> SentenceMasks:
    guide = Guide(index)
    bitmasks = np.empty((len(token_ids) + 1, index.vocabulary.n_words), dtype=np.int32)
    for row, token_id in zip(bitmasks, [*token_ids, eos], strict=True):
        guide.fill_bitmask(row)
        if not guide.accepts(token_id):
            raise TextError(_refusal(number, guide, token_ids, token_id))
        guide.advance(token_id)
    return SentenceMasks(np.array([*token_ids, eos], dtype=np.int64), bitmasks)


def _refusal(number: int, guide: Guide, token_ids: list[int], token_id: int) -> str:
    vocabulary = guide.index.vocabulary
    before = guide.text
    explanation = explainer_of(guide.index, before).explain_token(token_id, is_allowed=False)
    tokens = [vocabulary.tokens[known] for known in token_ids if 0 <= known < vocabulary.size]
    text = b"".join(token or b"" for token in tokens)
    position = refused_at(text, len(before) + (explanation.offset or 0), ())
    return (
        f"text {number} is not a sentence of the grammar: line {position.line}, "
        f"column {position.column}: {explanation}\n{position.excerpt}"
    )


def _short(data: bytes) -> str:
    shown = repr(data)[1:]
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
