"""A schema without what neither asks for anything nor tells anything.

In: a schema. Out: JSON without white space, ``$schema``, ``$id``, comments, titles that repeat the
name of a property, and definitions that nothing uses. It allows the same values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cfgguide.automata.pattern_notations import without_head
from cfgguide.base.limits import check_step
from cfgguide.schema.keywords import OWN_KEYWORDS
from cfgguide.schema.references import REFERENCES, Location, References, steps_below
from cfgguide.schema.typescript import words_of

_SILENT = OWN_KEYWORDS.union(["$schema", "$comment"])
_DEFINITIONS = ("$defs", "definitions")


def minified(schema: Any, registry: Mapping[str, Any]) -> str:
    """Return a schema as JSON that is as short as it can be without saying anything else.

    Parameters
    ----------
    schema : mapping or bool
        The schema.
    registry : mapping of str to object
        Other documents by their URIs.

    Examples
    --------
    >>> minified({"$schema": "x:", "type": "object", "$defs": {"a": {}}, "title": "A box"}, {})
    '{"type":"object","title":"A box"}'
    """
    return json.dumps(
        _Minifier(schema, registry).schema(), ensure_ascii=False, separators=(",", ":")
    )


class _Minifier:
    """Makes one schema shorter."""

    def __init__(self, schema: Any, registry: Mapping[str, Any]) -> None:
        self._references = References(schema, registry)
        self._reached: dict[str, None] = {}
        self._is_called = False  # whether a reference has more than a fragment
        self._reach(self._references.root)

    def _reach(self, location: Location) -> None:
        """Add a schema, and all that it uses, to those that are kept."""
        check_step()
        if location.path in self._reached or not isinstance(location.schema, Mapping):
            return
        self._reached[location.path] = None
        references = [location.schema.get(keyword, "#") for keyword in REFERENCES]
        self._is_called |= not all(str(each).startswith("#") for each in references)
        inside = [each for each in location.schema if each not in _DEFINITIONS]
        for each in self._references.targets(location):
            self._reach(each)
        for each in self._references.inside(location, inside):
            self._reach(each)

    def schema(self) -> Any:
        """Return the schema."""
        root = self._references.root
        made = self._shorter(root)
        if isinstance(made, dict) and not self._is_called:
            made = {k: v for k, v in made.items() if k not in ("$id", "id")}
        return made

    def _shorter(self, location: Location) -> Any:
        schema = location.schema
        if not isinstance(schema, Mapping):
            return schema
        inside = dict.fromkeys(
            steps
            for steps in steps_below(schema)
            if steps[0] not in _DEFINITIONS or self._is_used(location, *steps)
        )
        made: dict[str, Any] = {}
        for keyword, value in schema.items():
            if keyword in _SILENT or (keyword == "title" and self._is_told(location, value)):
                continue
            made[keyword] = value
            if keyword in _DEFINITIONS and isinstance(value, Mapping):
                made[keyword] = {name: value[name] for name in value if (keyword, name) in inside}
                if not made[keyword]:
                    del made[keyword]
            elif keyword == "pattern" and isinstance(value, str):
                made[keyword] = without_head(value)
        for steps in inside:
            below = self._shorter(self._references.below(location, *steps))
            if len(steps) == 1:
                made[str(steps[0])] = below
                continue
            keyword, name = str(steps[0]), steps[1]
            if made[keyword] is schema[keyword]:
                made[keyword] = schema[keyword].copy()
            made[keyword][name] = below
        if isinstance(made.get("patternProperties"), dict):
            headed = made["patternProperties"]
            made["patternProperties"] = {without_head(each): headed[each] for each in headed}
        return made

    def _is_used(self, location: Location, *steps: str | int) -> bool:
        """Return whether a definition, or something inside of it, is referred to."""
        path = self._references.below(location, *steps).path
        return path in self._reached or any(each.startswith(f"{path}/") for each in self._reached)

    def _is_told(self, location: Location, title: object) -> bool:
        """Return whether the name of a property tells what its title does."""
        name = location.path.rpartition("/")[2]
        return isinstance(title, str) and words_of(title) <= words_of(name)
