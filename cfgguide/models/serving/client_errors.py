"""Errors as a client over HTTP is told of them: no files of the server's, no words of Python's.

In: an error of ours. Out: its message, where what a caller in Python would do is what a request
says instead.
"""

from __future__ import annotations

import re
from pathlib import Path

from cfgguide.errors import CfgGuideError
from cfgguide.grammar.grammar import bundled_folder

#: What messages say to callers in Python, and what they say to clients.
_SAID = [
    (re.compile(said), instead)
    for said, instead in (
        (r"give the document as registry=\{.*?: \.\.\.\}, or put it", "put the document"),
        (
            r"best_effort=True leaves",
            '"x-cfgguide": {"best_effort": true} beside its keywords leaves',
        ),
        (
            r": Grammar\.open\(.*?\) reads a file, Grammar\.bundled\(.*?\) a",
            ": cfgguide:NAME asks for a",
        ),
        (r", as Grammar\.bundled returns them", ""),
        (r"cfgguide\.tools\(.*?\) is a grammar of its calls", "`tools` of the request has them"),
        (r",? or raise the limit(?: \([^)]*\))?", ""),
        (r", a sqlite3\.Connection,|, or SQLAlchemy's metadata, which reflects a database", ""),
        (r"; pass them to re\.compile instead", ""),
    )
]


def for_client(error: CfgGuideError, folder: Path | None = None) -> str:
    """Return what a client is told of an error, where the operator's files are in a folder.

    Examples
    --------
    >>> for_client(CfgGuideError("Lark rejects /srv/mine.lark: no rule"), Path("/srv"))
    '[error] Lark rejects mine.lark: no rule'
    >>> for_client(CfgGuideError("more than 5 s (max_seconds); split it, or raise the limit"))
    '[error] more than 5 s (max_seconds); split it'
    """
    said = str(error)
    for each in (folder, folder and folder.resolve(), bundled_folder()):
        said = said.replace(f"{each}/", "") if each is not None else said
    for pattern, instead in _SAID:
        said = pattern.sub(instead, said)
    return said
