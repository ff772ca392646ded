"""The parts of a composed grammar.

Parts are frozen values: texts that match a pattern, free text, special tokens, a grammar, a
sequence of parts, one of several, and a repeated part. A :class:`Composed` grammar knows its part,
so it can become a part itself.
:mod:`cfgguide.grammar.combinators.patterns` and :mod:`cfgguide.grammar.combinators.writer` write
grammars of parts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cfgguide.automata.preference import is_longest_first
from cfgguide.automata.rewrite import with_common_spaces
from cfgguide.grammar.grammar import Grammar, GrammarOnRequest
from cfgguide.grammar.rules.special_tokens import told_apart, word_of


@dataclass(frozen=True)
class Regular:
    """Texts that match a pattern as a whole.

    Attributes
    ----------
    patterns : tuple of str
        Each text other than the empty one matches one of these. They do not match the empty text,
        unless they look around.
    is_optional : bool
        Whether the empty text is one of the texts.
    looks : bool
        Whether the pattern looks around.
    text : str or None
        The text, if there is only one.
    prefers_longest : bool or None
        `is_longest_first`; None if that is to be found out.
    is_whole : bool
        Whether a model writes all of it, white space that few would write as well.
    """

    patterns: tuple[str, ...]
    is_optional: bool = False
    looks: bool = False
    text: str | None = None
    prefers_longest: bool | None = None
    is_whole: bool = False

    @property
    def pattern(self) -> str:
        """All patterns as one, which also matches the empty text if that is one."""
        if not self.patterns:
            return ""
        joined = "|".join(self.patterns)
        return f"(?:{joined})?" if self.is_optional else joined

    @cached_property
    def is_longest_first(self) -> bool:
        """Whether the first of `patterns` that matches a text as a whole prefers all of it.

        Then none before it matches its beginning. To find that out may take long.
        """
        if self.prefers_longest is None:
            return len(self.patterns) == 1 and not self.looks and is_longest_first(*self.patterns)
        return self.prefers_longest


@dataclass(frozen=True)
class Free:
    """Any text up to and including the first of some stop strings; without them, to the end.

    Attributes
    ----------
    stops : tuple of str
        None of them is part of another one.
    without : tuple of str
        What the text does not hold; there are none where there are stop strings.
    """

    stops: tuple[str, ...]
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Embedded:
    """Sentences of a grammar that was not composed."""

    grammar: Grammar


@dataclass(frozen=True)
class Special:
    """One of some special tokens.

    Attributes
    ----------
    tokens : tuple of str or int
        Their names or ids.
    """

    tokens: tuple[str | int, ...]


@dataclass(frozen=True)
class Sequence:
    """Parts one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Either:
    """One of some parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Repeated:
    """A part several times; `most` is None for any number of times."""

    part: Part
    least: int
    most: int | None


Part = Regular | Free | Embedded | Special | Sequence | Either | Repeated


class Composed(GrammarOnRequest):
    """A grammar that was made of parts, and can be a part.

    Its text is written at its first use, since some parts cannot stand alone. The special tokens
    of its parts are known at once.

    Parameters
    ----------
    part : Part
        The part that it is made of.
    write : callable
        Returns the grammar's text, given the part.
    """

    part: Part

    def __init__(self, part: Part, write: Callable[[Any], str]) -> None:
        terminals = special_terminals(token_sets(part))
        vars(self).update(part=part, special=tuple(sorted(terminals.items())), _write=write)

    def _written(self) -> str:
        text: str = self._write(self.part)
        return text

    def _key(self) -> Hashable:
        return self.part

    def for_tokens(self, special_tokens: Mapping[str, int]) -> Grammar:
        """Return the grammar; where schemas are parts, as a message around their own machines."""
        if all(each.has_tables for each in grammars_in(self.part)):
            return self
        return self._message or self

    @cached_property
    def _message(self) -> Grammar | None:  # to find out takes as long as to compile
        from cfgguide.schema.messages.message_grammar import message_of

        return message_of(self.part)

    @property
    def whole_pattern(self) -> str | None:
        """The regular expression that all texts match as a whole; None if there may be none."""
        return self.part.pattern if isinstance(self.part, Regular) else None

    def tidied(self) -> Grammar:
        r"""Return the grammar of what a model writes by default: ``\s`` is a common character."""
        part = _tidied(self.part)
        return self if part == self.part else Composed(part, self._write)


def tidied(part: Regular) -> Regular:
    r"""Return a part in which ``\s`` is a common character.

    Examples
    --------
    >>> tidied(Regular((r"\s*1",))).pattern
    '[ \t\n\r]*1'
    """
    patterns = tuple(map(with_common_spaces, part.patterns))
    if part.is_whole or patterns == part.patterns:
        return part
    return replace(part, patterns=patterns, prefers_longest=None)


def grammars_in(part: Part) -> Iterator[Grammar]:
    """Yield the grammars that are parts of a part."""
    match part:
        case Embedded():
            yield part.grammar
        case Sequence() | Either():
            for each in part.parts:
                yield from grammars_in(each)
        case Repeated():
            yield from grammars_in(part.part)


def _tidied(part: Part) -> Part:
    match part:
        case Regular():
            return tidied(part)
        case Embedded():
            return Embedded(part.grammar.tidied())
        case Sequence() | Either():
            return type(part)(tuple(map(_tidied, part.parts)))
        case Repeated():
            return replace(part, part=_tidied(part.part))
    return part


# --- Special tokens ------------------------------------------------------------------------------


def token_sets(part: Part) -> Iterator[tuple[str | int, ...]]:
    """Yield the tokens of each special part, and of each special terminal of a grammar."""
    match part:
        case Special():
            yield part.tokens
        case Embedded():
            yield from dict(part.grammar.special).values()
        case Sequence() | Either():
            for each in part.parts:
                yield from token_sets(each)
        case Repeated():
            yield from token_sets(part.part)


def special_terminals(
    sets: Iterable[tuple[str | int, ...]],
) -> dict[str, tuple[str | int, ...]]:
    """Return the special terminals for some sets of tokens, by their names.

    Tokens that are in the same sets share a terminal, so each set is that of some terminals.

    Examples
    --------
    >>> special_terminals([("<a>",), ("<a>", "<b>", 7)])
    {'SPECIAL0_A': ('<a>',), 'SPECIAL1_B': ('<b>', 7)}
    """
    return {
        f"SPECIAL{number}_{word_of(tokens[0])}".rstrip("_"): tuple(tokens)
        for number, tokens in enumerate(told_apart(list(sets)).values())
    }


def terminals_of(
    tokens: tuple[str | int, ...], terminals: Iterable[tuple[str, tuple[str | int, ...]]]
) -> list[str]:
    """Return the names of the terminals that stand for some tokens together."""
    return [name for name, each in terminals if each[0] in tokens]
