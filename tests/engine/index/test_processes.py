"""Indexes in other processes: made again of what was pickled, and in children of `fork`."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading

import pytest
from support.indenters import TreeIndenter
from support.whole_indexes import walked, whole_index

import cfgguide
from cfgguide import Grammar, Index, IndexPool, Limits, Vocabulary
from cfgguide.base.locks import new_lock, new_rlock, tell_child

VOCABULARY = Vocabulary.of_bytes([b"aa", b"null", b'{"'])
LINES = """
start: (line | _NL)+
line: "x" _NL | "if" _NL _INDENT line+ _DEDENT
_NL: /(\\n[ ]*)+/
%declare _INDENT _DEDENT
"""
GRAMMARS = {
    "text": Grammar('start: "(" start? ")" | /a+(?!b)/'),
    "indenter": Grammar(LINES, postlex=TreeIndenter()),
    "schema": cfgguide.json_schema(
        {"properties": {"é": {"type": "integer"}}, "required": ["é"]}, separators=(",", ":")
    ),
}
CASES = pytest.mark.parametrize("name", GRAMMARS)


def compiled(name: str) -> Index:
    return cfgguide.compile(GRAMMARS[name], VOCABULARY)


@CASES
def test_a_pickled_index_gives_the_same_masks_and_brings_none(name):
    index = compiled(name)
    expected = walked(index, 3)
    again = pickle.loads(pickle.dumps(index))
    assert again.n_entries == 0
    assert again.digest == index.digest
    assert walked(again, 3) == expected


@pytest.mark.slow
@CASES
def test_a_process_that_knows_nothing_gives_the_same_masks(name, tmp_path):
    index = compiled(name)
    path = tmp_path / "pickled"
    path.write_bytes(pickle.dumps((index, index.output_type.grammar, walked(index, 5))))
    program = (
        "import pickle, sys\n"
        "from support.whole_indexes import walked\n"
        "import cfgguide\n"
        f"index, grammar, expected = pickle.load(open({os.fspath(path)!r}, 'rb'))\n"
        "assert walked(index, 5) == expected\n"
        "assert walked(cfgguide.compile(grammar, index.vocabulary), 5) == expected\n"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program], check=True, env=env, timeout=120)


@pytest.mark.parametrize("name", ["text", "schema"])  # Lark's indenters are equal to themselves
def test_grammars_are_pickled_and_stay_equal(name):
    grammar = GRAMMARS[name]
    assert copy.copy(grammar) == copy.deepcopy(grammar) == grammar
    assert pickle.loads(pickle.dumps(grammar)) == grammar


def test_vocabularies_indexes_and_pools_are_shared_by_copies():
    index = compiled("text")
    assert copy.copy(index) is copy.deepcopy(index) is index
    again = pickle.loads(pickle.dumps(VOCABULARY))
    assert (again.tokens, again.digest) == (VOCABULARY.tokens, VOCABULARY.digest)
    pool = IndexPool(VOCABULARY, max_bytes=12_345_678, limits=Limits(max_seconds=9))
    pool.index(GRAMMARS["text"])
    other = pickle.loads(pickle.dumps(pool))
    assert len(other) == 0
    assert (other._max_bytes, other._limits) == (12_345_678, Limits(max_seconds=9))


# --- fork -----------------------------------------------------------------------------------------


def in_child(check) -> None:
    """Run a check in a child of `fork`, and fail if it fails there, or does not end."""
    process = multiprocessing.get_context("fork").Process(target=check)
    process.start()
    process.join(60)
    if process.is_alive():
        process.kill()
        pytest.fail("the child hangs")
    assert process.exitcode == 0


class Told:
    n_told = 0

    def begin_child(self) -> None:
        self.n_told += 1


forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks there")


@forking
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_locks_that_others_hold_are_free_in_a_child():
    locks = [new_lock(), new_rlock()]
    are_held, may_end = threading.Event(), threading.Event()
    told = Told()
    tell_child(told)

    def hold() -> None:
        with locks[0], locks[1]:
            are_held.set()
            may_end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    are_held.wait()

    def check() -> None:
        assert told.n_told == 1
        for lock in locks:
            assert lock.acquire(timeout=1)

    try:
        in_child(check)
        assert told.n_told == 0
        assert not locks[0].acquire(blocking=False)
    finally:
        may_end.set()
        thread.join()


@forking
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@CASES
def test_a_child_makes_masks_while_a_thread_of_its_parent_was_making_them(name):
    index = compiled(name)
    expected = walked(compiled(name), 4)
    held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with index._lock:
            held.set()
            may_end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def check() -> None:
        assert walked(index, 4) == expected

    try:
        in_child(check)
    finally:
        may_end.set()
        thread.join()


@forking
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_compiles_what_its_parent_was_compiling(monkeypatch):
    from cfgguide import index_pool as module

    pool = IndexPool(VOCABULARY)
    is_compiling, may_end, compile = threading.Event(), threading.Event(), module.compile

    def slow(*arguments, **options):
        is_compiling.set()
        may_end.wait()
        return compile(*arguments, **options)

    monkeypatch.setattr(module, "compile", slow)
    thread = threading.Thread(target=pool.index, args=(GRAMMARS["text"],))
    thread.start()
    is_compiling.wait()

    def check() -> None:
        may_end.set()
        assert walked(pool.index(GRAMMARS["text"]), 1) == walked(compiled("text"), 1)

    try:
        in_child(check)
    finally:
        may_end.set()
        thread.join()
    assert walked(pool.index(GRAMMARS["text"]), 1) == walked(compiled("text"), 1)


def test_an_entry_that_was_interrupted_on_its_way_into_the_index_does_no_harm():
    """Between a base's place among the bases and its place among the subsets."""
    index = whole_index('start: /[a-z]+/ ("," /[0-9]+/)*', VOCABULARY.tokens[:256])
    twin = whole_index('start: /[a-z]+/ ("," /[0-9]+/)*', VOCABULARY.tokens[:256])
    subsets = index._entries.subsets
    adopt = subsets.adopt

    def interrupted(_subset):
        raise KeyboardInterrupt

    subsets.adopt = interrupted
    with pytest.raises(KeyboardInterrupt):
        walked(index, 1)
    subsets.adopt = adopt
    for seed in range(5):
        assert walked(index, seed) == walked(twin, seed)
