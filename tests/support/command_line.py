"""Runs the command line as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import cfgguide

Run = Callable[..., SimpleNamespace]

#: Three sentences, so that what is allowed can be counted from their definition.
NUMBERS = 'start: "[" NUMBER "]"\nNUMBER: "10" | "2" | "true"\n'
SENTENCES = [b"[10]", b"[2]", b"[true]"]

COMMAND = (sys.executable, "-m", "cfgguide.studio.cli.main")


def environment(**changes: str) -> dict[str, str]:
    """The environment in which these tests' package is found, with buffered output, no colours."""
    ignored = {"PYTHONUNBUFFERED", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR"}
    known = {key: value for key, value in os.environ.items() if key not in ignored}
    known |= {"PYTHONPATH": str(Path(cfgguide.__file__).parent.parent), "TERM": "xterm"}
    return known | changes


def process(arguments: Sequence[str], **options) -> subprocess.Popen:
    """Start the command line on the package that these tests import."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**options.pop("env", {})),
        **options,
    )


def refused(run: Run, *arguments: str) -> str:
    """Return what is said of a call that ends with 2 and prints nothing else."""
    found = run(*arguments)
    assert (found.status, found.out) == (2, "")
    return str(found.err)


def printed(run: Run, *arguments: str) -> str:
    """Return what a call prints that ends with 0 and has nothing to complain of."""
    found = run(*arguments)
    assert (found.status, found.err) == (0, "")
    return str(found.out)
