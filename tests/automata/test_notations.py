"""Readers of regular expressions, each against the program whose notation it is."""

from __future__ import annotations

import itertools
import random
import re
import sys
import unicodedata
from collections.abc import Callable

import pytest
from pydantic_core import SchemaError, SchemaValidator, core_schema
from support import ecma_judge
from support.ci import or_in_ci
from support.pattern_trees import is_found, matches_whole

from cfgguide import errors
from cfgguide.automata import ecma_notation, pattern_notations, rust_patterns, unicode_sets
from cfgguide.automata.charset import CharacterClass
from cfgguide.automata.python_notation import read
from cfgguide.errors import LimitError, PatternError

KELVIN, LONG_S, SEVEN = "\N{KELVIN SIGN}", "\N{LATIN SMALL LETTER LONG S}", "\u0667"
_CHARACTERS = f"ab1K_ \né{KELVIN}{LONG_S}{SEVEN}"
_SHORT = ["".join(each) for n in range(4) for each in itertools.product("aK\n ", repeat=n)]
_PLAIN = ("a", "b", "K", "s", "é", ".", "_", "ab", "", r"\n", " ", KELVIN, LONG_S)
_SETS = (r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", "[ab]", "[^ab]", r"[\W1]", r"[^\d\n]", "[a-k]")


class _Notation:
    """What random patterns are made of."""

    atoms: tuple[str, ...] = (*_PLAIN, *_SETS, "[^K]")
    counts: tuple[str, ...] = ("*", "+", "?", "{2}", "{1,2}", "{2,}", "*?", "+?", "??", "{0}")
    groups: tuple[str, ...] = ("(", "(?:")
    anchors: tuple[str, ...] = ("^", "$", r"\b", r"\B")
    looks: tuple[str, ...] = ("(?=", "(?!")
    behinds: tuple[str, ...] = ()
    characters = _CHARACTERS


class _Python(_Notation):
    counts = (*_Notation.counts, "{,2}")
    groups = ("(", "(?:", "(?P<n%d>", "(?i:", "(?-i:", "(?s:", "(?m:", "(?a:", "(?s-i:")
    anchors = (*_Notation.anchors, r"\A", r"\Z")
    behinds = tuple(
        f"(?<{sign}{body})"
        for sign in "=!"
        for body in ("a", "ab", r"\w", "[^a]b", r"\ba", "^", "(?:a|b)", "$", "(?=a)", "(?<!a)b")
    )


class _Rust(_Notation):
    atoms = (
        *(*_PLAIN, *_SETS, r"\x41", r"\x{212A}", r"\pL", r"\PL", r"\p{Lu}", r"[\p{Nd}a]", r"\-"),
        *("[[:alpha:]1]", "[[:^word:]a]", "[a-k&&[^b]]", r"[\w--a-k]", "[a-k~~b-z]", "[^^a]"),
        *("[]a]", "[-a]", "[a-]", "[&a]", r"[\]\\a]", "[^a-z&&[^ ]]", "[x[^ab][K]]", "(?-u:[ab])"),
        *(r"(?-u:\w)", "(?i:[^k])", r"(?i:\P{Lu})", r"[\W\d]", "[[:foo:]]", "[--a]"),
    )
    counts = (*_Notation.counts, "{ 1 , 2 }", "{2}{2}", "**", "+?*")
    groups = (
        *("(", "(?:", "(?P<n%d>", "(?<n%d>", "(?i:", "(?-i:", "(?s:", "(?m:", "(?s-i:", "(?U:"),
        *("(?mR:", "(?R:", "(?x: ", "(?x-i:", "(?:(?i)", "(?i)(", "((?m)", "(?x)(?:# )\n"),
    )
    anchors = (
        *(*_Notation.anchors, r"\A", r"\z", r"\<", r"\>", r"\b{start}", r"\b{end}"),
        *(r"\b{start-half}", r"\b{end-half}", r"(?-u:\b)"),
    )
    looks = ()
    characters = f"{_CHARACTERS}-\r"


class _Ecma(_Notation):
    atoms = (
        *(
            *_PLAIN,
            *_SETS,
            "[^K]",
            r"\x41",
            r"\u0041",
            r"\cJ",
            r"\/",
            r"\.",
            "[]",
            "[^]",
            "[[]",
            r"[\b]",
        ),
        *(
            r"\p{Lu}",
            r"\P{L}",
            r"[\p{Nd}a]",
            r"\u{1F600}",
            r"\ud83d\ude00",
            r"\0",
            "[a&&b]",
            "[-a]",
        ),
        *(
            "[a-]",
            r"[\]\\a]",
            r"[\u{61}-\u{6b}]",
            "[^-]",
            "[.]",
            "[a||b]",
            "[^&]",
            r"[\-a]",
            "[a\\/]",
        ),
    )
    groups = ("(", "(?:", "(?<n%d>")
    behinds = (
        *("(?<=a)", "(?<!a)", "(?<=^|b)", r"(?<=\w+)", "(?<!a*b)", "(?<=(?:a|ab))", "(?<=$)"),
        *("(?<=[^a])", r"(?<!\bK)"),
    )
    characters = f"{_CHARACTERS}-\r&\u2028\ufeff😀\b\0"


class _Loose(_Ecma):
    """What only the notation without the flag u has."""

    atoms = (
        *(
            *_PLAIN,
            *_SETS,
            "]",
            "}",
            "{",
            "a{",
            "a{,2}",
            "{a}",
            r"\-",
            r"\_",
            r"\ ",
            r"\&",
            r"[a-\d]",
        ),
        *(r"[\w-]", r"[\w-a-k]", r"[\d-K]", r"[\s-b]", r"[\012]", r"[\8]", "x{a}"),
    )
    counts = (*_Ecma.counts, "", "")
    looks = ("(?=", "(?!", "(?=a)*(?:", "(?!b)?(?:")


class _Patterns:
    """Random patterns of a notation, and texts."""

    def __init__(self, notation: type[_Notation], seed: int) -> None:
        self.rng = random.Random(seed)
        self._notation = notation
        self._n_groups = 0

    def pattern(self, depth: int) -> str:
        rng, notation = self.rng, self._notation
        if depth == 0:
            return rng.choice(notation.atoms)
        kind, inner = rng.randrange(12), self.pattern(depth - 1)
        if kind == 11 and notation.behinds:
            return rng.choice(notation.behinds) + inner
        if kind == 10 and notation.looks:
            return f"{rng.choice(notation.looks)}{inner})"
        if kind >= 8:
            anchor = rng.choice(notation.anchors)
            return anchor + inner if rng.random() < 0.5 else inner + anchor
        if kind >= 6:
            return f"{self._group()}{inner}){rng.choice(notation.counts)}"
        if kind >= 4:
            return f"{self._group()}{inner}|{self.pattern(depth - 1)})"
        return inner + self.pattern(depth - 1)

    def texts(self) -> list[str]:
        some = self.rng.choices(self._notation.characters, k=30)
        cuts = range(0, 30, 3)
        words = ["".join(some[cut : cut + self.rng.randrange(6)]) for cut in cuts]
        return [*self.rng.sample(_SHORT, 15), *words]

    def _group(self) -> str:
        self._n_groups += 1
        group = self.rng.choice(self._notation.groups)
        return group % self._n_groups if "%" in group else group


def test_each_code_point_has_the_category_that_unicodedata_says():
    expected: dict[str, list[int]] = {}
    for point in itertools.chain(range(0xD800), range(0xE000, sys.maxunicode + 1)):
        expected.setdefault(unicodedata.category(chr(point)), []).append(point)
    for name, points in expected.items():
        assert unicode_sets.named(name) == CharacterClass.of_characters(points)


_FLAGS = (0, 0, re.ASCII, re.IGNORECASE, re.MULTILINE, re.DOTALL, re.IGNORECASE | re.ASCII)


def _check_python(n_patterns: int, seed: int) -> None:
    patterns = _Patterns(_Python, seed)
    for _ in range(n_patterns):
        pattern, flags = patterns.pattern(3), patterns.rng.choice(_FLAGS)
        match = re.compile(pattern, flags).fullmatch
        nodes = read(pattern, flags)
        for text in patterns.texts():
            assert matches_whole(nodes, text) == bool(match(text)), (pattern, flags, text)


def test_patterns_of_python_match_what_re_matches():
    _check_python(300, seed=0)


@pytest.mark.slow
def test_twenty_thousand_patterns_of_python_match_what_re_matches():
    _check_python(or_in_ci(20_000, 5_000), seed=1)


def _of_rust(pattern: str) -> Callable[[str], bool] | None:
    """Return whether Rust finds a pattern in a text; None if Rust does not read it."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    except SchemaError:
        return None


def _check_rust(n_patterns: int, seed: int) -> None:
    patterns = _Patterns(_Rust, seed)
    n_read = 0
    for _ in range(n_patterns):
        pattern = patterns.pattern(3)
        find = _of_rust(pattern)
        if find is None:  # such as a count after flags
            continue
        n_read += 1
        nodes = rust_patterns.read(pattern)
        for text in patterns.texts():
            assert is_found(nodes, text) == find(text), (pattern, text)
    assert n_read > n_patterns // 2


def test_patterns_of_rust_are_found_where_pydantic_finds_them():
    _check_rust(200, seed=0)


# What Rust reads in its own way: a set in a place for one, alone and as a part of a set.
_CLASSES = (
    *(r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\pL", r"\PL", r"\p{Lu}", r"\P{Lu}", r"\p{isLU}"),
    *(r"\p{gc=L}", r"\p{gc!=L}", r"\p{gc:Nd}", r"\p{lowercase letter}", r"\p{ L }", r"\p{LC}"),
    *(r"\p{Any}", r"\p{Assigned}", r"\P{Assigned}", r"\p{ASCII}", r"\pC", r"\PC", r"\p{Cn}"),
    *(r"\p{punct}", r"\p{cntrl}", r"\p{Combining_Mark}", r"\p{space}", r"\p{White_Space}", r"\pM"),
    *("[a-c&&b]", "[a-z&&[^aeiou]]", "[a-g--c]", "[a-c~~b-d]", "[a-z&&b-y--c]", "[&&a]", "[a&&]"),
    *(
        "[a&b]",
        "[a~b]",
        "[--a]",
        "[a---]",
        "[a-c--b-]",
        "[^-a]",
        "[]a]",
        "[^]a]",
        "[a-b-c]",
        "[^[^a]]",
    ),
    *("[[:alpha:]-z]", "[[:^lower:]]", "[[:lower:]]", "[[:word:]]", "[[:punct:]]", "[[:foo:]]"),
    *(
        "[[.a.]]",
        "[[=a=]]",
        r"[\]\-]",
        r"[\x{61}-\u007a]",
        r"[\x00-\x7f--\w]",
        r"[\w&&[^a-z]]",
        "k",
    ),
    *(
        "s",
        "ß",
        "ı",
        "İ",
        "σ",
        ".",
        "(?s:.)",
        "(?R:.)",
        "(?-u:[a-z])",
        r"(?-u:\w)",
        "}",
        "]",
        r"\&",
    ),
)
_MORE = (
    *(
        "^$",
        "a$",
        r"a\z",
        "(?m)a$",
        "(?m)^a",
        "(?m)^$",
        "(?mR)a$",
        "(?mR)^a",
        "(?mR)^$",
        r"(?mR)\n^",
    ),
    *(
        r"(?mR)$\n",
        "(?R)a$",
        "^*a",
        r"^a\b+",
        r"\b{3}a",
        r"\b{start}a",
        r"a\b{end}",
        r"\B{2}",
        r"^\B$",
    ),
    *(r"\b{start-half}a\b{end-half}", r"(?x)\b{ start }", r"\<a\>", r"(?-u:\b)a", r"(?-u:\B)a"),
    *(
        "a{ 3 , 5 }",
        "a{3, 5}",
        "^a{2}{2}$",
        "^(?:a{2})*$",
        "^a+?*$",
        "^a{0}$",
        "(?x)a {2}",
        "(?x)a{ 2 }",
    ),
    *(
        "(?P<é>a)",
        "(?<a.b[0]>a)",
        "(?i)k|b",
        "(?:(?i)a)b",
        "a(?i)b|c",
        "(?U)^a+$",
        "(?u)a",
        "a|",
        "()",
    ),
    *("(?x) # a", "(?x)a#c\nb", "(?x)[a#b\n]c]", "(?x)[a-\n k]", r"(?x)\x { 41 }", "(?x)^a+ ?$"),
    *("(?x)( ?:a)", "(?x)[ a - c ]", "(?x)[^ -a]", r"(?x)a\ b", r"(?x)a[ \ ]", "(?x)a(?-x) b"),
    *("(?x:a b) c", "^(?i-u)[k]$", "(?s-i:.)(?i:a)", r"^(?:\r\n|[^\r\n])*$", r"(?:^|b)a(?:$|c)"),
)
_HARD = (
    "abcAKks1_-. \n\r\té²\u0301\u0967\u0663ſ\u1c80ßẞıİ/&~[]^σςΣ\u200d\u203f\x85\xa0\u2028\ufffe😀Ⓐ½"
)


def test_what_rust_reads_in_its_own_way_is_found_where_pydantic_finds_it():
    pieces = ("^{}$", "^(?i){}$", "^[{}_]$", "^(?i)[^{}]$")
    patterns = [piece.format(each) for piece in pieces for each in _CLASSES] + [*_MORE]
    texts = ["", *_HARD, *map("".join, itertools.product("ab\n\r -", repeat=2)), "aaaa", "KELVIN"]
    n_read = 0
    for pattern in patterns:
        find = _of_rust(pattern)
        if find is not None:
            n_read += 1
            nodes = rust_patterns.read(pattern)
            wrong = [text for text in texts if is_found(nodes, text) != find(text)]
            assert wrong == [], pattern
    assert n_read >= 300


@pytest.mark.slow
def test_twenty_thousand_patterns_of_rust_are_found_where_pydantic_finds_them():
    _check_rust(or_in_ci(20_000, 5_000), seed=1)


def _check_ecma(notation: type[_Notation], n_patterns: int, seed: int) -> None:
    patterns = _Patterns(notation, seed)
    cases = [(patterns.pattern(3), patterns.texts()) for _ in range(n_patterns)]
    n_read = 0
    for (pattern, texts), said in zip(cases, ecma_judge.judged(cases), strict=True):
        if said is None:
            with pytest.raises(errors.SchemaError):
                ecma_notation.read(pattern)
            continue
        flags, found = said
        n_read += 1
        nodes = ecma_notation.read(pattern)
        for text, is_there in zip(texts, found, strict=True):
            # Without the flag u some characters are two, and even with it node finds `\\B` in one.
            if (flags and r"\B" not in pattern) or max(text, default="") < "\ud800":
                assert is_found(nodes, text) == is_there, (pattern, flags, text)
    assert n_read > n_patterns // 2


@pytest.mark.skipif(ecma_judge.PROGRAM is None, reason=ecma_judge.REASON)
@pytest.mark.parametrize("notation", [_Ecma, _Loose])
def test_patterns_of_ecma_are_found_where_node_finds_them(notation):
    _check_ecma(notation, 300, seed=0)


@pytest.mark.slow
@pytest.mark.skipif(ecma_judge.PROGRAM is None, reason=ecma_judge.REASON)
@pytest.mark.parametrize("notation", [_Ecma, _Loose])
def test_twenty_thousand_patterns_of_ecma_are_found_where_node_finds_them(notation):
    _check_ecma(notation, 10_000, seed=1)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"[\1](a)\1", "a backreference at position 7, which .* write out the texts"),
        ("(?P<x>a)(?P=x)", "a backreference at position 8,"),
        ("a(?>b)", "an atomic group at position 1,"),
        ("[*+]b{1,2}+", "a possessive quantifier at position 9,"),
        ("(a)?(?(1)b|c)", "a conditional group at position 4,"),
        ("a(", "unterminated subpattern at position 1"),
        ("(?<=a*)b", "look-behind requires fixed-width"),
    ],
)
def test_what_python_or_no_automaton_reads_is_refused(pattern, message):
    with pytest.raises(PatternError, match=message):
        read(pattern)


def test_groups_nested_too_deeply_are_refused():
    with pytest.raises(LimitError, match="nests groups too deeply"):
        read("(" * 5000 + ")" * 5000)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"(a)\1", "at position 3: a backreference is not supported; write out"),
        (r"(?<n>a)\k<n>", "at position 7: a backreference"),
        ("a(?>b)", r"at position 1: \(\?> begins no group"),
        ("a(b", "at position 1: this group is never closed"),
        ("a)", "at position 1: this bracket closes nothing"),
        ("b[z-a]", "at position 2: a range goes from one character to a later one"),
        ("ba{3,2}", "at position 2: the range 3 to 2 ends before it begins"),
        ("a*{2}", "at position 2: there is nothing to repeat"),
        ("^*", "at position 1: what stands before this is a place"),
        (r"a\Z", r"at position 1: it has \\Z, which ECMA-262 does not know"),
        (r"\p{Greek}", r"at position 0: \\p{Greek} is not a general category"),
        ("a|(?x: b)", "at position 2: the flag x"),
        ("(" * 101 + ")" * 101, "at position 100: more than 100 groups"),
        (r"(?rust)a\1", r"at position 1: \\1 is not supported"),
        ("(?rust)a{,3}", "at position 1: a count is written"),
        (r"(?python)(a)\1", "a backreference at position 3"),
    ],
)
def test_what_no_notation_or_automaton_reads_is_refused_at_its_place(pattern, said):
    with pytest.raises(errors.SchemaError, match=said):
        pattern_notations.read(pattern)


@pytest.mark.parametrize("head", ["ecma", "python", "rust"])
def test_common_spaces_are_fewer_texts_only_where_that_is_sure(head):
    bodies = (r"a\s", r"[\sa]", r"[^\s]", r"[\s\S]", r"\S", r"(?:\s|b)+", r"[a\-\s]", r"[\s-]")
    others = (
        (r"[\sa&&[^a]]", r"[[^\s]a]", r"(?x)[\s b]", r"[\x00-\x20--\s]") if head == "rust" else ()
    )
    spaces = " \t\n\r\x0b\f\xa0\u2003"
    texts = ["", *"ab-", *spaces, *(f"a{each}" for each in spaces)]
    for body in (*bodies, *others):
        pattern = f"(?{head})^(?:{body})$" if head != "ecma" else f"^(?:{body})$"
        tidy = pattern_notations.with_common_spaces(pattern)
        wide, narrow = (
            {text for text in texts if is_found(pattern_notations.read(each), text)}
            for each in (pattern, tidy)
        )
        assert narrow <= wide
        assert {text for text in wide if not set(text) & {*spaces[4:]}} <= narrow
        keeps = any(part in body for part in ("[^", "S", "--", "&&"))
        assert narrow == (wide if keeps else {t for t in wide if not set(t) & {*spaces[4:]}})
