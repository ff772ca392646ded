"""Measures what `generate` writes by default in a first hour: texts that end, or white space.

In: SmolLM2, ten requests for JSON and ten for SQL. Out: a table: how many texts are complete within
64 tokens, how many of their tokens are nothing but white space, and the longest white space outside
strings and quoted names. ::

    python benchmarks/first_hour.py --texts
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import tables

import cfgguide
from cfgguide.models import load_model

MAX_NEW_TOKENS = 64
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
JSON: list[tuple[str, object]] = [
    ("Describe a person with name and age as JSON.", PERSON),
    ("Invent a character of a novel; give name and age as JSON.", PERSON),
    ("Who wrote Hamlet, and how old did he become? Answer as JSON.", PERSON),
    ("The first five prime numbers as a JSON array.", list[int]),
    ("Three colours as a JSON array of strings.", list[str]),
    ("Describe a cat as a JSON object with name, colour and weight.", "json"),
    ("The settings of a small web server as JSON.", "json"),
    ("A shopping list with prices as JSON.", "json"),
    ("The capitals of France, Italy and Spain as a JSON object.", "json"),
    ("The weather in Paris tomorrow as JSON.", "json"),
]
SQL: list[tuple[str, object]] = [
    (request, "sql")
    for request in (
        "Write an SQL query that returns all books newer than 1970.",
        "Write an SQL query that counts the books of each author.",
        "Write an SQL query that lists the names of all customers in Berlin.",
        "Write an SQL query that finds the most expensive product.",
        "Write an SQL query that returns the average age of the employees.",
        "Write an SQL statement that creates a table of books with title and year.",
        "Write an SQL statement that adds a book to the table books.",
        "Write an SQL statement that sets the price of product 7 to 10.",
        "Write an SQL statement that deletes all orders before 2020.",
        "Write an SQL query that joins books and authors.",
    )
]
# Strings, and the names that SQL quotes; the last may be cut.
QUOTED = {
    "JSON": re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL),
    "SQL": re.compile(r"'[^']*'?|\"[^\"]*\"?|`[^`]*`?|\[[^\]]*\]?"),
}


@dataclass(frozen=True)
class Row:
    """What was written for one set of requests."""

    complete: int
    texts: int
    blank_tokens: int
    tokens: int
    longest_gap: int

    def cells(self) -> list[str]:
        """Return a row of the table."""
        share = f"{100 * self.blank_tokens / self.tokens:.1f} %"
        counts = f"{self.blank_tokens} of {self.tokens}"
        return [f"{self.complete} of {self.texts}", f"{share} ({counts})", str(self.longest_gap)]


HEAD = ["requests", "complete", "tokens of white space", "longest white space, characters"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", action="store_true", help="print what was written, too")
    options = parser.parse_args()
    model = load_model()
    rows = [
        [name, *_row(name, _written(model, requests, shows=options.texts)).cells()]
        for name, requests in (("JSON", JSON), ("SQL", SQL))
    ]
    print("\n".join(tables.table(HEAD, rows)))


def _written(model: Any, requests: list[tuple[str, object]], *, shows: bool) -> Iterator[Any]:
    """Yield what the model writes for each request, and its tokens without EOS."""
    vocabulary = cfgguide.Vocabulary.from_tokenizer(model[1])
    for request, what in requests:
        prompt = [{"role": "user", "content": request}]
        found = cfgguide.generate(model, prompt, what, max_new_tokens=MAX_NEW_TOKENS)
        if shows:
            print(f"{request}\n    {found.text!r}", flush=True)
        yield found, [vocabulary.tokens[number] or b"" for number in found.token_ids]


def _row(name: str, written: Iterator[Any]) -> Row:
    """Return what the table says of some texts."""
    found, tokens = zip(*written, strict=True)
    spelled = [token for token in chain.from_iterable(tokens) if token]  # EOS spells nothing
    gaps = [re.findall(r"\s+", QUOTED[name].sub("''", each.text)) for each in found]
    return Row(
        complete=sum(each.is_complete for each in found),
        texts=len(found),
        blank_tokens=sum(token.isspace() for token in spelled),
        tokens=len(spelled),
        longest_gap=max(map(len, chain.from_iterable(gaps)), default=0),
    )


if __name__ == "__main__":
    main()
