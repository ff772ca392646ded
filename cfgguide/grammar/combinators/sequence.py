r"""Grammars of several parts: free text up to a stop string, texts, values, tokens, grammars.

In: parts. Out: one grammar in Lark's language, for instance for text with a call in it::

    concat(free_text(until="<call>"), Grammar.bundled("json"), "</call>", free_text())

    start: PART0 part1 PART2 [PART3]
    PART0.5: /(?s:.*?)<call>/        the text up to and including the first <call>
    part1: ...                       the rules of JSON, under names of their own
    PART2.4: /<\/call>/
    PART3.3: /(?s:.+)/

Texts and values are terminals. Adjacent ones become one terminal, so that all ways to divide a text
between them count. A part's terminals are tried before those of a grammar that it follows: after a
whole sentence of the grammar, the part begins as soon as it can. The rules for a sentence's end are
separate (:func:`cfgguide.grammar.fragments.ended`), so the part is never tried inside a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable

from cfgguide.errors import GrammarError, LimitError, shown
from cfgguide.grammar.combinators.joining import joined as as_one
from cfgguide.grammar.combinators.parts import (
    Composed,
    Either,
    Embedded,
    Free,
    Part,
    Regular,
    Repeated,
    Sequence,
    Special,
)
from cfgguide.grammar.combinators.patterns import checked, grammar_of, listed, literal
from cfgguide.grammar.combinators.writer import text_of
from cfgguide.grammar.grammar import Grammar, is_token

#: Repetitions that are counted: each is copied.
MAX_COUNT = 100_000


def free_text(
    *, until: str | Iterable[str] | None = None, without: str | Iterable[str] | None = None
) -> Composed:
    r"""Return the grammar of any text up to and including a stop string, or of any text at all.

    Parameters
    ----------
    until : str or iterable of str, optional
        Stop strings. The text ends with the first of them that is complete, and holds no other.
        Without stop strings, the text has any length and may be empty.
    without : str or iterable of str, optional
        What the text does not hold; only for a text without stop strings. What follows it has to
        begin so, or to be a special token.

    Raises
    ------
    GrammarError
        If one of these is empty or not a text, or both are given.

    Examples
    --------
    >>> print(free_text(until=["\n\n", "END"]).text)
    start: PART0
    PART0.1: /(?s:.*?)(?:\n\n|END)/
    >>> print(free_text().text)
    start: [PART0]
    PART0.1: /(?s:.+)/
    """
    if without is not None:
        if until is not None:
            raise GrammarError("free_text takes `until` or `without`, not both")
        return grammar_of_part(Free((), _strings(without, "without", "a text")))
    if until is None:
        return grammar_of_part(Free(()))
    return grammar_of_part(Free(_strings(until, "until", "a stop string")))


def _strings(given: str | Iterable[str], name: str, what: str) -> tuple[str, ...]:
    """Return the texts that hold no other one: those are complete first."""
    one_or_more = [given] if isinstance(given, str) else given
    texts = [checked(text) for text in listed(one_or_more, f"{name} is {what} or several")]
    if not texts or not all(texts):
        raise GrammarError(f"{what} is a text that is not empty; leave out `{name}` for none")
    known = sorted(set(texts))
    return tuple(text for text in known if not any(part in text and part != text for part in known))


def concat(*parts: str | Grammar) -> Composed:
    r"""Return the grammar of parts one after the other.

    Parameters
    ----------
    *parts : str or Grammar
        Literal texts, and grammars. Two grammars that were not composed may not be adjacent: put a
        text between them.

    Raises
    ------
    GrammarError
        If a part cannot be at its position; the message says why and what to do.

    Examples
    --------
    >>> from cfgguide import choice
    >>> print(concat("Answer: ", choice(["yes", "no"]), free_text(until=".")).text)
    start: PART0 PART1
    PART0.2: /Answer: (?:yes|no)/
    PART1.1: /(?s:.*?)\./
    """
    return grammar_of_part(Sequence(tuple(map(part_of, parts))))


def special(*tokens: str | int) -> Composed:
    """Return the grammar of a special token of the vocabulary, or of any one of several.

    Text never spells it, and it is never taken for text: no text, value or free text goes on across
    it, so ``concat(free_text(), special("<tool_call>"))`` is any text and then that token.

    Parameters
    ----------
    *tokens : str or int
        Names among the `special_tokens` of a vocabulary, or ids.

    Raises
    ------
    GrammarError
        If there are no tokens, or one is neither.

    Examples
    --------
    >>> grammar = concat(special("<call>"), "now", special("</call>", 7))
    >>> print(grammar.text)
    start: SPECIAL1_CALL PART1 SPECIAL0_CALL
    PART1.2: /now/
    %declare SPECIAL0_CALL SPECIAL1_CALL
    >>> grammar.special
    (('SPECIAL0_CALL', ('</call>', 7)), ('SPECIAL1_CALL', ('<call>',)))
    """
    if not tokens or not all(map(is_token, tokens)):
        raise GrammarError(
            "special takes names and ids of tokens, such as special('<tool_call>') or "
            f"special('<|im_end|>', 2), not {shown(tokens)}"
        )
    return grammar_of_part(Special(tuple(dict.fromkeys(tokens))))


def repeat(part: str | Grammar, minimum: int = 0, maximum: int | None = None) -> Composed:
    """Return the grammar of a part several times, one after the other.

    Parameters
    ----------
    part : str or Grammar
        As for :func:`concat`.
    minimum, maximum : int
        The least and the greatest number of repetitions; no `maximum` for any number.

    Raises
    ------
    GrammarError
        If the numbers are not valid, or the part cannot be repeated.
    LimitError
        If one is more than 100,000.

    Examples
    --------
    >>> print(repeat("ab", 1, 3).text)
    start: TEXT
    TEXT: /(?:ab){1,3}/
    """
    for name, count in (("minimum", minimum), ("maximum", maximum)):
        is_count = isinstance(count, int) and not isinstance(count, bool) and count >= 0
        if not is_count and not (name == "maximum" and count is None):
            raise GrammarError(f"{name} is a number from 0 up, not {shown(count)}")
        if count is not None and count > MAX_COUNT:
            raise LimitError(f"{name} is at most {MAX_COUNT}; leave out `maximum` for any number")
    if maximum is not None and maximum < max(minimum, 1):
        raise GrammarError(f"maximum is at least 1 and not below minimum, not {maximum}")
    return grammar_of_part(Repeated(part_of(part), minimum, maximum))


def either(*parts: str | Grammar) -> Composed:
    """Return the grammar of one of several parts.

    Parameters
    ----------
    *parts : str or Grammar
        As for :func:`concat`. How each begins has to tell it from the others.

    Raises
    ------
    GrammarError
        If two parts may begin alike, or there are none.

    Examples
    --------
    >>> print(either(concat("no: ", free_text()), special(7)).text)
    start: either0
    either0: PART0 [PART1] | SPECIAL0_7
    PART0.3: /no: /
    PART1.2: /(?s:.+)/
    %declare SPECIAL0_7
    """
    if not parts:
        raise GrammarError("either needs at least one part")
    return grammar_of_part(Either(tuple(map(part_of, parts))))


def optional(part: str | Grammar) -> Composed:
    """Return the grammar of a part, or of the empty text.

    Raises
    ------
    GrammarError
        As :func:`repeat`.

    Examples
    --------
    >>> print(concat("a", optional("b")).text)
    start: TEXT
    TEXT: /ab?/
    """
    return grammar_of_part(Repeated(part_of(part), 0, 1))


def part_of(given: object) -> Part:
    """Return the part that a text or a grammar is.

    Raises
    ------
    GrammarError
        If it is neither.
    """
    if isinstance(given, str):
        return literal(given)
    if isinstance(given, Composed):
        return given.part
    if isinstance(given, Grammar):
        return Embedded(given)
    raise GrammarError(
        f"a part is a text or a Grammar, not {type(given).__name__}; "
        "for a pattern write cfgguide.regex(pattern)"
    )


def grammar_of_part(part: Part) -> Composed:
    """Return the grammar of a part."""
    joined = as_one(part)
    if isinstance(joined, Regular):
        return grammar_of(joined)
    return Composed(joined, text_of)
