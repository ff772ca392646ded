r"""Regular expressions of Rust, which llguidance's dialect has, in the notation of Python's ``re``.

In: what stands between slashes, and its flags. Out: a pattern that matches the same texts as a
whole. Which match is preferred does not matter to llguidance, and is decided later. What differs
between the two notations is written out: flags, sets of characters inside sets, ``\p{L}``,
``[[:alpha:]]``, ``\x{1F600}``, ``\s`` (Python has four characters more)::

    (?i)a[b-d--c]\p{Nd}   ->   [Aa][BDbd][0-9...]

Source: the syntax of the crate regex-syntax 0.8, https://docs.rs/regex/latest/regex/#syntax.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NoReturn

from cfgguide.automata.charset import CharacterClass, category
from cfgguide.automata.ecma_notation import property_class
from cfgguide.automata.rust_sets import (
    ASCII,
    SPACES,
    ascii_set,
    character,
    combined,
    folded,
    spelled,
)
from cfgguide.automata.syntax import Category
from cfgguide.errors import SchemaError

#: Groups, and sets of characters, inside each other.
MAX_NESTING = 50
#: Characters of a pattern in Python's notation.
MAX_CHARACTERS = 50_000

_CONTROL = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_LITERAL = frozenset(r"\.+*?()|[]{}^$#&-~/" + "\"'!%,:;<=>@`_ ")
_COUNT = re.compile(r"\{\s*(\d+)\s*(?:(,)\s*(?:(\d+)\s*)?)?\}")
_ANYTHING = (r"[^\n]|\n", r"\n|[^\n]")  # how most people write it
_HEX_LENGTH = {"x": 2, "u": 4, "U": 8}
_FLAGS = re.compile(r"\?([imsxuUR]*)(?:-([imsxuUR]+))?([:)])")
_GROUP_NAME = re.compile(r"\?P?<[A-Za-z_][A-Za-z0-9_.\[\]]*>")
_NOT_REGULAR = "; llguidance has no look-around and no references to groups either"


class RustPatternError(Exception):
    """A place in a regular expression that cannot be read.

    Parameters
    ----------
    at : int
        Its offset in the expression.
    said : str
        What is wrong there.
    """

    def __init__(self, at: int, said: str) -> None:
        super().__init__(said)
        self.at = at
        self.said = said


@dataclass(frozen=True)
class _Flags:
    ignores_case: bool = False
    is_dotall: bool = False
    is_verbose: bool = False
    is_multiline: bool = False

    def changed(self, letters: str, value: bool) -> _Flags:
        names = {"i": "ignores_case", "s": "is_dotall", "x": "is_verbose", "m": "is_multiline"}
        return replace(self, **{names[each]: value for each in letters if each in names})


def as_python(pattern: str, flags: str = "") -> str:
    r"""Return a pattern of Rust's in Python's notation.

    Raises
    ------
    RustPatternError
        If it is not a regular expression, or has what a terminal cannot have.

    Examples
    --------
    >>> as_python(r"[a-z&&[^aeiou]] \x{41}", "x")
    '[b-df-hj-np-tv-z]A'
    >>> as_python("(?i)ok")
    '[Oo][Kk\\u212a]'
    """
    written = _Translator(pattern).whole(_Flags().changed(flags, value=True))
    if len(written) > MAX_CHARACTERS:
        raise RustPatternError(
            0, f"this has {len(written)} characters in Python's notation, and {MAX_CHARACTERS} fit"
        )
    return written


class _Translator:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = -1  # the whole is no group

    def whole(self, flags: _Flags) -> str:
        """Return all of the pattern."""
        written = self._choice(flags)
        if self._at < len(self._pattern):
            self._fail("this bracket closes nothing; a bracket that is meant is written \\)")
        return written

    def _fail(self, said: str, at: int | None = None) -> NoReturn:
        raise RustPatternError(self._at if at is None else at, said)

    def _next(self, count: int = 1) -> str:
        return self._pattern[self._at : self._at + count]

    def _enter(self, at: int) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            self._fail(f"more than {MAX_NESTING} groups inside each other", at)

    # --- Groups and repetitions ------------------------------------------------------------------

    def _choice(self, flags: _Flags, begin: int = 0) -> str:
        self._enter(begin)
        branches: list[list[str]] = [[]]
        while self._at < len(self._pattern) and self._next() != ")":
            if self._next() == "|":
                self._at += 1
                branches.append([])
                continue
            if flags.is_verbose and self._skipped():
                continue
            if (changed := self._flags_here(flags)) is not None:
                flags = changed
                continue
            branches[-1].append(self._repeated(self._atom(flags), flags))
        self._depth -= 1
        written = "|".join("".join(each) for each in branches)
        return "(?s:.)" if written in _ANYTHING else written

    def _skipped(self) -> bool:
        """Return whether white space or a comment was here, under the flag x."""
        if self._next() == "#":
            end = self._pattern.find("\n", self._at)
            self._at = len(self._pattern) if end < 0 else end
            return True
        self._at += (is_space := self._next().isspace())
        return is_space

    def _flags_here(self, flags: _Flags) -> _Flags | None:
        """Return the flags from here on, if they change here: ``(?i)``."""
        found = _FLAGS.match(self._pattern, self._at + 1) if self._next() == "(" else None
        if found is None or found[3] == ":":
            return None
        self._at = found.end()
        return self._with(flags, found)

    def _with(self, flags: _Flags, found: re.Match[str]) -> _Flags:
        if found[2] and "u" in found[2]:
            self._fail("(?-u) makes a pattern of bytes, and texts are UTF-8; leave it out")
        return flags.changed(found[1], True).changed(found[2] or "", False)

    def _repeated(self, atom: str, flags: _Flags) -> str:
        while True:
            while flags.is_verbose and self._at < len(self._pattern) and self._skipped():
                pass
            begin = self._at
            sign = self._next()
            if sign in ("*", "+", "?") and sign:
                self._at += 1
            elif sign == "{":
                sign = self._count()
            else:
                return atom
            if not atom:
                self._fail("there is nothing to repeat before this", begin)
            if self._next() == "?":  # lazy: no matter for whole matches
                self._at += 1
            atom = f"(?:{atom}){sign}" if len(atom) > 1 else f"{atom}{sign}"

    def _count(self) -> str:
        found = _COUNT.match(self._pattern, self._at)
        if found is None:
            self._fail("a count is written {3}, {3,} or {3,5}; a brace that is meant is \\{")
        least, most = found[1], found[3]
        if max(len(least), len(most or "")) > 9:
            self._fail("this count is too large")
        if most is not None and int(most) < int(least):
            self._fail(f"the range {least} to {most} ends before it begins")
        self._at = found.end()
        return f"{{{least}}}" if found[2] is None else f"{{{least},{most or ''}}}"

    def _atom(self, flags: _Flags) -> str:
        begin, sign = self._at, self._next()
        if sign == "(":
            return self._group(flags)
        if sign == "[":
            return spelled(self._set(flags))
        if sign in ("^", "$"):
            return self._anchor(sign, flags)
        if sign in ("*", "+", "?", "{"):
            self._fail(
                f"there is nothing to repeat before this; a {sign} that is meant is \\{sign}"
            )
        self._at += 1
        if sign == ".":
            return "(?s:.)" if flags.is_dotall else r"[^\n]"
        if sign != "\\":
            return self._literal(ord(sign), flags)
        if self._next() in ("A", "z"):
            self._at = begin + 1
            return self._anchor(self._next(), flags)
        if self._next() in ("d", "w"):
            self._at += 1
            return rf"\{self._pattern[self._at - 1]}"
        escaped = self._escape(flags)
        return self._literal(escaped, flags) if isinstance(escaped, int) else spelled(escaped)

    def _anchor(self, sign: str, flags: _Flags) -> str:
        """Return nothing for an anchor at an end of the whole pattern, where it changes nothing."""
        is_first = (sign, self._at) in (("^", 0), ("A", 1))
        is_last = sign in ("$", "z") and self._at + 1 == len(self._pattern)
        self._at += 1
        if flags.is_multiline or self._depth > 0 or not (is_first or is_last):
            self._fail("a terminal always matches as a whole; leave out this anchor", self._at - 1)
        return ""

    def _group(self, flags: _Flags) -> str:
        begin = self._at
        self._at += 1
        if found := _FLAGS.match(self._pattern, self._at):
            flags, self._at = self._with(flags, found), found.end()
        elif found := _GROUP_NAME.match(self._pattern, self._at):
            self._at = found.end()
        elif self._next() == "?":
            self._fail(
                f"(?{self._pattern[self._at + 1 : self._at + 2]} is not supported{_NOT_REGULAR}"
            )
        inside = self._choice(flags, begin)
        if self._next() != ")":
            self._fail("this group is never closed", begin)
        self._at += 1
        return f"(?:{inside})"

    def _literal(self, point: int, flags: _Flags) -> str:
        if not flags.ignores_case:
            return character(point)
        return spelled(folded(CharacterClass.of_characters([point])))

    # --- Escapes and sets of characters ----------------------------------------------------------

    def _escape(self, flags: _Flags) -> int | CharacterClass:
        """Return what a backslash stands for, if it is one character or one of several."""
        begin = self._at - 1
        letter = self._next()
        self._at += 1
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter in _HEX_LENGTH:
            return self._hex(letter, begin)
        if letter and letter in "dDwWsS":
            is_negated = letter.isupper()
            if letter in "sS":
                return SPACES.complement() if is_negated else SPACES
            return category(Category(letter.lower(), is_negated), ascii_only=False)
        if letter and letter in "pP":
            return self._property(letter == "P", begin, flags)
        if letter.isdigit():
            self._fail(f"\\{letter} is not supported{_NOT_REGULAR}", begin)
        if letter and letter in "bB<>":
            self._fail(f"\\{letter} is not supported{_NOT_REGULAR}", begin)
        if letter not in _LITERAL or not letter:
            self._fail(f"there is no escape \\{letter}", begin)
        return ord(letter)

    def _hex(self, letter: str, begin: int) -> int:
        if self._next() == "{":
            end = self._pattern.find("}", self._at)
            digits = self._pattern[self._at + 1 : max(end, 0)]
            self._at = end + 1
        else:
            digits = self._next(_HEX_LENGTH[letter]).ljust(_HEX_LENGTH[letter])
            self._at += _HEX_LENGTH[letter]
        is_hex = re.fullmatch("[0-9A-Fa-f]{1,8}", digits) is not None
        if not is_hex or int(digits, 16) > 0x10FFFF or 0xD800 <= int(digits, 16) < 0xE000:
            self._fail(f"\\{letter} is followed by the number of a character, in hex", begin)
        return int(digits, 16)

    def _property(self, is_negated: bool, begin: int, flags: _Flags) -> CharacterClass:
        name = self._next()
        self._at += 1
        if name == "{":
            end = self._pattern.find("}", self._at)
            name = self._pattern[self._at : max(end, 0)]
            self._at = end + 1
        try:
            found = property_class(name, is_negated=is_negated)
        except SchemaError as error:
            self._fail(f"{error.args[0]}; write the ranges of the characters", begin)
        return folded(found) if flags.ignores_case else found

    def _set(self, flags: _Flags) -> CharacterClass:
        """Return the characters of a set in brackets, which may hold others."""
        begin = self._at
        self._enter(begin)
        self._at += 1
        is_negated = self._next() == "^"
        self._at += is_negated
        found, operation, is_first = CharacterClass.of([]), "", True
        left = found
        while True:
            if self._at >= len(self._pattern):
                self._fail("this set of characters is never closed", begin)
            if self._next() == "]" and not is_first:
                break
            if self._next(2) in ("&&", "--", "~~") and not is_first:
                left, found = combined(left, operation, found), CharacterClass.of([])
                operation = self._next(2)
                self._at += 2
                continue
            found = CharacterClass.of([*found.ranges, *self._item(flags).ranges])
            is_first = False
        self._at += 1
        self._depth -= 1
        result = combined(left, operation, found)
        return result.complement() if is_negated else result

    def _item(self, flags: _Flags) -> CharacterClass:
        if self._next(2) == "[:":
            return self._posix(flags)
        if self._next() == "[":
            return self._set(flags)
        if flags.is_verbose and self._next().isspace():
            self._at += 1
            return CharacterClass.of([])
        begin = self._at
        first = self._member(flags)
        is_range = self._next() == "-" and self._next(2) not in ("-]", "--", "-")
        if isinstance(first, CharacterClass):
            return first
        last = first
        if is_range:
            self._at += 1
            end = self._member(flags)
            if isinstance(end, CharacterClass) or end < first:
                self._fail("a range goes from one character to a later one", begin)
            last = end
        found = CharacterClass.of([(first, last)])
        return folded(found) if flags.ignores_case else found

    def _member(self, flags: _Flags) -> int | CharacterClass:
        sign = self._next()
        self._at += 1
        return self._escape(flags) if sign == "\\" else ord(sign)

    def _posix(self, flags: _Flags) -> CharacterClass:
        end = self._pattern.find(":]", self._at)
        name = self._pattern[self._at + 2 : max(end, 0)]
        found = ascii_set(name.removeprefix("^"))
        if found is None:
            self._fail(f"there is no set [:{name[:20]}:]; there are {', '.join(ASCII)}")
        self._at = end + 2
        if flags.ignores_case:
            found = folded(found)
        return found.complement() if name.startswith("^") else found
