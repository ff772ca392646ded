"""Texts that masks let through: does the parser of the language take every one of them?

``python tests/conformance/sampled.py GRAMMAR FOLDER`` writes texts in the tokens of FOLDER, each
allowed token with the same probability, up to ``--tokens`` of them; ``--model MODEL`` samples them
from a model at temperature 1 instead, in batches of ``--rows``; "smollm2" is that of
`cfgguide.models.load`. What is open in the end is closed by the shortest ending that a search
finds. The judge of the language decides about each text: `ast.parse`, SQLite or PostgreSQL's
parser. `compile` is asked of Python, too: what it refuses beyond that is counted. ``--judge
COMMAND`` assertions a program instead, such as ``node pyodide_judge.mjs``, for the parser of a
later CPython. ``--save FILE`` keeps the texts as lines of JSON. The exit status is 1 if any is
refused, if a step has no token, or if no ending is found."""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import shlex
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

import cfgguide
from cfgguide.engine.index.index import Index
from cfgguide.engine.index.memo import Step
from cfgguide.models import load_model

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.sampled_programs import Endings, text_of, walked

# What a model is asked for, so that texts differ by more than chance.
_PROGRAMS = (
    *(
        "reads a file and counts its words",
        "sorts a list of numbers",
        "draws a clock",
        "plays dice",
    ),
    *("parses command-line options", "defines a class for bank accounts", "is a small web server"),
    *("downloads pages with async functions", "checks a password", "prints a calendar"),
    *("uses match statements to walk over a tree", "formats a table with f-strings"),
    *("retries a call when it raises an exception", "writes a CSV file", "solves a maze"),
    *("counts letters with a dictionary comprehension", "has a decorator that measures time"),
    *("is a test case with unittest", "generates primes with yield", "multiplies two matrices"),
)
_QUERIES = (
    *("finds the ten customers who paid most", "counts orders by month and by country"),
    *("lists employees with their managers' names", "ranks products within each category"),
    *("finds duplicate email addresses", "computes a running total with a window function"),
    *("walks a tree of categories with a recursive CTE", "finds days on which nothing was sold"),
    *("joins four tables of a library and filters by date", "computes medians by group"),
)
_STATEMENTS = (
    *("creates a table of invoices with constraints", "inserts three rows and updates on conflict"),
    *("deletes old sessions", "adds a column to a table", "creates a trigger that keeps a log"),
)

BATCH = 500  # texts that are judged at once
Walk = tuple[list[int], Step, bool]
Judge = Callable[[list[str]], list[str | None]]  # what is wrong with each text; None: who knows


class Language(NamedTuple):
    """How texts of a grammar are sampled and judged."""

    name: str
    start: str
    request: str
    tasks: tuple[str, ...]
    judge: Judge
    endings: str


def main() -> int:
    options = _options()
    warnings.simplefilter("ignore")
    if options.model:
        model, tokenizer = _model(options)
    else:
        model, tokenizer = None, _tokenizer(options.tokenizer)
    language = LANGUAGES[options.grammar]
    if options.judge:
        language = language._replace(judge=asked(shlex.split(options.judge)))
    start = options.start or language.start
    index = cfgguide.compile(cfgguide.Grammar.bundled(options.grammar, start=start), tokenizer)
    verdicts = _Verdicts(index, language, options.save)
    if model:
        walks = _written(model, tokenizer, index, language, options)
    else:
        walks = _random_walks(index, options)
    started = time.perf_counter()
    for walk in tqdm(walks, total=options.texts, unit="text", disable=None):
        verdicts.add(walk)
    verdicts.judge()
    verdicts.report(time.perf_counter() - started)
    return int(verdicts.n_wrong > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("grammar", choices=LANGUAGES, help="the bundled grammar")
    parser.add_argument("tokenizer", nargs="?", help="the folder of a tokenizer")
    parser.add_argument("--start", help="the start rule")
    parser.add_argument("--model", help='the folder of a model, or "smollm2"')
    parser.add_argument("--texts", type=int, default=1000, help="so many")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--tokens", type=int, default=60, help="most tokens before the ending")
    parser.add_argument("--rows", type=int, default=32, help="rows of a batch of the model")
    parser.add_argument("--judge", help="a program that reads lines of JSON and writes errors")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="a file for the texts")
    options = parser.parse_args()
    if not (options.tokenizer or options.model):
        parser.error("give the folder of a tokenizer, or --model")
    if options.grammar == "python312" and not options.judge:
        parser.error("this Python's parser knows no later one: give a --judge")
    return options


def _tokenizer(folder: str) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def _model(options: argparse.Namespace) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM

    if options.model == "smollm2":
        model, tokenizer = load_model()
    else:
        model = AutoModelForCausalLM.from_pretrained(options.model)
        tokenizer = _tokenizer(options.tokenizer or options.model)
    return model.to(torch.bfloat16), tokenizer


def _random_walks(index: Index, options: argparse.Namespace) -> Iterator[Walk]:
    for number in range(options.first, options.first + options.texts):
        rng = random.Random(f"{options.seed}-{number}")
        yield walked(index, rng, rng.randint(1, options.tokens))


def _written(
    model: Any, tokenizer: Any, index: Index, language: Language, options: argparse.Namespace
) -> Iterator[Walk]:
    """Yield what a model writes, each row up to EOS or the last token."""
    import torch

    settings = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    end = options.first + options.texts
    for first in range(options.first, end, options.rows):
        torch.manual_seed(options.seed + first)  # each batch can be had again by itself
        task = language.tasks[(first // options.rows) % len(language.tasks)]
        request = f"Write {language.request} that {task}. Reply with nothing but code."
        chat = [{"role": "user", "content": request}]
        prompt = tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        rows = model.generate(
            **prompt,
            **settings,
            max_new_tokens=options.tokens,
            num_return_sequences=min(options.rows, end - first),
            logits_processor=[cfgguide.LogitsProcessor(index)],
            pad_token_id=index.vocabulary.eos_token_ids[0],
        )
        for row in np.asarray(rows)[:, prompt["input_ids"].shape[1] :].tolist():
            yield _walk(index, row)


def _walk(index: Index, row: list[int]) -> Walk:
    step, tokens = index.start, []
    for token_id in row:
        if token_id in index.vocabulary.eos_token_ids:
            return tokens, step, True
        tokens.append(token_id)
        step = index.advance(step, token_id)
    return tokens, step, False


def asked(command: list[str]) -> Judge:
    """Return a judge that has a program read texts and write why each is refused, if it is."""

    def judge(texts: list[str]) -> list[str | None]:
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        run = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True)
        verdicts = run.stdout.split("\n")[:-1]
        assert len(verdicts) == len(texts), f"{command[0]} judged {len(verdicts)} of {len(texts)}"
        return list(verdicts)

    return judge


def _parsed(texts: list[str]) -> list[str | None]:
    """Return why `ast.parse` refuses each text, if it does."""
    verdicts: list[str | None] = []
    for text in texts:
        try:
            ast.parse(text)
            verdicts.append("")
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            verdicts.append(f"{type(error).__name__}: {error}")
    return verdicts


def _prepared(texts: list[str], *, module: str) -> list[str | None]:
    """Return why a database refuses each text, if it does."""
    judge = import_module(module)
    verdicts: list[str | None] = []
    for text in texts:
        said = judge.verdict(text)
        verdicts.append(None if said is None else "" if said else judge.error(text) or "refused")
    return verdicts


_SQLITE = partial(_prepared, module="sql_judge")
_POSTGRESQL = partial(_prepared, module="postgresql_judge")
LANGUAGES = {
    each.name: each
    for each in (
        Language("python", "start", "a Python program", _PROGRAMS, _parsed, "python"),
        Language("python312", "start", "a Python program", _PROGRAMS, _parsed, "python"),
        Language("sql", "statement", "SQL for SQLite", _QUERIES + _STATEMENTS, _SQLITE, "sql"),
        Language("sql_select", "start", "a query for SQLite", _QUERIES, _SQLITE, "sql"),
        Language("postgresql", "statement", "a query for PostgreSQL", _QUERIES, _POSTGRESQL, "sql"),
    )
}


class _Verdicts:
    """Ends texts and has them judged."""

    def __init__(self, index: Index, language: Language, save: Path | None) -> None:
        self.n_texts = self.n_wrong = 0
        self._n_unsaid = 0
        self._n_open = self._n_bytes = self._n_ending = 0
        self._compile_refuses: Counter[str] = Counter()
        self._index = index
        self._judge = language.judge
        self._endings = Endings(index, language.endings)
        self._texts: list[str] = []
        self._saved = save.open("w", encoding="utf-8") if save else None

    def add(self, walk: Walk) -> None:
        tokens, step, has_ended = walk
        self.n_texts += 1
        if not has_ended:
            self._n_open += 1
            ending = self._endings.ending(step)
            if ending is None:
                self._complain("no ending is found", text_of(self._index.vocabulary, tokens))
                return
            self._n_ending += len(ending)
            tokens = tokens + ending
        data = text_of(self._index.vocabulary, tokens)
        self._n_bytes += len(data)
        self._texts.append(data.decode())
        if len(self._texts) >= BATCH:
            self.judge()
            print(f"{self.n_texts:,} texts, {self.n_wrong} wrong", flush=True)

    def judge(self) -> None:
        """Judge the texts that are at hand."""
        for text, why in zip(self._texts, self._judge(self._texts), strict=True):
            if why:
                self._complain(why, text.encode())
                continue
            self._n_unsaid += why is None
            if self._judge is _parsed:
                self._compile(text)
            if self._saved:
                self._saved.write(json.dumps({"text": text}) + "\n")
        self._texts.clear()

    def _compile(self, text: str) -> None:
        try:
            compile(text, "<sampled>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            self._compile_refuses[_kind(str(error))] += 1

    def _complain(self, why: str, data: bytes) -> None:
        self.n_wrong += 1
        print(f"text {self.n_texts}: {why}: {data!r}", flush=True)

    def report(self, seconds: float) -> None:
        if self._saved:
            self._saved.close()
        n = max(self.n_texts, 1)
        print(f"{self.n_texts:,} texts in {seconds:.0f} s, {self.n_wrong} wrong")
        if self._n_unsaid:
            print(f"of {self._n_unsaid:,} the judge does not say")
        print(f"{self._n_bytes / n:.0f} bytes each; {self._n_open:,} were open and took")
        print(f"{self._n_ending / max(self._n_open, 1):.1f} tokens to end")
        if self._judge is _parsed:
            print(f"compile() refuses {sum(self._compile_refuses.values()):,}:")
        for kind, count in self._compile_refuses.most_common():
            print(f"{count:8,}  {kind}")
        index = self._index
        print(f"{index.n_entries:,} entries, {index.n_subsets:,} masks, {index.nbytes:,} bytes")


def _kind(message: str) -> str:
    """Return an error's message without names and places."""
    return re.sub(r"(?<!\w)'.*?'(?!\w)", "'...'", message.split(" (<")[0])


if __name__ == "__main__":
    sys.exit(main())
