"""Lark's own tree of a text.

In: a compiled grammar, and a text. Out: the tree as nested values, or that Lark refuses the text.
The page shows what Lark made of it, not what the engine did: they agree, and one can look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cfgguide.base.limits import Budget, Limits
from cfgguide.base.progress import run_within_limits
from cfgguide.studio.playground.reading import Compiled

MAX_NODES = 3_000  # shown
_MAX_DEPTH = 150
_LIMITS = Limits(max_seconds=20.0, max_memory=1_000_000_000)


def tree_of(compiled: Compiled, text: str, cancelled: Callable[[], bool]) -> dict[str, Any]:
    """Return Lark's tree of a sentence.

    Raises
    ------
    LimitError
        If parsing takes too long, or is cancelled.
    """

    def parsed(budget: Budget) -> Any:
        with budget.unwatched():
            from cfgguide.grammar import lark_frontend
        return lark_frontend.tree_parser_of(compiled.grammar, budget=budget).parse(text)

    tree = run_within_limits(parsed, _LIMITS, False, cancelled)
    counter = [MAX_NODES]
    return {"tree": _node(tree, counter, 0), "is_cut": counter[0] <= 0}


def _node(tree: Any, counter: list[int], depth: int) -> dict[str, Any]:
    counter[0] -= 1
    kind = getattr(tree, "type", None)
    if kind is not None:  # a token of Lark's
        return {"terminal": str(kind), "text": str(tree)}
    if tree is None:
        return {"rule": "(nothing)", "children": []}
    children = []
    for child in tree.children:
        if counter[0] <= 0 or depth > _MAX_DEPTH:
            counter[0] = 0
            break
        children.append(_node(child, counter, depth + 1))
    return {"rule": str(getattr(tree.data, "value", tree.data)), "children": children}
