"""Where the schemas within a JSON Schema stand, and what their references lead to.

In: a schema as a value. Out: a :class:`Place` for each schema in it: its base URI, its dialect, its
path, and through which resources it was reached, on which ``$dynamicRef`` depends. Nothing is
fetched: a reference that leads out of the schema is an error.

Source: JSON Schema Core 2020-12, sections 8.2 and 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from cfgguide.errors import SchemaError

_DIALECTS = {
    "json-schema.org/draft-04/schema": "4",
    "json-schema.org/draft-06/schema": "6",
    "json-schema.org/draft-07/schema": "7",
    "json-schema.org/draft/2019-09/schema": "2019-09",
    "json-schema.org/draft/2020-12/schema": "2020-12",
}
LATEST = "2020-12"
NO_SIBLINGS = frozenset("467")  # dialects in which $ref stands alone
OLD_ITEMS = frozenset(["4", "6", "7", "2019-09"])  # in which items may be an array
DEEPEST = 300  # nested schemas

_SINGLE = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if"),
    *("items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_MAPPINGS = (
    *("$defs", "definitions", "dependencies", "dependentSchemas"),
    *("patternProperties", "properties"),
)


@dataclass(frozen=True)
class Place:
    """A schema and where it stands.

    Attributes
    ----------
    schema : object
        The schema itself.
    base : str
        The URI of the resource that it belongs to.
    path : str
        From the root, as a JSON pointer; behind a reference, of what that leads to.
    dialect : str
        "4", "6", "7", "2019-09" or "2020-12".
    scope : tuple of str
        The resources that lead here, the outermost first; empty where nothing depends on it.
    """

    schema: Any
    base: str
    path: str
    dialect: str
    scope: tuple[str, ...] = ()


class References:
    """All places of one schema that a reference may name.

    Raises
    ------
    SchemaError
        If the schema names a dialect that is not known, or is nested too deeply.
    """

    def __init__(self, schema: Any) -> None:
        self._resources: dict[str, Place] = {}
        self._anchors: dict[tuple[str, str], Place] = {}
        self._dynamic: set[tuple[str, str]] = set()
        self._recursive: set[str] = set()
        self.root = self._opened(Place(schema, "", "", LATEST))
        self._resources.setdefault("", self.root)
        self._register(self.root, 0)
        self._has_scope = bool(self._dynamic or self._recursive)

    def _opened(self, place: Place) -> Place:
        """Return a place as its own identifier and dialect have it."""
        schema = place.schema
        if not isinstance(schema, Mapping):
            return place
        dialect = place.dialect
        if isinstance(schema.get("$schema"), str):
            uri = schema["$schema"].partition("://")[2].rstrip("#")
            if uri not in _DIALECTS:
                raise SchemaError(
                    f"at {place.path or '/'}: $schema is {schema['$schema']!r}; known "
                    "are those of draft-04, -06, -07, 2019-09 or 2020-12"
                )
            dialect = _DIALECTS[uri]
        name = schema.get("id" if dialect == "4" else "$id")
        if isinstance(name, str) and not (dialect in NO_SIBLINGS and "$ref" in schema):
            uri, fragment = urldefrag(_joined(place.base, name))
            if fragment and dialect in NO_SIBLINGS:
                self._anchors.setdefault((uri, fragment), place)
            return replace(place, base=uri, dialect=dialect)
        return replace(place, dialect=dialect)

    def _register(self, place: Place, depth: int) -> None:
        if depth > DEEPEST:
            raise SchemaError(f"schemas are nested more than {DEEPEST} deep; use $ref")
        schema = place.schema
        if not isinstance(schema, Mapping):
            return
        is_root = self._resources.setdefault(place.base, place) is place
        if is_root and schema.get("$recursiveAnchor") is True:
            self._recursive.add(place.base)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                self._anchors.setdefault((place.base, schema[keyword]), place)
                if keyword == "$dynamicAnchor":
                    self._dynamic.add((place.base, schema[keyword]))
        for steps in _steps_below(schema):
            self._register(self.below(place, *steps), depth + 1)

    def below(self, place: Place, *steps: str | int) -> Place:
        """Return the place of a schema within another one."""
        schema, path = place.schema, place.path
        for step in steps:
            schema = schema[step]
            path += "/" + str(step).replace("~", "~0").replace("/", "~1")
        return self._opened(replace(place, schema=schema, path=path))

    def constant(self, place: Place, schema: Any) -> Place:
        """Return a place for a schema that stands for a value."""
        return Place(schema, "constant:", place.path, LATEST)

    def entered(self, place: Place) -> Place:
        """Return a place with its resource in the scope."""
        if not self._has_scope:
            return replace(place, scope=())
        if place.base in place.scope:
            return place
        return replace(place, scope=(*place.scope, place.base))

    def target(self, place: Place, keyword: str) -> Place:
        """Return what the reference of a schema leads to.

        Raises
        ------
        SchemaError
            If there is nothing of that name within the schema.
        """
        reference = place.schema[keyword]
        where = f"at {place.path}/{keyword}"
        if not isinstance(reference, str):
            raise SchemaError(f"{where}: a reference is a URI, as a string")
        uri, fragment = urldefrag(_joined(place.base, reference))
        found = self._target(uri, fragment, where, reference)
        if keyword == "$dynamicRef" and (found.base, fragment) in self._dynamic:
            outer = (base for base in place.scope if (base, fragment) in self._dynamic)
            found = self._anchors[next(outer, found.base), fragment]
        if keyword == "$recursiveRef" and found.base in self._recursive:
            outer = (base for base in place.scope if base in self._recursive)
            found = self._resources[next(outer, found.base)]
        return replace(found, scope=place.scope)

    def _target(self, uri: str, fragment: str, where: str, reference: str) -> Place:
        if uri not in self._resources:
            raise SchemaError(
                f"{where}: {reference!r} is not in this schema, and nothing is fetched; put the "
                "schema under $defs with its $id"
            )
        found = self._resources[uri]
        fragment = unquote(fragment)
        if not fragment:
            return found
        if not fragment.startswith("/"):
            if (uri, fragment) not in self._anchors:
                raise SchemaError(f"{where}: there is no anchor {fragment!r} for {reference!r}")
            return self._anchors[uri, fragment]
        for step in fragment[1:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            inner = found.schema
            if isinstance(inner, list) and name.isdigit() and int(name) < len(inner):
                found = self.below(found, int(name))
            elif isinstance(inner, Mapping) and name in inner:
                found = self.below(found, name)
            else:
                raise SchemaError(f"{where}: {reference!r} leads nowhere: there is no {name!r}")
        return found


def _joined(base: str, reference: str) -> str:
    """Return a reference relative to a base URI; that of a URN has fragments only."""
    return base + reference if reference.startswith("#") else urljoin(base, reference)


def _steps_below(schema: Mapping[str, Any]) -> Iterator[tuple[str | int, ...]]:
    for keyword in _SINGLE:
        if isinstance(schema.get(keyword), Mapping | bool):
            yield (keyword,)
    for keyword in _LISTS:
        if isinstance(schema.get(keyword), list):
            yield from ((keyword, number) for number in range(len(schema[keyword])))
    for keyword in _MAPPINGS:
        if isinstance(schema.get(keyword), Mapping):
            for name, value in schema[keyword].items():
                if isinstance(value, Mapping | bool):
                    yield (keyword, name)
