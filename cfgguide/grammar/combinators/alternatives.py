"""Whether the beginnings of parts tell them apart.

In: positions of parts, of which one or the other comes. Out: an error if Lark's lexer would read
one where the other was meant, since it takes the first terminal that matches, and does not go back.
Tokens may be the same, if what comes after them tells the parts apart.
"""

from __future__ import annotations

from itertools import combinations, product, takewhile

from cfgguide.automata import syntax
from cfgguide.automata.charset import common_ranges
from cfgguide.automata.preference import first_characters, may_begin
from cfgguide.automata.syntax import Literal
from cfgguide.errors import GrammarError
from cfgguide.grammar.combinators.boundaries import END, Position
from cfgguide.grammar.combinators.parts import Free, Regular, Special


def check_apart(
    alternatives: list[list[Position]], positions: list[Position], follow: list[set[int]]
) -> None:
    """Check that the first positions of alternatives tell them apart.

    Parameters
    ----------
    alternatives : list of list of Position
        For each alternative, the positions that may come first.
    positions : list of Position
        All of them, by number.
    follow : list of set of int
        For each position, those that may come next.

    Raises
    ------
    GrammarError
        If one may begin like another one.
    """
    tokens = {each.number for each in positions if each.is_cut}
    pairs = dict.fromkeys(
        pair for mine, theirs in combinations(alternatives, 2) for pair in product(mine, theirs)
    )
    for first, second in (pending := list(pairs)):  # grows while it is walked
        if _have_common_token(first, second):
            for one, other in product(
                sorted(follow[first.number] - {END}), sorted(follow[second.number] - {END})
            ):
                pair = (positions[one], positions[other])
                if one != other and pair not in pairs:
                    pairs[pair] = None
                    pending.append(pair)
        elif _may_begin_alike(first, second) and not _is_ended(first, second, follow, tokens):
            raise GrammarError(
                f"either {first} or {second} may come, and one may begin like the other, so "
                "that Lark would read only one of them; put a text before each that differs"
            )


def _have_common_token(first: Position, second: Position) -> bool:
    return (
        isinstance(first.part, Special)
        and isinstance(second.part, Special)
        and not set(first.part.tokens).isdisjoint(second.part.tokens)
    )


def _is_ended(first: Position, second: Position, follow: list[set[int]], tokens: set[int]) -> bool:
    """Return whether one of two texts begins the other, and a token has to follow it.

    Guards then look whether it does
    (:meth:`~cfgguide.grammar.combinators.boundaries.Guards.guarded`).
    """
    texts = [each.part.text if isinstance(each.part, Regular) else None for each in (first, second)]
    if None in texts or texts[0] == texts[1]:
        return False
    shorter = min((first, second), key=lambda each: len(each.patterns[0]))
    return bool(follow[shorter.number]) and follow[shorter.number] <= tokens


def _may_begin_alike(first: Position, second: Position) -> bool:
    if first.is_cut or second.is_cut:
        return False
    return any(
        _are_alike(mine, theirs) for mine, theirs in product(_begins(first), _begins(second))
    )


def _begins(position: Position) -> list[tuple[str, str]]:
    """Return patterns of how a part begins, each with a text that all of its texts begin with."""
    if isinstance(position.part, Regular) and position.part.text is not None:
        return [(pattern, position.part.text) for pattern in position.patterns]
    return [(pattern, _leading_text(pattern)) for pattern in position.begins]


def _are_alike(mine: tuple[str, str], theirs: tuple[str, str]) -> bool:
    (my_pattern, my_text), (their_pattern, their_text) = mine, theirs
    if my_text and their_text:
        return my_text.startswith(their_text) or their_text.startswith(my_text)
    if my_text or their_text:
        pattern = their_pattern if my_text else my_pattern
        return may_begin(pattern, my_text or their_text)
    ranges = (first_characters(each).ranges for each in (my_pattern, their_pattern))
    return bool(common_ranges(*ranges))


def may_follow_rest(position: Position, rest: Position) -> bool:
    """Return whether a part may follow free text that has no end of its own."""
    if position.is_cut:
        return True
    words = rest.part.without if isinstance(rest.part, Free) else ()
    if not isinstance(position.part, Regular) or position.part.is_optional:
        return False
    return all(_leading_text(pattern).startswith(words) for pattern in position.patterns)


def _leading_text(pattern: str) -> str:
    """Return a text with which all texts begin that match a pattern."""
    nodes = takewhile(lambda node: isinstance(node, Literal), syntax.parse(pattern).nodes)
    found = [node for node in nodes if isinstance(node, Literal)]
    return "".join(chr(node.code_point) for node in found if not node.is_negated)
