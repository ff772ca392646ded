"""Measures generation with a real model: tokens per second, guided against unguided.

In: SmolLM2 (or a local model). Out: a section of `docs/performance.md`. Both ways go through
transformers' ``generate`` with the same settings and write the same number of tokens, in turns. The
grammar is a JSON array of so many values that it cannot end before, and the unguided texts go on
behind EOS.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tables
import torch
import transformers
from measuring import FloatArray
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
        self._process = LogitsProcessor(index, finish=False)  # the texts are to be cut
        self.seconds = 0.0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the masked scores."""
        started = time.perf_counter()
        masked = self._process(input_ids, scores)
        self.seconds += time.perf_counter() - started
        return masked


@dataclass
class Rounds:
    """What was measured with one batch.

    Attributes
    ----------
    unguided, guided : list of float
        Seconds, round by round.
    shares : list of float
        What part of the guided time was spent in the logits processor.
    """

    unguided: list[float] = field(default_factory=list)
    guided: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> FloatArray:
        """Guided tokens per second, divided by unguided."""
        ratios: FloatArray = np.array(self.unguided) / np.array(self.guided)
        return ratios


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
    rows = []
    for batch in BATCHES:
        rounds = _rounds(model, prompt.repeat(batch, 1), index, options)
        section.figures[f"batch {batch}"] = asdict(rounds)
        section.targets += _targets(rounds, f"SmolLM2, batch {batch}")
        rows.append(_row(rounds, batch, batch * options.tokens))
    head = ["batch", "unguided, tokens/s", "guided, tokens/s", "ratio by round", "masks' share"]
    section.lines = [
        f"SmolLM2-135M on this processor, {torch.get_num_threads()} thread(s), sampled at "
        f"temperature 0.7: {options.tokens} new tokens a row, {options.rounds} rounds, guided and "
        "unguided in turns. *Masks' share*: of the guided time, inside the logits processor.",
        "",
        *tables.table(head, rows),
        "",
    ]
    section.write(options.results)


def _rounds(model: Any, inputs: torch.Tensor, index: Index, options: argparse.Namespace) -> Rounds:
    rounds = Rounds()
    for used in (None, TimedProcessor(index)):  # what torch does once
        _seconds(model, inputs, options.tokens, 0, used)
    for seed in range(1, options.rounds + 1):
        processor = TimedProcessor(index)
        order = [(rounds.unguided, None), (rounds.guided, processor)]
        for times, used in order if seed % 2 else order[::-1]:
            times.append(_seconds(model, inputs, options.tokens, seed, used))
        rounds.shares.append(processor.seconds / rounds.guided[-1])
    return rounds


def _targets(rounds: Rounds, setting: str) -> list[Target]:
    titles = {
        "guided tokens per second, of unguided": rounds.ratios,
        "guided tokens per second, of the same run without its masks": 1 - np.array(rounds.shares),
    }
    return [
        Target(title, setting, float(np.median(values)), LEAST, "times", _quartiles(values), True)
        for title, values in titles.items()
    ]


def _row(rounds: Rounds, batch: int, n_tokens: int) -> list[str]:
    speeds = [
        tables.number(n_tokens / float(np.median(times)))
        for times in (rounds.unguided, rounds.guided)
    ]
    ratio = f"{tables.number(float(np.median(rounds.ratios)))} ({_quartiles(rounds.ratios)})"
    return [str(batch), *speeds, ratio, f"{100 * float(np.median(rounds.shares)):.2f} %"]


def _quartiles(values: FloatArray) -> str:
    low, high = np.percentile(values, [25, 75])
    return f"quartiles {tables.number(low)}-{tables.number(high)}"


def _endless(n_values: int) -> Grammar:
    """Return JSON's grammar with a start rule that so many tokens cannot finish."""
    grammar = Grammar.bundled("json", max_ignored=16)
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
