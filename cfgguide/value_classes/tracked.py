"""Values whose classes matter: their scalars by class, and the automata of arrays and objects.

In: :class:`~cfgguide.value_classes.values.Values`. Out: :class:`Tracked`, which
:mod:`cfgguide.value_classes.search` asks. A class is the set of nodes that hold
(:mod:`cfgguide.value_classes.classes`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

from cfgguide.automata.language import Language, grouped
from cfgguide.value_classes.arrays import ArrayMachine
from cfgguide.value_classes.machine import (
    Machine,
    ValueClass,
    conditions,
    listed,
    scalar_holds,
)
from cfgguide.value_classes.nodes import Condition, Node
from cfgguide.value_classes.objects import ObjectMachine
from cfgguide.value_classes.plans import Clauses
from cfgguide.value_classes.scalars import by_class
from cfgguide.value_classes.truth import Failures, truths
from cfgguide.value_classes.values import Values
from cfgguide.values.numbers import decimals

#: Classes of some values, in the order of their tags.
Classes = tuple[ValueClass, ...]


class Tracked:
    """What is known of values whose classes matter.

    Parameters
    ----------
    values : Values
        The values.
    order : callable
        A number for each node, by which they are sorted.
    wanted_to_fail : collection of Node
        As :func:`cfgguide.value_classes.nodes.wanted_to_fail` returns them.
    is_ordered : bool
        Whether properties come in the order in which they are declared.
    """

    def __init__(
        self,
        values: Values,
        order: Callable[[Node], int],
        wanted_to_fail: Collection[Node],
        *,
        is_ordered: bool,
    ) -> None:
        self.values = values
        below = values.below
        failures = Failures(below, values.nodes)
        self.arrays = ArrayMachine(below, order, failures)
        self.objects = ObjectMachine(below, order, is_ordered, failures, wanted_to_fail)
        self.clauses = Clauses(self.objects)
        self._scalars: dict[str, dict[ValueClass, list[Condition | None]]] = {}

    def value_class(self, found: dict[Node, bool]) -> ValueClass:
        """Return the nodes of these values that hold."""
        return frozenset(node for node in self.values.nodes if found[node])

    def ending(self, machine: Machine, state: Any) -> ValueClass:
        """Return the class of an array or object that ends in a state."""
        return self.value_class(machine.holding(state)[0])

    def may_be(self, failed: Collection[Node], wanted: Classes) -> bool:
        """Return whether a value may be of a wanted class, where some nodes have failed."""
        return any(each.isdisjoint(failed) for each in wanted)

    def constants(self) -> dict[str, ValueClass]:
        """Return the classes of ``null``, ``true`` and ``false``."""

        def is_constant(kind: str, node: Node, _found: Any) -> bool:
            return node.values is None or kind in node.values.constants

        return {
            kind: self.value_class(truths(self.values.below, kind, partial(is_constant, kind)))
            for kind in ("null", "true", "false")
        }

    def scalars(self, kind: str) -> dict[ValueClass, list[Condition | None]]:
        """Return numbers or strings by class; None for all of them."""
        if kind not in self._scalars:
            self._scalars[kind] = self._sorted(kind)
        return self._scalars[kind]

    def _sorted(self, kind: str) -> dict[ValueClass, list[Condition | None]]:
        below = self.values.below
        asked: dict[int, Condition] = {}
        for node in below:
            for condition in (*conditions(node, kind), listed(node, kind)):
                if condition is not None and kind in node.kinds:
                    asked[id(condition)] = condition

        def class_of(memberships: tuple[bool, ...]) -> ValueClass:
            known = dict(zip(asked, memberships, strict=True))
            by_language = {id(asked[key].language): is_in for key, is_in in known.items()}
            return self.value_class(
                truths(below, kind, lambda node, _: scalar_holds(node, kind, by_language))
            )

        if not asked:
            return {class_of(()): [None]}
        conditions_asked = list(asked.values())
        if sum(each.words is not None for each in conditions_asked) > 1:
            return _by_word(conditions_asked, class_of)
        universe = [Condition(decimals())] if kind == "number" else []
        n = len(universe)
        found = by_class(
            [*universe, *conditions_asked],
            lambda found: class_of(found[n:]) if all(found[:n]) else None,
        )
        return {key: list(each) for key, each in found.items()}

    def scalar_classes(self) -> Iterator[ValueClass]:
        """Yield the classes of all scalars."""
        yield from self.constants().values()
        for kind in ("number", "string"):
            yield from self.scalars(kind)


def _by_word(
    asked: list[Condition], class_of: Callable[[tuple[bool, ...]], ValueClass]
) -> dict[ValueClass, list[Condition | None]]:
    """Return strings by class, the listed ones one by one: quicker than an automaton of all."""
    words = sorted({word for each in asked for word in each.words or ()})
    by_class_of_word: dict[ValueClass, list[str]] = {}
    for word in words:
        met = tuple(
            each.language.accepts(word) if each.words is None else word in each.words
            for each in asked
        )
        by_class_of_word.setdefault(class_of(met), []).append(word)
    found: dict[ValueClass, list[Condition | None]] = {
        key: [Condition(partial(Language.of_words, listed), words=frozenset(listed))]
        for key, listed in by_class_of_word.items()
    }
    others = [each for each in asked if each.words is None]
    listed_language = Language.of_words(words)

    def class_of_rest(memberships: tuple[bool, ...]) -> ValueClass | None:
        if memberships[0]:
            return None
        rest = iter(memberships[1:])
        return class_of(tuple(each.words is None and next(rest) for each in asked))

    languages = [listed_language, *(each.language for each in others)]
    for key, language in grouped(languages, class_of_rest).items():
        if key is not None and not language.is_empty:
            found.setdefault(key, []).append(Condition(language))
    return found
