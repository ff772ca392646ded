r"""Regular expressions of the JSON spellings of characters, texts and languages of texts.

In: a :class:`~cfgguide.automata.language.Language` of texts. Out: a regular expression, in Lark's
notation, of the JSON strings that mean one of the texts::

    a"b   ->   "a\\"b"

Texts under conditions have plain spellings, like those of ``json.dumps``: a character is escaped
only where it must be; beyond ASCII it may be.

Source: Brzozowski and McCluskey 1963 for the expression of an automaton by state elimination.
States that make the fewest new edges go first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache

from cfgguide.automata.charset import MAX_CODE_POINT, common_ranges, surrogate_pairs
from cfgguide.automata.language import DEAD, Language
from cfgguide.automata.pattern_text import Ranges, in_brackets
from cfgguide.errors import SchemaError

MAX_WORDS = 2000  # of a language that is spelled word by word
MAX_PATTERN = 100_000  # characters
_N_KEPT = 10_000  # classes of characters

#: Any string of I-JSON (RFC 7493): half of a surrogate pair is no character, and parsers refuse it.
STRING = (
    r'"(?:[^"\\\x00-\x1f]|\\(?:["\\\/bfnrt]|u(?:[0-9A-CEFa-cef][0-9A-Fa-f]{3}|[dD][0-7][0-9A-Fa-f]{2}'
    r'|[dD][89ABab][0-9A-Fa-f]{2}\\u[dD][C-Fc-f][0-9A-Fa-f]{2})))*"'
)
# Lark drops a backslash that stands before a quotation mark, whatever is before it.
_SHORT = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 0x22: r"\x22", 0x5C: r"\\"}
_HEX = "0123456789abcdef"
#: Characters that need no escape in a string of JSON, and those that may have one of hex digits.
RAW: Ranges = ((0x20, 0x21), (0x23, 0x5B), (0x5D, MAX_CODE_POINT))
ESCAPED: Ranges = ((0, 0x1F), (0x7F, MAX_CODE_POINT))


def string_pattern(language: Language) -> str:
    """Return the pattern of the JSON strings that mean a text of a language.

    Raises
    ------
    SchemaError
        If the pattern would be too long.

    Examples
    --------
    >>> string_pattern(Language.of_words(["yes", "no"]))
    '"(?:no|yes)"'
    """
    words = language.words(MAX_WORDS)
    if words is not None:
        return '"' + alternatives([plain(word) for word in words]) + '"'
    return '"' + _group(pattern_of(language, spelled)) + '"'


def alternatives(patterns: Sequence[str]) -> str:
    """Return a pattern that matches what any of some patterns matches."""
    return patterns[0] if len(patterns) == 1 else f"(?:{'|'.join(patterns)})"


def plain(text: str) -> str:
    """Return the pattern of the plain spellings of a text, without quotes."""
    return "".join(spelled(((ord(character), ord(character)),)) for character in text)


def number_pattern(language: Language) -> str:
    """Return the pattern of a language of spellings of numbers."""
    return _group(pattern_of(language, in_brackets))


@lru_cache(maxsize=_N_KEPT)
def spelled(ranges: Ranges) -> str:
    """Return the pattern of the plain spellings of one character of a class, in a JSON string."""
    found = []
    raw = common_ranges(ranges, RAW)
    if raw:
        found.append(in_brackets(raw))
    short = [letter for point, letter in _SHORT.items() if is_in(point, ranges)]
    if short:
        found.append(r"\\" + (f"[{''.join(short)}]" if len(short) > 1 else short[0]))
    escaped = common_ranges(ranges, ESCAPED)
    if escaped:
        found.append(_escapes(escaped))
    return alternatives(found)


def is_in(point: int, ranges: Ranges) -> bool:
    """Return whether a character is in some ranges."""
    place = bisect_right(ranges, (point, MAX_CODE_POINT)) - 1
    return place >= 0 and point <= ranges[place][1]


def _escapes(ranges: Ranges) -> str:
    r"""Return the pattern of one character of a class as ``\uXXXX``, or as two of them."""
    found = []
    low_plane = common_ranges(ranges, ((0, 0xD7FF), (0xE000, 0xFFFF)))
    if low_plane:
        found.append(r"\\u" + _digits(low_plane, 4))
    pairs: dict[Ranges, list[tuple[int, int]]] = {}
    for first, second in surrogate_pairs(ranges):
        pairs.setdefault((second,), []).append(first)
    for seconds, firsts in pairs.items():
        found.append(rf"\\u{_digits(tuple(sorted(firsts)), 4)}\\u{_digits(seconds, 4)}")
    return alternatives(found)


def _digits(ranges: Ranges, n_digits: int) -> str:
    """Return the pattern of the hexadecimal numbers of `n_digits` digits in some ranges."""
    size = 16**n_digits
    if ranges == ((0, size - 1),):
        return "[0-9A-Fa-f]" + (f"{{{n_digits}}}" if n_digits > 1 else "")
    below = size // 16
    digits: dict[str, list[int]] = {}
    for digit in range(16):
        block = tuple(
            (max(low - digit * below, 0), min(high - digit * below, below - 1))
            for low, high in ranges
            if low < (digit + 1) * below and high >= digit * below
        )
        if block:
            rest = "" if n_digits == 1 else _digits(block, n_digits - 1)
            digits.setdefault(rest, []).append(digit)
    return alternatives([_hex_class(found) + rest for rest, found in digits.items()])


def _hex_class(digits: Sequence[int]) -> str:
    letters = "".join(_HEX[digit] + (_HEX[digit].upper() if digit > 9 else "") for digit in digits)
    return letters if len(letters) == 1 else f"[{letters}]"


def pattern_of(language: Language, spell: Callable[[Ranges], str]) -> str:
    """Return a pattern of a language, each class of characters spelled by a function.

    It is right only where the match must end at a known place, such as a quote: its alternatives
    are in no particular order.

    Raises
    ------
    SchemaError
        If the pattern would be too long.
    """
    return _repetition(language, spell) or _Elimination(language, spell).pattern()


class _Elimination:
    """A graph whose edges are labelled with patterns; states are removed one by one."""

    def __init__(self, language: Language, spell: Callable[[Ranges], str]) -> None:
        self._n_states = len(language.rows)
        self._final, self._start = self._n_states, self._n_states + 1
        self._edges: dict[tuple[int, int], list[str]] = {}
        for state, moves in enumerate(language.moves):
            for target, ranges in moves.items():
                self._edges.setdefault((state, target), []).append(spell(ranges))
            if state in language.accepting:
                self._edges.setdefault((state, self._final), []).append("")
        self._edges[self._start, language.start] = [""]
        self._sources: dict[int, set[int]] = {}
        self._targets: dict[int, set[int]] = {}
        for source, target in self._edges:
            self._targets.setdefault(source, set()).add(target)
            self._sources.setdefault(target, set()).add(source)

    def pattern(self) -> str:
        """Return the pattern from the start to the end, once no other state is left."""
        left = set(range(self._n_states)) - {DEAD}
        while left:
            state = min(left, key=lambda state: (self._cost(state), -state))
            left.discard(state)
            self._remove(state)
            if sum(len(each) for texts in self._edges.values() for each in texts) > MAX_PATTERN:
                raise SchemaError(
                    "the regular expression of these keywords would have more than "
                    f"{MAX_PATTERN} characters; use simpler or fewer ones"
                )
        return _choice(self._edges[self._start, self._final])

    def _cost(self, state: int) -> int:
        n_sources = len(self._sources.get(state, ()))
        return (n_sources - 1) * (len(self._targets.get(state, ())) - 1)

    def _remove(self, state: int) -> None:
        edges = self._edges
        loop = edges.pop((state, state), None)
        again = _group(_choice(loop)) + "*" if loop and any(loop) else ""
        sources = self._sources.pop(state, set()) - {state}
        targets = self._targets.pop(state, set()) - {state}
        for source in sources:
            before = _group(_choice(edges.pop((source, state))))
            self._targets[source].discard(state)
            for target in targets:
                after = _group(_choice(edges[state, target]))
                edges.setdefault((source, target), []).append(before + again + after)
                self._targets[source].add(target)
                self._sources[target].add(source)
        for target in targets:
            del edges[state, target]
            self._sources[target].discard(state)


def _repetition(language: Language, spell: Callable[[Ranges], str]) -> str | None:
    """Return the pattern of a language that is one class of characters, repeated; or None."""
    state, ranges, order = language.start, None, [language.start]
    while language.moves[state]:
        if len(language.moves[state]) > 1:
            return None
        [(target, label)] = language.moves[state].items()
        if ranges is not None and label != ranges:
            return None
        ranges = label
        if target in order:
            if target != state:
                return None
            break
        order.append(target)
        state = target
    is_end = [state in language.accepting for state in order]
    least = is_end.index(True) if True in is_end else len(order)
    if ranges is None or not all(is_end[least:]):
        return None
    most = "" if language.moves[state] else len(order) - 1
    return f"{spell(ranges)}{{{least},{most}}}"


def _choice(patterns: Sequence[str]) -> str:
    full = sorted({pattern for pattern in patterns if pattern}, key=lambda p: (-len(p), p))
    if not full:
        return ""
    found = full[0] if len(full) == 1 else f"(?:{'|'.join(full)})"
    return f"(?:{found})?" if "" in patterns else found


def _group(pattern: str) -> str:
    """Return a pattern that may be repeated, and may stand beside others."""
    return pattern if len(pattern) < 2 else f"(?:{pattern})"
