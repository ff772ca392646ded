"""The values that a JSON Schema lists with ``const`` and ``enum``.

In: values as ``json.load`` returns them. Out: scalars as languages of their spellings; arrays and
objects as schemas that only they meet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from cfgguide.automata import numbers
from cfgguide.automata.language import Language
from cfgguide.errors import SchemaError
from cfgguide.schema.solver.nodes import Condition, ListedValues


def scalar_values(values: Sequence[Any]) -> ListedValues:
    """Return the values of an enumeration without arrays and objects."""
    words = [value for value in values if isinstance(value, str)]
    check_text("".join(words))
    found = [
        decimal_of(value)
        for value in values
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    ]
    for number in found:
        numbers.check_digits(number)
    return ListedValues(
        frozenset(
            json.dumps(value) for value in values if value is None or isinstance(value, bool)
        ),
        Condition(partial(numbers.any_of, tuple(found))) if found else None,
        Condition(partial(Language.of_words, words), words=frozenset(words)) if words else None,
        scalars=tuple(values),
    )


def check_text(text: str) -> None:
    """Raise an error if a text is none.

    Raises
    ------
    SchemaError
        If it has a surrogate that is not one of a pair: no bytes spell it.
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise SchemaError(f"{text[:40]!a} has half a surrogate pair, which is no character")


def decimal_of(value: Any) -> Decimal:
    """Return a number of JSON, exactly as Python writes it.

    Raises
    ------
    SchemaError
        If it is infinite or not a number.
    """
    number = Decimal(str(value))
    if not number.is_finite():
        raise SchemaError(f"{value} is not a number of JSON")
    return number


def shape(value: Any) -> Mapping[str, Any]:
    """Return a schema that only this array or object meets."""
    if isinstance(value, list):
        return {
            "type": "array",
            "prefixItems": [{"const": item} for item in value],
            "items": False,
            "minItems": len(value),
        }
    return {
        "type": "object",
        "properties": {name: {"const": item} for name, item in value.items()},
        "required": list(value),
        "additionalProperties": False,
    }
