"""Measures what guiding costs on an accelerator: tokens a second, guided over unguided.

In: sizes of Llamas, which get random weights, and of batches. Out: a section with the tokens a
second of each way to decode (:mod:`gpu_loop`), the time of steps and masks, and that of a step's
parts. Nothing is downloaded; the vocabulary is made from the standard library unless there is a
tokenizer. Where there is no accelerator, all of it runs on the CPU, where nothing is hidden.

Random weights write random texts, but of tokens as frequent as in real ones. The grammars are
tidy, as those of servers. A pass *new* has an index that knows no mask yet, the others write the
same texts with all masks known.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from gpu_loop import N_CALLS, Loop, Passed, Rows
from gpu_masking import Masking, masking_named
from gpu_model import SIZES, Decoder, random_model
from gpu_report import Report
from page import RESULTS
from vocabularies import find, made_tokens, open_tokenizer

from cfgguide import Grammar, Vocabulary, compile, json_schema

N_TOKENS = 128_256  # as Llama 3 has them
SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1, "maximum": 99_999},
        "kind": {"enum": ["order", "invoice", "request", "response"]},
        "customer": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 24},
                "email": {"type": "string", "pattern": "^[a-z.]{1,20}@[a-z]{2,12}\\.(com|org)$"},
                "since": {"type": "string", "format": "date"},
            },
            "required": ["name", "email"],
            "additionalProperties": False,
        },
        "lines": {
            "type": "array",
            "minItems": 1,
            "maxItems": 8,
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
                    "count": {"type": "integer", "minimum": 0, "maximum": 500},
                    "price": {"type": "number", "minimum": 0},
                    "is_gift": {"type": "boolean"},
                },
                "required": ["sku", "count", "price"],
                "additionalProperties": False,
            },
        },
        "note": {"anyOf": [{"type": "string", "maxLength": 60}, {"type": "null"}]},
    },
    "required": ["id", "kind", "customer", "lines"],
    "additionalProperties": False,
}
GUIDES: dict[str, Callable[[], Grammar]] = {
    "json": partial(Grammar.bundled, "json", tidy=True),
    "sql": partial(Grammar.bundled, "sql", start="statement", tidy=True),
    "schema": partial(json_schema, SCHEMA, tidy=True),
}


@dataclass(frozen=True)
class Way:
    """A way to decode.

    Attributes
    ----------
    name : str
        As the tables have it.
    is_ahead : bool
        As for :meth:`Loop.run`.
    masking : str
        One of `MASKINGS`; "" for none.
    is_new : bool
        Whether the index is made anew.
    """

    name: str
    is_ahead: bool
    masking: str = ""
    is_new: bool = False


#: All others are compared with the first.
WAYS = (
    Way("unguided", is_ahead=True),
    Way("unguided, in step", is_ahead=False),
    Way("hidden, new", is_ahead=True, masking="package", is_new=True),
    Way("hidden", is_ahead=True, masking="package"),
    *(Way(f"hidden, {name}", is_ahead=True, masking=name) for name in ("table", "triton")),
    Way("serial", is_ahead=False, masking="package"),
    Way("unguided, again", is_ahead=True),
)


@dataclass(frozen=True)
class Measurement:
    """What is the same for all models, batches and guides.

    Attributes
    ----------
    options : argparse.Namespace
        Of the command line.
    device : torch.device
        Where models are.
    vocabulary : Vocabulary
        Of all of them.
    until : float
        When nothing more is begun, by `time.perf_counter`.
    report : Report
        Where figures go.
    """

    options: argparse.Namespace
    device: torch.device
    vocabulary: Vocabulary
    until: float
    report: Report

    def has_time(self, setting: str) -> bool:
        """Return whether there is time left; if not, the report names what is left out."""
        if time.perf_counter() <= self.until:
            return True
        self.report.cut.append(setting)
        return False


def main() -> None:
    options = _options()
    until = time.perf_counter() + 60 * options.minutes
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    device = torch.device(options.device)
    with tempfile.TemporaryDirectory() as temporary, torch.inference_mode():
        os.environ["CFGGUIDE_CACHE"] = temporary
        vocabulary = _vocabulary(options)
        # What is made once for a vocabulary is made before anything is measured.
        compile(Grammar('start: "a"'), vocabulary)
        gc.collect()
        gc.freeze()  # torch has so many objects that a collection takes half a second
        report = Report(options.results, _introduction(options, device, vocabulary))
        measurement = Measurement(options, device, vocabulary, until, report)
        for size in options.models:
            _measure_model(size, measurement)
    report.end()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=list(SIZES), default=["1B", "8B"])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 32, 128, 256])
    parser.add_argument("--guides", nargs="+", choices=list(GUIDES), default=list(GUIDES))
    parser.add_argument("--steps", type=int, default=64, help="tokens of each row in a pass")
    parser.add_argument("--context", type=int, default=512, help="tokens that a step attends to")
    parser.add_argument("--tokenizer", help="a folder or file; by default a vocabulary is made")
    parser.add_argument("--tokens", type=int, default=N_TOKENS, help="of the vocabulary made")
    parser.add_argument("--minutes", type=float, default=7.0, help="then the rest is left out")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--quick", action="store_true", help="a tiny model on the CPU, few steps")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the figures")
    options = parser.parse_args()
    if options.quick:
        options.models, options.batches, options.device = ["tiny"], [4], "cpu"
        options.steps, options.context, options.tokens = 6, 32, 2048
    options.context = max(options.context, options.steps, N_CALLS)
    return options


def _vocabulary(options: argparse.Namespace) -> Vocabulary:
    if options.tokenizer:
        read = open_tokenizer(find(options.tokenizer))
        return Vocabulary(read.token_bytes(), eos_token_ids=read.eos_token_id)
    return Vocabulary([*made_tokens(options.tokens - 1), None], eos_token_ids=options.tokens - 1)


def _introduction(options: argparse.Namespace, device: torch.device, vocabulary: Vocabulary) -> str:
    name = torch.cuda.get_device_name() if device.type == "cuda" else "the CPU"
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    return (
        f"On {name} with {os.cpu_count()} cores beside it; {versions}. Llamas with random weights, "
        f"{vocabulary.size:,} tokens, a context of {options.context} tokens, {options.steps} steps "
        "a pass, with the same random numbers in each. All ratios are over *unguided*, which waits "
        "for nothing: it launches a step before it reads the tokens of the last one; *in step* "
        "reads them first. *Hidden*: masks are made beside the forward pass; *serial*: before it. "
        "*New*: with an index that knows no mask; the others know all. The package's masking is "
        "`cfgguide.apply_bitmask`, unless *table* or *triton* is named."
    )


def _measure_model(size: str, measurement: Measurement) -> None:
    """Measure one model with all batches and guides, for which there is time."""
    options, report = measurement.options, measurement.report
    model = None
    for n_rows in options.batches:
        setting = f"{size}, batch {n_rows}"
        if not measurement.has_time(setting):
            continue
        loop = None
        try:
            if model is None:
                model = random_model(size, measurement.vocabulary.size, measurement.device)
            decoder = Decoder(model, n_rows, options.context)
            report.forward[setting] = decoder.how
            loop = Loop(decoder)
            loop.run(options.steps, is_ahead=True, until=measurement.until)  # what torch does once
            for guide in options.guides:
                if measurement.has_time(f"{setting}, {guide}"):
                    named = {"model": size, "batch": n_rows, "guide": guide}
                    _measure_guide(named, decoder, loop, measurement)
                    report.save()
        except Exception as error:  # the others go on, and the section says why this one did not
            report.failed[setting] = _reason(error)
        report.save()
        left = measurement.until - time.perf_counter()
        print(f"{setting}: {left:.0f} s left", file=sys.stderr, flush=True)
        loop = decoder = None  # type: ignore[assignment]
        _free(measurement.device)
    del model
    _free(measurement.device)


def _free(device: torch.device) -> None:
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _measure_guide(
    named: dict[str, Any], decoder: Decoder, loop: Loop, measurement: Measurement
) -> None:
    """Measure all ways to decode with one guide, then the parts of a step with its last masks."""
    setting = f"{named['model']}, batch {named['batch']}, {named['guide']}"
    maskings: dict[str, Masking] = {}
    index = None
    unguided: float | None = None
    for way in WAYS:
        if not measurement.has_time(f"{setting}, {way.name}"):
            continue
        row = {**named, "way": way.name}
        try:
            rows = masking = None
            if way.masking:
                if index is None or way.is_new:
                    index = None
                    gc.collect()  # an index that lives on shares what it knows
                    index = compile(GUIDES[named["guide"]](), measurement.vocabulary)
                rows = Rows(index, named["batch"])
                if way.masking not in maskings:
                    maskings[way.masking] = masking_named(way.masking, decoder.logits)
                masking = maskings[way.masking]
            passed = loop.run(
                measurement.options.steps,
                is_ahead=way.is_ahead,
                rows=rows,
                masking=masking,
                until=measurement.until,
            )
            row |= _figures(passed, named["batch"])
            if way is WAYS[0]:
                unguided = row["tokens per second"]
            if unguided:
                row["ratio"] = row["tokens per second"] / unguided
        except Exception as error:  # as above
            row["error"] = _reason(error)
        measurement.report.ways.append(row)
    try:
        parts: dict[str, Any] = dict(_parts(decoder, loop, maskings))
    except Exception as error:  # as above
        parts = {"error": _reason(error)}
    measurement.report.parts.append(named | parts)


def _figures(passed: Passed, n_rows: int) -> dict[str, Any]:
    """Return what is kept of a pass; milliseconds."""
    figures: dict[str, Any] = {
        "steps": len(passed.steps),
        "tokens per second": n_rows * len(passed.steps) / sum(passed.steps),
        "new masks": passed.n_new,
        "texts ended": passed.n_ended,
    }
    for name, seconds in (("step", passed.steps), ("masks", passed.masks)):
        if seconds:
            times = 1e3 * np.array(seconds)
            figures[f"{name}, mean"] = float(times.mean())
            figures[f"{name}, p99"] = float(np.percentile(times, 99))
            figures[f"{name}, worst"] = float(times.max())
    return figures


def _parts(decoder: Decoder, loop: Loop, maskings: dict[str, Masking]) -> dict[str, float]:
    """Return the microseconds of each part of a step alone."""
    decoder.restart()
    parts = {
        "forward": loop.microseconds(decoder.forward),
        "sampling": loop.microseconds(loop.sample),
        "copy": loop.microseconds(loop.copy),
    }
    for name, masking in maskings.items():
        parts[f"masking, {name}"] = loop.microseconds(partial(_mask, decoder, loop, masking))
    if "table" in maskings:
        apply = partial(maskings["table"].apply, decoder.logits)
        parts["of it after the forward pass"] = loop.microseconds(apply)
    return parts


def _mask(decoder: Decoder, loop: Loop, masking: Masking) -> None:
    masking.take(loop.words)
    masking.apply(decoder.logits)


def _reason(error: Exception) -> str:
    line = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {line:.200}".replace("|", "/")


if __name__ == "__main__":
    main()
