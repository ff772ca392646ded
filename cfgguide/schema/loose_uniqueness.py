"""What a schema asks of different items that cannot be guaranteed.

In: the nodes of a schema. Out: a call for each keyword that is left out, or an error. Items are
told apart by what a text remembers; so no array can be written that *has* to have one twice, and
where few values are left it has to be known that they suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations

from cfgguide.base.limits import check_step
from cfgguide.schema.automaton import TOO_FEW, JsonLayout, SchemaAutomaton, TooFewError
from cfgguide.schema.completions import new_automaton
from cfgguide.schema.solver.arrays import told_apart
from cfgguide.schema.solver.nodes import KINDS, Node, reachable
from cfgguide.schema.solver.truth import closure
from cfgguide.schema.solver.values import may_hold

GiveUp = Callable[[str, str], None]


def give_up_uncounted(root: Node, give_up: GiveUp, layout: JsonLayout) -> None:
    """Leave out what cannot be guaranteed.

    Parameters
    ----------
    root : Node
        Of the whole schema; keywords that are left out are removed from the nodes.
    layout : JsonLayout
        How values are written.
    give_up : callable
        Called with the path of a keyword and what is the matter with it.
    """
    nodes = reachable(root)
    if not any(node.is_unique for node in nodes):
        return
    _ask_once(nodes)
    unique = [node for node in reachable(root) if node.is_unique and "array" in node.kinds]
    unique = [node for node in unique if node.n_items[1] not in (0, 1)]
    unique = [node for node in unique if told_apart([node]) is None]
    if unique:
        _give_up_unique(root, unique, give_up, layout)


def _ask_once(nodes: list[Node]) -> None:
    """Ask for different items beside alternatives that all ask for them, instead of in each."""
    for node in reversed(nodes):
        for branches in (node.one_of, node.any_of):
            arrays = [each for each in branches or () if may_hold(each, "array")]
            if branches is not None and arrays and all(each.meant.is_unique for each in arrays):
                node.is_unique = True
                others = tuple(
                    replace(each.meant, is_unique=False) if each in arrays else each
                    for each in branches
                )
                if branches is node.one_of:
                    node.one_of = others
                else:
                    node.any_of = others


def _give_up_unique(root: Node, unique: list[Node], give_up: GiveUp, layout: JsonLayout) -> None:
    automaton = new_automaton(root, layout, is_ordered=False)
    automaton.refuses_few = True
    with _without_unique(unique):
        plain = new_automaton(root, layout, is_ordered=False)
        failing, failing_inside = _may_have_to_fail(root, plain)
    for node in unique:
        if node in failing or (node in failing_inside and not _fails(automaton, node)):
            give_up(f"{node.path}/uniqueItems", "values cannot be told apart where it may fail")
            node.is_unique = False
    for node in reachable(root):
        inside = [each for each in closure([node]) if each in unique and each.is_unique]
        if not inside:
            continue
        try:
            automaton.options(automaton.search.goal(automaton.search.values.of([node])))
        except TooFewError:
            for each in inside:
                give_up(f"{each.path}/uniqueItems", TOO_FEW)
                each.is_unique = False


@contextmanager
def _without_unique(unique: list[Node]) -> Iterator[None]:
    """Have some nodes ask for no different items inside a `with` block."""
    for node in unique:
        node.is_unique = False
    try:
        yield
    finally:
        for node in unique:
            node.is_unique = True


def _fails(automaton: SchemaAutomaton, node: Node) -> bool:
    """Return whether a node may fail for other values than arrays of items that come twice."""
    search = automaton.search
    return search.has((), [node])


def _may_have_to_fail(root: Node, automaton: SchemaAutomaton) -> tuple[set[Node], set[Node]]:
    """Return the nodes whose failure may let an array through, and those inside of a value.

    The automaton is that of the schema, in which items need not be different.
    """
    owners: list[Node] = []
    for node in reachable(root):
        owners += [node.negated] if node.negated is not None else []
        owners += [node.conditional[0]] if node.conditional is not None else []
        # More items than `maxContains` says have to fail what it counts.
        if node.contains is not None and node.n_contains[1] is not None:
            owners.append(node.contains)
        for kind in KINDS:
            branches = [each for each in node.one_of or () if may_hold(each, kind)]
            for pair in combinations(branches, 2):
                check_step()
                # Of two branches that no value meets together none ever has to fail because of the
                # other.
                if kind not in ("array", "object") or automaton.search.has(pair, ()):
                    owners += pair
    arrays = [node for node in owners if may_hold(node, "array")]
    inside = [each for node in closure(owners) for each in node.inner]
    return set(closure(arrays)), {each for node in inside for each in reachable(node)}
