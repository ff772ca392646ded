"""The grammar of Python agrees with `ast.parse` on the standard library and on the corpora.

Lark parses each text whole, which takes minutes. Texts of the corpora that are lost are listed.
The corpora are in the folder that the environment variable CFGGUIDE_CONFORMANCE_DATA names.
"""

from __future__ import annotations

import io
import json
import os
import sys
import sysconfig
import tokenize
from collections.abc import Iterator
from pathlib import Path

import lark
import pytest
from support.ci import or_in_ci
from support.judges import is_parsed, is_python
from support.lark_search import no_search_for_overlaps

from cfgguide.grammar.indenters import PythonIndenter

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="3.11 is the judge"),
]

GRAMMAR = Path(__file__).parents[2] / "grammars" / "python.lark"
CORPORA = Path(os.environ.get("CFGGUIDE_CONFORMANCE_DATA", "no folder")) / "corpora"
# Strings with quotes in the fields of strings in fields; lines that begin with a backslash; a
# last line of blanks alone, which the postlex takes for an indentation.
LOST = {
    "python_humaneval": set[str](),
    "python_black": {
        "backslash_before_indent.py#input",
        "beginning_backslash.py#input",
        "form_feeds.py#input",
        "fstring.py#input",
        "fstring.py#output",
    },
}


@pytest.fixture(scope="module")
def parser() -> lark.Lark:
    with no_search_for_overlaps():
        return lark.Lark.open(
            str(GRAMMAR), parser="lalr", lexer="contextual", postlex=PythonIndenter()
        )


def verdicts(parser: lark.Lark, text: str) -> tuple[bool, bool]:
    """Return whether CPython and whether the grammar accept a text."""
    return is_python(text), is_parsed(parser, text)


def library() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file of the standard library that can be decoded.

    CI reads one of sixteen.
    """
    root = Path(sysconfig.get_paths()["stdlib"])
    paths = sorted(each for each in root.rglob("*.py") if "site-packages" not in each.parts)
    for path in paths[:: or_in_ci(1, 16)]:
        content = path.read_bytes()
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
            yield str(path.relative_to(root)), content.decode(encoding)
        except (SyntaxError, UnicodeDecodeError):
            continue


def test_the_standard_library(parser: lark.Lark) -> None:
    found = {name: verdicts(parser, text) for name, text in library()}
    assert len(found) > or_in_ci(1500, 87)
    differing = [name for name, (is_python, ours) in found.items() if is_python != ours]
    lost = [str(Path("test", "test_fstring.py"))]  # line breaks in fields
    assert differing == [name for name in lost if name in found]


@pytest.mark.parametrize("corpus", sorted(LOST))
def test_corpora(parser: lark.Lark, corpus: str) -> None:
    file = CORPORA / corpus / "data.jsonl"
    if not file.exists():
        pytest.skip("the corpora are not here")
    found = set()
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        is_python, ours = verdicts(parser, record["text"])
        assert is_python or not ours, record["id"]
        if is_python != ours:
            found.add(record["id"])
    assert found == LOST[corpus]


def test_mutants_are_never_accepted_wrongly(parser: lark.Lark) -> None:
    file = CORPORA / "mutants_python" / "data.jsonl"
    if not file.exists():
        pytest.skip("the corpora are not here")
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        is_python, ours = verdicts(parser, record["text"])
        assert is_python or not ours, record["id"]
        ends_in_blanks = record["text"].replace("\r", "\n").rpartition("\n")[2].strip() == ""
        assert ours or not is_python or ends_in_blanks, record["id"]
