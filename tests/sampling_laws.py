"""A table of how the law of what is written compares with exact enumeration.

    python tests/sampling_laws.py

For some small models (`table_models`) and two grammars: how likely a model is to write a sentence
by itself, exactly and as steering estimates it; how far the law of masked sampling is from the
model conditioned on that (total variation); and chi-squared statistics of draws, with and without
steering, against both. A statistic above its bound, which chance exceeds once in 1,000, is marked.
The masked law of the brackets has no end, so it is not enumerated.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from support.steered_cases import CASES
from support.table_models import chi_squared, masked_law, model_law, normalised, table_model

import cfgguide

N_MASKED, N_STEERED, N_PARTICLES = 5000, 800, 200


def shown(counts: Counter, law: dict | None) -> str:
    if law is None:
        return f"{'-':>17}"
    statistic, bound = chi_squared(counts, law)
    return f"{statistic:9,.1f}{'!' if statistic > bound else ' '}({bound:4.1f})"


def main() -> None:
    print(f"masked: {N_MASKED} draws; steered: {N_STEERED} draws, {N_PARTICLES} particles each")
    print("case      seed  P(sentence)  estimate  distance | masked: own law   conditioned", end="")
    print(" | steered: masked   conditioned")
    for case, (index, sequences, most) in CASES.items():
        for seed in range(4):
            model = table_model(index.vocabulary.size, seed)
            law = model_law(model, sequences)
            conditioned = normalised(law)
            masked = masked_law(model, sequences) if case == "letters" else None
            found = cfgguide.decoding.sample_many(
                model, [()] * N_MASKED, index=index, max_new_tokens=most, seed=seed
            )
            counts = Counter(each.token_ids for each in found if each.is_complete)
            steered = [
                cfgguide.decoding.steer(
                    model, index=index, n_particles=N_PARTICLES, max_new_tokens=most, seed=number
                )
                for number in range(N_STEERED)
            ]
            draws = Counter(
                each.draw(10_000 + number).token_ids for number, each in enumerate(steered)
            )
            evidence = np.mean([np.exp(each.log_evidence) for each in steered])
            distance = "       -"
            if masked is not None:
                distance = f"{sum(abs(masked[i] - conditioned[i]) for i in law) / 2:8.3f}"
            print(
                f"{case:9} {seed:4} {sum(law.values()):12.5f} {evidence:9.5f}  {distance} |"
                f" {shown(counts, masked)} {shown(counts, conditioned)} |"
                f" {shown(draws, masked)} {shown(draws, conditioned)}"
            )


if __name__ == "__main__":
    main()
