"""Python files, token by token: is all that CPython parses allowed, and nothing else?

``python tests/conformance/standard_library.py FOLDER`` reads every file of the interpreter's
standard library that `ast.parse` accepts, spelled by the tokenizer in FOLDER, and looks up each
token in the mask of its place; EOS must be allowed at the end. ``--random 200`` spells so many of
the files in random tokens instead. ``--corpus FILE ...`` reads lines of JSON with a "text" each
instead and compares verdicts with `ast.parse`. ``--share 1/2`` takes every second file, from the
first. Disagreements are listed; the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import random
import sys
import sysconfig
import time
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers import AutoTokenizer

import cfgguide

LONGEST = 16  # bytes of a token in random spellings


def main() -> int:
    options = _options()
    warnings.simplefilter("ignore")
    tokenizer = AutoTokenizer.from_pretrained(options.tokenizer)
    started = time.perf_counter()
    index = cfgguide.compile(cfgguide.Grammar.bundled("python"), tokenizer)
    print(f"compiled in {time.perf_counter() - started:.1f} s", flush=True)
    if options.corpus:
        reader = _Reader(index, tokenizer, None)
        n_wrong = sum(_compare(reader, path) for path in options.corpus)
    else:
        reader = _Reader(index, tokenizer, "" if options.random else None)
        n_wrong = _read_files(reader, options)
    print(
        f"{reader.n_tokens:,} tokens in {time.perf_counter() - started:.0f} s; {index.n_entries:,} "
        f"entries, {index.n_subsets:,} masks, {index.nbytes:,} bytes"
    )
    return int(n_wrong > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tokenizer", help="the folder of a tokenizer")
    parser.add_argument("--random", type=int, default=0, help="so many files in random tokens")
    parser.add_argument("--share", default="1/1", help="K/N: every N-th file, from the K-th")
    parser.add_argument("--corpus", type=Path, nargs="+", default=[], help="files of JSON lines")
    return parser.parse_args()


class _Reader:
    """Reads texts token by token."""

    def __init__(self, index: cfgguide.Index, tokenizer: object, seed: str | None) -> None:
        self.index = index
        self.n_tokens = 0
        self._tokenizer = tokenizer
        self._seed = seed
        self._ids: dict[bytes, int] = {}
        for token_id, token in enumerate(index.vocabulary.tokens):
            if token and len(token) <= LONGEST:
                self._ids.setdefault(token, token_id)

    def refused(self, text: str, name: str = "") -> str:
        """Return where and why a text is refused; nothing if it is a sentence."""
        data = text.encode("utf-8", "surrogatepass")
        if self._seed is None:
            encode: Any = self._tokenizer.encode  # type: ignore[attr-defined]
            ids = encode(text, add_special_tokens=False, split_special_tokens=True)
        else:
            ids = list(self._random_ids(data, random.Random(name)))
        spelled = self.index.vocabulary.tokens
        tokens = [spelled[token_id] or b"" for token_id in ids]
        if b"".join(tokens) != data:  # a tokenizer may change what it reads, to NFC for one
            ids = list(self._random_ids(data, random.Random(name)))
            tokens = [spelled[token_id] or b"" for token_id in ids]
        if b"".join(tokens) != data:
            return "the vocabulary cannot spell it"
        step, at = self.index.start, 0
        for token_id, token in zip(ids, tokens, strict=True):
            if token_id not in self.index.allowed(step):
                return f"byte {at}: {data[max(0, at - 60) : at]!r} then {token!r}"
            step = self.index.advance(step, token_id)
            at += len(token)
            self.n_tokens += 1
        may_end = self.index.vocabulary.eos_token_ids[0] in self.index.allowed(step)
        return "" if may_end else "it may not end there"

    def _random_ids(self, data: bytes, rng: random.Random) -> Iterator[int]:
        at = 0
        while at < len(data):
            ends = [at + n for n in range(1, LONGEST + 1) if data[at : at + n] in self._ids]
            if not ends:
                return
            end = rng.choice(ends)
            yield self._ids[data[at:end]]
            at = end


def _read_files(reader: _Reader, options: argparse.Namespace) -> int:
    root = Path(sysconfig.get_paths()["stdlib"])
    paths = sorted(path for path in root.rglob("*.py") if "site-packages" not in path.parts)
    if options.random:
        random.Random(1).shuffle(paths)
    first, step = map(int, options.share.split("/"))
    paths = paths[: options.random or None][first - 1 :: step]
    n_read = n_refused = 0
    for path in tqdm(paths, unit="file", disable=None):
        try:
            data = path.read_bytes()
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            text = data.decode(encoding)
            ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        n_read += 1
        why = reader.refused(text, path.name)
        if why:
            n_refused += 1
            print(f"refused: {path.relative_to(root)}: {why}", flush=True)
    print(f"{n_read:,} files that CPython parses, {n_refused} of them refused")
    return n_refused


def _compare(reader: _Reader, path: Path) -> int:
    n_texts = n_sentences = n_wrong = 0
    for line in path.read_text("utf-8").splitlines():
        case = json.loads(line)
        try:
            ast.parse(case["text"])
            is_python = True
        except (SyntaxError, ValueError):
            is_python = False
        why = reader.refused(case["text"])
        n_texts += 1
        n_sentences += is_python
        if is_python == bool(why):
            n_wrong += 1
            verdict = f"refused: {why}" if why else "accepted, and CPython refuses it"
            print(f"{path.parent.name}: {case.get('id')}: {verdict}", flush=True)
    print(f"{path.parent.name}: {n_texts} texts, {n_sentences} of them Python; {n_wrong} disagree")
    return n_wrong


if __name__ == "__main__":
    sys.exit(main())
