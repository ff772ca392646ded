"""Reads the values of keywords of a JSON Schema, and rejects those of a wrong type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NoReturn

from cfgguide.errors import SchemaError
from cfgguide.schema.solver.listed_values import check_text, decimal_of

MAX_COUNT = 1_000_000  # characters or items that have to come

#: Keywords of our own, which schemas of types have: why nobody checks it; whether a whole number is
#: written without a fraction, and a number is a finite float.
UNCHECKED, WHOLE, FINITE = "x-cfgguide-unchecked", "x-cfgguide-whole", "x-cfgguide-finite"

_DIALECTS = ("4", "6", "7", "2019-09", "2020-12")
#: The first and the last dialect that knows a keyword, of those that not all know.
_KNOWN_IN = {
    **dict.fromkeys(("const", "contains", "propertyNames"), ("6", "2020-12")),
    **dict.fromkeys(("if", "then", "else"), ("7", "2020-12")),
    **dict.fromkeys(
        (
            *("dependentRequired", "dependentSchemas", "minContains", "maxContains"),
            *("unevaluatedItems", "unevaluatedProperties"),
        ),
        ("2019-09", "2020-12"),
    ),
    "$recursiveRef": ("2019-09", "2019-09"),
    "additionalItems": ("4", "2019-09"),
    "prefixItems": ("2020-12", "2020-12"),
    "$dynamicRef": ("2020-12", "2020-12"),
}
_UNKNOWN = {
    dialect: frozenset(
        keyword
        for keyword, (first, last) in _KNOWN_IN.items()
        if not _DIALECTS.index(first) <= place <= _DIALECTS.index(last)
    )
    for place, dialect in enumerate(_DIALECTS)
}


def unknown_keywords(schema: Mapping[str, Any], dialect: str) -> list[str]:
    """Return the keywords of a schema that its dialect does not know, though others do.

    ``dependencies`` are read in all dialects, and ``additionalItems`` wherever ``items`` is an
    array.

    Examples
    --------
    >>> unknown_keywords({"type": "array", "const": [], "contains": {}}, "4")
    ['const', 'contains']
    """
    unknown = _UNKNOWN.get(dialect, frozenset())
    if unknown.isdisjoint(schema):
        return []
    has_old_items = isinstance(schema.get("items"), list)
    return [
        keyword
        for keyword in schema
        if keyword in unknown and not (keyword == "additionalItems" and has_old_items)
    ]


class Keywords:
    """The keywords of one schema, and its path."""

    def __init__(self, schema: Mapping[str, Any], path: str) -> None:
        self.schema = schema
        self.path = path

    def fail(self, keyword: str, expected: str) -> NoReturn:
        """Raise an error about a keyword."""
        raise SchemaError(f"at {self.path}/{keyword}: {keyword} {expected}")

    def check(self, keyword: str, check: Callable[..., None], *args: Any) -> None:
        """Check the value of a keyword; if `check` raises, name the keyword.

        Raises
        ------
        SchemaError
            As `check`.
        """
        try:
            check(*args)
        except SchemaError as error:
            raise SchemaError(f"at {self.path}/{keyword}: {error.args[0]}") from None

    def listed(self, keyword: str) -> list[Any]:
        """Return the array of a keyword; empty if it is not there."""
        value = self.schema.get(keyword, [])
        if not isinstance(value, list):
            self.fail(keyword, "is an array")
        return value

    def mapping(self, keyword: str) -> Mapping[str, Any]:
        """Return the object of a keyword; empty if it is not there."""
        value = self.schema.get(keyword, {})
        if not isinstance(value, Mapping):
            self.fail(keyword, "is an object")
        return value

    def names(self, keyword: str, value: Any) -> list[str]:
        """Return the names of an array, each once."""
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            self.fail(keyword, "is an array of names")
        self.check(keyword, check_text, "".join(value))
        return list(dict.fromkeys(value))

    def number(self, keyword: str) -> Decimal | None:
        """Return the number of a keyword, if it is there."""
        value = self.schema.get(keyword)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            self.fail(keyword, "is a number")
        return decimal_of(value)

    def checked_names(self, keyword: str) -> list[str]:
        """Return the names of the members of a keyword's object, which are texts."""
        names = list(self.mapping(keyword))
        self.check(keyword, check_text, "".join(names))
        return names

    def count(self, keyword: str) -> int | None:
        """Return the whole number of a keyword, if it is there."""
        number = self.number(keyword)
        if number is None:
            return None
        if number < 0 or number != int(number):
            self.fail(keyword, "is a whole number, 0 or more")
        if number > MAX_COUNT and keyword.startswith("min"):
            self.fail(keyword, f"is at most {MAX_COUNT}: nobody writes a longer text")
        return int(number)
