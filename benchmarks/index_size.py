"""Measures how large the index of a grammar of Python or SQL becomes over real texts.

In: functions of this Python's standard library, or statements of SQL. Out: a section of
`docs/performance.md`. There are two grammars of Python: the bundled one, with functions as they are
written; and Lark's own, without its indenter. That has no blocks: a function is written as the line
of its ``def`` and then its statements one by one, those with blocks as ``if x: pass``.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import documents
import documents_python
import lark
import tables
from judging import Judge, LarkJudge
from judging_python import PythonJudge
from measuring import resident_bytes
from page import RESULTS, Section
from targets import Target
from vocabularies import GEMMA, Tokenizer, find, open_tokenizer, write_standard_library_tokenizer

from cfgguide import Grammar, Guide, Index, Vocabulary, compile

N_TEXTS = {"lark-python": 1000, "python": 1000, "sql": 5000}
GRAMMARS = tuple(N_TEXTS)  # Python: Lark's own, and the bundled one
MOST = 50.0  # MB, the figure of Willard & Louf 2023, section 4.2
SHOWN = (1, 10, 30, 100, 300, 1000, 3000)


@dataclass(frozen=True)
class Row:
    """The index after some texts; sizes in MB."""

    texts: int
    tokens: int
    entries: int
    distinct_masks: int
    masks_mb: float
    resident_mb: float
    seconds: float

    def cells(self) -> list[str]:
        """Return a row of the table."""
        counts = [self.texts, self.tokens, self.entries, self.distinct_masks]
        sizes = [f"{self.masks_mb:.2f}", f"{self.resident_mb:.0f}", f"{self.seconds:.1f}"]
        return [*(f"{count:,}" for count in counts), *sizes]


HEAD = ["texts", "tokens", "entries", "distinct masks", "MB of masks", "MB of all", "seconds"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tokenizer", help=f"a folder or file, or {GEMMA!r}")
    parser.add_argument("--texts", type=int, help="so many; default: 1,000 functions, 5,000 of SQL")
    parser.add_argument("--patience", type=float, default=180.0, help="seconds for all texts")
    parser.add_argument(
        "--documents",
        default=documents.DEFAULT,
        help="SQL: a folder of files, or JSON lines with a `text` each; default: made here",
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the figures")
    parser.add_argument("--grammar", choices=GRAMMARS, default=GRAMMARS[0])
    options = parser.parse_args()
    options.texts = options.texts or N_TEXTS[options.grammar]
    if options.grammar == "lark-python":
        name, title = "index_size", "Size of an index: Lark's python.lark"
        path = Path(lark.__file__).parent / "grammars" / "python.lark"
        grammar = Grammar.open(path, start="file_input")
        judge: Judge = LarkJudge(grammar.text, **grammar.lark_options)
        texts, what = _functions(), "functions"
    elif options.grammar == "sql":
        name, title = "index_size-sql", "Size of an index: the bundled grammar of SQLite's SQL"
        grammar = Grammar.bundled("sql")
        judge = LarkJudge(grammar.text, **grammar.lark_options)
        texts, what = _statements(options), "texts of SQL"
    else:
        name, title = "index_size-python", "Size of an index: the bundled grammar of Python"
        grammar, judge = Grammar.bundled("python"), PythonJudge()
        texts, what = documents_python.functions(), "functions"
    section = Section.begun(name, title)
    with tempfile.TemporaryDirectory() as folder:
        named = options.tokenizer and find(options.tokenizer)
        tokenizer = open_tokenizer(named or write_standard_library_tokenizer(Path(folder)))
        vocabulary = Vocabulary.from_tokenizer(
            tokenizer.fast, eos_token_ids=tokenizer.eos_token_id, size=tokenizer.size
        )
        os.environ["CFGGUIDE_CACHE"] = str(Path(folder) / "cache")
        seconds = []
        for _ in range(2):
            started = time.process_time()
            index = compile(grammar, vocabulary)
            seconds.append(time.process_time() - started)
        growth = _fill(index, judge, tokenizer, texts, options)
        last = growth[-1]
        setting = f"{options.grammar} after {last.texts:,} {what}, {tokenizer.name}"
        saved = Path(folder) / "index"
        index.save(saved)
        sizes = {
            "in memory, its masks": last.masks_mb,
            "in memory, growth of the process since the first text": (
                last.resident_mb - growth[0].resident_mb
            ),
            "on disk": saved.stat().st_size / 1e6,
        }
    section.targets = [
        Target(f"index {where}", setting, size, MOST, "MB") for where, size in sizes.items()
    ]
    section.lines = [
        f"{_origin(options)}, {tokenizer.size:,} ids. Compiling took {seconds[0]:.1f} s of "
        f"processor time with nothing cached and {seconds[1]:.1f} s from the cache. *MB of all*: "
        "growth of the process since; the first text's is what decides about any text of the "
        "grammar, later ones' are masks, and the configurations that guides have visited.",
        "",
        *tables.table(HEAD, [row.cells() for row in growth]),
        "",
    ]
    section.figures = {"growth": [asdict(row) for row in growth], "compile seconds": seconds}
    section.write(options.results)


def _fill(
    index: Index,
    judge: Judge,
    tokenizer: Tokenizer,
    found: Iterator[str],
    options: argparse.Namespace,
) -> list[Row]:
    """Lead a guide through each text, and return how the index grew."""
    rows = []
    n_tokens = 0
    before = resident_bytes()
    started = time.perf_counter()
    texts = (text for text in found if judge.is_sentence(text.encode()))
    for number, text in enumerate(texts, start=1):
        guide = Guide(index)
        for token in tokenizer.encode(text):
            guide.allowed_token_ids()
            guide.advance(token)
            n_tokens += 1
        seconds = time.perf_counter() - started
        is_last = number == options.texts or seconds > options.patience
        if number in SHOWN or is_last:
            sizes = (index.nbytes / 1e6, (resident_bytes() - before) / 1e6)
            rows.append(Row(number, n_tokens, index.n_entries, index.n_subsets, *sizes, seconds))
        if is_last:
            break
    return rows


def _origin(options: argparse.Namespace) -> str:
    """Return the start of a sentence: which texts these are."""
    if options.grammar != "sql":
        version = sys.version.split()[0]
        return f"Functions of Python {version}'s standard library, in a random order"
    is_made = options.documents == documents.DEFAULT
    return "Statements made from seeds" if is_made else f"Texts of {Path(options.documents).name}"


def _statements(options: argparse.Namespace) -> Iterator[str]:
    """Yield texts of SQL."""
    if options.documents == documents.DEFAULT:
        yield from (documents.made("sqlite", seed) for seed in range(options.texts))
    else:
        yield from documents.read("sqlite", options.documents).values()


def _functions() -> Iterator[str]:
    """Yield functions, written without blocks, from the files of the standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    paths = [path for path in sorted(folder.rglob("*.py")) if "site-packages" not in path.parts]
    Random(0).shuffle(paths)
    for path in paths:
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):  # the library's tests hold such files
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield "".join(f"{line}\n" for line in _flat(node))


def _flat(node: ast.stmt) -> Iterator[str]:
    """Yield a statement's line, and then those of the statements in it."""
    inner: list[ast.stmt] = []
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, [])
        if block and isinstance(block[0], ast.stmt):
            inner += block
            setattr(node, name, [ast.Pass()])
    text = ast.unparse(node)
    # A block's only statement goes onto the line of its colon.
    yield text.replace(":\n    pass", ": pass") if inner else text
    for statement in inner:
        yield from _flat(statement)


if __name__ == "__main__":
    main()
