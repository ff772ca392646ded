"""The program of a process that makes masks.

``python -m cfgguide.engine.precompute.worker_program``

In: an index, and parts of configurations, on standard input. Out: their masks on standard output;
see :mod:`cfgguide.engine.precompute.workers`. It ends when its input ends, which also happens when
its parent is killed.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from io import BufferedReader
from typing import cast

from cfgguide.engine.index.configuration_trie import Mask
from cfgguide.engine.masks.subset import Int32Array
from cfgguide.engine.precompute.frontier import Answer, answer


def main() -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write to the pipe
    calls = cast(BufferedReader, sys.stdin.buffer)
    index = pickle.load(calls)
    while calls.peek(1):
        parts = pickle.load(calls)
        pickle.dump(_sent([answer(index.mask_of, part) for part in parts]), output)
        output.flush()


def _sent(answers: list[Answer]) -> list[Answer]:
    """Return answers without what means nothing elsewhere; equal masks are one, and sent once."""
    known: dict[bytes, Int32Array] = {}
    return [
        Mask(each.depth, known.setdefault(each.bitmask.tobytes(), each.bitmask))
        if isinstance(each, Mask)
        else each
        for each in answers
    ]


if __name__ == "__main__":
    main()
