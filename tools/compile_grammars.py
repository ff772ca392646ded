"""Compiles the bundled grammars and the formats of JSON Schema into the package.

The build runs it before it collects the package's files::

    python tools/compile_grammars.py
    python tools/compile_grammars.py sql python    # of the grammars, only those of these languages

It writes ``cfgguide/compiled/``, files like those of the user's cache, but compressed, which git
ignores. If some of what is there is not of the grammars, the code, and the versions of Lark and
Python at hand, all of it is removed first.
The same input gives the same bytes. A package without them works too: grammars are then compiled
at their first use.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cfgguide.automata import packaged_formats
from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.numbers import tidy_number
from cfgguide.automata.string_formats import FORMATS, format_pattern
from cfgguide.base import archive
from cfgguide.base.cache import FOLDER_VARIABLE, PACKAGED
from cfgguide.base.limits import Limits
from cfgguide.compiler import compile_recognizer
from cfgguide.engine.machine import grammar_file
from cfgguide.engine.machine.grammar_cache import CachedGrammar
from cfgguide.grammar.grammar import Grammar
from cfgguide.languages.presets import preset_of
from cfgguide.languages.sql.running import runs_on
from cfgguide.output_types import output_type


def chosen(names: Sequence[str]) -> list[Grammar]:
    """Return bundled grammars, and what models write if these are asked for by their names."""
    written = [output_type(name).grammar for name in names if name != "json"]
    starts = {name: preset_of(name).start for name in names}  # as `cfgguide generate` has it
    written += [
        Grammar.bundled(name, start=starts[name], tidy=True)
        for name in starts
        if starts[name] != "start"
    ]
    statements = ("select", "write", "all") if "sql" in names else ()
    running = [runs_on({"t": ["c"]}, statements=each).plain for each in statements]
    return [*map(Grammar.bundled, names), *written, *running]


def _path(grammar: Grammar) -> Path:
    return PACKAGED / f"{grammar_file.KIND}-{CachedGrammar(grammar, Limits()).key}"


def _compile(grammar: Grammar) -> None:
    """Compile a grammar into a cache of its own, and from there into the package."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER_VARIABLE] = folder
        compile_recognizer(grammar)
        for entry in Path(folder, "compiled").iterdir():
            kind, _, digest = entry.name.rpartition("-")
            content = archive.read(entry, kind=kind, digest=digest)
            made = PACKAGED / entry.name
            archive.write(made, *content, kind=kind, digest=digest, is_compressed=True)


def main(languages: Sequence[str] = ()) -> None:
    """Make what is not there, of all languages or of some; make all anew if some is out of date."""
    names = Grammar.bundled_names()
    known = {_path(grammar) for grammar in chosen(names)}
    if not known.issuperset(PACKAGED.glob(f"{grammar_file.KIND}-*")):
        shutil.rmtree(PACKAGED)
    PACKAGED.mkdir(parents=True, exist_ok=True)
    wanted = {_path(grammar): grammar for grammar in chosen(languages or names)}  # some are alike
    missing = [grammar for path, grammar in wanted.items() if not path.exists()]
    if missing:
        with ProcessPoolExecutor() as pool:  # what takes longest mostly has the longest text
            list(pool.map(_compile, sorted(missing, key=lambda each: -len(each.text))))
    expressions = [format_pattern(name) for name in FORMATS]
    expressions += [f"^(?:{tidy_number(is_typed=is_typed)})$" for is_typed in (False, True)]
    patterns = {packaged_formats.path(PACKAGED, each): each for each in expressions}
    for path in PACKAGED.glob(f"{packaged_formats.KIND}-*"):
        if path not in patterns:
            path.unlink()
    for path, pattern in sorted(patterns.items()):
        if not path.exists():
            packaged_formats.write(path, pattern, pattern_language(pattern))


if __name__ == "__main__":
    main(sys.argv[1:])
