"""Run the hostile corpus, or look for worse; print what became of it.

``PYTHONPATH=.:tests python -m hostile [--only TEXT] [--every N] [--json FILE]`` runs the listed
cases, ``--seconds N [--seed N] [--out FOLDER]`` looks for others (:mod:`hostile.search`), and
``--replay FILE`` runs one that was found. The exit status is 1 if something is not as it should be.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from tqdm import tqdm

from hostile import attack, engine
from hostile.cases import KINDS, all_cases
from hostile.run import OUTCOMES, STANDSTILL, Outcome, as_json, run
from hostile.search import Search, is_defect, read, shares, steps_of
from hostile.tables import TABLES


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments choose; return 0 if every case works or is refused in time."""
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__)
    parser.add_argument("--only", default="", help="cases whose names hold this text")
    parser.add_argument("--every", type=int, default=1, help="only each n-th case")
    parser.add_argument("--json", type=Path, help="write what each took into this file")
    parser.add_argument("--all", action="store_true", help="print also what is as it should be")
    parser.add_argument("--seconds", type=float, help="look for worse for so long")
    parser.add_argument("--texts", type=int, default=sys.maxsize, help="try at most so many")
    parser.add_argument("--seed", type=int, help="of what is drawn; a fresh one by default")
    parser.add_argument("--kinds", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--out", type=Path, help="write what is found into this folder")
    parser.add_argument("--replay", type=Path, help="run what is in this file")
    options = parser.parse_args(arguments)
    if options.replay:
        attack.prepare()
        return replay(options.replay)
    if options.seconds is not None:
        attack.prepare()
        seed = random.SystemRandom().getrandbits(30) if options.seed is None else options.seed
        with options.json.open("w") if options.json else nullcontext() as file:
            log = file.write if file else None
            search = Search(seed, options.kinds, folder=options.out, log=log)
            look(search, options.seconds, options.texts)
        print(f"seed {seed}: {search.table()}")
        return int(bool(search.bad))
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


def look(search: Search, seconds: float, most: int) -> None:
    """Go on until the time is up, so many texts were tried, or the user ends it."""
    end = time.monotonic() + seconds
    with (
        contextlib.suppress(KeyboardInterrupt),
        tqdm(unit=" texts", disable=not sys.stderr.isatty()) as bar,
    ):
        while time.monotonic() < end and search.n_tried < most:
            search.go_on()
            bar.update()
            bar.set_postfix(refused=search.n_refused, bad=len(search.bad), refresh=False)


def replay(path: Path) -> int:
    """Print the steps of a find."""
    steps = steps_of(read(path))
    for step in steps:
        print(
            f"{step.name:13} {1000 * step.seconds:7.0f} ms of {1000 * step.whole:6.0f} ms "
            f"{step.n_bytes / 1e6:6.0f} MB {1000 * step.standstill:5.0f} ms  {step.outcome}  "
            f"{step.more} {step.where}"
        )
    return int(any(is_defect(step) or max(shares(step).values()) > 1 for step in steps))


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
