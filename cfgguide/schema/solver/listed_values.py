"""The values that a JSON Schema lists with ``const`` and ``enum``.

In: values as ``json.load`` returns them. Out: scalars as languages of their spellings; arrays and
objects as schemas that only they meet; and whether a value meets the nodes that see it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

from cfgguide.automata import numbers
from cfgguide.automata.language import Language
from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.engine.byte_machine.scalars import is_within
from cfgguide.errors import SchemaError
from cfgguide.schema.equality import hashable, kind_of
from cfgguide.schema.solver.nodes import (
    Condition,
    ListedValues,
    Node,
    by_value,
    kinds_of,
)
from cfgguide.schema.solver.truth import evaluators


def scalar_values(values: Sequence[Any]) -> ListedValues:
    """Return the values of an enumeration without arrays and objects."""
    words: list[str] = []
    constants: dict[str, None] = {}
    found: list[Decimal] = []
    for value in values:
        check_step()
        if isinstance(value, str):
            words.append(value)
        elif value is None or isinstance(value, bool):
            constants[json.dumps(value)] = None
        elif isinstance(value, int | float | Decimal):
            found.append(decimal_of(value))
    check_text("".join(words))
    for number in found:
        check_step()
        numbers.check_digits(number)
    return ListedValues(
        kinds_of(frozenset(constants)),
        Condition(partial(numbers.any_of, tuple(found))) if found else None,
        Condition(partial(Language.of_words, words), words=frozenset(words)) if words else None,
        scalars=tuple(values),
    )


def check_text(text: str) -> None:
    """Raise an error if a text is none.

    Raises
    ------
    SchemaError
        If it has a surrogate that is not one of a pair: no bytes spell it.
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise SchemaError(f"{text[:40]!a} has half a surrogate pair, which is no character")


def decimal_of(value: Any) -> Decimal:
    """Return a number of JSON, exactly as Python writes it.

    Raises
    ------
    SchemaError
        If it is infinite or not a number.
    """
    number = Decimal(str(value))
    if not number.is_finite():
        raise SchemaError(f"{value} is not a number of JSON")
    return number


def shape(value: Any) -> Mapping[str, Any]:
    """Return a schema that only this array or object meets."""
    if isinstance(value, list):
        return {
            "type": "array",
            "prefixItems": [{"const": item} for item in value],
            "items": False,
            "minItems": len(value),
        }
    return {
        "type": "object",
        "properties": {name: {"const": item} for name, item in value.items()},
        "required": list(value),
        "additionalProperties": False,
    }


class SpellingError(Exception):
    """Whether a number meets a node depends on how it is written."""


class Part:
    """A listed value, or a part of one: which nodes hold for it.

    Parameters
    ----------
    value : object
        As ``json.load`` returns it.
    """

    def __init__(self, value: Any) -> None:
        self._value = value
        self._kind = kind_of(value)

    @cached_property
    def _key(self) -> Hashable:
        return hashable(self._value)

    @remembered
    def meets(self, node: Node) -> bool:
        """Return whether a node holds.

        Raises
        ------
        SpellingError
            If that depends on how numbers are written.
        """
        check_step()
        return self._meets(node)

    def _meets(self, node: Node) -> bool:
        if node.is_false or self._kind not in node.kinds:
            return False
        if node.values is not None and self._key not in node.values.by_kind.get(self._kind, ()):
            return False
        if not all(map(self.meets, node.all_of)) or not self._has_branches(node):
            return False
        if node.negated is not None and self.meets(node.negated):
            return False
        if node.conditional is not None:
            condition, then, other = node.conditional
            applied = then if self.meets(condition) else other
            if applied is not None and not self.meets(applied):
                return False
        holds = _OWN.get(self._kind)
        return holds is None or holds(self, node)

    def _has_branches(self, node: Node) -> bool:
        """Return whether one of the alternatives holds, or exactly one."""
        if node.any_of is not None:
            listed, others = by_value(node.any_of)
            if not listed.get(self._key) and not any(map(self.meets, others)):
                return False
        if node.one_of is not None:
            listed, others = by_value(node.one_of)
            return listed.get(self._key, 0) + sum(map(self.meets, others)) == 1
        return True

    def _meets_number(self, node: Node) -> bool:
        text = numbers.decimal_text(decimal_of(self._value))
        for condition in node.numbers:
            if not condition.meets(text):
                return False
            if condition.made is numbers.written_whole:
                raise SpellingError
        return True

    def _meets_string(self, node: Node) -> bool:
        return all(condition.meets(self._value) for condition in node.strings)

    @remembered
    def _part(self, place: str | int) -> Part:
        return Part(self._value[place])

    def _meets_array(self, node: Node) -> bool:
        items = range(len(self._value))
        if not is_within(len(items), node.n_items):
            return False
        if node.is_unique and len(set(map(hashable, self._value))) < len(items):
            return False
        if not all(self._part(n).meets(child) for n in items for child in node.of_item(n)):
            return False
        if node.contains is not None:
            n_contained = sum(self._contains(node, n) for n in items)
            if not is_within(n_contained, node.n_contains):
                return False
        return self._rest_holds(node, items)

    def _contains(self, node: Node, n: int) -> bool:
        return node.contains is not None and self._part(n).meets(node.contains)

    def _meets_object(self, node: Node) -> bool:
        names = self._value.keys()
        if not is_within(len(names), node.n_properties) or not names >= {*node.required}:
            return False
        if any(name in names and not names >= {*needed} for name, needed in node.needs.items()):
            return False
        if any(name in names and not self.meets(other) for name, other in node.dependent.items()):
            return False
        if node.names is not None and not all(Part(name).meets(node.names) for name in names):
            return False
        if not all(self._part(n).meets(child) for n in names for child in node.of_property(n)):
            return False
        return self._rest_holds(node, names)

    def _rest_holds(self, node: Node, places: Iterable[str | int]) -> bool:
        """Return whether what is not evaluated meets what a node asks of it."""
        rest = node.rest_of(self._kind)
        return rest is None or all(
            self._part(n).meets(rest) or self._is_evaluated(node, n) for n in places
        )

    def _is_evaluated(self, node: Node, place: str | int) -> bool:
        """Return whether a keyword that a node sees evaluates an item or property."""
        seen = self._value.keys() if isinstance(place, str) else ()
        for other in evaluators(node, self.meets, seen):
            if isinstance(place, str):
                is_own = bool(other.of_property(place))
            else:
                is_own = bool(other.of_item(place)) or (
                    other.contains_evaluates and self._contains(other, place)
                )
            if is_own or (other.rest_of(self._kind) is not None and other is not node):
                return True
        return False


_OWN: dict[str, Callable[[Part, Node], bool]] = {
    "number": Part._meets_number,
    "string": Part._meets_string,
    "array": Part._meets_array,
    "object": Part._meets_object,
}
