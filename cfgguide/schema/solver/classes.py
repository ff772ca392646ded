"""JSON values sorted by which nodes of a schema hold for them: a deterministic tree automaton.

In: the root node. Out: a :class:`Context` for each set of nodes that see one value together, with
its value classes. A value class is all values for which the same nodes of the context hold; it is a
state of the tree automaton. Its scalars are regular languages. Arrays and objects are read by
machines whose symbols are the value classes of what is in them. So what ``not``, ``oneOf`` or
``if`` require is decided once a value has been read and never guessed: the grammar is unambiguous.

Value classes without values are found bottom-up; those that no value of the root needs are dropped
top-down.

Source: Comon et al., "Tree Automata Techniques and Applications" (2008), sections 1.1 and 8.2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cfgguide.automata.language import Language
from cfgguide.automata.numbers import decimals
from cfgguide.base.numbered import Numbered
from cfgguide.base.sets import reached_from
from cfgguide.errors import SchemaError
from cfgguide.schema.solver.arrays import ArrayMachine
from cfgguide.schema.solver.member_automata import (
    MemberSymbol,
    Problem,
    ValueClass,
    conditions,
    listed,
    scalar_holds,
    seen_by,
)
from cfgguide.schema.solver.nodes import Condition, Node, wanted_to_fail
from cfgguide.schema.solver.objects import MAX_UNORDERED, MemberAutomaton, ObjectMachine
from cfgguide.schema.solver.scalars import by_class, tidy_numbers
from cfgguide.schema.solver.truth import Failures, Truths, closure, truths

MAX_CONTEXTS = 3_000
MAX_MOVES = 60_000  # of one machine
MAX_STEPS = 2_000_000  # of all machines: moves times nodes

Nodes = tuple[Node, ...]
#: A kind of scalar, "null", "true", "false", "number" or "string", and its condition; None is any
#: number or string.
Scalar = tuple[str, Condition | None]
Move = tuple[int, MemberSymbol, ValueClass, int]


@dataclass
class ClassAutomaton:
    """A machine with all of its states explored and numbered; 0 is the start.

    Attributes
    ----------
    moves : list of (int, MemberSymbol, ValueClass, int)
        Source state, symbol, class of the value, target state.
    value_classes : list of ValueClass
        For each state, which nodes hold if nothing more comes.
    problems : list of list of Problem
        For each state, what is uncertain about that.
    """

    moves: list[Move] = field(default_factory=list)
    value_classes: list[ValueClass] = field(default_factory=list)
    problems: list[list[Problem]] = field(default_factory=list)


def _is_constant(kind: str, node: Node, found: Truths) -> bool:
    return node.values is None or kind in node.values.constants


class Context:
    """Nodes that see the same value.

    Parameters
    ----------
    nodes : tuple of Node
        Resolved to what they mean; none of them is trivial.
    order : callable
        Returns a number for each node.
    is_ordered : bool
        As :class:`~cfgguide.schema.solver.objects.ObjectMachine` has it.
    wanted_to_fail : collection of Node
        As :func:`cfgguide.schema.solver.nodes.wanted_to_fail` returns them.
    is_tidy : bool
        Whether only tidy spellings of numbers may be written.
    """

    def __init__(
        self,
        nodes: Nodes,
        order: Callable[[Node], int],
        is_ordered: bool,
        wanted_to_fail: Collection[Node],
        *,
        is_tidy: bool,
    ) -> None:
        self.nodes = nodes
        self._is_tidy = is_tidy
        self.below = closure(nodes)
        failures = Failures(self.below, nodes)
        self.arrays = ArrayMachine(self.below, order, failures)
        self.objects = ObjectMachine(self.below, order, is_ordered, failures, wanted_to_fail)
        if not is_ordered and len(self.objects.names) > MAX_UNORDERED:
            raise SchemaError(
                f"at {self.below[-1].path or '/'}: {len(self.objects.names)} properties in any "
                f"order are too many for a grammar's text (above {MAX_UNORDERED}); "
                "order='declared' has no such limit"
            )
        self.scalars: dict[ValueClass, list[Scalar]] = {}
        self._add_constants()
        self._add("number", [decimals()])
        self._add("string", [])
        self.value_classes: dict[ValueClass, None] = dict.fromkeys(self.scalars)
        self.automata: dict[str, ClassAutomaton] = {}

    def value_class(self, found: dict[Node, bool]) -> ValueClass:
        """Return the nodes of this context that hold."""
        return frozenset(node for node in self.nodes if found[node])

    def _add_constants(self) -> None:
        for kind in ("null", "true", "false"):
            found = truths(self.below, kind, partial(_is_constant, kind))
            self.scalars.setdefault(self.value_class(found), []).append((kind, None))

    def _add(self, kind: str, universe: list[Language]) -> None:
        """Sort the numbers or strings by the value classes that they are in."""
        # Conditions with equal languages are one: the product of all would have its states twice.
        distinct: dict[Language, list[Condition]] = {}
        for node in self.below:
            for condition in (*conditions(node, kind), listed(node, kind)):
                if condition is not None:
                    distinct.setdefault(condition.language, []).append(condition)

        n = len(universe)

        def value_class(memberships: tuple[bool, ...]) -> ValueClass | None:
            # Such a text is not a number: all of these come first among the languages.
            if not all(memberships[:n]):
                return None
            known = {
                id(condition): is_in
                for same, is_in in zip(distinct.values(), memberships[n:], strict=True)
                for condition in same
            }
            return self.value_class(
                truths(self.below, kind, lambda node, _: scalar_holds(node, kind, known))
            )

        found: Mapping[ValueClass | None, Sequence[Condition | None]]
        if distinct:
            # Of equal ones, the one with a pattern of its own makes the shorter grammar.
            asked = [max(same, key=lambda c: c.text is not None) for same in distinct.values()]
            found = by_class([*map(Condition, universe), *asked], value_class)
        else:
            found = {value_class((True,) * n): [None]}
        for key, scalars in found.items():
            if key is None:
                continue
            if kind == "number" and self._is_tidy:
                scalars = [tidy_numbers(scalar, self.below) for scalar in scalars]
            self.scalars.setdefault(key, []).extend((kind, scalar) for scalar in scalars)

    def read(self, classes_of: Callable[[Nodes], Iterable[ValueClass]]) -> bool:
        """Explore the machines with the value classes known now; return whether they add some."""
        n_before = len(self.value_classes)
        machines: tuple[tuple[str, MemberAutomaton], ...]
        machines = (("array", self.arrays), ("object", self.objects))
        for kind, machine in machines:
            self.automata[kind] = automaton = self._read(machine, classes_of)
            self.value_classes |= dict.fromkeys(automaton.value_classes)
        return len(self.value_classes) > n_before

    @property
    def n_steps(self) -> int:
        """The work of the last exploration: moves times nodes."""
        return sum(len(each.moves) for each in self.automata.values()) * len(self.below)

    def _read(
        self, machine: MemberAutomaton, classes_of: Callable[[Nodes], Iterable[ValueClass]]
    ) -> ClassAutomaton:
        found = ClassAutomaton()
        numbers: dict[Hashable, int] = {}  # the start is no other state: before it comes no comma
        states: list[Any] = [machine.start]
        for number, state in enumerate(states):
            holding, problems = machine.holding(state)
            found.value_classes.append(self.value_class(holding))
            found.problems.append(problems)
            for symbol in machine.symbols(state):
                for value_class in classes_of(symbol.nodes):
                    after = machine.after(state, symbol, value_class)
                    if after not in numbers:
                        numbers[after] = len(states)
                        states.append(after)
                    found.moves.append((number, symbol, value_class, numbers[after]))
            n_moves = len(found.moves)
            if n_moves > MAX_MOVES or n_moves * len(self.below) > MAX_STEPS:
                raise SchemaError(
                    f"at {self.nodes[-1].path if self.nodes else '/'}: one array or object has too "
                    "many states; use order='declared', fewer properties, or smaller bounds"
                )
        return found


class ValueClasses:
    """All contexts of a schema, with the value classes that have values.

    Parameters
    ----------
    root : Node
        Of the whole schema.
    is_ordered : bool
        As :class:`~cfgguide.schema.solver.objects.ObjectMachine` has it.
    is_tidy : bool
        Whether only tidy spellings of numbers may be written.

    Raises
    ------
    SchemaError
        If there are too many contexts, states or moves.
    """

    def __init__(self, root: Node, is_ordered: bool, *, is_tidy: bool = False) -> None:
        self._order = Numbered[Node]().__getitem__
        self._is_ordered = is_ordered
        self._is_tidy = is_tidy
        self._wanted_to_fail = wanted_to_fail(root)
        self.contexts: dict[Nodes, Context] = {}
        self.root = seen_by([root], self._order)
        self._users: dict[Nodes, dict[Nodes, None]] = {}
        self._waiting: dict[Nodes, None] = {}
        self._reach(self.root)
        n_steps = 0
        while self._waiting:  # inner contexts first
            nodes, _ = self._waiting.popitem()
            if self.contexts[nodes].read(partial(self._classes_of, nodes)):
                self._waiting = self._users.get(nodes, {}) | self._waiting
            n_steps += self.contexts[nodes].n_steps
            if n_steps > MAX_STEPS:
                raise SchemaError(
                    "the arrays and objects of the schema have too many states; use "
                    "order='declared', a part of the schema, or fewer schemas for one value"
                )

    def _classes_of(self, user: Nodes, nodes: Nodes) -> Iterable[ValueClass]:
        """Return the value classes of a context that are known, for one outside of it."""
        self._users.setdefault(nodes, {})[user] = None
        if nodes not in self.contexts:
            self._waiting.setdefault(user)
            self._reach(nodes)
        return self.contexts[nodes].value_classes

    def _reach(self, nodes: Nodes) -> None:
        """Make a context, to be read next."""
        if len(self.contexts) >= MAX_CONTEXTS:
            raise SchemaError(
                f"more than {MAX_CONTEXTS} combinations of schemas apply to one value; "
                "simplify anyOf, oneOf, allOf or not"
            )
        self.contexts[nodes] = Context(
            nodes, self._order, self._is_ordered, self._wanted_to_fail, is_tidy=self._is_tidy
        )
        self._waiting[nodes] = None

    def wanted(self, value_class: ValueClass) -> dict[Nodes, dict[ValueClass, None]]:
        """Return the value classes that make up the values of one class of the root."""
        found: dict[Nodes, dict[ValueClass, None]] = {self.root: {value_class: None}}
        queue = [self.root]
        while queue:
            nodes = queue.pop()
            for automaton in self.contexts[nodes].automata.values():
                is_useful = useful(automaton, found[nodes])
                for _, symbol, inner, after in automaton.moves:
                    known = found.setdefault(symbol.nodes, {})
                    if is_useful[after] and inner not in known:
                        known[inner] = None
                        queue.append(symbol.nodes)
        return found


def useful(automaton: ClassAutomaton, wanted: Iterable[ValueClass]) -> list[bool]:
    """Return from which states a wanted value class can be reached."""
    before: dict[int, list[int]] = {}
    for source, _, _, target in automaton.moves:
        before.setdefault(target, []).append(source)
    classes = automaton.value_classes
    ends = [state for state, value_class in enumerate(classes) if value_class in wanted]
    found = reached_from(ends, lambda state: before.get(state, ()))
    return [state in found for state in range(len(classes))]
