"""Measures programming languages: what a token of new files costs, beside bundled Python.

``python benchmarks/languages.py go @FILES --tokenizer FOLDER`` reads the beginnings of that many
files of each language once, from an empty index, in turns: the mask of each token and `advance`,
in processor time. Python's files are those of its standard library. FILES names a file with a
path in each line. Out: a row of a table for each of the two, and the ratio of their means.
"""

from __future__ import annotations

import argparse
import os
import random
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tables
from vocabularies import Tokenizer, find, open_tokenizer, write_standard_library_tokenizer

N_CHARACTERS = 3000  # of a file, at most


@dataclass
class Measured:
    """What one language cost.

    Attributes
    ----------
    compiling : float
        Seconds until the index was there; the grammar is shipped compiled.
    steps : list of float
        Microseconds of a token's mask and `advance`.
    n_refused : int
        Files that were left at a token that is not allowed.
    """

    compiling: float = 0.0
    steps: list[float] = field(default_factory=list)
    n_refused: int = 0


def main() -> None:
    options = _options()
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["CFGGUIDE_CACHE"] = str(Path(temporary) / "cache")
        named = options.tokenizer and find(options.tokenizer)
        tokenizer = open_tokenizer(named or write_standard_library_tokenizer(Path(temporary)))
        found = _measure(tokenizer, options)
    rows = []
    for name, measured in found.items():
        steps = np.array(measured.steps)
        row = [f"{np.mean(steps):.1f}", f"{np.median(steps):.1f}"]
        row += [f"{np.percentile(steps, 99):.0f}", f"{steps.max() / 1000:.0f}"]
        n = f"{len(steps):,}, {measured.n_refused} refused"
        rows.append([name, n, f"{measured.compiling:.2f}", *row])
    head = ["grammar", "tokens, files", "compiling, s", "mean, us", "p50", "p99", "longest, ms"]
    print("\n".join(tables.table(head, rows)))
    one, other = (np.mean(found[name].steps) for name in (options.language, "python"))
    print(f"\nmean of {options.language} by that of python: {one / other:.2f}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("language", help="the name of a bundled grammar")
    parser.add_argument("files", help="@FILE: a file with the path of a source in each line")
    parser.add_argument("--tokenizer", help="a folder; by default one made of Python's sources")
    parser.add_argument("--texts", type=int, default=200, help="files of each language")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _measure(tokenizer: Tokenizer, options: argparse.Namespace) -> dict[str, Measured]:
    import cfgguide  # after the environment is set

    listed = Path(options.files.removeprefix("@")).read_text(encoding="utf-8").splitlines()
    library = Path(sysconfig.get_paths()["stdlib"])
    paths = {
        options.language: list(map(Path, listed)),
        "python": [path for path in sorted(library.rglob("*.py")) if _is_library(path, library)],
    }
    found = {name: Measured() for name in paths}
    indexes, texts = {}, {}
    vocabulary = cfgguide.Vocabulary.from_tokenizer(
        tokenizer.fast, eos_token_ids=tokenizer.eos_token_id, size=tokenizer.size
    )
    for name, measured in found.items():
        started = time.process_time()
        indexes[name] = cfgguide.compile(cfgguide.Grammar.bundled(name), vocabulary)
        measured.compiling = time.process_time() - started
        texts[name] = _texts(paths[name], tokenizer, options)
    for _ in range(options.texts):
        for name, measured in found.items():
            token_ids = next(texts[name], None)
            if token_ids is not None:
                _read(cfgguide.Guide(indexes[name]), token_ids, measured)
    return found


def _is_library(path: Path, library: Path) -> bool:
    return not {"site-packages", "test", "tests", "lib2to3"} & set(path.relative_to(library).parts)


def _texts(
    paths: list[Path], tokenizer: Tokenizer, options: argparse.Namespace
) -> Iterator[list[int]]:
    random.Random(options.seed).shuffle(paths)
    for path in paths:
        try:
            text = path.read_bytes().decode()[:N_CHARACTERS]
        except (UnicodeDecodeError, OSError):
            continue
        if text.strip():
            yield tokenizer.encode(text)


def _read(guide: Any, token_ids: list[int], measured: Measured) -> None:
    """Read a text token by token, with the mask of each."""
    row = np.zeros((guide.index.vocabulary.size + 31) // 32, np.int32)
    for token_id in token_ids:
        started = time.process_time_ns()
        guide.fill_bitmask(row)
        is_accepted = guide.accepts(token_id)
        if is_accepted:
            guide.advance(token_id)
        measured.steps.append((time.process_time_ns() - started) / 1000)
        if not is_accepted:
            measured.n_refused += 1
            return


if __name__ == "__main__":
    main()
