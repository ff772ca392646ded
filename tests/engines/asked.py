"""What the tests ask of vLLM, and who judges the answers.

Lark judges grammars, `jsonschema` schemas, `re` patterns, `sqlite3` statements over a schema. A
text that was cut off is judged by cfgguide's recogniser: it must be the beginning of a sentence.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jsonschema
import lark

import cfgguide

TABLES = {"users": ["id", "name"], "orders": ["id", "user_id", "total"]}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 10},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
UNIQUE = {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 2, "uniqueItems": True}
CALCULATION = """
    start: sum
    sum: product (("+" | "-") product)*
    product: atom (("*" | "/") atom)*
    atom: NUMBER | "(" sum ")"
    NUMBER: /[0-9]{1,3}/
"""


@dataclass(frozen=True)
class Asked:
    """A request: its kind and text as vLLM has them, and who judges a finished answer.

    `same` is a request of the same language, where the text means something to one server only.
    """

    name: str
    kind: str
    text: Any
    judge: Callable[[str], object]
    same: tuple[str, str] | None = None

    @property
    def structured_outputs(self) -> dict[str, Any]:
        return {self.kind: self.text}

    def check(self, answer: str, *, is_finished: bool) -> None:
        """Raise an error if an answer is wrong."""
        if is_finished:
            self.judge(answer)
            return
        kind, text = self.same or (self.kind, self.text)
        text = json.dumps(text) if isinstance(text, dict | list) else text
        index = _backend().index(kind, text)
        data = answer.rstrip("\ufffd").encode()  # half a character at the end
        assert index.machine.advance(index.machine.initial, data) is not None, answer


@functools.cache
def _backend() -> cfgguide.serving.Backend:
    # Of vLLM's own backends, too, whose white space is not tidy.
    return cfgguide.serving.Backend(cfgguide.Vocabulary.of_bytes(), tidy=False)


def validates(schema: Any) -> Callable[[str], object]:
    return lambda text: jsonschema.validate(json.loads(text), schema)


def matches(pattern: str) -> Callable[[str], object]:
    def judge(text: str) -> None:
        assert re.fullmatch(pattern, text), text

    return judge


def parses(grammar: str) -> Callable[[str], object]:
    return lark.Lark(grammar, parser="lalr").parse


def _runs(text: str) -> None:
    database = sqlite3.connect(":memory:")
    for table, columns in TABLES.items():
        database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
    try:
        database.execute(f"EXPLAIN {text}")
    except sqlite3.OperationalError as error:
        if "syntax error" in str(error):  # meaning is beyond a grammar
            raise
    except sqlite3.ProgrammingError as error:
        if "number of bindings" not in str(error):  # for `?`, which was read
            raise


def is_one_of(texts: list[str]) -> Callable[[str], object]:
    def judge(text: str) -> None:
        assert text in texts, text

    return judge


MARKED = [
    Asked("json", "grammar", "cfgguide:json", json.loads),
    Asked("calculation", "grammar", f"cfgguide:\n{CALCULATION}", parses(CALCULATION)),
    Asked("sql", "grammar", f"cfgguide:sql_select {json.dumps({'tables': TABLES})}", _runs),
    Asked("python", "grammar", 'cfgguide:python {"start": "expression"}', ast.parse),
]
OTHERS = [
    Asked("person", "json", PERSON, validates(PERSON)),
    Asked("date", "regex", r"[0-9]{4}-(0[1-9]|1[0-2])", matches(r"[0-9]{4}-(0[1-9]|1[0-2])")),
    Asked("answer", "choice", ["yes", "no", "maybe not"], is_one_of(["yes", "no", "maybe not"])),
]
