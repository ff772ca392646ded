"""Measures how a mask's time grows: with text, nesting, vocabulary, grammar and batch.

In: a tokenizer. Out: a section of `docs/performance.md` with a table and a plot for each size.
Three times are told apart, each the median over some steps at the end of a text:

*cold*: the mask is made, inside a string or name, on an index that has seen nothing else;
*new*: the index knows the mask, but not this text;
*warm*: the index knows the text, as when it is written again.
"""

from __future__ import annotations

import argparse
import string
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
import tables
from page import RESULTS, Section
from targets import Target
from vocabularies import GEMMA, find, open_tokenizer, write_standard_library_tokenizer

from cfgguide import Grammar, Guide, Index, Vocabulary, compile, fill_bitmasks

N_COLD = 5  # indexes that a cold mask is made on
N_STEPS = 100  # at the end of a text, over which warm times are taken
N_REPEATS = 15
FLAT = 1.5  # times that a flat line may rise from its first point to its last
_JSON = Grammar.bundled("json")
Encode = Callable[[bytes], list[int]]


@dataclass
class Series:
    """Times against one size.

    Attributes
    ----------
    name : str
        What grows.
    sizes : list of int
        Ascending.
    cold, new, warm, copy : list of float
        Microseconds of a mask at each size: see above; `copy` is numpy's copy of such a row.
    """

    name: str
    sizes: list[int] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    copy: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tokenizer", help=f"a folder or file, or {GEMMA!r}")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the figures")
    options = parser.parse_args()
    section = Section.begun("scaling", "Scaling")
    with tempfile.TemporaryDirectory() as folder:
        named = options.tokenizer and find(options.tokenizer)
        tokenizer = open_tokenizer(named or write_standard_library_tokenizer(Path(folder)))
    whole = [token for token in tokenizer.token_bytes() if token]
    vocabulary = _cut(whole, len(whole))
    series = [
        _text_length(vocabulary),
        _depth(vocabulary),
        _vocabulary_size(whole),
        _grammar_size(vocabulary),
        _batch(vocabulary),
    ]
    section.targets = list(_targets(series))
    section.lines = _lines(series, tokenizer.name)
    section.figures = {"series": [asdict(each) for each in series]}
    section.write(options.results)


def _text_length(vocabulary: Vocabulary) -> Series:
    series, encode = Series("length of the text, tokens"), _encoder(vocabulary)
    for n_records in (10, 100, 1000, 3000):
        texts = [encode(_records(seed, n_records)) for seed in (0, 1)]
        _measure(series, len(texts[0]), _JSON, vocabulary, *texts)
    return series


def _depth(vocabulary: Vocabulary) -> Series:
    series, encode = Series("depth of nesting"), _encoder(vocabulary)
    for depth in (1, 10, 100, 1000):
        texts = [encode(b'{"a":[1,' * depth + tail) for tail in (b'"x y", "ab', b'"z", "cd')]
        _measure(series, depth, _JSON, vocabulary, *texts)
    return series


def _vocabulary_size(whole: list[bytes]) -> Series:
    series = Series("size of the vocabulary")
    for size in (1000, 4000, 16_000, 64_000, 256_000):
        if size < 2 * len(whole):
            cut = _cut(whole, min(size, len(whole)))
            texts = [_encoder(cut)(_records(seed, 50)) for seed in (0, 1)]
            _measure(series, cut.size - 1, _JSON, cut, *texts)
    return series


def _grammar_size(vocabulary: Vocabulary) -> Series:
    series, encode = Series("size of the grammar, rules"), _encoder(vocabulary)
    for n_rules in (4, 16, 64, 256):
        words = _words(n_rules)
        rules = "\n".join(f'r{number}: "{word}" NAME ";"' for number, word in enumerate(words))
        choice = " | ".join(f"r{number}" for number in range(n_rules))
        text = f"start: ({choice})+\n{rules}\nNAME: / [a-z]+/\n"
        spelled = [
            "".join(f"{word} {name};" for word in (words * 100)[:100])[:-1].encode()
            for name in ("ab", "margin")
        ]
        _measure(series, n_rules, Grammar(text), vocabulary, *map(encode, spelled))
    return series


def _batch(vocabulary: Vocabulary) -> Series:
    """Measure the time of a row where many guides fill the rows of one array."""
    series, encode = Series("guides in a batch: time of a row"), _encoder(vocabulary)
    index = compile(_JSON, vocabulary)
    for n_guides in (1, 4, 16, 64, 256):
        guides = []
        for seed in range(n_guides):
            guide = _led(index, encode(_records(seed, 10))[: 20 + seed % 30])
            guide.allowed_token_ids()
            guides.append(guide)
        rows = np.zeros((n_guides, vocabulary.n_words), dtype=np.int32)

        series.sizes.append(n_guides)
        series.warm.append(_microseconds(partial(fill_bitmasks, guides, rows)) / n_guides)
        series.copy.append(_copy(rows) / n_guides)
    return series


def _measure(
    series: Series,
    size: int,
    grammar: Grammar,
    vocabulary: Vocabulary,
    text: list[int],
    other: list[int],
) -> None:
    """Add the times at one size; `other` is a text whose masks `text` has made already."""
    cold = []
    for _ in range(N_COLD):
        index = compile(grammar, vocabulary)
        guide = _led(index, text)
        cold.append(_once(guide.allowed_token_ids))
    _times(index, text)
    series.sizes.append(size)
    series.cold.append(float(np.median(cold)))
    series.new.append(float(np.median(_times(index, other))))
    warm = [float(np.median(_times(index, other))) for _ in range(N_REPEATS)]
    series.warm.append(float(np.median(warm)))
    series.copy.append(_copy(np.zeros(vocabulary.n_words, dtype=np.int32)))


def _led(index: Index, tokens: Iterable[int]) -> Guide:
    guide = Guide(index)
    for token in tokens:
        guide.advance(token)
    return guide


def _times(index: Index, tokens: list[int]) -> list[float]:
    """Return the microseconds of each of the last masks of a text, for a new guide."""
    guide = _led(index, tokens[:-N_STEPS])
    row = np.zeros(index.vocabulary.n_words, dtype=np.int32)
    times = []
    for token in tokens[-N_STEPS:]:
        times.append(_once(partial(guide.fill_bitmask, row)))
        guide.advance(token)
    return times


def _once(call: Callable[[], object]) -> float:
    started = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - started) / 1000


def _microseconds(call: Callable[[], object]) -> float:
    return float(np.median([_once(call) for _ in range(20 * N_REPEATS)]))


def _copy(rows: npt.NDArray[np.int32]) -> float:
    return _microseconds(partial(np.copyto, np.empty_like(rows), rows))


def _cut(tokens: list[bytes], size: int) -> Vocabulary:
    """Return all bytes, the first tokens of a list, and EOS."""
    longer = [token for token in tokens if len(token) > 1]
    return Vocabulary.of_bytes(longer[: size - 256])


def _encoder(vocabulary: Vocabulary) -> Encode:
    """Return a function that spells a text with the longest token at each place."""
    ids = {token: number for number, token in enumerate(vocabulary.tokens) if token}
    longest = 16

    def encode(text: bytes) -> list[int]:
        found = []
        start = 0
        while start < len(text):
            end = next(n for n in range(longest, 0, -1) if text[start : start + n] in ids)
            found.append(ids[text[start : start + end]])
            start += len(text[start : start + end])
        return found

    return encode


def _records(seed: int, n_records: int) -> bytes:
    """Return a JSON text that breaks off inside a string: a list of flat records."""
    rng = Random(seed)
    parts = [
        f'{{"name": "{_word(rng)} {_word(rng)}", "n": {rng.randrange(10_000)}}}, '
        for _ in range(n_records)
    ]
    return ("[" + "".join(parts) + '{"name": "ab').encode()


def _word(rng: Random) -> str:
    return "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randrange(3, 8)))


def _words(n_words: int) -> list[str]:
    rng = Random(n_words)
    words: dict[str, None] = {}
    while len(words) < n_words:
        words[_word(rng).upper()] = None
    return list(words)


def _targets(series: list[Series]) -> Iterator[Target]:
    """Yield how much the warm line rises beyond a row's copy, where it should be flat."""
    for each in series[:3]:
        first, last = (each.warm[at] - each.copy[at] for at in (0, -1))
        setting = f"{each.name}: {each.sizes[0]:,} to {each.sizes[-1]:,}"
        title = "warm mask beyond the copy of a row, largest against smallest"
        yield Target(title, setting, last / first, FLAT, "times")


def _lines(series: list[Series], name: str) -> list[str]:
    lines = [
        f"cfgguide alone, JSON but for the size of the grammar, vocabulary of {name}. Microseconds "
        "of a mask at the end of a text. *Cold*: the mask inside a string or name is made, on an "
        "index that has seen nothing else. *New*: the index has seen another text of the kind, not "
        "this one. *Warm*: it has seen this text. *Copy*: numpy's copy of such a row.",
        "",
    ]
    head = ["", "size", "cold", "new", "warm", "copy"]
    rows = []
    for each in series:
        columns = [each.cold, each.new, each.warm, each.copy]
        for number, size in enumerate(each.sizes):
            cells = [tables.number(column[number]) if column else "-" for column in columns]
            rows.append([each.name if not number else "", f"{size:,}", *cells])
    return [*lines, *tables.table(head, rows), ""]


if __name__ == "__main__":
    main()
