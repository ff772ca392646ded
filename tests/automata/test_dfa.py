r"""The machine of a pattern matches what Python's ``re`` matches, byte for byte.

`re` itself gives the expected values. A machine has no empty match, and Lark allows none: where
`re` prefers the empty match, the machine must say None.
"""

from __future__ import annotations

import itertools
import random
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cfgguide
from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.dfa import DEAD, Fsm
from cfgguide.errors import LimitError, PatternError

TEXTS = ["".join(letters) for n in range(7) for letters in itertools.product("ab", repeat=n)]
TEXTS += ["".join(letters) for n in range(1, 5) for letters in itertools.product("abc", repeat=n)]


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail what takes longer: a machine that explodes would never end."""

    def stop(signal_number: int, frame: object) -> None:
        raise TimeoutError(f"more than {seconds} seconds")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def preferred(pattern: str, text: str) -> int | None:
    """Return the length in bytes of the match that `re` prefers, or None; never 0."""
    match = re.match(pattern, text)
    return len(match[0].encode()) or None if match else None


def machine(pattern: str, flags: int = 0) -> Fsm:
    return fsm_of_pattern(pattern, name="X", flags=flags)


PATTERNS = [
    # greedy and lazy
    "a*b", "a+?b", "a*?b?", "(?:ab?)+?b", "(?:a|b)*?bb", "a.*?b", "a.*b", "a??b??a",
    # ordered alternation
    "a|ab", "ab|a", "(?:a|ab)(?:c|bcd)", "(?:a|ab|abc)b?", "(?:|a)b", "(?:a||b)a", "(?:ab|a)*b",
    # counted
    "a{2}", "a{2,}", "a{,2}b", "a{1,3}", "a{1,3}?b?", "(?:ab|a){2,3}", "(?:a{1,2}){2}", "a{0}b",
    # loops over what may be empty
    "(?:a?)*b", "(?:a*)*b", "(?:a*)+", "(?:a??)*b", "(?:|a)*b", "(?:a|)+b", "(?:a*?b??)*c",
    "(?:(?:a|b?)*c?)*", "(?:a?b??)+?c", "(?:a*?)*?b", "(?:|a){2,}b", "(?:(?:|a)+b)*",
    # rounds that were empty end a counted repetition too
    "(?:ab|c??){0,2}a", "(?:ab|c{0,2}?){,2}a", "(?:|a[ab]|c){1,3}b", "(?:(?:b|)|c[ab]){,2}b",
    # classes
    "[ab]+c", "[^a]+", "[^ab]", ".", ".{2}", r"\w+?c", r"[\w]b", r"[^\W]a", r"\S\s?",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_preferred_match_is_that_of_re(pattern):
    fsm = machine(pattern)
    assert {text: fsm.match(text.encode()) for text in TEXTS} == {
        text: preferred(pattern, text) for text in TEXTS
    }


atoms = st.sampled_from(["a", "b", "ab", "[ab]", "[^a]", ".", "", "c"])
quantifiers = st.builds(
    "{}{}".format,
    st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{,3}"]),
    st.sampled_from(["", "?"]),
)
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, quantifiers),
    ),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(patterns)
def test_random_patterns_match_as_in_re(pattern):
    fsm = machine(pattern)
    compiled = re.compile(pattern)
    for text in TEXTS:
        match = compiled.match(text)
        assert fsm.match(text.encode()) == ((match and match.end()) or None), text


# --- Look-behind: what it sees of the text before the match is tried too -----------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "aa+(?<=aa)b", "a(?:a|b)*(?<!bb)c", "a[abc]*?(?<!a)c", '"[ab"]*?(?<!a)(aa)*?"',
        "(?:a(?<=a)|b(?<!a))+c", "ab(?<=ab)|a(?<!b)", "éa[éa]*(?<=aé)",
        "(?:a|b)(?:c|(?<=b)a)*",
    ],
)  # fmt: skip
def test_a_look_behind_inside_the_lexeme_matches_as_in_re(pattern):
    fsm, compiled = machine(pattern), re.compile(pattern)
    for before in ("", "a", "b", "ab", "ba", "aa", "é"):
        for text in [*TEXTS, *(f'"{text}"' for text in TEXTS[:60]), "éaé", "éé", "éaaéa"]:
            match = compiled.match(before + text, len(before))
            length = len(match[0].encode()) if match else 0
            data, position = (before + text).encode(), len(before.encode())
            assert (fsm.match(data, position=position) or 0) == length, (before, text)


LOOKING = [
    # what the text before a lexeme means
    "(?<=a)b+", "(?<!a)b+", "(?<=ab)a|b", "(?<!ab)a+", "(?<=é)a", "(?<=(?<!a)b)a", "(?<!^b)a",
    # what the text behind it means, and behind that
    "a(?=b)", "a(?!b)", "a+(?!a)", "a*?(?=b)b?", "a(?=b*c)[ab]*", "a(?!b*c)[ab]*", "(?=ab)a",
    "(?!ab)[ab]+", "(?:(?!bb)[ab])+", "(?:a(?=b)|b(?!b))+", "a(?=b(?=c))b?", "a(?!b(?!c))b?",
    "(?=a(?!b))ac?|b", "a(?=)", "a(?!)|b", "(?:a|(?=b))+b", "(?:(?=a)|b)*a", "é(?!é)",
    "(?:ab(?=a)|ab|a)(?:a(?!b)|b)?", "(?=(?:a|ab)c)a+b?", "(?:a(?!b)|ab(?!c)|abc)",
    # anchors and boundaries
    "^a", "a$", "^a*$", r"\Aa", r"a\Z", "(?m:^)a+", "a+(?m:$)", "(?m:^a*$)", r"(?s:.)+$",
    "a(?:$|b)", r"\ba+", r"a+\b", r"a+\B", r"\Ba", r"a\b ?", r"(?a:\b)a", r"\b\w+\b", r"é\b|é",
    "a(?=$)",
]  # fmt: skip


@pytest.mark.few(16)
@pytest.mark.parametrize("pattern", LOOKING)
def test_look_around_matches_as_in_re_at_every_place_of_a_text(pattern):
    fsm, compiled = machine(pattern), re.compile(pattern)
    texts = ["".join(letters) for n in range(6) for letters in itertools.product("abc", repeat=n)]
    texts += ["".join(letters) for n in range(6) for letters in itertools.product("aé\n", repeat=n)]
    texts += ["".join(letters) for n in range(5) for letters in itertools.product("ab ", repeat=n)]
    for text in texts:
        for position in range(len(text) + 1):
            match = compiled.match(text, position)
            length = len(match[0].encode()) if match else 0
            start = len(text[:position].encode())
            assert (fsm.match(text.encode(), position=start) or 0) == length, (text, position)


looking_patterns = st.recursive(
    st.one_of(atoms, st.sampled_from([r"\b", r"\B", "^", "$", r"\Z", "(?m:^)", "(?m:$)", r"\w"])),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, quantifiers),
        st.builds("(?={})".format, inner),
        st.builds("(?!{})".format, inner),
        st.builds("(?<{}{})".format, st.sampled_from("=!"), st.sampled_from(["a", "b", "ab", "."])),
    ),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(looking_patterns, st.text("ab\n é", max_size=8), st.integers(0, 8))
def test_random_look_around_matches_as_in_re(pattern, text, position):
    position = min(position, len(text))
    match = re.compile(pattern).match(text, position)
    found = machine(pattern).match(text.encode(), position=len(text[:position].encode()))
    assert found == ((match and len(match[0].encode())) or None)


def test_text_before_that_cannot_matter_is_not_told_apart():
    assert len(machine("b(?<=[ab]b|b)").starts) == 1  # true after any text
    assert len(machine(r'".*?(?<!\\)"').starts) == 1
    assert len(machine("(?<=a)b").starts) == 2


# --- Characters ---------------------------------------------------------------------------------

CHARACTER_PATTERNS = [
    r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", ".", "(?s:.)",
    r"(?a:\w)", r"(?a:\W)", r"(?a:\s)", r"(?a:\d)",
    "[^é]", "[à-ÿ]", "[߿-ࠀ]", "[\U0000ffff-\U00010000]", "[\U0010fffe-\U0010ffff]", r"[^\d\s]",
    "(?i:k)", "(?i:s)", "(?i:[a-z])", "(?i:[^a-z])", "(?i:ß)", "(?i:İ)", "(?i:ı)", "(?i:[ǅ])",
    "(?i:µ)", "(?i:\u0345)", "(?i:ﬅ)", r"(?i:[\u0370-\u03ff])", r"(?i:[^\W_])", "(?i:Ω)",
    "(?i:[\U00010400-\U00010410])", "(?i:\U00010400)", "(?ai:k)", "(?ai:[K-é])", "(?ai:é)",
    "(?i:k(?-i:K))", r"(?a:(?u:\w))", r"(?u:(?a:\w))", r"(?a:\w|(?u:\d))", r"(?ai:[a-z](?u:k))",
    # Before 3.14 `re` never finds a single capital above U+FFFF in a class that ignores case.
    pytest.param("(?i:[a\U0001040c\U00010434])", id="lower and capital"),
    pytest.param("(?i:[a\U0001040c])", id="capital"),
    pytest.param("(?i:[^\U0001040c])", id="no capital"),
]  # fmt: skip

# Where ranges, encodings and cases change; and some characters at random.
_SAMPLE = random.Random(0).sample(range(0x110000), 3000)
SAMPLE = [
    chr(point)
    for point in sorted({*range(0x600), *range(0x7F0, 0x810), *_SAMPLE, 0x1FBE, 0x2126, 0x212A}
    | {*range(0xD7F0, 0xE010), *range(0xFFF0, 0x10010), *range(0x10400, 0x10450)}
    | {*range(0x10FFF0, 0x110000), *range(0xFB00, 0xFB07), *range(0x1E90, 0x1EA0)})
    if not 0xD800 <= point <= 0xDFFF
]  # fmt: skip


@pytest.mark.parametrize("pattern", CHARACTER_PATTERNS)
def test_characters_match_as_in_re(pattern):
    fsm, compiled = machine(pattern), re.compile(pattern)
    for character in SAMPLE:
        match = compiled.match(character * 2)  # twice, for the pattern of two characters
        length = len(match[0].encode()) if match else None
        assert fsm.match((character * 2).encode()) == length, f"U+{ord(character):04X}"


@pytest.mark.slow
@pytest.mark.parametrize("pattern", CHARACTER_PATTERNS)
def test_every_character_matches_as_in_re(pattern):
    fsm, compiled = machine(pattern), re.compile(pattern)
    for point in itertools.chain(range(0xD800), range(0xE000, 0x110000)):
        character = chr(point)
        expected = compiled.match(character) is not None
        assert (fsm.match(character.encode()) is not None) == expected, f"U+{point:04X}"


@pytest.mark.parametrize(
    ("flags", "pattern", "text"),
    [
        (flags, pattern, text)
        for flags in (0, re.IGNORECASE, re.DOTALL, re.ASCII | re.IGNORECASE)
        for pattern in ("a.c", "É", r"\w+", "[^K]", "(?-i:a)")
        for text in ("a\nc", "ABC", "É", "é", "\u212a", "K", "k", "a", "A")
        if not (pattern == "(?-i:a)" and flags & re.ASCII)
    ],
)
def test_flags_count_from_the_start(flags, pattern, text):
    match = re.compile(pattern, flags).match(text)
    expected = len(match[0].encode()) if match else None
    assert machine(pattern, flags).match(text.encode()) == expected


@pytest.mark.parametrize(
    ("data", "length"),
    [
        (b"\xc3\xa9", 2),  # é
        (b"\xc3", None),  # half of it
        (b"\xa9\xc3", None),  # the wrong way round
        (b"\xc0\x80", None),  # overlong
        (b"\xe0\x80\x80", None),  # overlong
        (b"\xed\xa0\x80", None),  # a surrogate
        (b"\xed\x9f\xbf", 3),  # U+D7FF
        (b"\xf4\x8f\xbf\xbf", 4),  # U+10FFFF
        (b"\xf4\x90\x80\x80", None),  # one more
        (b"\xff", None),
    ],
)
def test_any_character_is_well_formed_utf8(data, length):
    assert machine("(?s:.)").match(data) == length


# --- The machine ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(patterns)
def test_no_two_states_are_alike(pattern):
    """The textbook's partition, refined until nothing changes, leaves every state alone."""
    fsm = machine(pattern)
    blocks = [-1 if state == DEAD else int(final) for state, final in enumerate(fsm.is_final)]
    columns = np.unique(fsm.transitions, axis=1).tolist()  # bytes that act alike, once
    while True:
        seen: dict[tuple[int, ...], int] = {}
        rows = [
            (blocks[state], *(blocks[target] for target in row))
            for state, row in enumerate(columns)
        ]
        refined = [seen.setdefault(row, len(seen)) for row in rows]
        if len(set(refined)) == len(set(blocks)):
            break
        blocks = refined
    # A pattern that matches nothing has a start like the dead state.
    assert len(set(blocks)) >= fsm.n_states - (not fsm.is_final.any())


def test_a_machine_keeps_its_promises():
    fsm = machine("(?:a|b)*abb")
    assert fsm.n_states == 5  # four of the textbook (Aho et al., figure 3.36), and the dead one
    assert (fsm.transitions.dtype, fsm.is_final.dtype) == (np.int32, np.bool_)
    assert fsm.transitions.shape == (5, 3)  # a, b, and all that it never reads
    assert fsm.byte_classes.shape == (256,)
    assert not fsm.transitions[DEAD].any()
    assert np.flatnonzero(fsm.after_bytes(fsm.starts[0])).tolist() == [*b"ab"]


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        (r"(a)\1", "a backreference"),
        (r"(?P<q>a)(?P=q)", "a backreference"),
        (r"(?i:(a)\1)", "a backreference"),
        ("(?>a)", "an atomic group"),
        ("a++", "a possessive quantifier"),
        ("(a)?(?(1)b|c)", "a conditional group"),
        ("a(?<=a(?!b))", "a look-ahead, \\b or $ inside a look-behind"),
        (r"ab(?<=\bb)", "a look-ahead, \\b or $ inside a look-behind"),
    ],
)
def test_what_is_not_supported_is_named_with_its_terminal(pattern, what):
    grammar = cfgguide.Grammar(f'start: "x" WORD\nWORD: /{pattern}/')
    vocabulary = cfgguide.Vocabulary([b"a", None], eos_token_ids=1)
    with pytest.raises(PatternError) as caught:
        cfgguide.compile(grammar, vocabulary)
    assert str(caught.value).startswith(f"[pattern] terminal WORD uses {what}")
    assert pattern in str(caught.value)
    assert str(caught.value).rpartition("; ")[2].split()[0] in ("write", "use", "put")  # a way out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        ("(?:a|b|ab)*c{1,50000}", "max_nfa_states"),
        (r"\w{3000}", "max_nfa_states"),
        ("(?:(?:(?:a{0,99}){0,99}){0,99}){0,99}", "max_nfa_states"),
        ("(?:a|b)*a(?:a|b){20}", "max_fsm_states"),
        ("(?s:.)*a(?s:.){15}", "max_fsm_states"),
        ("(" * 2000 + "a" + ")" * 2000, "nests groups too deeply"),
        ("(" * 150 + "a" + ")" * 150, "max_nesting"),
        ("(?:(?:a|b)*a(?:a|b){20}(?!b)|ab)", "max_fsm_states"),
        ("".join(f"(?!w{i}x--)" for i in range(500)) + r"\w+", "max_nesting"),
        ("(?<=a.{20})b", "max_fsm_states"),
    ],
    ids=lambda value: value[:30],
)
def test_a_machine_that_grows_too_large_is_refused_soon(pattern, limit):
    with at_most(20), pytest.raises(LimitError, match=limit) as caught:
        machine(pattern)
    assert "terminal X" in str(caught.value)


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("x" + "(?:a?)*" * 40, id="side by side"),
        pytest.param("x" + "(?:" * 40 + "a*" + ")*" * 40, id="nested"),
        pytest.param("x(?:" + "(?:a?)*" * 12 + ")*", id="both"),
        pytest.param("x" + "(?:" * 8 + "a" + "){0,2}" * 8, id="counted"),
    ],
)
def test_loops_over_what_may_be_empty_do_not_explode(pattern):
    with at_most(5):
        fsm = machine(pattern)
    assert [fsm.match(text) for text in (b"x", b"xaab", b"a")] == [1, 3, None]


@pytest.mark.parametrize(
    ("pattern", "n_states"),
    [
        # Any of 5000 words: all decimals of four digits below that, and the dead state.
        ("|".join(f"k{i:04}" for i in range(5000)), 7),
        ("a{0,5000}b", 5003),
        # A character has 7 states inside (one for each way to go on after the first bytes of its
        # UTF-8 form) and one after it.
        ("[^x]{1,500}", 8 * 500 + 2),
    ],
    ids=["words", "counted", "characters"],
)
def test_large_but_plain_patterns_are_no_trouble(pattern, n_states):
    with at_most(20):
        assert machine(pattern).n_states == n_states
