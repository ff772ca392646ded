"""What the engine should reach, beside what it was measured at.

In: the runs of all engines with one tokenizer. Out: a :class:`Target` a line of the table that
`docs/performance.md` begins with. Ratios are taken round by round, between runs of one round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import figures
import numpy as np
from engines import FLOOR, REFERENCE
from measuring import FloatArray, Run
from tables import Measured, number

LARGE = 150_000  # tokens: vocabularies for which the worst single mask has a target
_WARM = ["warm mask, p50", "warm mask, p99"]
_WALKERS = ("llguidance", "xgrammar")  # engines that walk the vocabulary at each step


@dataclass(frozen=True)
class Target:
    """A figure and its limit.

    Attributes
    ----------
    name, setting : str
        What is measured, and over what.
    figure, limit : float
        At most which it should be, unless `is_least`: then at least.
    unit : str
        Of both; "times" for ratios.
    spread : str
        Of the figure, if there is one.
    is_least : bool
        Whether the limit is a lower one.
    """

    name: str
    setting: str
    figure: float
    limit: float
    unit: str
    spread: str = ""
    is_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether the target is reached."""
        return self.figure >= self.limit if self.is_least else self.figure <= self.limit

    def cells(self) -> list[str]:
        """Return a row of the table."""
        sign = "at least" if self.is_least else "at most"
        limit = f"{sign} {number(self.limit)} {self.unit}"
        figure = f"{number(self.figure)} {self.unit}" + (f" ({self.spread})" * bool(self.spread))
        return [self.name, self.setting, limit, figure, "yes" if self.holds else "**no**"]


HEAD = ["target", "over", "limit", "measured", "holds"]


def of_masks(grammar: str, measured: Measured) -> list[Target]:
    """Return the targets of a grammar with one tokenizer."""
    if REFERENCE not in measured.runs:
        return []
    setting = f"{grammar}, {measured.tokenizer}"
    peers = [name for name in measured.runs if name not in (REFERENCE, FLOOR)]
    found: list[Target] = []
    if grammar == "json":
        found += _of_json(setting, measured, peers)
    elif grammar == "python":
        if FLOOR in measured.runs:
            found += _against(setting, measured, [FLOOR], _WARM, 3.0)
        found += _of_language(setting, measured, peers, "SynCode")
    elif grammar in ("sql", "sqlite", "python_expressions"):
        walkers = [name for name in peers if name in _WALKERS]
        found += _of_language(setting, measured, walkers, "fastest of llguidance and XGrammar")
        if others := [name for name in peers if name not in _WALKERS]:
            found += _of_language(setting, measured, others, ", ".join(others))
    else:
        found += _against(setting, measured, peers, _WARM, 1.0)
    if measured.size >= LARGE:
        found += _worst(setting, measured)
    return found


def _of_json(setting: str, measured: Measured, peers: list[str]) -> Iterator[Target]:
    yield from _against(setting, measured, peers, _WARM, 1.0)
    if FLOOR in measured.runs:
        yield from _against(setting, measured, [FLOOR], _WARM, 3.0)
    yield from _against(setting, measured, peers, ["advance, p50", "advance, p99"], 1.5)
    for kind, runs in {"nothing cached": measured.runs[REFERENCE], **measured.starts}.items():
        median, low, high = figures.median_of(runs, lambda run: run.seconds["compile"] * 1e3)
        limit = 10.0 if "from the cache" in kind else 50.0
        busy, *_ = figures.median_of(runs, lambda run: run.seconds["compile, processor"] * 1e3)
        spread = f"{number(low)}-{number(high)}; processor time {number(busy)}"
        yield Target(f"grammar text to first mask, {kind}", setting, median, limit, "ms", spread)


def _of_language(setting: str, measured: Measured, peers: list[str], whom: str) -> Iterator[Target]:
    limits = {"warm mask, p50": 1 / 10, "warm mask, p99": 1 / 100, "cold mask, p99": 1.0}
    for figure, limit in limits.items():
        yield from _against(setting, measured, peers, [figure], limit, whom)


def _against(
    setting: str,
    measured: Measured,
    peers: list[str],
    names: list[str],
    limit: float,
    whom: str = "fastest peer",
) -> Iterator[Target]:
    """Yield figures divided by those of the peer that is the fastest at each."""
    ours = measured.runs[REFERENCE]
    for name in names:
        ratios = {
            peer: figures.ratio(ours, measured.runs[peer], figures.RATIOS[name]) for peer in peers
        }
        if not ratios:
            continue
        fastest = max(ratios, key=lambda peer: ratios[peer][0])
        median, low, high = ratios[fastest]
        spread = f"{number(low)}-{number(high)}; {fastest}"
        title = f"{name}, against {whom if fastest != FLOOR else 'the copy of a row'}"
        yield Target(title, setting, median, limit, "times", spread)


def _worst(setting: str, measured: Measured) -> Iterator[Target]:
    """Yield the time of the worst mask of the first pass; a step's time is its median of rounds."""
    kinds: dict[str, Callable[[Run], FloatArray]] = {
        "wall time": figures.cold_masks,
        "processor time": figures.cold_cpu,
    }
    for kind, samples in kinds.items():
        runs = measured.runs[REFERENCE]
        largest = figures.summary(runs, samples).largest / 1e3
        each = [float(np.nanmax(samples(run))) / 1e6 for run in runs]
        spread = f"worst of each round {number(min(each))}-{number(max(each))}"
        yield Target(f"worst cold mask, {kind}", setting, largest, 5.0, "ms", spread)
