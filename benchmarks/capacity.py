"""What a service needs: memory and processor time for its grammars and its requests.

In: a tokenizer, and schemas with instances (:mod:`schema_cases`). Out: a report in Markdown. What
does a process hold? What does one more grammar hold, and take? One more request? A token, in new
texts and in known ones? And from these figures, on paper: what do so many requests a second need?
There is no model and no engine, and caches are empty.

    python benchmarks/capacity.py --tokenizer path/to/qwen2.5 --schemas data.jsonl.gz
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import documents
import numpy as np
import schema_cases
from measuring import resident_bytes
from vocabularies import Tokenizer, find, open_tokenizer, write_standard_library_tokenizer

import cfgguide
from cfgguide.serving import Backend, Matcher

RATES = (100, 1_000, 10_000)  # requests a second
N_OPEN, N_TOKENS = 2_000, 200  # requests at once, and tokens of each
#: Texts of each grammar. Of those of SQL, some are no SQLite, and left out.
N_TEXTS = {"json": 40, "sqlite": 200, "python": 40}
NAMED = {"json": "json", "sqlite": "sql", "python": "python"}  # documents, and their grammar
_clock = time.process_time


@dataclass
class Cost:
    """What texts of one kind have cost.

    `compiling` is in milliseconds for each grammar, `new` and `known` in microseconds for each
    token (the row and the token), `held` in megabytes for each index.
    """

    compiling: list[float]
    new: list[float]
    known: list[float]
    held: list[float]


def read(matcher: Matcher, token_ids: list[int], rows: np.ndarray) -> float | None:
    """Return the microseconds that a token has taken; None if the text is no sentence."""
    started = _clock()
    for token_id in token_ids:
        matcher.fill_bitmask(rows, 0)
        if not matcher.accept([token_id]):
            return None
    matcher.fill_bitmask(rows, 0)
    return (_clock() - started) / (len(token_ids) + 1) * 1e6


def add(cost: Cost, backend: Backend, kind: str, text: str, texts: list[list[int]]) -> None:
    """Compile a grammar, and read its texts twice."""
    started = _clock()
    index = backend.index(kind, text)
    cost.compiling.append((_clock() - started) * 1e3)
    rows = np.zeros((1, backend.vocabulary.n_words), dtype=np.int32)
    for times in (cost.new, cost.known):
        for token_ids in texts:
            found = read(Matcher(index), token_ids, rows)
            times += [] if found is None else [found]
    cost.held.append(index.footprint / 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tokenizer", help="a folder or file; by default that of the tests")
    parser.add_argument("--schemas", type=Path, nargs="*", default=[], help="as of maskbench.py")
    parser.add_argument("--sample", type=int, default=100, help="schemas")
    options = parser.parse_args()
    started = resident_bytes()
    folder = tempfile.TemporaryDirectory()
    os.environ["CFGGUIDE_CACHE"] = str(Path(folder.name, "cache"))
    named = options.tokenizer and find(options.tokenizer)
    tokenizer = open_tokenizer(named or write_standard_library_tokenizer(Path(folder.name)))
    with_tokenizer = resident_bytes()
    vocabulary = cfgguide.Vocabulary.from_tokenizer(
        tokenizer.fast, eos_token_ids=tokenizer.eos_token_id, size=tokenizer.size
    )
    backend = Backend(vocabulary)
    costs = {f"`{NAMED[name]}`": _of_named(backend, tokenizer, name) for name in NAMED}
    if options.schemas:
        costs["schemas"] = _of_schemas(backend, tokenizer, options.schemas, options.sample)
    a_request = _of_requests(backend, tokenizer)
    print(
        f"{tokenizer.size:,} tokens; {platform.processor() or platform.machine()}, "
        f"Python {platform.python_version()}, processor time, one core.\n"
    )
    print(
        f"A process holds {started / 1e6:.0f} MB before and {with_tokenizer / 1e6:.0f} MB with "
        f"its tokenizer; one request of {N_TOKENS} tokens holds {a_request / 1e3:.1f} kB.\n"
    )
    print(
        "| | compiling, ms: mean | worst | an index, MB: median | largest | a token, us: new "
        "texts | read again |\n|---|---|---|---|---|---|---|"
    )
    for name, cost in costs.items():
        print(
            f"| {name} | {np.mean(cost.compiling):.1f} | {np.max(cost.compiling):.0f} | "
            f"{np.median(cost.held):.2f} | {np.max(cost.held):.1f} | {np.mean(cost.new):.1f} | "
            f"{np.mean(cost.known):.1f} |"
        )
    _on_paper(costs.get("schemas") or next(iter(costs.values())), a_request)


def _of_named(backend: Backend, tokenizer: Tokenizer, name: str) -> Cost:
    cost = Cost([], [], [], [])
    made = (documents.made(name, seed) for seed in itertools.count())
    texts = [tokenizer.encode(text) for text in itertools.islice(made, N_TEXTS[name])]
    add(cost, backend, "grammar", f'cfgguide:{NAMED[name]} {{"tidy": false}}', texts)
    return cost


def _of_schemas(backend: Backend, tokenizer: Tokenizer, paths: list[Path], sample: int) -> Cost:
    cost = Cost([], [], [], [])
    cases = list(schema_cases.read_cases(paths))
    for case in Random(0).sample(cases, min(sample, len(cases))):
        texts = [
            tokenizer.encode(instance.text) for instance in case.instances if instance.is_valid
        ]
        try:
            add(cost, backend, "json", json.dumps(case.schema), texts)
        except cfgguide.CfgGuideError:
            continue  # refers to a document that is not there, mostly
    return cost


def _of_requests(backend: Backend, tokenizer: Tokenizer) -> float:
    """Return the bytes that an open request holds."""
    text = json.dumps([["a few words", 12, None] for _ in range(N_TOKENS)])
    token_ids = tokenizer.encode(text)[:N_TOKENS]
    index = backend.index("json", '{"type": "array"}')
    rows = np.zeros((1, backend.vocabulary.n_words), dtype=np.int32)
    read(Matcher(index), token_ids, rows)
    before = resident_bytes()
    matchers = [Matcher(index) for _ in range(N_OPEN)]
    for matcher in matchers:
        assert matcher.accept(token_ids), "the text begins a sentence"
    return (resident_bytes() - before) / N_OPEN


def _on_paper(cost: Cost, a_request: float) -> None:
    known, new, compiling = np.mean(cost.known), np.mean(cost.new), np.mean(cost.compiling)
    print(f"\nOn paper: requests of {N_TOKENS} tokens that take 10 s each, over all nodes.\n")
    print(
        "| requests a second | tokens a second | cores, all schemas known | one request in ten "
        "brings a new schema | each does | memory of open requests, GB |\n|---|---|---|---|---|---|"
    )
    for rate in RATES:
        cores = []
        for share in (0.0, 0.1, 1.0):
            a_token = share * new + (1 - share) * known
            cores.append(rate * (N_TOKENS * a_token / 1e6 + share * compiling / 1e3))
        print(
            f"| {rate:,} | {rate * N_TOKENS:,} | {cores[0]:.1f} | {cores[1]:.1f} | "
            f"{cores[2]:.0f} | {rate * 10 * a_request / 1e9:.1f} |"
        )


if __name__ == "__main__":
    main()
