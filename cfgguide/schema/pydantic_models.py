"""Schemas that Pydantic makes of types.

In: a type. Out: a schema whose texts Pydantic accepts, all of them; what the schema that Pydantic
itself makes leaves out, is read from the core schema: bounds of dates, durations and decimals,
versions of UUIDs, schemes of URLs, keys of dictionaries, paths of aliases, strictness, and what is
inside of a string of JSON. What a function decides in Python no grammar can follow: the schema says
so, with the keyword `UNCHECKED`, and whoever reads it warns.

Objects have no members but those that the type declares. Pydantic ignores other members unless a
model forbids them, and its schema allows them; but a model of language should not invent members
that are thrown away. A type with ``extra="allow"`` says so in its schema, and stays as it is.

The pattern of a string is Rust's, or Python's where the type says ``regex_engine="python-re"`` or
has a compiled pattern; a schema of Pydantic does not say which. Here each pattern has a head that
does (:mod:`cfgguide.automata.pattern_notations`).
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from cfgguide.automata import time_ranges
from cfgguide.automata.number_ranges import whole_numbers
from cfgguide.automata.pattern_notations import headed
from cfgguide.errors import GrammarError
from cfgguide.schema import pydantic_strings as strings
from cfgguide.schema.keywords import FINITE, FROM_NAMES, UNCHECKED, WHOLE, listed_in
from cfgguide.schema.quoted_strings import Quote

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
    from pydantic_core import core_schema

Schema = dict[str, Any]

_FLAGS = {re.ASCII: "a", re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
#: Functions of Pydantic's own that look at more than the text, by name, and what they ask for.
_LOOKS_ELSEWHERE = {
    "PathType.validate_file": "the file has to be there",
    "PathType.validate_directory": "the folder has to be there",
    "PathType.validate_new": "the path must not be there, but the folder above it",
    "PathType.validate_socket": "the socket has to be there",
    "import_string": "what it names has to be importable",
    "PaymentCardNumber.validate": "it is the number of a card",
}
_UNCASED = "[^\\p{L}\\p{M}\\p{Nl}\\p{So}]"
#: Predicates of a text that patterns can say, by the method of `str`.
_PREDICATES = {
    "isascii": "^[\\x00-\\x7f]*$",
    "isdigit": "^[0-9]+$",
    "isdecimal": "^[0-9]+$",
    "isnumeric": "^[0-9]+$",
    "isalpha": "^[A-Za-z]+$",
    "isalnum": "^[A-Za-z0-9]+$",
    "islower": "^[^\\p{Lu}\\p{Lt}\\p{Nl}\\p{So}]*[a-z][^\\p{Lu}\\p{Lt}\\p{Nl}\\p{So}]*$",
    "isupper": f"^{_UNCASED}*[A-Z](?:[A-Z]|{_UNCASED})*$",
}
#: Functions that look at bounds of what another function made.
_OF_BOUNDS = frozenset(
    f"{name}_validator"
    for name in (
        *("greater_than", "greater_than_or_equal", "less_than", "less_than_or_equal"),
        *("multiple_of", "min_length", "max_length", "max_digits", "decimal_places"),
    )
)
_ANY_TEXT = ("path", "file-path", "directory-path", "socket-path", "password")  # formats
_MOST_LETTERS_OF_NAME = 500
_SIGNS_ONLY = ("isfinite", "is_finite")  # of a number, as all tidy numbers are


@contextlib.contextmanager
def errors_of_pydantic(name: str) -> Iterator[None]:
    """Raise what Pydantic raises of a type as a :class:`GrammarError` that names it."""
    try:
        from pydantic.errors import PydanticUserError
        from pydantic_core import SchemaError as CoreError
    except ImportError:
        raise GrammarError(
            f"Pydantic makes the schema of {name}: pip install pydantic, or give a JSON Schema"
        ) from None
    said = f"Pydantic makes no schema of {name}"
    try:
        yield
    except PydanticUserError as error:
        raise GrammarError(f"{said}: {error.message}") from error
    # Assertions are of what it takes for impossible, such as `Literal[()]`.
    except (AssertionError, NameError) as error:
        raise GrammarError(f"{said}: {error}") from error
    except CoreError as error:
        why = " ".join(str(error).replace("SchemaError: ", "").split())
        if "regex parse error" in why:
            why += (
                "; Pydantic reads patterns as Rust does: give pattern=re.compile(...), or a model "
                'with ConfigDict(regex_engine="python-re")'
            )
        raise GrammarError(f"{said}: {why}") from error


def schema_of_adapter(adapter: TypeAdapter[Any]) -> Any:
    """Return the schema of a type, given its adapter."""
    return exact(adapter.json_schema(schema_generator=_generator()))


def schema_of_model(model: Any) -> Any:
    """Return the schema of a Pydantic model, or of what has a method ``model_json_schema``."""
    make = model.model_json_schema
    if "schema_generator" in inspect.signature(make).parameters:
        return exact(make(schema_generator=_generator()))
    return exact(make())


@cache
def _generator() -> type[GenerateJsonSchema]:
    """Return what makes schemas of core schemas."""
    from pydantic.errors import PydanticInvalidForJsonSchema
    from pydantic.json_schema import GenerateJsonSchema

    class Exact(GenerateJsonSchema):
        """Pydantic's own maker of schemas, which says more."""

        def generate_inner(self, schema: Any) -> JsonSchemaValue:
            """Return the schema of any core schema."""
            made = super().generate_inner(schema)
            function = _function_of(schema)
            return made if function is None else _of_function(made, function)

        def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
            """Return the schema of a string."""
            made = super().str_schema(schema)
            pattern = schema.get("pattern")
            if pattern is not None:
                made["pattern"] = _headed(
                    pattern, schema.get("regex_engine") or self._of("regex_engine")
                )
            is_stripped = schema.get("strip_whitespace", self._of("str_strip_whitespace"))
            if is_stripped and not made.keys().isdisjoint(("minLength", "maxLength", "pattern")):
                # What is asked of a string is asked of what is left.
                made = _all_of(made, ["^(?:[^\\s\\x85](?:[^]*[^\\s\\x85])?)?$"])
            return made

        def _of(self, name: str) -> Any:
            return getattr(self._config, name, None)

        def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
            """Return the schema of bytes, which count in UTF-8."""
            made = super().bytes_schema(schema)
            made.pop("format", None)
            least, most = made.get("minLength", 0), made.get("maxLength")
            encoding = self._of("val_json_bytes")
            if encoding == "hex":
                return {"type": "string", "pattern": strings.hex_pattern(least, most)}
            if encoding == "base64":
                is_bounded = bool(least) or most is not None
                reason = {UNCHECKED: "the number of bytes in Base64 is not counted"}
                return {"type": "string", "format": "base64url", **(reason if is_bounded else {})}
            return made if most is None else _all_of(made, ["^[ -~]*$"])

        def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
            """Return the schema of a whole number."""
            made = super().int_schema(schema)
            return {**made, WHOLE: True} if self._is_strict(schema) else made

        def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
            """Return the schema of a number."""
            made = super().float_schema(schema)
            divisor = schema.get("multiple_of")
            if divisor is not None and Decimal(divisor) != Decimal(str(divisor)):
                made = {
                    **made,
                    UNCHECKED: f"floats above a million may be no multiples of {divisor}",
                }
            allowed = schema.get("allow_inf_nan")
            allowed = self._of("allow_inf_nan") if allowed is None else allowed
            return {**made, FINITE: True} if allowed is False else made

        def _is_strict(self, schema: Any) -> bool:
            return bool(schema.get("strict", self._of("strict")))

        def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
            """Return the schema of a decimal number: a number, or its text."""
            return _decimals(schema)

        def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
            """Return the schema of those of some values that are read from JSON."""
            # A member that is a text is read as that, whatever its value.
            expected = [
                str.__str__(each) if isinstance(each, str) else each for each in schema["expected"]
            ]
            found = _read_from_json({"type": "literal"}, "expected", expected)
            if not found:
                raise PydanticInvalidForJsonSchema(
                    f"none of these is ever read from JSON: {schema['expected']}"
                )
            return super().literal_schema({**schema, "expected": found})

        def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
            """Return the schema of those members that are read from JSON."""
            asked = [(key, schema.get(key)) for key in ("type", "cls", "sub_type") if key in schema]
            found = _read_from_json(dict(asked), "members", schema["members"])
            if not found:
                raise PydanticInvalidForJsonSchema(
                    f"no member of {schema['cls'].__name__} is ever read from JSON"
                )
            made = super().enum_schema({**schema, "members": found})
            return {**made, FROM_NAMES: True} if schema.get("sub_type") else made

        def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonSchemaValue:
            """Return the schema of a complex number."""
            return {"type": "string", "pattern": strings.COMPLEX}

        def date_schema(self, schema: core_schema.DateSchema) -> JsonSchemaValue:
            """Return the schema of a date."""
            low, high = _bounds(schema, partial(_stepped, timedelta(days=1)))
            low, high = _in_time(schema, low, high, date.today())
            return _text(time_ranges.dates(low, high))

        def time_schema(self, schema: core_schema.TimeSchema) -> JsonSchemaValue:
            """Return the schema of a time of day."""
            low, high = _bounds(schema, _later)
            return _text(time_ranges.times(low, high, zone=_zone(schema)))

        def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
            """Return the schema of a date with a time."""
            low, high = _bounds(schema, partial(_stepped, timedelta(microseconds=1)))
            midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
            low, high = _in_time(schema, low, high, midnight)
            return _text(time_ranges.datetimes(low, high, zone=_zone(schema)))

        def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
            """Return the schema of a duration."""
            bounds = _bounds(schema, partial(_stepped, timedelta(microseconds=1)))
            return _text(time_ranges.durations(*bounds))

        def url_schema(self, schema: core_schema.UrlSchema) -> JsonSchemaValue:
            """Return the schema of a URL."""
            return self._url(schema, has_many_hosts=False)

        def multi_host_url_schema(self, schema: core_schema.MultiHostUrlSchema) -> JsonSchemaValue:
            """Return the schema of a URL with several hosts."""
            return self._url(schema, has_many_hosts=True)

        def _url(self, schema: Any, *, has_many_hosts: bool) -> JsonSchemaValue:
            schemes = schema.get("allowed_schemes")
            pattern = strings.url_pattern(schemes, has_many_hosts=has_many_hosts)
            made: JsonSchemaValue = {"type": "string", "pattern": pattern}
            self.update_with_validations(made, schema, self.ValidationsMapping.string)
            return made

        def chain_schema(self, schema: core_schema.ChainSchema) -> JsonSchemaValue:
            """Return the schema of the first step: the others look at what it makes of a text."""
            made = super().chain_schema(schema)
            rest = schema["steps"][1:]
            if any(step.get("cls") is Hashable for step in rest):
                return {"type": ["string", "number", "boolean", "null"]}
            names = ", ".join(step["type"] for step in rest)
            return {**made, UNCHECKED: f"a second step looks at it: {names}"} if rest else made

        def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
            """Return the schema of a union: its tag is wanted, also where it has a default."""
            made = super().tagged_union_schema(schema)
            discriminator = schema["discriminator"]
            if callable(discriminator):
                name = getattr(discriminator, "__qualname__", type(discriminator).__qualname__)
                return {**made, UNCHECKED: f"{name} decides it, in Python"}
            name = made.get("discriminator", {}).get("propertyName")
            if name is None:
                return {**made, UNCHECKED: "its tag is at one of several places"}
            return {**made, "required": [name]}

        def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
            """Refuse: JSON has no classes."""
            raise PydanticInvalidForJsonSchema(f"JSON has no subclasses of {schema['cls']}")

        def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
            """Return the schema of a dictionary, whose keys are texts that are read as keys."""
            made = super().dict_schema(schema)
            keys = self.generate_inner(schema["keys_schema"]) if "keys_schema" in schema else {}
            names = _as_text(keys, self.definitions)
            if names is None:
                return {**made, UNCHECKED: "its keys are more than texts"}
            if names.get("maxLength", 0) > _MOST_LETTERS_OF_NAME:
                names = {**names, UNCHECKED: "names of that length are not counted"}
                del names["maxLength"]
            return {**made, "propertyNames": names} if names is not keys else made

        def _named_required_fields_schema(self, named: Sequence[Any]) -> JsonSchemaValue:
            made = super()._named_required_fields_schema(named)
            for name, is_required, field in named:
                path = _alias_path(field)
                if path is not None and name in made["properties"]:
                    _put_at(made, path, made["properties"].pop(name), is_required=is_required)
                    made["required"] = [each for each in made.get("required", ()) if each != name]
            return made

    return Exact


def _read_from_json(rest: dict[str, Any], key: str, values: Iterable[Any]) -> list[Any]:
    """Return values that Pydantic reads from JSON where they are listed under a key of a schema."""
    from pydantic_core import PydanticSerializationError, SchemaValidator, to_json

    values, found = list(values), []
    read = SchemaValidator({**rest, key: values})
    for value in values:
        with contextlib.suppress(PydanticSerializationError, ValueError):
            read.validate_json(to_json(value))
            found.append(value)
    return found


def _function_of(schema: Any) -> Any:
    """Return the function that a core schema calls, or None if it calls none."""
    if not str(schema.get("type", "")).startswith("function-"):
        return None
    function = schema["function"]["function"]
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _of_function(made: Schema, function: Any) -> Schema:
    """Return a schema with what a function asks for, or the word that nobody checks it."""
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    if isinstance(getattr(function, "__self__", None), Quote):
        return made
    if not _is_of_pydantic(function):
        return {**made, UNCHECKED: f"{name} decides it, in Python"}
    if name in _LOOKS_ELSEWHERE:
        return {**made, UNCHECKED: _LOOKS_ELSEWHERE[name]}
    if name == "ByteSize._validate":
        whole = {"type": "integer", "minimum": 0}
        return {"anyOf": [{"type": "string", "pattern": strings.BYTE_SIZE}, whole]}
    encoder = getattr(getattr(function, "__self__", None), "encoder", None)
    if encoder is not None:
        if not _is_of_pydantic(encoder):
            return {**made, UNCHECKED: f"{encoder.__qualname__} decides it, in Python"}
        is_text = name.endswith("decode_str")
        return {**made, "format": f"{made.get('format')}-text"} if is_text else made
    if name.endswith("val_func"):
        return _of_predicate(made, function)
    if name in _OF_BOUNDS:
        return {**made, UNCHECKED: f"{name} looks at what a function made of it"}
    return made


def _is_of_pydantic(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return module == "pydantic" or module.startswith("pydantic.")


def _of_predicate(made: Schema, function: Any) -> Schema:
    """Return the schema of what a predicate of `annotated_types` is true of."""
    annotation = inspect.getclosurevars(function).nonlocals.get("annotation")
    predicate = getattr(annotation, "func", None)
    name = getattr(predicate, "__name__", "")
    is_negated = type(annotation).__name__ == "Not"
    if not is_negated and predicate is getattr(str, name, None) and name in _PREDICATES:
        return _all_of(made, [_PREDICATES[name]])
    if not is_negated and name in _SIGNS_ONLY:
        return {**made, FINITE: True}
    shown = getattr(predicate, "__qualname__", repr(predicate))
    return {**made, UNCHECKED: f"{'not ' * is_negated}{shown} decides it, in Python"}


def _headed(pattern: str | re.Pattern[str], engine: str | None) -> str:
    if isinstance(pattern, str):
        return headed(pattern, "python" if engine == "python-re" else "rust")
    letters = "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
    return headed((f"(?{letters})" if letters else "") + pattern.pattern, "python")


def _text(patterns: Sequence[str]) -> Schema:
    return _all_of({"type": "string"}, patterns)


def _all_of(schema: Schema, patterns: Sequence[str]) -> Schema:
    """Return a schema that asks for more patterns."""
    rest = [{"pattern": each} for each in patterns]
    if "pattern" not in schema and len(rest) == 1 and "$ref" not in schema:
        return {**schema, **rest[0]}
    return {**schema, "allOf": [*schema.get("allOf", ()), *rest]}


def _bounds(schema: Mapping[str, Any], next_to: Callable[[Any, int], Any]) -> tuple[Any, Any]:
    """Return the bounds of a core schema, which are in their range."""
    low, high, above, below = (schema.get(each) for each in ("ge", "le", "gt", "lt"))
    if above is not None:
        low = next_to(above, 1) if low is None else max(low, next_to(above, 1))
    if below is not None:
        high = next_to(below, -1) if high is None else min(high, next_to(below, -1))
    return low, high


def _stepped(step: timedelta, bound: Any, sign: int) -> Any:
    """Return the next bound in a direction, or the same if it is the last."""
    last = type(bound).max if sign > 0 else type(bound).min
    return last if _naive(bound) == last else bound + sign * step


def _in_time(schema: Mapping[str, Any], low: Any, high: Any, today: Any) -> tuple[Any, Any]:
    """Return bounds with those that a type has because of today's date."""
    when, day = schema.get("now_op"), timedelta(days=1)
    if when == "past":
        before = today - day if type(today) is date else today
        return low, before if high is None else min(high, before, key=_naive)
    if when == "future":
        return today + day if low is None else max(low, today + day, key=_naive), high
    return low, high


def _naive(moment: Any) -> Any:
    return moment.replace(tzinfo=None) if isinstance(moment, datetime) else moment


def _later(bound: time, seconds: int) -> time:
    """Return a bound that is in the range, for one that is not."""
    moved = datetime.combine(date(2000, 1, 2), bound) + timedelta(seconds=seconds)
    if moved.day != 2:
        return time.max if seconds > 0 else time.min
    return moved.timetz()


def _zone(schema: Mapping[str, Any]) -> str:
    constraint = schema.get("tz_constraint")
    return constraint if constraint in ("aware", "naive") else "any"


def _decimals(schema: Mapping[str, Any]) -> Schema:
    low, high, above, below = (schema.get(each) for each in ("ge", "le", "gt", "lt"))
    names = {"minimum": low, "maximum": high, "exclusiveMinimum": above, "exclusiveMaximum": below}
    number: Schema = {"type": "number", FINITE: True}
    number.update({name: float(bound) for name, bound in names.items() if bound is not None})
    divisors = [schema["multiple_of"]] if schema.get("multiple_of") is not None else []
    n_digits, n_places = schema.get("max_digits"), schema.get("decimal_places")
    if n_digits is not None or n_places is not None:
        # How many digits there are behind the point is not a question for numbers alone.
        n_places_of_number = n_places if n_places is not None else 0
        divisors.append(Decimal(1).scaleb(-n_places_of_number))
    if n_digits is not None:
        most = Decimal(10) ** max(0, n_digits - (n_places or 0))
        number["allOf"] = [{"exclusiveMinimum": float(-most), "exclusiveMaximum": float(most)}]
    if divisors:
        each = [{"multipleOf": float(divisor)} for divisor in divisors]
        number["allOf"] = [*number.get("allOf", ()), *each]
    if schema.get("multiple_of") is not None:
        return number
    lows = [Decimal(each) for each in (low, above) if each is not None]
    highs = [Decimal(each) for each in (high, below) if each is not None]
    text = _text(
        strings.decimal_patterns(
            max(lows, default=None), min(highs, default=None), n_digits, n_places
        )
    )
    for bound in (above, below):
        if bound is not None:
            patterns = strings.decimal_patterns(Decimal(bound), Decimal(bound), None, None)
            text.setdefault("allOf", []).append({"not": {"pattern": patterns[-1]}})
    return {"anyOf": [number, text]}


def _as_text(schema: Schema, definitions: Mapping[Any, Any]) -> Schema | None:
    """Return the schema of texts that are read as keys, or None if there is none."""
    if "$ref" in schema:
        found = definitions.get(schema["$ref"].rpartition("/")[2])
        if found is None or found.get("type") == "string":
            return schema
        return _as_text(found, definitions)
    if not schema.keys() - {"title"} or schema.get("type") == "string":
        return schema
    if "anyOf" in schema:
        parts = [_as_text(each, definitions) for each in schema["anyOf"]]
        known = [each for each in parts if each is not None]
        return {"anyOf": known} if known else None
    listed = listed_in(schema)
    if listed is not None:
        kinds = (str, int, float) if FROM_NAMES in schema else (str,)
        texts = [
            str(each) for each in listed if isinstance(each, kinds) and not isinstance(each, bool)
        ]
        return {"enum": texts} if texts else {"not": {}}
    kind = schema.get("type")
    if kind == "boolean":
        return {"enum": ["true", "false"]}
    if kind == "integer" and "multipleOf" not in schema:
        bounds = strings.whole_bounds(schema)
        digits = "0|-?[1-9][0-9]{0,18}" if bounds == (None, None) else whole_numbers(*bounds)
        return {"pattern": f"^(?:{digits})$"}
    if kind == "number" and not schema.keys() & {"multipleOf", "exclusiveMinimum", "allOf"}:
        low, high = (schema.get(each) for each in ("minimum", "maximum"))
        if "exclusiveMaximum" in schema:
            return None
        low, high = (None if each is None else Decimal(str(each)) for each in (low, high))
        return _text(strings.decimal_patterns(low, high, None, None))
    return None


def _alias_path(field: Mapping[str, Any]) -> list[str | int] | None:
    """Return the path that a member is read from, if it has no name alone."""
    alias = field.get("validation_alias")
    if not isinstance(alias, list) or not alias:
        return None
    paths = alias if isinstance(alias[0], list) else [alias]
    if any(len(path) == 1 and isinstance(path[0], str) for path in paths):
        return None
    return paths[0]


def _put_at(schema: Schema, path: Sequence[str | int], part: Schema, *, is_required: bool) -> None:
    """Put a schema where a path leads, below the schema of an object or an array."""
    step, *rest = path
    if isinstance(step, str):
        schema["type"] = "object"
        places, key = schema.setdefault("properties", {}), step
        if is_required:
            schema["required"] = [*schema.get("required", ()), step]
        below = places.setdefault(key, {})
    else:
        schema["type"] = "array"
        items = schema.setdefault("prefixItems", [])
        items += [{"type": "null"} for _ in range(step + 1 - len(items))] if step >= 0 else []
        if step < 0:
            schema[UNCHECKED] = "its place is counted from the end"
            return
        if items[step] == {"type": "null"}:
            items[step] = {}
        schema["minItems"] = max(schema.get("minItems", 0), step + 1)
        schema["items"] = False
        below = items[step]
    if rest:
        _put_at(below, rest, part, is_required=is_required)
    else:
        below.update(part)


def exact(schema: Any) -> Any:
    """Return a schema of Pydantic whose texts Pydantic accepts, as far as patterns can say it.

    Its objects have declared members only, unless it says more.
    """
    definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}
    return _exact(schema, definitions)


def _exact(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if not isinstance(schema, dict):
        return schema
    result = dict(schema)
    below: Callable[[Any], Any] = partial(_exact, definitions=definitions)
    for keyword in ("$defs", "properties", "patternProperties"):
        if keyword in schema:
            result[keyword] = {name: below(part) for name, part in schema[keyword].items()}
    for keyword in ("items", "additionalProperties", "propertyNames"):
        if keyword in schema:
            result[keyword] = below(schema[keyword])
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if keyword in schema:
            result[keyword] = [below(part) for part in schema[keyword]]
    # A dictionary whose keys have a pattern has no other keys, which its schema does not say.
    if "properties" in schema or "patternProperties" in schema:
        result.setdefault("additionalProperties", False)
    name = schema.get("format")
    pattern = strings.pattern_of_format(name) if isinstance(name, str) else None
    if name in _ANY_TEXT:
        del result["format"]
    if pattern is not None:
        del result["format"]
        result = _all_of(result, [pattern])
    if "contentSchema" in schema:
        del result["contentSchema"]
        inside = strings.json_pattern(schema["contentSchema"], definitions)
        if inside is None:
            result[UNCHECKED] = "the JSON in the string is not regular"
        else:
            result = _all_of(result, [inside])
    return result
