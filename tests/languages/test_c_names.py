"""`c_names`: a name is a type as far as its typedef reaches, as pycparser and gcc have it."""

from __future__ import annotations

import functools
import random

import pytest
from support import c_judge, c_names_judge
from support.languages import can_be_written
from support.monitored import allowed_tokens, read_tokens

import cfgguide
from cfgguide.models import load_model
from cfgguide.monitors import BelowTopError, c_names

ACCEPTED = [
    "typedef int T; T *x, y = (T) 1, z = sizeof(T);",
    "typedef struct s s; struct s { s *s; }; s *x; int y = x->s;",
    "typedef int T; int f(T a, int T) { T * a; int x; x = T; }",
    "typedef int T; void f(void) { int T; T = 1; { T * T; } } T x;",
    "typedef int T; void f(void) { T T; T * 3; } T x;",
    "typedef int T; void f(void) { for (int T = 1; T; T++) T--; T x; }",
    "typedef int T; int f(int (T)); int g(int T); T x;",
    "typedef int T; typedef int T; T x;",
    "typedef int T; int g(T, T x) { { typedef char T; T y; } T z; }",
    "typedef int T, *U; const U x; T f(U y) { return *y; }",
    "int f(a, b) int a; char b; { return a * b; }",
    "typedef int T; enum e { A, B }; struct T { T T; } x; int y = x.T * A;",
    "int x[*]; int y[a * b];",
    "_Atomic(int) x; typedef _Atomic(int) T; T y;",
]
REFUSED = [
    "T x;", "typedef int T; int x = T;", "void f(void) { typedef int T; T x; } T x;",
    "typedef int T; int T;", "int T; typedef int T;",
    "typedef int T; void f(void) { int T; T x; }", "void f(int T) { typedef int T; }",
    "typedef int T; T T x;", "typedef int T; void f(void) { goto T; }",
    "typedef int T; void f(int T) { } int x = T;", "int x[*p];",
    "typedef int T; enum { T };",
]  # fmt: skip
# Shadows in parentheses are left out, and pragmas.
LEFT_OUT = ["#pragma once\nint x;", "typedef int T; void f(void) { int (T); }"]


@functools.cache
def index(*types: str, start: str = "start") -> cfgguide.Index:
    return cfgguide.compile(c_names(types, start=start), cfgguide.Vocabulary.of_bytes(_WORDS))


@pytest.mark.slow
@pytest.mark.parametrize("text", ACCEPTED)
def test_types_are_types_as_far_as_they_reach(text):
    assert can_be_written(text, index())


@pytest.mark.slow
@pytest.mark.parametrize("text", [*REFUSED, *LEFT_OUT])
def test_other_names_are_none(text):
    assert not can_be_written(text, index())


@pytest.mark.slow
def test_types_may_be_given():
    assert can_be_written("size_t x; x_t y;", index("size_t", "x_t"))
    assert not can_be_written("size_t x;", index())


@pytest.mark.slow
def test_start_rules():
    of = index("size_t", start="function")
    texts = {"size_t f(size_t n) { size_t * m; return n; }": True, "int x;": False}
    assert {text: can_be_written(text, of) for text in texts} == texts


@pytest.mark.slow
@pytest.mark.parametrize(
    "begun",
    [
        *("typedef int node_t; ", "typedef int node_t; static node", "typedef int i; i *"),
        "int main(int argc) { typedef int x; for (int i = argc",
        "typedef int x; struct s { x a; } b; int f(int x",
    ],
)
def test_masks_of_a_real_vocabulary_are_what_reading_says(begun):
    """Tokens are judged in groups, where there are thousands: those inside a name too."""
    _, tokenizer = load_model()
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer)
    guide = cfgguide.Guide(cfgguide.compile(c_names(), vocabulary))
    for token_id in tokenizer.encode(begun, add_special_tokens=False):
        guide.advance(token_id)
    assert allowed_tokens(guide) == read_tokens(guide)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_the_top_of_a_monitor_says_the_same_as_all_of_it_or_nothing(seed):
    chosen = random.Random(seed)
    monitor = index("T", "U").machine.monitor
    n_told = 0
    for _ in range(150):
        for depth in (1, 2, 4):
            whole, top = monitor, monitor.top(depth)
            try:
                for _ in range(3):
                    said = {each: whole.texts(each) for each in sorted(whole.terminals)}
                    assert {each: top.texts(each) for each in said} == said
                    n_told += top is not whole
                    lexeme = _some_lexeme(said, chosen)
                    whole, top = whole.shifted(*lexeme), top.shifted(*lexeme)
            except BelowTopError:
                continue
        lexemes = {each: monitor.texts(each) for each in sorted(monitor.terminals)}
        monitor = monitor.shifted(*_some_lexeme(lexemes, chosen))
    assert n_told > 200


def _some_lexeme(texts, chosen):
    """Return a lexeme that may come: a name half of the time, and braces often."""
    possible = [each for each, some in texts.items() if some is None or not some.is_empty]
    names = [each for each in "TUabc" if texts["NAME"] is None or texts["NAME"].has(each.encode())]
    if "NAME" in possible and names and chosen.random() < 0.5:
        return "NAME", chosen.choice(names)
    return chosen.choice([each for each in possible if each != "NAME"] or ["NAME"]), ""


judged = pytest.mark.skipif(
    c_judge.PROGRAM is None, reason="pycparser, of PyPI, or gcc is not installed"
)


@pytest.mark.slow
@judged
def test_the_judges_say_the_same():
    assert [
        (text, c_names_judge.error(text)) for text in ACCEPTED if c_names_judge.error(text)
    ] == []
    assert [text for text in REFUSED if not c_names_judge.error(text)] == []


@pytest.mark.slow
@judged
def test_texts_written_at_random_are_c():
    for seed in range(40):
        rng = random.Random(seed)
        guide = cfgguide.Guide(index())
        for _ in range(rng.randint(1, 50)):
            guide.advance(int(rng.choice(guide.allowed_token_ids())))
            if guide.is_finished:
                break
        for token_id in () if guide.is_finished else guide.shortest_completion():
            guide.advance(token_id)
        assert not c_names_judge.error(guide.text.decode()), guide.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("int f(void) {", 1),
        ("int f(void) {x;", 1),  # `}`, and not one more empty statement
        ("int f(void) {y+&", 4),
        ("int f(void) {f(a, b", 3),
        ("int f(void) {do {x;} while (a", 3),
    ],
)
def test_a_list_is_ended_and_not_gone_on_with(text, n_bytes):
    guide = cfgguide.Guide(index())
    for byte in text.encode():
        guide.advance(byte)
    completion = guide.shortest_completion()[:-1]
    ending = guide.index.vocabulary.spell(completion).decode()
    assert len(ending) <= n_bytes
    assert not c_names_judge.error(text + ending)


_WORDS = [b"int ", b"T", b"typedef int ", b"T;", b" T", b" * ", b"(", b") {", b"; ", b"T x"]
