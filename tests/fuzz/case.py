"""A case: a grammar, a vocabulary and texts; how it is kept in a file and made smaller.

A file of `crashes/` is read by people first::

    === completeness
    ...what went wrong...
    === grammar, contextual
    start: "a"+
    === tokens
    b'a'
    b'ab'
    === texts
    b'aab'

A grammar for Lark's Earley parser has the title ``grammar, earley, dynamic``, or another lexer.
"""

from __future__ import annotations

import ast
import hashlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

CRASHES = Path(__file__).parent / "crashes"


@dataclass(frozen=True)
class Case:
    """What is compared.

    Attributes
    ----------
    grammar : str
        In Lark's language.
    lexer : str
        ``contextual`` or ``basic``; with Earley ``dynamic``, ``dynamic_complete`` or ``basic``.
    tokens : tuple of bytes
        All tokens but EOS, which gets the next id.
    texts : tuple of bytes
        Texts to be looked at beside those that the tokens spell first.
    parser : str
        ``lalr`` or ``earley``.
    """

    grammar: str
    lexer: str
    tokens: tuple[bytes, ...]
    texts: tuple[bytes, ...]
    parser: str = "lalr"

    @property
    def lark_options(self) -> dict[str, Any]:
        """The options of Lark that matter."""
        return {"parser": self.parser, "lexer": self.lexer}


def write(case: Case, kind: str, message: str, folder: Path = CRASHES) -> Path:
    """Write a case to a file named after the kind of failure and the grammar, and return that."""
    kept_parser = [case.parser] if case.parser != "lalr" else []
    parts = {
        kind: message,
        ", ".join(["grammar", *kept_parser, case.lexer]): case.grammar,
        "tokens": "\n".join(map(repr, case.tokens)),
        "texts": "\n".join(map(repr, case.texts)),
    }
    text = "".join(f"=== {title}\n{body}\n" for title, body in parts.items())
    key = hashlib.sha256(text.encode()).hexdigest()[:8]
    folder.mkdir(exist_ok=True)
    path = folder / f"{kind}-{key}.txt"
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path) -> Case:
    """Return the case in a file."""
    parts = re.split(r"^=== (.*)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    bodies = dict(zip(parts[1::2], parts[2::2], strict=True))
    (title,) = [title for title in bodies if title.startswith("grammar, ")]
    tokens, texts = (
        tuple(ast.literal_eval(line) for line in bodies[name].splitlines() if line)
        for name in ("tokens", "texts")
    )
    _, *kept_parser, lexer = title.split(", ")
    return Case(bodies[title].rstrip("\n"), lexer, tokens, texts, *kept_parser)


def minimised(case: Case, fails: Callable[[Case], bool], *, seconds: float) -> Case:
    """Return a smaller case that still fails, by leaving out one thing after the other."""
    end = time.monotonic() + seconds
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in _smaller(case):
            if time.monotonic() > end:
                return case
            if fails(smaller):
                case, is_smaller = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Yield cases with one thing less: texts, tokens, lines, words, and characters last."""
    for field in ("texts", "tokens"):
        values = getattr(case, field)
        for index in range(len(values)):
            if len(values) > 1 or field == "texts":  # a vocabulary has a token
                yield replace(case, **{field: values[:index] + values[index + 1 :]})
    lines = case.grammar.splitlines()
    for index in range(len(lines)):
        yield replace(case, grammar="\n".join(lines[:index] + lines[index + 1 :]))
    for pattern in (r" \| [^|\n]*", r" ?\S+", r"\S"):
        for match in re.finditer(pattern, case.grammar):
            left = case.grammar[: match.start()] + case.grammar[match.end() :]
            yield replace(case, grammar=left)
    for field in ("texts", "tokens"):
        for index, value in enumerate(getattr(case, field)):
            for place in range(len(value)):
                shorter = value[:place] + value[place + 1 :]
                if shorter or field == "texts":
                    values = getattr(case, field)
                    yield replace(case, **{field: (*values[:index], shorter, *values[index + 1 :])})
