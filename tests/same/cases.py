"""A difference as a file that anyone can run again.

It is JSON, and has all that both sides need: the input, the tokens of the vocabulary (or the name
of a tokenizer, if they are too many), what was written, and in which order it was asked about.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from same.process import Side, both
from same.run import Compared, Vocabulary, Work, compared

MOST_TOKENS = 1000  # that are written into a file


@dataclass(frozen=True)
class Case:
    """What both sides are asked.

    Attributes
    ----------
    source : dict
        The input.
    vocabulary : str or dict
        The name of one, or its parts.
    tape : list
        What is written: for each place the one before it, the token that leads there, the tokens
        that are asked about, and whether the budget is.
    texts : list of bytes
        What is checked.
    order : str
        In which the side that does not write is asked.
    writer : int
        0 if it is the one before, 1 if it is the one now.
    seed : int
        Of going back and forth.
    """

    source: dict[str, Any]
    vocabulary: str | dict[str, Any]
    tape: list[Any]
    texts: list[bytes] = field(default_factory=list)
    order: str = "visited"
    writer: int = 0
    seed: int = 0

    def with_(self, **changes: Any) -> Case:
        return replace(self, **changes)

    def tokens_to(self, place: int) -> list[int]:
        """Return the tokens that lead to a place."""
        found: list[int] = []
        while place > 0:
            place, token = self.tape[place][:2]
            found.insert(0, token)
        return found


def case_of(work: Work) -> Case:
    """Return the case of an input that was compared."""
    written = work.written
    return Case(
        work.input.source,
        work.vocabulary.name,
        [list(each) for each in written.get("tape") or [(-1, -1, [], True)]],
        [text for text, _ in written.get("checked", ())],
        work.order,
        work.writer,
        work.seed,
    )


class Desk:
    """Where cases are asked again: two processes, and the vocabularies that there are."""

    def __init__(self, sides: tuple[Side, Side], vocabularies: Mapping[str, Vocabulary]) -> None:
        self.sides, self.vocabularies = sides, vocabularies

    def job(self, case: Case, do: str, **more: Any) -> dict[str, Any]:
        vocabulary: Any = case.vocabulary
        if isinstance(vocabulary, str):
            if vocabulary not in self.vocabularies:
                raise SystemExit(f"name the tokenizer {vocabulary!r} with --tokenizers")
            vocabulary = str(self.vocabularies[vocabulary].path)
        return {
            "do": do,
            "source": case.source,
            "vocabulary": vocabulary,
            "seed": case.seed,
            "tape": case.tape,
            "texts": case.texts,
            "order": "visited",
            **more,
        }

    def answers(self, case: Case, **more: Any) -> tuple[Any, Any]:
        """Return what both sides say."""
        jobs = [self.job(case, "follow", **more), self.job(case, "follow", **more)]
        jobs[1 - case.writer]["order"] = case.order
        return both(self.sides, (jobs[0], jobs[1]))

    def compared(self, case: Case) -> Compared:
        """Return where the sides differ about a case."""
        return compared(self.answers(case), case.tape, None)

    def close(self) -> None:
        for side in self.sides:
            side.close()


def write(case: Case, about: Mapping[str, Any], folder: Path) -> Path:
    """Write a case, and what is known about it, to a file named after both."""
    told = {**about, **asdict(case), "texts": [_as_text(text) for text in case.texts]}
    if isinstance(case.vocabulary, dict):
        tokens = [None if token is None else _as_text(token) for token in case.vocabulary["tokens"]]
        told["vocabulary"] = {**case.vocabulary, "tokens": tokens}
    text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:8]
    path = folder / f"{case.source['kind']}-{about['what']}-{key}.json"
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path) -> tuple[Case, dict[str, Any]]:
    """Return a case and what was known about it."""
    told = json.loads(path.read_text(encoding="utf-8"))
    names = Case.__dataclass_fields__
    parts = {name: told.pop(name) for name in names}
    parts["texts"] = [_as_bytes(text) for text in parts["texts"]]
    if isinstance(parts["vocabulary"], dict):
        tokens = parts["vocabulary"]["tokens"]
        parts["vocabulary"]["tokens"] = [None if t is None else _as_bytes(t) for t in tokens]
    return Case(**parts), told


def _as_text(text: bytes) -> str:
    return text.decode("latin-1")


def _as_bytes(text: str) -> bytes:
    return text.encode("latin-1")
