"""Programs that masks let through: does CPython parse every one of them?

``python tests/conformance/sampled_python.py FOLDER`` writes programs in the tokens of FOLDER, each
allowed token with the same probability, up to ``--tokens`` of them; ``--model MODEL`` samples them
from a model at temperature 1 instead, in batches of ``--rows``; "smollm2" is that of
`cfgguide.models`. What is open in the end is closed by the shortest ending that a search finds.
`ast.parse` judges each program, and `compile` is asked, too: what it refuses beyond that is
counted. ``--judge COMMAND`` asks a program instead, such as ``node pyodide_judge.mjs`` for the
parser of a later CPython. ``--save FILE`` keeps the programs as lines of JSON. The exit status is 1
if any is refused, if a step has no token, or if no ending is found.
"""

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
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import cfgguide
from cfgguide.index import Index
from cfgguide.models import load_model
from cfgguide.visits import Visit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sampled_programs import Endings, text_of, walked

# What a model is asked for, so that programs differ by more than chance.
TASKS = (
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

BATCH = 500  # programs that are judged at once
Walk = tuple[list[int], Visit, bool]


def main() -> int:
    options = _options()
    warnings.simplefilter("ignore")
    if options.model:
        model, tokenizer = _model(options)
    else:
        model, tokenizer = None, _tokenizer(options.tokenizer)
    index = cfgguide.compile(cfgguide.Grammar.bundled(options.grammar), tokenizer)
    judge = asked(shlex.split(options.judge)) if options.judge else _parsed
    verdicts = _Verdicts(index, judge, options.save)
    walks = _written(model, tokenizer, index, options) if model else _random_walks(index, options)
    started = time.perf_counter()
    for walk in tqdm(walks, total=options.programs, unit="program", disable=None):
        verdicts.add(walk)
    verdicts.judge()
    verdicts.report(time.perf_counter() - started)
    return int(verdicts.n_wrong > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tokenizer", nargs="?", help="the folder of a tokenizer")
    parser.add_argument("--grammar", default="python", help="the bundled grammar")
    parser.add_argument("--model", help='the folder of a model, or "smollm2"')
    parser.add_argument("--programs", type=int, default=1000, help="so many")
    parser.add_argument("--tokens", type=int, default=60, help="most tokens before the ending")
    parser.add_argument("--rows", type=int, default=32, help="rows of a batch of the model")
    parser.add_argument("--judge", help="a program that reads lines of JSON and writes errors")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="a file for the programs")
    options = parser.parse_args()
    if not (options.tokenizer or options.model):
        parser.error("give the folder of a tokenizer, or --model")
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
    for number in range(options.programs):
        rng = random.Random(f"{options.seed}-{number}")
        yield walked(index, rng, rng.randint(1, options.tokens))


def _written(
    model: Any, tokenizer: Any, index: Index, options: argparse.Namespace
) -> Iterator[Walk]:
    """Yield what a model writes, each row up to EOS or the last token."""
    import torch

    settings = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    for first in range(0, options.programs, options.rows):
        torch.manual_seed(options.seed + first)  # each batch can be had again by itself
        task = TASKS[(first // options.rows) % len(TASKS)]
        request = f"Write a Python program that {task}. Reply with nothing but code."
        chat = [{"role": "user", "content": request}]
        prompt = tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        rows = model.generate(
            **prompt,
            **settings,
            max_new_tokens=options.tokens,
            num_return_sequences=min(options.rows, options.programs - first),
            logits_processor=[cfgguide.LogitsProcessor(index)],
            pad_token_id=index.vocabulary.eos_token_ids[0],
        )
        for row in np.asarray(rows)[:, prompt["input_ids"].shape[1] :].tolist():
            yield _walk(index, row)


def _walk(index: Index, row: list[int]) -> Walk:
    visit, tokens = index.start, []
    for token_id in row:
        if token_id in index.vocabulary.eos_token_ids:
            return tokens, visit, True
        tokens.append(token_id)
        visit = index.advance(visit, token_id)
    return tokens, visit, False


def asked(command: list[str]) -> Callable[[list[str]], list[str]]:
    """Return a judge that has a program read texts and write why each is refused, if it is."""

    def judge(texts: list[str]) -> list[str]:
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        run = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True)
        verdicts = run.stdout.split("\n")[:-1]
        assert len(verdicts) == len(texts), f"{command[0]} judged {len(verdicts)} of {len(texts)}"
        return verdicts

    return judge


def _parsed(texts: list[str]) -> list[str]:
    """Return why `ast.parse` refuses each text, if it does."""
    verdicts = []
    for text in texts:
        try:
            ast.parse(text)
            verdicts.append("")
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            verdicts.append(f"{type(error).__name__}: {error}")
    return verdicts


class _Verdicts:
    """Ends programs and has them judged."""

    def __init__(
        self, index: Index, judge: Callable[[list[str]], list[str]], save: Path | None
    ) -> None:
        self.n_programs = self.n_wrong = 0
        self._n_open = self._n_bytes = self._n_ending = 0
        self._compile_refuses: Counter[str] = Counter()
        self._index = index
        self._judge = judge
        self._endings = Endings(index)
        self._texts: list[str] = []
        self._saved = save.open("w", encoding="utf-8") if save else None

    def add(self, walk: Walk) -> None:
        tokens, visit, has_ended = walk
        self.n_programs += 1
        if not has_ended:
            self._n_open += 1
            ending = self._endings.ending(visit)
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
            print(f"{self.n_programs:,} programs, {self.n_wrong} wrong", flush=True)

    def judge(self) -> None:
        """Judge the programs that are at hand."""
        for text, why in zip(self._texts, self._judge(self._texts), strict=True):
            if why:
                self._complain(why, text.encode())
                continue
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
        print(f"program {self.n_programs}: {why}: {data!r}", flush=True)

    def report(self, seconds: float) -> None:
        if self._saved:
            self._saved.close()
        n = max(self.n_programs, 1)
        print(f"{self.n_programs:,} programs in {seconds:.0f} s, {self.n_wrong} wrong")
        print(f"{self._n_bytes / n:.0f} bytes each; {self._n_open:,} were open and took")
        print(f"{self._n_ending / max(self._n_open, 1):.1f} tokens to end")
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
