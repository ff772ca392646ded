"""The value of a JSON text that is being written, as a type that Pydantic knows.

In: the core schema of a type, and the text piece by piece. Out: a value whose whole parts are what
Pydantic makes of them, each validated once, from its own piece of the text; around them an instance
that is not validated, since it is not whole. Of a model or a dataclass the fields that have not
come are None, of a ``TypedDict`` they are absent.

What a validator might still change is not shown before it is whole: a string with a format or a
function behind it, a set's item, an alternative of a union while there are several. A validator of
a whole model runs when the model is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from cfgguide.engine.machine.partial import Partial
from cfgguide.engine.machine.protocol import AnyMachine
from cfgguide.schema.json_reading import NOTHING, Container, JsonReading, is_listed

_ARRAYS = ("list", "tuple", "set", "frozenset")
_CHANGES = ("strip_whitespace", "to_lower", "to_upper")  # of strings
_CONFIG_CHANGES = ("str_strip_whitespace", "str_to_lower", "str_to_upper")
_ANY = {"type": "any"}
_NO_CONFIG: dict[str, Any] = {}
_OBJECTS = ("model", "dataclass", "typed-dict", "dict")
_FIELDS = {"model": "model-fields", "dataclass": "dataclass-args"}
#: Beside a string these are never it: Pydantic prefers the type that fits exactly.
_NO_STRINGS = frozenset(["int", "float", "bool", "none", "literal", *_ARRAYS, *_OBJECTS])
#: No objects or arrays.
_SCALARS = frozenset(["str", "int", "float", "bool", "none", "literal", "enum", "bytes", "decimal"])
_SCALARS |= frozenset(["date", "time", "datetime", "timedelta", "uuid", "url", "multi-host-url"])


@dataclass(frozen=True)
class Shape:
    """A part of a type.

    Attributes
    ----------
    schema : mapping
        Its core schema.
    definitions : mapping of str to mapping
        What others refer to.
    config : mapping
        That of the model it is in.
    known : dict
        The shapes of the whole type that were made before.
    """

    schema: Mapping[str, Any]
    definitions: Mapping[str, Mapping[str, Any]]
    config: Mapping[str, Any]
    known: dict[tuple[int, int, int], Shape] = field(repr=False, compare=False)

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> Shape:
        """Return the shape of a whole type."""
        return cls(schema, {}, _NO_CONFIG, {})

    def at(self, schema: Mapping[str, Any], config: Mapping[str, Any] | None = None) -> Shape:
        """Return the shape of a part, with what is around its value."""
        config = self.config if config is None else config
        key = id(schema), id(self.definitions), id(config)
        if key not in self.known:
            self.known[key] = Shape(schema, self.definitions, config, self.known)
        return self.known[key]

    @cached_property
    def opened(self) -> Shape:
        """Without what is only around it, and changes nothing of a value that is there."""
        schema = self.schema
        kind = schema["type"]
        if kind == "definitions":
            known = {each["ref"]: each for each in schema["definitions"]}
            return replace(self, definitions={**self.definitions, **known}).under(schema["schema"])
        if kind == "definition-ref" and schema["schema_ref"] in self.definitions:
            return self.under(self.definitions[schema["schema_ref"]])
        if kind in ("nullable", "default"):
            return self.under(schema["schema"])
        if kind == "json-or-python":
            return self.under(schema["json_schema"])
        if kind == "function-after":
            inner = self.under(schema["schema"])
            return inner if inner.schema["type"] in _FIELDS else self
        return self

    def under(self, schema: Mapping[str, Any]) -> Shape:
        """Return the shape of a part."""
        return self.at(schema).opened

    @cached_property
    def _validator(self) -> Callable[[str], Any] | None:
        """What makes a value of its text; None if that takes more than the text."""
        from pydantic_core import SchemaError, SchemaValidator

        if _asks_for_more(self.schema):
            return None
        schema: Any = self.schema
        if self.definitions:
            definitions = list(self.definitions.values())
            schema = {"type": "definitions", "schema": schema, "definitions": definitions}
        config: Any = self.config
        try:
            return SchemaValidator(schema, config).validate_json
        except SchemaError:
            return None

    def value(self, text: str) -> Any:
        """Return the value of a whole text; `NOTHING` if it is refused, or more decides."""
        from pydantic_core import ValidationError

        if self._validator is None:
            return NOTHING
        try:
            return self._validator(text)
        except ValidationError:
            return NOTHING

    # -- parts that are open ----------------------------------------------------------------

    @property
    def takes_text(self) -> bool:
        """Whether a string's beginning is that of the value."""
        schema = self.schema
        if schema["type"] == "union":
            kinds = [choice.schema["type"] for choice in self._choices()]
            texts = [choice for choice in self._choices() if choice.schema["type"] == "str"]
            others = set(kinds) - {"str"} - _NO_STRINGS
            return len(texts) == 1 and not others and texts[0].takes_text
        is_changed = any(schema.get(name) for name in _CHANGES)
        is_changed = is_changed or any(self.config.get(name) for name in _CONFIG_CHANGES)
        return schema["type"] in ("str", "any") and not is_changed

    def _choices(self) -> Iterator[Shape]:
        choices = self.schema["choices"]
        for choice in choices.values() if isinstance(choices, Mapping) else choices:
            found = self.under(choice[0] if isinstance(choice, tuple) else choice)
            if found.schema["type"] == "union":
                yield from found._choices()
            else:
                yield found

    def chosen(self, container: Container) -> Shape | None:
        """Return the alternative that an open container is; None if several are left."""
        if self.schema["type"] == "tagged-union":
            choice = self._tagged(container.value)
            return None if choice is None else choice.chosen(container)
        if self.schema["type"] != "union":
            return self
        wrong = _ARRAYS if isinstance(container.value, dict) else _OBJECTS
        left = [each for each in self._choices() if each.schema["type"] not in _SCALARS]
        left = [each for each in left if each.schema["type"] not in wrong]
        return left[0] if len(left) == 1 else None

    def _tagged(self, members: object) -> Shape | None:
        """Return the alternative that an object's tag names, if that has come."""
        discriminator, choices = self.schema["discriminator"], self.schema["choices"]
        if not isinstance(members, dict) or not isinstance(discriminator, str):
            return None
        tag = members.get(discriminator)
        choice = choices.get(tag) if isinstance(tag, str | int) else None
        return self.under(choice) if isinstance(choice, Mapping) else None

    @cached_property
    def _members(self) -> dict[str, tuple[str, Shape]]:
        """The fields by the names that they have in a text, each with its own name."""
        config = self.schema.get("config") or _NO_CONFIG
        if self.schema["type"] == "typed-dict":
            config = config or self.config
        by_name = config.get("populate_by_name") or config.get("validate_by_name")
        found: dict[str, tuple[str, Shape]] = {}
        for name, given in self._fields:
            aliases = _aliases(given.get("validation_alias"))
            for alias in [*aliases, *([name] if by_name or not aliases else [])]:
                found.setdefault(alias, (name, self.at(given["schema"], config)))
        return found

    @cached_property
    def _fields(self) -> list[tuple[str, Mapping[str, Any]]]:
        inner = self.schema["schema"] if self.schema["type"] in _FIELDS else self.schema
        fields: Any = inner["fields"]
        if isinstance(fields, Mapping):
            return list(fields.items())
        return [(given["name"], given) for given in fields if not given.get("init_only")]

    def member(self, step: str | int) -> tuple[str | int, Shape] | None:
        """Return what a member or an item is called, and its shape; None if there is none."""
        schema, kind = self.schema, self.schema["type"]
        if kind == "any":
            return step, self
        if kind == "dict" and "keys_schema" in schema:
            is_plain = self.under(schema["keys_schema"]).takes_text
            values = schema.get("values_schema", _ANY)
            return (step, self.at(values)) if is_plain else None
        if kind in ("model", "dataclass", "typed-dict"):
            return self._members.get(str(step))
        if kind == "tuple" and isinstance(step, int):
            items, rest = schema["items_schema"], schema.get("variadic_item_index")
            if rest is None or step < rest:
                return (step, self.at(items[step])) if step < len(items) else None
            return (step, self.at(items[rest])) if rest == len(items) - 1 else None
        if kind in _ARRAYS:
            return step, self.at(schema.get("items_schema", _ANY))
        return None

    @property
    def is_open(self) -> bool:
        """Whether a value of it can be shown that is not whole."""
        kind = self.schema["type"]
        if kind in _FIELDS and not self.is_root_model:
            return bool(self.schema["schema"]["type"] == _FIELDS[kind])
        return kind in (*_ARRAYS, *_OBJECTS, "any")

    @property
    def is_set(self) -> bool:
        """Whether it has no order."""
        return self.schema["type"] in ("set", "frozenset")

    @property
    def is_root_model(self) -> bool:
        """Whether it is a model around one value."""
        return bool(self.schema.get("root_model"))

    def made(self, members: Mapping[str | int, Any]) -> Any:
        """Return a value that has some members or items."""
        kind = self.schema["type"]
        if kind in _FIELDS:
            names = ["root"] if self.is_root_model else [name for name, _ in self._fields]
            values = {name: members.get(name) for name in names}
            return _instance(self.schema["cls"], values, set(members))
        return _MAKERS.get(kind, dict)(members if kind in _OBJECTS else members.values())


_MAKERS: dict[str, Callable[[Iterable[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


def _instance(made_of: type, values: dict[str, Any], names: set[Any]) -> Any:
    """Return an instance of a model or a dataclass that is not validated."""
    made: Any = object.__new__(made_of)
    if not hasattr(made_of, "__pydantic_fields_set__"):
        for name, value in values.items():
            object.__setattr__(made, name, value)
        return made
    object.__setattr__(made, "__dict__", values)
    object.__setattr__(made, "__pydantic_fields_set__", names)
    if not getattr(made_of, "__pydantic_root_model__", False):
        object.__setattr__(made, "__pydantic_extra__", None)
        object.__setattr__(made, "__pydantic_private__", None)
    return made


def _aliases(alias: Any) -> list[str]:
    """Return the names of a field that stand in its own object."""
    if isinstance(alias, str):
        return [alias]
    paths = alias if alias and isinstance(alias[0], list) else [alias] if alias else []
    return [path[0] for path in paths if len(path) == 1 and isinstance(path[0], str)]


def _asks_for_more(schema: Mapping[str, Any]) -> bool:
    """Return whether a function around a value is told of what it is in."""
    kind = schema["type"]
    if kind.startswith("function-") and schema["function"]["type"] == "with-info":
        return True
    inner = schema.get("schema")
    is_around = kind.startswith("function-") or kind in ("default", "nullable")
    return is_around and isinstance(inner, Mapping) and _asks_for_more(inner)


class TypedReading(JsonReading):
    """Reads a JSON text of a type as it is written.

    Parameters
    ----------
    shape : Shape
        Of the type.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self._shape = shape
        self._whole_value: Any = None  # when it was asked for

    def partial(self, machine: AnyMachine, configuration: Any) -> Partial[Any]:
        """Return the value so far."""
        listed = is_listed(machine, configuration)
        read = self.so_far(is_listed=listed)
        if self.value is not NOTHING:
            value = self._whole_value
            if value is None:
                value = self._whole_value = self._shape.value(self.raw(0, self._text.seek(0, 2)))
        else:
            value = self._typed(self._shape, 0, is_listed=listed)
        known = None if value is NOTHING else value
        return Partial(known, self.growing, None if read is NOTHING else read)

    def _typed(self, shape: Shape, depth: int, *, is_listed: bool) -> Any:
        """Return the value of what is open from a depth on."""
        if depth == len(self.containers):
            string = self.string
            takes = string is not None and not is_listed and shape.opened.takes_text
            return string if takes else NOTHING
        container = self.containers[depth]
        chosen = shape.opened.chosen(container)
        if chosen is None or not chosen.is_open:
            return NOTHING
        if chosen.is_root_model:
            root = self._typed(chosen.under(chosen.schema["schema"]), depth, is_listed=is_listed)
            return NOTHING if root is NOTHING else chosen.made({"root": root})
        members = self._whole(container, chosen)
        growing = container.step
        member = None if growing is None else chosen.member(growing)
        # An item that grows would be another one in a set; and in a list it needs its place.
        is_in_place = growing == len(members) or isinstance(growing, str)
        if member is not None and is_in_place and not chosen.is_set:
            value = self._typed(member[1], depth + 1, is_listed=is_listed)
            if value is not NOTHING:
                members = {**members, member[0]: value}
        if chosen.schema["type"] == "any":
            return dict(members) if isinstance(container.value, dict) else [*members.values()]
        return chosen.made(members)

    def _whole(self, container: Container, shape: Shape) -> dict[str | int, Any]:
        """Return the members or items of a container that are whole; each is made once."""
        for step, (start, end) in container.spans.items():
            member = shape.member(step)
            if member is not None:
                value = member[1].value(self.raw(start, end))
                if value is not NOTHING:
                    container.typed[member[0]] = value
        container.spans.clear()
        return container.typed
