"""The fifteen tasks of docs/coming-from.md: the counts on the page are those of the snippets."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytest.importorskip("pydantic")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def everyday(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import everyday_tasks

    return everyday_tasks


@pytest.mark.parametrize(
    ("body", "n"),
    [
        ("return f(g(x))", 1),
        ("y = g(x)\n    return f(y)", 1),
        ("y = g(x)\n    return f(y, y)", 2),
        ("y, _ = g(x)\n    return f(y)", 2),
        ("for each in x:\n        if each:\n            f(each)", 3),
        ("x += 1\n    return x", 2),
        ("class A:\n        b: int\n    return A(x)", 3),
    ],
)
def test_what_is_read_once_counts_where_it_is_read(everyday, body, n):
    (function,) = ast.parse(f"def snippet(x):\n    {body}\n").body
    assert everyday._n_statements(function) == n


def test_each_library_does_each_task_or_says_why_not(everyday):
    for library in everyday.LIBRARIES:
        done = set(everyday.counts(library)) - {"imports", "set_up"}
        assert done.isdisjoint(everyday.reasons(library))
        assert done | set(everyday.reasons(library)) == set(everyday.TASKS)
    assert len(everyday.TASKS) == 15


def test_no_library_takes_fewer_statements_than_ours(everyday):
    ours, *others = map(everyday.counts, everyday.LIBRARIES)
    for task in everyday.TASKS:
        assert all(ours[task][0] <= other[task][0] for other in others if task in other)


def test_the_page_has_the_counts_of_the_snippets(everyday):
    page = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
    counts = [everyday.counts(library) for library in everyday.LIBRARIES]
    titles = {task.title: name for name, task in everyday.TASKS.items()}
    titles |= {"imports": "imports", "once, after the model is loaded": "set_up"}
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", page, re.MULTILINE)
    seen = {titles[title]: cells.split(" | ") for title, cells in rows if title in titles}
    assert len(seen) == len(titles)
    for name, cells in seen.items():
        for cell, counted in zip(cells, counts, strict=True):
            found = counted.get(name, (0, 0) if name == "set_up" else None)
            shown = "-" if found is None else " / ".join(map(str, found))
            assert cell.split(",")[0] == shown, (name, cell)


@pytest.mark.parametrize(
    ("values", "is_right"),
    [
        ([{}, {"mood": "good"}, {"mood": "good", "stars": 1, "comment": "a"}], True),
        ([{"mood": "bad"}, {}, {"mood": "good", "stars": 1, "comment": "a"}], False),
        ([{"mood": "good", "stars": 1, "comment": "a"}], False),
        ([{}, {"comment": "b"}, {"mood": "good", "stars": 1, "comment": "a"}], False),
    ],
)
def test_values_so_far_are_beginnings_of_the_last(everyday, values, is_right):
    assert everyday._grows(values) is is_right
