"""acorn as a judge of JavaScript: as a module or else as a script, both of ECMAScript 2023.

acorn is a package of npm's. It is found in the folder that ACORN names, or among npm's global
packages. What ECMAScript calls early errors is told from the syntax by acorn's messages, since a
grammar has no part in it: acorn goes on after each of them, so that they hide no error of syntax.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path

_HELPER = Path(__file__).with_suffix(".mjs")

#: What acorn says of texts whose syntax is right.
EARLY = (
    # Names: declared twice, not declared, or not to be assigned.
    r"has already been declared|is already declared|Argument name clash|Duplicate export '"
    r"|Export '.*' is not defined|(?:Binding|Assigning to) (?:eval|arguments) in strict mode"
    r"|Deleting local variable in strict mode|Private fields can not be deleted"
    # Places of `break`, `continue`, `super`, `new.target`, `arguments`.
    r"|Unsyntactic (?:break|continue)|'super' keyword outside a method"
    r"|super\(\) call outside constructor|'new\.target' can only be used"
    r"|Cannot use 'arguments' in class field|Cannot use arguments in class static"
    # Things that are there twice, and members that a class may not have.
    r"|Redefinition of __proto__|Duplicate constructor|Multiple default clauses"
    r"|Constructor can't|Classes may not have a static property named"
    r"|Classes can't have a (?:static )?field named"
    # `yield` and `await` in parameters, and "use strict".
    r"|(?:Yield|Await) expression cannot be a default value|Illegal 'use strict' directive"
    # What is inside of a regular expression.
    r"|Invalid regular expression"
)


@functools.cache
def acorn() -> Path | None:
    """Return the file of acorn, or None where node or acorn is not installed."""
    if shutil.which("node") is None:
        return None
    folders = [os.environ.get("ACORN", "")]
    if shutil.which("npm"):
        said = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False)
        folders.append(f"{said.stdout.strip()}/acorn")
    files = [Path(folder) / "dist" / "acorn.mjs" for folder in folders if folder]
    return next((file for file in files if file.is_file()), None)


PROGRAM = acorn()
REASON = "npm's package acorn is not installed"


@functools.cache
def _process() -> subprocess.Popen[bytes]:
    file = acorn()
    assert file, REASON
    return subprocess.Popen(
        ["node", "--stack-size=8000", str(_HELPER), str(file), EARLY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def error(text: str) -> str | None:
    """Return why acorn refuses a text, "" if it does not, None if it refuses no syntax of it."""
    process = _process()
    assert process.stdin
    assert process.stdout
    data = text.encode(errors="replace")
    process.stdin.write(len(data).to_bytes(4, "big") + data)
    process.stdin.flush()
    said: str | None = json.loads(process.stdout.readline())
    return said
