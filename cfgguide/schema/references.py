"""The locations of the schemas within a JSON Schema, and the targets of their references.

In: a schema as a value. Out: a :class:`Location` for each schema in it: its base URI, its dialect,
its path, and the resources through which it was reached, on which ``$dynamicRef`` depends. Nothing
is fetched: a reference to a document that was not given is an error. The metaschemas are known.

Source: JSON Schema Core 2020-12, sections 8.2 and 9.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from cfgguide.base.limits import check_step
from cfgguide.errors import SchemaError, shown

_DIALECTS = {
    "json-schema.org/draft-04/schema": "4",
    "json-schema.org/draft-06/schema": "6",
    "json-schema.org/draft-07/schema": "7",
    "json-schema.org/draft/2019-09/schema": "2019-09",
    "json-schema.org/draft/2020-12/schema": "2020-12",
    "json-schema.org/schema": "2020-12",
}
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_TOO_OLD = "json-schema.org/draft-0"
LATEST = "2020-12"
UNSAID = "any"  # the dialect of a schema that says none: the latest, with keywords of all others
NO_SIBLINGS = frozenset("467")  # dialects in which $ref stands alone
OLD_ITEMS = frozenset(["4", "6", "7", "2019-09"])  # in which items may be an array
WRITTEN_WHOLE = frozenset("4")  # in which 1.0 is not an integer
MAX_DEPTH = 300  # of nested schemas
_MAX_INDEX_DIGITS = 10

_SETTING = frozenset(["$schema", "id", "$id"])  # keywords that say where and what a schema is
_SINGLE = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if"),
    *("items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_MAPPINGS = (
    *("$defs", "definitions", "dependencies", "dependentSchemas"),
    *("patternProperties", "properties"),
)
_WITH_SCHEMAS = frozenset([*_SINGLE, *_LISTS, *_MAPPINGS])


class Location(NamedTuple):
    """A schema and where it is.

    Attributes
    ----------
    schema : object
        The schema itself.
    base : str
        The URI of the resource that it belongs to.
    path : str
        A JSON pointer from the root; after a reference, that of its target.
    dialect : str
        "4", "6", "7", "2019-09", "2020-12", or `UNSAID`.
    scope : tuple of str
        The resources that lead here, the outermost first; empty if no reference is dynamic.
    """

    schema: Any
    base: str
    path: str
    dialect: str
    scope: tuple[str, ...] = ()


def _ignore(*_: object) -> None:
    """Tell nobody: whoever has read the schema before was told."""


class References:
    """All locations that a reference may name: of one schema, and of others that are given.

    Parameters
    ----------
    schema : object
        The schema.
    registry : mapping of str to object
        Other documents by their URIs; each is read when a reference names it.
    note : callable, optional
        Called with the path of a reference that is read otherwise than it says, and how.
    warn : callable, optional
        Called with what to tell the user, if the dialect is unknown and read as the latest.

    Raises
    ------
    SchemaError
        If the schema is of an older dialect, or is nested too deeply.
    """

    def __init__(
        self,
        schema: Any,
        registry: Mapping[str, Any] = MappingProxyType({}),
        *,
        note: Callable[[str, str], None] = _ignore,
        warn: Callable[[str], None] = _ignore,
    ) -> None:
        self._note = note
        self._warn = warn
        self._registry = {_split("", uri)[0]: document for uri, document in registry.items()}
        self._resources: dict[str, Location] = {}
        self._anchors: dict[tuple[str, str], Location] = {}
        self._dynamic: set[tuple[str, str]] = set()
        self._recursive: set[str] = set()
        self.root = self._opened(Location(schema, "", "", UNSAID))
        self._resources.setdefault("", self.root)
        self._register(self.root, 0)
        self._has_scope = bool(self._dynamic or self._recursive)

    def _opened(self, location: Location) -> Location:
        """Return a location with the base URI and dialect that its own schema sets."""
        schema, dialect = location.schema, location.dialect
        if not isinstance(schema, dict | Mapping) or _SETTING.isdisjoint(schema):
            return location
        if isinstance(schema.get("$schema"), str):
            dialect = self._dialect(schema["$schema"], location.path or "/")
        name = schema.get("id" if dialect == "4" else "$id")
        if name is None and not location.path and not location.base:
            name = schema.get("id")  # of a draft that is not said
        if isinstance(name, str) and not (dialect in NO_SIBLINGS and "$ref" in schema):
            uri, fragment = _split(location.base, name)
            if fragment:
                self._anchors.setdefault((uri, fragment), location)
            return location._replace(base=uri, dialect=dialect)
        return location._replace(dialect=dialect)

    def _dialect(self, name: str, path: str) -> str:
        """Return the dialect of a metaschema."""
        uri = name.partition("://")[2].rstrip("#/?")
        if uri in _DIALECTS:
            return _DIALECTS[uri]
        problem = (
            f"at {path}: $schema is {shown(name)}; the known ones are those of draft-04, -06, -07,"
        )
        own = self._registry.get(_split("", name)[0])
        vocabularies = own.get("$vocabulary") if isinstance(own, Mapping) else None
        if uri.startswith(_TOO_OLD) or isinstance(vocabularies, Mapping):
            raise SchemaError(f"{problem} 2019-09 and 2020-12")
        if uri:
            self._warn(f"{problem} 2019-09 and 2020-12; it is read as {LATEST}")
        return UNSAID

    def _register(self, location: Location, depth: int) -> None:
        check_step()
        if depth > MAX_DEPTH:
            raise SchemaError(f"schemas are nested more than {MAX_DEPTH} deep; use $ref")
        schema = location.schema
        if not isinstance(schema, Mapping):
            return
        is_root = self._resources.setdefault(location.base, location) is location
        if is_root and schema.get("$recursiveAnchor") is True:
            self._recursive.add(location.base)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                self._anchors.setdefault((location.base, schema[keyword]), location)
                if keyword == "$dynamicAnchor":
                    self._dynamic.add((location.base, schema[keyword]))
        for steps in steps_below(schema):
            self._register(self.below(location, *steps), depth + 1)

    def below(self, location: Location, *steps: str | int) -> Location:
        """Return the location of a schema inside another one."""
        schema, base, path, dialect, scope = location
        for step in steps:
            schema = schema[step]
            path = f"{path}/{step}" if isinstance(step, int) else f"{path}/{_escaped(step)}"
        return self._opened(Location(schema, base, path, dialect, scope))

    def inside(self, location: Location, keywords: Iterable[str]) -> Iterator[Location]:
        """Yield the locations of the schemas under some keywords of one, in their order."""
        for steps in steps_below(location.schema, keywords):
            yield self.below(location, *steps)

    def constant(self, location: Location, schema: Any) -> Location:
        """Return a location for a schema that stands for a value."""
        return Location(schema, "constant:", location.path, LATEST)

    def entered(self, location: Location) -> Location:
        """Return a location with its resource in the scope."""
        if not self._has_scope:
            return location._replace(scope=()) if location.scope else location
        if location.base in location.scope:
            return location
        return location._replace(scope=(*location.scope, location.base))

    def target(self, location: Location, keyword: str) -> Location:
        """Return the location that the reference of a schema leads to.

        Raises
        ------
        SchemaError
            If the schema has nothing of that name.
        """
        reference = location.schema[keyword]
        where = f"at {location.path}/{keyword}"
        if not isinstance(reference, str):
            raise SchemaError(f"{where}: a reference is a URI, as a string")
        uri, fragment = _split(location.base, reference)
        try:
            found = self._target(uri, fragment, where, reference)
        except SchemaError:  # there is nothing of that name
            # Only a fragment alone may have been meant from the root; any other reference names its
            # document.
            if not reference.startswith("#") or uri == self.root.base:
                raise
            found = self._target_from_root(location, keyword, fragment)
        if keyword == "$dynamicRef" and (found.base, fragment) in self._dynamic:
            outer = (base for base in location.scope if (base, fragment) in self._dynamic)
            found = self._anchors[next(outer, found.base), fragment]
        if keyword == "$recursiveRef" and found.base in self._recursive:
            outer = (base for base in location.scope if base in self._recursive)
            found = self._resources[next(outer, found.base)]
        return found._replace(scope=location.scope)

    def targets(self, location: Location) -> Iterator[Location]:
        """Yield what the references of a schema lead to, as far as they lead to anything."""
        for keyword in REFERENCES:
            if keyword in location.schema:
                try:
                    target = self.target(location, keyword)
                except SchemaError:  # of a document that is not there
                    continue
                yield target

    def _target_from_root(self, location: Location, keyword: str, fragment: str) -> Location:
        """Return what a fragment leads to in the whole schema, as its authors often mean.

        By the standard it is looked up in the part that has an ``$id`` of its own.
        """
        reference, path = location.schema[keyword], f"{location.path}/{keyword}"
        found = self._target(self.root.base, fragment, f"at {path}", reference)
        self._note(
            path,
            f"{shown(reference)} leads nowhere inside the part with the id "
            f"{shown(location.base)}; it is looked up from the root",
        )
        return found

    def _target(self, uri: str, fragment: str, where: str, reference: str) -> Location:
        document = self._registry.get(uri)
        if document is None and "json-schema.org/" in uri:
            document = _metaschemas().get(uri.partition("://")[2])
        # A document is read when the first reference leads there: most are never asked for.
        if uri not in self._resources and document is not None:
            opened = self._opened(Location(document, uri, f"/{_escaped(uri)}", self.root.dialect))
            self._resources[uri] = opened
            self._register(opened, 0)
            # It may have the first dynamic anchors; from now on the way to a schema matters.
            self._has_scope = bool(self._dynamic or self._recursive)
        if uri not in self._resources:
            raise SchemaError(
                f"{where}: {shown(reference)} is not in this schema, and nothing is fetched; give "
                f"the document as registry={{{shown(uri)}: ...}}, or put it under $defs with its "
                "$id"
            )
        found = self._resources[uri]
        fragment = unquote(fragment)
        if not fragment:
            return found
        if not fragment.startswith("/"):
            if (uri, fragment) not in self._anchors:
                raise SchemaError(
                    f"{where}: there is no anchor {shown(fragment)} for {shown(reference)}"
                )
            return self._anchors[uri, fragment]
        for step in fragment[1:].split("/"):
            # In this order, or `~01`, which is `~1`, would become a slash (RFC 6901, section 4).
            name = step.replace("~1", "/").replace("~0", "~")
            inner = found.schema
            if isinstance(inner, list) and _is_index(name) and int(name) < len(inner):
                found = self.below(found, int(name))
            elif isinstance(inner, Mapping) and name in inner:
                found = self.below(found, name)
            else:
                raise SchemaError(
                    f"{where}: {shown(reference)} leads nowhere: there is no {shown(name)}"
                )
        return found


class Alike:
    """What is equal for equal schemas, and for no others: each part is looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Hashable, Any]] = {}  # by id; holds schemas
        self._numbers: dict[tuple[Hashable, ...], tuple[int]] = {}  # by content

    def key(self, schema: Any) -> Hashable:
        """Return it."""
        check_step()
        if isinstance(schema, str):
            return schema
        known = self._known.get(id(schema))
        if known is not None:
            return known[0]
        content: tuple[Hashable, ...]
        if isinstance(schema, dict | Mapping):
            content = (*schema, *map(self.key, schema.values()))
        elif isinstance(schema, list | tuple):
            content = (list, *map(self.key, schema))
        else:
            return type(schema), str(schema)  # 1, 1.0 and True are equal, but not the same
        number = self._numbers.setdefault(content, (len(self._numbers),))
        self._known[id(schema)] = number, schema
        return number


@cache
def _metaschemas() -> dict[str, Any]:
    """Return the metaschemas of all drafts and their parts, by their URIs without a scheme."""
    text = resources.files("cfgguide.schema").joinpath("metaschemas.json").read_text("utf-8")
    found = {uri.partition("://")[2]: document for uri, document in json.loads(text).items()}
    found["json-schema.org/schema"] = found[f"json-schema.org/draft/{LATEST}/schema"]
    return found


def _escaped(step: str) -> str:
    """Return a step of a JSON pointer."""
    return step.replace("~", "~0").replace("/", "~1") if "~" in step or "/" in step else step


def _is_index(name: str) -> bool:
    """Return whether a step of a JSON pointer may be the index of an item."""
    return name.isascii() and name.isdigit() and len(name) < _MAX_INDEX_DIGITS


def _split(base: str, reference: str) -> tuple[str, str]:
    """Return what a reference means, as a URI and its fragment."""
    try:
        uri, fragment = urldefrag(_joined(base, reference))
    except ValueError as error:  # of an address in brackets that is none
        raise SchemaError(f"{shown(reference)} is not a URI: {error}") from None
    return uri, fragment


def _joined(base: str, reference: str) -> str:
    """Return a reference resolved against a base URI; of a URN, only fragments are relative."""
    return base + reference if reference.startswith("#") else urljoin(base, reference)


def steps_below(
    schema: Mapping[str, Any], keywords: Iterable[str] | None = None
) -> Iterator[tuple[str | int, ...]]:
    """Yield the ways from a schema to those directly inside of it; under some keywords, or all."""
    for keyword in schema if keywords is None else keywords:
        check_step()
        if keyword not in _WITH_SCHEMAS or keyword not in schema:
            continue
        value = schema[keyword]
        is_mapping = isinstance(value, dict | Mapping)
        if keyword in _SINGLE and (is_mapping or isinstance(value, bool)):
            yield (keyword,)
        elif keyword in _LISTS and isinstance(value, list):
            yield from ((keyword, number) for number in range(len(value)))
        elif keyword in _MAPPINGS and is_mapping:
            for name, inner in value.items():
                if isinstance(inner, dict | Mapping | bool):
                    yield (keyword, name)
