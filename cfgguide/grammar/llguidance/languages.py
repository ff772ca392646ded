"""Patterns as sets of texts: what two have in common, what one lacks, and where one ends first.

In: patterns of Python's ``re`` that do not look around. Out: a pattern for the texts of a set that
is computed from them. Lark's terminals are patterns, so each result is written as one again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from cfgguide.automata.json_spelling import pattern_of
from cfgguide.automata.language import (
    DEAD,
    NO_TEXTS,
    Language,
    grouped,
    intersection,
    smallest,
)
from cfgguide.automata.pattern_automaton import language_of as tree_language
from cfgguide.automata.pattern_text import spelled
from cfgguide.automata.python_notation import read
from cfgguide.automata.rust_patterns import MAX_CHARACTERS
from cfgguide.errors import LimitError, SchemaError

Result = TypeVar("Result")


def language_of(pattern: str) -> Language:
    """Return the texts that a pattern matches as a whole.

    Raises
    ------
    LimitError
        If their automaton has too many states.

    Examples
    --------
    >>> [language_of("a+|b").accepts(text) for text in ("aa", "b", "ab")]
    [True, True, False]
    """
    try:
        return tree_language(read(pattern))
    except SchemaError:
        raise LimitError("this needs an automaton with too many states; simplify it") from None


def both(patterns: Sequence[str]) -> str | None:
    """Return a pattern of the texts that all of some patterns match; None if there are none.

    Raises
    ------
    LimitError
        If it would be too long.

    Examples
    --------
    >>> both(["[a-c]+", "(?:ab?)*"])
    'a(?:(?:ba|a))*(?:(?:b)?)'
    """
    return _pattern(_limited(lambda: intersection([language_of(each) for each in patterns])))


def without(pattern: str) -> str | None:
    """Return a pattern of the texts that a pattern does not match; raises as :func:`both`."""
    language = language_of(pattern)
    met = _limited(lambda: grouped([language], lambda met: met[0]))
    return _pattern(met.get(False, NO_TEXTS))


def first_ends(pattern: str, others: Sequence[str]) -> str | None:
    """Return a pattern of those texts that do not go on after the end of one.

    No beginning of a text that is shorter may match the pattern, or one of the others. Raises as
    :func:`both`.

    Examples
    --------
    >>> first_ends("[a-c]*b", ["[a-c]*c"])
    'a*b'
    """
    languages = [language_of(each) for each in dict.fromkeys([pattern, *others])]
    parts = _limited(lambda: grouped(languages, lambda met: (any(met), met[0])))
    ends, mine = _limited(lambda: _joined(parts)), parts.get((True, True), NO_TEXTS)
    return _pattern(_limited(lambda: intersection([_cut(ends), mine])))


def _joined(parts: dict[tuple[bool, bool], Language]) -> Language:
    found = [part for (is_end, _), part in parts.items() if is_end]
    return grouped(found, any).get(True, NO_TEXTS) if found else NO_TEXTS


def _cut(language: Language) -> Language:
    """Return the texts of a language of which no beginning is one of its texts."""
    rows = [
        language.row(DEAD if state in language.accepting else state)
        for state in range(language.n_states)
    ]
    return smallest(language.alphabet, rows, language.start, language.accepting)


def _pattern(language: Language) -> str | None:
    if language.is_empty:
        return None
    found = str(_limited(lambda: pattern_of(language, spelled)))
    if len(found) > MAX_CHARACTERS:
        raise LimitError("this would be too long as a regular expression; simplify it")
    return found


def _limited(compute: Callable[[], Result]) -> Result:
    """Return what a function returns; the errors of :mod:`cfgguide.automata` name a schema."""
    try:
        return compute()
    except SchemaError:
        raise LimitError("this would be too large as a regular expression; simplify it") from None
