"""What a schema in use costs Python's collector, which looks at each object again and again."""

import gc
import json
from typing import Any

import pytest

import cfgguide
from cfgguide.schema.solver.nodes import UNBOUNDED, Node
from cfgguide.schema.solver.plans import Clause, Holds, Plan
from cfgguide.schema.solver.values import may_hold


def tracked(kinds: tuple[type, ...] = (object,)) -> int:
    """Return how many objects of some kinds there are that the collector looks at."""
    gc.collect()
    return sum(isinstance(each, kinds) for each in gc.get_objects())


@pytest.mark.usefixtures("only_what_is_new_is_collected")
def test_a_node_that_requires_little_is_one_object():
    before = tracked()
    nodes = [Node(f"/{n}", required=("a", "b"), n_items=(n, None)) for n in range(500)]
    for node in nodes:
        assert (node.meant, node.is_trivial, dict(node.constants)) == (node, False, {})
        assert all(may_hold(node, kind) for kind in UNBOUNDED)
    assert tracked() - before < len(nodes) + 50


@pytest.mark.usefixtures("only_what_is_new_is_collected")
def test_what_is_asked_of_one_object_is_not_kept_for_the_next():
    """Each level has to be one of two kinds, by members that the other has too."""
    n, value = 12, None
    schema: Any = {"type": "null"}
    for level in range(n):
        names = {f"{letter}{level}": {"type": "integer"} for letter in "abcdef"}
        kinds = [{"required": [name]} for name in names]
        schema = {"type": "object", "properties": {"x": schema, **names}, "oneOf": kinds}
        value = {"x": value, f"c{level}": level}
    vocabulary = cfgguide.Vocabulary(
        [bytes((byte,)) for byte in range(256)] + [None], eos_token_ids=256
    )
    before = tracked((Clause, Holds, Plan))
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.json_schema(schema), vocabulary))
    for byte in json.dumps(value).encode():
        guide.allowed_token_ids()
        guide.advance(byte)
    assert guide.is_accepting
    assert tracked((Clause, Holds, Plan)) - before < 20 * n
