r"""Cuts a grammar of llguidance's dialect into words.

In: a :class:`~cfgguide.grammar.rules.source.Source`. Out: its words: names, texts in quotes,
regular expressions, marks, ends of lines. What follows ``%json`` and its like is JSON, and one
word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from cfgguide.errors import LimitError
from cfgguide.grammar.rules.source import Source

#: Directives that JSON follows; XGrammar writes the options as ``%grammar_options``.
OPTIONS = ("%llguidance", "%grammar_options")
_BEFORE_JSON = ("%json", "%regex", *OPTIONS)

_WORD = re.compile(
    r"""
      (?P<blank> [ \t\r\f]+ | (?:\#|//)[^\n]* )
    | (?P<newline> \n )
    | (?P<text> "(?:\\.|[^"\\\n])*"i? )
    | (?P<pattern> /(?:\\.|[^/\\])+/[a-z]* )
    | (?P<special> <[^<>\s]+> )
    | (?P<reference> @[A-Za-z0-9_-]+ )
    | (?P<directive> %[A-Za-z_]+ )
    | (?P<rule> !?[_?]?[a-z][_a-z0-9-]* )
    | (?P<terminal> _?[A-Z][_A-Z0-9-]* )
    | (?P<number> 0[xX][0-9A-Fa-f]+ | [+-]?[0-9]+(?:\.[0-9]+)?(?![0-9a-zA-Z]) )
    | (?P<mark> ->|\.\.|::|[:,.(){}\[\]|~&=+*?_-] )
    """,
    re.VERBOSE | re.DOTALL,
)
_JSON = json.JSONDecoder(parse_constant=lambda name: _no_constant(name))
_UNCLOSED = {
    '"': "this text is never closed: it ends on its line, with a double quote",
    "/": "this regular expression is never closed; a slash inside it is written \\/",
    "'": "texts stand in double quotes",
    "<": "a token is written <name> or <[id]>, without blanks",
    "\\": "a rule goes on in the next line only if that begins with |",
}


@dataclass(frozen=True)
class Word:
    """A word: its kind, its text, its offset, and its value if it is JSON."""

    kind: str
    text: str
    at: int
    value: Any = None


def words_of(source: Source) -> Iterator[Word]:
    r"""Yield the words of a grammar, and one at its end.

    Raises
    ------
    GrammarError
        If a place is none.

    Examples
    --------
    >>> source = Source("a: %json true // why\n", "the grammar")
    >>> [word.text for word in words_of(source)]
    ['a', ':', '%json', '\n', '']
    """
    text, at = source.text, 0
    while at < len(text):
        found = _WORD.match(text, at)
        if found is None:
            known = _UNCLOSED.get(text[at], f"{text[at]!r} is no word of this language")
            raise source.error(at, known)
        kind, begin, at = str(found.lastgroup), at, found.end()
        if kind == "blank":
            continue
        value = None
        if kind == "directive" and found[0] in _BEFORE_JSON:
            value, at = _json_after(source, at, found[0])
        yield Word(kind, found[0], begin, value)
    yield Word("end", "", len(text))


def _json_after(source: Source, at: int, directive: str) -> tuple[Any, int]:
    """Return the JSON value that follows a directive, and where it ends."""
    while at < len(source.text) and source.text[at] in " \t\r\n":
        at += 1
    try:
        return _JSON.raw_decode(source.text, at)
    except json.JSONDecodeError as error:
        raise source.error(error.pos, f"JSON follows {directive}, and here: {error.msg}") from None
    except ValueError as error:
        raise source.error(at, f"JSON follows {directive}, and here: {error}") from None
    except RecursionError:
        raise source.error(at, "this JSON is nested too deeply", LimitError) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON knows no {name}")
