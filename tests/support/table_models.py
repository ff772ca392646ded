"""Models that are functions of the sequence, and the laws of what they write by enumeration.

A model here gives random but fixed logits to each sequence. The laws are found without the engine:
the sentences are a list of texts, and every way to spell one is tried.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

import numpy as np

Ids = tuple[int, ...]
Law = dict[Ids, float]


def table_model(
    n_ids: int, seed: int, *, spread: float = 1.5
) -> Callable[[Sequence[int]], np.ndarray]:
    """A model whose logits for a sequence are normal numbers drawn from its tokens as a seed."""

    @functools.cache
    def logits(token_ids: Ids) -> np.ndarray:
        return np.random.default_rng([seed, *token_ids, 7]).normal(scale=spread, size=n_ids)

    return lambda token_ids: logits(tuple(token_ids))


def next_law(model: Callable, token_ids: Ids, temperature: float = 1.0) -> np.ndarray:
    """The model's probabilities of the next token."""
    powers = np.exp(np.asarray(model(token_ids)) / temperature)
    return powers / powers.sum()


def spellings(
    tokens: Sequence[bytes | None], eos: int, sentences: Sequence[str], most: int
) -> list[Ids]:
    """All sequences of at most so many ids that spell a sentence and end with EOS."""
    texts = {sentence.encode() for sentence in sentences}
    words = [number for number, token in enumerate(tokens) if token]
    return [
        (*ids, eos)
        for length in range(most)
        for ids in itertools.product(words, repeat=length)
        if b"".join(tokens[i] for i in ids) in texts
    ]


def model_law(
    model: Callable, sequences: Sequence[Ids], prompt: Ids = (), temperature: float = 1.0
) -> Law:
    """The probability of each sequence under the model alone; they do not sum up to 1."""
    return {
        ids: float(
            np.prod(
                [
                    next_law(model, (*prompt, *ids[:place]), temperature)[token_id]
                    for place, token_id in enumerate(ids)
                ]
            )
        )
        for ids in sequences
    }


def masked_law(model: Callable, sequences: Sequence[Ids], prompt: Ids = ()) -> Law:
    """The probability of each sequence if each token is drawn from those that lead on to one."""
    found = {}
    for ids in sequences:
        probability = 1.0
        for place, token_id in enumerate(ids):
            leading = {each[place] for each in sequences if each[:place] == ids[:place]}
            law = next_law(model, (*prompt, *ids[:place]))
            probability *= law[token_id] / law[sorted(leading)].sum()
        found[ids] = float(probability)
    return found


def normalised(law: Law) -> Law:
    total = sum(law.values())
    return {ids: probability / total for ids, probability in law.items()}


def chi_squared(counts: dict, law: dict) -> tuple[float, float]:
    """Pearson's statistic of counts against a law, and the value that one in 1,000 exceeds.

    Cells of which fewer than 5 are expected are taken together. The value is the approximation of
    Wilson & Hilferty 1931.
    """
    n = sum(counts.values())
    assert set(counts) <= set(law)
    large = [each for each in law if n * law[each] >= 5]
    observed = [counts.get(each, 0) for each in large]
    expected = [n * law[each] for each in large]
    rest = n - sum(expected)
    if rest > 1:
        observed.append(n - sum(observed))
        expected.append(rest)
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return statistic, chi_squared_bound(len(expected) - 1)


def chi_squared_bound(n_free: int, z: float = 3.0902) -> float:
    """What a chi-squared variable with so many degrees of freedom exceeds once in 1,000."""
    part = 2 / (9 * n_free)
    return n_free * (1 - part + z * part**0.5) ** 3
