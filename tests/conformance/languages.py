"""Programming languages: does the bundled grammar say what the language's own parser says?

``python tests/conformance/languages.py LANGUAGE files FILE ...`` asks of real files, by Lark,
or token by token of ``--tokenizer FOLDER``; ``mutants FILE ...`` changes them at random, so
that most are no programs; ``uniform`` writes texts, each allowed token with the same
probability, and ends them with the guide's shortest completion; ``functions`` lets SmolLM2 write
some. The judge of the language decides; the exit status is 1 if it disagrees anywhere. What the
judge refuses for other reasons than its syntax counts as accepted.
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
from support import languages
from support.judges import lark_parser

Judge = Callable[[str], str | None]
N_TOGETHER = 10  # functions that a model writes in one batch
TASKS = (
    "adds two numbers",
    "returns the larger of two numbers",
    "reverses a string",
    "computes the factorial of a number",
    "checks whether a number is prime",
    "returns the sum of a list of numbers",
    "counts the vowels in a string",
    "converts Celsius to Fahrenheit",
    "returns the n-th Fibonacci number",
    "checks whether a string is a palindrome",
    "finds the smallest element of a list",
    "sorts a list of numbers",
    "computes the greatest common divisor of two numbers",
    "returns the absolute value of a number",
    "checks whether a year is a leap year",
    "counts the words in a sentence",
    "removes the duplicates from a list",
    "computes the area of a circle",
    "swaps two values",
    "searches a sorted list for a value",
    "computes the average of a list",
    "raises a number to a power",
    "counts how often a letter occurs in a string",
    "converts a number to its binary digits",
    "merges two sorted lists",
    "prints the numbers from one to ten",
    "checks whether a number is even",
    "returns the last element of a list",
    "computes the distance between two points",
    "turns a string into upper case",
    "counts the bits that are set in a number",
    "reads a line and returns its length",
    "multiplies two matrices",
    "rotates a list by one place",
    "returns the digits of a number in reverse",
    "checks whether two strings are anagrams",
    "finds the second largest number in a list",
    "joins a list of strings with commas",
    "computes compound interest",
    "returns the sign of a number",
    "clamps a value between two bounds",
    "fills a list with zeros",
    "splits a string at spaces",
    "counts down from a number to zero",
    "checks whether brackets are balanced",
    "computes the median of three numbers",
    "replaces the spaces in a string with underscores",
    "returns whether a list is sorted",
    "computes the sum of the digits of a number",
    "returns the greeting for a name",
)
_TOKENS = re.compile(r"\s+|[^\W\d]\w*|[\d.]+\w*|\"[^\"\n]*\"|'[^'\n]*'|--|//|.", re.DOTALL)


def main() -> int:
    options = _options()
    judges = import_module(languages.JUDGES[options.language])
    judge: Judge = judges.error
    grammar = cfgguide.Grammar.bundled(options.language)
    if options.what == "uniform":
        return _uniform(grammar, getattr(judges, "strict_error", judge), options)
    if options.what == "functions":
        return _functions(judge, options)
    texts = _mutants(options) if options.what == "mutants" else _files(options.files)
    return _compare(grammar, judge, texts, options)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("language", choices=languages.JUDGES)
    options.add_argument("what", choices=("files", "mutants", "uniform", "functions"))
    options.add_argument("files", nargs="*", type=Path, help="files, or lists of files as @LIST")
    options.add_argument("--tokenizer", help="the folder of a tokenizer")
    options.add_argument("--texts", type=int, default=1000, help="so many mutants or uniform texts")
    options.add_argument(
        "--tokens", type=int, default=60, help="most tokens, before the ending or in all"
    )
    options.add_argument("--show", action="store_true", help="print what the model writes")
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
    parser = lark_parser(grammar)

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


def _functions(judge: Judge, options: argparse.Namespace) -> int:
    from cfgguide.languages.presets import preset_of
    from cfgguide.models import load_model

    around = getattr(import_module(languages.JUDGES[options.language]), "AROUND_FUNCTION", "{}")
    model, preset = load_model(), preset_of(options.language)
    grammar = cfgguide.Grammar.bundled(options.language, start=preset.start, tidy=True)
    prompts = [preset.messages(f"Write a function that {task}.") for task in TASKS[: options.texts]]
    n_wrong = n_tokens = 0
    started = time.perf_counter()
    for first in range(0, len(prompts), N_TOGETHER):
        results = cfgguide.generate(
            model,
            prompts[first : first + N_TOGETHER],
            grammar,
            until=preset.has_ended,
            max_new_tokens=options.tokens,
            temperature=0.7,
            seed=options.seed + first,
        )
        for result in results:
            said = judge(around.format(result.text))
            n_tokens += len(result.token_ids)
            if options.show:
                print(result.text, end="\n\n", flush=True)
            if said or not result.is_complete:
                n_wrong += 1
                print(f"{said or 'not complete'}: {result.text!r}", flush=True)
    print(
        f"{len(prompts)} functions of {n_tokens / len(prompts):.0f} tokens in "
        f"{time.perf_counter() - started:.0f} s: {n_wrong} refused or not complete"
    )
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
