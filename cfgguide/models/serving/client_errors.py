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
_SAID = {
    "best_effort=True leaves": '"x-cfgguide": {"best_effort": true} beside its keywords leaves',
    "cfgguide.tools([tool], format=...) is a grammar of its calls": "`tools` have it",
    ", as Grammar.bundled returns them": "",
    ", a sqlite3.Connection,": "",
    ", or SQLAlchemy's metadata, which reflects a database": "",
    "; pass them to re.compile instead": "",
}
_REGISTRY = re.compile(r"give the document as registry=\{[^}]{0,200}+\}, or put it")
_LIMIT = re.compile(r", or raise the limit(?: \([^)]{0,200}+\))?+")
_OPEN = re.compile(
    r": Grammar\.open\([^)]{0,200}+\) reads a file, Grammar\.bundled\([^)]{0,200}+\) a"
)


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
    for words, instead in _SAID.items():
        said = said.replace(words, instead)
    said = _REGISTRY.sub("put the document", said)
    return _OPEN.sub(": cfgguide:NAME asks for a", _LIMIT.sub("", said))
