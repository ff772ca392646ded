"""Compares the masks of the engines, and says who is right where they differ.

In: the runs of all engines over the same documents. Out: a :class:`Comparison` per engine. Nothing
is taken for granted, cfgguide's masks no more than the others': tokens that any two engines
disagree about are put to a judge of the language (:mod:`judging`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from judging import Judge
from measuring import Run

MAX_SAMPLED_STEPS = 400
MAX_JUDGED_TOKENS = 100  # per step, evenly spaced among those that are disagreed about
_SHOWN_BYTES = 24
IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.int32]


@dataclass
class Verdicts:
    """Steps at which an engine's mask is wrong in one way.

    Attributes
    ----------
    n_steps : int
        Their number.
    example : str
        Text and token of the last: the first is often the empty text, and less telling.
    """

    n_steps: int = 0
    example: str = ""

    def add(self, example: str) -> None:
        """Count a step."""
        self.n_steps += 1
        self.example = example


@dataclass
class Comparison:
    """How the masks of one engine compare.

    Attributes
    ----------
    n_compared : int
        Sampled steps that this engine and the reference got to.
    n_differing : int
        Those at which its mask is not that of the reference, added tokens aside.
    added : Verdicts
        Those at which it treats some added token otherwise than the reference: engines may take
        a token such as ``<|im_start|>`` as that text.
    next_masked : Verdicts
        Steps, of all, at which the document's own next token (or the end) is masked.
    valid_masked, invalid_allowed : Verdicts
        Sampled steps at which some token is wrongly masked, or wrongly allowed; added tokens
        aside, for a language says nothing about them.
    refused : Verdicts
        Documents that it did not get through.
    """

    n_compared: int = 0
    n_differing: int = 0
    added: Verdicts = field(default_factory=Verdicts)
    next_masked: Verdicts = field(default_factory=Verdicts)
    valid_masked: Verdicts = field(default_factory=Verdicts)
    invalid_allowed: Verdicts = field(default_factory=Verdicts)
    refused: Verdicts = field(default_factory=Verdicts)


@dataclass(frozen=True)
class Texts:
    """The documents as tokens, and what the tokens spell.

    Attributes
    ----------
    documents : list of list of int
        Token ids of each.
    token_bytes : sequence of (bytes or None)
        Bytes of every id.
    eos_token_id : int
        The id that ends a text.
    added_tokens : dict of int to str
        Ids that the tokenizer adds to the model's own vocabulary, but EOS.
    """

    documents: list[list[int]]
    token_bytes: Sequence[bytes | None]
    eos_token_id: int
    added_tokens: dict[int, str]

    @property
    def n_steps(self) -> int:
        """Number of steps of all documents."""
        return sum(len(tokens) + 1 for tokens in self.documents)

    def sampled_steps(self) -> list[int]:
        """Return evenly spaced steps, at most `MAX_SAMPLED_STEPS`."""
        return list(range(0, self.n_steps, -(-self.n_steps // MAX_SAMPLED_STEPS)))

    def at(self, step: int) -> tuple[bytes, int]:
        """Return the text before a step, and the token that follows in the document."""
        for tokens in self.documents:
            if step <= len(tokens):
                text = b"".join(self.token_bytes[token] or b"" for token in tokens[:step])
                return text, [*tokens, self.eos_token_id][step]
            step -= len(tokens) + 1
        raise IndexError("there is no such step")

    def described(self, step: int, token: int | None = None) -> str:
        """Return a step and a token of it (by default the one that follows) to be read."""
        text, following = self.at(step)
        token = following if token is None else token
        spelled = self.added_tokens.get(token, repr(self.token_bytes[token]))
        if token == self.eos_token_id:
            spelled = "EOS"
        start = "..." if len(text) > _SHOWN_BYTES else ""
        return f"{spelled} after {start}{text[-_SHOWN_BYTES:]!r}"


def compare(
    runs: dict[str, Run], reference: str, texts: Texts, judge: Judge | None
) -> dict[str, Comparison]:
    """Return how the engines compare.

    Parameters
    ----------
    runs : dict of str to Run
        One run of each engine, all of the same job.
    reference : str
        The engine that differences are counted from.
    judge : Judge or None
        Decides which side is right; None where the language has none.
    """
    comparisons = {name: Comparison() for name in runs}
    for name, run in runs.items():
        _compare_own_tokens(comparisons[name], run, texts)
    added = _added_bits(texts)
    for row, step in enumerate(texts.sampled_steps()):
        masks = {
            name: run.masks[row] for name, run in runs.items() if not np.isnan(run.fill[0, step])
        }
        if reference in masks:
            for name, mask in masks.items():
                _compare_masks(comparisons[name], mask, masks[reference], step, texts)
        if judge:
            ordinary = {name: mask & ~added for name, mask in masks.items()}
            _judge_step(comparisons, ordinary, step, texts, judge)
    return comparisons


def _added_bits(texts: Texts) -> Mask:
    """Return the mask of the added tokens."""
    bits = np.zeros(-(-len(texts.token_bytes) // 32) * 32, dtype=np.bool_)
    bits[list(texts.added_tokens)] = True
    return np.packbits(bits, bitorder="little").view(np.int32)


def _compare_masks(
    comparison: Comparison, mask: Mask, reference: Mask, step: int, texts: Texts
) -> None:
    comparison.n_compared += 1
    differing = _ids(mask ^ reference, len(texts.token_bytes)).tolist()
    among_added = [token for token in differing if token in texts.added_tokens]
    comparison.n_differing += len(differing) > len(among_added)
    if among_added:
        comparison.added.add(texts.described(step, among_added[0]))


def _compare_own_tokens(comparison: Comparison, run: Run, texts: Texts) -> None:
    """Note where the documents themselves are not allowed."""
    firsts = np.cumsum([0, *(len(tokens) + 1 for tokens in texts.documents)])
    refused = {int(firsts[document]) + place for document, place in run.refusals}
    for step in sorted(refused):
        comparison.refused.add(texts.described(step))
    is_reached = ~np.isnan(run.fill[0])
    is_reached[list(refused)] = True  # the mask there was made, though not timed
    for step in np.flatnonzero(is_reached & ~run.next_allowed).tolist():
        comparison.next_masked.add(texts.described(step))


def _judge_step(
    comparisons: dict[str, Comparison],
    masks: dict[str, Mask],
    step: int,
    texts: Texts,
    judge: Judge,
) -> None:
    rows = np.array(list(masks.values()))
    union, common = np.bitwise_or.reduce(rows), np.bitwise_and.reduce(rows)
    disputed = _evenly(_ids(union & ~common, len(texts.token_bytes)))
    text, _ = texts.at(step)
    is_valid = {token: _is_valid(token, text, texts, judge) for token in disputed}
    for name, mask in masks.items():
        allowed = {token for token in disputed if mask[token >> 5] >> (token & 31) & 1}
        masked = [token for token in disputed if is_valid[token] and token not in allowed]
        wrong = [token for token in disputed if not is_valid[token] and token in allowed]
        if masked:
            comparisons[name].valid_masked.add(texts.described(step, masked[0]))
        if wrong:
            comparisons[name].invalid_allowed.add(texts.described(step, wrong[0]))


def _ids(mask: Mask, size: int) -> IntArray:
    return np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")[:size])


def _evenly(ids: IntArray) -> list[int]:
    every = max(1, -(-len(ids) // MAX_JUDGED_TOKENS))
    chosen: list[int] = ids[::every].tolist()
    return chosen


def _is_valid(token: int, text: bytes, texts: Texts, judge: Judge) -> bool:
    if token == texts.eos_token_id:
        return judge.is_sentence(text)
    spelled = texts.token_bytes[token]
    return spelled is not None and judge.is_prefix(text + spelled)
