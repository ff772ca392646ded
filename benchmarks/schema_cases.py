"""Reads JSON Schemas with instances that are labelled valid or not, and doubts the labels.

In: files and folders. A line of a ``.jsonl`` or ``.jsonl.gz`` file is a case, ``{"id": ...,
"schema": ..., "tests": [{"valid": true, "data": ...}]}``; a ``.json`` file is one without ``id``,
as MaskBench has them; a folder holds such files. Out: cases, whose instances are written as
MaskBench writes them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_specifications
from jsonschema.exceptions import best_match


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
