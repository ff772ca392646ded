"""Run the hostile corpus, or a part of it, and print what became of it.

``PYTHONPATH=.:tests python -m hostile [--only TEXT] [--every N] [--json FILE]``
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hostile import engine
from hostile.cases import KINDS, all_cases
from hostile.run import OUTCOMES, STANDSTILL, Outcome, as_json, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments choose; return 0 if every case works or is refused in time."""
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__)
    parser.add_argument("--only", default="", help="cases whose names hold this text")
    parser.add_argument("--every", type=int, default=1, help="only each n-th case")
    parser.add_argument("--json", type=Path, help="write the outcomes to this file")
    parser.add_argument("--all", action="store_true", help="print also what is as it should be")
    options = parser.parse_args(arguments)
    engine.prepare()
    cases = [case for case in all_cases() if options.only in case.full_name][:: options.every]
    outcomes = []
    for case in cases:
        outcomes.append(run(case, engine.engine))
        if options.all or not is_right(outcomes[-1]):
            print(outcomes[-1], flush=True)
    if options.json:
        options.json.write_text("".join(as_json(each) + "\n" for each in outcomes))
    print(table(outcomes))
    return int(not all(map(is_right, outcomes)))


def is_right(outcome: Outcome) -> bool:
    """Return whether a case works or is refused, in time, and other threads could run."""
    return outcome.outcome in OUTCOMES[:2] and outcome.standstill <= STANDSTILL


def table(outcomes: Sequence[Outcome]) -> str:
    """Return how many cases of each kind came to what."""
    heads = [f"{name:>12}" for name in OUTCOMES]
    rows = [f"{'':10}{'cases':>6}" + "".join(heads) + "  longest standstill, over 50 ms"]
    for kind in (*KINDS, ""):
        chosen = [each for each in outcomes if each.name.startswith(kind)]
        if not chosen:
            continue
        counts = Counter(each.outcome for each in chosen)
        longest = max(each.standstill for each in chosen)
        n_over = sum(each.standstill > STANDSTILL for each in chosen)
        cells = "".join(f"{counts[name]:12}" for name in OUTCOMES)
        rows.append(
            f"{kind or 'all':10}{len(chosen):6}{cells}  {1000 * longest:.0f} ms, {n_over} cases"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
