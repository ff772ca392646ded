"""JSON Schema beside its peers: which schemas compile, which instances are decided wrongly.

``python benchmarks/json_schemas.py FILE ... --tokenizer FOLDER`` reads cases of the official test
suite, as lines of JSON with "id", "schema", "text" and "expected". Each engine compiles each schema
and decides about the texts, spelled in the vocabulary's single bytes; `format` is a condition where
the engine has it so, and the files of the suite that take it for a comment are left out. A schema
that an engine refuses is counted as refused; one that it compiles must decide all its instances.

XGrammar and llguidance ask for the compact layout or white space as their own defaults have it, so
the texts are given as written in the suite, with a space after commas and colons.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

Decide = Callable[[str], bool]
Compile = Callable[[Any], Decide]


@dataclass
class Tally:
    """What an engine has done so far."""

    compiled: int = 0
    refused: int = 0
    false_accepts: int = 0
    false_rejects: int = 0
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def cfgguide_engine(folder: str) -> Compile:
    """Return cfgguide as a compiler of schemas."""
    from transformers import AutoTokenizer

    import cfgguide

    vocabulary = cfgguide.Vocabulary.from_tokenizer(AutoTokenizer.from_pretrained(folder))
    ids = _single_bytes(vocabulary.tokens)

    def compiled(schema: Any) -> Decide:
        index = cfgguide.compile(cfgguide.json_schema(schema), vocabulary)
        cfgguide.Guide(index).allowed_token_ids()  # the first mask is a part of the set-up

        def decide(text: str) -> bool:
            guide = cfgguide.Guide(index)
            for byte in text.encode():
                if not guide.accepts(ids[byte]):
                    return False
                guide.advance(ids[byte])
            return guide.is_accepting

        return decide

    return compiled


def xgrammar_engine(folder: str) -> Compile:
    """Return XGrammar, with its defaults: any white space, strict mode off."""
    import xgrammar
    from transformers import AutoTokenizer

    info = xgrammar.TokenizerInfo.from_huggingface(AutoTokenizer.from_pretrained(folder))
    compiler = xgrammar.GrammarCompiler(info, cache_enabled=False)

    def compiled(schema: Any) -> Decide:
        grammar = compiler.compile_json_schema(json.dumps(schema), strict_mode=False)
        matcher = xgrammar.GrammarMatcher(grammar, terminate_without_stop_token=True)
        matcher.fill_next_token_bitmask(xgrammar.allocate_token_bitmask(1, info.vocab_size))

        def decide(text: str) -> bool:
            matcher = xgrammar.GrammarMatcher(grammar, terminate_without_stop_token=True)
            return bool(matcher.accept_string(text)) and matcher.is_terminated()

        return decide

    return compiled


def llguidance_engine(folder: str) -> Compile:
    """Return llguidance, with its defaults."""
    import llguidance
    import llguidance.hf
    from transformers import AutoTokenizer

    tokenizer = llguidance.hf.from_tokenizer(AutoTokenizer.from_pretrained(folder))

    def compiled(schema: Any) -> Decide:
        grammar = llguidance.LLMatcher.grammar_from_json_schema(schema)
        problem = llguidance.LLMatcher.validate_grammar(grammar, tokenizer)
        if problem:
            raise ValueError(problem)
        matcher = llguidance.LLMatcher(tokenizer, grammar)
        matcher.compute_bitmask()

        def decide(text: str) -> bool:
            matcher = llguidance.LLMatcher(tokenizer, grammar)
            tokens = tokenizer.tokenize_bytes(text.encode())
            return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()

        return decide

    return compiled


def outlines_engine(folder: str) -> Compile:
    """Return outlines-core: a regular expression for a schema, and its index."""
    import outlines_core
    from outlines_core import json_schema
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokens: dict[bytes, list[int]] = {}
    from cfgguide import Vocabulary

    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    for number, token in enumerate(vocabulary.tokens):
        if token:
            tokens.setdefault(token, []).append(number)
    known = outlines_core.Vocabulary(vocabulary.eos_token_ids[0], tokens)

    def compiled(schema: Any) -> Decide:
        pattern = json_schema.build_regex_from_schema(json.dumps(schema))
        outlines_core.Index(pattern, known)
        expression = re.compile(pattern)
        return lambda text: expression.fullmatch(text) is not None

    return compiled


ENGINES = {
    "cfgguide": cfgguide_engine,
    "XGrammar": xgrammar_engine,
    "llguidance": llguidance_engine,
    "outlines-core": outlines_engine,
}


def _single_bytes(tokens: Any) -> dict[int, int]:
    return {token[0]: number for number, token in enumerate(tokens) if token and len(token) == 1}


def run(compiled: Compile, cases: list[dict[str, Any]], tally: Tally) -> None:
    """Compile the schema of some cases, and decide them."""
    began = time.perf_counter()
    try:
        decide = compiled(cases[0]["schema"])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        is_empty = "no value is allowed" in str(error)
        if is_empty and all(case["expected"] == "reject" for case in cases):
            tally.compiled += 1  # there is nothing to write, and it says so
        else:
            tally.refused += 1
        return
    tally.seconds.append(time.perf_counter() - began)
    tally.compiled += 1
    for case in cases:
        is_accepted = decide(case["text"])
        if is_accepted != (case["expected"] == "accept"):
            tally.wrong.append(case["id"])
            tally.false_accepts += is_accepted
            tally.false_rejects += not is_accepted


def table(tallies: dict[str, Tally], n_schemas: int) -> str:
    """Return the results as Markdown."""
    lines = [
        "| engine | compiled | refused | wrongly accepted | wrongly refused | compile p50 | p99 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, tally in tallies.items():
        times = sorted(tally.seconds)
        p50, p99 = (times[int(len(times) * share)] for share in (0.5, 0.99))
        lines.append(
            f"| {name} | {tally.compiled} ({tally.compiled / n_schemas:.0%}) | {tally.refused} | "
            f"{tally.false_accepts} | {tally.false_rejects} | {1000 * p50:.1f} ms | "
            f"{1000 * p99:.0f} ms |"
        )
    return "\n".join(lines)


def main() -> int:
    """Run all engines over all cases, one schema after another."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--tokenizer", required=True, help="a folder")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--every", type=int, default=1, help="only each n-th schema")
    options = parser.parse_args()
    schemas: dict[str, list[dict[str, Any]]] = {}
    for path in options.files:
        for line in path.read_text(encoding="utf-8").split("\n"):
            case = json.loads(line) if line else {"id": "format.json"}
            if not case["id"].startswith("format.json"):
                schemas.setdefault(f"{path}:{case['id'].rsplit('.', 1)[0]}", []).append(case)
    engines = {}
    for name in options.engines:
        try:
            engines[name] = ENGINES[name](options.tokenizer)
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    tallies = {name: Tally() for name in engines}
    chosen = list(schemas.values())[:: options.every]
    for cases in tqdm(chosen, disable=None):
        for name, compiled in engines.items():
            run(compiled, cases, tallies[name])
    print(f"{len(chosen)} schemas, {sum(map(len, chosen))} instances\n")
    print(table(tallies, len(chosen)))
    ours = tallies.get("cfgguide")
    if ours is not None and ours.wrong:
        print(f"\ndecided wrongly by cfgguide: {', '.join(ours.wrong)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
