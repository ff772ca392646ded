"""Documents that the engines are led through.

In: the name of a grammar; nothing, or a folder or file. Out: texts, the same on every machine. The
default set is made from seeds, by a module for each grammar.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import documents_ambiguous
import documents_json
import documents_python
import documents_sql

DEFAULT = "default"
N_DOCUMENTS = 40
N_LEXEMES = 200  # where a document is a single lexeme
_MAKERS: dict[str, Callable[[Random], str]] = {
    "json": documents_json.document,
    "sql": documents_sql.document,
    "sqlite": documents_sql.document,
    "python_expressions": documents_python.document,
    "python": documents_python.function_or_file,
    **dict.fromkeys(("formulas", "formulas_lalr"), documents_ambiguous.formulas),
    **dict.fromkeys(("statements", "statements_lalr"), documents_ambiguous.statements),
    **dict.fromkeys(("queries", "queries_lalr"), documents_ambiguous.queries),
    "ipv4": lambda rng: ".".join(str(rng.randrange(256)) for _ in range(4)),
    "float": lambda rng: f"{rng.uniform(-1000, 1000):.{rng.randrange(1, 12)}f}",
}
GRAMMARS = tuple(_MAKERS)


def read(grammar: str, source: str) -> dict[str, str]:
    """Return documents by name.

    Parameters
    ----------
    grammar : str
        One of `GRAMMARS`.
    source : str
        `DEFAULT`; a folder of files; or a file (or a folder of files) of JSON lines with a ``text``
        each, of which those whose ``expected`` is ``reject`` are left out, or a ``schema`` with
        ``tests`` whose ``data`` are JSON values; also packed by gzip. Of a Python source,
        `python_expressions` takes the expressions in it.
    """
    if source == DEFAULT:
        n_documents = N_LEXEMES if grammar in ("ipv4", "float") else N_DOCUMENTS
        return {f"document-{seed:02}": made(grammar, seed) for seed in range(n_documents)}
    texts = dict(_texts(Path(source)))
    if grammar != "python_expressions":
        return texts
    return {
        f"{name}#{number}": expression
        for name, text in texts.items()
        for number, expression in enumerate(documents_python.expressions_of(text))
    }


def stream(grammar: str, sources: Iterable[str]) -> Iterator[str]:
    """Yield texts, without end if there are no sources: people's if there are any, else made ones.

    Parameters
    ----------
    grammar : str
        One of `GRAMMARS`.
    sources : iterable of str
        As for :func:`read`; of none, whole Python and Python's expressions are taken from this
        Python's standard library, and the rest is made from seeds.
    """
    if sources:
        for source in sources:
            yield from read(grammar, source).values()
    elif grammar == "python":
        yield from documents_python.functions()
    elif grammar == "python_expressions":
        yield from documents_python.library_expressions()
    else:
        yield from (made(grammar, seed) for seed in itertools.count())


def made(grammar: str, seed: int) -> str:
    """Return the document that is made from a seed."""
    return _MAKERS[grammar](Random(seed))


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield names and texts of a file of JSON lines, or of the files of a folder."""
    if path.is_dir():
        lines = sorted([*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")])
        for file in lines or sorted(path.iterdir()):
            yield from _texts(file) if lines else [(file.name, file.read_text(encoding="utf-8"))]
        return
    packed = path.read_bytes()
    text = (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode()
    for number, line in enumerate(text.split("\n")):
        if line:
            case = json.loads(line)
            name = str(case.get("id", number))
            yield from _texts_of_case(name, case)


def _texts_of_case(name: str, case: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the text of a case; or, where it is a schema with tests, those as JSON texts."""
    if "tests" in case:
        for number, value in enumerate([case["schema"], *(test["data"] for test in case["tests"])]):
            yield f"{name}#{number}", json.dumps(value, indent=2, ensure_ascii=False)
    elif case.get("expected", "accept") != "reject" and case["text"] is not None:
        yield name, case["text"]
