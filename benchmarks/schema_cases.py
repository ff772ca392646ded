"""Reads JSON Schemas with instances that are labelled valid or not, and doubts the labels.

In: files and folders, or seeds. A line of a ``.jsonl`` or ``.jsonl.gz`` file is a case,
``{"id": ..., "schema": ..., "tests": [{"valid": true, "data": ...}]}``; a ``.json`` file is one
without ``id``, as MaskBench has them; a folder holds such files. Out: cases, whose instances are
written as MaskBench writes them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import jsonschema_specifications
from jsonschema.exceptions import best_match

#: A schema, and what makes an instance of it.
_Made = tuple[dict[str, Any], Callable[[], Any]]
_WORDS = ("amount", "city", "kind", "label", "order", "owner", "price", "state", "unit", "weight")


@dataclass(frozen=True)
class Instance:
    """A JSON text, and whether it is valid; None if nobody knows."""

    text: str
    is_valid: bool | None


@dataclass(frozen=True)
class Case:
    """A schema as ``json.load`` returns it, and its instances."""

    name: str
    schema: Any
    instances: tuple[Instance, ...]

    @property
    def size(self) -> int:
        """Bytes of the schema without white space."""
        return len(json.dumps(self.schema, separators=(",", ":"), ensure_ascii=False).encode())


def read_cases(paths: list[Path]) -> Iterator[Case]:
    """Read the cases of files and folders, in the order of their names."""
    for path in paths:
        if path.is_dir():
            files = path.rglob("*.json*")
            yield from read_cases(sorted(file for file in files if file.is_file()))
        elif path.name.endswith((".jsonl", ".jsonl.gz")):
            opened = gzip.open if path.suffix == ".gz" else open
            with opened(path, "rt", encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    yield _case(json.loads(line), f"{path.stem}:{number}")
        else:
            yield _case(json.loads(path.read_text(encoding="utf-8")), path.stem)


def drawn(paths: list[Path], n: int | None, seed: int) -> list[Case]:
    """Return cases of files and folders, at most `n` of them by the seed; made ones if no path."""
    if not paths:
        return [made(number) for number in range(seed, seed + (n or 0))]
    cases = list(read_cases(paths))
    if n is None or n >= len(cases):
        return cases
    chosen = Random(seed).sample(range(len(cases)), n)
    return [cases[number] for number in sorted(chosen)]


def made(seed: int) -> Case:
    """Return a case that is made from a seed: an object as services ask for, and two instances."""
    rng = Random(seed)
    schema, make = _made_object(rng, 2)
    texts = [json.dumps(make(), ensure_ascii=False) for _ in range(2)]
    return Case(f"made-{seed}", schema, tuple(Instance(text, True) for text in texts))


def _made_object(rng: Random, depth: int) -> _Made:
    names = [f"{name}_{rng.randrange(100)}" for name in rng.sample(_WORDS, rng.randrange(2, 6))]
    members = {name: _made_value(rng, depth) for name in names}
    schema = {
        "type": "object",
        "properties": {name: each for name, (each, _) in members.items()},
        "required": names,
        "additionalProperties": False,
    }
    return schema, lambda: {name: make() for name, (_, make) in members.items()}


def _made_value(rng: Random, depth: int) -> _Made:
    """Return a schema, and what makes a value of it each time."""
    low = rng.randrange(100)
    high, words = low + rng.randrange(1, 1000), rng.sample(_WORDS, 3)
    shortest = rng.randrange(3)
    kinds: list[_Made] = [
        ({"type": "string"}, lambda: " ".join(rng.choices(_WORDS, k=4))),
        ({"type": "string", "minLength": low % 20}, lambda: "é" * (low % 20 + rng.randrange(9))),
        (
            {"type": "string", "pattern": f"^[A-Z]{{2}}-[0-9]{{{shortest + 1},6}}$"},
            lambda: f"AB-{rng.randrange(10**shortest, 10**6)}",
        ),
        (
            {"type": "string", "format": "date"},
            lambda: f"20{rng.randrange(10, 30)}-{rng.randrange(1, 13):02}-{low % 28 + 1:02}",
        ),
        (
            {"type": "integer", "minimum": low, "maximum": high},
            lambda: rng.randint(low, high),
        ),
        ({"type": "number"}, lambda: round(rng.uniform(-1000, 1000), 3)),
        ({"type": ["boolean", "null"]}, lambda: rng.choice([True, False, None])),
        ({"enum": [*words, low]}, lambda: rng.choice([*words, low])),
    ]
    if depth and rng.random() < 0.4:
        schema, make = _made_value(rng, depth - 1)
        items = {"type": "array", "items": schema, "minItems": shortest, "maxItems": 5}
        inside = items, lambda: [make() for _ in range(rng.randint(shortest, 5))]
        return rng.choice([inside, _made_object(rng, depth - 1)])
    return rng.choice(kinds)


def _case(read: dict[str, Any], name: str) -> Case:
    instances = (
        Instance(json.dumps(test["data"], ensure_ascii=False), test["valid"])
        for test in read.get("tests", ())
    )
    return Case(str(read.get("id", name)), read["schema"], tuple(instances))


def check_labels(case: Case) -> tuple[Case, list[str]]:
    """Return a case without the labels that the library jsonschema contradicts, and what it said.

    It takes ``format`` for a comment. Where it fails itself, as for a reference to another file,
    labels are believed.
    """
    validator = _validator(case.schema)
    instances, found = [], []
    for number, instance in enumerate(case.instances):
        try:
            is_valid = validator.is_valid(json.loads(instance.text))
        except Exception as error:  # of any part of it
            found.append(f"{case.name}, {number}: not checked: {type(error).__name__}")
            is_valid = instance.is_valid
        if is_valid != instance.is_valid:
            label = "valid" if instance.is_valid else "invalid"
            found.append(f"{case.name}, {number}: labelled {label}, jsonschema disagrees")
            instance = replace(instance, is_valid=None)
        instances.append(instance)
    return replace(case, instances=tuple(instances)), found


def violated_keyword(case: Case, instance: Instance) -> str:
    """Return the keyword of a schema that an instance violates in the eyes of jsonschema."""
    try:
        error = best_match(_validator(case.schema).iter_errors(json.loads(instance.text)))
    except Exception as failure:
        return type(failure).__name__
    return "nothing that jsonschema knows" if error is None else str(error.validator)


def _validator(schema: Any) -> Any:
    """Return a validator that fetches nothing."""
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return kind(schema, registry=jsonschema_specifications.REGISTRY)
