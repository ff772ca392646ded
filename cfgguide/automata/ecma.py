r"""Patterns of JSON Schema, which are regular expressions of ECMA-262, as languages.

In: a pattern. Out: the :class:`~cfgguide.automata.language.Language` of all texts that contain a
match; anchors restrict where. ``\d`` and ``\w`` are ASCII, ``\s`` is Unicode's white space,
``\p{...}`` a general category, ``$`` the very end. The notation that Python lacks is translated
first, then :mod:`cfgguide.automata.syntax` reads the pattern.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

from cfgguide.automata import syntax
from cfgguide.automata.charset import (
    ANY_CHARACTER,
    MAX_CODE_POINT,
    SURROGATES,
    CharacterClass,
    common_ranges,
)
from cfgguide.automata.language import DEAD, MAX_STATES, Language, grouped, smallest
from cfgguide.automata.syntax import (
    Alternation,
    Anchor,
    Category,
    Character,
    CharacterSet,
    Dot,
    Group,
    Literal,
    Look,
    Node,
    Nodes,
    Repeat,
    Unsupported,
    branches_of,
)
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
_CATEGORIES = {"d": _DIGITS, "s": _SPACES, "w": _WORD}
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
_MAX_REPEATS = 5000
_SMALL = 200  # states of a pattern's automaton before it is made deterministic

Ranges = tuple[tuple[int, int], ...]

# Notation of ECMA-262 that Python reads otherwise or not at all.
_ESCAPES = re.compile(
    r"\\(?P<property>[pP]\{[^}]*\})|\\c(?P<control>[A-Za-z])|\\u\{(?P<point>[0-9A-Fa-f]+)\}"
    r"|\\u[dD](?P<high>[89abAB][0-9A-Fa-f]{2})\\u[dD](?P<low>[c-fC-F][0-9A-Fa-f]{2})"
    r"|\\(?P<slash>/)|\\(?P<foreign>[aAZzGQE])|(?P<escape>\\.)|(?P<name>\(\?<(?![=!]))"
    r"|(?P<any>\[\^\])|(?P<none>\[\])|(?P<open>\[\^?)|(?P<close>\])",
    re.DOTALL,
)


def pattern_text(pattern: str, spell: Callable[[Ranges], str]) -> str | None:
    """Return a pattern in Python's notation, each class of characters spelled by a function.

    None where it has assertions other than anchors at its ends.
    """
    nodes = _parsed(pattern)
    any_text = f"(?:{spell(ANY_CHARACTER.ranges)})*"
    is_begun = nodes[:1] == (Anchor.LINE_START,)
    is_ended = nodes[-1:] == (Anchor.LINE_END,)
    text = _text_of(nodes[is_begun : len(nodes) - is_ended], spell)
    if text is None:
        return None
    return ("" if is_begun else any_text) + text + ("" if is_ended else any_text)


@cache
def _parsed(pattern: str) -> Nodes:
    return syntax.parse(_as_python(pattern), re.ASCII).nodes


def _text_of(nodes: Nodes, spell: Callable[[Ranges], str]) -> str | None:
    written = []
    for node in nodes:
        if isinstance(node, Character):
            ranges = _class_of(node).ranges
            written.append(spell(ranges) if ranges else "(?!)")
            continue
        if not isinstance(node, Group | Alternation | Repeat):
            return None
        texts = [_text_of(branch, spell) for branch in branches_of(node)]
        if None in texts:
            return None
        count = ""
        if isinstance(node, Repeat):
            most = "" if node.max_count is None else node.max_count
            count = f"{{{node.min_count},{most}}}"
        written.append(f"(?:{'|'.join(map(str, texts))}){count}")
    return "".join(written)


@cache
def pattern_language(pattern: str) -> Language:
    """Return the language of the texts in which a pattern is found.

    Raises
    ------
    SchemaError
        If it is not a regular expression, or uses what is not regular or not supported.

    Examples
    --------
    >>> [pattern_language("^a+$").accepts(text) for text in ("aa", "aab", "")]
    [True, False, False]
    >>> pattern_language("b").accepts("abc")
    True
    """
    try:
        nodes = _parsed(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise SchemaError(f"the pattern {pattern!r} cannot be read: {error}") from None
    asserted: list[Look] = []
    if nodes[:1] == (Anchor.LINE_START,):
        after = list(nodes[1:])
        while after and isinstance(look := after[0], Look) and not look.is_behind:
            asserted.append(look)
            del after[0]
        nodes = (Anchor.LINE_START, *after)
    try:
        found = _found_anywhere(nodes)
        conditions = [_found_anywhere((Anchor.LINE_START, *look.body)) for look in asserted]
    except SchemaError as error:
        raise SchemaError(f"the pattern {pattern!r}: {error.args[0]}") from None
    if not conditions:
        return found
    wanted = (True, *(not look.is_negated for look in asserted))
    return grouped([found, *conditions], lambda memberships: memberships == wanted)[True]


@cache
def later_language(pattern: str) -> Callable[[], Language]:
    """Return what returns the language of a pattern, which is made when it is needed.

    What is wrong with the pattern is found now, and large ones are made now.

    Raises
    ------
    SchemaError
        As :func:`pattern_language`.
    """
    try:
        nodes = _parsed(pattern)
        builder = _Builder()
        builder.add(nodes, builder.new())
        is_small = builder.n_states <= _SMALL
    except (re.error, OverflowError, RecursionError, SchemaError):
        is_small = False
    if not is_small:
        pattern_language(pattern)
    return partial(pattern_language, pattern)


@cache
def is_surely_found(pattern: str) -> bool:
    """Return whether a pattern is surely found in some text; False if that is not clear.

    Examples
    --------
    >>> is_surely_found("^[a-z]+$"), is_surely_found("a^")
    (True, False)
    """
    nodes = _parsed(pattern)
    if nodes[:1] == (Anchor.LINE_START,):
        nodes = nodes[1:]
    if nodes[-1:] == (Anchor.LINE_END,):
        nodes = nodes[:-1]
    return all(map(_matches_something, nodes))


def _matches_something(node: Node) -> bool:
    """Return whether a node surely matches some text, wherever that stands."""
    match node:
        case Literal() | Dot() | CharacterSet():
            return bool(common_ranges(_class_of(node).ranges, ANY_CHARACTER.ranges))
        case Group():
            return all(map(_matches_something, node.body))
        case Alternation():
            return any(all(map(_matches_something, branch)) for branch in node.branches)
        case Repeat():
            return node.min_count == 0 or all(map(_matches_something, node.body))
    return False


def _as_python(pattern: str) -> str:
    """Return a pattern of ECMA-262 in Python's notation."""
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
        raise SchemaError(
            f"\\p{{{name}}} is not a general category of Unicode; only those are supported"
        )
    points = (p for p in range(sys.maxunicode + 1) if unicodedata.category(chr(p)) in kinds)
    found = CharacterClass.of_characters(points)
    return found.complement() if is_negated else found


def _found_anywhere(nodes: Nodes) -> Language:
    builder = _Builder()
    first, last = builder.new(), builder.new()
    builder.free.add(first)
    end = builder.add(nodes, first)
    builder.empties[end].append((None, last))
    builder.free.add(last)
    return builder.language(first, last)


class _Builder:
    """A nondeterministic automaton; empty moves may need the start or the end of the text."""

    def __init__(self) -> None:
        self.moves: list[list[tuple[CharacterClass, int]]] = []
        self.empties: list[list[tuple[Anchor | None, int]]] = []
        self.free: set[int] = set()  # states with a loop on every character

    @property
    def n_states(self) -> int:
        """Number of states so far."""
        return len(self.moves)

    def new(self) -> int:
        _check_size(len(self.moves) + 1)
        self.moves.append([])
        self.empties.append([])
        return len(self.moves) - 1

    def add(self, nodes: Nodes, state: int) -> int:
        """Add what some nodes match after a state; return where it ends."""
        for node in nodes:
            after = self.new()
            self._add(node, state, after)
            state = after
        return state

    def _add(self, node: Node, state: int, after: int) -> None:
        match node:
            case Literal() | Dot() | CharacterSet():
                self.moves[state].append((_class_of(node), after))
            case Anchor():
                if node not in (Anchor.LINE_START, Anchor.LINE_END):
                    raise SchemaError("\\b and \\B are not supported")
                self.empties[state].append((node, after))
            case Group():
                self.empties[self.add(node.body, state)].append((None, after))
            case Alternation():
                for branch in node.branches:
                    first = self.new()
                    self.empties[state].append((None, first))
                    self.empties[self.add(branch, first)].append((None, after))
            case Repeat():
                self._repeat(node, state, after)
            case Look():
                raise SchemaError("assertions are not supported, except look-ahead right after ^")
            case Unsupported():
                raise SchemaError(f"{node.what} is not supported")

    def _repeat(self, node: Repeat, state: int, after: int) -> None:
        if max(node.min_count, node.max_count or 0) > _MAX_REPEATS:
            raise SchemaError(f"it repeats more than {_MAX_REPEATS} times")
        for _ in range(node.min_count):
            state = self.add(node.body, state)
        if node.max_count is None:
            loop = self.new()
            self.empties[state].append((None, loop))
            self.empties[self.add(node.body, loop)].append((None, loop))
            self.empties[loop].append((None, after))
            return
        for _ in range(node.max_count - node.min_count):
            self.empties[state].append((None, after))
            state = self.add(node.body, state)
        self.empties[state].append((None, after))

    def _closure(self, states: Iterable[int], holding: frozenset[Anchor]) -> frozenset[int]:
        """Return where empty moves lead if some anchors hold."""
        reached = set(states)
        queue = list(reached)
        for state in queue:
            for condition, target in self.empties[state]:
                if target not in reached and (condition is None or condition in holding):
                    reached.add(target)
                    queue.append(target)
        return frozenset(reached)

    def language(self, first: int, last: int) -> Language:
        """Return the language of the texts that lead from one state to another.

        Raises
        ------
        SchemaError
            If the automaton has too many states.
        """
        cuts = self._cuts()
        intervals = {
            characters: _intervals(characters, cuts)
            for moves in self.moves
            for characters, _ in moves
        }
        every = _intervals(ANY_CHARACTER, cuts)
        start = self._closure([first], frozenset([Anchor.LINE_START]))
        indices: dict[frozenset[int] | None, int] = {None: 1}  # no other state is the start
        subsets = [start]
        rows = [(DEAD,) * len(cuts)]
        for subset in subsets:
            targets: list[set[int]] = [set() for _ in cuts]
            for state in subset:
                reached = [(every, state)] if state in self.free else []
                reached += [(intervals[chars], target) for chars, target in self.moves[state]]
                for where, target in reached:
                    for interval in where:
                        targets[interval].add(target)
            rows.append(self._row(targets, indices, subsets))
        anchors = [frozenset(Anchor), *[frozenset([Anchor.LINE_END])] * (len(subsets) - 1)]
        accepting = [
            index
            for index, (subset, holding) in enumerate(zip(subsets, anchors, strict=True), 1)
            if last in self._closure(subset, holding)
        ]
        return smallest(cuts, rows, 1, accepting)

    def _cuts(self) -> list[int]:
        """Return the first code points of intervals that no character class divides."""
        low, high = SURROGATES
        points = {0, low, high + 1}
        for characters in {characters for moves in self.moves for characters, _ in moves}:
            for first, last in characters.ranges:
                points |= {first, last + 1}
        return sorted(point for point in points if point <= MAX_CODE_POINT)

    def _row(
        self,
        targets: Sequence[set[int]],
        indices: dict[frozenset[int] | None, int],
        subsets: list[frozenset[int]],
    ) -> tuple[int, ...]:
        """Return the next state for each interval; add the subsets that are new."""
        known: dict[frozenset[int], int] = {frozenset(): DEAD}
        row = []
        for reached in map(frozenset, targets):
            if reached not in known:
                closed = self._closure(reached, frozenset())
                if closed not in indices:
                    subsets.append(closed)
                    indices[closed] = len(subsets)
                    _check_size(len(subsets))
                known[reached] = indices[closed]
            row.append(known[reached])
        return tuple(row)


def _check_size(n_states: int) -> None:
    if n_states > MAX_STATES:
        raise SchemaError(f"it has more than {MAX_STATES} states; use smaller bounds")


def _intervals(characters: CharacterClass, cuts: Sequence[int]) -> list[int]:
    """Return the indices of the intervals that make up a class."""
    return [
        index
        for low, high in characters.ranges
        for index in range(bisect_right(cuts, low) - 1, bisect_right(cuts, high))
    ]


def _class_of(node: Character) -> CharacterClass:
    """Return the code points that a node matches in ECMA-262."""
    if isinstance(node, Dot):
        return _LINE_ENDS.complement()
    members = (node.code_point,) if isinstance(node, Literal) else node.members
    ranges: list[tuple[int, int]] = []
    for member in members:
        if isinstance(member, Category):
            escaped = _CATEGORIES[member.kind]
            ranges += (escaped.complement() if member.is_negated else escaped).ranges
        else:
            ranges.append(member if isinstance(member, tuple) else (member, member))
    found = CharacterClass.of(ranges)
    return found.complement() if node.is_negated else found
