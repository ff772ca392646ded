"""The corpus: what somebody might send who means no good: grammars, patterns, schemas, tables.

In: the data files beside this module, and the generators of large cases. Out: `all_cases`, in a
fixed order. A data file is read as it is written::

    ## family
    # name
    the text, up to the next line that begins so
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count, islice
from pathlib import Path

KINDS = ("grammar", "pattern", "schema", "definition")
#: What a server's request for one of a kind is called.
REQUESTS = {"grammar": "grammar", "pattern": "regex", "schema": "json", "definition": "grammar"}
_LONG = 2000  # characters; longer texts are not kept
_HEAD = re.compile(r"^(##?) (.*)$", re.MULTILINE)
_FOLDER = Path(__file__).parent

#: What a generator yields: the name of a case, and its text.
Named = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class Case:
    """One hostile text.

    Attributes
    ----------
    kind : {"grammar", "pattern", "schema", "definition"}
        What it is: in Lark's language, of Python's ``re``, JSON, or a request with tables in SQL.
    family : str
        What is hostile about it, and others.
    name : str
        Its own name in the family.
    n_characters : int
        Of the text.
    make : callable
        Returns the text.
    """

    kind: str
    family: str
    name: str
    n_characters: int
    make: Callable[[], str]

    @property
    def full_name(self) -> str:
        """Kind, family and name."""
        return f"{self.kind}: {self.family}: {self.name}"


@cache
def all_cases() -> tuple[Case, ...]:
    """Return the corpus."""
    from hostile import (
        generated_definitions,
        generated_grammars,
        generated_patterns,
        generated_schemas,
    )

    modules = (generated_grammars, generated_patterns, generated_schemas, generated_definitions)
    found = []
    for kind, module in zip(KINDS, modules, strict=True):
        found += _listed(kind)
        found += _generated(kind, module.FAMILIES)
    return tuple(found)


def _listed(kind: str) -> Iterator[Case]:
    """Yield the cases of a data file."""
    text = (_FOLDER / f"{kind}s.txt").read_bytes().decode()
    heads = list(_HEAD.finditer(text))
    family = ""
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        if head[1] == "##":
            family = head[2]
            continue
        content = text[head.end() + 1 : after.start() - 1 if after else None].rstrip("\n")
        if kind == "definition":
            content = f'cfgguide:sql_select {{"tables": {json.dumps(content)}}}'
        yield Case(kind, family, head[2], len(content), lambda content=content: content)


def _generated(kind: str, families: tuple[Callable[[], Named], ...]) -> Iterator[Case]:
    """Yield the cases of generators; a long text is made only when it is needed."""
    for family in families:
        for number, (name, text) in enumerate(family()):

            def make(family: Callable[[], Named] = family, number: int = number) -> str:
                return next(islice(family(), number, None))[1]

            kept = text.__str__ if len(text) < _LONG else make
            yield Case(kind, family.__name__.replace("_", " "), name, len(text), kept)


def attacks() -> Iterator[tuple[str, str]]:
    """Yield hostile requests to a server, all different: kinds of its requests, and texts."""
    cases = [case for case in all_cases() if case.kind in REQUESTS]
    for number in count():
        random.Random(number).shuffle(cases)
        for place, case in enumerate(cases):
            text, mark = case.make(), f"{number}x{place}"
            if case.kind == "grammar":
                text += f"\n// {mark}"
            elif case.kind == "pattern":
                text = f"(?:{text})|{mark}"
            elif case.kind == "definition":
                text = text.replace(" {", " " * (number + 2) + "{", 1)
            else:
                text = f'{{"title": "{mark}", "allOf": [{text}]}}'
            yield REQUESTS[case.kind], text
