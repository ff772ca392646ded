r"""Reads regular expressions of ECMA-262 as trees whose leaves are classes of characters.

In: a pattern of JSON Schema. Out: a tuple of nodes that match one after the other. It is read as
with the flag ``u``, and what that does not allow as without it: ``[a-\d]``, ``\-``, ``]`` and
``a{`` are what browsers make of them. ``\d`` and ``\w`` are ASCII, ``\s`` is Unicode's white
space, ``\p{...}`` a general category, ``$`` the very end.

Letters that ECMA-262 gives no meaning are refused after a backslash, since other notations have one
for most: ``\A``, ``\Z``, ``\h``. Flags may stand in groups, as in its edition of 2025, and at the
start, as in Python.

Source: ECMA-262, 16th edition, sections 22.2.1 and B.1.2.
"""

from __future__ import annotations

import re

from cfgguide.automata import unicode_sets
from cfgguide.automata.charset import ANY_CHARACTER, CharacterClass
from cfgguide.automata.pattern_reader import (
    COMMON_SPACES,
    TIDY,
    Flags,
    Member,
    PatternReader,
    characters,
    tree_of,
)
from cfgguide.automata.pattern_tree import (
    END,
    START,
    Characters,
    Choice,
    Look,
    Node,
    Nodes,
    boundary,
    one_of,
)
from cfgguide.automata.unicode_sets import ASCII, either, others

_LINE_ENDS = CharacterClass.of_characters([0x0A, 0x0D, 0x2028, 0x2029])
_SPACES = CharacterClass.of(
    [
        *((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
        *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
        (0xFEFF, 0xFEFF),
    ]
)
_CONTROL = {"f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,12})\}")
_LOW_HALF = re.compile(r"\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
_LETTER = re.compile(r"c([A-Za-z])")
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")
_PROPERTY = re.compile(r"[pP]\{([^}\\]*)\}")
_GROUP = re.compile(r"\?(?:P?<[^\W\d][\w$]*>|([ims]*)(?:-([ims]+))?:)")
_GLOBAL_FLAGS = re.compile(r"\(\?([imsx]+)\)")
_VERBOSE = re.compile(r"\?[a-wyz-]*+x[a-z-]*+[:)]")
_LOOK = re.compile(r"\?(<?)([=!])")
_HYPHEN = characters(ord("-"))


def read(pattern: str, *, tidy: bool = False) -> Nodes:
    r"""Return the tree of a pattern.

    Parameters
    ----------
    pattern : str
        The pattern.
    tidy : bool
        Whether ``\s`` is a space, a tab or a line break, where that makes the texts no more.

    Raises
    ------
    SchemaError
        If it is not a regular expression, or has what no automaton can express.

    Examples
    --------
    >>> read(r"[a-\d]\u{7a}")
    (Characters(characters=...((45, 45), (48, 57), (97, 97)))), Characters(...((122, 122),))))
    """
    return tree_of(_Reader(pattern), {TIDY} if tidy else ())


class _Reader(PatternReader):
    """Reads a pattern of ECMA-262."""

    COUNT = re.compile(r"\{([0-9]+)(?:(,)([0-9]+)?)?\}")
    REPEATS_AGAIN = False

    def _flags_here(self, flags: Flags) -> Flags | None:
        """Return the flags at the start of a whole pattern, as in Python."""
        match = self._match(_GLOBAL_FLAGS) if self._at == 0 else None
        if match is None:
            return None
        if "x" in match[1]:
            self._fail("the flag x is not supported", 0)
        return flags | {*match[1]}

    def _atom(self, flags: Flags) -> Nodes:
        begin, sign = self._at, self._next()
        self._at += 1
        match sign:
            case "(":
                return self._bracket(flags, begin)
            case "[":
                self._at = begin
                return (one_of(self._whole_set(flags)),)
            case "^" | "$":
                return self._place(_line_end(sign, flags))
            case ".":
                return (one_of(ANY_CHARACTER if "s" in flags else _LINE_ENDS.complement()),)
            case "\\" if self._next() and self._next() in "bB":
                self._at += 1
                is_negated = self.pattern[self._at - 1] == "B"
                return self._place(boundary(self._class("w", flags), is_negated=is_negated))
            case "*" | "+" | "?":
                self._fail(f"there is nothing to repeat before this; that sign is \\{sign}", begin)
            case "{" if self.COUNT.match(self.pattern, begin):
                self._fail("there is nothing to repeat before this; that sign is \\{", begin)
        member = self._escape(flags) if sign == "\\" else ord(sign)
        found = characters(member)
        if isinstance(member, int):
            found = self._any_case(found, flags)
        return (one_of(found),)

    def _place(self, node: Node) -> Nodes:
        """Return a condition on a place, which is not repeated."""
        if self._next() and (self._next() in "*+?" or self.COUNT.match(self.pattern, self._at)):
            self._fail("what stands before this is a place, and cannot be repeated")
        return (node,)

    def _bracket(self, flags: Flags, begin: int) -> Nodes:
        if look := self._match(_LOOK):
            body = self._group(flags - {TIDY}, begin)
            node = Look(body, is_behind=look[1] == "<", is_negated=look[2] == "!")
            return self._place(node) if node.is_behind else (node,)
        if head := self._match(_GROUP):
            flags = (flags | {*(head[1] or "")}) - {*(head[2] or "")}
        elif self._next() == "?":
            if _VERBOSE.match(self.pattern, self._at):
                self._fail("the flag x is not supported", begin)
            self._fail(
                f"({self._next(2)} begins no group that ECMA-262 knows; write (?:...)", begin
            )
        return self._group(flags, begin)

    def _escape(self, flags: Flags, *, is_in_set: bool = False) -> Member:
        """Return what a backslash stands for, if it is one character or one of several."""
        begin, letter = self._at - 1, self._next()
        if letter and letter in "dDwWsS":
            self._at += 1
            return self._class(letter, flags)
        if found := self._match(_PROPERTY):
            return self._property(found[0][0] == "P", found[1], begin, flags)
        if found := self._match(_HEX):
            return self._number(found, begin)
        if found := self._match(_LETTER):
            return ord(found[1]) % 32
        if (is_in_set or letter == "0") and (found := self._match(_OCTAL)):
            return int(found[0], 8)
        self._at += 1
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter == "b" and is_in_set:
            return 8
        if not is_in_set and letter and letter in "123456789k":
            self._fail("a backreference is not supported; write out what the group matches", begin)
        if not letter or (letter.isascii() and letter.isalpha()):
            said = "which ECMA-262 does not know; a backslash that is meant is \\\\"
            self._fail(f"it has \\{letter}, {said}", begin)
        return ord(letter)

    def _class(self, letter: str, flags: Flags) -> CharacterClass:
        self._is_plain &= letter != "S"
        if letter in "sS":
            found = COMMON_SPACES if letter == "s" and TIDY in flags else _SPACES
        else:
            found = ASCII["word" if letter in "wW" else "digit"]
        found = self._any_case(found, flags)
        return found.complement() if letter.isupper() else found

    def _property(self, is_negated: bool, name: str, begin: int, flags: Flags) -> CharacterClass:
        found = unicode_sets.named(name)
        if found is None:
            said = "is not a general category of Unicode; only those are supported"
            self._fail(f"\\p{{{name}}} {said}", begin)
        found = self._any_case(found, flags)
        return others(found) if is_negated else found

    def _number(self, found: re.Match[str], begin: int) -> int:
        point = self._code_point(found[1] or found[2] or found[3], begin, letter=found[0][0])
        if found[2] and 0xD800 <= point < 0xDC00 and (low := self._match(_LOW_HALF)):
            return 0x10000 + ((point - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        return point

    def _set(self, flags: Flags) -> CharacterClass:
        """Return the characters of a set in brackets."""
        begin = self._at
        self._at += 1
        is_negated = self._taken("^")
        self._is_plain &= not is_negated
        parts: list[CharacterClass] = []
        while not self._taken("]"):
            if not self._next():
                self._fail("this set of characters is never closed", begin)
            parts.append(self._run(flags))
        found = self._any_case(either(*parts), flags)
        return found.complement() if is_negated else found

    def _member(self, flags: Flags) -> Member:
        sign = self._next()
        self._at += 1
        return self._escape(flags, is_in_set=True) if sign == "\\" else ord(sign)

    def _is_range(self, flags: Flags) -> bool:
        return self._next(2) not in ("-]", "-")

    def _no_range(self, first: Member, last: Member, begin: int) -> CharacterClass:
        return either(characters(first), _HYPHEN, characters(last))


def _line_end(sign: str, flags: Flags) -> Node:
    """Return the condition of ``^`` or ``$``."""
    place = START if sign == "^" else END
    if "m" not in flags:
        return place
    return Choice(((place,), (Look((Characters(_LINE_ENDS),), is_behind=sign == "^"),)))
