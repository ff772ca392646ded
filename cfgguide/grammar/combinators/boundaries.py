r"""What keeps the parts of a composed grammar's text apart.

In: the positions of parts, and which may follow which. Out: their patterns, with the look-around
that each needs. A value whose preferred match may be too short must be followed by what may come
next. Lark follows an ``%ignore`` everywhere. Before and after the grammar that has it, that is
right. Elsewhere a text or value must start the whole text (``\A``), or what may come next must
follow it at once. Free text needs no guard before it: it takes everything up to its end.

Special tokens end the text before them, so ``\A`` holds after one and ``\Z`` before one. Where
nothing may stand between two of them, or outside of the first or last, the ignored terminals
themselves have a guard: there must be something else up to the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cfgguide.automata.rewrite import escaped
from cfgguide.errors import GrammarError
from cfgguide.grammar.combinators.parts import Embedded, Free, Regular, Special
from cfgguide.grammar.fragments import Rules
from cfgguide.grammar.terminal_order import replaced

END = -1  # the end of the text, among the positions that may follow


@dataclass(frozen=True)
class Position:
    """An occurrence of a part that is not made of parts.

    Attributes
    ----------
    number : int
        Places are numbered from the left.
    part : Regular, Free, Embedded or Special
        The part.
    rules : Rules or None
        The rules, if the part is a grammar.
    """

    number: int
    part: Regular | Free | Embedded | Special
    rules: Rules | None

    @property
    def is_optional(self) -> bool:
        """Whether the part may be empty."""
        if self.rules is not None:
            return self.rules.start in self.rules.optional
        return self.is_rest or (isinstance(self.part, Regular) and self.part.is_optional)

    @property
    def is_rest(self) -> bool:
        """Whether the part is free text that goes on to the end, or to what it does not hold."""
        return isinstance(self.part, Free) and not self.part.stops

    @property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of the texts other than the empty one; none for a grammar or a token."""
        if isinstance(self.part, Embedded | Special):
            return ()
        if isinstance(self.part, Regular):
            return self.part.patterns
        if self.part.without:
            return (text_without(self.part.without),)
        stops = "|".join(map(escaped, self.part.stops))
        if len(self.part.stops) < 2:
            return (f"(?s:.*?){stops}" if stops else "(?s:.+)",)
        return (f"(?s:.*?)(?:{stops})",)

    @property
    def begins(self) -> tuple[str, ...]:
        """Patterns that say how texts of the part may begin."""
        if self.rules is None:
            return self.patterns
        names = self.rules.first | set(self.rules.ignored)
        return tuple(each.pattern for each in self.rules.terminals if each.name in names)

    @property
    def is_cut(self) -> bool:
        """Whether the text before the position ends there: it is a token."""
        return isinstance(self.part, Special)

    def __str__(self) -> str:
        if isinstance(self.part, Special):
            return f"the token {' or '.join(map(repr, self.part.tokens))}"
        if isinstance(self.part, Embedded):
            return f"the grammar {(self.part.grammar.source_path or self.part.grammar.text)[:60]!r}"
        if isinstance(self.part, Free):
            if self.part.without:
                return f"free_text(without={list(self.part.without)})"
            return f"free_text(until={list(self.part.stops) or None})"
        return repr(self.part.text) if self.part.text is not None else f"/{self.part.pattern[:60]}/"


def text_without(words: Iterable[str]) -> str:
    r"""Return the pattern of texts that do not hold some words, and are not empty.

    >>> print(text_without(["<a>", "<b>", "["]))
    (?:[^<\[]|<(?!a>|b>))+
    """
    rests: dict[str, list[str]] = {}
    for word in sorted(words):
        rests.setdefault(word[0], []).append(word[1:])
    others = "".join(map(re.escape, rests))
    branches = [
        f"{escaped(first)}(?!{'|'.join(map(escaped, after))})"
        for first, after in rests.items()
        if all(after)
    ]
    return f"(?:{'|'.join([f'[^{others}]', *branches])})+"


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
        #: Whether texts of ignored lexemes alone are refused, between special tokens and elsewhere.
        self.refuses_ignored = False
        self._at_start: set[int] = set()
        if self._ignores:
            self._begin(first)

    def _begin(self, first: set[int]) -> None:
        """Find out what begins a text before which nothing may be ignored."""
        cuts = [each.number for each in self._positions if each.is_cut]
        begun = self._leaks(first).union(*(self._leaks(self._follow[each]) for each in cuts))
        self._at_start = begun
        self.refuses_ignored = any(self._is_end(each) for each in begun)
        others = (following for number, following in enumerate(self._follow) if number not in cuts)
        again = {each for each in set[int]().union(*others) & begun if not self._is_end(each)}
        if again or (self.refuses_ignored and self._may_be_ignored()):
            raise self._error(again or first)

    def _may_be_ignored(self) -> bool:
        """Return whether a text of ignored lexemes alone may be right."""
        return any(
            position.rules is not None and (position.is_optional or position.rules.special)
            for position in self._positions
        )

    def without_ignored(self, rules: Rules) -> Rules:
        """Return the rules of a grammar with the guard of what they ignore.

        Raises
        ------
        GrammarError
            If the guard would change which terminal wins.
        """
        if not self.refuses_ignored or not rules.ignored:
            return rules
        ignored = [each for each in rules.terminals if each.name in rules.ignored]
        alone = rf"(?!\A(?:{'|'.join(each.pattern for each in ignored)})*\Z)"
        guarded = (
            replace(each, value=alone + each.pattern, is_string=False, flags="") for each in ignored
        )
        return replaced(rules, {each.name: each for each in guarded})

    def _is_end(self, number: int) -> bool:
        """Return whether a text ends before a position."""
        return number == END or self._positions[number].is_cut

    def guarded(self, position: Position, pattern: str) -> str:
        """Return the pattern of a position with what must stand around it.

        Raises
        ------
        GrammarError
            As the class.
        """
        following = self._follow[position.number]
        if position.is_rest:
            return pattern  # nothing is left after it
        leaks = bool(self._leaks(following)) if self._ignores else False
        leaks = leaks or self._is_cut_off(position)
        if leaks and isinstance(position.part, Free):
            raise self._error(following)
        is_sure = not isinstance(position.part, Regular) or position.part.is_longest_first
        if leaks or not (is_sure or self._has_grammar(following)):
            pattern = f"(?:{pattern}){self._ahead(following)}"
        return rf"\A(?:{pattern})" if position.number in self._at_start else pattern

    def _is_cut_off(self, position: Position) -> bool:
        """Return whether a position has to end the text before a token, or it hides another one."""
        text = position.part.text if isinstance(position.part, Regular) else None
        return (
            text is not None
            and self._follow[position.number] != {END}
            and all(map(self._is_end, self._follow[position.number]))
            and any(
                isinstance(other.part, Regular)
                and (other.part.text or "").startswith(text)
                and other.part.text != text
                for other in self._positions
            )
        )

    def _leaks(self, following: set[int]) -> set[int]:
        """Return what may come next, but not after ignored text."""
        if any(each != END and self._positions[each].is_rest for each in following):
            return set()  # which would take that text
        found = {
            each
            for each in following
            if self._is_end(each) or isinstance(self._positions[each].part, Regular)
        }
        if found and self._has_grammar(following):
            raise self._error(following)
        return found

    def _has_grammar(self, following: set[int]) -> bool:
        return any(
            each != END and isinstance(self._positions[each].part, Embedded) for each in following
        )

    def _ahead(self, following: set[int]) -> str:
        ends = {each for each in following if self._is_end(each)}
        if following == ends:
            return r"\Z"
        patterns = [
            pattern
            for each in sorted(following - ends)
            for pattern in self._positions[each].patterns
        ]
        return f"(?={'|'.join(patterns + [chr(92) + 'Z'] * bool(ends))})"

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
