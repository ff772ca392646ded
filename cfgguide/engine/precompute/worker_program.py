"""The program of a process that makes masks.

``python -m cfgguide.engine.precompute.worker_program FOLDER``

In: a folder with a grammar's tables and a vocabulary, and parts of configurations on standard
input. Out: their masks on standard output; see :mod:`cfgguide.engine.precompute.workers`. It ends
when its input ends, which also happens when its parent is killed.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from cfgguide.engine.index.index import Index
from cfgguide.engine.precompute.frontier import FrontierPart, answer
from cfgguide.engine.precompute.workers import (
    TABLES,
    VOCABULARY,
    open_vocabulary,
    packed,
    read_message,
    write_message,
)


def main() -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write to the pipe
    folder = Path(sys.argv[1])
    index = Index.load(folder / TABLES, open_vocabulary(folder / VOCABULARY))
    while (message := read_message(sys.stdin.buffer)) is not None:
        parts = [
            FrontierPart(state, context, tuple(states), 0.0)
            for state, context, states in message[0]
        ]
        write_message(output, *packed([answer(index.mask_of, part) for part in parts]))


if __name__ == "__main__":
    main()
