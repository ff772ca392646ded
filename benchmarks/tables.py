"""The tables of a report, as lines of Markdown.

In: what was measured with one tokenizer. Out: all figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import figures
from comparing import Comparison, Verdicts
from engines import FLOOR, REFERENCE
from measuring import Run


@dataclass(frozen=True)
class Measured:
    """All that was measured with one tokenizer.

    Attributes
    ----------
    tokenizer : str
        Its name.
    size : int
        The width of a mask.
    n_documents, n_steps : int
        Over what the figures are.
    skipped : dict of str to int
        How many documents were left out, by reason.
    runs : dict of str to list of Run
        The runs of each engine, one a round.
    comparisons : dict of str to Comparison
        How the engines' masks compare.
    starts : dict of str to list of Run
        Other starts of the reference, by what they find: its cache filled, no grammar compiled
        before in the process.
    absent : dict of str to str
        Engines that were not measured, and why.
    """

    tokenizer: str
    size: int
    n_documents: int
    n_steps: int
    skipped: dict[str, int]
    runs: dict[str, list[Run]]
    comparisons: dict[str, Comparison]
    starts: dict[str, list[Run]]
    absent: dict[str, str]


def _ratio_rows(measured: Measured) -> list[list[str]]:
    """Return how the peers compare with the reference, round by round."""
    peers = [name for name in measured.runs if name not in (REFERENCE, FLOOR)]
    if REFERENCE not in measured.runs or not peers:
        return []
    ours = measured.runs[REFERENCE]
    against = {name: figures.ratios(measured.runs[name], ours) for name in peers}
    head = [f"time divided by {REFERENCE}'s", *peers]
    return [
        head,
        *([name, *(_spread(against[peer][name]) for peer in peers)] for name in figures.RATIOS),
    ]


def section(measured: Measured) -> list[str]:
    """Return all that is told about one tokenizer, as lines of Markdown."""
    absent = [f"* {name}: {reason}" for name, reason in measured.absent.items()]
    skipped = [f"* left out: {n} {reason}" for reason, n in measured.skipped.items() if n]
    n_rounds = max((len(runs) for runs in measured.runs.values()), default=0)
    return [
        f"### {measured.tokenizer}: {measured.size:,} ids",
        "",
        f"{measured.n_documents} documents, {measured.n_steps:,} steps, rounds: {n_rounds}.",
        "",
        *([*absent, ""] if absent else []),
        *([*skipped, ""] if skipped else []),
        *_titled("Masks, microseconds", _mask_rows(measured)),
        *_titled("Ratios of one round: median (smallest-largest)", _ratio_rows(measured)),
        *_titled("Advance, microseconds", _advance_rows(measured)),
        *_titled("Set-up, milliseconds", _setup_rows(measured)),
        *_titled("Memory, MiB of resident growth", _memory_rows(measured)),
        *_titled("Whose masks are right", _verdict_rows(measured)),
        *_examples(measured),
    ]


def _titled(title: str, rows: list[list[str]]) -> list[str]:
    return [f"#### {title}", "", *table(rows[0], rows[1:]), ""] if rows else []


def _mask_rows(measured: Measured) -> list[list[str]]:
    columns = ["p50 (runs)", "p99", "max", "mean"]
    head = ["engine", "documents", *(f"cold {column}" for column in columns)]
    rows = [[*head, *(f"warm {column}" for column in columns), "cold max, CPU"]]
    for name, runs in measured.runs.items():
        row = [name, str(min(run.n_documents for run in runs))]
        for samples in (figures.cold_masks, figures.warm_masks):
            found = figures.summary(runs, samples)
            row += [_p50(found), *map(number, (found.p99, found.largest, found.mean))]
        rows.append([*row, number(figures.summary(runs, figures.cold_cpu).largest)])
    return rows


def _advance_rows(measured: Measured) -> list[list[str]]:
    rows = [["engine", "cold p50", "cold p99", "warm p50 (runs)", "warm p99", "warm mean"]]
    for name, runs in measured.runs.items():
        cold = figures.summary(runs, figures.cold_advances)
        warm = figures.summary(runs, figures.warm_advances)
        cells = [number(cold.p50), number(cold.p99), _p50(warm)]
        rows.append([name, *cells, number(warm.p99), number(warm.mean)])
    return [row for row in rows if row[0] != FLOOR]


def _setup_rows(measured: Measured) -> list[list[str]]:
    rows = [["engine", "import", "vocabulary", "grammar of one letter", "grammar to first mask"]]
    starts = {f"{REFERENCE}, {kind}": runs for kind, runs in measured.starts.items()}
    for name, runs in (measured.runs | starts).items():
        row = [name]
        for stage in ("import", "prepare", "letter", "compile"):
            is_known = all(stage in run.seconds for run in runs)
            found = figures.median_of(runs, _milliseconds(stage)) if is_known else None
            row.append(_spread(found) if found else "-")
        rows.append(row)
    return [row for row in rows if row[0] != FLOOR]


def _milliseconds(stage: str) -> Callable[[Run], float]:
    return lambda run: run.seconds[stage] * 1e3


def _memory_rows(measured: Measured) -> list[list[str]]:
    rows = [["engine", "compile", "passes over the documents", "what the engine says itself"]]
    for name, runs in measured.runs.items():
        compiled = figures.median_of(runs, lambda run: _mib(run, "prepared", "compiled"))
        passed = figures.median_of(runs, lambda run: _mib(run, "compiled", "passed"))
        said = ", ".join(f"{size} {value:,}" for size, value in runs[0].sizes.items())
        rows.append([name, _spread(compiled), _spread(passed), said])
    return [row for row in rows if row[0] != FLOOR]


def _mib(run: Run, before: str, after: str) -> float:
    return (run.rss[after] - run.rss[before]) / 2**20


def _verdict_rows(measured: Measured) -> list[list[str]]:
    rows = [
        [
            "engine",
            "steps compared",
            f"differ from {REFERENCE}",
            "added token treated otherwise",
            "a valid token masked",
            "an invalid token allowed",
            "document's own token masked (all steps)",
            "documents refused",
        ]
    ]
    for name, found in measured.comparisons.items():
        if name != FLOOR:
            counts = [found.n_compared, found.n_differing]
            rows.append([name, *map(str, counts), *(str(each.n_steps) for each in _kinds(found))])
    return rows


def _kinds(found: Comparison) -> list[Verdicts]:
    return [
        found.added,
        found.valid_masked,
        found.invalid_allowed,
        found.next_masked,
        found.refused,
    ]


def _examples(measured: Measured) -> list[str]:
    words = [
        f"differs from {REFERENCE} in the added token",
        "masks the valid token",
        "allows the invalid token",
        "masks the document's own token",
        "refuses",
    ]
    lines = [
        f"* {name} {word} {_code(verdicts.example)}"
        for name, found in measured.comparisons.items()
        if name != FLOOR
        for word, verdicts in zip(words, _kinds(found), strict=True)
        if verdicts.n_steps
    ]
    return ["One example of each:", "", *lines, ""] if lines else []


def _code(text: str) -> str:
    return f"`` {text} ``"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return a table as lines of Markdown."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _p50(found: figures.Summary) -> str:
    return f"{number(found.p50)} ({number(found.p50_low)}-{number(found.p50_high)})"


def _spread(values: tuple[float, float, float]) -> str:
    return f"{number(values[0])} ({number(values[1])}-{number(values[2])})"


def number(value: float) -> str:
    """Return a number with about three significant digits, and no fewer than its whole part."""
    size = abs(value)
    n_decimals = 0 if size >= 100 or not size else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{n_decimals if size >= 0.1 or not size else 4}f}"
