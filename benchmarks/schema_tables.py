"""Writes what engines did with schemas as tables.

In: cases, and a :class:`~schema_runs.Run` for each engine and case. Out: lines of Markdown: one row
an engine; pairs of engines over the schemas that both compiled; failures by reason; the slowest
schemas.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import jsonschema
import numpy as np
import numpy.typing as npt
import tables
from schema_cases import Case, Instance, violated_keyword
from schema_runs import COMPILED, REFUSED, Reading, Run

RIGHT = "right"
ACCEPTED = "invalid accepted"
VALID_REFUSED = "valid refused"
FAILED = "error in an instance"
UNKNOWN = "not judged"
N_SLOWEST = 10
_LONGEST = 160  # characters of an example
_BEFORE = 80  # of them before the token that was refused
_NAME_OR_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:)?')
_PARTICULARS = re.compile(r"'([^']*)'|\"([^\"]*)\"|`([^`]*)`|\S*/\S*|\d+")
_SEVERAL_PARTICULARS = re.compile(r"…[…,:()\[\]{} ]*…")
_KEYWORDS = frozenset(jsonschema.Draft202012Validator.VALIDATORS) | {"then", "else"}


@dataclass(frozen=True)
class Decided:
    """An instance, how an engine read it, and where in its text its tokens stand."""

    case: Case
    instance: Instance
    reading: Reading
    spans: list[tuple[int, int]]

    @property
    def verdict(self) -> str:
        """What is to be said of the engine."""
        if self.reading.error:
            return FAILED
        if self.instance.is_valid is None:
            return UNKNOWN
        is_accepted = self.reading.refused is None
        if self.instance.is_valid == is_accepted:
            return RIGHT
        return ACCEPTED if is_accepted else VALID_REFUSED

    def reason(self) -> tuple[str, str]:
        """Return why it is wrong, in words that others share, and an example."""
        if self.reading.error:
            return f"{FAILED}: {_kind(self.reading.error)}", self.reading.error
        if self.verdict == ACCEPTED:
            keyword = violated_keyword(self.case, self.instance)
            return f"{ACCEPTED}: `{keyword}`", self.instance.text
        text, refused = self.instance.text, self.reading.refused
        if refused is None or refused == len(self.spans):
            return f"{VALID_REFUSED} at the end", text[-_BEFORE:]
        start, end = self.spans[refused]
        example = f"{text[max(0, start - _BEFORE) : start]}⟦{text[start:end]}⟧"
        return f"{VALID_REFUSED} {_place(text, start, end)}", example


@dataclass(frozen=True)
class Results:
    """What was found.

    Attributes
    ----------
    cases : list of Case
        All of them.
    spans : list of list of list of (int, int)
        For each case and instance, where in its text its tokens start and end.
    runs : dict of str to list of Run
        For each engine, a run for each case.
    """

    cases: list[Case]
    spans: list[list[list[tuple[int, int]]]]
    runs: dict[str, list[Run]]

    def decided(self, engine: str, number: int) -> list[Decided]:
        """Return the instances of a case that an engine got to."""
        case, run = self.cases[number], self.runs[engine][number]
        parts = zip(case.instances, run.cold, self.spans[number], strict=False)
        return [Decided(case, *part) for part in parts]

    def is_right(self, engine: str, number: int) -> bool:
        """Whether an engine decided all instances of a case, and none wrongly."""
        decided = self.decided(engine, number)
        is_whole = self.runs[engine][number].outcome == COMPILED
        return is_whole and all(each.verdict in (RIGHT, UNKNOWN) for each in decided)


def report(results: Results, *, is_warm: bool) -> Iterator[str]:
    """Yield the report."""
    cases = results.cases
    instances = [instance for case in cases for instance in case.instances]
    labels = Counter(instance.is_valid for instance in instances)
    yield (
        f"{len(cases)} schemas, {sum(bool(case.instances) for case in cases)} with instances: "
        f"{labels[True]} valid, {labels[False]} invalid, {labels[None]} with a label not believed."
    )
    yield from ("", *_table(_verdicts(results)))
    yield from ("", *_table(_times(results, is_warm=is_warm)))
    if len(results.runs) > 1:
        yield from ("", *_table(_pairs(results)))
    for engine in results.runs:
        yield from ("", f"### Failures of {engine}", "", *_failures(results, engine))
    yield from ("", "### Slowest first masks, ms", "", *_table(_slowest_first(results)))
    if any(run.cold for runs in results.runs.values() for run in runs):
        yield from ("", "### Slowest tokens, cold, mean µs", "")
        yield from _table(_slowest_tokens(results))


def _verdicts(results: Results) -> list[list[str]]:
    n_tested = sum(bool(case.instances) for case in results.cases)
    head = ["engine", f"schemas fully right, of {n_tested}", "invalid accepted", "valid refused"]
    rows = [[*head, FAILED, "compile errors", "over the limit", "crashes"]]
    for engine, runs in results.runs.items():
        verdicts = Counter(
            decided.verdict
            for number in range(len(runs))
            for decided in results.decided(engine, number)
        )
        right = sum(
            bool(case.instances) and results.is_right(engine, number)
            for number, case in enumerate(results.cases)
        )
        outcomes = Counter(run.outcome for run in runs)
        counts = [right, *(verdicts[name] for name in (ACCEPTED, VALID_REFUSED, FAILED))]
        counts += [outcomes[name] for name in (REFUSED, "over the limit", "crashed")]
        rows.append([engine, *map(str, counts)])
    return rows


def _times(results: Results, *, is_warm: bool) -> list[list[str]]:
    head = ["engine", "TTFM ms: mean", "p50", "p90", "p99", "max", "TBM µs: mean", "p50", "p99"]
    warm = ["warm mean", "warm p99"] if is_warm else []
    rows = [[*head, "max", *warm, "tokens", "memory, MB more"]]
    for engine, runs in results.runs.items():
        firsts = np.array([run.first_mask for run in runs if run.first_mask is not None]) / 1e6
        cold = steps(run.cold for run in runs)
        again = steps(run.warm for run in runs)
        cells = [engine, *_summary(firsts, (50, 90, 99, 100)), *_summary(cold, (50, 99, 100))]
        if is_warm:
            cells += _summary(again, (99,))
        growth = max((run.growth for run in runs), default=0)
        rows.append([*cells, f"{len(cold):,}", f"{growth / 1e6:,.0f}"])
    return rows


def _pairs(results: Results) -> list[list[str]]:
    """Return means of the first engine and another: what both compiled, and tokens both read."""
    ours, *others = results.runs
    rows = [["both compiled", "schemas", "TTFM ms", "ratio", "TBM µs, cold", "ratio"]]
    for other in others:
        pairs = [
            (one, two)
            for one, two in zip(results.runs[ours], results.runs[other], strict=True)
            if one.first_mask is not None and two.first_mask is not None
        ]
        cells = [f"{ours} and {other}", str(len(pairs))]
        firsts = [np.array([pair[side].first_mask for pair in pairs]) / 1e6 for side in (0, 1)]
        for one, two in (firsts, _steps_of_both(pairs)):
            if len(one) and len(two):
                cells += [f"{tables.number(one.mean())}, {tables.number(two.mean())}"]
                cells += [f"{one.mean() / two.mean():.2f}"]
            else:
                cells += ["", ""]
        rows.append(cells)
    return rows


def _steps_of_both(pairs: list[tuple[Run, Run]]) -> list[npt.NDArray[np.float64]]:
    """Return the microseconds of the tokens that two engines read, of each of them."""
    both = [two for pair in pairs for two in zip(pair[0].cold, pair[1].cold, strict=False)]
    lengths = [min(len(reading.steps) for reading in two) for two in both]
    found = (
        [step for two, n in zip(both, lengths, strict=True) for step in two[side].steps[:n]]
        for side in (0, 1)
    )
    return [np.array(each, dtype=np.int64) / 1e3 for each in found]


def _failures(results: Results, engine: str) -> list[str]:
    """Return the reasons of an engine's failures, the most frequent first, each with an example."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for number, run in enumerate(results.runs[engine]):
        found = [
            each.reason()
            for each in results.decided(engine, number)
            if each.verdict not in (RIGHT, UNKNOWN)
        ]
        if run.outcome != COMPILED:
            found.append((f"{run.outcome}: {_kind(run.reason)}", run.reason))
        for reason, example in found:
            counts[reason] += 1
            name = results.cases[number].name
            examples.setdefault(reason, f"(`{name}`: {_code(_short(example))})")
    lines = [f"* {n} {reason}\n  {examples[reason]}" for reason, n in counts.most_common()]
    return lines or ["* none"]


def _slowest_first(results: Results) -> list[list[str]]:
    """Return the schemas whose first masks took the first engine longest."""

    def milliseconds(run: Run) -> float:
        return -1.0 if run.first_mask is None else run.first_mask / 1e6

    return _slowest(results, milliseconds)


def _slowest_tokens(results: Results) -> list[list[str]]:
    """Return the schemas whose tokens took the first engine longest."""

    def microseconds(run: Run) -> float:
        found = steps([run.cold])
        return float(found.mean()) if len(found) else -1.0

    return _slowest(results, microseconds)


def _slowest(results: Results, figure: Callable[[Run], float]) -> list[list[str]]:
    """Return the schemas with the first engine's largest figures; negative ones are none."""
    ours, *_ = results.runs.values()
    numbers = sorted(range(len(ours)), key=lambda number: -figure(ours[number]))
    rows = [["schema", "bytes", *results.runs]]
    for number in numbers[:N_SLOWEST]:
        case = results.cases[number]
        cells = []
        for runs in results.runs.values():
            run, found = runs[number], figure(runs[number])
            cells.append(tables.number(found) if found >= 0 else run.outcome)
        rows.append([case.name, f"{case.size:,}", *cells])
    return rows


def steps(readings: Iterable[list[Reading]]) -> npt.NDArray[np.float64]:
    """Return the microseconds of all tokens that were read."""
    found = [reading.steps for every in readings for reading in every]
    return np.array([step for each in found for step in each], dtype=np.int64) / 1e3


def _summary(figures: npt.NDArray[np.float64], percentiles: tuple[int, ...]) -> list[str]:
    """Return the mean and percentiles as cells."""
    if not len(figures):
        return [""] * (1 + len(percentiles))
    return [tables.number(each) for each in (figures.mean(), *np.percentile(figures, percentiles))]


def _kind(text: str) -> str:
    """Return an error's message without what is particular to one schema."""

    def replaced(found: re.Match[str]) -> str:
        return found.group() if _KEYWORDS.intersection(found.groups()) else "…"

    first = text.strip().partition("\n")[0]
    return _short(_SEVERAL_PARTICULARS.sub("…", _PARTICULARS.sub(replaced, first)), 100)


def _place(text: str, start: int, end: int) -> str:
    """Return in words where in a JSON text some characters stand."""
    inside = [each for each in _NAME_OR_TEXT.finditer(text) if each.start() < end]
    if inside and inside[-1].end() > start:
        return "in a member's name" if inside[-1].group(1) else "in a string"
    return "at punctuation" if text[start:end].strip(" ,:[]{}") == "" else "in a number or word"


def _short(text: str, longest: int = _LONGEST) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[:longest]}…"


def _code(text: str) -> str:
    return f"`` {text} ``"


def _table(rows: list[list[str]]) -> list[str]:
    """Return a table whose first row is its head."""
    return tables.table(rows[0], rows[1:])
