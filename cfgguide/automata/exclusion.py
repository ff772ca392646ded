r"""Names that are no keywords: runs of characters that must not begin with some texts.

In: the nodes at the end of a pattern, such as ``(?!(?:if|in)(?![a-z]))[a-z]+``. Out: a
:class:`Run`: its characters, and what it must not be. As a look-ahead, the condition would be open
from the first character on, in each lexeme, for every terminal that may begin alike. But whether it
holds is known inside the run, character by character; what is left is to see that the run ends
where no more of its characters follow. So :mod:`cfgguide.automata.nfa` builds ::

    (?!(?:if|in)(?![a-z]))[a-z]+   as   (?:[^i]x*|i(?:[^fn]x*|[fn]x+)?)(?!x)      x: [a-z]

which matches the same at every place of every text: as many characters as there are.

What is excluded is a regular expression over characters of the run, and a
:class:`ExclusionCondition` on the character behind it: ``(?![a-z])`` and ``\b`` say that the run
ends there, ``["']`` that a quote follows, and nothing that it does not matter. A look-ahead that
does not read so is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from cfgguide.automata import pattern_tree, syntax
from cfgguide.automata.charset import (
    ANY_CHARACTER,
    CharacterClass,
    category,
    characters_of,
    common_ranges,
)
from cfgguide.automata.python_notation import nodes_of
from cfgguide.automata.syntax import (
    Alternation,
    Anchor,
    Category,
    Dot,
    Group,
    Literal,
    Look,
    Node,
    Nodes,
    Repeat,
)

_MAX_SIZE = 5_000  # characters of what is excluded, repetitions counted
_NOTHING = CharacterClass(())


Expression = pattern_tree.Nodes  # without conditions


@dataclass(frozen=True)
class ExclusionCondition:
    """Behind an excluded text: what lets it stand all the same.

    Attributes
    ----------
    spared_by : CharacterClass
        It may stand before one of these characters.
    is_spared_at_end : bool
        Whether it may stand where the text ends.
    """

    spared_by: CharacterClass
    is_spared_at_end: bool


# What is excluded: the rest of an expression, and the condition behind it.
Excluded = tuple[Expression, ExclusionCondition]


@dataclass(frozen=True)
class Run:
    """A character and as many more as there are, which must not begin with some texts.

    Attributes
    ----------
    first, more : CharacterClass
        What the run begins with, and what it goes on with.
    excluded : tuple of Excluded
        What it must not begin with.
    """

    first: CharacterClass
    more: CharacterClass
    excluded: tuple[Excluded, ...]


def run_at_end(nodes: Nodes, flags: int) -> tuple[Nodes, Run] | None:
    """Return the nodes before the run at the end of a pattern, and the run; None without one.

    Parameters
    ----------
    nodes : Nodes
        A sequence that ends a pattern.
    flags : int
        The ``re`` flags in force.
    """
    if len(nodes) < 2 or not any(isinstance(node, Look) for node in nodes):
        return None
    *before, last = nodes
    more, least = _repeated(last, flags)
    first = more if least else _one(before.pop(), flags)
    if first is None or more is None:
        return None
    excluded: list[Excluded] = []
    while before and isinstance(look := before[-1], Look):
        found = _excluded(look, flags, more)
        if found is None:
            return None
        excluded += found
        before.pop()
    return (tuple(before), Run(first, more, tuple(excluded))) if excluded else None


def condition_after(excluded: tuple[Excluded, ...]) -> ExclusionCondition:
    """Return the condition on what follows here, behind all expressions that are at their ends."""
    spared_by, is_spared_at_end = ANY_CHARACTER, True
    for expression, condition in excluded:
        if _steps(expression)[1]:
            spared_by = _common(spared_by, condition.spared_by)
            is_spared_at_end = is_spared_at_end and condition.is_spared_at_end
    return ExclusionCondition(spared_by, is_spared_at_end)


def parts(
    excluded: tuple[Excluded, ...], characters: CharacterClass
) -> Iterator[tuple[CharacterClass, tuple[Excluded, ...]]]:
    """Yield disjoint classes of characters, with what is left of what is excluded after them."""
    nexts = [
        (of, (left, condition))
        for expression, condition in excluded
        for of, left in _steps(expression)[0]
    ]
    cuts = sorted({cut for of, _ in nexts for low, high in of.ranges for cut in (low, high + 1)})
    found: dict[tuple[Excluded, ...], list[tuple[int, int]]] = {}
    for low, above in pairwise(cuts):
        left = tuple(dict.fromkeys(rest for of, rest in nexts if low in of))
        if left:
            found.setdefault(left, []).append((low, above - 1))
    for rest, ranges in found.items():
        yield _common(CharacterClass.of(ranges), characters), rest
    named = CharacterClass.of(part for ranges in found.values() for part in ranges)
    yield _common(named.complement(), characters), ()


def _common(one: CharacterClass, other: CharacterClass) -> CharacterClass:
    return CharacterClass.of(common_ranges(one.ranges, other.ranges))


@lru_cache(maxsize=10_000)
def _steps(expression: Expression) -> tuple[tuple[tuple[CharacterClass, Expression], ...], bool]:
    """Return what an expression may begin with, each with what is left, and whether it may end.

    Source: Antimirov, "Partial Derivatives of Regular Expressions and Finite Automaton
    Constructions" (1996).
    """
    if not expression:
        return (), True
    first, rest = expression[0], expression[1:]
    if isinstance(first, pattern_tree.Characters):
        return ((first.characters, rest),), False
    found: dict[tuple[CharacterClass, Expression], None] = {}
    if isinstance(first, pattern_tree.Choice):
        ways = [_steps((*branch, *rest)) for branch in first.branches]
        for begins, _ in ways:
            found.update(dict.fromkeys(begins))
        return tuple(found), any(may_end for _, may_end in ways)
    assert isinstance(first, pattern_tree.Repeat), "there are no conditions"
    begins, is_empty = _steps(first.body) if first.most != 0 else ((), True)
    most = None if first.most is None else first.most - 1
    again = pattern_tree.Repeat(first.body, max(first.least - 1, 0), most)
    for of, left in begins:
        found[of, (*left, again, *rest)] = None
    may_end = False
    if is_empty or not first.least:
        begins, may_end = _steps(rest)
        found.update(dict.fromkeys(begins))
    return tuple(found), may_end


# -- how patterns are read ------------------------------------------------------------------------


def _one(node: Node, flags: int) -> CharacterClass | None:
    """Return the characters of which a node matches one, None if it does anything else."""
    match node:
        case Group():
            inside = node.flags_inside(flags)
            return _one(node.body[0], inside) if len(node.body) == 1 else None
        case Alternation():
            found = [_one(of[0], flags) if len(of) == 1 else None for of in node.branches]
            if None in found:
                return None
            return CharacterClass.of(part for of in found if of is not None for part in of.ranges)
        case Literal() | Dot() | syntax.CharacterSet():
            return characters_of(node, flags)
        case _:
            return None


def _repeated(node: Node, flags: int) -> tuple[CharacterClass | None, int]:
    """Return the characters of which a node takes as many as there are, and how many at least.

    No characters if it does anything else.
    """
    if isinstance(node, Group) and len(node.body) == 1:
        return _repeated(node.body[0], node.flags_inside(flags))
    if not isinstance(node, Repeat) or len(node.body) != 1 or not node.is_greedy:
        return None, 0
    is_any = node.min_count <= 1 and node.max_count is None
    return (_one(node.body[0], flags) if is_any else None), node.min_count


def _excluded(look: Look, flags: int, more: CharacterClass) -> list[Excluded] | None:
    """Return what a look-ahead excludes, None if that is not read inside the run alone."""
    if look.is_behind or not look.is_negated:
        return None
    found: list[Excluded] = []
    for branch, inside in _branches(look.body, flags):
        condition = _condition(branch[-1], inside, more) if branch else None
        expression = _expression(branch if condition is None else branch[:-1], inside, more)
        if expression is None or _steps(expression)[1] or _size(expression) > _MAX_SIZE:
            return None
        found.append(
            (expression, condition or ExclusionCondition(_NOTHING, is_spared_at_end=False))
        )
    return found


def _branches(nodes: Nodes, flags: int) -> Iterator[tuple[Nodes, int]]:
    """Yield the alternatives of nodes, with the flags inside."""
    if len(nodes) == 1 and isinstance(nodes[0], Group):
        yield from _branches(nodes[0].body, nodes[0].flags_inside(flags))
    elif len(nodes) == 1 and isinstance(nodes[0], Alternation):
        for branch in nodes[0].branches:
            yield from _branches(branch, flags)
    else:
        yield nodes, flags


def _condition(node: Node, flags: int, more: CharacterClass) -> ExclusionCondition | None:
    r"""Return what a node says of the character behind a part of a run, None if it takes it.

    A class of which the run has nothing says that one of these follows, or the end of the text if
    there is ``|\Z``; ``(?!...)`` says that none does;
    ``\b`` says that the run ends, if it is one of characters of words.
    """
    if isinstance(node, Look) and node.is_negated and not node.is_behind:
        of = _one(node.body[0], flags) if len(node.body) == 1 else None
        return None if of is None else ExclusionCondition(of, is_spared_at_end=False)
    if node is Anchor.BOUNDARY:
        words = category(Category("w"), ascii_only=bool(flags & re.ASCII))
        return ExclusionCondition(more, is_spared_at_end=False) if words == more else None
    while isinstance(node, Group) and len(node.body) == 1:
        flags = node.flags_inside(flags)
        node = node.body[0]
    is_spared_at_end = True
    if isinstance(node, Alternation) and (Anchor.TEXT_END,) in node.branches:
        rest = tuple(branch for branch in node.branches if branch != (Anchor.TEXT_END,))
        node, is_spared_at_end = Alternation(rest), False
    of = _one(node, flags)
    if of is None or _common(of, more).ranges:
        return None
    return ExclusionCondition(of.complement(), is_spared_at_end=is_spared_at_end)


def _expression(nodes: Nodes, flags: int, more: CharacterClass) -> Expression | None:
    """Return nodes as an expression over characters of the run, None if they are none."""
    if any(isinstance(node, Anchor | Look | syntax.Unsupported) for node in syntax.walk(nodes)):
        return None
    found = nodes_of(nodes, flags)
    leaves = (
        each for each in pattern_tree.walk(found) if isinstance(each, pattern_tree.Characters)
    )
    are_in_run = all(_common(each.characters, more) == each.characters for each in leaves)
    return found if are_in_run else None


def _size(expression: Expression) -> int:
    """Return how many characters an expression has, as often as they are counted."""
    total = 0
    for node in expression:
        size = sum(map(_size, pattern_tree.inside(node)))
        if isinstance(node, pattern_tree.Repeat):
            size *= max(node.least, node.most or 0, 1)
        total += size or isinstance(node, pattern_tree.Characters)
    return total
