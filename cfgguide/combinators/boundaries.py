r"""What keeps the parts of a composed grammar's text apart.

In: the positions of parts, and which may follow which. Out: their patterns, with the look-around
that each needs. A value whose preferred match may be too short must be followed by what may come
next. Lark follows an ``%ignore`` everywhere. Before and after the grammar that has it, that is
right. Elsewhere a text or value must start the whole text (``\A``), or what may come next must
follow it at once. Free text needs no guard before it: it takes everything up to its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cfgguide.automata.rewrite import escaped
from cfgguide.combinators.parts import Embedded, Free, Regular
from cfgguide.errors import GrammarError
from cfgguide.grammar.fragments import Rules

END = -1  # the end of the text, among the positions that may follow


@dataclass(frozen=True)
class Position:
    """An occurrence of a part that is not made of parts.

    Attributes
    ----------
    number : int
        Places are numbered from the left.
    part : Regular, Free or Embedded
        The part.
    rules : Rules or None
        The rules, if the part is a grammar.
    """

    number: int
    part: Regular | Free | Embedded
    rules: Rules | None

    @property
    def is_optional(self) -> bool:
        """Whether the part may be empty."""
        if self.rules is not None:
            return self.rules.start in self.rules.optional
        return self.part == Free(()) or (isinstance(self.part, Regular) and self.part.is_optional)

    @property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of the texts other than the empty one; none for a grammar."""
        if isinstance(self.part, Embedded):
            return ()
        if isinstance(self.part, Regular):
            return self.part.patterns
        stops = "|".join(map(escaped, self.part.stops))
        if len(self.part.stops) < 2:
            return (f"(?s:.*?){stops}" if stops else "(?s:.+)",)
        return (f"(?s:.*?)(?:{stops})",)

    def __str__(self) -> str:
        if isinstance(self.part, Embedded):
            return f"the grammar {(self.part.grammar.source_path or self.part.grammar.text)[:60]!r}"
        if isinstance(self.part, Free):
            return f"free_text(until={list(self.part.stops) or None})"
        return repr(self.part.text) if self.part.text is not None else f"/{self.part.pattern[:60]}/"


class Guards:
    """Patterns of positions, with what must stand around them.

    Parameters
    ----------
    positions : list of Position
        All of them, by number.
    first : set of int
        Those that may come first; `END` if the text may be empty.
    follow : list of set of int
        For each position, those that may come next; `END` if the text may end.

    Raises
    ------
    GrammarError
        If Lark would ignore text where it must not.
    """

    def __init__(self, positions: list[Position], first: set[int], follow: list[set[int]]) -> None:
        self._positions = positions
        self._follow = follow
        self._ignores = _ignored(positions) != set()
        self._at_start = self._leaks(first) if self._ignores else set()
        again = set[int]().union(*follow) & self._at_start - {END}
        if END in self._at_start or again:
            raise self._error(first)

    def guarded(self, position: Position, pattern: str) -> str:
        """Return the pattern of a position with what must stand around it.

        Raises
        ------
        GrammarError
            As the class.
        """
        following = self._follow[position.number]
        if position.part == Free(()):
            return pattern  # nothing is left after it
        leaks = bool(self._leaks(following)) if self._ignores else False
        if leaks and isinstance(position.part, Free):
            raise self._error(following)
        is_sure = not isinstance(position.part, Regular) or position.part.is_longest_first
        if leaks or not (is_sure or self._has_grammar(following)):
            pattern = f"(?:{pattern}){self._ahead(following)}"
        return rf"\A(?:{pattern})" if position.number in self._at_start else pattern

    def _leaks(self, following: set[int]) -> set[int]:
        """Return what may come next, but not after ignored text."""
        if any(each != END and self._positions[each].part == Free(()) for each in following):
            return set()  # which would take that text
        found = {
            each
            for each in following
            if each == END or isinstance(self._positions[each].part, Regular)
        }
        if found and self._has_grammar(following):
            raise self._error(following)
        return found

    def _has_grammar(self, following: set[int]) -> bool:
        return any(
            each != END and isinstance(self._positions[each].part, Embedded) for each in following
        )

    def _ahead(self, following: set[int]) -> str:
        if following == {END}:
            return r"\Z"
        patterns = [
            pattern
            for each in sorted(following - {END})
            for pattern in self._positions[each].patterns
        ]
        return f"(?={'|'.join(patterns + [chr(92) + 'Z'] * (END in following))})"

    def _error(self, following: set[int]) -> GrammarError:
        names = [
            "the end of the text" if each == END else str(self._positions[each])
            for each in sorted(following)
        ]
        return GrammarError(
            "a part has an %ignore, which Lark follows everywhere, also before "
            f"{' or '.join(names)}; put what is ignored into the rules of that grammar, as the "
            "bundled json has it"
        )


def _ignored(positions: Iterable[Position]) -> set[tuple[object, ...]]:
    """Return what the grammars ignore.

    Raises
    ------
    GrammarError
        If two of them do not ignore the same.
    """
    found = [
        {each.meaning for each in position.rules.terminals if each.name in position.rules.ignored}
        for position in positions
        if position.rules is not None
    ]
    if any(each != found[0] for each in found):
        raise GrammarError(
            "two parts do not ignore the same (%ignore), and Lark would ignore it in both; put "
            "what is ignored into the rules of the grammar, as the bundled json has it"
        )
    return found[0] if found else set()
