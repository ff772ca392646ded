"""Measures generation with a real model: tokens per second, guided against unguided.

In: SmolLM2 (or a local model). Out: a section of `docs/performance.md`. Both ways go through
transformers' ``generate`` with the same settings and write the same number of tokens, in turns. The
grammar is a JSON array of so many values that it cannot end before, and the unguided texts go on
behind EOS.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import tables
import torch
import transformers
from page import RESULTS, Section
from targets import Target

from cfgguide import Grammar, Index, LogitsProcessor, compile
from cfgguide.models import load_model

PROMPT = "Some orders of a small shop as one JSON array of objects:\n"
BATCHES = (1, 8)
N_TOKENS = 64
N_ROUNDS = 9
LEAST = 0.98


class TimedProcessor:
    """A logits processor that adds up the seconds that it takes."""

    def __init__(self, index: Index) -> None:
        self._process = LogitsProcessor(index)
        self.seconds = 0.0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the masked scores."""
        started = time.perf_counter()
        masked = self._process(input_ids, scores)
        self.seconds += time.perf_counter() - started
        return masked


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, help="a local model; default: SmolLM2")
    parser.add_argument("--rounds", type=int, default=N_ROUNDS)
    parser.add_argument("--tokens", type=int, default=N_TOKENS, help="new tokens of each text")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the figures")
    options = parser.parse_args()
    section = Section.begun("generation", "Generation")
    model, tokenizer = load_model(options.model)
    index = compile(_endless(options.tokens), tokenizer)
    prompt = tokenizer(PROMPT, return_tensors="pt")["input_ids"]
    head = ["batch", "unguided, tokens/s", "guided, tokens/s", "ratio by round", "masks' share"]
    rows = []
    for batch in BATCHES:
        inputs = prompt.repeat(batch, 1)
        _seconds(model, inputs, options.tokens, 0, None)  # torch's own warm-up
        first = _seconds(model, inputs, options.tokens, 0, TimedProcessor(index))
        unguided: list[float] = []
        guided: list[float] = []
        shares: list[float] = []
        for seed in range(1, options.rounds + 1):
            processor = TimedProcessor(index)
            order = [(unguided, None), (guided, processor)]
            for times, used in order if seed % 2 else order[::-1]:
                times.append(_seconds(model, inputs, options.tokens, seed, used))
            shares.append(processor.seconds / guided[-1])
        ratios = np.array(unguided) / np.array(guided)
        n_tokens = batch * options.tokens
        section.figures[f"batch {batch}"] = {
            "unguided seconds": unguided,
            "guided seconds": guided,
            "shares of the masks": shares,
            "first guided seconds": first,
        }
        low, high = np.percentile(ratios, [25, 75])
        quartiles = f"quartiles {tables.number(low)}-{tables.number(high)}"
        median = float(np.median(ratios))
        title, setting = "guided tokens per second, of unguided", f"SmolLM2, batch {batch}"
        section.targets.append(
            Target(title, setting, median, LEAST, "times", quartiles, is_least=True)
        )
        without = 1 - float(np.median(shares))
        title = "guided tokens per second, of the same run without the time of the masks"
        section.targets.append(Target(title, setting, without, LEAST, "times", is_least=True))
        speeds = [tables.number(n_tokens / float(np.median(each))) for each in (unguided, guided)]
        share = f"{100 * float(np.median(shares)):.2f} %"
        rows.append([str(batch), *speeds, f"{tables.number(median)} ({quartiles})", share])
    section.lines = [
        f"SmolLM2-135M on this processor, {torch.get_num_threads()} thread(s), sampled at "
        f"temperature 0.7: {options.tokens} new tokens a row, {options.rounds} rounds, guided and "
        "unguided in turns. *Masks' share*: of the guided time, inside the logits processor.",
        "",
        *tables.table(head, rows),
        "",
    ]
    section.write(options.results)


def _endless(n_values: int) -> Grammar:
    """Return JSON's grammar with a start rule that so many tokens cannot finish."""
    grammar = Grammar.bundled("json", max_whitespace=16)
    rule = f'start: "[" _ws value ("," _ws value)~{2 * n_values} "]"'
    return Grammar(grammar.text.replace("start: _ws value", rule))


def _seconds(model: Any, inputs: torch.Tensor, n_tokens: int, seed: int, processor: Any) -> float:
    """Return how long it takes to write so many tokens.

    Raises
    ------
    RuntimeError
        If they became fewer.
    """
    torch.manual_seed(seed)
    settings: Any = transformers.GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=n_tokens, do_sample=True, temperature=0.7, top_k=0, pad_token_id=0
    )
    settings.eos_token_id = None
    started = time.perf_counter()
    written = model.generate(
        input_ids=inputs,
        attention_mask=torch.ones_like(inputs),
        generation_config=settings,
        logits_processor=[processor] if processor else [],
    )
    elapsed = time.perf_counter() - started
    if written.shape[1] != inputs.shape[1] + n_tokens:
        raise RuntimeError(f"{written.shape[1] - inputs.shape[1]} tokens instead of {n_tokens}")
    return elapsed


if __name__ == "__main__":
    main()
