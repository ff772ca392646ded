"""JSON values sorted by which nodes of a schema hold for them: a deterministic tree automaton.

In: the root node. Out: a :class:`Context` for each set of nodes that see one value together, with
its cells: all values for which just the same of these nodes hold. Scalars of a cell are regular
languages; arrays and objects are read by machines whose letters are the cells of what is in them.
So whatever ``not``, ``oneOf`` or ``if`` ask is decided when a value has been read, and never has to
be guessed: the grammar that comes of it is unambiguous.

Cells that have no value are found out from below, and those that no value of the root needs are
dropped from above.

Source: Comon et al., "Tree Automata Techniques and Applications" (2008), sections 1.1 and 8.2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from cfgguide.automata.language import Language
from cfgguide.errors import SchemaError
from cfgguide.schema.arrays import ArrayMachine
from cfgguide.schema.letters import (
    Cell,
    Letter,
    Machine,
    Problem,
    conditions,
    listed,
    scalar_holds,
    seen_by,
)
from cfgguide.schema.nodes import Condition, Node, wanted_to_fail
from cfgguide.schema.objects import ObjectMachine
from cfgguide.schema.scalars import by_class
from cfgguide.schema.truth import Failures, Truths, closure, truths
from cfgguide.values.numbers import decimals

MAX_CONTEXTS = 3_000
MAX_MOVES = 60_000  # of one machine
MAX_STEPS = 2_000_000  # of all machines: moves, times the nodes that are asked

Nodes = tuple[Node, ...]
#: What a scalar of a cell is: "null", "true", "false", "number", "string", and how it is spelled;
#: None is any number or string.
Scalar = tuple[str, Condition | None]
Move = tuple[int, Letter, Cell, int]


@dataclass
class Reading:
    """What a machine comes to, with its states numbered; 0 is the start.

    Attributes
    ----------
    moves : list of (int, Letter, Cell, int)
        From a state to another one, by a value of a cell.
    cells : list of Cell
        Which nodes hold, for each state, if nothing more comes.
    problems : list of list of Problem
        What is not sure about that.
    """

    moves: list[Move] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    problems: list[list[Problem]] = field(default_factory=list)


def _is_constant(kind: str, node: Node, found: Truths) -> bool:
    return node.values is None or kind in node.values.constants


class Context:
    """Nodes that see the same value.

    Parameters
    ----------
    nodes : tuple of Node
        Each as it is meant, none of them trivial.
    order : callable
        A number for each node.
    is_ordered : bool or None
        As :class:`~cfgguide.schema.objects.ObjectMachine` has it.
    wanted_to_fail : collection of Node
        As :func:`cfgguide.schema.nodes.wanted_to_fail` returns them.
    """

    def __init__(
        self,
        nodes: Nodes,
        order: Callable[[Node], int],
        is_ordered: bool | None,
        wanted_to_fail: Collection[Node],
    ) -> None:
        self.nodes = nodes
        self.below = closure(nodes)
        failures = Failures(self.below, nodes)
        self.arrays = ArrayMachine(self.below, order, failures)
        self.objects = ObjectMachine(self.below, order, is_ordered, failures, wanted_to_fail)
        self.scalars: dict[Cell, list[Scalar]] = {}
        self._add_constants()
        self._add("number", [decimals()])
        self._add("string", [])
        self.cells: dict[Cell, None] = dict.fromkeys(self.scalars)
        self.readings: dict[str, Reading] = {}

    def cell(self, found: dict[Node, bool]) -> Cell:
        """Return the nodes of this context that hold."""
        return frozenset(node for node in self.nodes if found[node])

    def _add_constants(self) -> None:
        for kind in ("null", "true", "false"):
            found = truths(self.below, kind, partial(_is_constant, kind))
            self.scalars.setdefault(self.cell(found), []).append((kind, None))

    def _add(self, kind: str, universe: list[Language]) -> None:
        """Sort the numbers or strings by the cells that they are in."""
        distinct: dict[Language, list[Condition]] = {}
        for node in self.below:
            for condition in (*conditions(node, kind), listed(node, kind)):
                if condition is not None:
                    distinct.setdefault(condition.language, []).append(condition)

        n = len(universe)

        def cell(memberships: tuple[bool, ...]) -> Cell | None:
            if not all(memberships[:n]):
                return None
            known = {
                id(condition.language): is_in
                for same, is_in in zip(distinct.values(), memberships[n:], strict=True)
                for condition in same
            }
            return self.cell(
                truths(self.below, kind, lambda node, _: scalar_holds(node, kind, known))
            )

        found: Mapping[Cell | None, Sequence[Condition | None]]
        if distinct:
            asked = [max(same, key=lambda c: c.text is not None) for same in distinct.values()]
            found = by_class([*map(Condition, universe), *asked], cell)
        else:
            found = {cell((True,) * n): [None]}
        for key, scalars in found.items():
            if key is not None:
                self.scalars.setdefault(key, []).extend((kind, scalar) for scalar in scalars)

    def read(self, cells_of: Callable[[Nodes], Iterable[Cell]]) -> bool:
        """Follow the machines with the cells that are known now; return whether there are more."""
        n_before = len(self.cells)
        machines: tuple[tuple[str, Machine], ...]
        machines = (("array", self.arrays), ("object", self.objects))
        for kind, machine in machines:
            self.readings[kind] = reading = self._read(machine, cells_of)
            self.cells |= dict.fromkeys(reading.cells)
        return len(self.cells) > n_before

    @property
    def n_steps(self) -> int:
        """How much the last reading took: moves, times the nodes that were asked."""
        return sum(len(each.moves) for each in self.readings.values()) * len(self.below)

    def _read(self, machine: Machine, cells_of: Callable[[Nodes], Iterable[Cell]]) -> Reading:
        found = Reading()
        numbers: dict[Hashable, int] = {}  # the start is no other state: before it comes no comma
        states = [machine.start]
        for number, state in enumerate(states):
            holding, problems = machine.holding(state)
            found.cells.append(self.cell(holding))
            found.problems.append(problems)
            for letter in machine.letters(state):
                for cell in cells_of(letter.nodes):
                    after = machine.after(state, letter, cell)
                    if after not in numbers:
                        numbers[after] = len(states)
                        states.append(after)
                    found.moves.append((number, letter, cell, numbers[after]))
            n_moves = len(found.moves)
            if n_moves > MAX_MOVES or n_moves * len(self.below) > MAX_STEPS:
                raise SchemaError(
                    f"at {self.nodes[-1].path if self.nodes else '/'}: too much has to be kept in "
                    "mind of one array or object; use order='declared', fewer properties, or "
                    "smaller bounds"
                )
        return found


class Cells:
    """All contexts of a schema, and which of their cells have values.

    Parameters
    ----------
    root : Node
        Of the whole schema.
    is_ordered : bool or None
        As :class:`~cfgguide.schema.objects.ObjectMachine` has it.

    Raises
    ------
    SchemaError
        If there are too many.
    """

    def __init__(self, root: Node, is_ordered: bool | None) -> None:
        self._numbers: dict[Node, int] = {}
        self._is_ordered = is_ordered
        self._wanted_to_fail = wanted_to_fail(root)
        self.contexts: dict[Nodes, Context] = {}
        self.root = seen_by([root], self._order)
        self._users: dict[Nodes, set[Nodes]] = {}
        self._reach(self.root)
        n_steps = 0
        waiting = dict.fromkeys(reversed(self.contexts))
        while waiting:  # those that are read first are used by others
            nodes = next(iter(waiting))
            del waiting[nodes]
            if self.contexts[nodes].read(lambda nodes: self.contexts[nodes].cells):
                waiting |= dict.fromkeys(self._users.get(nodes, ()))
            n_steps += self.contexts[nodes].n_steps
            if n_steps > MAX_STEPS:
                raise SchemaError(
                    "the arrays and objects of the schema can begin in too many ways; use "
                    "order='declared', a part of the schema, or fewer schemas that see one value"
                )

    def _order(self, node: Node) -> int:
        return self._numbers.setdefault(node, len(self._numbers))

    def _reach(self, first: Nodes) -> None:
        """Make the contexts of all that is within."""
        queue = [first]
        for nodes in queue:
            if nodes in self.contexts:
                continue
            if len(self.contexts) >= MAX_CONTEXTS:
                raise SchemaError(
                    f"the schema comes to more than {MAX_CONTEXTS} combinations of schemas that "
                    "see one value; simplify its anyOf, oneOf, allOf or not"
                )
            context = self.contexts[nodes] = Context(
                nodes, self._order, self._is_ordered, self._wanted_to_fail
            )
            for letter in (*context.arrays.all_letters, *context.objects.all_letters):
                self._users.setdefault(letter.nodes, set()).add(nodes)
                queue.append(letter.nodes)

    def wanted(self, cell: Cell) -> dict[Nodes, dict[Cell, None]]:
        """Return the cells that values of a cell of the root are made of."""
        found: dict[Nodes, dict[Cell, None]] = {self.root: {cell: None}}
        queue = [self.root]
        while queue:
            nodes = queue.pop()
            for reading in self.contexts[nodes].readings.values():
                is_useful = useful(reading, found[nodes])
                for _, letter, inner, after in reading.moves:
                    known = found.setdefault(letter.nodes, {})
                    if is_useful[after] and inner not in known:
                        known[inner] = None
                        queue.append(letter.nodes)
        return found


def useful(reading: Reading, wanted: Iterable[Cell]) -> list[bool]:
    """Return from which states a wanted cell can be reached."""
    before: dict[int, list[int]] = {}
    for source, _, _, target in reading.moves:
        before.setdefault(target, []).append(source)
    found = [cell in wanted for cell in reading.cells]
    queue = [state for state, is_found in enumerate(found) if is_found]
    for state in queue:
        for source in before.get(state, ()):
            if not found[source]:
                found[source] = True
                queue.append(source)
    return found
