"""What a schema asks that cannot be guaranteed: counting names and values that are not listed.

In: the nodes of a schema. Out: a call for each keyword that is left out, or an error. Names that
are not listed may come twice, so they cannot be counted; values can be told apart only if they are
listed.
"""

from __future__ import annotations

from collections.abc import Callable

from cfgguide.schema.unique import can_be_told_apart
from cfgguide.value_classes.arrays import told_apart
from cfgguide.value_classes.nodes import Node, reachable, wanted_to_fail
from cfgguide.value_classes.search import Search
from cfgguide.value_classes.truth import closure
from cfgguide.value_classes.values import AllValues

GiveUp = Callable[[str, str], None]


def give_up_uncounted(root: Node, give_up: GiveUp) -> None:
    """Leave out what cannot be guaranteed.

    Parameters
    ----------
    root : Node
        Of the whole schema; keywords that are left out are removed from the nodes.
    give_up : callable
        Called with the path of a keyword and what is the matter with it.
    """
    counted = [node for node in reachable(root) if node.n_properties != (0, None)]
    failing = wanted_to_fail(root) if counted else set()
    for node in counted:
        least, most = node.n_properties
        has_others = node.patterns or node.additional is None or not node.additional.meant.is_false
        problem = "names that are not listed may come twice, so they cannot be counted"
        if has_others and least > 1:
            give_up(f"{node.path}/minProperties", problem)
            least = min(least, 1)
        if has_others and most is not None and node in failing:
            give_up(f"{node.path}/maxProperties", problem)
            most = None
        node.n_properties = least, most
    unique = [node for node in reachable(root) if node.is_unique and "array" in node.kinds]
    unique = [node for node in unique if node.n_items[1] not in (0, 1)]
    unique = [node for node in unique if told_apart([node]) is None]
    if unique:
        _give_up_unique(root, unique, give_up)


def _give_up_unique(root: Node, unique: list[Node], give_up: GiveUp) -> None:
    search = Search(AllValues(), is_ordered=True, wanted_to_fail=wanted_to_fail(root))
    lost = [node for node in unique if not can_be_told_apart(node, search)]
    for node in reachable(root):  # where it is not known whether they have to be different
        inside = set(closure([node])) & set(unique)
        values = search.values.of([node])
        if inside and "array" in values.kinds and values.nodes_for("array") is None:
            lost += inside
    for node in dict.fromkeys(lost):
        give_up(f"{node.path}/uniqueItems", "such values cannot be told apart")
        node.is_unique = False
