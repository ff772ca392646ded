"""Counts what transformers' ``generate`` writes in each of its modes, guided by one engine each.

In: a model, by default SmolLM2. Out: a table, and optionally a page with it: of the texts that a
mode returned, how many ended with EOS and how many of these are sentences, or the error that came
instead. The judges are Lark and, apart from it, ``json``, SQLite and Python.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import functools
import json
import re
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lark.lexer
import tables
import torch
import torch._dynamo
import transformers
from decoding_processors import ENGINES, LANGUAGES, NotOfferedError, version
from lark import Lark
from page import RESULTS, Section

from cfgguide import Vocabulary
from cfgguide.models import load_model

PROMPTS = {
    "json": ("A cat as JSON: ", "One number as JSON:\n", "A list of three small numbers as JSON, "),
    "sql": ("A query: ", "SQL that counts the rows of a table named t:\n", "The answer in SQL is "),
    "arithmetic": ("1 + 1 = ", "Seven times nine, as an expression: ", "(2*3)+4, and then "),
}
_SAMPLED = {"do_sample": True, "top_k": 0}
_SQL_SYNTAX = re.compile("near .*: syntax error|incomplete input|unrecognized token")
# After so many tokens EOS becomes likelier with each, or few texts would end.
_EOS_SETS_IN = (8, 1.5)
_FILLED_UP = -1e6  # scores of beams that are there to fill up are far below


@dataclass(frozen=True)
class Mode:
    """One way to call ``generate``.

    Attributes
    ----------
    options : dict
        Its options.
    n_prompts : int
        Prompts of a batch; of different lengths, padded on the left.
    is_mixed : bool
        Whether each prompt has a language of its own.
    n_calls : int
        Calls with one processor, the prompt of each the text of the last.
    is_assisted : bool
        Whether the model itself drafts.
    """

    options: dict[str, Any] = field(default_factory=dict)
    n_prompts: int = 3
    is_mixed: bool = False
    n_calls: int = 1
    is_assisted: bool = False


MODES = {
    "greedy": Mode(),
    "sampling": Mode(_SAMPLED),
    "sampling, 3 texts a prompt": Mode({**_SAMPLED, "num_return_sequences": 3}),
    "beams": Mode({"num_beams": 3}),
    "beams, 3 texts a prompt": Mode({"num_beams": 3, "num_return_sequences": 3}),
    "beam sampling": Mode({**_SAMPLED, "num_beams": 3}),
    "static cache": Mode({**_SAMPLED, "cache_implementation": "static"}),
    "prompt lookup": Mode({"prompt_lookup_num_tokens": 3}, n_prompts=1),
    "assistant": Mode(n_prompts=1, is_assisted=True),
    "assistant, sampling": Mode(_SAMPLED, n_prompts=1, is_assisted=True),
    "one object, 3 calls": Mode(_SAMPLED, n_calls=3),
    "a grammar for each prompt": Mode(_SAMPLED, is_mixed=True),
    "a grammar for each prompt, beams": Mode({"num_beams": 3}, is_mixed=True),
}


@dataclass
class Count:
    """What came of a mode.

    Attributes
    ----------
    n_texts, n_finished, n_valid : int
        Texts that were returned, those that ended with EOS, and those of them that are sentences.
    invalid : list of str
        Texts that are not.
    error : str
        What was raised, if anything was.
    warned : bool
        Whether the engine warned of a mistake of its own.
    """

    n_texts: int = 0
    n_finished: int = 0
    n_valid: int = 0
    invalid: list[str] = field(default_factory=list)
    error: str = ""
    warned: bool = False

    def cell(self) -> str:
        """Return the count as a cell of a table."""
        if self.error:
            return self.error.partition(":")[0]
        mark = "" if self.n_valid == self.n_finished else "**"
        warning = "†" if self.warned else ""
        return f"{mark}{self.n_valid}/{self.n_finished}{mark} of {self.n_texts}{warning}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, help="a local model; default: SmolLM2")
    parser.add_argument("--tokens", type=int, default=48, help="most tokens of a text")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each mode")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the figures")
    parser.add_argument("--page", type=Path, help="docs/transformers.md, to replace its tables")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    torch._dynamo.config.disable = True  # llguidance has its masking compiled, for minutes
    model, tokenizer = load_model(options.model)
    name = "SmolLM2" if options.model is None else options.model.name
    section = Section.begun(f"decoding_modes-{name}", f"Decoding modes, {name}")
    engines = {each: found for each in options.engines if (found := version(each)) is not None}
    run = Run(model, tokenizer, options)
    section.lines = [_what_was_run(engines, options), "", *_table(run, list(engines), section)]
    section.write(options.results)
    if options.page:
        _replace_table(options.page, section, name)


def _what_was_run(engines: dict[str, str], options: argparse.Namespace) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in engines.items())
    return (
        f"{versions}; transformers {transformers.__version__}, torch {torch.__version__}. "
        f"At most {options.tokens} tokens a text, {options.seeds} run(s) of each mode; after "
        f"{_EOS_SETS_IN[0]} tokens EOS becomes likelier with each. A cell says "
        "how many texts are sentences, of how many that ended with EOS, of how many that were "
        "returned; or the error that was raised. Bold: a text that ended is no sentence, by Lark "
        "or by `json`, Python, and SQLite (of cfgguide's texts: its grammar is SQLite's). †: the "
        "engine warned that it had gone wrong. Texts that beams return to fill up (their score is "
        "about -1e9) are not counted. Neither XGrammar's nor Outlines' processor is meant for "
        "several calls."
    )


class Run:
    """A model, its tokenizer, and what is written with them."""

    def __init__(self, model: Any, tokenizer: Any, options: argparse.Namespace) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._vocabulary = Vocabulary.of(tokenizer)
        self.options = options
        self._engine = functools.cache(lambda name: ENGINES[name](model, tokenizer))
        self._parser = functools.cache(self._made_parser)

    def _made_parser(self, engine: str, language: str) -> Lark:
        grammar = self._engine(engine).grammar(language)
        lark.lexer.has_interegular = False  # its search for overlaps takes minutes for SQL
        return Lark(grammar.text, **grammar.lark_options)

    def count(self, engine: str, mode: Mode, language: str) -> Count:
        """Return what comes of a mode with an engine."""
        count = Count()
        languages = _languages(mode, language)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                for seed in range(self.options.seeds):
                    for told, ids in self._texts(engine, mode, languages, seed):
                        self._add(count, engine, told, ids)
            except NotOfferedError:
                count.error = "not offered"
            except Exception as error:  # engines raise anything; that is what is counted
                count.error = f"`{type(error).__name__}`: {error}".partition("\n")[0]
        count.warned = any("Error in LLMatcher" in str(each.message) for each in caught)
        return count

    def _texts(
        self, engine: str, mode: Mode, languages: Sequence[str], seed: int
    ) -> Iterator[tuple[str, list[int]]]:
        """Yield the language and the ids of each text."""
        asked = languages if mode.is_mixed else languages[:1]
        processor = self._engine(engine).processor(asked)
        prompts = [PROMPTS[told][n] for n, told in enumerate(languages)]
        ids, mask = self._padded(prompts)
        torch.manual_seed(seed)
        for _ in range(mode.n_calls):
            found = self._model.generate(
                ids,
                attention_mask=mask,
                generation_config=self._settings(mode),
                logits_processor=[processor],
                **({"assistant_model": self._model} if mode.is_assisted else {}),
            )
            rows = found.sequences[:, ids.shape[1] :].tolist()
            n_each = len(rows) // len(languages)
            scores = getattr(found, "sequences_scores", None)
            for number, row in enumerate(rows):
                if scores is None or scores[number] > _FILLED_UP:
                    yield languages[number // n_each], row
            ids, mask = found.sequences, torch.ones_like(found.sequences)

    def _settings(self, mode: Mode) -> Any:
        eos = self._tokenizer.eos_token_id
        make: Any = transformers.GenerationConfig
        return make(
            max_new_tokens=self.options.tokens,
            eos_token_id=eos,
            pad_token_id=eos,
            exponential_decay_length_penalty=_EOS_SETS_IN,
            return_dict_in_generate=True,
            output_scores=True,
            **mode.options,
        )

    def _padded(self, prompts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [self._tokenizer(prompt)["input_ids"] for prompt in prompts]
        width = max(map(len, rows))
        ids = torch.full((len(rows), width), self._tokenizer.eos_token_id)
        mask = torch.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, width - len(row) :] = torch.tensor(row)
            mask[number, width - len(row) :] = 1
        return ids, mask

    def _add(self, count: Count, engine: str, language: str, ids: list[int]) -> None:
        count.n_texts += 1
        if self._tokenizer.eos_token_id not in ids:
            return
        count.n_finished += 1
        written = [self._vocabulary.tokens[each] for each in ids]
        text = b"".join(
            token or b"<no text>" for token in written[: ids.index(self._tokenizer.eos_token_id)]
        )
        judge = _JUDGES.get(language) if ENGINES[engine].is_judged(language) else None
        if _is_sentence(self._parser(engine, language), judge, text):
            count.n_valid += 1
        else:
            count.invalid.append(text.decode(errors="replace"))


def _languages(mode: Mode, language: str) -> list[str]:
    """Return the language of each prompt."""
    if not mode.is_mixed:
        return [language] * mode.n_prompts
    first = LANGUAGES.index(language)
    return [LANGUAGES[(first + n) % len(LANGUAGES)] for n in range(mode.n_prompts)]


def _is_sentence(parser: Lark, judge: Callable[[str], object] | None, text: bytes) -> bool:
    """Return whether Lark, and another judge if there is one, read a text."""
    try:
        decoded = text.decode()
        parser.parse(decoded)
        if judge is not None:
            judge(decoded)
    except Exception:  # judges raise what they like
        return False
    return True


def _judge_sql(text: str) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        try:
            database.execute(f"EXPLAIN {text}")
        except sqlite3.Error as error:
            if _SQL_SYNTAX.search(str(error)):  # "no such table" and the like are none
                raise


_JUDGES: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "sql": _judge_sql,
    "arithmetic": lambda text: ast.parse(text, mode="eval"),
}


def _table(run: Run, engines: Sequence[str], section: Section) -> list[str]:
    """Return the table of a model, and what was raised and written wrongly."""
    counts: dict[tuple[str, str, str], Count] = {}
    modes = [mode for mode in MODES if mode in run.options.modes]
    for mode in modes:
        for engine in engines:
            for language in LANGUAGES:
                counts[mode, engine, language] = run.count(engine, MODES[mode], language)
            print(f"{mode}, {engine}", file=sys.stderr)
    section.figures = {" / ".join(key): vars(count) for key, count in counts.items()}
    head = ["mode", *(f"{engine}: {told}" for engine in engines for told in LANGUAGES)]
    rows = [
        [mode, *(counts[mode, engine, told].cell() for engine in engines for told in LANGUAGES)]
        for mode in modes
    ]
    lines = [*tables.table(head, rows), ""]
    for engine in engines:
        of_engine = [count for (_, name, _), count in counts.items() if name == engine]
        total = collections.Counter(
            finished=sum(count.n_finished for count in of_engine),
            valid=sum(count.n_valid for count in of_engine),
            errors=sum(bool(count.error) for count in of_engine),
        )
        lines.append(
            f"* {engine}: {total['valid']} of {total['finished']} texts that ended are sentences; "
            f"{total['errors']} of {len(of_engine)} cells without a text."
        )
        raised = collections.Counter(count.error for count in of_engine if count.error)
        lines += [f"  * {n} times {error}" for error, n in raised.most_common()]
        wrong = [text for count in of_engine for text in count.invalid]
        if wrong:
            lines.append(f"  * no sentences: {', '.join(f'`{text[:60]!r}`' for text in wrong[:3])}")
    return [*lines, ""]


def _replace_table(page: Path, section: Section, model: str) -> None:
    """Write the section's lines between the two marks of a page that are the model's."""
    begin, end = f"<!-- decoding_modes.py: {model} -->\n", f"<!-- end of {model} -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    lines = [f"`{section.command}`, {section.date}, {section.machine}.", "", *section.lines]
    page.write_text(before + begin + "\n".join(lines) + end + after, encoding="utf-8")


if __name__ == "__main__":
    main()
