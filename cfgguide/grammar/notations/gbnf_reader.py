"""Reads GBNF, llama.cpp's notation of grammars.

In: the text. Out: its rules by name, in which nothing is looked up yet.

Source: llama.cpp's ``grammars/README.md`` and ``src/llama-grammar.cpp`` of 2026, which has tokens;
where they differ (underscores in names), what either allows. Left out is what the parser there
takes by accident: classes without characters, which it reads as the empty text, and ranges that end
before they begin.
"""

from __future__ import annotations

import re

from cfgguide.automata.charset import MAX_CODE_POINT, CharacterClass
from cfgguide.grammar.notations.expressions import Notation
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.special_tokens import tokens_of
from cfgguide.grammar.rules.tree import Characters, Expression, Name, Rule, Special, Text

_BLANKS = re.compile(r"(?:[ \t]|#[^\r\n]*+)*+")
_BLANKS_AND_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*+)*+")
_NAME = re.compile("[A-Za-z0-9_-]+")
_TOKEN = re.compile(r"<\[[0-9]{1,9}\]>|<(?!\[)[^<>\r\n]+>")
_LINE_END = re.compile(r"\r\n?|\n")
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", **{each: each for each in '\\"[]-'}}
_DIGITS = {"x": (2, 2), "u": (4, 4), "U": (8, 8)}
_ANY = CharacterClass.of([(0, MAX_CODE_POINT)]).ranges


def read_gbnf(source: Source) -> dict[str, Rule]:
    r"""Return the rules of a grammar in GBNF.

    Raises
    ------
    GrammarError, LimitError
        If it is not in the notation; the message points to the place.

    Examples
    --------
    >>> rules = read_gbnf(Source('root ::= "a" (b | [0-9]+)\nb ::= .', "the grammar"))
    >>> [*rules], rules["b"].body.at
    (['root', 'b'], 32)
    """
    return _Gbnf(source).rules()


class _Gbnf(Notation):
    name = _NAME
    has_empty_alternatives = True
    has_several_counts = True

    def before_name(self) -> None:
        if self._cursor.is_at("|"):
            self._cursor.fail(
                "expected the name of a rule, not '|'; alternatives go on after a | at the end of "
                "a line, or in brackets"
            )

    def after_name(self, at: int) -> None:
        self.skip_blanks(is_nested=False)

    def after_rule(self) -> None:
        if self._cursor.here and self._cursor.match(_LINE_END) is None:
            self._cursor.fail(f"expected the end of the line, not {self._cursor.shown}")

    def skip_blanks(self, *, is_nested: bool) -> None:
        self._cursor.match(_BLANKS_AND_LINES if is_nested else _BLANKS)

    def atom(self) -> Expression | None:
        cursor = self._cursor
        at = cursor.at
        if cursor.took('"'):
            return Text(at, cursor.read_text(at, self._character))
        if cursor.took("["):
            return Characters(at, cursor.read_class(at, self._character))
        if cursor.took("."):
            return Characters(at, _ANY)
        if cursor.is_at("<", "!"):
            return self._token(at)
        name = cursor.match(_NAME)
        return None if name is None else Name(at, name[0])

    def _character(self) -> int:
        return self._cursor.character(
            _ESCAPES,
            _DIGITS,
            lambda letter: (
                f'there is no escape \\{letter}; there are \\n, \\r, \\t, \\\\, \\", \\[, \\], '
                "\\-, \\xXX, \\uXXXX and \\UXXXXXXXX"
            ),
        )

    def _token(self, at: int) -> Expression:
        cursor = self._cursor
        is_negated = cursor.took("!")
        found = cursor.match(_TOKEN)
        if found is None:
            cursor.fail("a token is written <[id]> or <name>", at)
        if is_negated:
            cursor.fail(
                f"!{found[0]} means all tokens of the model but one, and a grammar knows no model; "
                "write .* for text, which never spells a special token",
                at,
            )
        return Special(at, tokens_of(found[0]))
