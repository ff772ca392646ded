"""Shows that the memory of a pool stays bounded while a service is sent ever new grammars.

In: as many distinct small grammars as wanted, such as come from JSON schemas, each used for one
text. Out: the resident memory of the process, and grammars a second, printed as it goes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from random import Random

from measuring import resident_bytes
from vocabularies import GEMMA, find, open_tokenizer, write_standard_library_tokenizer

from cfgguide import Grammar, Guide, Index, IndexPool, Vocabulary

KINDS = ("STRING", "NUMBER", "BOOL", "strings", '"null"', '("\\"on\\"" | "\\"off\\"")')
TERMINALS = r"""
strings: "[" [STRING ("," STRING)*] "]"
STRING: /"([^"\\\n]|\\["\\\/nt])*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?/
BOOL: "true" | "false"
%ignore " "
"""


def schema_like(number: int) -> Grammar:
    """Return a grammar of objects with a few named members; each number has its own."""
    rng = Random(number)
    names = [f"name_{number}", *(f"field_{rng.randrange(999)}" for _ in range(rng.randint(1, 6)))]
    members = ' "," '.join(f'"\\"{name}\\"" ":" {rng.choice(KINDS)}' for name in names)
    return Grammar(f'start: "{{" {members} "}}"{TERMINALS}')


def use(index: Index, seed: int, most: int = 60) -> None:
    """Write a random text."""
    guide, rng = Guide(index), Random(seed)
    for _ in range(most):
        allowed = guide.allowed_token_ids().tolist()
        if not allowed:
            break
        guide.advance(rng.choice(allowed))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--grammars", type=int, default=10_000)
    parser.add_argument("--max-bytes", type=int, default=500_000_000)
    parser.add_argument("--every", type=int, default=1000, help="grammars between lines")
    parser.add_argument("--tokenizer", help=f"a folder or file, or {GEMMA!r}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        named = options.tokenizer and find(options.tokenizer)
        tokenizer = open_tokenizer(named or write_standard_library_tokenizer(Path(folder)))
    vocabulary = Vocabulary.from_tokenizer(
        tokenizer.fast, eos_token_ids=tokenizer.eos_token_id, size=tokenizer.size
    )
    pool = IndexPool(vocabulary, max_bytes=options.max_bytes, use_cache=False)
    use(pool.index(schema_like(-1)), 0)
    print(f"{vocabulary.size:,} ids; at the start {resident_bytes() / 1e6:,.0f} MB")
    started = time.perf_counter()
    for number in range(1, options.grammars + 1):
        use(pool.index(schema_like(number)), number)
        if number % options.every == 0:
            rate = number / (time.perf_counter() - started)
            print(
                f"{number:>7,} grammars: {len(pool):>6,} in the pool, {pool.nbytes / 1e6:>5,.0f} MB"
                f" by its count, {resident_bytes() / 1e6:>6,.0f} MB resident, {rate:.0f} a second",
                flush=True,
            )


if __name__ == "__main__":
    main()
