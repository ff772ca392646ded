r"""Patterns of JSON Schema, which are regular expressions of ECMA-262, as languages.

In: a pattern. Out: the :class:`~cfgguide.automata.language.Language` of all texts in which it is
found somewhere, unless it is anchored. ``\d`` and ``\w`` are ASCII, ``\s`` is Unicode's white
space, ``\p{...}`` a general category, ``$`` the very end. Python's own parser of patterns is used,
after what is written otherwise in ECMA-262 has been rewritten.
"""

from __future__ import annotations

import re
import re._constants as ops  # type: ignore[import-not-found]
import re._parser as sre  # type: ignore[import-not-found]
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from cfgguide.automata.charset import ANY_CHARACTER, MAX_CODE_POINT, SURROGATES, CharacterClass
from cfgguide.automata.language import DEAD, MAX_STATES, Language, grouped, smallest
from cfgguide.errors import SchemaError

_LINE_ENDS = CharacterClass.of_characters([0x0A, 0x0D, 0x2028, 0x2029])
_SPACES = CharacterClass.of(
    [
        *((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
        *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
        (0xFEFF, 0xFEFF),
    ]
)
_DIGITS = CharacterClass.of([(0x30, 0x39)])
_WORD = CharacterClass.of([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
_CATEGORIES = {
    ops.CATEGORY_DIGIT: _DIGITS,
    ops.CATEGORY_NOT_DIGIT: _DIGITS.complement(),
    ops.CATEGORY_WORD: _WORD,
    ops.CATEGORY_NOT_WORD: _WORD.complement(),
    ops.CATEGORY_SPACE: _SPACES,
    ops.CATEGORY_NOT_SPACE: _SPACES.complement(),
}
_LONG_NAMES = {
    "letter": "L",
    "uppercase_letter": "Lu",
    "lowercase_letter": "Ll",
    "titlecase_letter": "Lt",
    "cased_letter": "LC",
    "modifier_letter": "Lm",
    "other_letter": "Lo",
    "mark": "M",
    "number": "N",
    "decimal_number": "Nd",
    "digit": "Nd",
    "letter_number": "Nl",
    "other_number": "No",
    "punctuation": "P",
    "punct": "P",
    "symbol": "S",
    "separator": "Z",
    "space_separator": "Zs",
    "other": "C",
    "control": "Cc",
    "cntrl": "Cc",
    "format": "Cf",
}
_KNOWN_CATEGORIES = frozenset(unicodedata.category(chr(p)) for p in range(0x3000)) | {"Co", "Lo"}
_ONE_CHARACTER = (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN)
_MAX_REPEATS = 5000

Ranges = tuple[tuple[int, int], ...]

# What begins with a backslash in ECMA-262 and has no such meaning for Python, and groups.
_ESCAPES = re.compile(
    r"\\(?P<property>[pP]\{[^}]*\})|\\c(?P<control>[A-Za-z])|\\u\{(?P<point>[0-9A-Fa-f]+)\}"
    r"|\\u[dD](?P<high>[89abAB][0-9A-Fa-f]{2})\\u[dD](?P<low>[c-fC-F][0-9A-Fa-f]{2})"
    r"|\\(?P<slash>/)|\\(?P<foreign>[aAZzGQE])|(?P<escape>\\.)|(?P<name>\(\?<(?![=!]))"
    r"|(?P<any>\[\^\])|(?P<none>\[\])|(?P<open>\[\^?)|(?P<close>\])",
    re.DOTALL,
)


def pattern_text(pattern: str, spell: Callable[[Ranges], str]) -> str | None:
    """Return a pattern in Python's notation, each class of characters spelled by a function.

    None where it has assertions but for anchors at its ends.
    """
    tree = list(sre.parse(_as_python(pattern), re.ASCII))
    rest = f"(?:{spell(ANY_CHARACTER.ranges)})*"
    is_begun = tree[:1] == [(ops.AT, ops.AT_BEGINNING)]
    is_ended = tree[-1:] == [(ops.AT, ops.AT_END)]
    text = _text_of(tree[is_begun : len(tree) - is_ended], spell)
    return None if text is None else f"{'' if is_begun else rest}{text}{'' if is_ended else rest}"


def _text_of(tree: Iterable[Any], spell: Callable[[Ranges], str]) -> str | None:
    found = []
    for op, argument in tree:
        if op in _ONE_CHARACTER:
            ranges = _class_of(op, argument).ranges
            found.append(spell(ranges) if ranges else "(?!)")
        elif op in (ops.SUBPATTERN, ops.BRANCH):
            branches = [argument[3]] if op == ops.SUBPATTERN else argument[1]
            texts = [_text_of(branch, spell) for branch in branches]
            if None in texts:
                return None
            found.append(f"(?:{'|'.join(map(str, texts))})")
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
            least, most, body = argument
            text = _text_of(body, spell)
            if text is None:
                return None
            found.append(f"(?:{text}){{{least},{'' if most == ops.MAXREPEAT else most}}}")
        else:
            return None
    return "".join(found)


@cache
def pattern_language(pattern: str) -> Language:
    """Return the language of the texts in which a pattern is found.

    Raises
    ------
    SchemaError
        If it is no regular expression, or uses what is not regular or not known here.

    Examples
    --------
    >>> [pattern_language("^a+$").accepts(text) for text in ("aa", "aab", "")]
    [True, False, False]
    >>> pattern_language("b").accepts("abc")
    True
    """
    try:
        tree = list(sre.parse(_as_python(pattern), re.ASCII))
    except (re.error, OverflowError, RecursionError) as error:
        raise SchemaError(f"the pattern {pattern!r} cannot be read: {error}") from None
    asserted = []
    if tree and tree[0] == (ops.AT, ops.AT_BEGINNING):
        place = 1
        while place < len(tree) and tree[place][0] in (ops.ASSERT, ops.ASSERT_NOT):
            direction, inner = tree[place][1]
            if direction < 0:
                break
            asserted.append((tree[place][0] == ops.ASSERT, [tree[0], *inner]))
            del tree[place]
    try:
        found = _found_anywhere(tree)
        conditions = [_found_anywhere(inner) for _, inner in asserted]
    except SchemaError as error:
        raise SchemaError(f"the pattern {pattern!r}: {error.args[0]}") from None
    if not conditions:
        return found
    wanted = (True, *(is_wanted for is_wanted, _ in asserted))
    return grouped([found, *conditions], lambda memberships: memberships == wanted)[True]


def _as_python(pattern: str) -> str:
    """Return a pattern as Python writes it."""
    is_in_class = False

    def written(match: re.Match[str]) -> str:
        nonlocal is_in_class
        kind, text = str(match.lastgroup), match[str(match.lastgroup)]
        if kind == "property":
            ranges = _property(text[2:-1], is_negated=text[0] == "P").ranges
            inside = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
            return inside if is_in_class else f"[{inside}]"
        if kind == "control":
            return f"\\x{ord(text) % 32:02x}"
        if kind == "point":
            return f"\\U{int(text, 16):08x}"
        if kind == "high":
            point = 0x10000 + ((int(f"d{text}", 16) - 0xD800) << 10)
            return f"\\U{point + int('d' + match['low'], 16) - 0xDC00:08x}"
        if kind == "low":
            point = 0x10000 + ((int("d" + match["high"], 16) - 0xD800) << 10)
            return f"\\U{point + int('d' + text, 16) - 0xDC00:08x}"
        if kind == "foreign":
            raise SchemaError(f"the pattern {pattern!r} has \\{text}, which ECMA-262 does not know")
        if kind == "name":
            return "(?P<"
        if kind == "any" and not is_in_class:
            return r"[\s\S]"
        if kind == "none" and not is_in_class:
            return r"[^\s\S]"
        if kind == "open":
            was_in_class, is_in_class = is_in_class, True
            return "\\[" if was_in_class else match[0]
        if kind == "close":
            is_in_class = False
        return match[0] if kind != "slash" else "/"

    return _ESCAPES.sub(written, pattern)


@cache
def _property(name: str, *, is_negated: bool) -> CharacterClass:
    r"""Return the class of ``\p{name}``: a general category, by its short or long name."""
    bare = re.sub(r"^(gc|general_category)=", "", name, flags=re.IGNORECASE)
    short = _LONG_NAMES.get(bare.lower(), bare)
    if bare in ("Any", "ASCII"):
        found = ANY_CHARACTER if bare == "Any" else CharacterClass.of([(0, 127)])
        return found.complement() if is_negated else found
    members = {"Lu", "Ll", "Lt"} if short == "LC" else {short}
    kinds = {kind for kind in _KNOWN_CATEGORIES if kind in members or kind[0] in members}
    if not kinds:
        raise SchemaError(f"\\p{{{name}}} is no general category of Unicode; only these are known")
    points = (p for p in range(sys.maxunicode + 1) if unicodedata.category(chr(p)) in kinds)
    found = CharacterClass.of_characters(points)
    return found.complement() if is_negated else found


def _found_anywhere(tree: Sequence[Any]) -> Language:
    builder = _Builder()
    first, last = builder.new(), builder.new()
    builder.free.add(first)
    end = builder.add(tree, first)
    builder.empties[end].append((None, last))
    builder.free.add(last)
    return builder.language(first, last)


class _Builder:
    """A nondeterministic automaton; empty moves may ask for the start or the end of the text."""

    def __init__(self) -> None:
        self.moves: list[list[tuple[CharacterClass, int]]] = []
        self.empties: list[list[tuple[str | None, int]]] = []
        self.free: set[int] = set()  # states that stay where they are with any character

    def new(self) -> int:
        if len(self.moves) >= MAX_STATES:
            raise SchemaError(f"it has more than {MAX_STATES} states; use smaller bounds")
        self.moves.append([])
        self.empties.append([])
        return len(self.moves) - 1

    def add(self, tree: Iterable[Any], state: int) -> int:
        """Add what a tree matches behind a state; return where it ends."""
        for op, argument in tree:
            state = self._add(op, argument, state)
        return state

    def _add(self, op: Any, argument: Any, state: int) -> int:
        after = self.new()
        if op in _ONE_CHARACTER:
            self.moves[state].append((_class_of(op, argument), after))
        elif op == ops.AT:
            if argument not in (ops.AT_BEGINNING, ops.AT_END):
                raise SchemaError("\\b and \\B are not supported")
            self.empties[state].append(("^" if argument == ops.AT_BEGINNING else "$", after))
        elif op == ops.SUBPATTERN:
            self.empties[self.add(argument[3], state)].append((None, after))
        elif op == ops.BRANCH:
            for branch in argument[1]:
                first = self.new()
                self.empties[state].append((None, first))
                self.empties[self.add(branch, first)].append((None, after))
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
            self._repeat(argument, state, after)
        else:
            what = {ops.GROUPREF: "backreferences are"}.get(
                op, "assertions are, but for those right behind ^,"
            )
            raise SchemaError(f"{what} not supported")
        return after

    def _repeat(self, argument: Any, state: int, after: int) -> None:
        least, most, body = argument
        if least > _MAX_REPEATS or (most != ops.MAXREPEAT and most > _MAX_REPEATS):
            raise SchemaError(f"it repeats more than {_MAX_REPEATS} times")
        for _ in range(least):
            state = self.add(body, state)
        if most == ops.MAXREPEAT:
            loop = self.new()
            self.empties[state].append((None, loop))
            self.empties[self.add(body, loop)].append((None, loop))
            self.empties[loop].append((None, after))
            return
        for _ in range(most - least):
            self.empties[state].append((None, after))
            state = self.add(body, state)
        self.empties[state].append((None, after))

    def _closure(self, states: Iterable[int], asked: frozenset[str]) -> frozenset[int]:
        found = set(states)
        queue = list(found)
        for state in queue:
            for condition, target in self.empties[state]:
                if target not in found and (condition is None or condition in asked):
                    found.add(target)
                    queue.append(target)
        return frozenset(found)

    def language(self, first: int, last: int) -> Language:
        """Return the language of the texts that lead from one state to another."""
        low, high = SURROGATES
        classes = {chars for moves in self.moves for chars, _ in moves}
        ends = [
            point
            for chars in classes
            for low_, high_ in chars.ranges
            for point in (low_, high_ + 1)
        ]
        cuts = sorted({0, low, high + 1, *(point for point in ends if point <= MAX_CODE_POINT)})
        places = {chars: _places(chars, cuts) for chars in classes}
        every = _places(ANY_CHARACTER, cuts)
        start = self._closure([first], frozenset("^"))
        numbers: dict[frozenset[int] | None, int] = {None: 1}  # the start is no other state
        states = [start]
        rows = [(DEAD,) * len(cuts)]
        accepting = set()
        for number, state in enumerate(states, 1):
            asked = frozenset("^$") if number == 1 else frozenset("$")
            if last in self._closure(state, asked):
                accepting.add(number)
            targets: list[set[int]] = [set() for _ in cuts]
            for member in state:
                reached = [(every, member)] if member in self.free else []
                reached += [(places[chars], target) for chars, target in self.moves[member]]
                for where, target in reached:
                    for place in where:
                        targets[place].add(target)
            row = []
            known: dict[frozenset[int], int] = {}
            for reached_states in map(frozenset, targets):
                if reached_states not in known:
                    known[reached_states] = DEAD
                    if reached_states:
                        closed = self._closure(reached_states, frozenset())
                        if closed not in numbers:
                            states.append(closed)
                            numbers[closed] = len(states)
                            if len(states) > MAX_STATES:
                                raise SchemaError(
                                    f"it has more than {MAX_STATES} states; use smaller bounds"
                                )
                        known[reached_states] = numbers[closed]
                row.append(known[reached_states])
            rows.append(tuple(row))
        return smallest(cuts, rows, 1, accepting)


def _places(chars: CharacterClass, cuts: Sequence[int]) -> list[int]:
    """Return the intervals that make up a class."""
    return [
        place
        for low, high in chars.ranges
        for place in range(bisect_right(cuts, low) - 1, bisect_right(cuts, high))
    ]


def _class_of(op: Any, argument: Any) -> CharacterClass:
    if op == ops.ANY:
        return _LINE_ENDS.complement()
    if op in (ops.LITERAL, ops.NOT_LITERAL):
        found = CharacterClass.of_characters([argument])
        return found if op == ops.LITERAL else found.complement()
    ranges: list[tuple[int, int]] = []
    is_negated = False
    for kind, value in argument:
        if kind == ops.NEGATE:
            is_negated = True
        elif kind == ops.LITERAL:
            ranges.append((value, value))
        elif kind == ops.RANGE:
            ranges.append(value)
        else:
            ranges += _CATEGORIES[value].ranges
    found = CharacterClass.of(ranges)
    return found.complement() if is_negated else found
