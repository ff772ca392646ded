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

from cfgguide.errors import GrammarError
from cfgguide.grammar.grammar import Grammar, bundled_folder

#: Where Lark looked for an imported grammar: absolute path, and the SHA-256 in hex of the file
#: there, or None if there was none.
ImportedFile = tuple[str, str | None]

_VERSION = re.compile(r"""^__version__\b.*=\s*["'](.+)["']""", re.MULTILINE)


class ImportedFiles:
    """Stands before a grammar's import paths and notes which files Lark will look for.

    Lark tries the paths, then the folder of the importing grammar, and then its own grammars. The
    last are not noted: they belong to its version. Of a text without a file Lark takes the folder
    of the program that runs, or the working directory; here such a text imports nothing from there.

    Parameters
    ----------
    grammar : Grammar
        The grammar.
    allows_files : bool
        Whether there are imports but from Lark's own grammars. A bundled grammar may always.
    """

    def __init__(self, grammar: Grammar, *, allows_files: bool = True) -> None:
        self._allows_files = allows_files or is_bundled(grammar)
        self._has_file = grammar.source_path is not None
        self._paths = grammar.import_paths if self._allows_files else ()
        self._folders = [path for path in self._paths if isinstance(path, str)]
        self._found: dict[str, str | None] = {}

    @property
    def import_paths(self) -> list[object]:
        """Lark's `import_paths`: this, the grammar's own, and who refuses what is left."""
        return [self, *self._paths, self._refuse]

    def __call__(self, base_path: object, grammar_path: str) -> NoReturn:
        """Note where Lark will look, and act as a loader that finds nothing."""
        base = [base_path] if isinstance(base_path, str) and self._is_allowed(base_path) else []
        for folder in (*self._folders, *base):
            path = os.path.abspath(os.path.join(folder, grammar_path))
            if path not in self._found:
                self._found[path] = _digest(path)
            if self._found[path] is not None:
                break
        raise FileNotFoundError(grammar_path)

    def _is_allowed(self, folder: str) -> bool:
        """Return whether a grammar in a folder may import others from there."""
        known = {os.path.dirname(path) for path, digest in self._found.items() if digest}
        return self._allows_files and (self._has_file or os.path.abspath(folder) in known)

    def _refuse(self, base_path: object, grammar_path: str) -> NoReturn:
        """Refuse an import from the folder of a grammar, if it may not import from there.

        Raises
        ------
        GrammarError
            In that case.
        FileNotFoundError
            Else: then Lark looks there.
        """
        if isinstance(base_path, str) and not self._is_allowed(base_path):
            raise GrammarError(
                f"the grammar may not import {grammar_path}: "
                + (
                    "it is a text without a file, so there is no folder to look in; use "
                    "Grammar.open(path), or give source_path or import_paths"
                    if self._allows_files
                    else "its limits allow no imports of files (allows_imports)"
                )
            )
        raise FileNotFoundError(grammar_path)

    @property
    def found(self) -> tuple[ImportedFile, ...]:
        """The files looked for so far."""
        return tuple(self._found.items())


def is_bundled(grammar: Grammar) -> bool:
    """Return whether a grammar is one of those that ship with cfgguide."""
    path = grammar.source_path
    return path is not None and Path(path).resolve().parent == bundled_folder().resolve()


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
