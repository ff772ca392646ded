"""A schema as a type that a model reads: TypeScript's notation, and comments where it ends.

In: a schema, as it was given. Out: a text of about a third of its tokens. ::

    {
      name: string, // as on the passport; <= 40 characters
      age?: integer, // in years; 0 to 150
      tags: ("new" | "old")[], // <= 3 items, all different
    }

What contains itself is a type with a name, below, and so is what would be written several times. A
type tells a model what is meant. What is allowed is for the grammar to say, so conditions that no
type has are left out. In a long schema descriptions are cut, all alike, and then what is deepest
inside.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Hashable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from cfgguide.automata.pattern_notations import without_head
from cfgguide.base.limits import check_step
from cfgguide.schema.keywords import QUOTE
from cfgguide.schema.quoted_strings import Quote
from cfgguide.schema.references import (
    NO_SIBLINGS,
    OLD_ITEMS,
    Alike,
    Location,
    References,
)

#: The share of the characters of a schema that its type may have, and what no type is too long for.
_SHARE, _ENOUGH = 0.27, 1_500
#: The most characters of each description, and how many brackets deep types go: in turns, until the
#: type is short enough. Where only the limit asks for less, it goes on.
_DEEP = 1_000
_ROUNDS = tuple((longest, _DEEP) for longest in (400, 200, 120, 90, 70, 50, 40, 30, 20, 0))
_CUTS = ((0, 6), (0, 4), (0, 3), (0, 2), (0, 1))
_MOST_LISTED = 60  # values of an enumeration
_LITERAL, _DEFAULT, _PATTERN = 200, 40, 60  # characters
_WIDTH = 72  # of a line with a whole object or union
_MOST_REFERENCES = 100  # in a row
_LAST_LINE = 100  # characters, at most, of what says how much is left out, with the first
_NAME_COSTS, _WORTH = 12, 60  # characters: what has a name saves so many at least

#: Keywords with schemas of which the type of one is made.
_PARTS = (
    *("allOf", "anyOf", "oneOf", "prefixItems", "items", "properties", "patternProperties"),
    *("additionalProperties", "additionalItems"),
)
_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_NOT_IN_NAMES = re.compile(r"\W+", re.ASCII)
_BLANKS = re.compile(r"\s+")
_SENTENCE = re.compile(r".*?[.!?;:](?= )")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W_a-zA-Z]+")
_IDLE = frozenset(["a", "an", "and", "for", "in", "is", "of", "or", "that", "the", "this", "to"])
_OF_KIND = {
    "object": ("properties", "additionalProperties", "patternProperties", "required"),
    "array": ("items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_KINDS = frozenset(["any", "never", "integer", "boolean", "null", *_OF_KIND])


_Key = tuple[Hashable, str]  # what equal schemas share, and their base


class _Type(NamedTuple):
    """A type as text, what it cannot say, and whether it is made of several."""

    text: str
    notes: tuple[str, ...] = ()
    is_compound: bool = False

    @property
    def grouped(self) -> str:
        """The text, in parentheses where something comes before or after it."""
        return f"({self.text})" if self.is_compound else self.text

    @property
    def with_notes(self) -> str:
        """The text with the notes, where no line ends."""
        note = "; ".join(self.notes).replace("*/", "* /")
        return f"{self.text} /* {note} */" if note else self.text


class _TooLongError(Exception):
    """A type is longer than it may be."""


def typescript(schema: Any, registry: Mapping[str, Any], *, max_characters: int = 12_000) -> str:
    """Return a schema as a type.

    Parameters
    ----------
    schema : mapping or bool
        The schema.
    registry : mapping of str to object
        Other documents by their URIs; a reference to what is not there is ``any``.
    max_characters : int
        Of the type. What is deepest inside of a schema that needs more is left out.

    Examples
    --------
    >>> print(typescript({"properties": {"a": {"type": "string", "maxLength": 3}}}, {}))
    {
      a?: string, // <= 3 characters
    }
    """
    writer = _Writer(schema, registry)
    n_characters = len(json.dumps(schema, ensure_ascii=False))
    wanted = min(max_characters, max(_ENOUGH, int(_SHARE * n_characters)))
    for most, (longest, deepest) in (
        *((wanted, each) for each in _ROUNDS),
        *((max_characters, each) for each in (_ROUNDS[-1], *_CUTS)),
    ):
        try:
            return writer.text(longest, deepest, most)
        except _TooLongError:
            continue
    whole = writer.text(0, 1, sys.maxsize)
    lines = whole[: max_characters - _LAST_LINE].split("\n")[1:-1]
    n_left = whole.count("\n") - len(lines)
    return "\n".join([_cut(max_characters), *lines, f"// {n_left} more lines"])


def _cut(most: int) -> str:
    """Return what is said first of a type of which something is left out."""
    return f"// max_characters={most}: some of it is left out"


class _Writer:
    """Writes one schema."""

    def __init__(self, schema: Any, registry: Mapping[str, Any]) -> None:
        self._references = References(schema, registry)
        self._alike = Alike()
        self._uses: Counter[_Key] = Counter()
        self._recursive: set[_Key] = set()
        self._count(self._references.root, ())

    def text(self, longest: int, deepest: int, most: int) -> str:
        """Return the type of the whole schema, and those with names that it uses.

        Raises
        ------
        _TooLongError
            If it has more than `most` characters.
        """
        self._longest, self._deepest, self._left = longest, deepest, most
        self._names: dict[_Key, str] = {}
        self._made: dict[_Key, _Type] = {}
        whole = self._named(self._references.root, "", 0)
        parts = [*(f"// {note}" for note in whole.notes), whole.text]
        if whole.text in self._names.values():  # it contains itself, and its type stands first
            parts = []
        if deepest < _DEEP:
            parts.insert(0, _cut(most))
        named = [key for key in self._made if key in self._names]
        for key in sorted(named, key=lambda key: self._names[key] != whole.text):
            made = self._made[key]
            parts += [""] * bool(parts)
            parts += [f"// {note}" for note in made.notes]
            parts.append(f"type {self._names[key]} = {made.text}")
        text = "\n".join(parts)
        if len(text) > most:
            raise _TooLongError
        return text

    # -- what is written several times ----------------------------------------------------------

    def _key(self, location: Location) -> _Key:
        return self._alike.key(location.schema), location.base

    def _meant(self, location: Location) -> Location:
        """Return what a schema refers to that is a reference and nothing else."""
        for _ in range(_MOST_REFERENCES):
            schema = location.schema
            if not isinstance(schema, Mapping) or schema.keys() != {"$ref"}:
                return location
            location = next(self._references.targets(location), location._replace(schema=True))
        return location._replace(schema=True)  # they lead in a circle

    def _count(self, location: Location, above: tuple[_Key, ...]) -> None:
        """Count how often equal schemas are written, and find those that contain themselves."""
        check_step()
        location = self._meant(location)
        if not isinstance(location.schema, Mapping):
            return
        key = self._key(location)
        self._uses[key] += 1
        if key in above:
            self._recursive.add(key)
        if self._uses[key] == 1:
            references = self._references
            for below in chain(references.targets(location), references.inside(location, _PARTS)):
                self._count(below, (*above, key))

    def _named(self, location: Location, margin: str, depth: int) -> _Type:
        """Return a type, or its name if that is shorter."""
        check_step()
        location = self._meant(location)
        if not isinstance(location.schema, Mapping):
            return _Type("never" if location.schema is False else "any")
        key = self._key(location)
        n_uses = self._uses[key]
        if n_uses < 2:
            return self._type(location, margin, depth)
        if key in self._names:
            return _Type(self._names[key])
        if key not in self._made:
            if key in self._recursive:
                self._names[key] = self._new_name(location)
            self._made[key] = self._type(location, "", depth)
        made = self._made[key]
        saved = (n_uses - 1) * (len(made.with_notes) - _NAME_COSTS)
        if key in self._names or (saved < _WORTH and "\n" not in made.text):
            return _Type(self._names[key]) if key in self._names else made
        self._names[key] = self._new_name(location)
        return _Type(self._names[key])

    def _new_name(self, location: Location) -> str:
        """Return a name of a type: what the schema calls it."""
        steps = [each for each in location.path.split("/") if not each.isdigit()]
        while steps and steps[-1] in (*_PARTS, ""):
            steps.pop()
        name = _NOT_IN_NAMES.sub("_", steps[-1] if steps else "").strip("_") or "Value"
        name = name if _NAME.fullmatch(name) else f"T{name}"
        taken, number = {*self._names.values(), *_KINDS}, 2
        found = name
        while found in taken:
            found, number = f"{name}{number}", number + 1
        return found

    # -- types ----------------------------------------------------------------------------------

    def _type(self, location: Location, margin: str, depth: int) -> _Type:
        """Return the type of a schema; lines after the first are indented by a margin."""
        schema, references = location.schema, self._references
        parts = [self._named(each, margin, depth) for each in references.targets(location)]
        if "$ref" not in schema or location.dialect not in NO_SIBLINGS:
            parts.insert(0, self._own(location, margin, depth))
            for keyword in ("anyOf", "oneOf"):
                if isinstance(schema.get(keyword), list):
                    parts.append(self._union(location, keyword, margin, depth))
            others = references.inside(location, ["allOf"])
            parts += [self._named(each, margin, depth) for each in others]
        notes = [*self._told(schema), *(note for each in parts for note in each.notes)]
        said = list({each.text: each for each in parts if each.text != "any"}.values())
        if len(said) > 1 and any(each.text.startswith("{") for each in said):
            said = [each for each in said if each.text != "object"]
        found = tuple(dict.fromkeys(filter(None, notes)))
        if len(said) == 1:
            return said[0]._replace(notes=found)
        return _Type(" & ".join(each.grouped for each in said) or "any", found, bool(said))

    def _union(self, location: Location, keyword: str, margin: str, depth: int) -> _Type:
        """Return a union; of a value that may be null, what is noted of the value."""
        inside = self._references.inside(location, [keyword])
        branches = [self._named(each, margin, depth) for each in inside]
        if any(each.text == "any" for each in branches):
            return _Type("any")
        values = [each for each in branches if each.text != "null"]
        if len(values) == 1:
            return _joined([each.text for each in branches], margin, values[0].notes)
        told = self._told(location.schema)
        kept = [
            each._replace(notes=tuple(note for note in each.notes if note not in told))
            for each in branches
        ]
        return _joined([each.with_notes for each in kept], margin)

    def _own(self, location: Location, margin: str, depth: int) -> _Type:
        """Return what a schema says itself, without what it refers to."""
        schema = location.schema
        if "const" in schema and location.dialect != "4":
            return _Type(_literal(schema["const"]))
        if isinstance(schema.get("enum"), list):
            listed = schema["enum"]
            texts = [_literal(each) for each in listed[:_MOST_LISTED]]
            n_left = len(listed) - len(texts)
            return _joined([*texts, *([f"... /* {n_left} more */"] * bool(n_left))], margin)
        kinds = schema.get("type")
        if kinds is None:
            found = [kind for kind in _OF_KIND if any(each in schema for each in _OF_KIND[kind])]
            kinds = found if len(found) == 1 else []
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        types = [self._of_kind(location, kind, margin, depth) for kind in kinds]
        notes = tuple(note for each in types for note in each.notes)
        return _joined([each.grouped for each in types] or ["any"], margin, notes)

    def _of_kind(self, location: Location, kind: str, margin: str, depth: int) -> _Type:
        schema = location.schema
        if kind == "string":
            return _Type("string", _notes_of_string(schema))
        if kind in ("number", "integer"):
            return _Type(kind, _notes_of_number(schema))
        if kind not in ("object", "array"):
            return _Type(kind)
        if depth >= self._deepest:
            return _Type(kind)
        write = self._object if kind == "object" else self._array
        return write(location, margin, depth + 1)

    def _object(self, location: Location, margin: str, depth: int) -> _Type:
        schema, inner, below = location.schema, f"{margin}  ", self._references.below
        required, properties = schema.get("required"), schema.get("properties") or {}
        required = required if isinstance(required, list) else []
        lines: list[tuple[str, _Type]] = []
        for name in properties:
            if name == "$schema" and name not in required:
                continue
            made = self._named(below(location, "properties", name), inner, depth)
            lines.append(self._line(name, "" if name in required else "?", made))
        for pattern in schema.get("patternProperties") or {}:
            made = self._named(below(location, "patternProperties", pattern), inner, depth)
            name = _BLANKS.sub(" ", without_head(pattern))
            lines.append(self._line(name, f"[name: /{name}/]", made))
        others = schema.get("additionalProperties")
        if isinstance(others, Mapping) and others:
            made = self._named(below(location, "additionalProperties"), inner, depth)
            lines.append(self._line("name", "[name: string]", made))
        notes = _bounds("properties", schema, "minProperties", "maxProperties")
        if not lines:
            return _Type("{}" if others is False and not properties else "object", notes)
        whole = ", ".join(f"{name}: {made.text}" for name, made in lines)
        if len(whole) <= _WIDTH and not any(made.notes or "\n" in made.text for _, made in lines):
            return _Type(f"{{ {whole} }}", notes)
        written = [_on_lines(name, made, inner) for name, made in lines]
        return _Type("\n".join(["{", *written, f"{margin}}}"]), notes)

    def _line(self, name: str, mark: str, made: _Type) -> tuple[str, _Type]:
        """Return what stands before a colon, and the type without notes that the name tells."""
        told = f"{name} {made.text}"
        notes = tuple(note for note in made.notes if not words_of(note) <= words_of(told))
        written = mark if mark.startswith("[") else f"{_name(name)}{mark}"
        self._left -= len(written) + sum(map(len, notes)) + len(made.text.partition("\n")[0])
        if self._left < 0:
            raise _TooLongError
        return written, _Type(made.text, notes)

    def _array(self, location: Location, margin: str, depth: int) -> _Type:
        schema, below = location.schema, self._references.below
        first: list[_Type] = []
        is_old = location.dialect in OLD_ITEMS or "prefixItems" not in schema
        keyword, others = ("items", "additionalItems") if is_old else ("prefixItems", "items")
        if isinstance(schema.get(keyword), list):
            inside = self._references.inside(location, [keyword])
            first = [self._named(each, margin, depth) for each in inside]
        rest = _Type("any")
        others = others if first else "items"
        if isinstance(schema.get(others), Mapping):
            rest = self._named(below(location, others), margin, depth)
        notes = list(_bounds("items", schema, "minItems", "maxItems"))
        notes += ["all different"] if schema.get("uniqueItems") is True else []
        if first:
            texts = [each.with_notes for each in first]
            texts += [] if schema.get(others) is False else [f"...{rest.grouped}[]"]
            return _Type(f"[{', '.join(texts)}]", tuple(notes))
        return _Type(f"{rest.grouped}[]", (*notes, *(f"each: {note}" for note in rest.notes)))

    # -- notes ----------------------------------------------------------------------------------

    def _told(self, schema: Mapping[str, Any]) -> list[str]:
        """Return what a schema tells its readers."""
        told = schema.get("description") or schema.get("title")
        notes = [_shortened(told, self._longest)] if isinstance(told, str) else []
        if "default" in schema:
            default = _literal(schema["default"])
            is_told = "default" in str(told).lower() and default.strip('"') in str(told)
            notes += [] if is_told or len(default) > _DEFAULT else [f"default {default}"]
        notes += ["deprecated"] if schema.get("deprecated") is True else []
        return notes


# --- Texts ---------------------------------------------------------------------------------------


def _on_lines(name: str, made: _Type, margin: str) -> str:
    """Return the line, or the lines, of a property."""
    note = "; ".join(made.notes)
    if "\n" in made.text:
        above = [f"{margin}// {note}"] if note else []
        return "\n".join([*above, f"{margin}{name}: {made.text},"])
    return f"{margin}{name}: {made.text}," + (f" // {note}" if note else "")


def _joined(texts: list[str], margin: str, notes: tuple[str, ...] = ()) -> _Type:
    """Return a union, on several lines if it is long."""
    texts = list(dict.fromkeys(texts))
    line = " | ".join(texts)
    if len(line) <= _WIDTH or "\n" in line:
        return _Type(line, notes, len(texts) > 1)
    lines, inner = [""], f"{margin}  "
    for text in texts:
        longer = f"{lines[-1]} | {text}" if lines[-1] else text
        if len(longer) > _WIDTH and lines[-1]:
            lines.append(f"{inner}| {text}")
        else:
            lines[-1] = longer
    return _Type("\n".join(lines), notes, len(texts) > 1)


def _literal(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LITERAL else f"... /* {len(text)} characters */"


def _name(name: str) -> str:
    return name if _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text that say something, without what marks many of a thing."""
    words = (word.lower().removesuffix("s") for word in _WORDS.findall(text))
    return frozenset(words) - _IDLE


def _shortened(text: str, most: int) -> str:
    """Return a text on one line: all of it, its first sentence, or its first words."""
    text = _BLANKS.sub(" ", text).strip().removesuffix(".")
    if len(text) <= most:
        return text
    sentence = _SENTENCE.match(text)
    if sentence is not None and len(sentence[0]) <= most + 1:
        return sentence[0][:-1]
    words = text[:most].rpartition(" ")[0]
    return f"{words} ..." if words else ""


def _notes_of_string(schema: Mapping[str, Any]) -> tuple[str, ...]:
    notes = [schema["format"]] if isinstance(schema.get("format"), str) else []
    if isinstance(schema.get("pattern"), str):
        pattern = _BLANKS.sub(" ", without_head(schema["pattern"]))
        notes += [f"/{pattern}/"] if len(pattern) <= _PATTERN else []
    if QUOTE in schema:
        notes.append(Quote.of_keyword(schema[QUOTE]).told)
    return (*notes, *_bounds("characters", schema, "minLength", "maxLength"))


def _bounds(many: str, schema: Mapping[str, Any], least: str, most: str) -> tuple[str, ...]:
    """Return how many there may be of something."""
    said = _between(schema.get(least) or None, schema.get(most))
    return (f"{said} {many}",) if said else ()


def _between(low: Any, high: Any) -> str:
    """Return which numbers lie between two, or beyond one."""
    if low is None or high is None:
        return f">= {low}" if low is not None else f"<= {high}" if high is not None else ""
    return f"{low}" if low == high else f"{low} to {high}"


def _notes_of_number(schema: Mapping[str, Any]) -> tuple[str, ...]:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if isinstance(above, bool):  # draft 4
        low, above = (None, low) if above else (low, None)
    if isinstance(below, bool):
        high, below = (None, high) if below else (high, None)
    notes = [_between(low, high)]
    notes += [f"> {above}"] if above is not None else []
    notes += [f"< {below}"] if below is not None else []
    notes += [f"a multiple of {schema['multipleOf']}"] if "multipleOf" in schema else []
    return tuple(filter(None, notes))
