"""Measures what it costs to apply masks to logits on the CPU, beside other ways to do it.

    python benchmarks/applying.py [--dtype float32] [--rounds 15]

The other ways are those that people use: adding a stored row of zeros and minus infinities, torch's
`masked_fill_` with a stored row of bools, and XGrammar's own function for packed bitmasks, if it is
installed. The first two get their rows unpacked for nothing: thirty-two and eight times the bytes
of a packed mask would have to be kept for each.

All ways take turns on the same logits, which are fresh each time, in another order in each round,
for what ran before decides what is in the caches; `time.perf_counter_ns` is around the single call.
A figure is the median over the rounds, in brackets the smallest and largest tenth.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import random
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

import cfgguide

COLUMNS = {"50k": 49_152, "151k": 151_936, "250k": 250_112}
ROWS = (1, 16, 256)
#: Share of the tokens allowed, and how many of them in a row are alike.
MASKS = {
    "nearly full": (0.995, 1),
    "nearly empty": (0.0005, 1),
    "half, in runs": (0.5, 100),
    "half, scattered": (0.5, 1),
}
Way = Callable[[], object]


def allowed_columns(kind: str, n_rows: int, n_columns: int) -> npt.NDArray[np.bool_]:
    """Return a mask; bool, shape (n_rows, n_columns)."""
    share, run = MASKS[kind]
    drawn = np.random.default_rng(0).random((n_rows, -(-n_columns // run))) < share
    return np.repeat(drawn, run, axis=1)[:, :n_columns]


def ways(logits: torch.Tensor, allowed: npt.NDArray[np.bool_]) -> dict[str, Way]:
    """Return what is compared; each changes the logits in place."""
    words = np.packbits(allowed, axis=1, bitorder="little").view(np.int32)
    tensor = torch.from_numpy(words)
    refused = torch.from_numpy(~allowed)
    added = torch.zeros_like(logits).masked_fill_(refused, float("-inf"))
    found: dict[str, Way] = {
        "cfgguide": lambda: cfgguide.apply_bitmask(logits, words),
        "add a row": lambda: logits.add_(added),
        "masked_fill_": lambda: logits.masked_fill_(refused, float("-inf")),
    }
    try:
        import xgrammar
    except ImportError:
        return found
    found["xgrammar"] = lambda: xgrammar.apply_token_bitmask_inplace(logits, tensor)
    return found


def measure(
    kind: str, n_rows: int, n_columns: int, dtype: torch.dtype, n_rounds: int
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the microseconds of each way, round by round."""
    fresh = torch.randn(n_rows, n_columns, generator=torch.Generator().manual_seed(0)).to(dtype)
    logits = fresh.clone()
    allowed = allowed_columns(kind, n_rows, n_columns)
    expected = fresh.masked_fill(torch.from_numpy(~allowed), float("-inf"))
    compared = ways(logits, allowed)
    times: dict[str, list[float]] = {name: [] for name in compared}
    for name, way in compared.items():
        logits.copy_(fresh)
        way()
        assert torch.equal(logits, expected), name
    order = random.Random(0)
    for _ in range(n_rounds if n_rows > 16 else 4 * n_rounds):
        for name in order.sample(list(compared), len(compared)):
            way = compared[name]
            logits.copy_(fresh)
            started = time.perf_counter_ns()
            way()
            times[name].append((time.perf_counter_ns() - started) / 1e3)
    return {name: np.array(each) for name, each in times.items()}


def shown(times: npt.NDArray[np.float64]) -> str:
    """Return median and spread."""
    low, middle, high = np.quantile(times, [0.1, 0.5, 0.9])
    digits = 1 if middle < 100 else 0
    return f"{middle:,.{digits}f} ({low:,.{digits}f}-{high:,.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(
        f"Date: {datetime.date.today()}. Machine: {platform.machine()}, {os.cpu_count()} cores, "
        f"load average {load:.1f}, {torch.get_num_threads()} threads. Logits: {options.dtype}.\n"
        "Microseconds of cfgguide, and how many times longer each other way takes.\n"
    )
    heading: list[str] = []
    for size, n_columns in COLUMNS.items():
        for n_rows in ROWS:
            for kind in MASKS:
                dtype = getattr(torch, options.dtype)
                times = measure(kind, n_rows, n_columns, dtype, options.rounds)
                ours = times.pop("cfgguide")
                if not heading:
                    heading = ["columns", "rows", "mask", "cfgguide, µs", *times]
                    print("|", " | ".join(heading), "|")
                    print("|", " | ".join(["---"] * 3 + ["---:"] * (1 + len(times))), "|")
                ratios = [f"{np.median(other / ours):.2f}" for other in times.values()]
                print("|", " | ".join([size, str(n_rows), kind, shown(ours), *ratios]), "|")


if __name__ == "__main__":
    main()
