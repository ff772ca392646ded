"""What may be written where a value is wanted: the nodes that see it, and what follows from them.

In: nodes of a schema. Out: :class:`Values`, one for each set of nodes that see a value together.
Mostly all of the nodes must hold, and nothing in them asks which of several schemas does: such
values are *plain*, and quickly read. For all others, values are told apart by which nodes hold for
them (:mod:`cfgguide.schema.solver.classes`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from cfgguide.automata.language import Language, TextAutomaton, intersection
from cfgguide.automata.numbers import tidy
from cfgguide.automata.side_by_side import all_of
from cfgguide.base.derived import derived
from cfgguide.base.limits import check_step
from cfgguide.base.numbered import Numbered
from cfgguide.base.remembered import remembered
from cfgguide.engine.byte_machine.scalars import Bounds
from cfgguide.schema.solver.arrays import told_apart
from cfgguide.schema.solver.listed_values import Part, SpellingError
from cfgguide.schema.solver.member_automata import ValueClass, asked_by, listed, seen_by
from cfgguide.schema.solver.nodes import (
    KINDS,
    Condition,
    Constant,
    Node,
    is_typed,
    kinds_of,
    reachable,
)
from cfgguide.schema.solver.truth import closure, surely_hold

CONSTANTS = ("null", "true", "false")
_SCALARS = frozenset(CONSTANTS) | {"number", "string"}
ClassifiedConstants = tuple[tuple[Constant, ValueClass], ...]


class Scalars(NamedTuple):
    """Numbers or strings that may be written.

    Attributes
    ----------
    made : TextAutomaton, callable or None
        The spellings of the numbers, or the texts, or what returns them; None for all.
    bounds : (int, int or None)
        The least and the most characters of a string.
    words : tuple of str or None
        The texts, sorted, if they were listed; then `made` is how they are a language.
    """

    made: TextAutomaton | Callable[[], Language] | None
    bounds: Bounds = (0, None)
    words: tuple[str, ...] | None = None

    @property
    def language(self) -> Language | None:
        """The spellings of the numbers, or the texts; None for all.

        Raises SchemaError if it is too large.
        """
        automaton = self.automaton
        return None if automaton is None else automaton.language

    @property
    def automaton(self) -> TextAutomaton | None:
        """The same, as it is read; None for all."""
        return self.made() if callable(self.made) else self.made

    @property
    def key(self) -> Hashable:
        """What is equal for equal listed texts, or for the same language object."""
        return id(self.made) if self.words is None else self.words


class Values:
    """The values that some nodes see.

    Parameters
    ----------
    nodes : tuple of Node
        Resolved to what they mean; none of them is trivial.
    is_possible : bool
        Whether no node among those that see the value is false.
    is_tidy : bool
        Whether only tidy spellings of numbers may be written.
    """

    def __init__(
        self, nodes: tuple[Node, ...], *, is_possible: bool, is_tidy: bool = False
    ) -> None:
        self.nodes = nodes
        self.is_possible = is_possible
        self.is_tidy = is_tidy

    @derived
    def every(self) -> ValueClass:
        """The class of values for which all nodes hold."""
        return frozenset(self.nodes)

    def bits(self, value_class: ValueClass) -> int:
        """Return a class as bits: the places of the nodes that hold."""
        return sum(1 << place for place, node in enumerate(self.nodes) if node in value_class)

    @derived
    def listed(self) -> dict[ValueClass, None] | None:
        """The classes that there are, if all nodes do nothing but list values; None if not."""
        by_value, others = self._listing()
        if others:
            return None
        return dict.fromkeys([*map(frozenset, by_value.values()), frozenset[Node]()])

    def _listing(self) -> tuple[dict[Hashable, dict[Node, None]], list[Node]]:
        """Return for each listed value the nodes that do nothing but list values; other nodes."""
        by_value: dict[Hashable, dict[Node, None]] = {}
        others = []
        for node in self.nodes:
            check_step()
            listed = node.only
            if listed is None:
                others.append(node)
            for value in listed or ():
                check_step(0)
                by_value.setdefault(value, {})[node] = None
        return by_value, others

    def are_listed(self, kind: str, holding: Iterable[Node]) -> bool:
        """Return whether all values of a kind for which some nodes hold are listed."""
        is_one = any(kind in node.constants for node in holding)
        return is_one and self._listed_of(kind) is not None

    def constants(self, kind: str) -> ClassifiedConstants:
        """Return the listed values of a kind, with their classes."""
        return self._listed_of(kind) or ()

    @remembered
    def _listed_of(self, kind: str) -> ClassifiedConstants | None:
        """Return the listed values with their classes; None if spellings decide on these."""
        found: dict[Hashable, Constant] = {}
        for node in self.nodes:
            for key, each in node.constants.get(kind, {}).items():
                check_step(0)
                found.setdefault(key, each)
        by_value, others = self._listing() if found else ({}, [])
        try:
            return tuple(
                (each, frozenset(by_value.get(key, ())).union(_meeting(each, others)))
                for key, each in found.items()
            )
        except SpellingError:
            return None

    @derived
    def below(self) -> list[Node]:
        """All nodes that see the value, each after those that it refers to."""
        return closure(self.nodes)

    def nodes_for(self, kind: str) -> Sequence[Node] | None:
        """Return the nodes of which all keywords have to hold for values of a kind.

        None if there are alternatives; none if the kind is not allowed.
        """
        return self._asked.get(kind, ())

    @property
    def mixed(self) -> frozenset[str]:
        """The kinds of which values may meet the nodes in different ways."""
        return frozenset(kind for kind, nodes in self._asked.items() if nodes is None)

    @derived
    def _asked(self) -> dict[str, tuple[Node, ...] | None]:
        """For each kind that is allowed the nodes that have to hold; None for alternatives."""
        found: dict[str, tuple[Node, ...] | None] = {}
        same = {self.nodes: self.nodes}  # for most kinds, the same nodes have to hold
        for kind in KINDS if self.is_possible else ():
            try:
                nodes = _required(self.nodes, kind)
            except _FailsError:
                continue
            except _AlternativesError:
                found[kind] = None
            else:
                found[kind] = same.setdefault(nodes, nodes)
        return found

    @derived
    def kinds(self) -> frozenset[str]:
        """What the value may be, if all nodes hold."""
        return kinds_of(frozenset(self._asked))

    @property
    def is_scalar(self) -> bool:
        """Whether values are scalars, and meet the nodes in one way."""
        return self.kinds <= _SCALARS and not self.mixed

    def is_constant(self, kind: str) -> bool:
        """Return whether a constant is surely allowed, if all nodes hold."""
        return self._asked.get(kind) is not None

    @derived
    def numbers(self) -> Scalars | None:
        """The numbers that may be written, if all nodes hold; None for no number."""
        asked = self._conditions("number")
        if asked is None:
            return None
        if not asked:
            return Scalars(self._written(None))
        language = intersection([each.language for each in asked])
        return None if language.is_empty else Scalars(self._written(language))

    def _written(self, numbers: Language | None) -> Language | None:
        """Return the spellings of numbers that may be written; None for all."""
        return tidy(numbers, is_typed=is_typed(self.below)).language if self.is_tidy else numbers

    @derived
    def strings(self) -> Scalars | None:
        """The strings that may be written, if all nodes hold; None for no string."""
        asked = self._conditions("string")
        if asked is None:
            return None
        # Some text surely meets it: its automaton is not made before a string is read.
        if len(asked) == 1 and asked[0].is_met:
            return Scalars(asked[0].made)
        least, most = 0, None
        listed = [condition for condition in asked if condition.words is not None]
        if listed:
            return _words(listed, asked)
        automata = []
        for condition in asked:
            # Lengths are counted apart: as a part of the automaton a bound would multiply its
            # states.
            if condition.bounds is None:
                automata.append(condition.automaton)
                continue
            least = max(least, condition.bounds[0])
            if condition.bounds[1] is not None:
                most = condition.bounds[1] if most is None else min(most, condition.bounds[1])
        if most is not None and most < least:
            return None
        if not automata:
            return Scalars(None, (least, most))
        whole = all_of(automata)
        if whole.is_empty:
            return None
        # Some text meets all patterns, but perhaps none that is as long as the bounds say.
        if (least > 0 or most is not None) and not whole.within(least, most).may_end(
            whole.start, 0
        ):
            return None
        return Scalars(whole, (least, most))

    def _conditions(self, kind: str) -> list[Condition] | None:
        """Return what is asked of numbers or strings; None if none are surely allowed."""
        nodes = self._asked.get(kind)
        if nodes is None:
            return None
        asked = [each for node in nodes for each in asked_by(node, kind)]
        return list({id(each): each for each in asked}.values())

    @property
    def array_nodes(self) -> Sequence[Node]:
        """The nodes that arrays have to meet; empty if there are alternatives."""
        return self._asked.get("array") or ()

    @property
    def object_nodes(self) -> Sequence[Node]:
        """The nodes that objects have to meet; empty if there are alternatives."""
        return self._asked.get("object") or ()

    @property
    def n_items(self) -> Bounds:
        """The least and the most items that arrays may have, by what counts them."""
        bounds = [node.n_items for node in self.array_nodes]
        most = [bound for _, bound in bounds if bound is not None]
        return max((least for least, _ in bounds), default=0), min(most, default=None)

    @property
    def n_prefix(self) -> int:
        """How many of the first items have schemas of their own."""
        return max((len(node.prefix) for node in self.array_nodes), default=0)

    @derived
    def has_plain_arrays(self) -> bool:
        """Whether an array needs only to be counted, if all nodes hold."""
        return self._asked.get("array") is not None and not any(
            node.contains is not None or node.is_unique or node.unevaluated_items is not None
            for node in self.array_nodes
        )

    @derived
    def has_different_items(self) -> bool:
        """Whether an array needs to be counted, and its items are to be different.

        A few listed values are told apart instead, unless that is needless: their order is free,
        and each is written in one way.
        """
        unique = [node for node in self.array_nodes if node.is_unique]
        return (
            bool(unique)
            and (told_apart(unique) is None or self._has_words_only)
            and not any(
                node.contains is not None or node.unevaluated_items is not None
                for node in self.array_nodes
            )
        )

    @property
    def _has_words_only(self) -> bool:
        """Whether all items of arrays see the same nodes, and are strings and constants."""
        found = [node.items.meant for node in self.array_nodes if node.items is not None]
        is_possible = not any(node.is_false for node in found)
        items = Values(tuple(dict.fromkeys(found)), is_possible=is_possible)
        return not self.n_prefix and items.is_scalar and "number" not in items.kinds

    @derived
    def has_plain_objects(self) -> bool:
        """Whether an object needs only the names that were seen, if all nodes hold."""
        return self._asked.get("object") is not None and not any(
            node.names is not None
            or node.needs
            or node.n_properties != (0, None)
            or node.unevaluated is not None
            for node in self.object_nodes
        )

    @derived
    def classed(self) -> frozenset[str]:
        """The kinds of which values are told apart by classes, even if all nodes are to hold."""
        found = set(self.mixed)
        if "object" in self.kinds and not self.has_plain_objects:
            found.add("object")
        if "array" in self.kinds and not (self.has_plain_arrays or self.has_different_items):
            found.add("array")
        return kinds_of(frozenset(found))

    @derived
    def takes_more(self) -> frozenset[str]:
        """The kinds of which each value that has begun can be finished in endlessly many ways.

        A string goes on with any character. An object takes another property, of a name that
        nothing in the schema knows: whatever held before still holds.
        """
        found = set()
        if not any(node.strings or node.values is not None for node in self.below):
            found.add("string")
        if not any(map(_asks_of_all_names, self.below)):
            found.add("object")
        return kinds_of(self.kinds & found)


def _meeting(constant: Constant, nodes: list[Node]) -> Iterator[Node]:
    """Yield the nodes that a listed value meets."""
    check_step(0)
    part = Part(constant[0])
    return filter(part.meets, nodes)


def _asks_of_all_names(node: Node) -> bool:
    """Return whether a node has anything to say of a property that it does not list."""
    return (
        node.additional is not None
        or bool(node.patterns)
        or node.names is not None
        or node.n_properties != (0, None)
        or node.unevaluated is not None
        or node.values is not None
    )


class _FailsError(Exception):
    """No value of this kind meets a node."""


class _AlternativesError(Exception):
    """Values of this kind may meet a node in different ways."""


def _required(nodes: Iterable[Node], kind: str) -> tuple[Node, ...]:
    """Return the nodes of which all keywords have to hold where some nodes do."""
    found: dict[Node, None] = {}
    for node in nodes:
        _require(node.meant, kind, found)
    return tuple(found)


def _require(node: Node, kind: str, found: dict[Node, None]) -> None:
    if node in found:
        return
    check_step()
    if node.is_false or kind not in node.kinds:
        raise _FailsError
    if node.values is not None:
        _require_values(node, kind)
    # Which names come decides what applies.
    if node.dependent and kind == "object":
        raise _AlternativesError
    found[node] = None
    for part in node.all_of:
        _require(part.meant, kind, found)
    for branches in (node.any_of, node.one_of):
        if branches is not None:
            _require_branch(branches, kind, found, is_exactly_one=branches is node.one_of)
    if node.negated is not None and may_hold(node.negated, kind):
        raise _AlternativesError
    if node.conditional is not None:
        condition, then, other = node.conditional
        if condition.meant.is_trivial or not may_hold(condition, kind):
            branch = then if condition.meant.is_trivial else other
            if branch is not None:
                _require(branch.meant, kind, found)
        # If neither branch asks for anything, it does not matter whether the condition holds.
        elif any(each is not None and not each.meant.is_trivial for each in (then, other)):
            raise _AlternativesError


def _require_values(node: Node, kind: str) -> None:
    """Check that an enumeration has values of a kind."""
    values = node.values
    assert values is not None, "it lists values"
    if kind in ("array", "object"):
        raise _AlternativesError if values.nodes else _FailsError
    is_listed = kind in values.constants if kind in CONSTANTS else listed(node, kind) is not None
    if not is_listed:
        raise _FailsError


def _require_branch(
    branches: tuple[Node, ...], kind: str, found: dict[Node, None], *, is_exactly_one: bool
) -> None:
    possible = [branch for branch in branches if may_hold(branch, kind)]
    if not possible:
        raise _FailsError
    if len(possible) > 1:
        if not is_exactly_one and any(branch.meant.is_trivial for branch in possible):
            return
        raise _AlternativesError
    _require(possible[0].meant, kind, found)


def may_hold(node: Node, kind: str) -> bool:
    """Return whether a node may hold for values of a kind."""
    if kind not in node.may_hold:
        may = True
        try:
            _require(node.meant, kind, {})
        except (_FailsError, _AlternativesError) as error:
            may = not isinstance(error, _FailsError)
        node.may_hold[kind] = may
    return node.may_hold[kind]


def ask_for_any(root: Node) -> None:
    """Ask for any of alternatives, instead of for exactly one, where no value meets two.

    So none of hundreds that a tag tells apart has to fail for another one to hold.
    """
    for node in reversed(reachable(root)):
        if node.one_of is not None and node.any_of is None:
            shared = _shared_kinds(node.one_of)
            if shared is not None and _are_told_by_tag(node.one_of):
                node.kinds -= shared
                node.any_of, node.one_of = tuple(each.meant for each in node.one_of), None


def _shared_kinds(branches: tuple[Node, ...]) -> set[str] | None:
    """Return the kinds but objects of which each value meets two alternatives; None if some may."""
    found = set()
    for kind in KINDS[:-1]:
        possible = [each.meant for each in branches if may_hold(each, kind)]
        if len(possible) > 1:
            if sum(kind in each.kinds and each.is_of_objects for each in possible) < 2:
                return None
            found.add(kind)
    return found


def _are_told_by_tag(branches: tuple[Node, ...]) -> bool:
    """Return whether there is a name that all alternatives require, with other values in each."""
    tags: dict[str, list[Mapping[Hashable, Constant]]] = {}
    for each in branches:
        sure = surely_hold([each], "object")
        required = {name for node in sure for name in node.required}
        own = {
            name: child.meant.only
            for node in sure
            for name, child in node.properties.items()
            if name in required and child.meant.only is not None
        }
        for name, values in own.items():
            tags.setdefault(name, []).append(values)
    return any(
        len(found) == len(branches) and sum(map(len, found)) == len(dict.fromkeys(chain(*found)))
        for found in tags.values()
    )


def _words(listed: list[Condition], asked: list[Condition]) -> Scalars | None:
    """Return the listed texts that meet all conditions."""
    found = set.intersection(*(set(condition.words or ()) for condition in listed))
    words = tuple(sorted(word for word in found if _is_met(word, asked)))
    return Scalars(partial(Language.of_words, words), words=words) if words else None


def _is_met(word: str, asked: list[Condition]) -> bool:
    check_step(0)
    return all(each.meets(word) for each in asked)


class AllValues:
    """The values of a schema, one object for each set of nodes.

    Parameters
    ----------
    is_tidy : bool
        As for :class:`Values`.
    """

    def __init__(self, *, is_tidy: bool = False) -> None:
        self._is_tidy = is_tidy
        # By whether they are possible, and by their nodes: the tuple is the values' own.
        self._known: dict[bool, dict[tuple[Node, ...], Values]] = {True: {}, False: {}}
        self.order = Numbered[Node]().__getitem__  # by which nodes are sorted

    def of(self, nodes: Iterable[Node]) -> Values:
        """Return the values that some nodes see."""
        nodes = list(nodes)
        is_possible = not any(node.meant.is_false for node in nodes)
        seen = seen_by(nodes, self.order)
        known = self._known[is_possible]
        if seen not in known:
            known[seen] = Values(seen, is_possible=is_possible, is_tidy=self._is_tidy)
        return known[seen]
