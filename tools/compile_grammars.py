"""Compiles the bundled grammars into the package, as files of the user's cache.

The build runs it before it collects the package's files::

    python tools/compile_grammars.py

It writes ``cfgguide/compiled/``, which git ignores, and does nothing if the files there are those
of the grammars, the code, and the versions of Lark and Python at hand. The same input gives the
same bytes. A package without them works too: grammars are then compiled at their first use.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cfgguide.grammar.grammar import Grammar
from cfgguide.index.compiler import compile_recognizer
from cfgguide.limits import Limits
from cfgguide.output_types import output_type
from cfgguide.recognizer import file as grammar_file
from cfgguide.recognizer.cached import CachedGrammar
from cfgguide.storage.cache import FOLDER_VARIABLE, PACKAGED


def chosen() -> list[Grammar]:
    """Return the bundled grammars, and what models write if these are asked for by their names."""
    names = Grammar.bundled_names()
    written = [output_type(name).grammar for name in names if name != "json"]
    if "python" in names:  # as `cfgguide generate` has it
        written.append(Grammar.bundled("python", start="function", tidy=True))
    return [*map(Grammar.bundled, names), *written]


def main() -> None:
    """Make the folder anew, unless it is up to date."""
    grammars = chosen()
    keys = [CachedGrammar(grammar, Limits()).key for grammar in grammars]
    made = {path.name for path in PACKAGED.glob(f"{grammar_file.KIND}-*")}
    if made == {f"{grammar_file.KIND}-{key}" for key in keys}:
        return
    shutil.rmtree(PACKAGED, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER_VARIABLE] = folder
        for grammar in grammars:
            compile_recognizer(grammar)
        shutil.copytree(Path(folder) / "compiled", PACKAGED)


if __name__ == "__main__":
    main()
