"""Each hostile grammar, pattern and schema works, or is refused with an error of cfgguide's.

``python -m hostile`` measures times, memory and standstills, on which no test depends.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import cfgguide
from cfgguide.errors import CfgGuideError
from cfgguide.index import compile_recognizer
from cfgguide.schema.messages.message import MessageReading
from cfgguide.studio.playground.grammars import place_of
from hostile.cases import KINDS, Case, all_cases
from hostile.run import CRASHED, OUTCOMES, RAW, REFUSED, TOO_LARGE, TOO_SLOW, WORKS, run

engine = pytest.importorskip("hostile.engine")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measures with Linux's /proc")


def test_there_are_at_least_300_cases_of_different_names_and_texts():
    cases = all_cases()
    assert len(cases) >= 300
    assert len({case.full_name for case in cases}) == len(cases)
    assert set(Counter(case.kind for case in cases)) == set(KINDS)


@pytest.fixture(scope="module", autouse=True)
def prepared():
    engine.prepare()


@pytest.mark.slow
@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.full_name)
def test_each_hostile_case_works_or_is_refused(case):
    """What is only slow or large passes: a test does not depend on the machine that it runs on."""
    outcome = run(case, engine.engine, most_seconds=60)
    assert outcome.outcome not in (CRASHED, RAW), str(outcome)


# --- What would freeze a process: `re` holds the GIL, and no limit is noticed ---------------------


def reads(kind: str, text: str) -> tuple[str, str]:
    """Do with a text what the kind says; the engine is not needed."""
    try:
        DOORS[kind](text)
    except CfgGuideError as error:
        return REFUSED, str(error)[:100]
    return WORKS, ""


def explains_an_overlap(pattern: str) -> None:
    """Compare a terminal with another one that has a text in common with it, as `check` does."""
    grammar = cfgguide.Grammar(f"start: A | B\nA: /{pattern}/\nB: /x+/")
    cfgguide.diagnostics.inspect(grammar)


DOORS = {
    "a grammar": lambda text: compile_recognizer(cfgguide.Grammar(text), use_cache=False),
    "a pattern": cfgguide.regex,
    "EBNF": cfgguide.Grammar.ebnf,
    "GBNF": cfgguide.Grammar.gbnf,
    "W3C": cfgguide.Grammar.w3c,
    "a dialect": cfgguide.Grammar.llguidance,
    "a schema": lambda pattern: cfgguide.json_schema({"pattern": pattern}),
    "an overlap": explains_an_overlap,
    "an answer": MessageReading("harmony").parse,
    "a message": lambda text: place_of("terminal A is wrong", text),
}
_SLOW = r"(?:a?|b?){40}(?=x)x*"
FROZEN = [
    ("a grammar", 'start: "' + "\\" * 58),
    ("a grammar", "start: /" + "\\" * 58),
    ("a grammar", 'start: "' + '\\"' * 100_000),
    ("a grammar", "start: /" + r"\/" * 100_000),
    ("a grammar", 'start: "a"' + "\n" * 1000 + " " * 10_000_000 + '\n"b"'),
    ("a grammar", 'start: "a"' + (" " * 10_000 + "\n") * 1000),
    ("a grammar", f'start: a | b\na: "x"\nb: "x"\n%ignore /{_SLOW}/'),
    ("a grammar", f'start: A | "{"a" * 40}"\nA: /(?:a?|b?){{40}}(?=x)x*/'),
    ("a pattern", f"(?!zz){_SLOW}"),
    ("a pattern", "(?=(?:a?|b?)*){50}(?:(?:a|a?)+){50}(?=x)"),
    ("a pattern", "(?:a?){3000}b"),
    ("a grammar", "start: r0\n" + "".join(f"r{i}: r{i + 1}\n" for i in range(3000)) + 'r3000: "a"'),
    ("EBNF", "root ::= TagDispatch(" + "(" * 20_000),
    ("EBNF", "root ::= item\n" + "#" * 50 + '\nitem ::= "a" a\n' + "#" * 100_000),
    ("EBNF", "root ::= " + "a[" * 50_000),
    ("EBNF", "root ::= " + "a-" * 50_000 + " # " + "#" * 50_000),
    ("GBNF", "root ::= item\n" + "#" * 50 + '\nitem ::= "a" a\n' + "#" * 100_000),
    ("W3C", "root ::= " + "a-a" * 50_000),
    ("a dialect", 'start: "' + "\\" * 99_999),
    ("a dialect", "start: /a{1," + " " * 40_000 + "x/"),
    ("a schema", r"\p{" * 100_000),
    ("a schema", "(?" + "x" * 100_000),
    ("an answer", "<|channel|>analysis<|message|>" * 20_000),
    ("an overlap", _SLOW),
    ("a message", "A" + " " * 5_000 + "x"),
]


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("kind", "text"), FROZEN, ids=[f"{kind} {text[:12]!a}" for kind, text in FROZEN]
)
def test_no_text_of_a_stranger_freezes_the_process(kind, text):
    outcome = run(Case(kind, "frozen", text[:20], len(text), text.__str__), reads, most_seconds=20)
    assert outcome.more != "killed"
    assert outcome.outcome not in (CRASHED, RAW), str(outcome)


# --- The runner itself ---------------------------------------------------------------------------

CASE = Case("grammar", "of the runner", "one", 1, lambda: "x")


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
