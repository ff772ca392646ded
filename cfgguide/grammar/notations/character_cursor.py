"""Reads a text from left to right, character by character.

In: a :class:`~cfgguide.grammar.rules.source.Source`. Out: what stands at a place, and errors
about it. The notations here have no words that all of them share, so each reader cuts its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NoReturn

from cfgguide.automata.charset import MAX_CODE_POINT, SURROGATES, CharacterClass
from cfgguide.errors import CfgGuideError, GrammarError
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import Ranges

_DIGITS = re.compile("[0-9A-Fa-f]+")


class Cursor:
    """A place in a text.

    Parameters
    ----------
    source : Source
        The text.

    Examples
    --------
    >>> cursor = Cursor(Source("root ::= 1", "the grammar"))
    >>> cursor.match(re.compile("[a-z]+"))[0], cursor.took(" ::="), cursor.here
    ('root', True, ' ')
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.at = 0

    @property
    def here(self) -> str:
        """The next character, or the empty text at the end."""
        return self.source.text[self.at : self.at + 1]

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the match of a pattern that begins here, and go on after it."""
        found = pattern.match(self.source.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def is_at(self, *marks: str) -> bool:
        """Return whether one of some texts comes next."""
        return self.source.text.startswith(marks, self.at)

    def took(self, mark: str) -> bool:
        """Return whether a text came next, and go on after it if so."""
        is_next = self.is_at(mark)
        self.at += len(mark) * is_next
        return is_next

    def expect(self, mark: str, why: str) -> None:
        """Go on after a text that has to come next; raises GrammarError if it does not."""
        if not self.took(mark):
            self.fail(f"expected {mark} {why}, not {self.shown}")

    @property
    def shown(self) -> str:
        """What comes next, as messages show it."""
        names = {"": "the end of the text", "\n": "the end of the line"}
        return names.get(self.here.replace("\r", "\n"), repr(self.here))

    def fail(self, said: str, at: int | None = None) -> NoReturn:
        """Raise an error about this place, or about another one."""
        raise self.error(said, at)

    def error(
        self, said: str, at: int | None = None, kind: type[CfgGuideError] = GrammarError
    ) -> CfgGuideError:
        """Return an error about this place, or about another one."""
        return self.source.error(self.at if at is None else at, said, kind)

    def code_point(self, begin: int, least: int, most: int | None) -> int:
        """Return the character whose number comes next, in so many hexadecimal digits.

        `begin` is where the escape begins, for errors.

        Raises
        ------
        GrammarError
            If there are too few digits, or it is no character.
        """
        text = self.source.text
        found = _DIGITS.match(text, self.at, len(text) if most is None else self.at + most)
        if found is None or len(found[0]) < least:
            self.fail(f"expected {least} hexadecimal digits after {text[begin : self.at]}", begin)
        self.at = found.end()
        digits = found[0].lstrip("0")
        point = int(digits or "0", 16) if len(digits) <= 8 else MAX_CODE_POINT + 1
        if point > MAX_CODE_POINT:
            self.fail("the last character is U+10FFFF, and this number is higher", begin)
        return self.checked(point, begin)

    def character(
        self,
        escapes: Mapping[str, str],
        digits: Mapping[str, tuple[int, int | None]],
        unknown: Callable[[str], str],
    ) -> int:
        """Return the code point of the next character, which may be an escape.

        Parameters
        ----------
        escapes : mapping of str to str
            What letters stand for after a backslash.
        digits : mapping of str to (int, int or None)
            After which of them a number comes, and how many digits it has at least and at most.
        unknown : callable
            Returns what to say of another letter.
        """
        at, character = self.at, self.here
        self.at += 1
        if character != "\\":
            return self.checked(ord(character), at)
        letter = self.here
        self.at += 1
        if letter in digits:
            return self.code_point(at, *digits[letter])
        if letter not in escapes:
            self.fail(unknown(letter), at)
        return ord(escapes[letter])

    def checked(self, point: int, at: int) -> int:
        """Return a code point; raises GrammarError if it is half of a surrogate pair."""
        if SURROGATES[0] <= point <= SURROGATES[1]:
            self.fail(
                f"U+{point:04X} is half of a surrogate pair, which UTF-8 cannot encode; write the "
                "character itself",
                at,
            )
        return point

    def read_text(
        self, begin: int, character: Callable[[], int], *, is_on_line: bool = False
    ) -> str:
        """Return a text up to its double quote; parameters as for :meth:`read_class`."""
        found = []
        while not self.took('"'):
            if not self.here or (is_on_line and self.is_at("\n", "\r")):
                how = ": it ends on its line, with a double quote" * is_on_line
                self.fail("this text is never closed" + how, begin)
            found.append(chr(character()))
        return "".join(found)

    def read_class(
        self,
        begin: int,
        character: Callable[[], int],
        *,
        is_on_line: bool = False,
        is_any: bool = False,
    ) -> Ranges:
        """Return the characters of a class, whose opening bracket was read.

        Parameters
        ----------
        begin : int
            Where it begins.
        character : callable
            Reads one character, perhaps an escape, and returns its code point.
        is_on_line : bool
            Whether it has to end on its line.
        is_any : bool
            Whether ``[^]`` is any character.

        Raises
        ------
        GrammarError
            If it is never closed, has no character, or a range in it ends before it begins.
        """
        line_ends = ("\n", "\r") if is_on_line else ()
        unclosed = "this class is never closed" + ": it ends on its line" * is_on_line
        found = list[tuple[int, int]]()
        is_negated = self.took("^")
        while not self.took("]"):
            if not self.here or self.is_at(*line_ends):
                self.fail(unclosed, begin)
            at = self.at
            first = last = character()
            if self.is_at("-") and not self.is_at("-]", *(f"-{end}" for end in line_ends)):
                self.at += 1
                if not self.here:
                    self.fail(unclosed, begin)
                last = character()
            if last < first:
                self.fail(f"the range {chr(first)!r} to {chr(last)!r} ends before it begins", at)
            found.append((first, last))
        if not found and not (is_negated and is_any):
            self.fail('a class needs characters; the empty text is written ""', begin)
        members = CharacterClass.of(found)
        if is_negated:
            members = members.complement()
        if not members.ranges:
            self.fail("this class has no character, so no text matches it", begin)
        return members.ranges
