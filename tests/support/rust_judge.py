"""The parser of rustc as a judge of texts of Rust 2021.

Only the parser runs: what rustc finds later, such as attributes or names that there are not, is
accepted. The option is unstable and has two names; `RUSTC_BOOTSTRAP` lets a stable rustc take it.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

PROGRAM = shutil.which("rustc")

_ENVIRONMENT = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
_OPTIONS = ("--edition=2021", "--crate-type=lib", "--error-format=short", "--cap-lints=allow")


def error(text: str) -> str | None:
    """Return why rustc refuses a text, "" if it does not, and None if its parser gives up."""
    run = subprocess.run(
        [*_command(), "-"], input=text.encode(), capture_output=True, check=False, env=_ENVIRONMENT
    )
    if run.returncode == 0:
        return ""
    said = run.stderr.decode(errors="replace")
    errors = [line for line in said.splitlines() if ": error" in line]
    return errors[0].split(": ", 1)[-1] if errors else None


def errors(texts: list[str]) -> list[str | None]:
    """Return what rustc says of each text; a few processes run at once."""
    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(error, texts))


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
