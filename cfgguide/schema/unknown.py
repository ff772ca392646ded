"""What a model may leave open: each value may also be null, or a text that says so.

In: a schema, a Pydantic model, a choice or a pattern. Out: the same, with null beside each value
that is not an object. A model that has to fill a field invents what it does not know. ::

    {"properties": {"age": {"type": "integer"}}}
    {"properties": {"age": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}
"""

from __future__ import annotations

import copy
import re
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, overload

from cfgguide.automata.rewrite import escaped
from cfgguide.errors import GrammarError, SchemaError, shown
from cfgguide.grammar.combinators.parts import Composed
from cfgguide.grammar.combinators.patterns import checked, choice, grammar_of, regex
from cfgguide.grammar.rules.facts import not_known
from cfgguide.schema.references import Location, References, steps_below

T = TypeVar("T")
UNKNOWN = "unknown"  # of a choice or a pattern
#: Where a schema has conditions, and no part of the value itself.
_CONDITIONS = frozenset(["if", "not", "contains", "propertyNames", "contentSchema"])
_KEPT_OUTSIDE = frozenset(["$schema", "$id", "id", "$defs", "definitions", "title", "description"])
_OBJECTS = frozenset(["properties", "patternProperties", "additionalProperties"])


class OrUnknown(Composed):
    """The texts of a grammar, and one text more, whose value is None."""

    unknown: str

    def __init__(self, known: Composed, unknown: str) -> None:
        super().__init__(known.part, known._write)
        object.__setattr__(self, "unknown", unknown)

    def parse(self, text: str) -> str | None:
        """Return the text, or None."""
        return None if text == self.unknown else text


@overload
def or_unknown(
    what: type[T], fields: Iterable[str] | None = None, value: str | None = None
) -> type[T]: ...


@overload
def or_unknown(
    what: Mapping[str, Any], fields: Iterable[str] | None = None, value: str | None = None
) -> dict[str, Any]: ...


@overload
def or_unknown(
    what: re.Pattern[str] | list[str] | tuple[str, ...],
    fields: None = None,
    value: str | None = None,
) -> OrUnknown: ...


def or_unknown(what: Any, fields: Iterable[str] | None = None, value: str | None = None) -> Any:
    """Return what to write where the model may say that it does not know.

    Parameters
    ----------
    what : Pydantic model or other type, mapping, compiled pattern, or list of texts
        A model and a schema of objects: each of their values that is not an object may be null, as
        may those of objects inside, in arrays too. Any other type and schema as a whole. The model
        that is returned is a subclass, with ``X | None`` in the place of ``X``; its validators see
        None, too.
    fields : iterable of str, optional
        The names of those that may be unknown, wherever they are, objects too; by default all that
        are not objects.
    value : str, optional
        What is written instead, if not null. In a choice and a pattern it is ``"unknown"`` by
        default, and its value is None.

    Raises
    ------
    SchemaError
        If there is no such field.
    GrammarError
        If `what` is something else, or has a text that means unknown already.

    Examples
    --------
    >>> import cfgguide
    >>> schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
    >>> print(cfgguide.describe(or_unknown(schema)))
    { age?: integer | null }
    >>> or_unknown(["cat", "dog"]).parse("unknown") is None
    True
    """
    if value is not None and not isinstance(value, str):
        raise GrammarError(f"value is {shown(value)}; it is a text, or None for null")
    if isinstance(fields, str):
        fields = [fields]
    wanted = _Wanted(fields)
    if isinstance(what, Mapping):
        found: Any = _SchemaRewriter(what, wanted, value).schema()
    elif isinstance(what, re.Pattern | list | tuple):
        if fields is not None:
            raise SchemaError("a choice and a pattern have no fields; leave `fields` out")
        return _of_texts(what, UNKNOWN if value is None else value)
    elif isinstance(what, type) or typing.get_origin(what):
        found = _TypeRewriter(wanted, value).whole(what)
    else:
        raise GrammarError(
            f"{shown(what)} cannot be left open; give a type, a schema as a dict, re.compile(...) "
            "or a list of texts"
        )
    wanted.check()
    return found


def _of_texts(what: Any, unknown: str) -> OrUnknown:
    """Return the grammar of a choice or a pattern with one text more."""
    if isinstance(what, re.Pattern):
        is_there = what.fullmatch(checked(unknown)) is not None
        known = regex(what)
    else:
        is_there = unknown in what
        known = choice(what)
    if is_there:
        raise GrammarError(f"{shown(unknown)} means something already; give another value=...")
    part: Any = known.part
    patterns = (*part.patterns, escaped(checked(unknown)))
    part = replace(part, patterns=patterns, text=None, prefers_longest=None)
    return OrUnknown(grammar_of(part), unknown)


class _Wanted:
    """The fields that may be unknown; None stands for all."""

    def __init__(self, fields: Iterable[str] | None) -> None:
        self._fields = None if fields is None else dict.fromkeys(fields)
        self._met: dict[str, None] = {}

    def has(self, name: str, *, is_leaf: bool = True) -> bool:
        """Return whether a field may be unknown; objects only if they are named."""
        self._met[name] = None
        return is_leaf if self._fields is None else name in self._fields

    def check(self) -> None:
        """Raise an error if a field was not met."""
        for name in self._fields or ():
            if name not in self._met:
                raise SchemaError(not_known(f"there is no field {shown(name)}", name, self._met))


class _SchemaRewriter:
    """Makes a schema whose values may be unknown."""

    def __init__(self, schema: Mapping[str, Any], wanted: _Wanted, value: str | None) -> None:
        self._references = References(schema)
        self._wanted, self._unknown = (
            wanted,
            {"type": "null"} if value is None else {"const": value},
        )

    def schema(self) -> dict[str, Any]:
        """Return the schema."""
        root = self._references.root
        made = self._inside(root)
        if self._is_object(root) or not self._wanted.has(""):
            return made
        outside = {name: made[name] for name in made if name in _KEPT_OUTSIDE}
        inside = {name: made[name] for name in made if name not in _KEPT_OUTSIDE}
        return {**outside, **self._or_unknown(inside)}

    def _inside(self, location: Location) -> dict[str, Any]:
        """Return a schema with what is open inside of it."""
        schema = location.schema
        made = {
            name: copy.copy(each) if isinstance(each, dict | list) else each
            for name, each in schema.items()
        }
        for steps in steps_below(schema):
            below = self._references.below(location, *steps)
            if steps[0] in _CONDITIONS or not isinstance(below.schema, Mapping):
                continue
            found: Any = self._inside(below)
            if steps[0] == "properties":
                is_leaf = not self._is_object(below) and not _is_known(found)
                if self._wanted.has(str(steps[1]), is_leaf=is_leaf):
                    found = self._or_unknown(found)
            whole: Any = made if len(steps) == 1 else made[str(steps[0])]
            whole[steps[-1]] = found
        return made

    def _or_unknown(self, schema: dict[str, Any]) -> dict[str, Any]:
        options = schema.get("anyOf", [])
        if self._unknown in options:
            return schema
        return {
            "anyOf": [*options, self._unknown]
            if {*schema} == {"anyOf"}
            else [schema, self._unknown]
        }

    def _is_object(self, location: Location) -> bool:
        """Return whether a value may be an object with fields of its own."""
        seen: set[str] = set()
        pending = [location]
        while pending:
            location = pending.pop()
            schema = location.schema
            if location.path in seen or not isinstance(schema, Mapping):
                continue
            seen.add(location.path)
            if "object" in (schema.get("type") or ()) or not _OBJECTS.isdisjoint(schema):
                return True
            pending += self._references.targets(location)
            pending += self._references.inside(location, ["allOf", "anyOf", "oneOf"])
        return False


def _is_known(schema: Mapping[str, Any]) -> bool:
    """Return whether a value says nothing, since there is only one."""
    return "const" in schema or len(schema.get("enum", (1, 2))) == 1


class _TypeRewriter:
    """Makes types whose values may be unknown."""

    def __init__(self, wanted: _Wanted, value: str | None) -> None:
        self._wanted = wanted
        self._unknown: Any = None if value is None else typing.Literal[value]
        self._made: dict[type, Any] = {}
        self._names: dict[str, Any] = {}  # of models that contain themselves

    def whole(self, what: Any) -> Any:
        """Return a type."""
        made = self._inside(what)
        for each in self._names.values():
            each.model_rebuild(force=True, _types_namespace=self._names)
        if _models_in(what):
            return made
        return made if not self._wanted.has("") else made | self._unknown

    def _inside(self, annotation: Any) -> Any:
        """Return a type with other models in it."""
        if _is_model(annotation):
            return self._model(annotation)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if not _models_in(annotation):
            return annotation
        if origin is typing.Annotated:
            inner, *metadata = arguments
            return typing.Annotated[(self._inside(inner), *metadata)]
        inside = tuple(map(self._inside, arguments))
        if origin in (typing.Union, types.UnionType):
            return typing.Union[inside]  # noqa: UP007  # of as many as there are
        return origin[inside]

    def _model(self, model: Any) -> Any:
        from pydantic import create_model

        if model in self._made:
            return self._made[model]
        name = f"{model.__name__}_or_unknown{len(self._made)}"
        self._made[model] = typing.ForwardRef(name)
        fields: dict[str, Any] = {}
        for each, info in model.model_fields.items():
            annotation, found = self._inside(info.annotation), copy.copy(info)
            is_leaf = not _is_object(info.annotation) and len(_literals(info.annotation)) != 1
            if self._wanted.has(each, is_leaf=is_leaf):
                if info.metadata:
                    annotation = typing.Annotated[(annotation, *info.metadata)]
                found.metadata = []
                annotation = typing.Union[annotation, self._unknown]  # noqa: UP007
            found.annotation = annotation
            fields[each] = (annotation, found)
        made = create_model(model.__name__, __base__=model, __module__=model.__module__, **fields)
        made.__doc__ = model.__doc__  # `getdoc` would have that of `BaseModel` for none
        self._made[model] = self._names[name] = made
        return made


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and hasattr(annotation, "model_fields")


def _models_in(annotation: Any) -> bool:
    """Return whether a type has a model in it."""
    return _is_model(annotation) or any(map(_models_in, typing.get_args(annotation)))


def _is_object(annotation: Any) -> bool:
    """Return whether a value may be an object with fields of its own."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Annotated):
        return any(map(_is_object, typing.get_args(annotation)))
    return _is_model(annotation)


def _literals(annotation: Any) -> tuple[Any, ...]:
    is_literal = typing.get_origin(annotation) is typing.Literal
    return typing.get_args(annotation) if is_literal else ()
