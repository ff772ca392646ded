"""Compares steering, beams and plain sampling with the exact law, on a real model.

In: SmolLM2, questions with a few answers each. Out: a table: the exact probability of each
question's likeliest answer, if the model's text is one of the answers, and what `steer` with 30 and
with 300 particles, `beam_search` and masked sampling say of it, over ten seeds. The exact law comes
from all sequences of tokens that spell an answer. ::

    python benchmarks/steering.py
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator

import numpy as np

import cfgguide
from cfgguide.decoding import beam_search, sample_many, steer
from cfgguide.errors import ParticleWarning
from cfgguide.models import load_model
from cfgguide.models.transformers.causal_model import TransformersModel

QUESTIONS = {
    "What is the capital of France? Answer: ": ["Paris", "London", "Rome", "Par", "Lyon"],
    "The sky on a clear day is ": ["blue", "bluish", "grey", "green", "red"],
    "An animal that barks is a ": ["dog", "doggy", "cat", "wolf", "door"],
    "2 + 2 = ": ["4", "4.0", "40", "four", "5"],
}
PARTICLES = (30, 300)
SEEDS = range(10)
MAX_NEW_TOKENS = 12
BATCH = 64  # sequences in one call of the model


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    model, tokenizer = load_model()
    names = [f"steer, {n}" for n in PARTICLES] + ["beams", f"masked, {max(PARTICLES)}"]
    print(f"| prompt, likeliest answer | exact | {' | '.join(names)} | ancestors | warnings |")
    print("| --- " * (len(names) + 4) + "|")
    for prompt, answers in QUESTIONS.items():
        prompt_ids = tuple(tokenizer.encode(prompt))
        index = cfgguide.compile(cfgguide.choice(answers), tokenizer)
        asked = TransformersModel(model)
        law = exact(asked, prompt_ids, index)
        best = max(law, key=lambda answer: law[answer])
        options = {"index": index, "max_new_tokens": MAX_NEW_TOKENS}
        cells, ancestors, n_warned = [f"{law[best]:.3f}"], list[int](), 0
        for n in PARTICLES:
            shares = []
            for seed in SEEDS:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    found = steer(asked, prompt_ids, n_particles=n, seed=seed, **options)
                n_warned += any(issubclass(each.category, ParticleWarning) for each in caught)
                ancestors.append(found.n_ancestors)
                shares.append(found.probabilities().get(best, 0.0))
            cells.append(shown(shares))
        beams = beam_search(asked, prompt_ids, n_beams=max(PARTICLES), **options)
        masses = Counter[str]()
        for each in beams:
            masses[each.text] += float(np.exp(each.log_prob))
        cells.append(f"{masses[best] / sum(masses.values()):.3f}")
        drawn = [
            [
                each.text
                for each in sample_many(asked, [prompt_ids] * max(PARTICLES), seed=seed, **options)
            ]
            for seed in SEEDS
        ]
        cells.append(shown([texts.count(best) / len(texts) for texts in drawn]))
        least = f"{min(ancestors)} to {max(ancestors)}"
        print(f"| {prompt!r}, {best} | {' | '.join(cells)} | {least} | {n_warned} |", flush=True)


def shown(shares: list[float]) -> str:
    """Return the mean of some shares, and their range."""
    return f"{np.mean(shares):.3f} ({min(shares):.2f} to {max(shares):.2f})"


def exact(
    model: TransformersModel, prompt_ids: tuple[int, ...], index: cfgguide.Index
) -> dict[str, float]:
    """Return the probability of each answer, if the text is one of them."""
    sequences = list(spelled(index))
    masses = Counter[str]()
    asked: dict[tuple[int, ...], float] = {(): 0.0}
    by_length: dict[int, set[tuple[int, ...]]] = {}
    for sequence in sequences:
        for end in range(len(sequence)):
            by_length.setdefault(end, set()).add(sequence[:end])
    for length in sorted(by_length):
        prefixes = sorted(by_length[length])
        for first in range(0, len(prefixes), BATCH):
            batch = prefixes[first : first + BATCH]
            logits = model.logits([(*prompt_ids, *prefix) for prefix in batch])
            logs = logits.astype(np.float64)
            logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
            for prefix, row in zip(batch, logs, strict=True):
                for sequence in sequences:
                    if sequence[:length] == prefix and len(sequence) > length:
                        asked[sequence[: length + 1]] = asked[prefix] + float(row[sequence[length]])
    for sequence in sequences:
        masses[index.vocabulary.spell(sequence).decode()] += float(np.exp(asked[sequence]))
    total = sum(masses.values())
    return {answer: mass / total for answer, mass in masses.items()}


def spelled(index: cfgguide.Index) -> Iterator[tuple[int, ...]]:
    """Yield all sequences of tokens that write a sentence, EOS last."""
    pending: list[tuple[int, ...]] = [()]
    while pending:
        sequence = pending.pop()
        guide = cfgguide.Guide(index)
        for token_id in sequence:
            guide.advance(token_id)
        for token_id in guide.allowed_token_ids().tolist():
            longer = (*sequence, token_id)
            if token_id in index.vocabulary.eos_token_ids:
                yield longer
            elif len(longer) < MAX_NEW_TOKENS:
                pending.append(longer)


if __name__ == "__main__":
    main()
