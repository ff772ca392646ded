"""JSON Schema to grammar: the sentences are the JSON texts of the values that the schema allows.

In: a schema, or a model of Pydantic. Out: a :class:`~cfgguide.grammar.grammar.Grammar`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Literal

from cfgguide.base.collector import collector_off
from cfgguide.base.limits import Limits, Steps
from cfgguide.errors import SchemaError, SchemaWarning, shown
from cfgguide.schema.loose_uniqueness import give_up_uncounted
from cfgguide.schema.pydantic_models import schema_of_model
from cfgguide.schema.reader import SchemaReader
from cfgguide.schema.schema_grammar import SchemaGrammar, SchemaOptions


def json_schema(
    schema: Mapping[str, Any] | bool | str | type,
    *,
    order: Literal["any", "declared"] | None = None,
    max_whitespace: int | None = None,
    separators: tuple[str, str] | None = None,
    tidy: bool = False,
    closed: bool = False,
    formats: bool = True,
    best_effort: bool = False,
    registry: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> SchemaGrammar:
    r"""Return a grammar of the JSON texts that a schema allows.

    Parameters
    ----------
    schema : mapping, bool, str or type
        A JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12, as ``json.load`` returns it or as a
        text; or a Pydantic model, or anything else with a method ``model_json_schema``. Objects of
        a model have the members that it declares, and others only if it says ``extra="allow"``;
        patterns are Rust's or Python's, as Pydantic has them.
    order : {"any", "declared"}, optional
        Whether properties come in any order or as declared. By default they come in any order,
        for a Pydantic model as declared.
    max_whitespace : int, optional
        The most white space characters before and after each punctuation mark; by default any
        number.
    separators : (str, str), optional
        The exact texts between members and after names: ``(", ", ": ")`` is how ``json.dumps``
        writes. Then there is no other white space. Each has at most 1,000 characters.
    tidy : bool
        Whether only what :func:`cfgguide.generate` writes by default is in the grammar: numbers end
        (:func:`cfgguide.automata.numbers.tidy`), ``\s`` in patterns is the white space of JSON, and
        separators are those of ``json.dumps``, unless `separators` or `max_whitespace` says more.
    closed : bool
        Whether objects have the members that they declare and no others, where the schema declares
        some and says nothing of others, and there is no doubt which these are: not inside of
        ``allOf``, ``oneOf``, ``not`` and the like.
    formats : bool
        Whether ``format`` is a condition, for the formats that JSON Schema names, or a comment.
    best_effort : bool
        Whether conditions that cannot be guaranteed are left out, with a :class:`SchemaWarning`;
        the grammar's `left_out` has their paths and the reasons.
    registry : mapping of str to mapping or bool, optional
        Other documents that ``$ref`` may name, by their URIs. Nothing is ever fetched.
    limits : Limits, optional
        Of these, `max_seconds` and `max_memory`: processor time and bytes that reading the schema
        may take, and later each step on the way to a mask. By default 5 seconds.
    cancelled : callable, optional
        Asked often during both whether to give up: another thread may decide.

    Returns
    -------
    SchemaGrammar
        What :func:`cfgguide.compile` takes; its `text`, in Lark's language, is written on request.

    Raises
    ------
    SchemaError
        If the schema is invalid, allows no value, or requires what a grammar cannot guarantee. The
        message says where in the schema. Or if it takes too long.

    Examples
    --------
    >>> import cfgguide
    >>> grammar = json_schema({"type": "array", "items": {"enum": ["yes", "no"]}, "minItems": 1})
    >>> recognizer = cfgguide.index.compile_recognizer(grammar)
    >>> read = [recognizer.advance(recognizer.initial, text) for text in (b'["no"]', b"[]")]
    >>> [each is not None and recognizer.is_sentence(each) for each in read]
    [True, False]
    """
    return schema_with_warnings(
        schema,
        registry=registry,
        limits=limits,
        cancelled=cancelled,
        order=order,
        max_whitespace=max_whitespace,
        separators=separators,
        tidy=tidy,
        closed=closed,
        formats=formats,
        best_effort=best_effort,
    )


def schema_with_warnings(schema: object, **options: Any) -> SchemaGrammar:
    """Return the grammar of :func:`read_schema`, and warn as :func:`json_schema` does."""
    grammar, told = read_schema(schema, **options)
    for each in told:
        warnings.warn(each, SchemaWarning, stacklevel=3)
    return grammar


def read_schema(
    schema: object,
    *,
    registry: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    cancelled: Callable[[], bool] | None = None,
    **chosen: Any,
) -> tuple[SchemaGrammar, list[str]]:
    """Return the grammar of :func:`json_schema`, and what its user has to be told.

    A server warns nobody: Python remembers each warning, and strangers have many.

    Raises
    ------
    SchemaError
        As :func:`json_schema`.
    """
    if hasattr(schema, "model_json_schema"):
        schema = schema_of_model(schema)
        chosen["order"] = chosen.get("order") or "declared"
    if isinstance(schema, str):
        schema = parsed_schema(schema)
    else:
        _check_names(schema, "the schema")
    if not isinstance(schema, Mapping | bool):
        raise SchemaError("a schema is an object, a truth value, JSON text or a Pydantic model")
    if registry is not None and not isinstance(registry, Mapping):
        raise SchemaError("registry maps URIs to schemas")
    if not isinstance(limits, Limits | None):
        raise SchemaError(
            f"limits is a cfgguide.Limits, such as Limits(max_seconds=5), not {shown(limits)}"
        )
    _check_names(registry, "the registry")
    if cancelled is not None and not callable(cancelled):
        raise SchemaError(f"cancelled is a function without arguments, not {shown(cancelled)}")
    steps = Steps(limits, cancelled)
    read, written = _as_json(schema, "the schema")
    registry, documents = _as_json(registry or {}, "the registry", is_sorted=True)
    if isinstance(chosen.get("separators"), list):
        chosen["separators"] = tuple(chosen["separators"])
    options = SchemaOptions(
        registry=documents, max_seconds=steps.max_seconds, max_memory=steps.max_memory, **chosen
    )
    options.check()
    try:
        with collector_off(), steps.begun():
            reader = SchemaReader(
                read,
                formats=options.formats,
                best_effort=options.best_effort,
                registry=registry,
                has_common_spaces=bool(options.tidy),
                is_closed=options.closed,
                excludes=options.excludes,
            )
            root = reader.root()
            give_up_uncounted(root, reader.give_up, options.layout)
            grammar = SchemaGrammar(written, options, root, tuple(reader.left_out), steps)
            return grammar, reader.warnings
    except RecursionError:
        raise SchemaError("the schema is nested too deeply; use $ref") from None


def parsed_schema(text: str) -> Any:
    """Return what the JSON text of a schema holds.

    Raises
    ------
    SchemaError
        If it is not JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise SchemaError(f"the schema is not JSON: {error}") from None
    except RecursionError:
        raise SchemaError("the schema is nested too deeply; use $ref") from None


def _check_names(value: Any, name: str) -> None:
    """Raise an error if a mapping inside a value has names that are no texts."""
    seen: set[int] = set()  # it may hold itself
    pending = [value]
    while pending:
        whole = pending.pop()
        if id(whole) in seen:
            continue
        seen.add(id(whole))
        parts: Iterable[Any] = ()
        if isinstance(whole, Mapping):
            for key in whole:
                if not isinstance(key, str):
                    raise SchemaError(
                        f"{name} has the name {shown(key)}, of the type {type(key).__name__}; in "
                        "JSON names are texts"
                    )
            parts = whole.values()
        elif isinstance(whole, list | tuple):
            parts = whole
        pending += [part for part in parts if isinstance(part, dict | list | Mapping | tuple)]


def read_again(schema: str, options: Mapping[str, Any]) -> SchemaGrammar:
    """Return a grammar again, of its schema as JSON and its options; it warned when it was made.

    Raises
    ------
    SchemaError, KeyError, TypeError, ValueError
        If they are not those of a grammar.
    """
    chosen = dict(options)
    registry = json.loads(chosen.pop("registry"))
    limits = Limits(max_seconds=chosen.pop("max_seconds"), max_memory=chosen.pop("max_memory"))
    return read_schema(json.loads(schema), registry=registry, limits=limits, **chosen)[0]


def _as_json(value: Any, name: str, *, is_sorted: bool = False) -> tuple[Any, str]:
    """Return a value as dicts, lists and scalars of JSON, and its text, with names sorted or not.

    Raises
    ------
    SchemaError
        If it is none of JSON.
    """
    is_plain = True

    def plain(other: Any) -> Any:
        nonlocal is_plain
        is_plain = False
        if isinstance(other, Mapping):
            return dict(other)
        if isinstance(other, tuple | set | frozenset):
            return list(other)
        if isinstance(other, Decimal) and other.is_finite():
            return int(other) if other == other.to_integral_value() else float(other)
        raise SchemaError(f"{name} has a {type(other).__name__}, which JSON does not know")

    try:
        text = json.dumps(value, default=plain, sort_keys=is_sorted)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"{name} is not JSON: {error}") from None
    except RecursionError:
        raise SchemaError(f"{name} is nested too deeply; use $ref") from None
    return (value if is_plain else json.loads(text)), text
