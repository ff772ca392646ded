"""Texts of SQL: does the grammar say what the database says?

``python tests/conformance/sql_texts.py --corpus FILE ...`` reads lines of JSON with a "text" each;
``--derived 10000`` makes so many sentences of the grammar at random, all of which the database must
parse; ``--mutated 10000`` changes texts of the corpora at random. Each text goes to Lark and to the
judge, and disagreements are listed with what the refusing side said. ``--grammar`` names the
grammar. The exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import lark
from support.languages import bundled_parser

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import postgresql_judge, sql_judge
from support.derivations import Deriver, mutated
from support.sql_grammars import SAMPLES, SYMBOLS, WORDS

SHOWN = 40
JUDGES: dict[str, Any] = {"sql": sql_judge, "postgresql": postgresql_judge}


def main() -> int:
    options = _options()
    texts = [text for path in options.corpus for text in _read(path)]
    n_wrong = 0
    for path in options.corpus if not options.mutated else ():
        n_wrong += _compare(path.parent.name, _read(path), options)
    if options.mutated:
        n_wrong += _compare("mutated", _mutated(texts, options), options)
    if options.derived:
        n_wrong += _compare("derived", _derived(options), options)
    return int(n_wrong > 0)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--grammar", choices=JUDGES, default="sql")
    options.add_argument("--corpus", type=Path, nargs="+", default=[], help="files of JSON lines")
    options.add_argument("--derived", type=int, default=0, help="so many random sentences")
    options.add_argument("--mutated", type=int, default=0, help="so many random changes")
    options.add_argument("--seed", type=int, default=0)
    return options.parse_args()


def _read(path: Path) -> list[str]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def _mutated(texts: list[str], options: argparse.Namespace) -> Iterator[str]:
    rng = random.Random(options.seed)
    words = [*WORDS, *SYMBOLS]
    for _ in range(options.mutated):
        yield mutated(rng, rng.choice(texts), words, rng.choice((1, 1, 1, 2, 3)))


def _derived(options: argparse.Namespace) -> Iterator[str]:
    rng = random.Random(options.seed)
    deriver = Deriver(bundled_parser(options.grammar, "statement"), SAMPLES)
    for _ in range(options.derived):
        words = deriver.sentence(rng, "statement", rng.choice((5, 10, 20, 40, 80)))
        yield " ".join(words) if rng.random() < 0.9 else "".join(words)


def _refusal(text: str, options: argparse.Namespace) -> str:
    try:
        bundled_parser(options.grammar, "statement").parse(text)
    except lark.exceptions.LarkError as error:
        return str(error).split("\n")[0] or "refused"
    return ""


def _compare(name: str, texts: Iterable[str], options: argparse.Namespace) -> int:
    judge = JUDGES[options.grammar]
    counts: Counter[tuple[bool | None, bool]] = Counter()
    causes: dict[str, list[str]] = {}
    for text in texts:
        refusal = _refusal(text, options)
        said = judge.verdict(text)
        counts[said, not refusal] += 1
        if said is not None and said != (not refusal):
            cause = refusal or "judge: " + (judge.error(text) or "refuses")
            causes.setdefault(cause, []).append(text)
    n_wrong = counts[True, False] + counts[False, True]
    print(
        f"{name}: both accept {counts[True, True]:,}, both refuse {counts[False, False]:,}, "
        f"lost {counts[True, False]:,}, wrongly accepted {counts[False, True]:,}, "
        f"the judge doesn't say {counts[None, True] + counts[None, False]:,}",
        flush=True,
    )
    for cause, found in sorted(causes.items(), key=lambda item: -len(item[1]))[:SHOWN]:
        print(f"  {len(found):,} x {cause[:120]!r}: {min(found, key=len)[:300]!r}")
    return n_wrong


if __name__ == "__main__":
    sys.exit(main())
