"""Automata of patterns: made while texts are read or at once, and as `re` matches."""

from __future__ import annotations

import gc
import itertools
import json
import pickle
import random
import re
import sys
from types import ModuleType
from typing import Any

import pytest
from support.ci import or_in_ci

from cfgguide.automata import python_notation
from cfgguide.automata.ecma_notation import read
from cfgguide.automata.ecma_patterns import later_language, pattern_language
from cfgguide.automata.language import (
    DEAD,
    IN_JSON,
    IN_UTF8,
    NO_TEXTS,
    Language,
    TextAutomaton,
    accepts,
    after,
    intersection,
    words_of,
)
from cfgguide.automata.pattern_automaton import (
    GrowingAutomaton,
    anywhere,
    automaton_of,
)
from cfgguide.automata.side_by_side import SideBySide, all_of
from cfgguide.errors import SchemaError

_ALPHABET = "abcé\n\U00010000"
#: Neither more than a few states nor fewer than 2 ** 18, and too large a tree to be small.
HUGE = "^(?:x{0,210}|[ab]*a[ab]{17})$"


def _node(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(7) if depth else 0
    if kind < 2:
        return rng.choice(["a", "b", "c", "[ab]", ".", "[^a]", "é", "[]", ""])
    if kind == 2:
        return f"(?:{_node(rng, depth - 1)}|{_node(rng, depth - 1)})"
    if kind == 3:
        count = rng.choice(["*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,4}"])
        return f"(?:{_node(rng, depth - 1)}){count}"
    return _node(rng, depth - 1) + _node(rng, depth - 1)


def _pattern(rng: random.Random) -> str:
    branches = rng.choice([1, 1, 2])
    return "|".join(
        rng.choice(["^", ""]) + _node(rng, 3) + rng.choice(["$", ""]) for _ in range(branches)
    )


def _grown(pattern: str) -> GrowingAutomaton:
    return automaton_of(anywhere(read(pattern)))


def _grown_pattern(rng: random.Random) -> tuple[str, GrowingAutomaton]:
    pattern = _pattern(rng)
    return pattern, _grown(pattern)


def _looking_pattern(rng: random.Random, depth: int) -> str:
    """A pattern that `re` and ECMA-262 read alike, mostly: with looks, and counts inside counts."""
    kind = rng.randrange(9) if depth else 0
    if kind < 2:
        return rng.choice(["a", "b", "c", "[ab]", ".", "[^a]", "é", "", r"\b", "^", "$"])
    if kind == 2:
        return f"(?:{_looking_pattern(rng, depth - 1)}|{_looking_pattern(rng, depth - 1)})"
    if kind == 3:
        count = rng.choice(["*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,4}", "{2,5}"])
        return f"(?:{_looking_pattern(rng, depth - 1)}){count}"
    if kind == 4:
        return f"(?{rng.choice(['=', '!', '<=', '<!'])}{_looking_pattern(rng, depth - 1)})"
    return _looking_pattern(rng, depth - 1) + _looking_pattern(rng, depth - 1)


_SHORT_TEXTS = ["".join(each) for n in range(5) for each in itertools.product("abé\n", repeat=n)]


def _check_as_re(seed: int) -> int:
    """Check a random pattern on all short texts; return 1, or 0 if one of the two refuses it."""
    pattern = _looking_pattern(random.Random(seed), 4)
    try:
        find = re.compile(pattern.replace("$", r"\Z"), re.ASCII).search
        automaton = _grown(pattern)
    except (re.error, SchemaError):  # look-behinds of several widths; looks inside of them
        return 0
    for text in _SHORT_TEXTS:
        assert accepts(automaton, text) == bool(find(text)), (pattern, text)
    return 1


def test_random_patterns_match_as_re_does() -> None:
    assert sum(map(_check_as_re, range(200))) > 150


@pytest.mark.slow
def test_thousands_of_random_patterns_match_as_re_does() -> None:
    n_patterns = or_in_ci(8000, 2000)
    assert sum(map(_check_as_re, range(200, 200 + n_patterns))) > 0.75 * n_patterns


def _a_times(inner: tuple[int, int], outer: tuple[int, int]) -> str:
    return f"^(?:a{{{inner[0]},{inner[1]}}}){{{outer[0]},{outer[1]}}}$"


@pytest.mark.parametrize("inner", [(1, 3), (3, 4), (5, 5), (4, 900), (0, 7)])
@pytest.mark.parametrize("outer", [(1, 2), (2, 5), (0, 3), (7, 7), (2, 1_000_000)])
def test_counts_inside_counts(inner: tuple[int, int], outer: tuple[int, int]) -> None:
    """By hand: n letters are so many rounds, each of them within its bounds."""
    automaton = _grown(_a_times(inner, outer))
    state = automaton.start
    for n in range(60):
        rounds = range(outer[0], min(outer[1], 60) + 1)
        expected = any(inner[0] * k <= n <= inner[1] * k for k in rounds)
        assert (state != DEAD and automaton.is_end(state)) == expected, n
        state = after(automaton, state, "a") if state != DEAD else DEAD


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^(?:\w+[,;.]? ?){1,100}$", "ab, " * 100),
        (r"^(?:[a-z]{1,20} ?){1,50}$", ("a" * 20 + " ") * 50),
        ("^(?:a{1,100}){1,100}$", "a" * 10_000),
        ("^(?:(?:a{1,20}b?){1,20}c?){1,9}$", (("a" * 20 + "b") * 20 + "c") * 9),
        ("^(?:a?){5000}$", "a" * 5000),
        ("^a{50,1000000}$", "a" * 1_000),
        (r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[^\w\s]).{8,64}$", "aB1-" * 16),
    ],
)
def test_counts_are_not_written_out(pattern: str, text: str) -> None:
    """Of the longest text no more states are made than it has characters, or some more."""
    automaton = _grown(pattern)
    assert accepts(automaton, text)
    if pattern != "^a{50,1000000}$":
        assert not accepts(automaton, text + text[-1])
    sizes = [len(each) for each in getattr(automaton, "_states", [])]
    assert max(sizes, default=0) < 10


def check_same(grown: TextAutomaton, language: Language, most: int = 2000) -> None:
    """Check that two automata agree in every pair of states, the dead one included.

    All states of a minimal automaton but the dead one lead to an end.
    """
    assert grown.is_empty == language.is_empty
    seen = {(grown.start, language.start): None}
    for here, there in (queue := list(seen)):
        if here != DEAD:
            assert grown.is_end(here) == language.is_end(there)
            assert grown.shortest(here) <= language.shortest(there)
            assert grown.longest(here) >= language.longest(there)
        for character in _ALPHABET:
            pair = (after(grown, here, character), after(language, there, character))
            assert (pair[0] == DEAD) == (pair[1] == DEAD), character
            if pair not in seen and len(seen) < most:
                seen[pair] = None
                queue.append(pair)
        if here != DEAD:
            reached = {after(grown, here, character) for character in _ALPHABET} - {DEAD}
            assert reached <= set(grown.moves_of(here))


@pytest.mark.parametrize("seed", range(150))
def test_a_growing_pattern_is_the_whole_one(seed: int) -> None:
    pattern, grown = _grown_pattern(random.Random(seed))
    check_same(grown, pattern_language(pattern))


@pytest.mark.parametrize("seed", range(100))
def test_languages_side_by_side_are_their_intersection(seed: int) -> None:
    rng = random.Random(seed)
    pattern, grown = _grown_pattern(rng)
    other = pattern_language(_pattern(rng))
    check_same(SideBySide([grown, other]), intersection([pattern_language(pattern), other]))


@pytest.mark.parametrize("seed", range(100))
def test_lengths_are_those_that_texts_have(seed: int) -> None:
    """After every beginning: by the language of all texts within the bounds."""
    rng = random.Random(seed)
    pattern, grown = _grown_pattern(rng)
    whole, other = pattern_language(pattern), pattern_language(_pattern(rng))
    both = intersection([whole, other])
    for _ in range(4):
        least = rng.randrange(6)
        most = rng.choice([None, least, least + rng.randrange(4)])
        bounded = pattern_language(f"^[^]{{{least},{'' if most is None else most}}}$")
        for automaton, language in (
            (grown, whole),
            (whole, whole),
            (SideBySide([grown, other]), both),
        ):
            within, expected = automaton.within(least, most), intersection([language, bounded])
            for letters in itertools.product("abé", repeat=rng.randrange(6)):
                state, rest = automaton.start, expected.start
                for n, character in enumerate((*letters, "c")):
                    if state == DEAD:
                        break
                    assert within.may_end(state, n) == (rest != DEAD), (letters[:n], least, most)
                    state, rest = (
                        after(automaton, state, character),
                        expected.after(rest, character),
                    )


_WRITTEN = ["".join(each) for n in range(5) for each in itertools.product('abcé"\n', repeat=n)]


@pytest.mark.parametrize("seed", range(100))
def test_an_end_is_as_many_bytes_away_as_texts_have(seed: int) -> None:
    """By all texts of up to four bytes in UTF-8, and by `json` in strings."""
    rng = random.Random(seed)
    pattern = "".join(
        f"(?:{_node(rng, 2)}|" + rng.choice('é"\n') + ")" + rng.choice(["", "?", "{2}", "*"])
        for _ in range(rng.randrange(1, 4))
    )
    grown = _grown(f"^(?:{pattern})$")
    texts = [text for text in _WRITTEN if re.fullmatch(pattern.replace("[]", "(?!)"), text)]
    plain = [len(text.encode()) for text in texts]
    quoted = [len(json.dumps(text, ensure_ascii=False).encode()) - 2 for text in texts]
    for spelling, lengths in ((IN_UTF8, plain), (IN_JSON, quoted)):
        assert min(grown.fewest(grown.start, spelling), 5) == min([*lengths, 5]), pattern


@pytest.mark.parametrize(("one", "other"), [(7, 11), (5, 17), (13, 31), (12, 18)])
def test_lengths_with_many_gaps(one: int, other: int) -> None:
    """After some of the letters: the sums of two numbers, taken any number of times."""
    lengths = {one * i + other * j for i in range(40) for j in range(40)}
    grown = _grown(f"^(?:a{{{one}}}|b{{{other}}})*$")
    for least, most in ((0, 1), (43, 60), (one + 1, one + 2), (20, 29), (100, 101), (158, 159)):
        within = grown.within(least, most)
        for letter, count in (("a", one), ("b", other)):
            state = grown.start
            for n in range(200):
                rests = (count - n % count) % count
                expected = any(least <= n + rests + each <= most for each in lengths)
                assert within.may_end(state, n) == expected, (letter, n, least, most)
                state = after(grown, state, letter)


def test_long_lengths_are_counted() -> None:
    """Multiples of 6 and of 15: by hand, 2 ** 20 and more characters too."""
    pairs = pattern_language("^(?:a{6})*$|^(?:a{15})*$")
    n = 2**20 - 2**20 % 30
    for least, most in ((n, n), (n + 6, n + 6), (n + 13, n + 16), (n + 1, n + 6)):
        assert pairs.within(least, most).may_end(pairs.start, 0), (least, most)
    for least, most in ((n + 1, n + 5), (n + 7, n + 11), (n + 16, n + 17)):
        assert not pairs.within(least, most).may_end(pairs.start, 0), (least, most)


@pytest.mark.parametrize(
    ("pattern", "is_deterministic"),
    [
        ("^a{1,300}$", True),
        ("^(?:[0-9a-z][_-]?){1,100}$", True),
        ("a{300}", False),
        ("^a?a{300}$", False),
        ("^(?:ab|ac)$", True),  # `a` is written once when the pattern is read
        ("^(?:ab|[ad]c)$", False),
    ],
)
def test_patterns_that_are_surely_not_too_large(pattern: str, is_deterministic: bool) -> None:
    grown = _grown(pattern)
    assert grown.is_deterministic == is_deterministic


def test_a_pattern_that_is_too_large_is_read_all_the_same() -> None:
    with pytest.raises(SchemaError, match="more than 20000 states"):
        later_language(HUGE)
    grown = later_language(HUGE, is_late=True)
    assert isinstance(grown, GrowingAutomaton)
    with pytest.raises(SchemaError, match="more than 20000 states"):
        _ = grown.language
    for text in ("", "x" * 210, "ab" * 9, "ab" + "a" * 40):
        assert accepts(grown, text)
    for text in ("x" * 211, "xa", "b" * 30, "aab"):
        assert not accepts(grown, text)


def test_small_products_are_made_at_once() -> None:
    few, more = pattern_language("^[ab]{0,9}$"), pattern_language("a$")
    assert isinstance(all_of([few, more]), Language)
    assert all_of([few, few]) is few
    large = pattern_language("^[ab]{0,900}$")
    both = all_of([large, more])
    assert isinstance(both, SideBySide)
    assert both is all_of([large, more])
    assert both.language == intersection([large, more])


def test_texts_that_exclude_each_other_far_away() -> None:
    odd, even = pattern_language("^a(?:aa)*$"), pattern_language("^(?:aa)*$")
    assert SideBySide([odd, even]).is_empty
    assert SideBySide([odd, NO_TEXTS]).is_empty
    last = SideBySide([pattern_language("^[ab]*a[ab]{8}$"), pattern_language("^[ab]*b[ab]{8}$")])
    assert last.is_empty


@pytest.mark.parametrize("pattern", ["^[ab]{0,2}$", "^a{3}b?$", "^a*$", "^$", "[]"])
def test_words_are_counted_without_the_whole(pattern: str) -> None:
    grown = _grown(pattern)
    for most in (0, 1, 2, 7, 50):
        assert words_of(grown, most) == pattern_language(pattern).words(most)


def test_a_tree_remembers_its_hash_but_takes_it_to_no_other_process():
    (tree,) = python_notation.read("(?:ab|c)*")
    assert hash(tree) == hash(python_notation.read("(?:ab|c)*")[0])
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert "_hash" in vars(tree)
    assert "_hash" not in vars(again)


def test_an_interruption_at_any_line_leaves_a_pattern_whole():
    """Each line of the automaton once: the same states are asked for again, and the texts stay."""
    pattern = "^(?:a{1,300}b?|c{2}){1,400}$"
    texts = ["".join(each) for n in range(6) for each in itertools.product("abc", repeat=n)]
    expected = [accepts(_grown(pattern), text) for text in texts]
    module = sys.modules[type(_grown(pattern)).__module__].__file__
    n_left = 0

    def called(frame, event, _):
        return line if frame.f_code.co_filename == module else None

    def line(frame, event, _):
        nonlocal n_left
        n_left -= event == "line"
        if n_left == 0:
            raise KeyboardInterrupt
        return line

    n_done, is_whole = 0, False
    while not is_whole:
        automaton = _grown(pattern)
        n_done = n_left = n_done + 17
        before = sys.gettrace()
        sys.settrace(called)
        try:
            for text in texts[:40]:
                accepts(automaton, text)
            is_whole = True
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        assert [accepts(automaton, text) for text in texts] == expected, n_done
    assert n_done > 500


def tracked(automaton: Any) -> int:
    """Return how many objects Python's collector looks through, that an automaton holds alone."""
    for _ in range(9):  # what is inside of tuples is found before these are
        gc.collect()
    seen: dict[int, Any] = {}
    pending = [automaton]
    while pending:
        each = pending.pop()
        if id(each) not in seen and not isinstance(each, type | ModuleType):
            seen[id(each)] = each
            pending += gc.get_referents(each)
    return sum(map(gc.is_tracked, seen.values()))


@pytest.mark.usefixtures("only_what_is_new_is_collected")
def test_counts_are_little_for_the_collector_to_look_through() -> None:
    """Of each number of rounds there are states, rests and steps; what stays are sets and sizes."""
    automaton = automaton_of(anywhere(read("^(ab?){2,300}c$")))
    before = tracked(automaton)
    assert accepts(automaton, "ab" * 200 + "c")
    assert tracked(automaton) - before < 200 * 10


def test_equal_characters_of_all_patterns_are_one_object() -> None:
    first, second = (read(pattern) for pattern in ("[a-y]z", "x[a-y]"))
    assert first[0] is second[1]
