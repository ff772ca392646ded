"""Compiled grammars in the user's cache: load and store by a key.

In: a :class:`~cfgguide.grammar.grammar.Grammar` and limits. Out: its tables, if some process has
compiled the same before and the cache is on. The key covers the text, start rule and options; the
limits, except for time; the code of cfgguide; and the versions of Lark and of Python, whose ``re``
decides. Imported files are not part of the key: they are stored with the tables, and looked up
again on loading (:mod:`cfgguide.grammar.imports`).

Two kinds of grammars are not cached: those with loaders, which may load anything, and those with
`strict`, whose users ask for Lark's comparison of the terminals.
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
from cfgguide.storage.cache import user_cache

Tables = tuple[ParseTable, Scanner, IndentationRules | None]
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
        self._cache = user_cache() if _is_cacheable(grammar) else None
        self._key = _key(grammar, limits) if self._cache is not None else ""

    def load(self) -> Tables | None:
        """Return the tables, or None if they are not there or out of date."""
        if self._cache is None:
            return None
        content = self._cache.load(grammar_file.KIND, self._key)
        if content is None:
            return None
        try:
            return _checked(*content)
        except IndexFormatError:
            self._cache.drop(grammar_file.KIND, self._key)
            return None

    def store(
        self,
        table: ParseTable,
        scanner: Scanner,
        indentation_rules: IndentationRules | None,
        imported: tuple[ImportedFile, ...],
    ) -> None:
        """Store tables, unless an imported file has changed while they were made."""
        if self._cache is not None and are_as_before(imported):
            arrays, value = grammar_file.packed(table, scanner, indentation_rules)
            value["imported"] = imported
            self._cache.store(grammar_file.KIND, self._key, arrays, value)


def _is_cacheable(grammar: Grammar) -> bool:
    return (
        isinstance(grammar, Grammar)
        and not grammar.strict
        and all(isinstance(path, str) for path in grammar.import_paths)
    )


def _checked(arrays: Arrays, value: Any) -> Tables:
    """Return the tables; raise `IndexFormatError` if they are damaged or out of date."""
    tables = grammar_file.unpacked(arrays, value)
    imported = value.get("imported")
    if not isinstance(imported, list) or not all(
        isinstance(file, list) and len(file) == 2 and isinstance(file[0], str) for file in imported
    ):
        raise IndexFormatError("the list of imported files is missing")
    if not are_as_before(imported):
        raise IndexFormatError("an imported file has changed")
    return tables


def _key(grammar: Grammar, limits: Limits) -> str:
    """Return the SHA-256 in hex of what a compiled grammar depends on, except imported files."""
    parts = [
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
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _home(grammar: Grammar) -> list[str]:
    """Return where Lark looks for a grammar's relative imports; [] if it has none."""
    n_absolute = len(_ABSOLUTE_IMPORT.findall(grammar.text))
    if grammar.text.count("%import") == n_absolute:
        return []
    if grammar.source_path is not None:
        return [os.path.abspath(grammar.source_path)]
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return [os.getcwd(), os.path.abspath(script or "")]


def _environment() -> list[str]:
    """Return the exact versions of all that compiles; of cfgguide a hash of its code."""
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
