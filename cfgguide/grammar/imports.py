"""The files that a grammar imports, and whether they are as they were.

In: the requests that Lark makes of an import path. Out: where a file was looked for, and what was
there, so that a compiled grammar can be used again as long as that is the same.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Any, NoReturn

#: Where a grammar to be imported was looked for: absolute path, and the SHA-256 in hex of what was
#: there; None for nothing.
ImportedFile = tuple[str, str | None]


class ImportedFiles:
    """Stands before a grammar's import paths and notes what is looked for behind it.

    Lark tries the paths, then the folder of the grammar that imports, and then its own grammars,
    which are not noted: they belong to its version.

    Parameters
    ----------
    paths : iterable
        The import paths; only folders count.
    """

    def __init__(self, paths: Iterable[object]) -> None:
        self._folders = [path for path in paths if isinstance(path, str)]
        self._found: dict[str, str | None] = {}

    def __call__(self, base_path: object, grammar_path: str) -> NoReturn:
        """Note where Lark will look, as one of its loaders that never finds anything."""
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
        """What was looked for so far."""
        return tuple(self._found.items())


def are_as_before(imported: Iterable[Any]) -> bool:
    """Return whether all files are still what they were, missing ones too."""
    return all(_digest(path) == digest for path, digest in imported)


def _digest(path: str) -> str | None:
    """Return the SHA-256 in hex of a file, or None if there is none that can be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
