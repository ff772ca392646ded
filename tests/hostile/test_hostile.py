"""Each hostile grammar, pattern and schema works, or is refused with an error of cfgguide's.

A sample of the corpus here, and all of it among the slow tests. ``python -m hostile`` measures
times, memory and standstills, on which no test depends.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hostile.cases import KINDS, Case, all_cases
from hostile.run import CRASHED, OUTCOMES, RAW, REFUSED, TOO_LARGE, TOO_SLOW, WORKS, Outcome, run

engine = pytest.importorskip("hostile.engine")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measures with Linux's /proc")

#: One in so many is in the fast tests.
EVERY = 19


def test_there_are_at_least_300_cases_of_different_names_and_texts():
    cases = all_cases()
    assert len(cases) >= 300
    assert len({case.full_name for case in cases}) == len(cases)
    assert set(Counter(case.kind for case in cases)) == set(KINDS)


@pytest.fixture(scope="module", autouse=True)
def prepared():
    engine.prepare()


def outcome_of(case: Case) -> Outcome:
    return run(case, engine.engine, most_seconds=60)


def check(outcome: Outcome) -> None:
    """Pass what is only slow or large: a test does not depend on the machine that it runs on."""
    assert outcome.outcome not in (CRASHED, RAW), str(outcome)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", all_cases()[7::EVERY], ids=lambda case: case.full_name.replace("\x00", "")
)
def test_a_hostile_case_works_or_is_refused(case):
    check(outcome_of(case))


@pytest.mark.slow
@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.full_name)
def test_each_hostile_case_works_or_is_refused(case):
    check(outcome_of(case))


# --- The runner itself ---------------------------------------------------------------------------

CASE = Case("grammar", "of the runner", "one", lambda: "x")


def crashes(kind: str, text: str) -> tuple[str, str]:
    import ctypes

    ctypes.string_at(0)
    raise AssertionError


def takes_memory(kind: str, text: str) -> tuple[str, str]:
    return WORKS, str(len(b"x" * 600_000_000))


def takes_too_much(kind: str, text: str) -> tuple[str, str]:
    return WORKS, str(len(b"x" * 10**10))


def raises(kind: str, text: str) -> tuple[str, str]:
    raise KeyError(kind, text)


def never_ends(kind: str, text: str) -> tuple[str, str]:
    while True:
        pass


@pytest.mark.parametrize(
    ("does", "outcome", "more"),
    [
        (lambda kind, text: (WORKS, kind + text), WORKS, "grammarx"),
        (lambda kind, text: (REFUSED, "no"), REFUSED, "no"),
        (crashes, CRASHED, "signal 11"),
        (takes_memory, TOO_LARGE, "600000000"),
        (takes_too_much, RAW, "MemoryError"),
        (raises, RAW, "KeyError: ('grammar', 'x')"),
        (never_ends, TOO_SLOW, "killed"),
    ],
)
def test_the_runner_tells_what_happens(does, outcome, more):
    found = run(CASE, does, most_seconds=1 if does is never_ends else 60)
    assert found.outcome == outcome
    assert more in found.more
    assert found.outcome in OUTCOMES


def test_the_runner_notices_a_standstill():
    def holds_the_lock(kind: str, text: str) -> tuple[str, str]:
        sys.setswitchinterval(10)  # as a call does that never gives up the lock
        sum(range(30_000_000))
        return WORKS, ""

    assert run(CASE, holds_the_lock).standstill > 0.05


@pytest.mark.slow
def test_the_command_line_runs_a_part(tmp_path):
    command = [
        sys.executable,
        "-m",
        "hostile",
        "--only",
        "looks: never",
        "--json",
        str(tmp_path / "o"),
    ]
    root = Path(__file__).parents[2]
    environment = {"PYTHONPATH": f"{root}:{root / 'tests'}", "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.stderr == ""
    assert "pattern        1" in done.stdout
    assert len((tmp_path / "o").read_text().splitlines()) == 1
