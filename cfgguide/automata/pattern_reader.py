r"""What readers of regular expressions have in common, whatever the notation.

In: a pattern. Out: a tuple of nodes of :mod:`cfgguide.automata.pattern_tree`. A
:class:`PatternReader` goes over the pattern from left to right: alternatives, groups inside each
other, repetitions, members and ranges of sets are read here, and what notations write in different
ways by subclasses: what stands between alternatives (``atom``), what begins a group, and escapes.
Each mistake has a place::

    a(b{3,2})   ->   NotationError at 3: the range 3 to 2 ends before it begins
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, NoReturn

from cfgguide.automata.charset import MAX_CODE_POINT, CharacterClass
from cfgguide.automata.pattern_tree import Characters, Choice, Node, Nodes, Repeat
from cfgguide.automata.unicode_sets import folded
from cfgguide.base.limits import check_step
from cfgguide.errors import SchemaError, shown

#: Characters of a pattern, or of a text as one: each takes some 30 microseconds to read.
MAX_CHARACTERS = 50_000
#: Groups, and sets of characters, inside each other.
MAX_NESTING = 100
_SIGNS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_MAX_DIGITS = 9  # of a count

#: The flag under which white space, as an escape, is only what JSON's is.
TIDY = " "
COMMON_SPACES = CharacterClass.of_characters(map(ord, " \t\n\r"))

Flags = frozenset[str]  # the letters of the flags in force
Member = int | CharacterClass  # a character, or what stands for one of several


class NotationError(Exception):
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


def tree_of(reader: PatternReader, flags: Iterable[str] = "") -> Nodes:
    """Return the tree of a pattern.

    Raises
    ------
    SchemaError
        If it cannot be read.
    """
    try:
        return reader.whole(frozenset(flags))
    except NotationError as error:
        said = f"at position {error.at}: {error.said}"
    except RecursionError:
        said = "since it nests groups too deeply; flatten it"
    raise SchemaError(f"the pattern {shown(reader.pattern)} cannot be read {said}")


class PatternReader(ABC):
    """Reads a pattern from left to right.

    Parameters
    ----------
    pattern : str
        The pattern.
    """

    #: How a repetition is counted: the least number, a comma, the most.
    COUNT: ClassVar[re.Pattern[str]]
    #: Whether what is repeated may be repeated again.
    REPEATS_AGAIN: ClassVar[bool]

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._at = 0
        self._depth = -1  # the whole is no group
        self._is_plain = True  # whether the set that is read has only what stands in it

    def whole(self, flags: Flags) -> Nodes:
        """Return the tree of all of the pattern; raises NotationError."""
        nodes = self._choice(flags, 0)
        if self._at < len(self.pattern):
            self._fail("this bracket closes nothing; a bracket that is meant is written \\)")
        return nodes

    # --- What notations differ in -----------------------------------------------------------------

    @abstractmethod
    def _atom(self, flags: Flags) -> Nodes:
        """Return what begins here, up to where a repetition may stand."""

    @abstractmethod
    def _set(self, flags: Flags) -> CharacterClass:
        """Return the characters of a set in brackets; `_is_plain` says if others are in it."""

    @abstractmethod
    def _member(self, flags: Flags) -> Member:
        """Return what stands here in a set of characters."""

    @abstractmethod
    def _is_range(self, flags: Flags) -> bool:
        """Return whether the hyphen that is next is the middle of a range."""

    @abstractmethod
    def _no_range(self, first: Member, last: Member, begin: int) -> CharacterClass:
        """Return what a range is whose ends are not two characters."""

    def _skip(self, flags: Flags) -> bool:
        """Go over what means nothing; return whether there was any."""
        return False

    def _flags_here(self, flags: Flags) -> Flags | None:
        """Return the flags from here on, if they change here."""
        return None

    # --- Where the reader is ----------------------------------------------------------------------

    def _fail(self, said: str, at: int | None = None) -> NoReturn:
        raise NotationError(self._at if at is None else at, said)

    def _next(self, count: int = 1) -> str:
        return self.pattern[self._at : self._at + count]

    def _taken(self, text: str) -> bool:
        """Go over a text, if it is next; return whether it was."""
        is_next = self.pattern.startswith(text, self._at)
        self._at += len(text) * is_next
        return is_next

    def _match(self, notation: re.Pattern[str]) -> re.Match[str] | None:
        """Go over what a notation matches here."""
        match = notation.match(self.pattern, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def _enter(self, begin: int) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            self._fail(f"more than {MAX_NESTING} groups inside each other", begin)

    # --- Groups and repetitions -------------------------------------------------------------------

    def _choice(self, flags: Flags, begin: int) -> Nodes:
        self._enter(begin)
        branches: list[list[Node]] = [[]]
        while self._next() not in ("", ")"):
            check_step()
            if self._taken("|"):
                branches.append([])
            elif self._skip(flags):
                pass
            elif (changed := self._flags_here(flags)) is not None:
                flags = changed
            else:
                branches[-1] += self._repeated(self._atom(flags), flags)
        self._depth -= 1
        return alternatives([tuple(branch) for branch in branches])

    def _group(self, flags: Flags, begin: int) -> Nodes:
        """Return what is in a group whose beginning has been read."""
        nodes = self._choice(flags, begin)
        if not self._taken(")"):
            self._fail("this group is never closed", begin)
        return nodes

    def _repeated(self, nodes: Nodes, flags: Flags) -> Nodes:
        while True:
            while self._skip(flags):
                pass
            count = self._count()
            if count is None:
                return nodes
            self._taken("?")  # lazy: no matter for whole texts
            nodes = (Repeat(nodes, *count),)
            if not self.REPEATS_AGAIN:
                return nodes

    def _count(self) -> tuple[int, int | None] | None:
        """Return how often what stands before this place comes, if that is said here."""
        sign, begin = self._next(), self._at
        if sign in _SIGNS:
            self._at += 1
            return _SIGNS[sign]
        match = self._match(self.COUNT) if sign == "{" else None
        if match is None:
            return self._no_count() if sign == "{" else None
        least, comma, most = match.groups()
        if max(len(least), len(most or "")) > _MAX_DIGITS:
            self._fail("this count is too large", begin)
        if most is not None and int(most) < int(least):
            self._fail(f"the range {least} to {most} ends before it begins", begin)
        return int(least), int(least) if comma is None else None if most is None else int(most)

    def _no_count(self) -> tuple[int, int | None] | None:
        """Say what a brace is that begins no count; without an error it is a character."""
        return None

    # --- Characters and sets of them --------------------------------------------------------------

    def _code_point(self, digits: str, begin: int, *, letter: str) -> int:
        """Return the character of a number in hex."""
        point = int(digits, 16) if re.fullmatch("[0-9A-Fa-f]{1,12}", digits) else -1
        if not 0 <= point <= MAX_CODE_POINT:
            self._fail(f"\\{letter} is followed by the number of a character, in hex", begin)
        return point

    def _any_case(self, found: CharacterClass, flags: Flags) -> CharacterClass:
        """Return characters in any case, under the flag i."""
        return folded(found) if "i" in flags else found

    def _whole_set(self, flags: Flags) -> CharacterClass:
        """Return the characters of a set in brackets that stands in no other one.

        Less white space in a part of it must not be more elsewhere, nor be missed where the set
        stands for any character.
        """
        begin, self._is_plain = self._at, True
        found = self._set(flags)
        if TIDY in flags and not self._is_plain:
            self._at = begin
            found = self._set(flags - {TIDY})
        return found

    def _run(self, flags: Flags) -> CharacterClass:
        """Return the characters of a member of a set: of one, of a range, or of an escape."""
        check_step()
        begin = self._at
        first = self._member(flags)
        if self._next() != "-" or not self._is_range(flags):
            return characters(first)
        self._at += 1
        while self._skip(flags):
            pass
        last = self._member(flags)
        if not (isinstance(first, int) and isinstance(last, int)):
            return self._no_range(first, last, begin)
        if last < first:
            self._fail("a range goes from one character to a later one", begin)
        return CharacterClass.of([(first, last)])


def alternatives(branches: Sequence[Nodes]) -> Nodes:
    """Return the nodes of alternatives: what all begin with once, and one class of characters."""
    if len(branches) == 1:
        return branches[0]
    n_alike, shortest = 0, min(map(len, branches))
    while n_alike < shortest and len({branch[n_alike] for branch in branches}) == 1:
        n_alike += 1
    begin, branches = branches[0][:n_alike], [branch[n_alike:] for branch in branches]
    found: list[tuple[int, int]] = []
    for branch in branches:
        if len(branch) != 1 or not isinstance(branch[0], Characters):
            return (*begin, Choice(tuple(branches)))
        found += branch[0].characters.ranges
    return (*begin, Characters(CharacterClass.of(found)))


def characters(member: Member) -> CharacterClass:
    """Return a member of a set as a class of characters."""
    return CharacterClass.of([(member, member)]) if isinstance(member, int) else member
