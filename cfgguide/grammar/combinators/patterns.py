r"""Grammars of regular expressions: the whole text matches, as with ``re.fullmatch``.

In: a pattern of Python's ``re``, or a list of texts. Out: a grammar of one terminal. Lark reads the
match that ``re`` prefers, which need not be the longest: of ``abc``, ``(?:a|ab)(?:c|bcd)?`` matches
``a`` first. Where that can happen, the terminal ends with ``\Z``, so that ``re`` goes on until a
match ends with the text. Elsewhere it does not, since masks are faster without ``\Z``. No terminal
of Lark's matches the empty text, so the start rule does::

    a?|ab             start: [TEXT]     TEXT: /a(?:b|)/
    (?:a|ab)(?:c|bcd)?  start: TEXT      TEXT: /(?:a(?:b|)(?:bcd|c)?)\Z/
    \d*(?<!1)         start: [TEXT]     TEXT: /(?=(?:\d*(?<!1))\Z)(?s:.+)/

Source: Willard and Louf 2023, section 3, where a regular expression guides a model; their
algorithms 3 and 4 are what an index does with a single terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from cfgguide.automata import syntax
from cfgguide.automata.pattern_reader import MAX_CHARACTERS
from cfgguide.automata.rewrite import (
    FLAGS,
    can_be_empty,
    escaped,
    matches_nothing,
    not_empty,
    rewritten,
)
from cfgguide.automata.shared_prefixes import n_shared_letters, one_of
from cfgguide.errors import GrammarError, LimitError, PatternError, shown
from cfgguide.grammar.combinators.parts import Composed, Regular, tidied
from cfgguide.grammar.literals import pattern_literal

# The most bytes in the trie of one terminal's texts: an FSM has at most 20,000 states.
_MAX_BYTES = 8000
#: Copies of a part that is repeated, though it may be empty: no limit on states notices these.
MAX_ROUNDS = 1_000_000
#: Parts in a row of which each may be missing. Each can be the first that is not.
MAX_OPTIONAL = 300


def regex(pattern: str | re.Pattern[str], flags: int = 0, *, tidy: bool | None = None) -> Composed:
    r"""Return the grammar of the texts that a regular expression matches as a whole.

    They are the texts for which ``re.fullmatch(pattern, text, flags)`` finds a match.

    Parameters
    ----------
    pattern : str or compiled pattern
        Any pattern of Python's ``re`` without backreferences, conditional and atomic groups,
        possessive quantifiers, and look-ahead inside look-behind.
    flags : int
        Flags of ``re``, such as ``re.IGNORECASE``.
    tidy : bool, optional
        Whether ``\s`` is a space, a tab or a line break and nothing else, outside of what looks
        around. By default it is so where a model writes, in :func:`cfgguide.generate`,
        :class:`cfgguide.LogitsProcessor` and servers, and elsewhere it is what it is in ``re``.

    Raises
    ------
    PatternError
        If ``re`` rejects the pattern, or no automaton can express it.
    LimitError
        If it nests too deeply, or has more than 50,000 characters.

    Examples
    --------
    >>> print(regex(r"([0-9]*)?\.?[0-9]*").text)  # Willard and Louf's floating-point numbers
    start: [TEXT]
    TEXT: /[0-9]+\.?[0-9]*|\.[0-9]*|[0-9]+/
    >>> regex("(a)\\1")
    Traceback (most recent call last):
    cfgguide.errors.PatternError: [pattern] the pattern uses a backreference ...
    """
    if isinstance(pattern, re.Pattern):
        if flags:
            raise PatternError(
                "a compiled pattern has its own flags; pass them to re.compile instead"
            )
        flags, pattern = pattern.flags, pattern.pattern
    if not isinstance(pattern, str):
        raise PatternError(f"a pattern is a text, not {type(pattern).__name__}")
    if isinstance(flags, bool) or not isinstance(flags, int) or flags & ~FLAGS:
        raise PatternError(
            "flags may hold re.ASCII, re.IGNORECASE, re.MULTILINE, re.DOTALL, re.UNICODE and "
            f"re.VERBOSE, not {shown(flags)}"
        )
    check_length(pattern)
    written, looks = rewritten(pattern, flags)
    if n_rounds(syntax.parse(written).nodes) > MAX_ROUNDS:
        raise LimitError(
            f"/{shown(pattern)[1:-1]}/ repeats something more than {MAX_ROUNDS} times; lower its "
            "counted repetitions"
        )
    part = Regular((written,), matches_nothing(written), looks=True) if looks else regular(written)
    if tidy:
        part = tidied(part)
    return grammar_of(replace(part, is_whole=tidy is False))


def n_rounds(nodes: syntax.Nodes) -> int:
    """Return how often the innermost part of a pattern is repeated at least.

    Examples
    --------
    >>> n_rounds(syntax.parse("(?:a{10}b){20,30}").nodes)
    200
    """
    most = 1
    for node in nodes:
        inside = max(map(n_rounds, syntax.branches_of(node)), default=1)
        most = max(most, inside * node.min_count if isinstance(node, syntax.Repeat) else inside)
    return most


def choice(texts: Iterable[str]) -> Composed:
    """Return the grammar of some texts: each sentence is one of them, exactly.

    Parameters
    ----------
    texts : iterable of str
        Neither order nor repetition matters. The empty text may be one of them.

    Raises
    ------
    GrammarError
        If there is none, or one is not a text or not encodable in UTF-8.

    Examples
    --------
    >>> print(choice(["yes", "yesterday", "no"]).text)
    start: TEXT
    TEXT: /no|yes(?:terday)?/
    """
    if isinstance(texts, str):
        raise GrammarError(f"choice takes a list of texts; write choice([{shown(texts)}])")
    every = {checked(text) for text in listed(texts, "choice takes a list of texts")}
    if not every:
        raise GrammarError("choice needs at least one text")
    return grammar_of(one_text_of(every))


def literal(text: str) -> Regular:
    r"""Return the part of a grammar for one text.

    Raises
    ------
    GrammarError
        If it is not encodable in UTF-8.

    Examples
    --------
    >>> literal("1+1").pattern
    '1\\+1'
    """
    patterns = (escaped(checked(text)),) if text else ()
    return Regular(patterns, not text, text=text, prefers_longest=True)


def one_text_of(texts: Iterable[str]) -> Regular:
    r"""Return the part of a grammar for any of some distinct texts.

    Examples
    --------
    >>> one_text_of({"1+1", "1", ""}).pattern
    '(?:1(?:\\+1)?)?'
    """
    every = sorted(texts)
    only = every[0] if len(every) == 1 else None
    patterns = tuple(_patterns([text for text in every if text]))
    return Regular(patterns, "" in every, text=only, prefers_longest=True)


def regular(pattern: str) -> Regular:
    """Return the part of a grammar for the texts that a pattern matches as a whole.

    Parameters
    ----------
    pattern : str
        A pattern from :func:`cfgguide.automata.rewrite.rewritten`, without look-around.

    Examples
    --------
    >>> regular("a?|ab")
    Regular(patterns=('a|ab',), is_optional=True, ..., prefers_longest=None, is_whole=False)
    """
    is_optional = can_be_empty(pattern)
    if is_optional and len(syntax.parse(pattern).nodes) > MAX_OPTIONAL:
        raise LimitError(
            f"/{shown(pattern)[1:-1]}/ has more than {MAX_OPTIONAL} parts in a row, of which each "
            "may be missing; let one be there"
        )
    found = not_empty(pattern)
    if found is None:
        return Regular((), is_optional, text="" if is_optional else None, prefers_longest=True)
    return Regular((found,), is_optional)


def grammar_of(part: Regular) -> Composed:
    """Return the grammar of the texts that match as a whole."""
    return Composed(part, _text)


def _text(part: Regular) -> str:
    names = [f"TEXT{number or ''}" for number in range(len(part.patterns))]
    whole = " | ".join(names)
    if part.is_optional and names:
        whole = f"[{whole}]"
    lines = [f"start: {whole}".rstrip()]
    for name, pattern in zip(names, part.patterns, strict=True):
        lines.append(f"{name}: {pattern_literal(_whole(pattern, part))}")
    return "\n".join(lines)


def _whole(pattern: str, part: Regular) -> str:
    """Return the pattern of a terminal that Lark matches up to the end of the text or nowhere."""
    if part.is_longest_first:
        return pattern
    whole = rf"(?:{pattern})\Z"
    return f"(?={whole})(?s:.+)" if can_be_empty(whole) else whole


def checked(text: object) -> str:
    """Return a text.

    Raises
    ------
    GrammarError
        If it is none, or not encodable in UTF-8.
    LimitError
        If it is too long.
    """
    if not isinstance(text, str):
        raise GrammarError(f"expected a text, not {type(text).__name__}: {shown(text)}")
    check_encodable(text)
    check_length(text)
    return text


def check_encodable(text: str) -> None:
    """Raise an error if UTF-8 cannot encode a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise GrammarError(f"{shown(text)} holds a surrogate, which UTF-8 cannot encode") from None


def check_length(text: str) -> None:
    """Raise an error if a pattern or a text is too long.

    Raises
    ------
    LimitError
        If it has more than `MAX_CHARACTERS`.
    """
    if len(text) > MAX_CHARACTERS:
        raise LimitError(
            f"{shown(text)} has {len(text)} characters, and at most {MAX_CHARACTERS} can be one "
            "pattern or text; write several, or a cfgguide.Grammar"
        )


def listed(values: object, expected: str) -> list[object]:
    """Return the items of what should be iterable.

    Raises
    ------
    GrammarError
        If it is not; the message begins with what was expected.
    """
    try:
        return list(values)  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise GrammarError(f"{expected}, not {shown(values)}") from None


def _patterns(texts: list[str]) -> Iterable[str]:
    """Yield patterns for sorted, distinct texts, longer ones before their prefixes.

    A text and its prefixes are in one pattern.
    """
    known = set(texts)
    part: list[str] = []
    size, before = 0, ""
    for text in texts:
        n_shared = n_shared_letters(before, text)
        if size > _MAX_BYTES and not any(text[:end] in known for end in range(len(text))):
            yield one_of(part)
            part, size, n_shared = [], 0, 0
        part.append(text)
        size, before = size + len(text[n_shared:].encode()), text
    if part:
        yield one_of(part)
