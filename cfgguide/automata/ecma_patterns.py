r"""Patterns of JSON Schema, which are regular expressions of ECMA-262, as languages.

In: a pattern. Out: the :class:`~cfgguide.automata.language.Language` of all texts that contain a
match; anchors restrict where. Looks in both directions and ``\b`` are conditions that an automaton
keeps in mind; groups that are referred to are refused, as they are not regular.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from cfgguide.automata import packaged_formats
from cfgguide.automata.charset import ANY_CHARACTER, common_ranges
from cfgguide.automata.language import Language
from cfgguide.automata.pattern_automaton import (
    GrowingAutomaton,
    anywhere,
    automaton_of,
    language_of,
)
from cfgguide.automata.pattern_notations import read, without_head
from cfgguide.automata.pattern_text import Ranges, text_of
from cfgguide.automata.pattern_tree import END, START, Characters, Choice, Node, Repeat
from cfgguide.errors import SchemaError, shown

_KEPT = 2000  # patterns of a process
_SMALL = 14  # states: of their 2 ** 14 sets a deterministic automaton may have all


def pattern_text(pattern: str, spell: Callable[[Ranges], str]) -> str | None:
    """Return a pattern in Python's notation, each class of characters spelled by a function.

    None where it has assertions other than anchors at its ends.
    """
    nodes = read(pattern)
    any_text = f"(?:{spell(ANY_CHARACTER.ranges)})*"
    is_begun = nodes[:1] == (START,)
    is_ended = nodes[-1:] == (END,)
    text = text_of(nodes[is_begun : len(nodes) - is_ended], spell)
    if text is None:
        return None
    return ("" if is_begun else any_text) + text + ("" if is_ended else any_text)


@lru_cache(maxsize=_KEPT)
def pattern_language(pattern: str) -> Language:
    """Return the language of the texts in which a pattern is found.

    Raises
    ------
    SchemaError
        If it is not a regular expression, or uses what is not regular or not supported.

    Examples
    --------
    >>> [pattern_language("^a+$").accepts(text) for text in ("aa", "aab", "")]
    [True, False, False]
    >>> pattern_language("b").accepts("abc")
    True
    """
    packaged = packaged_formats.language_of(pattern)  # first: a long one takes a while to read
    if packaged is not None:
        return packaged
    nodes = read(pattern)
    try:
        return language_of(anywhere(nodes))
    except (SchemaError, RecursionError) as error:
        raise SchemaError(f"the pattern {shown(without_head(pattern))}: {error.args[0]}") from None


@lru_cache(maxsize=_KEPT)
def later_language(
    pattern: str, *, is_late: bool = False
) -> Callable[[], Language] | GrowingAutomaton:
    """Return what returns the language of a pattern when it is needed, or its growing automaton.

    What is wrong with the pattern is found now, so that no text that has begun fails. All but small
    ones grow while texts are read, and with `is_late` small ones of which one part matches at a
    time; those that may be too large to be made as a whole are made now.

    Parameters
    ----------
    pattern : str
        The pattern.
    is_late : bool
        Whether large patterns may grow even if nobody knows whether they can be made as a whole.

    Raises
    ------
    SchemaError
        As :func:`pattern_language`.
    """
    nodes = read(pattern)
    try:
        grown = automaton_of(anywhere(nodes))
        is_small = grown.n_states <= _SMALL
        if (grown.is_deterministic and is_late) or (
            not is_small and (grown.is_deterministic or is_late)
        ):
            return grown
    except (SchemaError, RecursionError) as error:
        raise SchemaError(f"the pattern {shown(without_head(pattern))}: {error.args[0]}") from None
    if is_small:
        return lambda: grown.language
    pattern_language(pattern)
    return partial(pattern_language, pattern)


@lru_cache(maxsize=_KEPT)
def is_surely_found(pattern: str) -> bool:
    """Return whether a pattern is surely found in some text; False if that is not clear.

    Examples
    --------
    >>> is_surely_found("^[a-z]+$"), is_surely_found("a^")
    (True, False)
    """
    nodes = read(pattern)
    if nodes[:1] == (START,):
        nodes = nodes[1:]
    if nodes[-1:] == (END,):
        nodes = nodes[:-1]
    return all(map(_matches_something, nodes))


def _matches_something(node: Node) -> bool:
    """Return whether a node surely matches some text, wherever that stands."""
    match node:
        case Characters():
            return bool(common_ranges(node.characters.ranges, ANY_CHARACTER.ranges))
        case Choice():
            return any(all(map(_matches_something, branch)) for branch in node.branches)
        case Repeat():
            return node.least == 0 or all(map(_matches_something, node.body))
    return False
