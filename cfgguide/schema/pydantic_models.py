"""Schemas that Pydantic makes of types.

In: such a schema. Out: one whose objects have no members but those that the type declares. Pydantic
ignores other members unless a model forbids them, and its schema allows them; but a model of
language should not invent members that are thrown away. A type with ``extra="allow"`` says so in
its schema, and stays as it is.
"""

from __future__ import annotations

from typing import Any


def closed(schema: Any) -> Any:
    """Return a schema of Pydantic whose objects have declared members only, unless it says more."""
    if not isinstance(schema, dict):
        return schema
    result = dict(schema)
    for keyword in ("$defs", "properties"):
        if keyword in schema:
            result[keyword] = {name: closed(part) for name, part in schema[keyword].items()}
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            result[keyword] = closed(schema[keyword])
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if keyword in schema:
            result[keyword] = [closed(part) for part in schema[keyword]]
    if "properties" in schema:
        result.setdefault("additionalProperties", False)
    return result
