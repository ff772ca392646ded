"""Other patterns for the terminals of a grammar, of which the same ones win as before.

In: :class:`~cfgguide.grammar.fragments.Rules`, and new patterns for some terminals. Out: rules with
these. Lark's scanner takes the first terminal that matches, sorted by priority, then by the
greatest width and the length of the patterns. Where new patterns would be sorted otherwise, and
that matters, terminals get other priorities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, groupby

from cfgguide.automata.charset import common_ranges
from cfgguide.automata.preference import first_characters, may_match
from cfgguide.errors import GrammarError
from cfgguide.grammar.fragments import Rules, TerminalText


def replaced(rules: Rules, terminals: Mapping[str, TerminalText]) -> Rules:
    """Return rules with other patterns for some terminals, of which the same ones win as before.

    Terminals get other priorities where Lark would sort them otherwise. Strings that Lark takes out
    of the match of a pattern have to keep that of the pattern, and so do those between them.

    Raises
    ------
    GrammarError
        If that leaves two in another order that can match at one place.
    """
    before = sorted(rules.terminals, key=lambda each: each.rank)
    made = [terminals.get(each.name, each) for each in before]
    if _swapped(made) is not None:
        blocks = list(_blocks(before))
        made = [
            replace(each, priority=len(blocks) - number)
            for number, block in enumerate(blocks)
            for each in (terminals.get(old.name, old) for old in block)
        ]
    swapped = _swapped(made)
    if swapped is not None:
        raise GrammarError(
            f"the terminals {swapped[0].name} and {swapped[1].name} may match at the same place, "
            "and rewritten the other one would win; give the first one a higher priority"
        )
    return replace(rules, terminals=tuple(sorted(made, key=lambda each: each.name)))


def _swapped(terminals: list[TerminalText]) -> tuple[TerminalText, TerminalText] | None:
    """Return two that can match at one place, and that Lark sorts otherwise."""
    begins = [first_characters(each.pattern).ranges for each in terminals]
    ranks = [each.rank for each in terminals]
    for second in range(len(terminals)):
        for first in range(second):
            if ranks[first] > ranks[second] and common_ranges(begins[first], begins[second]):
                return terminals[first], terminals[second]
    return None


def _blocks(terminals: list[TerminalText]) -> Iterator[list[TerminalText]]:
    """Yield terminals, as Lark sorts them, in groups that have to have one priority each."""
    for _, level in groupby(terminals, key=lambda each: each.priority):
        members = list(level)
        tied = [
            number
            for first, second in combinations(range(len(members)), 2)
            if may_be_taken_out(members[first], members[second])
            for number in (first, second)
        ]
        start, end = min(tied, default=0), max(tied, default=-1) + 1
        yield from ([each] for each in members[:start])
        if tied:
            yield members[start:end]
        yield from ([each] for each in members[end:])


def may_be_taken_out(first: TerminalText, second: TerminalText) -> bool:
    """Return whether one may be a string that Lark takes out of the matches of the other."""
    return any(
        string.is_string and not pattern.is_string and may_match(pattern.pattern, string.value)
        for string, pattern in ((first, second), (second, first))
    )
