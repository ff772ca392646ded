"""Compiled grammars in the user's cache, and those that come with the package: by a key.

In: a :class:`~cfgguide.grammar.grammar.Grammar` and limits. Out: its tables, if it is a bundled
grammar that was compiled when the package was built, or some process has compiled the same before
and the cache is on. The key covers the text, start rule and options; the limits, except for time;
the code that compiles; and the versions of Lark and of Python, whose ``re`` decides. Of bundled
grammars some versions of Lark make the same tables, so for these they count as one: engines such
as vLLM want a Lark of their own.

Imported files are not part of the key: they are stored with the tables, and looked up again on
loading (:mod:`cfgguide.grammar.imports`). Bundled grammars import only each other, so their key
covers all of them, and is the same wherever the package is installed.

Two kinds of grammars are not cached: those with loaders, which may load anything, and those with
`strict`, whose users ask for Lark's comparison of the terminals.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
import unicodedata
from pathlib import Path
from typing import Any

from cfgguide.base import runs
from cfgguide.base.archive import Arrays
from cfgguide.base.cache import hash_of_code, kept, packaged, user_cache
from cfgguide.base.limits import Limits
from cfgguide.engine.lexer.scanner import Scanner
from cfgguide.engine.machine import grammar_file
from cfgguide.errors import IndexFormatError
from cfgguide.grammar.grammar import Grammar, bundled_folder
from cfgguide.grammar.imports import ImportedFile, are_as_before, version_of_lark
from cfgguide.grammar.lr.indentation import IndentationRules
from cfgguide.grammar.lr.table import ParseTable

Tables = tuple[ParseTable, Scanner, IndentationRules | None]
# An import from Lark's grammars or the import paths, wherever the importing grammar is.
_ABSOLUTE_IMPORT = re.compile(r"%import[ \t]+\w")
_PACKAGE = Path(__file__).parents[2]
#: Versions of Lark that make the same tables of bundled grammars: `make serve-test` compares them.
SAME_LARK = ("1.2.2", "1.3.0", "1.3.1")
#: The code that decides what a compiled grammar is, and what is always live in it.
_COMPILING = (
    *("automata", "base/limits.py", "base/sets.py", "base/symbols.py", "engine/lexer"),
    *("engine/liveness", "engine/machine", "grammar", "grammar/lr"),
)
# Limits that do not change what a compiled grammar is.
_NOT_IN_KEY = ("max_seconds", "max_memory", "allows_imports")


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
        self._is_bundled = _is_cacheable(grammar) and _is_bundled(grammar)
        is_known = self._cache is not None or self._is_bundled
        self.key = _key(grammar, limits) if is_known else ""
        self._allows_files = limits.allows_imports or self._is_bundled

    def load(self) -> Tables | None:
        """Return the tables, or None if they are not there or out of date."""
        if self._is_bundled:
            content = packaged(grammar_file.KIND, self.key)
            if content is not None:
                return _checked(*content, is_packaged=True)
        return kept(grammar_file.KIND, self.key, self._unpacked) if self._cache else None

    def _unpacked(self, arrays: Arrays, value: Any) -> Tables | None:
        if not self._allows_files and value.get("imported"):
            return None  # Lark is to say what may not be imported
        return _checked(arrays, value)

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
            value["imported"] = () if self._is_bundled else imported
            self._cache.store(grammar_file.KIND, self.key, runs.shortened(arrays), value)


def _is_cacheable(grammar: Grammar) -> bool:
    return (
        isinstance(grammar, Grammar)
        and not grammar.strict
        and all(isinstance(path, str) for path in grammar.import_paths)
    )


def _checked(arrays: Arrays, value: Any, *, is_packaged: bool = False) -> Tables:
    """Return the tables; raise `IndexFormatError` if they are damaged or out of date."""
    tables = grammar_file.unpacked(runs.restored(arrays), value, is_packaged=is_packaged)
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
        environment(),
        _lark_of(grammar),
        grammar.text,
        grammar.start,
        [grammar.parser, grammar.lexer],
        grammar.regex_flags,
        [grammar.max_ignored, grammar.keywords, grammar.restrict],
        *([sorted(dict(grammar.special))] if grammar.special else []),
        _indentation(grammar),
        [os.path.abspath(str(path)) for path in grammar.import_paths],
        _home(grammar),
        {name: value for name, value in vars(limits).items() if name not in _NOT_IN_KEY},
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _lark_of(grammar: Grammar) -> str:
    """Return Lark's version, as far as it decides what a grammar means."""
    version = version_of_lark()
    return SAME_LARK[0] if version in SAME_LARK and _is_bundled(grammar) else version


def _indentation(grammar: Grammar) -> object:
    """Return the names of a grammar's indenter, if it has one."""
    if grammar.postlex is None:
        return None
    from cfgguide.grammar.indenters import indentation_names  # loads Lark

    return indentation_names(grammar.postlex).as_json()


def _is_bundled(grammar: Grammar) -> bool:
    """Return whether a grammar is in the folder of the bundled grammars, and imports only these."""
    return (
        grammar.source_path is not None
        and not grammar.import_paths
        and Path(grammar.source_path).parent == bundled_folder()
    )


def _home(grammar: Grammar) -> list[str]:
    """Return where Lark looks for a grammar's relative imports; [] if it has none."""
    n_absolute = len(_ABSOLUTE_IMPORT.findall(grammar.text))
    if grammar.text.count("%import") == n_absolute:
        return []
    if _is_bundled(grammar):
        return ["bundled", hash_of_code(bundled_folder().glob("*.lark"))]
    return [] if grammar.source_path is None else [os.path.abspath(grammar.source_path)]


@functools.cache
def environment() -> tuple[str, ...]:
    """Return what decides how a grammar is compiled, beside Lark: a hash of code, and Python."""
    paths = [_PACKAGE / name for name in _COMPILING]
    modules = [path for each in paths for path in ([each] if each.is_file() else each.glob("*.py"))]
    return (
        hash_of_code(modules),
        sys.implementation.name,
        "{}.{}".format(*sys.version_info),
        unicodedata.unidata_version,
        sys.byteorder,
    )


@functools.cache
def environment_of_masks() -> tuple[str, ...]:
    """Return what decides how a mask is made: a hash of all code, and the exact Python."""
    return *environment(), hash_of_code(_PACKAGE.rglob("*.py")), sys.version
