"""What an index of a JSON Schema does that others do too: files, pools, other vocabularies."""

from __future__ import annotations

import gc
import inspect
import json
import threading
import warnings
from typing import Any

import pytest
from support.schema_cases import CASES, small_vocabulary

import cfgguide
from cfgguide import json_schema
from cfgguide.base import archive
from cfgguide.errors import GrammarError, IndexFormatError
from cfgguide.index import IndexPool
from cfgguide.precompute import precompute_masks
from cfgguide.schema.automaton import SchemaAutomaton

SCHEMA: Any = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 2}},
    "required": ["a"],
    "additionalProperties": False,
}
TEXT = b'{"b": "ab", "a": 12}'


def masks_of(index: cfgguide.Index, text: bytes) -> list[list[int]]:
    """Return the tokens that may come after each byte of a text, as far as it is allowed."""
    guide, found = cfgguide.Guide(index), []
    for byte in text:
        found.append(guide.allowed_token_ids().tolist())
        token_id = index.vocabulary.tokens.index(bytes([byte]))
        if token_id not in found[-1]:
            break
        guide.advance(token_id)
    return [*found, guide.allowed_token_ids().tolist()]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"separators": (", ", ": ")},
        {"max_whitespace": 1, "order": "declared"},
        {"formats": False},
        {"best_effort": True},
    ],
)
def test_a_saved_index_is_the_same(options: dict[str, Any], tmp_path: Any) -> None:
    schema = SCHEMA | {"format": "date", "uniqueItems": "best_effort" in options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index = cfgguide.compile(json_schema(schema, **options), small_vocabulary())
    masks = masks_of(index, TEXT)
    index.save(tmp_path / "index")
    with warnings.catch_warnings(action="error"):
        loaded = cfgguide.Index.load(tmp_path / "index", small_vocabulary())
    assert isinstance(loaded.machine.pushdown, SchemaAutomaton)
    assert loaded.digest == index.digest
    assert masks_of(loaded, TEXT) == masks
    index.add_file(tmp_path / "index")
    assert masks_of(index, TEXT) == masks


def test_a_digest_is_the_same_after_a_thread_was_stopped_in_a_repr() -> None:
    """Stopped in the wrong place, the standard library writes "..." for that object for good."""
    grammars = [json_schema(SCHEMA), json_schema(SCHEMA, separators=(",", ":"))]
    digests = [cfgguide.compile(each, small_vocabulary()).digest for each in grammars]
    options = [each.options for each in grammars]
    cells = inspect.getclosurevars(type(options[0]).__repr__).nonlocals.values()
    running: set[tuple[int, int]] = next(each for each in cells if isinstance(each, set))
    stopped = {(id(each), threading.get_ident()) for each in options}
    running |= stopped
    try:
        assert [repr(each) for each in options] == ["...", "..."]
        found = [cfgguide.compile(each, small_vocabulary()).digest for each in grammars]
    finally:
        running -= stopped
    assert found == digests
    assert digests[0] != digests[1]


@pytest.mark.parametrize("name", ["const object", "tree", "email", "unique"])
def test_cases_are_saved(name: str, tmp_path: Any) -> None:
    index = cfgguide.compile(json_schema(CASES[name][0]), small_vocabulary())
    index.save(tmp_path / "index")
    loaded = cfgguide.Index.load(tmp_path / "index", small_vocabulary())
    for text in (b'{"a": 1', b"[1, ", b'"a'):
        assert masks_of(loaded, text) == masks_of(index, text)


@pytest.mark.parametrize(
    "value", [None, {}, {"schema": "{"}, {"schema": "1", "options": {"order": 3}}, []]
)
def test_files_of_no_schema_are_refused(value: object, tmp_path: Any) -> None:
    content = {"grammar": {}, "schema": value}
    archive.write(tmp_path / "index", {}, content, kind="index", digest="0")
    with pytest.raises(IndexFormatError, match="its schema or tag is wrong"):
        cfgguide.Index.load(tmp_path / "index", small_vocabulary())


def test_another_vocabulary_has_other_masks() -> None:
    index = cfgguide.compile(json_schema(SCHEMA), small_vocabulary())
    other = index.with_vocabulary(cfgguide.Vocabulary.of_bytes())
    allowed = cfgguide.Guide(other).allowed_token_ids().tolist()
    assert [other.vocabulary.tokens[each] for each in allowed] == [b"\t", b"\n", b"\r", b" ", b"{"]


def test_a_pool_has_one_index_of_equal_schemas() -> None:
    pool = IndexPool(small_vocabulary())
    first = pool.index(json_schema(SCHEMA))
    assert pool.index(json_schema(dict(SCHEMA))) is first
    assert pool.index(json_schema(SCHEMA, separators=(",", ":"))) is not first
    assert pool.nbytes > 0


def test_nothing_is_made_ahead() -> None:
    index = cfgguide.compile(json_schema(SCHEMA), small_vocabulary())
    with pytest.raises(GrammarError, match="none is made ahead"):
        precompute_masks(index)
    masks = masks_of(index, TEXT)
    index.release_workspace()
    index.forget_steps()
    assert masks_of(index, TEXT) == masks


def test_few_bytes_of_masks_are_kept() -> None:
    index = cfgguide.compile(json_schema(SCHEMA), small_vocabulary(), max_bytes=2_000)
    free = cfgguide.compile(json_schema(SCHEMA), small_vocabulary())
    for _ in range(3):
        assert masks_of(index, TEXT) == masks_of(free, TEXT)
    assert index.nbytes <= 2_000


def read_with_objects(schema: Any, value: Any) -> tuple[int, int]:
    """Return how many states a text makes, and how many objects Python's collector then sees."""
    index = cfgguide.compile(json_schema(schema), cfgguide.Vocabulary.of_bytes([]))
    machine: Any = index.machine
    before = machine.pushdown.n_states, n_objects()
    assert machine.advance(machine.initial, json.dumps(value).encode()) is not None
    return machine.pushdown.n_states - before[0], n_objects() - before[1]


def n_objects() -> int:
    for _ in range(3):  # a tuple of tuples is looked at until those are known to hold no objects
        gc.collect()
    return len(gc.get_objects())


@pytest.mark.usefixtures("only_what_is_new_is_collected")
def test_states_are_no_objects_for_the_collector() -> None:
    value = {f"p{number}": number for number in range(60)}
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in value}}
    read_with_objects(schema, value)  # what all schemas share
    n_states, n_made = read_with_objects(schema, value)
    assert n_states > 300
    assert n_made < n_states / 2
