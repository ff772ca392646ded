"""The section of `gpu.py`: what was measured so far, written whenever something was.

In: rows of figures. Out: the section's file, which holds what there is also after the run was
ended from outside.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tables
from page import Section

_FIGURES = [
    f"{what}, {figure}" for what in ("step", "masks") for figure in ("mean", "p99", "worst")
]
_SETTING = ["model", "batch", "guide"]


class Report:
    """What was measured.

    Parameters
    ----------
    folder : Path
        Where the section's file is written.
    introduction : str
        What is said of the machine and of the words in the tables.

    Attributes
    ----------
    ways : list of dict
        For each way to decode its setting, and its figures or the ``error``.
    parts : list of dict
        For each setting the microseconds of a step's parts alone.
    forward : dict of str to str
        How the forward pass of a model and batch ran.
    failed : dict of str to str
        Why a model and batch was not measured to its end.
    cut : list of str
        What there was no time for.
    """

    def __init__(self, folder: Path, introduction: str) -> None:
        self._section = Section.begun("gpu", "Guiding on an accelerator")
        self._folder = folder
        self._introduction = introduction
        self.ways: list[dict[str, Any]] = []
        self.parts: list[dict[str, Any]] = []
        self.forward: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self.cut: list[str] = []

    def save(self) -> None:
        """Write everything so far to the section's file."""
        self._fill()
        self._section.save(self._folder)

    def end(self) -> None:
        """Write everything to the section's file and to standard output."""
        self._fill()
        self._section.write(self._folder)

    def _fill(self) -> None:
        names = ("ways", "parts", "forward", "failed", "cut")
        self._section.figures = {name: getattr(self, name) for name in names}
        self._section.lines = self._lines()

    def _lines(self) -> list[str]:
        by_how: dict[str, list[str]] = {}
        for setting, how in self.forward.items():
            by_how.setdefault(how, []).append(setting)
        return [
            self._introduction,
            "",
            *(f"* forward pass: {how} ({'; '.join(of)})" for how, of in by_how.items()),
            *(f"* {setting} ended: {reason}" for setting, reason in self.failed.items()),
            *(f"* no time was left for {setting}" for setting in self.cut),
            "",
            *_titled("Tokens a second, divided by unguided", _ratios(self.ways)),
            *_titled("A step's parts alone, microseconds", _parts(self.parts)),
            *_titled("All ways; milliseconds", _all(self.ways)),
        ]


def _titled(title: str, rows: list[list[str]]) -> list[str]:
    return [f"#### {title}", "", *tables.table(rows[0], rows[1:]), ""] if rows[1:] else []


def _ratios(ways: list[dict[str, Any]]) -> list[list[str]]:
    """Return a row for each setting, and a column for each way."""
    names = list(dict.fromkeys(row["way"] for row in ways))
    by_setting: dict[tuple[str, ...], dict[str, str]] = {}
    for row in ways:
        cells = by_setting.setdefault(tuple(str(row[name]) for name in _SETTING), {})
        if "ratio" in row:
            cells[row["way"]] = f"{row['ratio']:.3f}"
    rows = [
        [*setting, *(cells.get(name, "-") for name in names[1:])]
        for setting, cells in by_setting.items()
    ]
    return [[*_SETTING, *names[1:]], *rows]


def _parts(parts: list[dict[str, Any]]) -> list[list[str]]:
    names = list(dict.fromkeys(name for each in parts for name in each))
    return [names, *([_cell(each.get(name)) for name in names] for each in parts)]


def _all(ways: list[dict[str, Any]]) -> list[list[str]]:
    names = [*_SETTING, "way", "steps", "tokens per second", "ratio", *_FIGURES, "new masks"]
    rows = [[_cell(row.get(name)) for name in names] for row in ways]
    for row, cells in zip(ways, rows, strict=True):
        if "error" in row:
            cells[4] = row["error"]
    return [names, *rows]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return tables.number(value) if isinstance(value, float) else str(value)
