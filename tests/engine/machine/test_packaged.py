"""Bundled grammars that were compiled when the package was built: used, and never when stale."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from cfgguide.base import cache as caches
from cfgguide.base.limits import Limits
from cfgguide.compiler import compile_recognizer
from cfgguide.engine.liveness import stages
from cfgguide.errors import LimitError
from cfgguide.grammar import grammar as grammars
from cfgguide.grammar.grammar import Grammar

TOOL = Path(__file__).parents[3] / "tools" / "compile_grammars.py"
NAMES = ("json", "sql_select")  # the second imports another bundled grammar


class Compiled(Exception):
    """Lark was asked."""


pytestmark = pytest.mark.slow  # grammars are compiled


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder as the tool makes it, of some grammars."""
    folder = tmp_path_factory.mktemp("made") / "compiled"
    with pytest.MonkeyPatch.context() as patch:
        run_tool(patch, folder)
    return folder


def run_tool(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setenv("CFGGUIDE_CACHE", "off")  # the tool sets another
    patch.setattr(caches, "PACKAGED", folder)
    spec = importlib.util.spec_from_file_location("compile_grammars", TOOL)
    tool = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, "compile_grammars", tool)  # its processes look there
    spec.loader.exec_module(tool)
    patch.setattr(Grammar, "bundled_names", classmethod(lambda cls: NAMES))
    tool.main()


@pytest.fixture
def package(monkeypatch, tmp_path, made) -> Path:
    """The files of a package, and no user's cache; Lark is never asked."""
    folder = shutil.copytree(made, tmp_path / "compiled")
    monkeypatch.setattr(caches, "PACKAGED", folder)
    monkeypatch.setenv("CFGGUIDE_CACHE", "off")

    def load(grammar, budget):
        raise Compiled

    monkeypatch.setattr(stages, "load_grammar", load)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_bundled_grammar_is_read_from_the_package(package, name):
    assert compile_recognizer(Grammar.bundled(name)).parse_table.n_states > 1


@pytest.mark.parametrize("name", NAMES)
def test_it_is_what_would_be_compiled(package, name, monkeypatch):
    found = compile_recognizer(Grammar.bundled(name))
    monkeypatch.undo()
    expected = compile_recognizer(Grammar.bundled(name), use_cache=False)
    assert found.digest == expected.digest
    assert np.array_equal(found.scanner.transitions, expected.scanner.transitions)


def test_it_is_found_wherever_the_package_is(package, tmp_path, monkeypatch):
    folder = shutil.copytree(grammars.bundled_folder(), tmp_path / "elsewhere")
    monkeypatch.setattr(grammars, "_PACKAGED", folder)
    grammar = Grammar.bundled("sql_select")
    assert grammar.source_path == str(folder / "sql_select.lark")
    compile_recognizer(grammar)


@pytest.mark.parametrize("name", ["sql_select", "sql"])
def test_a_grammar_that_has_changed_is_compiled(package, tmp_path, monkeypatch, name):
    folder = shutil.copytree(grammars.bundled_folder(), tmp_path / "elsewhere")
    monkeypatch.setattr(grammars, "_PACKAGED", folder)
    with (folder / f"{name}.lark").open("a", encoding="utf-8") as file:
        file.write("\n// changed\n")
    with pytest.raises(Compiled):
        compile_recognizer(Grammar.bundled("sql_select"))


OTHERS = {
    "another start": (Grammar.bundled("sql_select", start="select_stmt"), {}),
    "another text": (Grammar.bundled("json", max_ignored=3), {}),
    "other limits": (Grammar.bundled("json"), {"limits": Limits(max_scanner_states=500)}),
    "no cache": (Grammar.bundled("json"), {"use_cache": False}),
    "the same text elsewhere": (Grammar(Grammar.bundled("sql_select").text), {}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_the_same_is_compiled(package, name):
    grammar, options = OTHERS[name]
    with pytest.raises(Compiled):
        compile_recognizer(grammar, **options)


def test_another_version_of_what_compiles_is_not_believed(package, monkeypatch):
    from cfgguide.engine.machine import grammar_cache as cached

    other = ("other code", *cached.environment()[1:])
    monkeypatch.setattr(cached, "environment", lambda: other)
    with pytest.raises(Compiled):
        compile_recognizer(Grammar.bundled("json"))


def test_versions_of_lark_that_make_the_same_tables_share_them(package, monkeypatch):
    from cfgguide.engine.machine import grammar_cache as cached

    for version in cached.SAME_LARK:
        monkeypatch.setattr(cached, "version_of_lark", lambda version=version: version)
        compile_recognizer(Grammar.bundled("json"))
    monkeypatch.setattr(cached, "version_of_lark", lambda: "1.4.0")
    with pytest.raises(Compiled):
        compile_recognizer(Grammar.bundled("json"))


def test_a_damaged_file_is_not_believed(package):
    for path in package.iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(Compiled):
        compile_recognizer(Grammar.bundled("json"))


def test_limits_on_time_hold(package):
    with pytest.raises(LimitError):
        compile_recognizer(Grammar.bundled("json"), limits=Limits(max_seconds=0))


def test_the_tool_leaves_files_that_are_fresh_and_makes_stale_ones_anew(made, monkeypatch):
    contents = {path.name: path.read_bytes() for path in made.iterdir()}
    times = {path.name: path.stat().st_mtime_ns for path in made.iterdir()}
    run_tool(monkeypatch, made)
    assert times == {path.name: path.stat().st_mtime_ns for path in made.iterdir()}
    (made / "grammar-0").write_bytes(b"stale")
    run_tool(monkeypatch, made)
    assert contents == {path.name: path.read_bytes() for path in made.iterdir()}
