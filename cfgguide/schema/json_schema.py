"""JSON Schema to grammar: texts that parse are values that the schema allows, and no others.

In: a schema, or a model of Pydantic. Out: a :class:`~cfgguide.grammar.grammar.Grammar`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from cfgguide.errors import SchemaError
from cfgguide.grammar.grammar import Grammar
from cfgguide.schema.classes import Cells
from cfgguide.schema.nodes import Node, reachable
from cfgguide.schema.reader import Reader
from cfgguide.schema.writer import Indentation, Writer


def json_schema(
    schema: Mapping[str, Any] | bool | str | type,
    *,
    order: Literal["any", "declared"] | None = None,
    max_whitespace: int | None = None,
    separators: tuple[str, str] | None = None,
    formats: bool = True,
    best_effort: bool = False,
) -> Grammar:
    """Return a grammar of the JSON texts that a schema allows.

    Parameters
    ----------
    schema : mapping, bool, str or type
        A JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12, as ``json.load`` returns it or as a
        text; or a model of Pydantic, or anything else with a method ``model_json_schema``.
    order : {"any", "declared"}, optional
        Whether properties come in any order, or as they are declared. By default in any order,
        but as declared in objects with more than 8 properties, and for a model.
    max_whitespace : int, optional
        Most white space characters before and behind each punctuation mark; by default any number.
    separators : (str, str), optional
        What stands between members and behind names, exactly: ``(", ", ": ")`` is how
        ``json.dumps`` writes. Then nothing else has white space around it.
    formats : bool
        Whether ``format`` is a condition (for the formats that JSON Schema names), or a comment.
    best_effort : bool
        Whether what cannot be guaranteed is left out, with a :class:`SchemaWarning`.

    Returns
    -------
    Grammar
        Its start rule is "start".

    Raises
    ------
    SchemaError
        If the schema is broken, allows no value, or asks for what a grammar cannot guarantee. The
        message says where in the schema.

    Examples
    --------
    >>> import cfgguide
    >>> grammar = json_schema({"type": "array", "items": {"enum": ["yes", "no"]}, "minItems": 1})
    >>> recognizer = cfgguide.index.compile_recognizer(grammar)
    >>> read = [recognizer.advance(recognizer.initial, text) for text in (b'["no"]', b"[]")]
    >>> [each is not None and recognizer.is_sentence(each) for each in read]
    [True, False]
    """
    if hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
        order = order or "declared"
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except ValueError as error:
            raise SchemaError(f"the schema is no JSON: {error}") from None
    if not isinstance(schema, Mapping | bool):
        raise SchemaError("a schema is an object, a truth value, JSON text or a Pydantic model")
    if order not in ("any", "declared", None):
        raise SchemaError(f"order is {order!r}; it is 'any' or 'declared'")
    if max_whitespace is not None and max_whitespace < 0:
        raise SchemaError(f"max_whitespace is {max_whitespace}; it is 0 or more")
    reader = Reader(schema, formats=formats, best_effort=best_effort)
    try:
        root = reader.root()
        cells = Cells(root, None if order is None else order == "declared")
        held = frozenset(cells.root)
        if root.meant.is_false or held not in cells.contexts[cells.root].cells:
            raise SchemaError(_why_nothing(root))
        writer = Writer(cells, Indentation.of(max_whitespace, separators))
        text = writer.text(held)
    except RecursionError:
        raise SchemaError("the schema is nested too deeply; use $ref") from None
    for path, problem in writer.problems:
        reader.give_up(path, problem)
    return Grammar(text)


def _why_nothing(root: Node) -> str:
    """Return which part of a schema allows no value."""
    for node in reversed(reachable(root)):
        if node.is_false or node.is_trivial or any(o.is_false for o in node.in_place):
            continue
        try:
            cells = Cells(node, is_ordered=True)
        except SchemaError:
            continue
        if frozenset(cells.root) not in cells.contexts[cells.root].cells:
            return (
                f"at {node.path or '/'}: no value is allowed: its keywords contradict each other, "
                "or only an endless value could meet them"
            )
    return "at /: no value is allowed: the schemas contradict each other"
