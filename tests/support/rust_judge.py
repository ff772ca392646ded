"""The parser of rustc as a judge of texts of Rust 2021, or of another edition.

Only the parser runs: what rustc finds later, such as attributes or names that there are not, is
accepted. The option is unstable and has two names; `RUSTC_BOOTSTRAP` lets a stable rustc take it.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

PROGRAM = shutil.which("rustc")

_ENVIRONMENT = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
_OPTIONS = ("--crate-type=lib", "--error-format=short", "--cap-lints=allow")
# An error, with its place if it has one; the last one only counts the others.
_ERROR = re.compile(r"^(?:\S+:\d+:\d+: )?error(?:\[\w+\])?: (?!aborting due to )(.*)", re.MULTILINE)


def error(text: str, edition: str = "2021") -> str | None:
    """Return why rustc refuses a text, "" if it does not, and None if its parser gives up."""
    run = subprocess.run(
        [*_command(), f"--edition={edition}", "-"],
        input=text.encode(),
        capture_output=True,
        check=False,
        env=_ENVIRONMENT,
    )
    return verdict(run.returncode, run.stderr.decode(errors="replace"))


def verdict(status: int, said: str) -> str | None:
    """Return the first error in what a rustc has said that ended with a status.

    A rustc whose stack overflows is killed, and one that fails itself ends with 101.
    """
    if status == 0:
        return ""
    if status != 1:
        return None
    found = _ERROR.search(said)
    return (found and found[1]) or "an error without a text"


def errors(texts: list[str], edition: str = "2021") -> list[str | None]:
    """Return what rustc says of each text; a few processes run at once."""
    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(functools.partial(error, edition=edition), texts))


@functools.cache
def _command() -> tuple[str, ...]:
    assert PROGRAM, "install rustc"
    for option in ("parse-crate-root-only", "parse-crate-only"):
        command = (PROGRAM, f"-Z{option}", *_OPTIONS)
        run = subprocess.run(
            [*command, "-"], input=b"", capture_output=True, check=False, env=_ENVIRONMENT
        )
        if run.returncode == 0:
            return command
    raise RuntimeError(f"{PROGRAM} cannot be told to parse only")
