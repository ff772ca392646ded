"""Puts what was measured about masks into a section of the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import figures
import tables
import targets
from comparing import Comparison
from engines import ENGINES, REFERENCE
from page import Section
from tables import Measured

MICROSECONDS = [
    ("cold mask", figures.cold_masks),
    ("cold mask, processor time", figures.cold_cpu),
    ("warm mask", figures.warm_masks),
    ("cold advance", figures.cold_advances),
    ("advance", figures.warm_advances),
]


def report(section: Section, grammar: str, documents: str, every: list[Measured]) -> None:
    """Fill a section with what was measured with each tokenizer."""
    section.lines = [f"Documents: {documents}. Versions: {_versions(every)}.", ""]
    for measured in every:
        section.targets += targets.of_masks(grammar, measured)
        section.lines += tables.section(measured)
    section.figures = {"tokenizers": [_as_json(measured) for measured in every]}


def _versions(every: list[Measured]) -> str:
    names = {name for measured in every for name in measured.runs}
    found = {ENGINES[name].distribution: ENGINES[name].version for name in ENGINES if name in names}
    return ", ".join(f"{name} {version}" for name, version in found.items() if name)


def _as_json(measured: Measured) -> dict[str, Any]:
    """Return all figures, and those of each run, but no samples."""
    left_out = ("runs", "starts", "comparisons")
    plain = {name: value for name, value in vars(measured).items() if name not in left_out}
    starts = {kind: [run.seconds for run in runs] for kind, runs in measured.starts.items()}
    engines = {name: _engine_as_json(measured, name) for name in measured.runs}
    return {**plain, "starts": starts, "engines": engines}


def _engine_as_json(measured: Measured, name: str) -> dict[str, Any]:
    runs = measured.runs[name]
    reference = measured.runs.get(REFERENCE)
    return {
        "version": ENGINES[name].version,
        "microseconds": {
            call: asdict(figures.summary(runs, samples)) for call, samples in MICROSECONDS
        },
        "ratios to cfgguide": figures.ratios(runs, reference) if reference else {},
        "masks": asdict(measured.comparisons.get(name, Comparison())),
        "runs": [
            {
                "seconds": run.seconds,
                "rss": run.rss,
                "sizes": run.sizes,
                "documents": run.n_documents,
                "timer nanoseconds": run.timer,
                "figures": {figure: of(run) for figure, of in figures.RATIOS.items()},
            }
            for run in runs
        ],
    }
