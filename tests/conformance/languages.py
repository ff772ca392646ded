"""Programming languages: does the bundled grammar say what the language's own parser says?

``python tests/conformance/languages.py LANGUAGE files FILE ...`` asks of real files, by Lark,
or token by token of ``--tokenizer FOLDER``; ``mutants FILE ...`` changes them at random, so
that most are no programs; ``uniform`` writes texts, each allowed token with the same
probability, and ends them with the guide's shortest completion. The judge of the language
decides; the exit status is 1 if it disagrees anywhere. What the judge refuses for other reasons
than its syntax counts as accepted.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import lark
from tqdm import tqdm

import cfgguide

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

Judge = Callable[[str], str | None]
JUDGES = {"javascript": "support.javascript_judge", "lua": "support.lua_judge"}
_TOKENS = re.compile(r"\s+|[^\W\d]\w*|[\d.]+\w*|\"[^\"\n]*\"|'[^'\n]*'|--|//|.", re.DOTALL)


def main() -> int:
    options = _options()
    judge: Judge = import_module(JUDGES[options.language]).error
    grammar = cfgguide.Grammar.bundled(options.language)
    if options.what == "uniform":
        return _uniform(grammar, judge, options)
    texts = _mutants(options) if options.what == "mutants" else _files(options.files)
    return _compare(grammar, judge, texts, options)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("language", choices=JUDGES)
    options.add_argument("what", choices=("files", "mutants", "uniform"))
    options.add_argument("files", nargs="*", type=Path, help="files, or lists of files as @LIST")
    options.add_argument("--tokenizer", help="the folder of a tokenizer")
    options.add_argument("--texts", type=int, default=1000, help="so many mutants or uniform texts")
    options.add_argument("--tokens", type=int, default=60, help="most tokens before the ending")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    given.files = [each for path in given.files for each in _listed(path)]
    return given


def _listed(path: Path) -> list[Path]:
    if str(path).startswith("@"):
        return [Path(line) for line in Path(str(path)[1:]).read_text().splitlines()]
    return [path]


def _files(paths: list[Path]) -> Iterator[tuple[str, str]]:
    for path in paths:
        try:
            yield str(path), path.read_bytes().decode()
        except UnicodeDecodeError:
            print(f"{path}: is not UTF-8")


def _mutants(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Delete, double or swap tokens of parts of real files."""
    rng = random.Random(options.seed)
    for number in range(options.texts):
        name, text = next(_files([rng.choice(options.files)]), ("", ""))
        words = _TOKENS.findall(text[:20_000])
        solid = [place for place, word in enumerate(words) if not word.isspace()]
        if len(solid) < 2:
            continue
        for _ in range(rng.choice((1, 1, 2))):
            place, other = rng.choice(solid), rng.choice(solid)
            change = rng.choice(("delete", "double", "swap", "move"))
            if change == "delete":
                words[place] = ""
            elif change == "double":
                words[place] += words[place]
            elif change == "swap":
                words[place], words[other] = words[other], words[place]
            else:
                words[other] += " " + words[place]
                words[place] = ""
        yield f"{name}, mutant {number}", "".join(words)


def _compare(
    grammar: cfgguide.Grammar,
    judge: Judge,
    texts: Iterator[tuple[str, str]],
    options: argparse.Namespace,
) -> int:
    counts: Counter[tuple[bool, bool]] = Counter()
    accepts = _by_tokens(grammar, options.tokenizer) if options.tokenizer else _by_lark(grammar)
    for name, text in tqdm(texts, unit="text", disable=None):
        said = judge(text)
        refused = accepts(text)
        counts[not said, not refused] += 1
        if bool(said) != bool(refused):
            print(
                f"{name}: judge: {said or 'accepts'}; grammar: {refused or 'accepts'}", flush=True
            )
    n_both, n_neither = counts[True, True], counts[False, False]
    print(
        f"{sum(counts.values()):,} texts: {n_both:,} accepted and {n_neither:,} refused by both; "
        f"lost {counts[True, False]:,}, wrongly accepted {counts[False, True]:,}"
    )
    return int(counts[True, False] + counts[False, True] > 0)


def _by_lark(grammar: cfgguide.Grammar) -> Callable[[str], str]:
    parser = lark.Lark(grammar.text, **grammar.lark_options)

    def refusal(text: str) -> str:
        try:
            parser.parse(text)
        except lark.exceptions.LarkError as error:
            return str(error).split("\n")[0] or "refused"
        return ""

    return refusal


def _by_tokens(grammar: cfgguide.Grammar, folder: str) -> Callable[[str], str]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    index = cfgguide.compile(grammar, tokenizer)

    def refusal(text: str) -> str:
        guide = cfgguide.Guide(index)
        for token_id in tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True):
            if not guide.accepts(token_id):
                return str(guide.explain(token_id)).split("\n")[0]
            guide.advance(token_id)
        return "" if guide.is_accepting else "no sentence yet"

    return refusal


def _uniform(grammar: cfgguide.Grammar, judge: Judge, options: argparse.Namespace) -> int:
    from transformers import AutoTokenizer

    warnings.simplefilter("ignore")
    index = cfgguide.compile(grammar, AutoTokenizer.from_pretrained(options.tokenizer))
    n_wrong = n_unsaid = n_bytes = 0
    started = time.perf_counter()
    for number in tqdm(range(options.texts), unit="text", disable=None):
        rng = random.Random(f"{options.seed}-{number}")
        guide = cfgguide.Guide(index)
        for _ in range(rng.randint(1, options.tokens)):
            guide.advance(int(rng.choice(guide.allowed_token_ids())))
            if guide.is_finished:
                break
        for token_id in () if guide.is_finished else guide.shortest_completion():
            guide.advance(token_id)
        said = judge(guide.text.decode())
        n_bytes += len(guide.text)
        n_unsaid += said is None
        if said:
            n_wrong += 1
            print(f"text {number}: {said}: {guide.text!r}", flush=True)
    seconds = time.perf_counter() - started
    print(
        f"{options.texts:,} texts of {n_bytes / options.texts:.0f} bytes in {seconds:.0f} s: "
        f"{n_wrong} refused, {n_unsaid} for other reasons than syntax"
    )
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
