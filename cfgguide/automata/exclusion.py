r"""Names that are no keywords: runs of characters that must not be one of some words.

In: the nodes at the end of a pattern, such as ``(?!(?:if|in)(?![a-z]))[a-z][a-z]*``. Out: a
:class:`Run`: its characters, and the words that it must not be. As a look-ahead, the condition
would be open from the first character on, in each lexeme, for every terminal that may begin alike.
But whether it holds is known inside the run, character by character; what is left is that the run
ends where no more of its characters follow. So :mod:`cfgguide.automata.nfa` builds ::

    (?!(?:if|in)(?![a-z]))[a-z][a-z]*   as   (?:[^i]x*|i(?:[^fn]x*|[fn]x+)?)(?!x)      x: [a-z]

which matches the same at every place of every text: as many characters as there are.

A word is excluded *whole* if the look-ahead ends with the condition that the run does not go on,
``(?![a-z])`` or ``\b``; without it, whatever begins with the word is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product

from cfgguide.automata import syntax
from cfgguide.automata.charset import (
    CharacterClass,
    category,
    characters_of,
    common_ranges,
)
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

_MAX_WORDS = 5_000

# The characters of a word, one after the other; and whether only the whole word is excluded.
Word = tuple[tuple[CharacterClass, ...], bool]


@dataclass(frozen=True)
class Run:
    """A character and as many more as there are, which are not to be one of some words.

    Attributes
    ----------
    first, more : CharacterClass
        What the run begins with, and what it goes on with.
    words : tuple of Word
        What it must not be.
    """

    first: CharacterClass
    more: CharacterClass
    words: tuple[Word, ...]


def run_at_end(nodes: Nodes, flags: int) -> tuple[Nodes, Run] | None:
    """Return the nodes before the run at the end of a pattern, and the run; None without one.

    Parameters
    ----------
    nodes : Nodes
        A sequence that ends a pattern.
    flags : int
        The ``re`` flags in force.
    """
    if len(nodes) == 1 and isinstance(nodes[0], Group):
        return None  # the sequence inside is looked at by itself
    if len(nodes) < 2 or not any(isinstance(node, Look) for node in nodes):
        return None
    *before, rest = nodes
    more, least = _repeated(rest, flags)
    first = more if least else _one(before.pop(), flags)
    if first is None or more is None:
        return None
    words: list[Word] = []
    while before and isinstance(look := before[-1], Look):
        found = _words(look, flags, more)
        if found is None:
            return None
        words += found
        before.pop()
    return (tuple(before), Run(first, more, tuple(words))) if words else None


def parts(
    words: tuple[Word, ...], characters: CharacterClass
) -> list[tuple[CharacterClass, tuple[Word, ...]]]:
    """Return the next characters of a run, by which words these may still become.

    Returns
    -------
    list of (CharacterClass, tuple of Word)
        Disjoint classes of `characters`, and what is left of those words; no class where every
        text is excluded. The last class, of all the others, may be empty.
    """
    nexts = [(of[0], (of[1:], is_whole)) for of, is_whole in words if of]
    cuts = sorted({cut for of, _ in nexts for low, high in of.ranges for cut in (low, high + 1)})
    found: dict[tuple[Word, ...], list[tuple[int, int]]] = {}
    for low, above in pairwise(cuts):
        left = tuple(dict.fromkeys(word for of, word in nexts if low in of))
        if left:
            found.setdefault(left, []).append((low, above - 1))
    named = [
        (CharacterClass.of(common_ranges(tuple(of), characters.ranges)), left)
        for left, of in found.items()
    ]
    every = CharacterClass.of(part for of in found.values() for part in of)
    others = common_ranges(every.complement().ranges, characters.ranges)
    kept = [(of, left) for of, left in named if of.ranges and ((), False) not in left]
    return [*kept, (CharacterClass.of(others), ())]


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


def _words(look: Look, flags: int, more: CharacterClass) -> list[Word] | None:
    """Return the words that a negative look-ahead excludes, None if it looks for more."""
    if look.is_behind or not look.is_negated:
        return None
    found: list[Word] = []
    for characters, is_whole in _paths(look.body, flags, more):
        # What is left of the run decides, and nothing behind it.
        is_inside = all(common_ranges(of.ranges, more.ranges) == of.ranges for of in characters[1:])
        if not characters or not is_inside or len(found) == _MAX_WORDS:
            return None
        found.append((characters, is_whole))
    return found if all(of for of, _ in found) else None


def _paths(nodes: Nodes, flags: int, more: CharacterClass) -> Iterator[Word]:
    """Yield the texts that nodes match; one without characters stands for what is not read."""
    if not nodes:
        yield (), False
        return
    if len(nodes) == 1 and isinstance(nodes[0], Alternation):
        for branch in nodes[0].branches:
            yield from _paths(branch, flags, more)
        return
    *before, last = nodes
    is_whole = _is_end(last, flags, more)
    texts = [_texts(node, flags) for node in (before if is_whole else nodes)]
    n_texts = 1
    for some in texts:
        n_texts *= len(some)
    if not 0 < n_texts <= _MAX_WORDS:
        yield (), False
        return
    for chosen in product(*texts):
        yield tuple(of for text in chosen for of in text), is_whole


def _is_end(node: Node, flags: int, more: CharacterClass) -> bool:
    r"""Return whether a node says that the run does not go on.

    ``\b`` says so behind a character of the run, if these are the characters of words.
    """
    if isinstance(node, Look) and node.is_negated and not node.is_behind:
        return len(node.body) == 1 and _one(node.body[0], flags) == more
    is_ascii = bool(flags & re.ASCII)
    return node is Anchor.BOUNDARY and category(Category("w"), ascii_only=is_ascii) == more


def _texts(node: Node, flags: int) -> list[tuple[CharacterClass, ...]]:
    """Return the texts that a node matches, as characters in a row; none if they are not few."""
    match node:
        case Group():
            return _joined(node.body, node.flags_inside(flags))
        case Alternation():
            found = [_joined(branch, flags) for branch in node.branches]
            return [text for some in found for text in some] if all(found) else []
        case Repeat() if node.max_count == 1 and node.min_count == 0:
            return [*some, ()] if (some := _joined(node.body, flags)) else []
        case _:
            one = _one(node, flags)
            return [] if one is None else [(one,)]


def _joined(nodes: Nodes, flags: int) -> list[tuple[CharacterClass, ...]]:
    """Return the texts that nodes match in a row; none if they are not few."""
    found: list[tuple[CharacterClass, ...]] = [()]
    for node in nodes:
        some = _texts(node, flags)
        if not some or len(found) * len(some) > _MAX_WORDS:
            return []
        found = [(*text, *more) for text in found for more in some]
    return found
