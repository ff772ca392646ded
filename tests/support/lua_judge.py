"""The parser of Lua 5.4 as a judge of texts: `luac -p`, of Debian's package lua5.4.

What `luac` checks beyond the syntax is told from it by what it says, since a grammar cannot.
"""

from __future__ import annotations

import re
import shutil
import subprocess

PROGRAM = shutil.which("luac5.4") or shutil.which("luac")

#: What the compiler says of texts whose syntax it has read.
NO_SYNTAX = re.compile(
    r"no visible label|label '.*' already defined|attempt to assign to const variable"
    r"|jumps into the scope of|has more than \d+|C stack overflow|too many C levels"
    r"|limit is \d+|needs too many|control structure too long|too many syntax levels"
)


def error(text: str) -> str | None:
    """Return why Lua refuses a text, "" if it does not, and None if it refuses no syntax of it."""
    assert PROGRAM, "install lua5.4"
    run = subprocess.run(
        [PROGRAM, "-p", "-"], input=text.encode(), capture_output=True, check=False
    )
    said = run.stderr.decode(errors="replace").strip()
    if run.returncode == 0:
        return ""
    return None if NO_SYNTAX.search(said) else said or "refused"
