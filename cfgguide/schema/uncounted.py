"""What a schema asks that cannot be guaranteed: counting names and values that are not listed.

In: the nodes of a schema. Out: a call for each keyword that is left out, or an error. Names that
are not listed may come twice, so they cannot be counted; values can be told apart only if they are
listed.
"""

from __future__ import annotations

from collections.abc import Callable

from cfgguide.schema.arrays import told_apart
from cfgguide.schema.nodes import Node, reachable, wanted_to_fail

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
    for node in reachable(root):
        if node.is_unique and "array" in node.kinds and node.n_items[1] not in (0, 1):
            if told_apart([node]) is None:
                problem = "only values of an enumeration can be told apart"
                give_up(f"{node.path}/uniqueItems", problem)
                node.is_unique = False
