"""Generations within a budget: does every one of them finish, and how many calls does that save?

    python tests/conformance/budgets.py [--each 56] [--budgets 12 20 32] [--grammars json sql]

SmolLM2 writes so many texts for each grammar and budget, half of them greedily and half sampled.
Each must be complete, within its budget, and a text that another judge takes: `json.loads`, Lark,
`ast.parse`. `record` is a grammar with fixed names, where much of the text is forced. The last
columns say how many tokens the model was not asked for.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import lark

import cfgguide
from cfgguide.models import load_model

sys.path.append(str(Path(__file__).parent.parent))
from support.lark_search import no_search_for_overlaps

RECORD = cfgguide.Grammar(r"""
start: "{\"name\": " STRING ", \"age\": " INT ", \"is_member\": " ("true" | "false") "}"
STRING: /"[A-Za-z .]{1,30}"/
INT: /[1-9][0-9]?/
""")
GRAMMARS = {
    "json": cfgguide.Grammar.bundled("json", max_ignored=16),
    "sql": cfgguide.Grammar.bundled("sql"),
    "python": cfgguide.Grammar.bundled("python", start="function"),
    "record": RECORD,
}
TOPICS = ("a cat", "three cities", "a library", "the weather", "prime numbers", "a bank", "a ship")
REQUESTS = {
    "json": "A JSON object about {}:\n",
    "sql": "An SQL query about {}:\n",
    "python": "A Python function about {}:\n",
    "record": "A member, about {}:\n",
}


def judge_of(name: str, grammar: cfgguide.Grammar) -> Callable[[str], object]:
    """Return what raises an error for a text that is no sentence."""
    if name in ("json", "python"):
        return json.loads if name == "json" else ast.parse
    with no_search_for_overlaps():
        return lark.Lark(grammar.text, parser="lalr", lexer="contextual", start=grammar.start).parse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=56)
    parser.add_argument("--budgets", type=int, nargs="+", default=[12, 20, 32])
    parser.add_argument("--grammars", nargs="+", default=list(GRAMMARS))
    options = parser.parse_args()
    model, tokenizer = load_model()
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer)
    print(f"{'grammar':8} {'budget':>6} {'texts':>6} {'complete':>8} {'valid':>6} {'full':>5} "
          f"{'tokens':>7} {'forced':>6} {'calls':>6} {'seconds':>8}")  # fmt: skip
    for name in options.grammars:
        index = cfgguide.compile(GRAMMARS[name], vocabulary)
        judge = judge_of(name, GRAMMARS[name])
        for budget in options.budgets if name != "record" else [max(options.budgets)]:
            n_complete = n_valid = n_full = n_tokens = n_forced = n_calls = 0
            started = time.perf_counter()
            for number in range(options.each):
                found = cfgguide.generate(
                    model,
                    REQUESTS[name].format(TOPICS[number % len(TOPICS)]),
                    tokenizer=tokenizer,
                    what=index,
                    max_new_tokens=budget,
                    temperature=(number % 2) * 1.0,
                    seed=number,
                )
                assert len(found.token_ids) <= budget, found
                n_complete += found.is_complete
                n_full += len(found.token_ids) == budget
                n_tokens += len(found.token_ids)
                n_forced += found.n_forced
                n_calls += found.n_model_calls
                try:
                    judge(found.text)
                    n_valid += 1
                except (ValueError, SyntaxError, lark.LarkError) as error:
                    print(f"not valid: {found.text!r}: {error}")
            seconds = time.perf_counter() - started
            print(f"{name:8} {budget:6} {options.each:6} {n_complete:8} {n_valid:6} {n_full:5} "
                  f"{n_tokens:7} {n_forced:6} {n_calls:6} {seconds:8.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
