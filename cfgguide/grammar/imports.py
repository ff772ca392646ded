"""The files that a grammar imports, and whether they have changed.

In: the requests that Lark makes of an import path. Out: where Lark looked for files, and what was
there. A compiled grammar can be used again as long as that is the same.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

#: Where Lark looked for an imported grammar: absolute path, and the SHA-256 in hex of the file
#: there, or None if there was none.
ImportedFile = tuple[str, str | None]

_VERSION = re.compile(r"""^__version__\b.*=\s*["'](.+)["']""", re.MULTILINE)


class ImportedFiles:
    """Stands before a grammar's import paths and notes which files Lark will look for.

    Lark tries the paths, then the folder of the importing grammar, and then its own grammars. The
    last are not noted: they belong to its version.

    Parameters
    ----------
    paths : iterable
        The import paths; only folders count.
    """

    def __init__(self, paths: Iterable[object]) -> None:
        self._folders = [path for path in paths if isinstance(path, str)]
        self._found: dict[str, str | None] = {}

    def __call__(self, base_path: object, grammar_path: str) -> NoReturn:
        """Note where Lark will look, and act as a loader that finds nothing."""
        base = [base_path] if isinstance(base_path, str) else []
        for folder in (*self._folders, *base):
            path = os.path.abspath(os.path.join(folder, grammar_path))
            if path not in self._found:
                self._found[path] = _digest(path)
            if self._found[path] is not None:
                break
        raise FileNotFoundError(grammar_path)

    @property
    def found(self) -> tuple[ImportedFile, ...]:
        """The files looked for so far."""
        return tuple(self._found.items())


def are_as_before(imported: Iterable[Any]) -> bool:
    """Return whether no file has changed, appeared or disappeared."""
    return all(_digest(path) == digest for path, digest in imported)


def _digest(path: str) -> str | None:
    """Return the SHA-256 in hex of a file, or None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def version_of_lark() -> str:
    """Return Lark's version, to which its own grammars belong.

    Lark is not imported for it: compiled grammars do without, and it takes long.
    """
    spec = importlib.util.find_spec("lark")
    if spec is not None and spec.origin is not None:
        source = Path(spec.origin).read_text(encoding="utf-8")
        if found := _VERSION.search(source):
            return found[1]
    from importlib import metadata  # takes as long as Lark

    return metadata.version("lark")
