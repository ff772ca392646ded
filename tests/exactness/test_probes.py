"""Small texts on which engines that follow another rule than Lark's go wrong, one by one.

Each probe is a grammar, a text and the verdict, worked out by hand from Lark's rules. Lark must
agree with it, and so must the masks, in whatever tokens the text is written.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import lark
import pytest
from lark.exceptions import UnexpectedInput

import cfgguide

ACCEPT, REJECT = True, False

PROBES = {
    "a keyword is not read as a name": (
        """
        start: "if" NAME ":" | NAME "=" NUM ";"
        NAME: /[a-z]+/
        NUM: /[0-9]+/
        """,
        "if=1;",
        REJECT,
    ),
    "a lazy string ends at the first quote": ("start: /'.*?'/", "'a'b'", REJECT),
    "a longer terminal that fails falls back": (
        'start: (A | B | ABC)+\nA: "a"\nB: "b"\nABC: "abc"',
        "abab",
        ACCEPT,
    ),
    "the first alternative that matches wins, not the longest": (
        "start: AB | AC\nAB: /a(b)*/\nAC: /a(c)*/",
        "ac",
        REJECT,
    ),
    "a float takes the first of two dots": (
        r"""
        start: FLOAT ".." FLOAT | FLOAT
        FLOAT: /[0-9]+\.[0-9]*/
        """,
        "1..2",
        REJECT,
    ),
    "a bracket that the table's row offers and the stack refuses": (
        'start: "(" x ")" | "[" x "]"\nx: "n"',
        "(n]",
        REJECT,
    ),
    "the order of terminals goes before length": (
        'start: X B | Y\nX: /a+/\nY: /ab/\nB: "b"',
        "ab",
        ACCEPT,
    ),
    r"\w has letters with accents": (r"start: /\w+/", "é", ACCEPT),
    "ignored whitespace swallows the newline that a rule wants": (
        r"""
        start: /[a-z]/ (_NL /[a-z]/)?
        _NL: /\n+/
        %ignore /[ \t\n]+/
        """,
        "a\nb",
        REJECT,
    ),
    # Not in anybody's list, but of the same kind.
    "dots that were on the way to three": (
        'start: "." "." NAME | "..." NAME\nNAME: /[a-z]+/',
        "..x",
        ACCEPT,
    ),
    "a keyword after a number without a space": (
        'start: NUM "else" NUM\nNUM: /[0-9]+/\n%ignore " "',
        "1else 2",
        ACCEPT,
    ),
    "keywords run into each other where only they can stand": (
        'start: "async" "def" NAME\nNAME: /[a-z]+/\n%ignore " "',
        "async deffoo",
        ACCEPT,
    ),
    "a word boundary sees what follows the lexeme": (
        'start: IF NAME\nIF: /if\\b/\nNAME: /[a-z]+/\n%ignore " "',
        "ifx",
        REJECT,
    ),
    "a look-behind sees what stands before the lexeme": (
        'start: A "." A | A A\nA: /(?<!\\.)a/',
        "a.a",
        REJECT,
    ),
    "the Kelvin sign is a k when case is ignored": ('start: "k"i', "\u212a", ACCEPT),
}


def spellings(text: bytes, longest: int = 3) -> Iterator[list[bytes]]:
    """Yield all ways to cut a text into tokens of at most so many bytes."""
    if not text:
        yield []
    for end in range(1, min(longest, len(text)) + 1):
        for rest in spellings(text[end:], longest):
            yield [text[:end], *rest]


@pytest.mark.parametrize(("grammar", "text", "verdict"), PROBES.values(), ids=PROBES.keys())
def test_a_probe(grammar, text, verdict):
    parser = lark.Lark(grammar, parser="lalr", lexer="contextual")
    if verdict is ACCEPT:
        parser.parse(text)
    else:
        with pytest.raises(UnexpectedInput):
            parser.parse(text)
    data = text.encode()
    parts = {data[i:j] for i in range(len(data)) for j in range(i + 1, min(i + 4, len(data) + 1))}
    tokens = sorted({*parts, *cfgguide.Vocabulary.of_bytes().tokens[:256]})
    eos = len(tokens)
    with warnings.catch_warnings(action="ignore"):
        index = cfgguide.compile(
            cfgguide.Grammar(grammar), cfgguide.Vocabulary([*tokens, None], eos_token_ids=eos)
        )
    for spelling in spellings(data):
        guide = cfgguide.Guide(index)
        for token_id in [*map(tokens.index, spelling), eos]:
            is_allowed = token_id in guide.allowed_token_ids()
            if not is_allowed:
                break
            guide.advance(token_id)
        assert guide.is_finished is verdict, spelling
