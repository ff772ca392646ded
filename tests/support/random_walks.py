"""Sample documents at random from the masks alone, and let others judge them.

A model whose logits are random and independent, under a mask, chooses each allowed token with the
same chance. That is a harder test of the masks than a trained model, which seldom leaves the
beaten track. Every document that reaches EOS is parsed by Lark, and by ``json.loads`` where the
grammar is JSON; at no step may the mask be empty. ::

    python tests/support/random_walks.py --documents 1000 --max-tokens 400 --standard-library

The exit status is 1 if anything was violated.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import lark
import numpy as np
from tokenizers import Tokenizer
from tqdm import tqdm

import cfgguide
from support.small_tokenizers import END_OF_TEXT, standard_library_tokenizer

RECURSION_LIMIT = 20_000  # json.loads recurses once for each bracket


@dataclass
class Report:
    """What became of the documents."""

    n_finished: int = 0
    n_unfinished: int = 0
    n_tokens: int = 0
    n_without_token: int = 0
    refused_by_lark: list[bytes] = field(default_factory=list)
    refused_by_json: list[bytes] = field(default_factory=list)
    seconds_walking: float = 0.0

    @property
    def is_clean(self) -> bool:
        return not (self.n_without_token or self.refused_by_lark or self.refused_by_json)

    def lines(self) -> Iterator[str]:
        per_token = 1e6 * self.seconds_walking / max(self.n_tokens, 1)
        yield f"finished                   {self.n_finished:>9,}"
        yield f"unfinished                 {self.n_unfinished:>9,}"
        yield f"refused by Lark            {len(self.refused_by_lark):>9,}"
        yield f"refused by json.loads      {len(self.refused_by_json):>9,}"
        yield f"steps without a token      {self.n_without_token:>9,}"
        yield f"tokens                     {self.n_tokens:>9,}"
        yield f"seconds (µs a token)       {self.seconds_walking:>9.1f} ({per_token:.0f})"
        for judge, documents in (("Lark", self.refused_by_lark), ("json", self.refused_by_json)):
            for document in documents[:5]:
                yield f"{judge} refuses {document!r}"


class Judges:
    """Lark, and json.loads if the grammar is JSON."""

    def __init__(self, grammar: cfgguide.Grammar, *, is_json: bool) -> None:
        self._lark = lark.Lark(
            grammar.text, start=grammar.start, parser="lalr", source_path=grammar.source_path
        )
        self._is_json = is_json

    def judge(self, document: bytes, report: Report) -> None:
        """Note who refuses a finished document."""
        try:
            self._lark.parse(document.decode())
        except (lark.exceptions.LarkError, UnicodeDecodeError):
            report.refused_by_lark.append(document)
        if self._is_json:
            try:
                json.loads(document, parse_constant=_refuse)
            except ValueError:
                report.refused_by_json.append(document)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def sample(
    index: cfgguide.Index,
    judges: Judges,
    *,
    documents: int,
    max_tokens: int,
    seed: int,
    ends_after: int | None = None,
    shows_progress: bool = False,
) -> Report:
    """Return what became of `documents` random documents of at most `max_tokens` tokens.

    From `ends_after` tokens on, if given, EOS is taken wherever it is allowed: for grammars whose
    sentences a blind choice would hardly ever end.
    """
    rng = np.random.default_rng(seed)
    report = Report()
    for _ in tqdm(range(documents), disable=not shows_progress, unit="document"):
        started = time.perf_counter()
        guide = _walk(index, rng, max_tokens, ends_after)
        report.seconds_walking += time.perf_counter() - started
        report.n_tokens += len(guide.token_ids)
        if guide.is_finished:
            report.n_finished += 1
            judges.judge(guide.text, report)
        elif len(guide.token_ids) == max_tokens:
            report.n_unfinished += 1
        else:
            report.n_without_token += 1
    return report


def _walk(
    index: cfgguide.Index, rng: np.random.Generator, max_tokens: int, ends_after: int | None
) -> cfgguide.Guide:
    """Return a guide after EOS, after `max_tokens` tokens, or where nothing is allowed."""
    guide, (eos, *_) = cfgguide.Guide(index), index.vocabulary.eos_token_ids
    for step in range(max_tokens):
        allowed = guide.allowed_token_ids()
        if guide.is_finished or not len(allowed):
            break
        is_late = ends_after is not None and step >= ends_after
        guide.advance(eos if is_late and eos in allowed else int(rng.choice(allowed)))
    return guide


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ends-after", type=int, help="take EOS where allowed after N tokens")
    parser.add_argument("--grammar", default="json", help="a bundled name or a .lark file")
    parser.add_argument("--eos", default=END_OF_TEXT, help="the token that ends a text")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--tokenizer", help="a tokenizer.json")
    source.add_argument("--standard-library", action="store_true")
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    sys.setrecursionlimit(RECURSION_LIMIT)
    if arguments.standard_library:
        tokenizer = standard_library_tokenizer()
    else:
        tokenizer = Tokenizer.from_file(arguments.tokenizer)
    vocabulary = cfgguide.Vocabulary.from_tokenizer(
        tokenizer, eos_token_ids=tokenizer.token_to_id(arguments.eos)
    )
    if Path(arguments.grammar).suffix:
        grammar = cfgguide.Grammar.open(arguments.grammar)
    else:
        grammar = cfgguide.Grammar.bundled(arguments.grammar)
    index = cfgguide.compile(grammar, vocabulary)
    report = sample(
        index,
        Judges(grammar, is_json=arguments.grammar == "json"),
        documents=arguments.documents,
        max_tokens=arguments.max_tokens,
        seed=arguments.seed,
        ends_after=arguments.ends_after,
        shows_progress=sys.stderr.isatty(),
    )
    lines = [
        f"{arguments.documents:,} documents of at most {arguments.max_tokens} tokens, grammar "
        f"{arguments.grammar}, {vocabulary.size:,} ids, seed {arguments.seed}",
        *report.lines(),
        f"index: entries, masks      {index.n_entries:>9,}, {index.n_subsets:,}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if report.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())


def is_message(grammar: cfgguide.Grammar, text: str) -> bool:
    """Whether each byte of a text may be written, one after the other, and it may end there."""
    guide = cfgguide.Guide(grammar, cfgguide.Vocabulary.of_bytes())
    for byte in text.encode():
        if not guide.accepts(byte):
            return False
        guide.advance(byte)
    return guide.is_accepting
