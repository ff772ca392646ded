"""Draws cases, compares them, and keeps what fails as small files."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lark
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from fuzz.case import CRASHES, Case, minimised, write
from fuzz.compare import Disagreement, compare
from fuzz.features import FEATURES
from fuzz.grammars import Drawn, earley_grammars, grammars
from fuzz.lone_patterns import LonePattern, compare_with_re, lone_patterns
from fuzz.texts import LONGEST, texts_near, vocabulary

#: For Hypothesis, and again for `fuzz.case.minimised`.
SECONDS_TO_SHRINK = float(os.environ.get("CFGGUIDE_FUZZ_SECONDS_TO_SHRINK", "30"))


class TimeIsUp(KeyboardInterrupt):
    """Ends a run in the middle; Hypothesis lets a KeyboardInterrupt through."""


class SmallEnough(KeyboardInterrupt):
    """Ends shrinking."""


@dataclass
class Report:
    """What was compared and what was found.

    Attributes
    ----------
    counts : Counter
        By name, as in `fuzz.compare`; `feature: ...` counts the grammars that compiled with each.
    files : list of Path
        The failures, one file each.
    """

    counts: Counter[str] = field(default_factory=Counter)
    files: list[Path] = field(default_factory=list)

    @property
    def n_disagreements(self) -> int:
        return sum(n for name, n in self.counts.items() if name.startswith("disagreements"))

    def lines(self) -> list[str]:
        """Return the counts, one a line, and where the failures are."""
        shown = {name: n for name, n in self.counts.items() if not name.startswith("feature: ")}
        width = max(map(len, shown), default=0)
        found = [f"{name:{width}} {shown[name]:>10,}" for name in sorted(shown)]
        return found + [f"see {path}" for path in self.files]


def explore(
    report: Report,
    *,
    first_seed: int,
    examples: int,
    of_patterns: bool = False,
    parser: str = "lalr",
    features: Collection[str] = tuple(FEATURES),
    end: float = float("inf"),
    folder: Path = CRASHES,
) -> None:
    """Compare so many random cases; failures are made small and written to files.

    Parameters
    ----------
    report : Report
        Is added to.
    first_seed : int
        The same seed draws the same cases.
    examples : int
        Number of cases, without those of shrinking.
    of_patterns : bool
        Whether to compare lone patterns with `re` instead of grammars with Lark.
    parser : str
        Whether to draw grammars for Lark's parser `lalr` or for `earley`.
    features : collection of str
        What grammars are drawn from.
    end : float
        When to stop in the middle, by the monotonic clock.
    folder : Path
        Where failures are written.
    """
    failed: dict[str, tuple[Case, Disagreement]] = {}  # by kind, the smallest
    since: list[float] = []  # when the first one failed

    def draw_case(drawn: Drawn, number: int) -> None:
        case = case_of(drawn, random.Random(number))
        run(case, compare, case, drawn.features)

    def draw_pattern(lone: LonePattern) -> None:
        run(lone.case(), compare_with_re, lone, ())

    def run(case: Case, comparison: Any, given_to_it: Any, used: Collection[str]) -> None:
        if failed and time.monotonic() > since[0] + SECONDS_TO_SHRINK:
            raise SmallEnough
        if time.monotonic() > end:
            raise TimeIsUp
        counts: Counter[str] = Counter() if failed else report.counts  # shrinking does not count
        n_compiled = counts["compiled"]
        try:
            comparison(given_to_it, counts)
        except Disagreement as error:
            since.extend([] if failed else [time.monotonic()])
            failed[error.kind] = error.case or case, error
            raise
        if counts["compiled"] > n_compiled:
            counts.update(f"feature: {name}" for name in used)

    options = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    drawn_grammars = earley_grammars if parser == "earley" else grammars
    drawing: Any = (
        given(lone_patterns(features))(draw_pattern)
        if of_patterns
        else given(drawn_grammars(features), st.integers(0, 2**16))(draw_case)
    )
    try:
        seed(first_seed)(options(drawing))()
    except SmallEnough:
        pass
    except Exception:  # a Disagreement, or a group of them, or Hypothesis finds one unstable
        if not failed:
            raise
    finally:
        for kind, (case, error) in failed.items():
            report.counts[f"disagreements: {kind}"] += 1
            report.files.append(_kept(kind, case, error, folder))


def case_of(drawn: Drawn, rng: random.Random) -> Case:
    """Return a case with texts and tokens for a grammar; Lark may not take the grammar."""
    try:
        parser = lark.Lark(drawn.text, parser=drawn.parser, lexer=drawn.lexer)
    except Exception:
        return Case(drawn.text, drawn.lexer, (b"a",), (), drawn.parser)
    texts = texts_near(parser, drawn.letters, rng, 12, LONGEST[drawn.parser])
    encoded = tuple(text.encode() for text in texts)
    tokens = vocabulary(encoded, drawn.letters, rng)
    return Case(drawn.text, drawn.lexer, tokens, encoded, drawn.parser)


def _kept(kind: str, case: Case, error: Disagreement, folder: Path) -> Path:
    """Write a failure as small as can be found soon."""
    messages = {case: str(error)}

    def fails(smaller: Case) -> bool:
        try:
            compare(smaller, Counter())
        except Disagreement as found:
            messages[smaller] = str(found)
            return found.kind == kind
        return False

    small = minimised(case, fails, seconds=SECONDS_TO_SHRINK)
    return write(small, kind, messages[small], folder)
