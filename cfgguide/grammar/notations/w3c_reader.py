"""Reads the EBNF of W3C's specifications, such as that of XML.

In: the text. Out: its rules by name, in which nothing is looked up yet.

Source: *Extensible Markup Language (XML) 1.0*, section 6, "Notation". Texts and classes have no
escapes: a character that cannot be written is ``#xN``. ``A - B`` is all of A but B, and holds its
two parts together more closely than a row does. Numbers before rules, ``[1]``, are read over.
"""

from __future__ import annotations

import re

from cfgguide.grammar.notations.expressions import Notation
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import Characters, Expression, Name, Rule, Text

_BLANKS = re.compile(r"[ \t\r\n]*")
_COMMENT_END = re.compile(r"(?s:.)*?\*/")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*+(?:-[A-Za-z0-9_.]++)*+")
_NUMBER = re.compile(r"\[[0-9]+[a-z]?\](?=[ \t]*[A-Za-z_])")
_RULE = re.compile(rf"(?:\[[0-9]+[a-z]?\][ \t]*)?{_NAME.pattern}[ \t]*::=")
_NOTE = re.compile(r"\[[ \t]*(?:[wv]fc|vc|ns[a-z]*|WFC|VC)[ \t]*:")


def read_w3c(source: Source) -> dict[str, Rule]:
    r"""Return the rules of a grammar in W3C's EBNF.

    Raises
    ------
    GrammarError, LimitError
        If it is not in the notation; the message points to the place.

    Examples
    --------
    >>> [*read_w3c(Source("[1] a ::= [^#x20] - 'b' /* one */ b\n[2] b ::= #xA?", "the grammar"))]
    ['a', 'b']
    """
    return _W3c(source).rules()


class _W3c(Notation):
    name = _NAME
    has_braces = False
    has_minus = True

    def before_name(self) -> None:
        if self._cursor.match(_NUMBER):
            self.skip_blanks(is_nested=True)

    def skip_blanks(self, *, is_nested: bool) -> None:
        cursor = self._cursor
        cursor.match(_BLANKS)
        while cursor.is_at("/*"):
            begin = cursor.at
            cursor.at += 2
            if cursor.match(_COMMENT_END) is None:
                cursor.fail("this comment is never closed", begin)
            cursor.match(_BLANKS)

    def atom(self) -> Expression | None:
        cursor = self._cursor
        at = cursor.at
        if cursor.is_at('"', "'"):
            return Text(at, self._text(at))
        if cursor.is_at("#x"):
            point = self._character()
            return Characters(at, ((point, point),))
        if _RULE.match(cursor.source.text, at):
            return None
        if _NOTE.match(cursor.source.text, at):
            cursor.fail("conditions beside the grammar, such as [wfc: ...], are not supported", at)
        if cursor.took("["):
            return Characters(at, cursor.read_class(at, self._character))
        name = cursor.match(_NAME)
        return None if name is None else Name(at, name[0])

    def _text(self, begin: int) -> str:
        cursor = self._cursor
        end = cursor.source.text.find(cursor.here, begin + 1)
        if end < 0:
            cursor.fail("this text is never closed", begin)
        text = cursor.source.text[begin + 1 : end]
        for place, character in enumerate(text):
            cursor.checked(ord(character), begin + 1 + place)
        cursor.at = end + 1
        return text

    def _character(self) -> int:
        cursor = self._cursor
        at = cursor.at
        if cursor.took("#x"):
            return cursor.code_point(at, 1, None)
        cursor.at += 1
        return cursor.checked(ord(cursor.source.text[at]), at)
