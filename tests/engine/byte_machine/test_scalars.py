"""Automata of scalars and names against `json`, `re` and `len`."""

from __future__ import annotations

import gc
import itertools
import json
import random
import re
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from cfgguide.automata import ecma_notation as notation
from cfgguide.automata.charset import branches_of
from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.language import Language, grouped
from cfgguide.automata.numbers import NUMBER, decimals
from cfgguide.automata.pattern_automaton import anywhere, automaton_of
from cfgguide.automata.side_by_side import SideBySide
from cfgguide.engine.byte_machine.property_names import PropertyNames
from cfgguide.engine.byte_machine.scalars import (
    Bounded,
    Constants,
    Numbers,
    ScalarAutomaton,
    Strings,
    any_strings,
    ended,
    is_end,
    plain_strings,
    strings_in,
)
from cfgguide.engine.byte_machine.short_ends import ShortestLexemes
from cfgguide.engine.byte_machine.spellings import any_spelling, plain_spelling

#: With all kinds of spellings: escaped if need be, in one plane or in another, near the bounds.
CHARACTERS = 'ab"\\/\n\x00\x1f\x7f\x80éÿ\u07ff\u0800\ud7ff\ue000\uffff\U00010000😀\U0010ffff'
PATTERNS = ("^(aa)*$", "^a", "b", "^[ab]{2,3}$", "é", "^$", "^[^a]*$", "^(ab|😀)+$", "^(?!ab)")


def read(lexemes: ScalarAutomaton, data: bytes) -> int | None:
    """Return the tag with which a string ends; the opening quote is not given. None: refused."""
    key = lexemes.start
    for place, byte in enumerate(data):
        target = lexemes.row(key).after(byte)
        if target is None:
            return None
        if is_end(target):
            return target if place == len(data) - 1 else None
        key = target
    return None


def read_number(lexemes: ScalarAutomaton, data: bytes) -> int | None:
    """Return the tag with which a number ends before a comma; None: refused."""
    key = lexemes.start
    for byte in (*data, ord(",")):
        target = lexemes.row(key).after(byte)
        if target is None or is_end(target):
            break
        key = target
    tag = ended(target) if is_end(target) else -1
    assert lexemes.traits(key).ending == tag
    return tag if is_end(target) and byte == ord(",") else None


def random_text(rng: random.Random, letters: str = CHARACTERS, most: int = 6) -> str:
    return "".join(rng.choices(letters, k=rng.randrange(most)))


def spellings(text: str, rng: random.Random) -> Iterator[bytes]:
    """Yield some spellings that JSON has for a text, after the opening quote."""
    for is_ascii in (False, True):
        yield json.dumps(text, ensure_ascii=is_ascii).encode()[1:]
    yield b"".join(_escape(character, rng) for character in text) + b'"'


def _escape(character: str, rng: random.Random) -> bytes:
    units = character.encode("utf-16-be")
    parts = (f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))
    return "".join(p[:2] + (p[2:].upper() if rng.random() < 0.5 else p[2:]) for p in parts).encode()


def is_plain(data: bytes) -> bool:
    r"""Whether only what JSON does not print in ASCII is escaped, and by a letter if it has one.

    A quote, a backslash and the five control characters that have a letter may not be ``\uXXXX``
    among the others; control characters may.
    """
    for escape in re.findall(rb"\\(?:u[0-9a-fA-F]{4}|.)", data):
        if escape == b"\\/":
            return False
        if escape[:2] == b"\\u" and 0x20 <= int(escape[2:], 16) < 0x7F:
            return False
    return True


def is_json(data: bytes) -> str | None:
    """Return the text that a string of JSON means; None if it is none, or no text of characters."""
    try:
        text = json.loads(b'"' + data)
        text.encode()
    except ValueError:
        return None
    return str(text)


def mutations(data: bytes, rng: random.Random) -> Iterator[bytes]:
    """Yield bytes that are nearly the same; often they are no string any more."""
    for _ in range(6):
        place = rng.randrange(len(data))
        inner = bytes([rng.choice(b'\\"uUdD8c\x00\x1f\x80\xbf\xc3\xe0\xed\xf0\xf4\xff a09n/')])
        yield data[:place] + inner + data[place + rng.randrange(2) :]


def is_found(pattern: str, text: str) -> bool:
    """Return whether a pattern is found; the end of Python's may be before a last newline."""
    return re.search(pattern.replace("$", r"\Z"), text) is not None


@pytest.mark.parametrize("seed", range(30))
def test_strings_are_those_of_json(seed: int) -> None:
    r"""Surrogates apart: ``json`` reads a half of a pair, which `any_strings` leaves alone too."""
    rng = random.Random(seed)
    for _ in range(40):
        for data in spellings(random_text(rng), rng):
            for each in (data, *mutations(data, rng)):
                text = is_json(each)
                if text is None and rb"\ud" in each.lower():
                    continue
                assert (read(any_strings(), each) == 0) == (text is not None), each
                is_right = text is not None and is_plain(each)
                assert (read(plain_strings(), each) == 0) == is_right, each


@pytest.mark.parametrize("seed", range(60))
def test_strings_of_patterns_are_told_apart(seed: int) -> None:
    """By `re.search`: the tag is which of the disjoint languages has the text."""
    rng = random.Random(seed)
    patterns = rng.sample(PATTERNS, rng.randrange(1, 4))
    found = grouped([pattern_language(each) for each in patterns], lambda met: met)
    keys = [key for key in found if rng.random() < 0.7]
    lexemes = Strings([found[key] for key in keys])
    for _ in range(60):
        text = random_text(rng, rng.choice(("ab", "abé😀", CHARACTERS)))
        met = tuple(is_found(each, text) for each in patterns)
        expected = keys.index(met) if met in keys else None
        for data in spellings(text, rng):
            if is_plain(data):
                assert read(lexemes, data) == expected, (patterns, keys, data)


BOUNDS = [(0, None), (0, 0), (0, 3), (2, 2), (3, 3), (2, 5), (4, None), (1, 40), (30, 33)]


@pytest.mark.few(12)
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("pattern", [None, *PATTERNS, "^(aaa)*(bb)*$"])
def test_bounded_strings(pattern: str | None, bounds: tuple[int, int | None]) -> None:
    """By `re.search` and `len`; and from no state on there is nothing."""
    least, most = bounds
    lexemes = Bounded([(pattern and pattern_language(pattern), (least, most))])

    def is_in(text: str) -> bool:
        fits = least <= len(text) and (most is None or len(text) <= most)
        return fits and (pattern is None or is_found(pattern, text))

    rng = random.Random(f"{pattern} {bounds}")
    lengths = [n for bound in (least, most or 9) for n in (bound - 1, bound, bound + 1) if n >= 0]
    texts = ["".join(each) for n in range(5) for each in itertools.product("abé", repeat=n)]
    texts += [letters * n + end for letters in "ab" for n in lengths for end in ("", "b")]
    texts += [random_text(rng, CHARACTERS, 9) for _ in range(40)]
    for text in texts:
        for data in spellings(text, rng):
            if is_plain(data):
                assert (read(lexemes, data) == 0) == is_in(text), data
    if any(map(is_in, texts)):
        assert not lexemes.is_empty
        assert_ends(lexemes, rng)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("pattern", ["^[ab]{3,230}$", "b.{0,8}[ab]", "(?:ab?){1,120}$", "^a*$"])
def test_bounded_strings_of_growing_patterns(pattern: str, bounds: tuple[int, int | None]) -> None:
    """As of the whole automata; and what is said to come at least, comes."""
    language = pattern_language(pattern)
    grown = automaton_of(anywhere(notation.read(pattern)))
    beside = SideBySide([grown, pattern_language("^[^]*[ab]?$")])
    whole, *others = (Bounded([(each, bounds)]) for each in (language, grown, beside))
    rng = random.Random(f"{pattern} {bounds}")
    texts = [random_text(rng, "aaaab", 9) for _ in range(60)]
    texts += [letters * n for letters in ("a", "ab", "b") for n in (1, 2, 15, 19, 31)]
    for lexemes in others:
        assert lexemes.is_empty == whole.is_empty
        if not whole.is_empty:
            assert_ends(lexemes, rng)
        for text in texts:
            for data in spellings(text, rng):
                assert read(lexemes, data) == read(whole, data), data
            assert_nearest(lexemes, json.dumps(text).encode()[1:])
            assert_nearest(whole, json.dumps(text).encode()[1:])


def assert_nearest(lexemes: ScalarAutomaton, data: bytes) -> None:
    """Read a text: as many bytes follow as are said, and no byte leaves fewer by more than one."""
    key, found = lexemes.start, []
    for byte in data:
        found.append(lexemes.nearest(key))
        key = lexemes.row(key).after(byte)
        if key is None or is_end(key):
            break
    assert all(before - after <= 1 for before, after in itertools.pairwise(found))
    if is_end(key):
        assert all(n <= len(data) - place for place, n in enumerate(found))


@pytest.mark.parametrize(
    ("pattern", "bounds"),
    [
        ("^(aa)*$", (3, 3)),
        ("^a{5}$", (0, 4)),
        ("^a{2}$", (3, None)),
        ("^(aaa)*$", (4, 5)),
        ("^(a{7})+$", (8, 13)),
        ("^(a{4}|a{6})*$", (101, 101)),
    ],
)
def test_bounds_that_no_text_has(pattern: str, bounds: tuple[int, int | None]) -> None:
    """Counted by hand."""
    assert Bounded([(pattern_language(pattern), bounds)]).is_empty


@pytest.mark.parametrize(("bounds", "last"), [((0, 215), 210), ((0, 450), 420), ((0, 209), 0)])
@pytest.mark.parametrize(
    "pattern",
    [
        "^(?=(aa)*$)(?=(a{3})*$)(?=(a{5})*$)(?=(a{7})*$)a*$",
        "^((?=(aa)*$)(?=(a{3})*$)(?=(a{5})*$)(?=(a{7})*$)a{210})*$",
        "^(?!(aa)*a$)(?!(a{3})*aa?$)(?!(a{5})*a{1,4}$)(?!(a{7})*a{1,6}$)a*$",
        "^(?=(?=(?=(a{5})*$)(a{3})*$)(aa)*$)(?=(a{7})*$)a*$",
    ],
)
def test_bounds_count_far_away_where_ends_are_rare(
    pattern: str, bounds: tuple[int, int | None], last: int
) -> None:
    """Texts are multiples of 210 characters: the least one of 2, 3, 5 and 7."""
    lexemes = Bounded([(automaton_of(anywhere(notation.read(pattern))), bounds)])
    key = lexemes.start
    for n in range(last + 1):
        row = lexemes.row(lexemes.near(key, 1))
        assert (row.after(ord('"')) is not None, row.after(ord("a")) is not None) == (
            n % 210 == 0,
            n < last,
        )
        key = lexemes.row(key).after(ord("a"))


@pytest.mark.slow
def test_the_end_of_a_long_text_takes_little_memory() -> None:
    """All rests of 8,000 characters would be 32 MB."""
    lexemes = Strings([automaton_of(anywhere(notation.read(f"^{'ab' * 4000}$")))])
    shortest = ShortestLexemes(frozenset(range(256)))
    tracemalloc.start()
    found = shortest.end(lexemes, lexemes.start)
    assert tracemalloc.get_traced_memory()[1] < 24_000_000
    tracemalloc.stop()
    assert found == (b"ab" * 4000 + b'"', 0)
    rest = shortest.end(lexemes, lexemes.row(lexemes.start).after(ord("a")))
    assert rest == ((b"ab" * 4000)[1:] + b'"', 0)


def assert_ends(lexemes: ScalarAutomaton, rng: random.Random, most: int = 60) -> None:
    """Follow random bytes: something always follows."""
    for _ in range(10):
        key = lexemes.start
        for _ in range(most):
            entries = [target for _, target in lexemes.row(key).entries()]
            assert entries, key
            key = rng.choice(entries)
            if is_end(key):
                break


def reached(lexemes: ScalarAutomaton) -> list[Any]:
    """Return the keys of some thousand rows."""
    keys = {lexemes.start: None}
    for key in (queue := list(keys)):
        for _, after in lexemes.row(key).entries():
            if not is_end(after) and after not in keys and len(keys) < 2_000:
                keys[after] = None
                queue.append(after)
    return queue


@pytest.mark.usefixtures("only_what_is_new_is_collected")
def test_rows_and_keys_are_nothing_that_the_collector_looks_through() -> None:
    automaton = automaton_of(anywhere(notation.read("^([a-z]é|[^b-d]{3}){9,40}$")))
    names = PropertyNames(
        [f"name_{n}é" for n in range(99)], strings_in((Language.of_words(["a", "b"]),))
    )
    for lexemes in (Strings([automaton.language]), Bounded([(automaton, (5, 99))]), names):
        keys = reached(lexemes)
        kept = [tuple(lexemes.row(key)) for key in keys]
        for _ in range(9):  # what is inside of tuples is found before these are
            gc.collect()
        assert len(keys) > 500
        assert not any(map(gc.is_tracked, (*keys, *kept)))


NAMES = ("", "a", "ab", "abc", "b", "é", "éa", 'a"b', "a\\", "\n", "😀", "\x7f")


@pytest.mark.few(15)
@pytest.mark.parametrize("seed", range(40))
def test_names(seed: int) -> None:
    """A listed name has its index as its tag, any other one has the next."""
    rng = random.Random(seed)
    names = rng.sample(NAMES, rng.randrange(1, 7))
    others = PropertyNames(names, plain_strings())
    for lexemes, other in ((PropertyNames(names, None), None), (others, len(names))):
        assert_ends(lexemes, rng)
        for text in (*NAMES, *(random_text(rng) for _ in range(30))):
            expected = names.index(text) if text in names else other
            for data in spellings(text, rng):
                if is_plain(data):
                    assert read(lexemes, data) == expected, (names, data)


@pytest.mark.parametrize("seed", range(40))
def test_what_may_come_of_a_name(seed: int) -> None:
    """The set of a state has just the tags of the names that begin so."""
    rng = random.Random(seed)
    names = rng.sample(NAMES, rng.randrange(1, 7))
    for lexemes, other in (
        (PropertyNames(names, None), 0),
        (PropertyNames(names, plain_strings()), 1),
    ):
        for name in names:
            data = next(spellings(name, rng))
            key: Any = lexemes.start
            for place, byte in enumerate(data[:-1]):
                read_so_far = data[: place + 1]
                key = lexemes.row(key).after(byte)
                bits = lexemes.traits(key).below
                begun = [
                    tag
                    for tag, each in enumerate(names)
                    if any(s.startswith(read_so_far) for s in spellings_of(each))
                ]
                assert bits == sum(1 << tag for tag in begun) | other << len(names)


@pytest.mark.parametrize("seed", range(60))
def test_what_may_come_of_a_name_beside_others(seed: int) -> None:
    """Also inside of a character: a language of which all that begins so is listed is not there."""
    rng = random.Random(seed)
    known = [name for name in NAMES if name.isprintable()]  # of which there are two spellings
    names = rng.sample(known, rng.randrange(1, 7))
    texts = ["".join(rng.choices("abé\\😀😁", k=rng.randrange(4))) for _ in range(12)]
    words = [*dict.fromkeys([*known, *texts])]
    rng.shuffle(words)
    groups = [words[::3], words[1::3]]
    groups = [group for group in groups if not set(group) <= set(names)]
    lexemes = PropertyNames(names, strings_in(tuple(map(Language.of_words, groups))))
    tagged = list(enumerate(names)) + [
        (len(names) + tag, word)
        for tag, group in enumerate(groups)
        for word in group
        if word not in names
    ]
    for _, word in tagged:
        for data in spellings_of(word):
            key: Any = lexemes.start
            for place, byte in enumerate(data[:-1]):
                key = lexemes.row(key).after(byte)
                begun = {
                    tag
                    for tag, each in tagged
                    if any(s.startswith(data[: place + 1]) for s in spellings_of(each))
                }
                assert lexemes.traits(key).below == sum(1 << tag for tag in begun)


def spellings_of(name: str) -> list[bytes]:
    """Return what is written where `json.dumps` spells each character in one of two ways."""
    each = [{json.dumps(one, ensure_ascii=a).encode()[1:-1] for a in (False, True)} for one in name]
    return [b"".join(parts) + b'"' for parts in itertools.product(*each)]


@pytest.mark.few(20)
@pytest.mark.parametrize("seed", range(60))
def test_names_and_patterns(seed: int) -> None:
    """By `re.search`; a listed name counts as nothing else."""
    rng = random.Random(seed)
    names = rng.sample(NAMES, rng.randrange(6))
    patterns = rng.sample(PATTERNS, rng.randrange(1, 4))
    found = grouped([pattern_language(each) for each in patterns], lambda met: met)
    keys = [key for key in found if rng.random() < 0.7]
    lexemes = PropertyNames(names, strings_in(tuple(found[key] for key in keys)))
    for text in (*NAMES, *(random_text(rng, "abé😀") for _ in range(60))):
        met = tuple(is_found(each, text) for each in patterns)
        expected = len(names) + keys.index(met) if met in keys else None
        expected = names.index(text) if text in names else expected
        for data in spellings(text, rng):
            if is_plain(data):
                assert read(lexemes, data) == expected, (names, patterns, data)


@pytest.mark.parametrize("seed", range(20))
def test_numbers(seed: int) -> None:
    """By `re.fullmatch`: of any numbers, and of those that two conditions tell apart."""
    rng = random.Random(seed)
    every = Numbers([pattern_language(f"^(?:{NUMBER})$")])
    patterns = rng.sample((r"^-", r"^[^.]*$", r"[05]$", r"^.{0,3}$"), 2)
    asked = [decimals(), *(pattern_language(each) for each in patterns)]
    found = grouped(asked, lambda met: met[1:] if met[0] else None)
    keys = [key for key in found if key is not None]
    sorted_out = Numbers([found[key] for key in keys])
    for _ in range(300):
        text = random_text(rng, "-+.eE0015", 8)
        is_number = re.fullmatch(NUMBER, text) is not None
        assert (read_number(every, text.encode()) == 0) == is_number, text
        met = tuple(is_found(each, text) for each in patterns)
        expected = keys.index(met) if is_number and "e" not in text.lower() else None
        assert read_number(sorted_out, text.encode()) == expected, (text, patterns)


def test_constants() -> None:
    lexemes = Constants({"null": 2, "true": 5})
    for word, tag in (("null", 2), ("true", 5), ("false", None), ("nul", None), ("nullx", None)):
        assert read(lexemes, word.encode()) == tag


@pytest.mark.parametrize("spelling", [plain_spelling, any_spelling])
def test_a_tree_of_spellings_has_each_byte_once(spelling: Any) -> None:
    tree = spelling(((0, 0xD7FF), (0xE000, 0x10FFFF)))
    pending = [tree]
    for each in pending:
        ends = [0, *(high + 1 for _, high, _ in branches_of(each))]
        assert all(low >= end for (low, _, _), end in zip(branches_of(each), ends, strict=False)), (
            "sorted, and apart"
        )
        pending += [rest for _, _, rest in branches_of(each) if rest not in pending]


def test_equal_languages_are_read_alike() -> None:
    words = Language.of_words(["a", "ab"])
    assert [read(Strings([words]), data) for data in (b'a"', b'ab"', b'b"')] == [0, 0, None]
