"""Puts what was measured into words: JSON, Markdown on standard output, and a page of the docs."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import figures
import tables
from comparing import Comparison
from engines import ENGINES, REFERENCE
from tables import Measured

MICROSECONDS = [
    ("cold mask", figures.cold_masks),
    ("warm mask", figures.warm_masks),
    ("cold advance", figures.cold_advances),
    ("advance", figures.warm_advances),
]


@dataclass
class Report:
    """All tokenizers' figures, and where they come from.

    Attributes
    ----------
    command, date, machine : str
        How, when and on what.
    grammar, documents : str
        Of all engines.
    loads : list of str
        Load averages of the machine at the beginning and at the end.
    measured : list of Measured
        What was measured.
    """

    command: str
    date: str
    machine: str
    grammar: str
    documents: str
    loads: list[str]
    measured: list[Measured] = field(default_factory=list)

    @classmethod
    def begun(cls, arguments: Sequence[str], grammar: str, documents: str) -> Report:
        """Return an empty report; paths in it are shortened to their last part."""
        shown = [
            argument if argument.startswith("docs/") else Path(argument).name or argument
            for argument in arguments
        ]
        return cls(
            command=shlex.join(["python", "benchmarks/masks.py", *shown]),
            date=datetime.date.today().isoformat(),
            machine=_machine(),
            grammar=grammar,
            documents=Path(documents).name,
            loads=[_load()],
        )

    def end(self) -> None:
        """Note how busy the machine is at the end."""
        self.loads.append(_load())


def _machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (
        f"{names[0] if names else model}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as plain data: all figures, and those of each run, but no samples."""
    return {
        **{name: value for name, value in vars(report).items() if name != "measured"},
        "tokenizers": [_tokenizer_as_json(measured) for measured in report.measured],
    }


def _tokenizer_as_json(measured: Measured) -> dict[str, Any]:
    plain = {
        name: value for name, value in vars(measured).items() if name not in ("runs", "comparisons")
    }
    return {**plain, "engines": {name: _engine_as_json(measured, name) for name in measured.runs}}


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
                "timer nanoseconds": run.timer,
                "figures": {figure: of(run) for figure, of in figures.RATIOS.items()},
            }
            for run in runs
        ],
    }


def as_page(report: Report) -> str:
    """Return a page for the documentation."""
    return "\n".join(
        [
            "# Performance",
            "",
            "Written by `benchmarks/masks.py --write`; do not edit by hand. What the columns mean, "
            "and what to beware of: [benchmarks/README.md](../benchmarks/README.md).",
            "",
            as_markdown(report),
        ]
    )


def as_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    lines = [
        f"* Command: `{report.command}`",
        f"* Date: {report.date}",
        f"* Machine: {report.machine}; load average {' to '.join(report.loads)}",
        f"* Grammar: {report.grammar}. Documents: {report.documents}.",
        f"* Versions: {_versions(report)}",
        "",
        "## Where we stand",
        "",
    ]
    for measured in report.measured:
        lines += [*tables.standing(measured), ""]
    for measured in report.measured:
        lines += tables.section(measured)
    return "\n".join(lines).rstrip() + "\n"


def _versions(report: Report) -> str:
    names = {name for measured in report.measured for name in measured.runs}
    found = {ENGINES[name].distribution: ENGINES[name].version for name in ENGINES if name in names}
    return ", ".join(f"{name} {version}" for name, version in found.items() if name)
