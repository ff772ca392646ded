"""Fuzz until the time is up: `python -m fuzz --seconds 1200 --seed 1`, with `tests` on the path.

Prints what was compared; the exit status is 1 if the engine disagreed with Lark, or about a schema
with `jsonschema`. The
same seed draws the same cases in the same order, however many of them the time is enough for. What
fails is written to `tests/fuzz/crashes/`, where the fast tests replay it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import time

from tqdm import tqdm

from fuzz.explore import Report, explore
from fuzz.features import EARLEY_FEATURES, FEATURES
from fuzz.schemas import explore_schemas

BATCH = 100  # cases of one seed
ALL_FEATURES = FEATURES | EARLEY_FEATURES


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="a fresh one by default")
    parser.add_argument("--without", nargs="*", default=[], help="features to switch off")
    parser.add_argument("--only", nargs="*", help="features to switch on, and no others")
    parser.add_argument("--schemas", action="store_true", help="JSON Schemas, and nothing else")
    parser.add_argument("--earley", action="store_true", help="Lark's Earley, and nothing else")
    parser.add_argument("--features", action="store_true", help="list them and stop")
    arguments = parser.parse_args()
    unknown = {*arguments.without, *(arguments.only or [])} - set(ALL_FEATURES)
    if unknown:
        parser.error(f"no feature is called {', '.join(sorted(unknown))}; see --features")
    return arguments


def n_cases(report: Report) -> int:
    return sum(report.counts[name] for name in ("grammars", "patterns", "schemas"))


def main() -> int:
    arguments = _arguments()
    os.environ["CFGGUIDE_CACHE"] = "off"
    if arguments.features:
        sys.stdout.writelines(f"{name:26} {what}\n" for name, what in ALL_FEATURES.items())
        return 0
    first = arguments.seed if arguments.seed is not None else random.SystemRandom().getrandbits(32)
    chosen = set(arguments.only or ALL_FEATURES) - set(arguments.without)
    report, started = Report(), time.monotonic()
    end = started + arguments.seconds
    bar = tqdm(unit=" cases", disable=not sys.stderr.isatty())
    with contextlib.suppress(KeyboardInterrupt), bar:  # TimeIsUp is one
        for batch in range(sys.maxsize):
            if arguments.schemas or (batch % 8 == 6 and not arguments.earley):
                seed = first + BATCH * batch
                explore_schemas(report, first_seed=seed, examples=BATCH, end=end)
                if time.monotonic() > end:
                    break
                bar.update(n_cases(report) - bar.n)
                continue
            is_earley = arguments.earley or batch % 8 in (1, 5)
            explore(
                report,
                first_seed=first + batch,
                examples=BATCH,
                of_patterns=not is_earley and batch % 4 == 3,
                parser="earley" if is_earley else "lalr",
                features=chosen & set(EARLEY_FEATURES if is_earley else FEATURES),
                end=end,
            )
            bar.update(n_cases(report) - bar.n)
    lines = [f"seed {first}, {time.monotonic() - started:.0f} seconds", *report.lines()]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if report.n_disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
