"""`make same` finds no difference where there is none, and the one that was planted."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from typing import Any

import mutations
import pytest
from support import inputs

from same import cases
from same.__main__ import main
from same.cases import Desk
from same.process import Side
from same.run import Compared, Run, Work, compared
from same.shrink import Shrinking
from same.trees import ROOT
from same.verdict import judged, verdict
from same.vocabularies import single_bytes, vocabularies_of
from same.worker import LIMIT, RAW

PLANTED = "byte machine: the row of one state"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: Any) -> Any:
    """Return a folder with the package, in which a state of the byte machine is wrong."""
    folder = tmp_path_factory.mktemp("planted")
    left_out = shutil.ignore_patterns("__pycache__", "compiled")
    shutil.copytree(ROOT / "cfgguide", folder / "cfgguide", ignore=left_out)
    (mutation,) = (each for each in mutations.MUTATIONS if each.what == PLANTED)
    path = folder / "cfgguide" / f"{mutation.module}.py"
    path.write_text(path.read_text().replace(mutation.old, mutation.new))
    return folder


def _sides(before: Any, now: Any) -> tuple[Side, Side]:
    return Side("before", before), Side("now", now)


def test_a_tree_is_the_same_as_itself(tmp_path):
    found: list[tuple[Work, Compared]] = []
    run = Run(
        _sides(ROOT, ROOT),
        vocabularies_of([], tmp_path)[:1],
        kinds=list(inputs.KINDS),
        seed=13,
        found=lambda *each: found.append(each),
        seconds=0.05,
    )
    run.go(time.monotonic() + 600, len(inputs.KINDS), lambda tally: None)
    run.close()
    assert [str(result.differences) for _, result in found if result.differences] == []
    assert run.tally.n("configurations") > 100
    assert [counts["inputs"] for counts in run.tally.counts.values()] == [1] * len(inputs.KINDS)


def test_what_is_planted_is_found_made_small_judged_and_asked_again(planted, tmp_path, capsys):
    arguments = ["--seconds", "600", "--inputs", "2", "--seed", "3", "--only", "schemas"]
    arguments += ["--shrink", "10", "--out", str(tmp_path)]
    status = main(["--before", str(planted), *arguments])
    said = capsys.readouterr().out
    assert "schemas: differ" in said, said
    kept = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("schemas-*.json"))]
    assert status == int({each["verdict"] for each in kept} != {"now"})
    path = next(path for path in tmp_path.iterdir() if cases.read(path)[1]["verdict"] == "now")
    case, about = cases.read(path)
    drawn = inputs.draw("schemas", int(about["found"].split()[-1]) + 3 * 1_000_003)
    assert len(case.source["text"]) < len(drawn.text)

    assert main(["--replay", str(path)]) == 0  # it is excused
    assert "right: now" in capsys.readouterr().out
    assert main(["--replay", str(path), "--before", str(ROOT)]) == 0
    assert "both say the same" in capsys.readouterr().out

    vocabularies = {each.name: each for each in vocabularies_of([], tmp_path / "kept")}
    desk = Desk(_sides(ROOT, planted), vocabularies)
    try:
        found = Shrinking(desk, about["what"], 0).difference(case)
        assert verdict(desk, case, found)[0] == "before"
    finally:
        desk.close()


def test_a_process_that_dies_is_told_and_begun_again(tmp_path):
    side = Side("now", ROOT)
    try:
        assert (
            side.ask({"do": "spell", "vocabulary": single_bytes(), "tokens": [97]})["text"] == b"a"
        )
        side._process.kill()
        assert side.ask({"do": "spell"})["error"] == f"{RAW}died with SIGKILL"
        assert side.ask({"do": "nothing"})["error"].startswith(f"{RAW}AttributeError")
    finally:
        side.close()


def _answer(*notes: Any, checked: Any = ()) -> dict[str, Any]:
    return {"notes": list(notes), "checked": list(checked)}


NOTE = ("ab", [True, False], False, ("A",), "cd")


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (("ac", *NOTE[1:]), ["mask"]),
        (("ab", [True, True], *NOTE[2:]), ["accepts"]),
        ((*NOTE[:2], True, *NOTE[3:]), ["is_accepting"]),
        ((*NOTE[:3], ("B",), "cd"), ["expected"]),
        ((*NOTE[:4], "BudgetError"), ["within"]),
        ("TokenRejectedError", ["advance"]),
        (NOTE, []),
    ],
)
def test_each_answer_is_compared(other, what):
    tape = [(-1, -1, [], True)]
    found = compared((_answer(NOTE), _answer(other)), tape, 0)
    assert [each.what for each in found.differences] == what
    assert not found.limits


def test_limits_and_what_both_fail_in_are_told_apart():
    tape = [(-1, -1, [], True)]
    slow = (LIMIT + "LimitError", *NOTE[1:])
    found = compared((_answer(NOTE), _answer(slow)), tape, 0)
    assert (found.differences, found.limits) == ([], ["now: mask: limit: LimitError"])
    raw = (RAW + "KeyError", *NOTE[1:])
    found = compared((_answer(raw), _answer(raw)), tape, 0)
    assert ([each.what for each in found.defects], found.differences) == (["mask"], [])
    found = compared((_answer("TokenRejectedError"), _answer("TokenRejectedError")), tape, 0)
    assert [each.what for each in found.defects] == ["advance"]
    found = compared(({"error": "SchemaError"}, _answer(NOTE)), tape, 1)
    assert [each.what for each in found.differences] == ["refusal"]


JUDGED = [
    ("schema", '{"enum": [1]}', {}, "1", True),
    ("schema", '{"enum": [1]}', {}, "2", False),
    ("schema", '{"enum": [1]}', {"tidy": True}, "1", None),
    ("regex", "a+", {}, "aa", True),
    ("choice", '["a"]', {}, "b", False),
    ("lark", 'start: "a"+', {"parser": "earley", "lexer": "dynamic"}, "aa", True),
    ("lark", 'start: "a"+', {}, "b", False),
    ("watched", "start: A+\nA: /[ab]/", {"monitor": "different"}, "ab", True),
    ("watched", "start: A+\nA: /[ab]/", {"monitor": "different"}, "aa", False),
    ("watched", "start: B A\nA: /[ab]/\nB: /[ab]/", {"monitor": "known"}, "ab", None),
    ("runs_on", "CREATE TABLE t (x)", {}, "SELECT x FROM t", True),
    ("runs_on", "CREATE TABLE t (x)", {}, "SELECT y FROM t", False),
    ("thinking", "1", {}, "x", None),
]


@pytest.mark.parametrize(("form", "text", "options", "written", "is_right"), JUDGED)
def test_judges_know_what_is_right(form, text, options, written, is_right):
    source = {"form": form, "text": text, "options": options}
    found = judged(source, written.encode())
    assert found == is_right or is_right is None


def test_a_seed_draws_the_same_inputs_and_every_form_is_drawn():
    forms: Counter[str] = Counter()
    for kind in inputs.KINDS:
        for seed in range(40):
            drawn = inputs.draw(kind, seed)
            forms[drawn.form] += 1
            assert drawn == inputs.draw(kind, seed)
            assert drawn.kind == kind
    expected = {"schema", "regex", "choice", "lark", "gbnf", "ebnf", "w3c", "indented", "watched"}
    assert expected | {"bundled", "tag", "tools", "parts", "thinking", "runs_on"} <= set(forms)
