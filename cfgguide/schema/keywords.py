"""Reads the values of keywords of a JSON Schema, and rejects those of a wrong type."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NoReturn, TypeVar

from cfgguide.errors import SchemaError
from cfgguide.schema.solver.listed_values import check_text, decimal_of

T = TypeVar("T")

MAX_COUNT = 1_000_000  # characters or items that have to come

#: Keywords of our own, which schemas of types have: why nobody checks it; whether a whole number is
#: written without a fraction, a number is a finite float, and listed numbers are read from names;
#: and of which text a string is a quote.
UNCHECKED, WHOLE, FINITE = "x-cfgguide-unchecked", "x-cfgguide-whole", "x-cfgguide-finite"
FROM_NAMES, QUOTE = "x-cfgguide-from-names", "x-cfgguide-quote"
OWN_KEYWORDS = frozenset([UNCHECKED, WHOLE, FINITE, FROM_NAMES, QUOTE])

#: The kinds of values that a type has.
TYPES = {
    "null": ("null",),
    "boolean": ("true", "false"),
    "integer": ("number",),
    "number": ("number",),
    "string": ("string",),
    "array": ("array",),
    "object": ("object",),
}

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


#: Keywords that are no conditions: of JSON Schema, of OpenAPI, and of those who make schemas.
_ANNOTATIONS = frozenset(
    [
        *("$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"),
        *("$recursiveAnchor", "$vocabulary", "$comment", "$defs", "definitions", "id", "title"),
        *("description", "default", "examples", "example", "readOnly", "writeOnly", "deprecated"),
        *("contentEncoding", "contentMediaType", "contentSchema", "nullable", "discriminator"),
        *(
            "xml",
            "externalDocs",
            "strict",
            "name",
            "schema",
            "json_schema",
            "parameters",
            "function",
        ),
    ]
)
#: Formats that OpenAPI names and that ask for no text in particular.
OPENAPI_FORMATS = frozenset(
    [
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float"),
        *("double", "decimal", "byte", "binary", "password", "textarea", "color", "html"),
    ]
)
# Keywords by what reads them: most schemas have none of most of these.
APPLICATORS = (
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
    *("dependentSchemas", "dependencies"),
)
OF_NUMBERS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")
OF_STRINGS = ("minLength", "maxLength", "pattern", "format")
OF_ARRAYS = (
    *("items", "prefixItems", "additionalItems", "contains", "minContains", "maxContains"),
    *("minItems", "maxItems", "uniqueItems", "unevaluatedItems"),
)
OF_OBJECTS = (
    *("properties", "propertyNames", "patternProperties", "additionalProperties", "required"),
    *("dependentRequired", "minProperties", "maxProperties", "unevaluatedProperties"),
)
CONDITIONS = (
    *("type", "enum", "const", *APPLICATORS),
    *(*OF_NUMBERS, *OF_STRINGS, *OF_ARRAYS, *OF_OBJECTS),
)
_KNOWN = _ANNOTATIONS.union(CONDITIONS)
_BY_LETTERS = {keyword.lower(): keyword for keyword in CONDITIONS}
_SHORTHANDS = {"min": "minimum", "max": "maximum", "regex": "pattern", "property": "properties"}
#: What people write for the types of JSON.
_TYPE_NAMES = {
    **dict.fromkeys(("str", "text", "char", "date", "datetime", "uuid"), "string"),
    **dict.fromkeys(("int", "int32", "int64", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("dict", "map", "struct", "json", "json_object"), "object"),
    **dict.fromkeys(("list", "tuple", "set"), "array"),
    **dict.fromkeys(("none", "nil", "undefined"), "null"),
}


def meant_keyword(keyword: str) -> str | None:
    """Return the keyword that a name in a schema stands for by mistake, or None.

    Capitals, underscores, and one wrong letter are looked at, or two in a long name.

    >>> [meant_keyword(each) for each in ("requird", "max_length", "oneof", "items", "x-order")]
    ['required', 'maxLength', 'oneOf', None, None]
    """
    if keyword in _KNOWN or len(keyword) > _LONGEST_KEYWORD or keyword.startswith(("x-", "$")):
        return None
    letters = keyword.lower().replace("_", "").replace("-", "")
    if letters in _BY_LETTERS:
        return _BY_LETTERS[letters]
    if keyword in _SHORTHANDS:
        return _SHORTHANDS[keyword]
    # Each mistake takes one letter away and brings one: most names are told apart by that.
    used = _letters_in(letters)
    return next(
        (
            meant
            for known, meant in _BY_LETTERS.items()
            if (used ^ _USED[known]).bit_count() <= _MOST_ODD and _is_close(letters, known)
        ),
        None,
    )


def _letters_in(text: str) -> int:
    """Return the letters of a text as bits."""
    return functools.reduce(operator.or_, (1 << (ord(letter) & 31) for letter in text), 0)


_USED = {known: _letters_in(known) for known in _BY_LETTERS}
_MOST_ODD = 4  # letters that one of two close names has alone


_LONGEST_KEYWORD = 30
_MOST_COMPARED = 30  # names that are required, and members


def _is_close(one: str, other: str) -> bool:
    """Return whether few letters are wrong, missing, too many, or in the wrong order."""
    most = 0 if len(other) < 4 else 1 if len(other) < 7 else 2
    if abs(len(one) - len(other)) > most:
        return False
    before, last = list(range(len(other) + 1)), [0] * (len(other) + 1)
    for row, letter in enumerate(one, 1):
        here = [row]
        for place, wanted in enumerate(other, 1):
            best = min(before[place] + 1, here[-1] + 1, before[place - 1] + (letter != wanted))
            is_swapped = row > 1 and place > 1 and one[row - 2 : row] == wanted + other[place - 2]
            here.append(min(best, last[place - 2] + 1) if is_swapped else best)
        before, last = here, before
    return before[-1] <= most


def meant_type(names: object) -> str:
    """Return what to say about types of which one is none."""
    for name in names if isinstance(names, list) else [names]:
        if isinstance(name, str) and name not in TYPES:
            lower = name.lower()
            close = (known for known in TYPES if lower == known or _is_close(lower, known))
            meant = _TYPE_NAMES.get(lower) or next(close, None)
            return f"; did you mean {meant!r}?" if meant else ""
    return ""


def meant_members(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names that a schema requires and does not have, and that of a member it may mean.

    >>> meant_members({"properties": {"name": {}, "age": {}}, "required": ["nmae", "size", "age"]})
    [('nmae', 'name')]
    """
    required, members = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or not isinstance(members, Mapping):
        return []
    missing = [each for each in required if isinstance(each, str) and each not in members]
    left = [each for each in members if each not in required and len(each) <= _LONGEST_KEYWORD]
    return [
        (each, meant)
        for each in missing[:_MOST_COMPARED]
        if len(each) <= _LONGEST_KEYWORD
        for meant in left[:_MOST_COMPARED]
        # `line1` is no mistake for `line2`.
        if len(each) > 3 and not any(letter.isdigit() for letter in each + meant)
        if _is_close(each.lower(), meant.lower())
    ]


def listed_in(schema: Mapping[str, Any]) -> list[Any] | None:
    """Return the values that a schema lists itself; None if it lists none."""
    listed: list[Any] | None = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return listed


def is_of_schema(schema: Mapping[str, Any]) -> bool:
    """Return whether a mapping has anything that a schema has, or nothing at all."""
    named = {"name", "schema", "json_schema", "parameters", "function", "strict"}
    # What is no text is no name of JSON, of which the reader of schemas tells.
    return not schema or any(
        not isinstance(key, str) or key in _KNOWN - named or key.startswith("x-") for key in schema
    )


def unwrapped(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema in what an API takes for the format of an answer, or the mapping itself.

    Raises
    ------
    SchemaError
        If it is a tool, or asks for any JSON.

    Examples
    --------
    >>> unwrapped({"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "null"}}})
    {'type': 'null'}
    """
    for key in ("response_format", "json_schema", "format", "schema"):
        inner = schema.get(key)
        rest = schema.keys() - {key, "type", "name", "strict", "description"}
        is_typed = schema.get("type", "json_schema") == "json_schema"
        if isinstance(inner, Mapping) and not rest and is_typed:
            return unwrapped(inner)
    if schema.get("type") == "json_object":
        raise SchemaError("at /type: 'json_object' asks for any JSON: give \"json\" instead")
    is_tool = schema.get("type") == "function" and isinstance(schema.get("function", {}), Mapping)
    has_arguments = isinstance(schema.get("parameters", schema.get("input_schema")), Mapping)
    if is_tool or (has_arguments and isinstance(schema.get("name"), str)):
        raise SchemaError(
            "it is a tool, not a schema: cfgguide.tools([tool], format=...) is a grammar of its "
            "calls, and what is under 'parameters' is the schema of its arguments"
        )
    return schema


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


@contextlib.contextmanager
def said_of(place: str) -> Iterator[None]:
    """Let errors of schemas say what they are of."""
    try:
        yield
    except SchemaError as error:
        raise SchemaError(f"{place}: {error.args[0]}") from None


class Keywords:
    """The keywords of one schema, and its path."""

    def __init__(self, schema: Mapping[str, Any], path: str) -> None:
        self.schema = schema
        self.path = path

    def fail(self, keyword: str, expected: str) -> NoReturn:
        """Raise an error about a keyword."""
        raise SchemaError(f"at {self.path}/{keyword}: {keyword} {expected}")

    def check(self, keyword: str, check: Callable[..., T], *args: Any) -> T:
        """Return what is made of the value of a keyword; if `check` raises, name the keyword.

        Raises
        ------
        SchemaError
            As `check`.
        """
        with said_of(f"at {self.path}/{keyword}"):
            return check(*args)

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

    def names(self, keyword: str, value: Any) -> tuple[str, ...]:
        """Return the names of an array, each once."""
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            self.fail(keyword, "is an array of names")
        self.check(keyword, check_text, "".join(value))
        return tuple(dict.fromkeys(value))

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
