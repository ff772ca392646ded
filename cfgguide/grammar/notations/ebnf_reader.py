"""Reads XGrammar's EBNF.

In: the text. Out: its rules by name, in which nothing is looked up yet.

Source: XGrammar 0.2 (docs/defining_structures/ebnf_grammar.md and cpp/grammar_parser.cc). It is
GBNF without ``.`` and with other escapes and names, where line ends mean nothing: a rule ends where
the next one begins. Macros are functions of XGrammar's; ``Token`` is the one that a grammar here
can say, and the others are refused by name.
"""

from __future__ import annotations

import re

from cfgguide.grammar.notations.expressions import Notation
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import Characters, Expression, Name, Rule, Special, Text

# A `+` after a quantifier keeps what was read: a comment of many # would be cut in all ways.
_BLANKS = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*+)*+")
_NAME = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*+")
_RULE = re.compile(rf"{_NAME.pattern}(?:\[[^\]\r\n]*+\])?{_BLANKS.pattern}::=")
_OPTION = re.compile(r"[ \t]*([A-Za-z_]+)")
_ID = re.compile("[0-9]{1,9}")
_CONTROLS = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "0": 0, "e": 27}
_ESCAPES = {letter: chr(point) for letter, point in _CONTROLS.items()} | {
    each: each for each in "'\"?\\/"
}
_CLASS_ESCAPES = _ESCAPES | {each: each for each in "^$\\.*+?()[]{}|/-"}
_DIGITS: dict[str, tuple[int, int | None]] = {"x": (1, None), "u": (4, 4), "U": (8, 8)}
_REFUSED = {
    "TagDispatch": (
        "TagDispatch is not supported: it says what a text must not hold; a structural tag with "
        "triggers does the same"
    ),
    "TokenTagDispatch": (
        "TokenTagDispatch is not supported: it means all tokens of the model but some, and a "
        "grammar knows no model"
    ),
    "ExcludeToken": (
        "ExcludeToken is not supported: it means all tokens of the model but some, and a grammar "
        "knows no model; write [^]* for text, which never spells a special token"
    ),
    "Regex": "Regex is not supported; write the pattern as a rule",
    "Substring": "Substring is not supported; list the texts",
}


def read_ebnf(source: Source) -> dict[str, Rule]:
    r"""Return the rules of a grammar in XGrammar's EBNF.

    Raises
    ------
    GrammarError, LimitError
        If it is not in the notation, or has what is not supported; the message points to the place.

    Examples
    --------
    >>> [*read_ebnf(Source('root ::= "a"\n  | item\nitem ::= Token(7)', "the grammar"))]
    ['root', 'item']
    """
    return _Ebnf(source).rules()


class _Ebnf(Notation):
    name = _NAME

    def after_name(self, at: int) -> None:
        self._check_place(at)
        if self._cursor.is_at("["):
            self._refuse_options()
        self.skip_blanks(is_nested=True)

    def skip_blanks(self, *, is_nested: bool) -> None:
        self._cursor.match(_BLANKS)

    def atom(self) -> Expression | None:
        cursor = self._cursor
        at = cursor.at
        if cursor.source.text.startswith("=", at) and cursor.source.text[at - 1 : at] == "(":
            cursor.fail(
                "(= ...) is not supported: XGrammar takes it for a hint, and no text depends on "
                "it; leave it out",
                at - 1,
            )
        if cursor.took('"'):
            return Text(at, cursor.read_text(at, self._escaped, is_on_line=True))
        if cursor.took("["):
            ranges = cursor.read_class(
                at, lambda: self._character(_CLASS_ESCAPES), is_on_line=True, is_any=True
            )
            return Characters(at, ranges)
        if _RULE.match(cursor.source.text, at):
            return None
        name = cursor.match(_NAME)
        if name is None:
            return None
        if name[0] in _REFUSED and cursor.is_at("("):
            cursor.fail(_REFUSED[name[0]], at)
        if name[0] == "Token" and cursor.is_at("("):
            return Special(at, self._ids())
        return Name(at, name[0])

    def _check_place(self, at: int) -> None:
        text = self._cursor.source.text
        line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        if text[line:at].strip(" \t"):
            self._cursor.fail("a rule begins on a line of its own", at)

    def _refuse_options(self) -> None:
        at = self._cursor.at
        self._cursor.at += 1
        option = self._cursor.match(_OPTION)
        name = "" if option is None else option[1]
        self._cursor.fail(f"rule options are not supported: {name or 'leave them out'}", at)

    def _ids(self) -> frozenset[str | int]:
        cursor, found = self._cursor, set[str | int]()
        cursor.expect("(", "after Token")
        while True:
            self.skip_blanks(is_nested=True)
            number = cursor.match(_ID)
            if number is None:
                cursor.fail(f"expected the id of a token, not {cursor.shown}")
            found.add(int(number[0]))
            self.skip_blanks(is_nested=True)
            if not cursor.took(","):
                break
        cursor.expect(")", "after the ids of tokens")
        return frozenset(found)

    def _escaped(self) -> int:
        return self._character(_ESCAPES)

    def _character(self, escapes: dict[str, str]) -> int:
        cursor = self._cursor
        at, character = cursor.at, cursor.here
        cursor.at += 1
        if character != "\\":
            return cursor.checked(ord(character), at)
        letter = cursor.here
        cursor.at += 1
        if letter in _DIGITS:
            return cursor.code_point(at, *_DIGITS[letter])
        if letter and letter in "dDsSwW" and escapes is _CLASS_ESCAPES:
            cursor.fail(f"\\{letter} is not supported in a class; list the characters", at)
        if letter not in escapes:
            cursor.fail(
                f'there is no escape \\{letter} here; there are those of C, such as \\n and \\", '
                "and \\xX..., \\uXXXX and \\UXXXXXXXX",
                at,
            )
        return ord(escapes[letter])
