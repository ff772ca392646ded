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

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cfgguide.base.numbered import Numbered
from cfgguide.base.sets import reached_from
from cfgguide.errors import SchemaError
from cfgguide.schema.solver.member_automata import MemberSymbol, Problem, ValueClass, seen_by
from cfgguide.schema.solver.nodes import Condition, Node, wanted_to_fail
from cfgguide.schema.solver.objects import MAX_UNORDERED, MemberAutomaton
from cfgguide.schema.solver.tracked_values import Tracked
from cfgguide.schema.solver.values import Values

# Bounds on a grammar's text; of 45 schemas of SchemaStore the most are 157, 19,286 and 276,360.
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


class Context:
    """Nodes that see the same value.

    Parameters
    ----------
    tracked : Tracked
        What is known of the values that they see.
    """

    def __init__(self, tracked: Tracked) -> None:
        self.nodes = tracked.values.nodes
        self.below = tracked.values.below
        self._tracked = tracked
        self.objects = tracked.objects
        self.scalars: dict[ValueClass, list[Scalar]] = {}
        for kind, value_class in tracked.constants().items():
            self.scalars.setdefault(value_class, []).append((kind, None))
        for kind in ("number", "string"):
            for key, scalars in tracked.scalars(kind).languages.items():
                self.scalars.setdefault(key, []).extend((kind, scalar) for scalar in scalars)
        self.value_classes: dict[ValueClass, None] = dict.fromkeys(self.scalars)
        self.automata: dict[str, ClassAutomaton] = {}

    def read(self, classes_of: Callable[[Nodes], Iterable[ValueClass]]) -> bool:
        """Explore the machines with the value classes known now; return whether they add some."""
        n_before = len(self.value_classes)
        for kind in ("array", "object"):
            automaton = self.automata[kind] = self._read(self._tracked.machine(kind), classes_of)
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
            found.value_classes.append(self._tracked.value_class(holding))
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
        tracked = Tracked(
            Values(nodes, is_possible=True, is_tidy=self._is_tidy),
            self._order,
            self._wanted_to_fail,
            is_ordered=self._is_ordered,
            are_different=False,
        )
        if not self._is_ordered and len(tracked.objects.names) > MAX_UNORDERED:
            raise SchemaError(
                f"at {tracked.values.below[-1].path or '/'}: {len(tracked.objects.names)} "
                f"properties in any order are too many for a grammar's text (above "
                f"{MAX_UNORDERED}); order='declared' has no such limit"
            )
        self.contexts[nodes] = Context(tracked)
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
