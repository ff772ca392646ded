"""Reads XGrammar's EBNF.

In: the text. Out: its rules by name, in which nothing is looked up yet.

Source: XGrammar 0.2 (docs/defining_structures/ebnf_grammar.md and cpp/grammar_parser.cc). It is
GBNF without ``.`` and with other escapes and names, where line ends mean nothing: a rule ends where
the next one begins. Macros are functions of XGrammar's (:mod:`cfgguide.grammar.notations.macros`);
those that mean all tokens but some are refused by name.
"""

from __future__ import annotations

import re

from cfgguide.grammar.notations import macros
from cfgguide.grammar.notations.expressions import Notation
from cfgguide.grammar.rules.facts import not_known
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import Characters, Expression, Name, Rule, Special, Text, names_in

# A `+` after a quantifier keeps what was read: a comment of many # would be cut in all ways.
_BLANKS = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*+)*+")
_NAME = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*+")
_RULE = re.compile(rf"{_NAME.pattern}(?:\[[^\]\r\n]*+\])?{_BLANKS.pattern}::=")
_OPTION = re.compile(r"[ \t]*([A-Za-z_]+)")
_VALUE = re.compile(r'[ \t]*+(?:=[ \t]*+(?:"[^"\r\n\\]*+"|[0-9.]++))?[ \t]*+')
_ID = re.compile("[0-9]{1,9}")
_CONTROLS = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "0": 0, "e": 27}
_ESCAPES = {letter: chr(point) for letter, point in _CONTROLS.items()} | {
    each: each for each in "'\"?\\/"
}
_CLASS_ESCAPES = _ESCAPES | {each: each for each in "^$\\.*+?()[]{}|/-"}
_DIGITS: dict[str, tuple[int, int | None]] = {"x": (1, None), "u": (4, 4), "U": (8, 8)}
_REFUSED = {
    "TokenTagDispatch": (
        "TokenTagDispatch is not supported: it means all tokens of the model but some, and a "
        "grammar knows no model"
    ),
    "ExcludeToken": (
        "ExcludeToken is not supported: it means all tokens of the model but some, and a grammar "
        "knows no model; write [^]* for text, which never spells a special token"
    ),
}
_MACROS = ("Regex", "Substring", "TagDispatch")
_OPTIONS = {
    "max_tokens": (
        "max_tokens counts tokens, and a mask here depends on the text alone; bound the text, as "
        "in [^]{0,400}, or give a budget of tokens when generating"
    ),
    "lazy": "lazy is not supported; llguidance's dialect has it: Grammar.llguidance",
}
_WITHOUT_EFFECT = ("capture", "temperature")  # on what is written


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
    unlimited = ("-1",)
    ends = ("(=",)

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._asserted: list[Name] = []

    def after_name(self, at: int) -> None:
        self._check_place(at)
        if self._cursor.took("["):
            self._read_options()
        self.skip_blanks(is_nested=True)

    def skip_blanks(self, *, is_nested: bool) -> None:
        self._cursor.match(_BLANKS)

    def atom(self) -> Expression | None:
        cursor = self._cursor
        at = cursor.at
        if cursor.took('"'):
            return Text(at, self._text(at))
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
        if name[0] in _MACROS and cursor.is_at("("):
            return self._macro(at, name[0])
        return Name(at, name[0])

    def _check_place(self, at: int) -> None:
        text = self._cursor.source.text
        line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        if text[line:at].strip(" \t"):
            self._cursor.fail("a rule begins on a line of its own", at)

    def after_rule(self) -> None:
        """Read over ``(= ...)``, which says what follows the rule wherever it is used.

        XGrammar's printer writes it. Its masks are made sooner with it, and its matcher does not
        ask for it: no text depends on it, if it is true.
        """
        cursor = self._cursor
        begin = cursor.at
        if cursor.took("(="):
            self._asserted += names_in(self.expression())
            if not cursor.here:
                cursor.fail("this bracket is never closed", begin)
            cursor.expect(")", "after what follows a rule")

    def rules(self) -> dict[str, Rule]:
        """Return the rules; names in ``(= ...)`` have to be known, too."""
        found = super().rules()
        for name in self._asserted:
            if name.name not in found:
                said = f"there is no rule called {name.name}"
                self._cursor.fail(not_known(said, name.name, found), name.at)
        return found

    def _macro(self, at: int, name: str) -> Expression:
        given = macros.arguments(
            self._cursor, at, self._text, lambda: self.skip_blanks(is_nested=True)
        )
        if name == "Regex":
            return macros.regex(given)
        if name == "Substring":
            return macros.substring(given)
        first = len(self.more)
        found, rules = macros.tag_dispatch(given, lambda n: f"{self.rule} {first + n + 1}")
        self.more |= {rule.name: rule for rule in rules}
        return found

    def _read_options(self) -> None:
        """Read over the options of a rule that do not change which texts it has."""
        cursor, begin = self._cursor, self._cursor.at - 1
        while True:
            option = cursor.match(_OPTION)
            name = "" if option is None else option[1]
            if name not in _WITHOUT_EFFECT:
                unknown = f"there is no option {name}; there are capture and temperature"
                cursor.fail(_OPTIONS.get(name, unknown), begin)
            cursor.match(_VALUE)
            if not cursor.took(","):
                break
        cursor.expect("]", "after the options of a rule")

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

    def _text(self, begin: int) -> str:
        return self._cursor.read_text(begin, self._escaped, is_on_line=True)

    def _escaped(self) -> int:
        return self._character(_ESCAPES)

    def _character(self, escapes: dict[str, str]) -> int:
        return self._cursor.character(escapes, _DIGITS, lambda each: _unknown(each, escapes))


def _unknown(letter: str, escapes: dict[str, str]) -> str:
    """Return what is wrong with an escape."""
    if letter and letter in "dDsSwW" and escapes is _CLASS_ESCAPES:
        return f"\\{letter} is not supported in a class; list the characters"
    return (
        f'there is no escape \\{letter} here; there are those of C, such as \\n and \\", '
        "and \\xX..., \\uXXXX and \\UXXXXXXXX"
    )
