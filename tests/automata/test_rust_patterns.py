"""Regular expressions of Rust, in Python's notation: the texts are those of Rust's documentation.

The expected texts are from https://docs.rs/regex/latest/regex/#syntax and from Unicode's data,
never from the code under test; `re.fullmatch` reads what is written.
"""

from __future__ import annotations

import re

import pytest

from cfgguide.automata.pattern_reader import NotationError
from cfgguide.automata.rust_patterns import as_python

LATIN, GREEK, KELVIN, LONG_S = "é", "\u03c3", "\u212a", "\u017f"
FINAL_SIGMA, CAPITAL_SIGMA = "\u03c2", "\u03a3"


@pytest.mark.parametrize(
    ("pattern", "flags", "right", "wrong"),
    [
        ("", "", [""], ["a"]),
        ("a|b|", "", ["a", "b", ""], ["ab"]),
        (".", "", ["a", "\r", "\u2028", "😀"], ["", "\n", "ab"]),
        (".", "s", ["a", "\n"], ["", "ab"]),
        (r"(.|\n)*", "", ["", "a\nb"], []),
        ("a{2}", "", ["aa"], ["a", "aaa"]),
        ("a{2,}", "", ["aa", "aaaa"], ["a"]),
        ("a{1,2}b{0,1}", "", ["a", "aab"], ["b", "aaa"]),
        ("a*?b+?c??", "", ["b", "aabbc"], ["a"]),  # lazy: the same texts as a whole
        ("(?:ab)*", "", ["", "abab"], ["aba"]),
        ("(a)(?P<name>b)(?<other>c)", "", ["abc"], ["ab"]),
        ("a**", "", ["", "aaa"], ["b"]),
        # Flags.
        ("ab", "i", ["ab", "AB"], ["a"]),
        ("a(?i)b|c", "", ["ab", "aB", "C"], ["Ab"]),
        ("a(?i:b)c", "", ["aBc"], ["aBC"]),
        ("(?i)a(?-i)b", "", ["Ab"], ["aB"]),
        ("(?i)k", "", ["k", "K", KELVIN], ["c"]),
        ("(?i)s", "", ["s", "S", LONG_S], ["z"]),
        ("(?i)" + GREEK, "", [GREEK, CAPITAL_SIGMA, FINAL_SIGMA], ["s"]),
        ("(?i)i", "", ["i", "I"], ["\u0130", "\u0131"]),  # simple folding knows no Turkish
        ("(?i)\u0131", "", ["\u0131"], ["i", "I"]),
        ("a b # c\n[ d]", "x", ["abd"], ["a b", "ab "]),
        (r"a\ b[\ ]", "x", ["a b "], ["ab"]),
        ("(?x) a # (\n b", "", ["ab"], ["a"]),
        ("(?U)a+", "", ["aa"], [""]),
        # Sets of characters.
        ("[a-c]", "", ["a", "c"], ["d", "-"]),
        ("[^a-c]", "", ["d", "\n", "😀"], ["a"]),
        ("[]a]", "", ["]", "a"], ["b"]),
        ("[^]a]", "", ["b"], ["]", "a"]),
        ("[a-]", "", ["a", "-"], ["b"]),
        ("[-a]", "", ["a", "-"], ["b"]),
        (r"[a\-c]", "", ["a", "-", "c"], ["b"]),
        ("[a-z&&[^aeiou]]", "", ["b"], ["a", "-"]),
        ("[a-z--[m-z]]", "", ["a"], ["m", "z"]),
        ("[a-g~~b-h]", "", ["a", "h"], ["b", "g"]),
        ("[x[^xyz]]", "", ["x", "a"], ["y"]),
        ("[[:alpha:][:digit:]_]", "", ["a", "7", "_"], ["-", LATIN]),
        ("[[:^alpha:]]", "", ["7", LATIN], ["a"]),
        ("[[:letter:]]", "", [":", "l"], ["a"]),  # no set of that name: a set in a set
        ("[[:punct:]]", "", ["~", "!", "/"], ["a", " "]),
        ('[/.^$*+?(){}|"]', "", ["/", "|", '"', "^"], ["a"]),
        # Classes by name.
        (r"\d", "", ["7", "\u0667"], ["a"]),
        (r"\D", "", ["a"], ["7", "\u0667"]),
        (r"\w+", "", ["aé_7"], ["a-b"]),
        (r"\W", "", ["-"], ["a", LATIN]),
        (r"\s", "", [" ", "\t", "\x0b", "\x85", "\u3000"], ["a", "\x1c", "\x1f"]),
        (r"\S", "", ["a", "\x1c"], [" ", "\u3000"]),
        (r"[\s\d]", "", [" ", "7"], ["a"]),
        (r"\p{Lu}\p{L}\pN", "", ["Aé7"], ["aé7", "A77"]),
        (r"\P{L}", "", ["7"], ["a", LATIN]),
        (r"[\p{Greek_Not}&&a]", "", None, "general category"),
        # Characters by number.
        (r"\x41\x{1F600}\u0042\u{43}\U00000044", "", ["A😀BCD"], ["A"]),
        (r"\a\f\n\r\t\v", "", ["\a\f\n\r\t\v"], [""]),
        (r"\.\+\*\?\(\)\|\[\]\{\}\^\$\#\&\-\~\/\"\ ", "", ['.+*?()|[]{}^$#&-~/" '], [""]),
        # What `re` alone would read otherwise.
        ("a/b'c\"", "", ["a/b'c\""], ["a"]),
        ("[a&&b]", "", [], ["a", "b"]),
        # Anchors at the ends of a whole pattern change nothing.
        ("^ab$", "", ["ab"], ["a"]),
        (r"\Aab\z", "", ["ab"], ["abc"]),
        ("^a|b$", "", ["a", "b"], ["ab"]),
    ],
)
def test_a_pattern_matches_the_same_texts(pattern, flags, right, wrong):
    if right is None:
        with pytest.raises(NotationError, match=wrong):
            as_python(pattern, flags)
        return
    written = re.compile(as_python(pattern, flags))
    assert [text for text in right if not written.fullmatch(text)] == []
    assert [text for text in wrong if written.fullmatch(text)] == []


@pytest.mark.parametrize(
    ("pattern", "at", "said"),
    [
        ("a(?=b)", 2, r"\(\?= is not supported"),
        ("(?<!a)b", 1, r"\(\?< is not supported"),
        (r"(a)\1", 3, r"\\1 is not supported"),
        (r"a\bc", 1, r"\\b is not supported"),
        ("a^b", 1, "leave out this anchor"),
        ("(^a)", 1, "leave out this anchor"),
        ("(?m)a$", 5, "leave out this anchor"),
        ("(?-u).", 5, "makes a pattern of bytes"),
        ("*a", 0, "nothing to repeat"),
        ("a|+", 2, "nothing to repeat"),
        ("a{", 1, "a count is written"),
        ("a{,3}", 1, "a count is written"),
        ("a{3,2}", 1, "the range 3 to 2 ends before it begins"),
        ("a{99999999999}", 1, "too large"),
        ("(a", 0, "never closed"),
        ("a)", 1, "closes nothing"),
        ("[a", 0, "never closed"),
        ("[", 0, "never closed"),
        ("[a[b]", 0, "never closed"),
        ("[z-a]", 1, "a range goes from"),
        (r"[a-\d]", 1, "a range goes from"),
        (r"\é", 0, "no escape"),
        ("\\", 0, "no escape"),
        (r"\x{D800}", 0, "number of a character"),
        (r"\u12", 0, "number of a character"),
        (r"\p{Greek}", 0, "general category"),
        ("(" * 101 + ")" * 101, 100, "more than 100 groups"),
        ("[" * 101, 100, "more than 100 groups"),
        (r"\p{L}" * 100, 0, "characters in Python's notation"),
    ],
)
def test_what_cannot_be_read_is_an_error_at_its_place(pattern, at, said):
    with pytest.raises(NotationError, match=said) as raised:
        as_python(pattern)
    assert raised.value.at == at


@pytest.mark.slow
def test_white_space_is_unicodes():
    """Python's `\\s` has four separators more; both know the same characters otherwise."""
    written = re.compile(as_python(r"\s"))
    every = {chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000}
    assert {text for text in every if written.fullmatch(text)} == {
        text for text in every if re.fullmatch(r"\s", text)
    } - set("\x1c\x1d\x1e\x1f")
