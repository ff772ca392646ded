r"""Names that are no keywords match what Python's ``re`` matches, and look ahead at their end."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from cfgguide.automata import syntax
from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.dfa import Fsm
from cfgguide.automata.exclusion import run_at_end

TEXTS = ["".join(letters) for n in range(1, 6) for letters in itertools.product("ab1 ", repeat=n)]
RUNS = [
    "(?!(?:a|ab)(?![a-b]))[ab][ab]*",
    r"(?!(?:a|ab)\b)\w\w*",
    r"(?!(?:ab|ba1?)(?!\w))[^\W\d](?:\w)*",
    "(?!ab(?![ab1]))(?!b(?![ab1]))[ab][ab1]*",
    "(?!(?:a|ab)(?![ab]))[ab]+",
    "(?!ab)[ab][ab]*",  # and all that begins so
    "(?!a|b(?![ab]))[ab][ab]*",
    "(?!a(?![ab])|b[ab](?![ab]))[ab][ab]*",
    "(?!(?:1|a1)(?![ab1]))[ab][ab1]*",  # a name never begins with a digit
    "(?i:(?!(?:A|aB)(?![ab]))[ab][ab]*)",
    "(?i:(?!A(?![ab])))[ab](?i:[AB])*",
    "1(?!a(?![ab]))[ab][ab]*",
    "1|(?!a(?![ab]))[ab][ab]*|b ",
    "(?:1|(?!a(?![ab]))[ab][ab]*)",
    "(?!(?:a|b)(?![ab]))(?:a|[b])[ab]*",
    "(?!(?:a|b|[ab]{2})(?![ab]))(?:a|[b])[ab]*",
    # behind what is excluded
    "(?!ab(?![ab1]))[ab][ab]*",
    "(?!ab(?![a]))[ab][ab]*",
    "(?!ab(?!1))[ab][ab]*",
    "(?!a )[ab][ab]*",
    "(?!a[ 1])[ab][ab]*",
    "(?!a |b1|ab(?![ab]))[ab][ab]*",
    r"(?!ab(?:[ 1]|\Z))[ab][ab]*",
    r"(?!(?:ab|b)(?:[ 1]|\Z))[ab][ab]*",
    # not a few words
    "(?!ab*(?![ab]))[ab][ab]*",
    "(?!(?:ab)+(?![ab]))[ab][ab]*",
    "(?![ab]*ba(?![ab]))[ab][ab]*",
    "(?!(?:a|ba){2,3}(?![ab]))[ab][ab]*",
    "(?!b?a{2,}(?![ab]))[ab][ab]*",
]
OTHERS = [
    "(?!ab(?![ab]))[ab][ab]*1",  # not at the end
    "(?!ab(?![ab]))[ab][ab]*?",
    "(?!ab(?![ab]))[ab][ab]{2,}",
    "(?!a 1)[ab][ab]*",  # more than one character behind the run
    "(?!a1b)[ab][ab]*",
    "(?!a*(?![ab]))[ab][ab]*",  # nothing is excluded, or all
    "(?=a)[ab][ab]*",
    "(?<!a)[ab][ab]*",
    r"(?!a\b)[ab][ab]*",  # what are words is not what the run is of
    "(?!(?:a(?![ab])|b)1?)[ab][ab]*",
    "(?!(?:)(?![ab]))[ab][ab]*",
]


def check(pattern: str, fsm: Fsm, text: str) -> None:
    match = re.match(pattern, text)
    expected = len(match[0].encode()) if match else None
    assert fsm.match(text.encode()) == expected, (pattern, text)


@pytest.mark.parametrize("pattern", [*RUNS, *OTHERS])
def test_matches_are_those_of_re(pattern):
    fsm = fsm_of_pattern(pattern, name="X")
    for text in TEXTS:
        check(pattern, fsm, text)


@pytest.mark.parametrize("pattern", RUNS[:2])
def test_a_name_looks_ahead_at_its_end_only(pattern):
    fsm = fsm_of_pattern(pattern, name="X")
    assert int(fsm.starts[0]) not in fsm.questions


@pytest.mark.parametrize("pattern", OTHERS)
def test_what_is_no_such_run_is_left_as_it_is(pattern):
    tree = syntax.parse(pattern)
    assert run_at_end(tree.nodes, tree.flags) is None


def test_letters_of_all_scripts():
    pattern = r"(?!(?:if|für|和)(?!\w))[^\W\d]\w*"
    fsm = fsm_of_pattern(pattern, name="X")
    for text in [
        "if",
        "iffy",
        "für",
        "fürs",
        "fü",
        "和",
        "和平",
        "i",
        "if\u0301",
        "if.",
        "\U00010400",
    ]:
        check(pattern, fsm, text)


def random_run(rng: random.Random) -> str:
    letters = ["a", "b", "[ab]", "1", "é"]

    def word() -> str:
        return "".join(rng.choice(letters) for _ in range(rng.randint(1, 3)))

    more = rng.choice(["[ab]", "[ab1]", r"\w", "[^ ]", "(?:[ab]|é)"])
    end = rng.choice([f"(?!{more})", f"(?!{more})", r"\b", "", "(?![ab])", "[. ]", r"(?:\.|\Z)"])
    words = "|".join(
        word() + rng.choice(["", "", "b?", "b*", "{2}"]) for _ in range(rng.randint(1, 4))
    )
    inside = rng.choice(["", "", "(?i:"])
    first = rng.choice(["[ab]", "[abé]", "[a-zA-Z]"])
    return f"{inside}(?!(?:{words}){end}){first}{more}*" + ")" * bool(inside)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_runs(seed):
    rng = random.Random(seed)
    n_runs = 0
    for _ in range(25):
        pattern = random_run(rng)
        tree = syntax.parse(pattern)
        inner = tree.nodes[0] if len(tree.nodes) == 1 else None
        nodes = inner.body if isinstance(inner, syntax.Group) else tree.nodes
        flags = inner.flags_inside(tree.flags) if isinstance(inner, syntax.Group) else tree.flags
        n_runs += run_at_end(nodes, flags) is not None
        fsm = fsm_of_pattern(pattern, name="X")
        for _ in range(300):
            text = "".join(rng.choice("aabbBA1é .") for _ in range(rng.randint(1, 6)))
            check(pattern, fsm, text)
    assert n_runs > 5
