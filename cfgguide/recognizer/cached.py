"""Compiled grammars in the user's cache.

In: a :class:`~cfgguide.grammar.grammar.Grammar` and limits. Out: its tables, if some process has
compiled the same before and the cache is on. The same means: the text, start rule and options; the
limits, but for time; the code of cfgguide, and the versions of Lark and Python, whose ``re``
decides; and what ``%import`` finds, which is looked up again (:mod:`cfgguide.grammar.imports`).

Not kept are grammars with loaders, which may load anything, and those with `strict`, where Lark's
comparison of the terminals is what was asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import unicodedata
from pathlib import Path
from typing import Any

from cfgguide.errors import IndexFormatError
from cfgguide.grammar import lark_frontend
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.imports import ImportedFile, are_as_before
from cfgguide.grammar.indenters import indentation_names
from cfgguide.lexer.scanner import Scanner
from cfgguide.limits import Limits
from cfgguide.parser.indentation import IndentationRules
from cfgguide.parser.table import ParseTable
from cfgguide.recognizer import file as grammar_file
from cfgguide.storage.archive import Arrays
from cfgguide.storage.cache import Cache, user_cache

# An import from Lark's grammars or the import paths, wherever the importing grammar is.
_ABSOLUTE_IMPORT = re.compile(r"%import[ \t]+\w")


class CachedGrammar:
    """The place of one grammar in the cache.

    Parameters
    ----------
    grammar : Grammar
        The grammar.
    limits : Limits
        What compiling may cost.
    """

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        is_kept = isinstance(grammar, Grammar) and not grammar.strict
        is_kept = is_kept and all(isinstance(path, str) for path in grammar.import_paths)
        self._cache: Cache | None = user_cache() if is_kept else None
        self._digest = _digest(grammar, limits) if self._cache else ""

    def load(self) -> tuple[ParseTable, Scanner, IndentationRules | None] | None:
        """Return the tables, or None if they are not there or no longer right."""
        if self._cache is None:
            return None
        found = self._cache.load(grammar_file.KIND, self._digest)
        if found is None:
            return None
        try:
            return _checked(*found)
        except IndexFormatError:
            self._cache.drop(grammar_file.KIND, self._digest)
            return None

    def store(
        self,
        table: ParseTable,
        scanner: Scanner,
        indentation_rules: IndentationRules | None,
        imported: tuple[ImportedFile, ...],
    ) -> None:
        """Keep tables, unless a file that they were made from has changed meanwhile."""
        if self._cache is not None and are_as_before(imported):
            arrays, value = grammar_file.packed(table, scanner, indentation_rules)
            value["imported"] = imported
            self._cache.store(grammar_file.KIND, self._digest, arrays, value)


def _checked(arrays: Arrays, value: Any) -> tuple[ParseTable, Scanner, IndentationRules | None]:
    tables = grammar_file.unpacked(arrays, value)
    imported = value.get("imported")
    if not isinstance(imported, list) or not all(
        isinstance(file, list) and len(file) == 2 and isinstance(file[0], str) for file in imported
    ):
        raise IndexFormatError("the imported files are not told")
    if not are_as_before(imported):
        raise IndexFormatError("an imported file has changed")
    return tables


def _digest(grammar: Grammar, limits: Limits) -> str:
    """Return the SHA-256 in hex of all that a compiled grammar depends on, but imported files."""
    told = [
        ENVIRONMENT,
        grammar.text,
        grammar.start,
        grammar.lexer,
        grammar.regex_flags,
        indentation_names(grammar.postlex).as_json() if grammar.postlex is not None else None,
        [os.path.abspath(str(path)) for path in grammar.import_paths],
        _home(grammar),
        {name: value for name, value in vars(limits).items() if name != "max_seconds"},
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _home(grammar: Grammar) -> list[str]:
    """Return where relative imports of a grammar start, in Lark's eyes; [] if it has none."""
    n_absolute = len(_ABSOLUTE_IMPORT.findall(grammar.text))
    if grammar.text.count("%import") == n_absolute:
        return []
    if grammar.source_path is not None:
        return [os.path.abspath(grammar.source_path)]
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return [os.getcwd(), os.path.abspath(script or "")]


def _environment() -> list[str]:
    """Return what compiles, exactly: cfgguide's own code is told by its content."""
    code = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        code.update(hashlib.sha256(path.read_bytes()).digest())
    return [
        code.hexdigest(),
        lark_frontend.LARK_VERSION,
        sys.implementation.name,
        sys.version,
        unicodedata.unidata_version,
        sys.byteorder,
    ]


ENVIRONMENT = _environment()
