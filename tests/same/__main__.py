"""Compare the package with a revision of it until the time is up.

``PYTHONPATH=.:tests python -m same --before REVISION --seconds N [--seed N] [--only KIND,KIND]
[--tokenizers FOLDER ...] [--out FOLDER]`` draws inputs, and ``--replay FILE`` asks about one again.
The revision may be the folder of a checkout, too. Each difference becomes a file of the folder:
made small, and judged. The exit status is 1 if one is not decided for what is new.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.inputs import KINDS
from tqdm import tqdm

from same import cases, trees
from same.cases import Case, Desk, case_of
from same.process import Side
from same.run import SIDES, Compared, Difference, Run, Tally, Work
from same.shrink import Shrinking
from same.verdict import UNDECIDED, verdict
from same.vocabularies import vocabularies_of

_MOST_SHRUNK = 25  # the others are written as they were found
_N_LIMITS = 20  # that are shown
#: In what an input may differ; the first of these is told of one that differs in several.
_FIRST = ("refusal", "mask", "accepts", "advance", "is_accepting", "check", "within", "expected")


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="same", description=__doc__.splitlines()[0])
    parser.add_argument("--before", help="a revision, or a folder with a checkout")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--inputs", type=int, default=sys.maxsize, help="compare at most so many")
    parser.add_argument("--seed", type=int, help="of what is drawn; a fresh one by default")
    parser.add_argument("--only", default="", help="kinds, with commas between them")
    parser.add_argument("--tokenizers", nargs="*", default=[], help="folders of tokenizers")
    parser.add_argument("--out", type=Path, default=trees.ROOT / "build" / "same" / "found")
    parser.add_argument("--shrink", type=float, default=40, help="seconds for each difference")
    parser.add_argument("--stop-at-first", action="store_true", help="stop at a difference")
    parser.add_argument("--replay", type=Path, help="ask about what is in this file")
    options = parser.parse_args(given)
    options.kinds = [each for each in options.only.split(",") if each] or list(KINDS)
    unknown = set(options.kinds) - set(KINDS)
    if unknown:
        parser.error(f"there are {', '.join(KINDS)}, not {', '.join(sorted(unknown))}")
    if options.before is None and options.replay is None:
        parser.error("say what to compare with: --before REVISION")
    return options


def main(given: Sequence[str] | None = None) -> int:
    """Do what the arguments say; return 1 if there is a difference that nothing excuses."""
    options = _arguments(given)
    os.environ["CFGGUIDE_CACHE"] = "off"
    if options.replay:
        return _replay(options)
    seed = random.SystemRandom().getrandbits(30) if options.seed is None else options.seed
    trees_of_sides = trees.tree_of(options.before), trees.ROOT
    with tempfile.TemporaryDirectory() as name:
        vocabularies = vocabularies_of(options.tokenizers, Path(name))
        found: list[tuple[Work, Compared]] = []
        run = Run(
            _sides(trees_of_sides),
            vocabularies,
            kinds=options.kinds,
            seed=seed,
            found=lambda work, result: found.append((work, result)),
        )
        started = time.monotonic()
        is_first = _look(run, found, options)
        seconds = time.monotonic() - started
        print(f"seed {seed}, {seconds:.0f} seconds, before: {options.before}")
        if is_first:
            used = run.tally.n("ms") / 1000
            print(f"the first difference came after {seconds:.0f} s, {used:.0f} s of processors")
        desk = Desk(_sides(trees_of_sides), {each.name: each for each in vocabularies})
        verdicts: Counter[tuple[str, str]] = Counter()
        n_judged, known = 0, set()
        try:
            for work, result in sorted(found, key=lambda each: not each[1].differences):
                name = "differ" if result.differences else "both fail"
                alike = str(result.defects[0].said) if not result.differences else None
                is_short = alike in known or len(known) >= _MOST_SHRUNK or options.shrink <= 0
                known.add(alike or f"{work.input.kind} {work.number}")
                who, line = _told(desk, work, result, options, seed, is_short=is_short)
                verdicts[f"{work.input.kind}: {name}", who] += 1
                n_judged += bool(result.differences)
                print(line, flush=True)
        except KeyboardInterrupt:
            print("interrupted while differences were made small")
        finally:
            desk.close()
    print("\n".join(_table(run.tally, verdicts)))
    n_bad = sum(n for (what, who), n in verdicts.items() if "differ" in what and who != "now")
    return int(bool(n_bad + run.tally.n("differences") - n_judged))


def _sides(folders: tuple[Path, Path]) -> tuple[Side, Side]:
    return Side(SIDES[0], folders[0]), Side(SIDES[1], folders[1])


def _look(run: Run, found: list[Any], options: argparse.Namespace) -> bool:
    """Compare until the time is up or the user ends it; return whether the first one ended it."""
    bar = tqdm(unit=" configurations", disable=not sys.stderr.isatty())
    end = time.monotonic() + options.seconds

    def progress(tally: Tally) -> None:
        bar.update(tally.n("configurations") - bar.n)
        bar.set_postfix(inputs=tally.n("inputs"), differ=tally.n("differences"), refresh=False)
        if found and options.stop_at_first:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt), bar:
        run.go(end, options.inputs, progress)
    run.close()
    return bool(found) and options.stop_at_first


def _told(
    desk: Desk,
    work: Work,
    result: Compared,
    options: argparse.Namespace,
    seed: int,
    *,
    is_short: bool,
) -> tuple[str, str]:
    """Make a difference small, have it judged and write it; return who is right, and a line."""
    every = result.differences or result.defects
    case, found = case_of(work), min(every, key=lambda each: _FIRST.index(each.what))
    is_again = True
    is_short |= found.what == "advance" and bool(result.defects)  # of the text that was written
    if not is_short:
        shrinking = Shrinking(desk, found.what, options.shrink)
        small = shrinking.small(case)
        is_again = small is not None
        if small is not None:
            again = shrinking.difference(small)
            case, found = (small, again) if again is not None else (case, found)
    who, why = (UNDECIDED, "not made small")
    if not is_short or found.what == "advance":
        who, why = verdict(desk, case, found) if is_again else (UNDECIDED, "not when asked again")
    about = {
        "what": found.what,
        "difference": str(found),
        "verdict": who,
        "why": why,
        "before": options.before,
        "found": f"seed {seed}, {work.input.kind} {work.number}",
        "n_differences": len(result.differences),
        "n_defects": len(result.defects),
    }
    path = cases.write(case, about, options.out)
    shown = case.source["text"]
    shown = shown if len(shown) < 300 else f"{shown[:300]}..."
    lines = [f"{work.input.kind} {work.number}: {found}", f"    right: {who} ({why[:300]})"]
    return who, "\n".join([*lines, f"    {case.source['form']} {shown!r}", f"    {path}"])


def _table(tally: Tally, verdicts: Counter[tuple[str, str]]) -> list[str]:
    lines = list(tally.lines())
    lines += [f"{what} {n} times, right is {who}" for (what, who), n in sorted(verdicts.items())]
    for kind, counts in tally.counts.items():
        told = [f"{counts[f'differ in {what}']} in {what}" for what in _FIRST]
        told = [each for each in told if not each.startswith("0 ")]
        lines += [f"{kind}: of the inputs that differ, {', '.join(told)}"] if told else []
    if tally.limits:
        lines.append(f"{len(tally.limits)} limits that one side hit, such as")
        lines += tally.limits[:_N_LIMITS]
    return lines


def _replay(options: argparse.Namespace) -> int:
    """Ask both sides about a case again."""
    case, about = cases.read(options.replay)
    before = options.before or about["before"]
    with tempfile.TemporaryDirectory() as name:
        vocabularies = vocabularies_of(options.tokenizers, Path(name))
        folders = trees.tree_of(before), trees.ROOT
        desk = Desk(_sides(folders), {each.name: each for each in vocabularies})
        try:
            differences = desk.compared(case).differences
            for found in differences[:10]:
                print(_place(case, found), found)
            if not differences:
                print("both say the same")
                return 0
            who, why = verdict(desk, case, differences[0])
            print(f"right: {who} ({why})")
        finally:
            desk.close()
    return int(who != SIDES[1])


def _place(case: Case, found: Difference) -> str:
    return f"{found.text!r}" if found.text is not None else f"after {case.tokens_to(found.place)}"


if __name__ == "__main__":
    sys.exit(main())
