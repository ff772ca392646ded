"""Schemas that Pydantic makes of types.

In: a type. Out: a schema whose objects have no members but those that the type declares. Pydantic
ignores other members unless a model forbids them, and its schema allows them; but a model of
language should not invent members that are thrown away. A type with ``extra="allow"`` says so in
its schema, and stays as it is.

The pattern of a string is Rust's, or Python's where the type says ``regex_engine="python-re"`` or
has a compiled pattern; a schema of Pydantic does not say which. Here each pattern has a head that
does (:mod:`cfgguide.automata.pattern_notations`).
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from cfgguide.automata.pattern_notations import headed

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
    from pydantic_core import core_schema

_FLAGS = {re.ASCII: "a", re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}


def schema_of_adapter(adapter: TypeAdapter[Any]) -> Any:
    """Return the schema of a type, given its adapter."""
    return closed(adapter.json_schema(schema_generator=_generator()))


def schema_of_model(model: Any) -> Any:
    """Return the schema of a Pydantic model, or of what has a method ``model_json_schema``."""
    make = model.model_json_schema
    if "schema_generator" in inspect.signature(make).parameters:
        return closed(make(schema_generator=_generator()))
    return closed(make())


@cache
def _generator() -> type[GenerateJsonSchema]:
    """Return what makes schemas, with a head before each pattern."""
    from pydantic.json_schema import GenerateJsonSchema

    class Headed(GenerateJsonSchema):
        """Pydantic's own maker of schemas, whose patterns say their notation."""

        def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
            """Return the schema of a string."""
            made = super().str_schema(schema)
            pattern = schema.get("pattern")
            if pattern is not None:
                made["pattern"] = _headed(pattern, schema.get("regex_engine") or self._engine())
            return made

        def _engine(self) -> str:
            return getattr(self._config, "regex_engine", None) or "rust-regex"

    return Headed


def _headed(pattern: str | re.Pattern[str], engine: str) -> str:
    if isinstance(pattern, str):
        return headed(pattern, "python" if engine == "python-re" else "rust")
    letters = "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
    return headed((f"(?{letters})" if letters else "") + pattern.pattern, "python")


def closed(schema: Any) -> Any:
    """Return a schema of Pydantic whose objects have declared members only, unless it says more."""
    if not isinstance(schema, dict):
        return schema
    result = dict(schema)
    for keyword in ("$defs", "properties", "patternProperties"):
        if keyword in schema:
            result[keyword] = {name: closed(part) for name, part in schema[keyword].items()}
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            result[keyword] = closed(schema[keyword])
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if keyword in schema:
            result[keyword] = [closed(part) for part in schema[keyword]]
    # A dictionary whose keys have a pattern has no other keys, which its schema does not say.
    if "properties" in schema or "patternProperties" in schema:
        result.setdefault("additionalProperties", False)
    return result
