"""Tests compute everything themselves: nothing comes from a cache unless a test makes one."""

from __future__ import annotations

import gc
import os
import runpy
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest
from support.ci import IN_CI

_EVERY = 9  # of the slow cases of one test, in CI

#: Examples of a law that says no other number; the slow tests and CI try Hypothesis' own 100.
_FEW_EXAMPLES = 30

os.environ["CFGGUIDE_CACHE"] = "off"
for _name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR"):  # tests set their own
    os.environ.pop(_name, None)

if runpy.run_path(str(Path(__file__).with_name("build_kernels.py")))["is_misleading"]():
    pytest.exit("the kernels were compiled from other sources: run `make install`", returncode=3)

collect_ignore = [  # the doctests import each module
    f"cfgguide/models/serving/{engine}_{part}.py"
    for engine, parts in (("vllm", ("parts", "metrics", "custom_tools")), ("sglang", ("parts",)))
    for part in parts
    if find_spec(engine) is None
]


def _is_fast_only(config: pytest.Config) -> bool:
    return config.option.markexpr == "not slow"


def pytest_configure(config: pytest.Config) -> None:
    """Have the fast tests try fewer examples."""
    if _is_fast_only(config) and not IN_CI:
        hypothesis.settings.register_profile("fast", max_examples=_FEW_EXAMPLES)
        hypothesis.settings.load_profile("fast")


@pytest.fixture(scope="module", autouse=True)
def _no_cache_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drop what the tests of a file have cached: a worker runs many files."""
    yield
    module = getattr(request.node, "obj", None)  # none: the file has doctests
    for each in list(vars(module).values()) if module else []:
        if hasattr(each, "cache_clear") and each.__module__ == module.__name__:
            each.cache_clear()


@pytest.fixture
def only_what_is_new_is_collected() -> Iterator[None]:
    """Spare the collector what there was before: a worker's heap is looked through in seconds.

    It is looked through once more: a tuple that is frozen stays tracked, whatever is in it.
    """
    for _ in range(5):  # what is inside of tuples is found before these are
        gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Make no cases of slow tests where only fast ones run: each worker would make all of them."""
    is_slow = any(mark.name == "slow" for mark in getattr(obj, "pytestmark", ()))
    return [] if is_slow and _is_fast_only(collector.config) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark cases as slow, and leave most of those out in CI; documents are checked whole.

    Of the cases of a test that is marked as `few(n)`, n are fast, spread over all.
    """
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for each in cases.values():
        n_fast = each[0].get_closest_marker("few").args[0]
        for place, item in enumerate(each):
            if place * n_fast // len(each) == (place - 1) * n_fast // len(each):
                item.add_marker(pytest.mark.slow)
    if not IN_CI:
        return
    of_test: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        test, is_case, _ = item.nodeid.partition("[")
        if is_case and item.get_closest_marker("slow") and "tests/project/" not in test:
            of_test[test].append(item)
    turn, left_out = _turn(), set[pytest.Item]()
    for of_one in of_test.values():
        every = min(_EVERY, len(of_one))
        left_out.update(item for n, item in enumerate(of_one) if (n - turn) % every)
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _turn() -> int:
    """Return which of the slow cases come: others for each state of the package."""
    command = ["git", "rev-parse", "HEAD:cfgguide"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    return int(done.stdout or "0", 16)
