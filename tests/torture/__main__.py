"""Torture the engine until the time is up: `python -m torture --seconds 1200`, in `tests`.

Each part (:mod:`torture.parts`) runs in processes of its own. Prints one line of figures; the exit
status is 1 if a mask was wrong, something hung, or a file was lost. With `--memory`, many tokens
and many grammars instead, and how much memory the process has.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter

from torture.memory import is_flat
from torture.parts import PARTS, run

_FIGURES = ("interrupts", "allocations", "writes", "forks", "wrong masks", "hangs", "lost files")
_SHARES = {"interrupts": 1.0, "forks": 0.4, "writes": 0.35, "allocations": 0.25}  # of the time
_SLACK = 150.0  # seconds: then a part hangs
_EVERY = 2.0  # seconds: a part says what it has counted


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="a fresh one by default")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--memory", action="store_true", help="many tokens and grammars")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--most", type=int, default=sys.maxsize, help=argparse.SUPPRESS)
    return parser.parse_args()


def _one_part(part: str, seconds: float, seed: int, most: int) -> int:
    """Run a part here, and say what it counts on the standard output."""
    said = time.monotonic()
    counts: Counter[str] = Counter()
    for counts in run(part, seconds, seed, most):
        if time.monotonic() > said + _EVERY:
            said = time.monotonic()
            sys.stdout.write(json.dumps(counts) + "\n")
            sys.stdout.flush()
    sys.stdout.write(json.dumps(counts) + "\n")
    return 0


def _run(part: str, end: float, seed: int, total: Counter[str]) -> None:
    """Run a part in processes of its own: one that dies of a failed allocation is begun again."""
    while (seconds := end - time.monotonic()) > 1:
        command = [sys.executable, "-m", "torture", "--part", part]
        command += ["--seconds", str(seconds), "--seed", str(seed)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        watch = threading.Timer(seconds + _SLACK, process.kill)
        watch.start()
        assert process.stdout is not None, "there is a pipe"
        last = "{}"
        for line in process.stdout:
            last = line
        total.update(json.loads(last))
        status = process.wait()
        is_hang = not watch.is_alive() or status == 1
        watch.cancel()
        if status == 0:
            return
        seed += 1
        if is_hang:
            total["hangs"] += 1
        elif part == "allocations":
            total["died in C"] += 1  # numpy and CPython do not check all of theirs
        else:
            total["crashes"] += 1


def main() -> int:
    arguments = _arguments()
    os.environ["CFGGUIDE_CACHE"] = "off"
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().getrandbits(30)
    if arguments.part:
        return _one_part(arguments.part, arguments.seconds, seed, arguments.most)
    if arguments.memory:
        return 0 if is_flat(arguments.seconds, seed, sys.stdout.write) else 1
    started = time.monotonic()
    total: Counter[str] = Counter()
    others = [part for part in PARTS if part != "interrupts"]

    def run_others() -> None:
        begun = started
        for part in others:
            begun += _SHARES[part] * arguments.seconds
            _run(part, begun, seed, total)

    if arguments.only:
        _run(arguments.only, started + arguments.seconds, seed, total)
    else:
        thread = threading.Thread(target=run_others)
        thread.start()
        _run("interrupts", started + arguments.seconds, seed, total)
        thread.join()
    extra = sorted(total.keys() - set(_FIGURES))
    figures = ", ".join(f"{total[name]:,} {name}" for name in (*_FIGURES, *extra))
    sys.stdout.write(f"seed {seed}, {time.monotonic() - started:.0f} seconds: {figures}\n")
    bad = ("wrong masks", "hangs", "lost files", "left files", "crashes")
    return 1 if any(total[name] for name in bad) else 0


if __name__ == "__main__":
    sys.exit(main())
