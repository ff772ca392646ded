"""Values of a schema as examples: a typical one beside the shortest.

In: a machine of a schema, and the schema. Out: a text that the machine takes. The schema says what
would be typical: all properties that it declares, an item in each array, its own examples and
defaults. The machine decides: what it refuses is not written, and where nothing typical may stand,
it finishes the value in its own shortest way. So each text is valid, whatever the schema asks for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from cfgguide.base.limits import check_step
from cfgguide.engine.machine.protocol import AnyMachine
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.schema.automaton import JsonLayout
from cfgguide.schema.references import Location, References

_MAX_CHARACTERS = 2_000  # then only what has to come is written
_MAX_DEPTH = 20  # schemas around a value
_MAX_LITERAL = 200  # characters
_MOST_ALIKE = 3  # items of an array
_TEXTS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "ada@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "uri": "https://example.org",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
_SCALARS = {
    "string": ("text",),
    "number": (1.5, 1, 10, 100),
    "integer": (1, 10, 100),
    "boolean": (True, False),
    "null": (None,),
}
_BRACKETS = {"object": "{}", "array": "[]"}


def shortest_sentence(machine: AnyMachine, configuration: Any = None) -> str | None:
    """Return a short text that makes a sentence of what has come; None if none is found.

    Parameters
    ----------
    machine : Machine
        For texts in any bytes.
    configuration : configuration, optional
        After what has come; by default nothing has.
    """
    here = machine.initial if configuration is None else configuration
    for find in machine.endings(Vocabulary.of_bytes(), len):
        found = find(here)
        if found is not None:
            return found.decode()
    return None


def typical_value(
    machine: AnyMachine, schema: Any, registry: Mapping[str, Any], layout: JsonLayout
) -> str | None:
    """Return a typical text of a schema; None if the machine does not find out how to end it.

    Parameters
    ----------
    machine : Machine
        Of the schema, for texts in any bytes.
    schema : mapping or bool
        The schema.
    registry : mapping of str to object
        Other documents by their URIs.
    layout : JsonLayout
        How values are written.
    """
    writer = _Writer(machine, References(schema, registry), layout)
    try:
        writer.value([writer.root], ())
    except _NoEndError:
        return None
    return writer.text if machine.is_sentence(writer.configuration) else None


class _NoEndError(Exception):
    """The machine does not know how to end a value."""


class _Writer:
    """Writes one value, as the machine lets it."""

    def __init__(self, machine: AnyMachine, references: References, layout: JsonLayout) -> None:
        self._machine, self._references, self._layout = machine, references, layout
        self.configuration: Any = machine.initial
        self.text = ""
        self.root = references.root

    def _put(self, text: str) -> bool:
        """Write a text; return whether it may stand here."""
        check_step()
        after = self._machine.read(self.configuration, text.encode())
        if after is None or not self._machine.is_live(after):
            return False
        self.configuration, self.text = after, self.text + text
        return True

    def value(self, locations: list[Location], above: tuple[str, ...]) -> None:
        """Write a value that some schemas describe together; `above` are the paths around it."""
        every = self._parts(locations)
        kinds = _kinds(every)
        if any(map(self._put_whole, _literals(every, kinds))):
            return
        for kind in kinds:
            if kind in _BRACKETS and self._put(_BRACKETS[kind][0]):
                write, item = (self._members, '"":0') if kind == "object" else (self._items, "0")
                is_some = write(every, (*above, *(each.path for each in every)))
                if not self._put(_BRACKETS[kind][1]):
                    self._end(_BRACKETS[kind][0] + item * is_some)
                return
        self._end("")

    def _put_whole(self, value: Any) -> bool:
        """Write a value; return whether it may stand here, and end."""
        text = json.dumps(
            value,
            ensure_ascii=False,
            separators=(self._layout.comma.decode(), self._layout.colon.decode()),
        )
        before = self.configuration, self.text
        if len(text) > _MAX_LITERAL or not self._put(text):
            return False
        here = self.configuration
        if self._machine.is_sentence(here):
            return True
        if any(self._machine.read(here, mark) is not None for mark in (b",", b"}", b"]", b" ")):
            return True
        self.configuration, self.text = before
        return False

    def _end(self, begun: str) -> None:
        """Finish a value as shortly as may be; `begun` is JSON that begins as it has begun."""
        rest = shortest_sentence(self._machine, self.configuration)
        if rest is None:
            raise _NoEndError
        try:
            _, end = json.JSONDecoder().raw_decode(begun + rest)
        except ValueError:  # no value has to come
            raise _NoEndError from None
        if not self._put(rest[: end - len(begun)]):
            raise _NoEndError

    def _members(self, every: list[Location], above: tuple[str, ...]) -> bool:
        """Write the members of an object that are declared; return whether there are any."""
        declared: dict[str, list[Location]] = {}
        for each in every:
            properties = each.schema.get("properties")
            for name in properties if isinstance(properties, Mapping) else ():
                found = self._references.below(each, "properties", name)
                declared.setdefault(name, []).append(found)
            if isinstance(each.schema.get("additionalProperties"), Mapping) and not properties:
                declared.setdefault("name", []).append(
                    self._references.below(each, "additionalProperties")
                )
        n_written = 0
        for name, locations in declared.items():
            if name == "$schema" or not self._is_typical(locations, above):
                continue
            comma = self._layout.comma.decode() if n_written else ""
            named = json.dumps(name, ensure_ascii=False) + self._layout.colon.decode()
            if self._put(comma + named):
                self.value(locations, above)
                n_written += 1
        return n_written > 0

    def _is_typical(self, locations: list[Location], above: tuple[str, ...]) -> bool:
        """Return whether there is room for a value, and it is not inside of one of its kind."""
        if len(self.text) > _MAX_CHARACTERS or len(above) > _MAX_DEPTH:
            return False
        return all(each.path not in above for each in self._parts(locations))

    def _items(self, every: list[Location], above: tuple[str, ...]) -> bool:
        """Write some items; return whether there are any."""
        first: list[Location] = []
        others: list[Location] = []
        for each in every:
            first += self._references.inside(each, ["prefixItems"])
            if isinstance(items := each.schema.get("items"), list | Mapping):
                below = self._references.inside(each, ["items"])
                (first if isinstance(items, list) else others).extend(below)
        least = max((each.schema.get("minItems") or 0 for each in every), default=0)
        n_alike = max(1, min(least - len(first), _MOST_ALIKE)) if others else 0
        n_written = 0
        for locations in [*([each] for each in first), *([others] * n_alike)]:
            if not self._is_typical(locations, above):
                break
            before = self.configuration, self.text
            if n_written and not self._put(self._layout.comma.decode()):
                break
            try:
                self.value(locations, above)
            except _NoEndError:
                self.configuration, self.text = before
                break
            n_written += 1
        return n_written > 0

    def _parts(self, locations: list[Location]) -> list[Location]:
        """Return schemas with those that they refer to, and one of each union."""
        found: dict[str, Location] = {}
        pending = list(locations)
        while pending:
            location = pending.pop(0)
            if location.path in found or not isinstance(location.schema, Mapping):
                continue
            found[location.path] = location
            inside = self._references.inside
            pending += [*self._references.targets(location), *inside(location, ["allOf"])]
            for keyword in ("anyOf", "oneOf"):
                pending += islice(inside(location, [keyword]), 1)
        return list(found.values())


def _kinds(every: list[Location]) -> list[str]:
    """Return the types that are named, null last."""
    named: dict[str, None] = {}
    for each in every:
        kinds = each.schema.get("type")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        named |= dict.fromkeys(kinds if isinstance(kinds, list) else ())
        named |= {"object": None} if "properties" in each.schema and not kinds else {}
        named |= {"array": None} if "items" in each.schema and not kinds else {}
    return sorted(named, key=lambda kind: kind == "null")


def _literals(every: list[Location], kinds: list[str]) -> Iterator[Any]:
    """Yield values that would be typical, the best first; an empty default shows nothing."""
    for each in every:
        for keyword in ("const", "examples", "example", "default", "enum"):
            if keyword in each.schema:
                value = each.schema[keyword]
                is_list = keyword in ("examples", "enum") and isinstance(value, list)
                values = value if is_list else [value]
                yield from values if keyword != "default" else filter(None, values)
    for each in every:
        if each.schema.get("format") in _TEXTS:
            yield _TEXTS[each.schema["format"]]
    for kind in kinds:
        yield from _SCALARS.get(kind, ())
