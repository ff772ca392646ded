"""Hostile grammars, patterns and schemas, and who survives them.

In: the corpus in `tests/hostile`. Out: for cfgguide, XGrammar and llguidance, as far as they are
installed, how many cases work (they compile, and the first mask is made), are refused, take more
than 5 seconds or 500 MB, or end the process; and for how long other threads stood still at most.

    python benchmarks/hostile.py [--engine NAME ...] [--every N] [--json FOLDER]

Each case runs in a process of its own, which is killed after 12 seconds (`tests/hostile/run.py`).
The vocabulary is that of the tests, 32,000 tokens. cfgguide has its limits for strangers, the
others what they have by default, and one thread. llguidance reads a kind of Lark, and gets grammars
as they are. XGrammar gets those that are only words, groups and choices, which :func:`ebnf` writes
in its EBNF; the others count as not expressible. Patterns are given to all as they are, though
their dialects differ, and so are schemas. Any exception of the others counts as a refusal.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT / "benchmarks")]

from hostile.cases import KINDS, Case, all_cases  # noqa: E402
from hostile.run import (  # noqa: E402
    NOT_EXPRESSIBLE,
    OUTCOMES,
    RAW,
    REFUSED,
    STANDSTILL,
    WORKS,
    Engine,
    Outcome,
    as_json,
    run,
)

ENGINES = ("cfgguide", "xgrammar", "llguidance")
_SHOWN = (*OUTCOMES, NOT_EXPRESSIBLE)
_SYMBOL = re.compile(r'"(?:[^"\\\n]|\\[ntr"\\])+"(?!i)|[A-Za-z_]\w*|[()|?*+]|[ \t]+|\n[ \t]*(?=\|)')
_RULE = re.compile(r"([A-Za-z_]\w*) ?: ?")


def ebnf(text: str) -> str | None:
    r"""Return a grammar in XGrammar's EBNF; None if it is more than words, groups and choices.

    Examples
    --------
    >>> ebnf('start: "a" b?\nb: ("c" | "d")+')
    'start ::= "a" b?\nb ::= ("c" | "d")+'
    >>> ebnf("start: /a+/") is None
    True
    """
    rules = []
    for line in re.split(r"\n(?![ \t]*\|)", text):
        if not line.strip():
            continue
        head = _RULE.match(line)
        if head is None or not _is_plain(line[head.end() :]):
            return None
        rules.append(f"{head[1]} ::= {line[head.end() :]}")
    return "\n".join(rules)


def _is_plain(body: str) -> bool:
    end = 0
    while end < len(body):
        symbol = _SYMBOL.match(body, end)
        if symbol is None:
            return False
        end = symbol.end()
    return bool(body.strip())


def of_cfgguide() -> Engine:
    from hostile import engine

    engine.prepare()
    return engine.engine


def _tokenizer() -> Any:
    """Return the tokenizer of the tests."""
    from vocabularies import open_tokenizer, write_standard_library_tokenizer

    with tempfile.TemporaryDirectory() as folder:
        return open_tokenizer(write_standard_library_tokenizer(Path(folder)))


def of_xgrammar() -> Engine:
    import xgrammar
    from engines.xgrammar_engine import XGrammar

    engine = XGrammar()
    engine.prepare(_tokenizer())

    def compiled(kind: str, text: str) -> tuple[str, str]:
        compiler = xgrammar.GrammarCompiler(engine._tokens, max_threads=1, cache_enabled=False)
        if kind == "schema":
            made = compiler.compile_json_schema(text, strict_mode=False)
        elif kind == "pattern":
            made = compiler.compile_regex(text)
        else:
            start = "start" if "::=" not in text else "root"
            written = ebnf(text) if start == "start" else text
            if written is None:
                return NOT_EXPRESSIBLE, ""
            made = compiler.compile_grammar(
                xgrammar.Grammar.from_ebnf(written, root_rule_name=start)
            )
        xgrammar.GrammarMatcher(made).fill_next_token_bitmask(engine._rows, 0)
        return WORKS, ""

    compiled("schema", "{}")
    return _refusing(compiled)


def of_llguidance() -> Engine:
    import llguidance
    import llguidance.numpy
    from engines.llguidance_engine import LLGuidance

    engine = LLGuidance()
    engine.prepare(_tokenizer())
    written = {
        "schema": llguidance.LLMatcher.grammar_from_json_schema,
        "pattern": llguidance.LLMatcher.grammar_from_regex,
        "grammar": llguidance.LLMatcher.grammar_from_lark,
    }

    def compiled(kind: str, text: str) -> tuple[str, str]:
        matcher = llguidance.LLMatcher(engine._tokenizer, written[kind](text), log_level=0)
        llguidance.numpy.fill_next_token_bitmask(matcher, engine._rows, 0)
        if matcher.is_error():
            return REFUSED, matcher.get_error()[:80]
        return WORKS, ""

    compiled("schema", "{}")
    return _refusing(compiled)


def _refusing(engine: Engine) -> Engine:
    """Count exceptions as refusals, except for those of memory, and what is no Exception."""

    def refusing(kind: str, text: str) -> tuple[str, str]:
        try:
            return engine(kind, text)
        except MemoryError as error:
            return RAW, f"MemoryError: {error}"
        except Exception as error:
            return REFUSED, f"{type(error).__name__}: {str(error)[:80]!a}"

    return refusing


_MADE = {"cfgguide": of_cfgguide, "xgrammar": of_xgrammar, "llguidance": of_llguidance}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the corpus through the engines that are asked for and installed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=ENGINES, action="append", help="by default all")
    parser.add_argument("--every", type=int, default=1, help="only each n-th case")
    parser.add_argument("--json", type=Path, help="write all outcomes into this folder")
    options = parser.parse_args(arguments)
    # No other engine has a grammar of SQL.
    cases = [case for case in all_cases() if case.kind != "definition"][:: options.every]
    print(header())
    for name in options.engine or ENGINES:
        if importlib.util.find_spec(name) is None:
            print(f"| {name} is not installed |", flush=True)
            continue
        outcomes = [run(case, engine) for engine in [_MADE[name]()] for case in cases]
        if options.json:
            lines = "".join(as_json(outcome) + "\n" for outcome in outcomes)
            (options.json / f"{name}.jsonl").write_text(lines)
        print(rows(name, cases, outcomes), flush=True)


def header() -> str:
    """Return the head of the table."""
    names = ["engine", "of", "cases", *_SHOWN, "longest standstill", "over 50 ms"]
    aligned = [":---", ":---", *["---:"] * (len(names) - 2)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (names, aligned))


def rows(name: str, cases: Sequence[Case], outcomes: Sequence[Outcome]) -> str:
    """Return the rows of an engine, one for each kind of case."""
    lines = []
    for kind in KINDS:
        chosen = [
            outcome for case, outcome in zip(cases, outcomes, strict=True) if case.kind == kind
        ]
        if not chosen:
            continue
        counts = Counter(outcome.outcome for outcome in chosen)
        longest = max(outcome.standstill for outcome in chosen)
        n_over = sum(outcome.standstill > STANDSTILL for outcome in chosen)
        cells = [name, f"{kind}s", len(chosen), *(counts[each] for each in _SHOWN)]
        lines.append(f"| {' | '.join(map(str, cells))} | {1000 * longest:.0f} ms | {n_over} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
