r"""Reads regular expressions of Rust's crate ``regex`` as trees whose leaves are classes.

In: a pattern, as Pydantic and llguidance have them. Out: a tuple of nodes that match one after the
other. Flags, case, sets inside sets, ``\p{L}``, ``[[:alpha:]]`` and the like are worked into the
classes, and word boundaries into looks::

    (?i)a[b-d--c]   ->   Characters(Aa), Characters(BDbd)

``\w``, ``\d`` and ``\s`` are Unicode's. Which characters a later version of Unicode has added to
words or other sets by name is not known here, so they are neither in these sets nor in what is left
without them.

Source: the syntax of the crate regex-syntax 0.8, https://docs.rs/regex/latest/regex/#syntax.
"""

from __future__ import annotations

import re

from cfgguide.automata import unicode_sets
from cfgguide.automata.charset import ANY_CHARACTER, SURROGATES, CharacterClass
from cfgguide.automata.pattern_reader import (
    COMMON_SPACES,
    TIDY,
    Flags,
    Member,
    NotationError,
    PatternReader,
    characters,
    tree_of,
)
from cfgguide.automata.pattern_text import spelled, text_of
from cfgguide.automata.pattern_tree import (
    END,
    START,
    Characters,
    Choice,
    Look,
    Nodes,
    boundary,
    one_of,
)
from cfgguide.automata.unicode_sets import ASCII, SPACES, both, either, others, without

#: Characters of a pattern in Python's notation.
MAX_CHARACTERS = 200_000

_CONTROL = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_HEX_LENGTH = {"x": 2, "u": 4, "U": 8}
_FLAGS = re.compile(r"\?([imsxuUR]*)(?:-([imsxuUR]+))?([:)])")
_GROUP_NAME = re.compile(r"\?P?<[^\W\d][\w.\[\]]*>")
_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")
_HALF_BOUNDARY = re.compile(r"\{([a-z-]+)\}")
_SPACED_HALF_BOUNDARY = re.compile(r"\s*\{\s*([a-z-]+)\s*\}")
_BRACED = re.compile(r"\{([^}]*)\}")
_NOT_REGULAR = "; Rust has no look-around and no references to groups either"
_LINE_FEED, _RETURN = (
    (Characters(CharacterClass.of_characters([point])),) for point in (0x0A, 0x0D)
)
_OPERATIONS = ("&&", "--", "~~")


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
        If it is not a regular expression of Rust, or has what is not known here.

    Examples
    --------
    >>> read(r"[a-z&&[^aeiou]]\z")
    (Characters(characters=...((98, 100), (102, 104), ...(118, 122)))), <Anchor.LINE_END: '$'>)
    """
    return tree_of(_Reader(pattern), {"u", TIDY} if tidy else {"u"})


def as_python(pattern: str, flags: str = "") -> str:
    r"""Return a pattern of a terminal in Python's notation.

    It matches the same texts as a whole. Terminals have no anchors, except at their ends, where
    these change nothing.

    Raises
    ------
    NotationError
        If it is not a regular expression, or has what a terminal cannot have.

    Examples
    --------
    >>> as_python(r"[a-z&&[^aeiou]] \x{41}", "x")
    '[b-df-hj-np-tv-z]A'
    >>> as_python("(?i)ok")
    '[Oo][Kk\\u212a]'
    """
    nodes = _TerminalReader(pattern).whole(frozenset(flags + "u"))
    written = text_of(nodes, spelled)
    assert written is not None, "a terminal has no conditions on places"
    if len(written) > MAX_CHARACTERS:
        raise NotationError(
            0, f"this has {len(written)} characters in Python's notation, and {MAX_CHARACTERS} fit"
        )
    return written


class _Reader(PatternReader):
    """Reads a pattern of Rust."""

    COUNT = re.compile(r"\{\s*([0-9]+)\s*(?:(,)\s*(?:([0-9]+)\s*)?)?\}")
    REPEATS_AGAIN = True

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self._is_by_name = False  # whether a set by name was in the set that is read

    def _no_count(self) -> None:
        self._fail("a count is written {3}, {3,} or {3,5}; a brace that is meant is \\{")

    # --- Flags and groups -------------------------------------------------------------------------

    def _skip(self, flags: Flags) -> bool:
        """Go over white space and comments, under the flag x."""
        begin = self._at
        while "x" in flags and (sign := self._next()):
            if sign == "#":
                end = self.pattern.find("\n", self._at)
                self._at = len(self.pattern) if end < 0 else end + 1
            elif ord(sign) in SPACES:
                self._at += 1
            else:
                break
        return self._at > begin

    def _flags_here(self, flags: Flags) -> Flags | None:
        match = _FLAGS.match(self.pattern, self._at + 1) if self._next() == "(" else None
        if match is None or match[3] == ":":
            return None
        self._at = match.end()
        return self._changed(flags, match)

    def _changed(self, flags: Flags, match: re.Match[str]) -> Flags:
        letters = match[1] + (match[2] or "")
        if len(set(letters)) < len(letters) or match[0] == "?)":
            self._fail("this says no flag, or one of them twice", match.start())
        return (flags | {*match[1]}) - {*(match[2] or "")}

    def _head(self, flags: Flags) -> Flags:
        """Return the flags inside a group; its beginning is gone over."""
        self._skip(flags)
        if match := self._match(_FLAGS):
            return self._changed(flags, match)
        if self._match(_GROUP_NAME) is None and self._next() == "?":
            self._fail(f"({self._next(2)} is not supported{_NOT_REGULAR}")
        return flags

    # --- What matches a character or a place ------------------------------------------------------

    def _atom(self, flags: Flags) -> Nodes:
        begin, sign = self._at, self._next()
        self._at += 1
        self._is_by_name = False
        match sign:
            case "(":
                return self._group(self._head(flags), begin)
            case "[":
                self._at = begin
                return (one_of(self._known(self._whole_set(flags), begin, flags)),)
            case "^" | "$":
                return self._anchor(sign, begin, flags)
            case "*" | "+" | "?" | "{":
                said = f"there is nothing to repeat before this; a {sign} that is meant is \\{sign}"
                self._fail(said, begin)
            case ".":
                return (one_of(self._known(_dot(flags), begin, flags)),)
            case "\\" if self._next() and self._next() in "AzbB<>":
                sign += self._next()
                self._at += 1
                return self._anchor(sign, begin, flags)
        member = self._escape(flags) if sign == "\\" else ord(sign)
        if isinstance(member, int):
            return (one_of(self._any_case(characters(member), flags)),)
        return (one_of(self._known(member, begin, flags)),)

    def _known(self, found: CharacterClass, begin: int, flags: Flags) -> CharacterClass:
        """Return what is sure of a set; texts are UTF-8, so without Unicode it has only ASCII."""
        if "u" not in flags and without(found, ASCII["ascii"]).ranges:
            self._fail("(?-u) makes a pattern of bytes, and texts are UTF-8; leave it out", begin)
        return unicode_sets.sure(found) if self._is_by_name else found

    def _anchor(self, sign: str, begin: int, flags: Flags) -> Nodes:
        """Return the condition of an anchor."""
        if sign in ("^", r"\A"):
            return _line_start("R" in flags) if sign == "^" and "m" in flags else (START,)
        if sign in ("$", r"\z"):
            return _line_end("R" in flags) if sign == "$" and "m" in flags else (END,)
        word = unicode_sets.word() if "u" in flags else ASCII["word"]
        inside = (Characters(word),)
        kind = {r"\<": "start", r"\>": "end"}.get(sign, "")
        half = _HALF_BOUNDARY if "x" not in flags else _SPACED_HALF_BOUNDARY
        if sign == r"\b" and (match := self._match(half)):
            kind = match[1]
            if kind not in ("start", "end", "start-half", "end-half"):
                self._fail(f"there is no boundary {kind}; there are start, end and halves", begin)
        is_start = kind.startswith("start")
        if not kind:
            return (boundary(word, is_negated=sign == r"\B"),)
        outside = Look(inside, is_behind=is_start, is_negated=True)
        if kind.endswith("half"):
            return (outside,)
        return (outside, Look(inside, is_behind=not is_start))

    def _any_case(self, found: CharacterClass, flags: Flags) -> CharacterClass:
        """Return characters in any case; without Unicode, letters of ASCII have one alone."""
        if "u" in flags:
            return super()._any_case(found, flags)
        letters = super()._any_case(both(found, ASCII["alpha"]), flags)
        return either(found, both(letters, ASCII["alpha"]))

    # --- Escapes and sets of characters -----------------------------------------------------------

    def _escape(self, flags: Flags) -> Member:
        """Return what a backslash stands for, if it is one character or one of several."""
        begin = self._at - 1
        letter = self._next()
        self._at += 1
        if not letter:
            self._fail("there is no escape \\", begin)
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter in _HEX_LENGTH:
            return self._hex(letter, begin, flags)
        if letter in "dDwWsS":
            self._is_plain &= letter != "S"
            self._is_by_name |= letter in "dDwW" and "u" in flags
            return _class(letter, flags)
        if letter in "pP":
            return self._property(begin, flags, is_negated=letter == "P")
        if letter.isdigit():
            self._fail(f"\\{letter} is not supported{_NOT_REGULAR}", begin)
        if not letter.isascii() or letter.isalpha() or letter in "<>":
            self._fail(f"there is no escape \\{letter}", begin)
        return ord(letter)

    def _braced(self, flags: Flags) -> str | None:
        """Return what stands in braces here."""
        match = self._match(_BRACED)
        if match is None:
            return None
        return re.sub(r"\s", "", match[1]) if "x" in flags else match[1]

    def _hex(self, letter: str, begin: int, flags: Flags) -> int:
        self._skip(flags)
        digits = self._braced(flags)
        if digits is None:
            digits = self._next(_HEX_LENGTH[letter]).ljust(_HEX_LENGTH[letter])
            self._at += _HEX_LENGTH[letter]
        point = self._code_point(digits, begin, letter=letter)
        if SURROGATES[0] <= point <= SURROGATES[1]:
            self._fail(f"\\{letter} is followed by the number of a character, in hex", begin)
        return point

    def _property(self, begin: int, flags: Flags, *, is_negated: bool) -> CharacterClass:
        self._skip(flags)
        name = self._braced(flags)
        if name is None:
            name = self._next()
            self._at += 1
        if "!=" in name:
            name, is_negated = name.replace("!=", "="), not is_negated
        found = unicode_sets.named(name, is_loose=True)
        if found is None:
            said = "is not a general category of Unicode; only those are supported; write the"
            self._fail(f"\\p{{{name}}} {said} ranges of the characters", begin)
        self._is_by_name = True
        found = self._any_case(found, flags)
        return others(found) if is_negated else found

    def _set(self, flags: Flags) -> CharacterClass:
        """Return the characters of a set in brackets, which may hold others."""
        begin = self._at
        self._enter(begin)
        self._at += 1
        self._skip(flags)
        is_negated = self._taken("^")
        self._is_plain &= not is_negated
        self._skip(flags)
        parts: list[CharacterClass] = []
        while self._taken("-"):
            parts.append(characters(ord("-")))
            self._skip(flags)
        if not parts and self._taken("]"):
            parts.append(characters(ord("]")))
        left, operation = ANY_CHARACTER, "&&"
        while self._skip(flags) or not self._taken("]"):
            if not self._next():
                self._fail("this set of characters is never closed", begin)
            if self._next(2) in _OPERATIONS:
                self._is_plain = False
                left = _combined(left, operation, self._any_case(either(*parts), flags))
                operation, parts = self._next(2), []
                self._at += 2
            elif self._next() == "[":
                parts.append(self._posix(flags) or self._set(flags))
            elif self._next() != "]":
                parts.append(self._run(flags))
        self._depth -= 1
        result = _combined(left, operation, self._any_case(either(*parts), flags))
        return result.complement() if is_negated else result

    def _is_range(self, flags: Flags) -> bool:
        begin = self._at
        self._at += 1
        self._skip(flags)
        follower, self._at = self._next(), begin
        return follower not in ("]", "-", "")

    def _no_range(self, first: Member, last: Member, begin: int) -> CharacterClass:
        self._fail("a range goes from one character to a later one", begin)

    def _member(self, flags: Flags) -> Member:
        sign = self._next()
        self._at += 1
        member = self._escape(flags) if sign == "\\" else ord(sign)
        self._skip(flags)
        return member

    def _posix(self, flags: Flags) -> CharacterClass | None:
        match = _POSIX.match(self.pattern, self._at)
        if match is None or match[2] not in ASCII:
            return None
        self._at = match.end()
        found = self._any_case(ASCII[match[2]], flags)
        return found.complement() if match[1] else found


class _TerminalReader(_Reader):
    """Reads a pattern that always matches as a whole."""

    def _anchor(self, sign: str, begin: int, flags: Flags) -> Nodes:
        """Return nothing for an anchor at an end of the whole pattern; there is none elsewhere."""
        if sign[1:] in ("b", "B", "<", ">"):
            self._fail(f"{sign} is not supported in a terminal", begin)
        is_first = sign in ("^", r"\A") and begin == 0
        is_last = sign in ("$", r"\z") and self._at == len(self.pattern)
        if "m" in flags or self._depth > 0 or not (is_first or is_last):
            self._fail("a terminal always matches as a whole; leave out this anchor", begin)
        return ()


def _class(letter: str, flags: Flags) -> CharacterClass:
    r"""Return the class of ``\d``, ``\w``, ``\s`` or what is not in it."""
    if letter.isupper():
        return others(_class(letter.lower(), flags - {TIDY}))
    if "u" not in flags:
        return ASCII[{"d": "digit", "w": "word", "s": "space"}[letter]]
    if letter == "s":
        return COMMON_SPACES if TIDY in flags else SPACES
    return unicode_sets.word() if letter == "w" else unicode_sets.digits()


def _dot(flags: Flags) -> CharacterClass:
    ends = "" if "s" in flags else "\r\n" if "R" in flags else "\n"
    return CharacterClass.of_characters(map(ord, ends)).complement()


def _line_start(has_returns: bool) -> Nodes:
    after = (Look(_LINE_FEED, is_behind=True),)
    if not has_returns:
        return (Choice(((START,), after)),)
    behind = (Look(_RETURN, is_behind=True), Look(_LINE_FEED, is_negated=True))
    return (Choice(((START,), after, behind)),)


def _line_end(has_returns: bool) -> Nodes:
    before = (Look(_LINE_FEED),)
    if not has_returns:
        return (Choice(((END,), before)),)
    alone = (*before, Look(_RETURN, is_behind=True, is_negated=True))
    return (Choice(((END,), alone, (Look(_RETURN),))),)


def _combined(left: CharacterClass, operation: str, right: CharacterClass) -> CharacterClass:
    """Return what ``&&``, ``--`` or ``~~`` makes of two sets."""
    if operation == "&&":
        return both(left, right)
    if operation == "--":
        return without(left, right)
    return either(without(left, right), without(right, left))
