r"""Arguments that are pairs of a name and a value, between tags, instead of JSON.

In: the schema of the arguments, and a style, as XGrammar calls it. Out: a part of a message
(:mod:`cfgguide.schema.messages.pair_values` reads it again). ::

    qwen_xml      <parameter=city>\nRome\n</parameter>\n
    glm_xml       <arg_key>city</arg_key><arg_value>Rome</arg_value>
    deepseek_xml  <｜DSML｜parameter name="city" string="true">Rome</｜DSML｜parameter>\n
    minimax_xml   <parameter name="city">Rome</parameter>\n
    gemma4        {city:<|"|>Rome<|"|>,days:3,at:{lat:41.9},tags:[<|"|>a<|"|>]}

Names come in their order. A string is its text, without quotes or escapes; everything else is
JSON. A parser tells the two apart by the schema, as vLLM's do: where a string may come beside a
number or null, texts that would be read as those are left out. Names that are not declared are
never written, since no parser knows what their values are.

Where strings have quotes of their own, as in Gemma's notation, values are not JSON: objects and
lists are written as the arguments are. Names are sorted there, as its templates sort them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from cfgguide.automata.language import Language, difference, intersection
from cfgguide.errors import SchemaError, shown
from cfgguide.grammar.llguidance.languages import language_of
from cfgguide.schema.json_schema import json_schema, read_schema
from cfgguide.schema.keywords import listed_in, said_of
from cfgguide.schema.messages.pair_values import (
    NOTES,
    STRING,
    STYLES,
    Schema,
    Style,
    resolved,
    types_of,
)
from cfgguide.schema.messages.parts import (
    Choice,
    Exact,
    Joined,
    Part,
    PlainText,
    RawText,
    Repeat,
    Sequence,
    UnsupportedTagError,
    Value,
)
from cfgguide.schema.schema_grammar import SchemaGrammar
from cfgguide.schema.solver.scalars import of_lengths
from cfgguide.schema.solver.values import AllValues

_BREAKS_NAMES = re.compile(r'[<>"\n\r\t]|^\s|\s$|^$')
_BREAKS_BARE_NAMES = re.compile(r"[:,{}\[\]]")
_OF_PARAMETERS = NOTES | frozenset(
    [
        *("type", "properties", "required", "additionalProperties", "$defs", "definitions"),
        *("$schema", "$id", "readOnly", "writeOnly"),
    ]
)
_OF_LISTS = NOTES | frozenset(["type", "items", "minItems", "maxItems"])
_SCALARS = frozenset(["null", "boolean", "integer", "number"])
_MAX_VALUES = 5_000  # in one schema of nested objects: references may lead to each often
#: Beside these, each type of a list is allowed for itself.
_COMBINE = frozenset(["not", "if", "oneOf", "anyOf", "allOf", "$ref", "$dynamicRef"])
#: What a parser reads as something else than a string, where the schema allows that too; of texts
#: that may be the beginning of JSON all are left out.
_READ_AS = {
    "null": "(?i:null)",
    "boolean": r"\s*(?i:true|false|0|1)\s*",
    "integer": r"\s*[-+]?[._\d]*\d[._\d]*(?:[eE][-+]?[\d_]*)?\s*|[-0-9](?s:.)*",
    "array": r'\s*(?:[\[{"0-9-](?s:.)*|null|true|false|NaN|Infinity)\s*',
}
_READ_AS |= {"number": _READ_AS["integer"], "object": _READ_AS["array"]}


def pairs(
    schema: Schema,
    style: str,
    path: str,
    *,
    is_tidy: bool,
    formats: bool,
    registry: Mapping[str, Any] | None = None,
) -> Part:
    """Return the pairs of an object.

    Raises
    ------
    UnsupportedTagError
        If they cannot say what the schema requires, or no value is possible.
    SchemaError
        If the schema of a string is wrong.
    """
    checked(schema, path, is_tidy=is_tidy, formats=formats, registry=registry)
    made = _Objects if STYLES[style].quote else _Pairs
    return made(schema, STYLES[style], is_tidy=is_tidy, formats=formats).arguments(path)


def checked(
    schema: object,
    path: str,
    *,
    is_tidy: bool,
    formats: bool,
    registry: Mapping[str, Any] | None = None,
) -> SchemaGrammar:
    """Return the grammar of a schema in JSON; all that looks at parts of it knows that it is right.

    Raises
    ------
    SchemaError
        If it is wrong; it says where.
    """
    options: dict[str, Any] = {"tidy": is_tidy, "formats": formats, "registry": registry}
    with said_of(f"in the schema at {path}"):
        return read_schema(schema, best_effort=True, **options)[0]


def _refuse(odd: frozenset[str], what: str, path: str) -> None:
    """Raise an error if a schema has keywords that cannot be followed."""
    if odd:
        raise UnsupportedTagError(
            f"at {path}: {what}; {', '.join(sorted(odd))} cannot be followed there: use a format "
            "whose arguments are JSON"
        )


class _Pairs:
    """Makes the pairs of one schema."""

    def __init__(self, root: Schema, style: Style, *, is_tidy: bool, formats: bool) -> None:
        self._root = root
        self._style = style
        self._is_tidy = is_tidy
        self._formats = formats

    def arguments(self, path: str) -> Part:
        """Return all pairs."""
        members = self._members(self._root, path)
        return Sequence(tuple(Repeat(part, int(is_required), 1) for part, is_required in members))

    def _members(self, schema: object, path: str) -> list[tuple[Part, bool]]:
        """Return the pairs of an object, and whether each is required."""
        whole, is_bare = resolved(schema, self._root), bool(self._style.quote)
        what = "arguments in pairs have properties, some of which are required"
        _refuse(frozenset(whole) - _OF_PARAMETERS, what, path)
        required = whole.get("required", ())
        properties = {**whole.get("properties", {})}
        for name in required:
            properties.setdefault(name, True)
        found = []
        for name in sorted(properties, key=str.lower) if is_bare else properties:
            if name not in required and properties[name] is False:
                continue
            at = f"{path}/properties/{name}"
            if _BREAKS_NAMES.search(name) or (is_bare and _BREAKS_BARE_NAMES.search(name)):
                raise UnsupportedTagError(
                    f"at {at}: a name in pairs is a word, not {shown(name)}; rename it"
                )
            found.append((self._pair(name, properties[name], at), name in required))
        return found

    def _pair(self, name: str, schema: object, path: str) -> Part:
        """Return a name and a value."""
        begin, end = self._style.begin.replace("NAME", name), Exact(self._style.end)
        kinds = types_of(schema, self._root)
        string, other = (Exact(begin.replace("SAYS", each)) for each in self._style.says)
        found = self._values(schema, kinds, path)
        if not found:
            raise UnsupportedTagError(f"at {path}: no value that it allows can be written")
        if string == other:
            return Sequence((string, _one_of([each for _, each in found]), end))
        told = (Sequence((string if is_string else other, each)) for is_string, each in found)
        return Sequence((_one_of([*told]), end))

    def _values(self, schema: object, kinds: frozenset[str], path: str) -> list[tuple[bool, Part]]:
        """Return the values that a schema allows, and whether each is a string."""
        part = resolved(schema, self._root)
        mine = types_of(part, self._root)
        if set(part) - NOTES == {"anyOf"}:
            return [v for each in part["anyOf"] for v in self._values(each, kinds, path)]
        others, found = mine - {STRING}, []
        if STRING not in kinds:
            return [(False, self._value(schema, mine, path))]
        listed = listed_in(part)
        if STRING in mine and (listed is None or any(isinstance(each, str) for each in listed)):
            found.append((True, self._string(schema, kinds, path)))
        if listed is not None and others:
            told = [json.dumps(v, ensure_ascii=False) for v in listed if _type_is(v, others)]
            told = [text for text in told if not re.search(self._style.bad, text)]
            return [*found, (False, PlainText("|".join(map(re.escape, told))))] if told else found
        combined = sorted(_COMBINE & set(part))
        if others and combined:
            raise UnsupportedTagError(
                f"at {path}: a string that may be something else, and is combined with "
                f"{', '.join(combined)}, cannot be told from it in pairs: list the types in anyOf"
            )
        # Text may begin with the letters of these words, so that they are a part of the text.
        for kind, words in (("null", "null"), ("boolean", "true|false")):
            if kind in others:
                found.append((False, PlainText(words)))
        rest = others - {"null", "boolean"}
        return [*found, (False, self._value(schema, rest, path))] if rest else found

    def _string(self, schema: object, kinds: frozenset[str], path: str) -> Part:
        bad = [rf"(?s:.*)(?:{self._style.bad})(?s:.*)"]
        bad += sorted({_READ_AS[kind] for kind in kinds - {STRING}})
        made = RawText(
            self._alone(schema, frozenset([STRING])),
            "|".join(bad),
            has_common_spaces=self._is_tidy,
            formats=self._formats,
        )
        with said_of(f"in the schema at {path}"):
            is_empty = raw_language(made).is_empty
        if is_empty and kinds == {STRING}:
            raise UnsupportedTagError(
                f"at {path}: no string that it allows can be written in this format"
            )
        return made

    def _value(self, schema: object, kinds: frozenset[str], path: str) -> Part:
        has_texts = kinds & {STRING, "array", "object"}
        return Value(self._alone(schema, kinds), path, self._style.bad if has_texts else "")

    def _alone(self, schema: object, kinds: frozenset[str]) -> str:
        """Return a schema as a document of its own, for values of some types."""
        document: dict[str, Any] = {"type": sorted(kinds), "allOf": [schema]}
        for name in ("$schema", "$defs", "definitions"):
            if name in self._root:
                document[name] = self._root[name]
        return json.dumps(document)


class _Objects(_Pairs):
    """Makes an object of bare names, whose strings have quotes of their own."""

    def __init__(self, root: Schema, style: Style, *, is_tidy: bool, formats: bool) -> None:
        super().__init__(root, style, is_tidy=is_tidy, formats=formats)
        self._opened: list[str] = []  # the references that lead to what is being made
        self._n_values = 0

    def arguments(self, path: str) -> Part:
        """Return the object."""
        return self._object(self._root, path)

    def _object(self, schema: object, path: str) -> Part:
        members = Joined(tuple(self._members(schema, path)), ",")
        return Sequence((Exact("{"), members, Exact("}")))

    def _pair(self, name: str, schema: object, path: str) -> Part:
        return Sequence((Exact(self._style.begin.replace("NAME", name)), self._any(schema, path)))

    def _any(self, schema: object, path: str) -> Part:
        """Return the values that a schema allows: numbers and words, strings, lists, objects."""
        self._n_values += 1
        if self._n_values > _MAX_VALUES:
            raise SchemaError(f"at {path}: there are more than {_MAX_VALUES} values in objects")
        kinds = types_of(schema, self._root)
        found, scalars = self._nested(schema, kinds, path), kinds & _SCALARS
        if scalars and self._is_possible(schema, scalars, path):
            found.append(self._value(schema, scalars, path))
        if not found:
            raise UnsupportedTagError(f"at {path}: no value that it allows can be written")
        return _one_of(found)

    def _is_possible(self, schema: object, kinds: frozenset[str], path: str) -> bool:
        """Return whether there are values of some types; those of a list may all be of others."""
        mine = {"type": sorted(kinds), "allOf": [schema]}
        either = self._alone({"anyOf": [mine, {"type": "array"}]}, kinds | {"array"})
        read = checked(either, path, is_tidy=self._is_tidy, formats=self._formats)
        return bool(AllValues().of([read.root]).kinds - {"array"})

    def _nested(self, schema: object, kinds: frozenset[str], path: str) -> list[Part]:
        """Return the strings, lists and objects that a schema allows."""
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if reference in self._opened:
            raise UnsupportedTagError(
                f"at {path}: a value that holds others of its kind, to any depth, cannot be "
                "written in this format: use one whose arguments are JSON"
            )
        self._opened += [reference] if reference is not None else []
        try:
            return self._opened_one(resolved(schema, self._root), kinds, path)
        finally:
            if reference is not None:
                self._opened.pop()

    def _opened_one(self, part: Schema, kinds: frozenset[str], path: str) -> list[Part]:
        if set(part) - NOTES == {"anyOf"}:
            return [v for each in part["anyOf"] for v in self._nested(each, kinds, path)]
        mine = types_of(part, self._root)
        found: list[Part] = []
        if mine & {"array", "object"}:
            _refuse(frozenset(part) & {"enum", "const"}, "lists and objects are not listed", path)
        if STRING in mine:
            quote = Exact(self._style.quote)
            found.append(Sequence((quote, self._string(part, kinds, path), quote)))
        if "array" in mine:
            found.append(self._list(part, path))
        if "object" in mine:
            if not part.get("properties") and part.get("additionalProperties") is not False:
                raise UnsupportedTagError(
                    f"at {path}: the names in an object have to be declared in this format: say "
                    "its properties, or use a format whose arguments are JSON"
                )
            found.append(self._object(part, path))
        return found

    def _list(self, part: Schema, path: str) -> Part:
        items, is_unique = part.get("items", True), part.get("uniqueItems", False)
        odd = frozenset(part) - _OF_LISTS - (frozenset() if is_unique else {"uniqueItems"})
        _refuse(odd, "a list has items of one kind", path)
        least, most = int(part.get("minItems", 0)), part.get("maxItems")
        most = 0 if items is False else most if most is None else int(most)
        if most is not None and most < least:
            raise UnsupportedTagError(f"at {path}: no list has so many items")
        if most == 0:
            return Sequence((Exact("["), Exact("]")))
        item = self._any(items, f"{path}/items")
        more = Sequence((Exact(","), item))
        rest = Repeat(more, max(least - 1, 0), None if most is None else most - 1)
        written = Repeat(Sequence((item, rest)), min(least, 1), 1)
        return Sequence((Exact("["), written, Exact("]")))


def _one_of(parts: list[Part]) -> Part:
    return parts[0] if len(parts) == 1 else Choice(tuple(parts))


def _type_is(value: Any, types: frozenset[str]) -> bool:
    """Return whether a value that is no string has one of some types."""
    mine = types_of({"const": value}, {})
    return bool(mine & types) or (mine == {"integer"} and "number" in types)


@lru_cache(maxsize=256)
def raw_language(text: RawText) -> Language:
    """Return the texts of strings that a schema allows, without those that are excluded.

    Raises
    ------
    SchemaError
        If that is too large, or there are alternatives that cannot be joined.
    """
    read = json_schema(text.schema, tidy=text.has_common_spaces, formats=text.formats)
    values = AllValues().of([read.root])
    asked = values.strings
    if asked is None:
        if STRING in values.mixed:
            raise UnsupportedTagError("a string of alternatives is written in pairs by anyOf alone")
        return Language.of_words([])
    languages = [language_of("(?s:.*)"), of_lengths(*asked.bounds).language]
    if asked.language is not None:
        languages.append(asked.language)
    return difference(intersection(languages), language_of(text.excludes))
