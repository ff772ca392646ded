"""Reads the right-hand sides of rules and terminals.

In: the words after a colon. Out: an expression (:mod:`cfgguide.grammar.rules.tree`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cfgguide.automata.charset import CharacterClass
from cfgguide.grammar.llguidance.dialect_words import Word
from cfgguide.grammar.llguidance.substrings import chunks_of
from cfgguide.grammar.llguidance.word_cursor import Cursor, shown
from cfgguide.grammar.rules.special_tokens import tokens_of
from cfgguide.grammar.rules.tree import (
    Both,
    Characters,
    Choice,
    Document,
    Expression,
    Name,
    Nested,
    Not,
    Pattern,
    Reference,
    Repeated,
    Row,
    Schema,
    Special,
    Substring,
    Text,
)

_MAX_COUNT = 2**31 - 1
_AFTER_ROW = ("|", "->", ")", "]", "}", "&")
_MARKS = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
#: Directives that are known and not supported.
REFUSED = {
    "%override": "%override is not supported; write the rule once",
    "%declare": "%declare is not supported: a terminal that is a token is written <name>",
    "%if": "%if and rules with parameters (name::0) are not supported: list the alternatives",
    "%extend": "%extend is not supported; write the rule once",
}


class Expressions:
    """Reads expressions.

    Parameters
    ----------
    cursor : Cursor
        Where to read.
    read_document : callable
        Reads the grammar after ``%lark {``, up to the brace that closes it.
    """

    def __init__(self, cursor: Cursor, read_document: Callable[[], Document]) -> None:
        self._cursor = cursor
        self._read_document = read_document

    def choice(self) -> Expression:
        """Return one or more alternatives.

        Raises
        ------
        GrammarError, LimitError
            If there is none, or it nests too deeply.
        """
        at = self._cursor.word.at
        options = self._cursor.deeper(self._options)
        return options[0] if len(options) == 1 else Choice(at, tuple(options))

    def _options(self) -> list[Expression]:
        found = [self._option()]
        while self._cursor.took_on_a_line("|"):
            found.append(self._option())
        return found

    def _option(self) -> Expression:
        at = self._cursor.word.at
        parts = [self._row()]
        while self._cursor.took("&"):
            parts.append(self._row())
        if self._cursor.took("->"):  # an alias: only for trees
            self._cursor.expect_kind("rule", "a name in lower case")
        if self._cursor.word.text == "%if":
            self._cursor.fail(REFUSED["%if"])
        return parts[0] if len(parts) == 1 else Both(at, tuple(parts))

    def _row(self) -> Expression:
        at, parts = self._cursor.word.at, list[Expression]()
        while not self._cursor.is_at(*_AFTER_ROW) and self._cursor.word.kind not in (
            "newline",
            "end",
        ):
            if self._cursor.word.text == "%if":
                break
            parts.append(self._counted(self.atom()))
        return parts[0] if len(parts) == 1 else Row(at, tuple(parts))

    def _counted(self, part: Expression) -> Expression:
        word = self._cursor.word
        if self._cursor.is_at("?", "*", "+"):
            return Repeated(part.at, part, *_MARKS[self._cursor.take().text])
        if self._cursor.is_at("~") and self._cursor.second.kind == "number":
            self._cursor.take()
            least = self._count()
            return self._repeated(
                part, word, least, self._count() if self._cursor.took("..") else least
            )
        if not self._cursor.took("{"):
            return part
        least = 0 if self._cursor.is_at(",") else self._count()
        most: int | None = least
        if self._cursor.took(","):
            most = None if self._cursor.is_at("}") else self._count()
        self._cursor.expect("}", "after a count")
        return self._repeated(part, word, least, most)

    def _repeated(self, part: Expression, word: Word, least: int, most: int | None) -> Expression:
        if most is not None and most < least:
            self._cursor.fail(f"the range {least} to {most} ends before it begins", word.at)
        return Repeated(part.at, part, least, most)

    def _count(self) -> int:
        word = self._cursor.expect_kind("number", "a number")
        if not word.text.isdecimal() or len(word.text) > 10 or int(word.text) > _MAX_COUNT:
            self._cursor.fail(f"a count is a whole number from 0 to {_MAX_COUNT}", word.at)
        return int(word.text)

    def atom(self) -> Expression:
        """Return what comes next, without a count; raises as :meth:`choice`."""
        word = self._cursor.word
        if self._cursor.took("~"):
            return Not(word.at, self._cursor.deeper(self.atom))
        if self._cursor.took("("):
            inner = self.choice()
            self._cursor.expect(")", "for the bracket that is open")
            return inner
        if self._cursor.took("["):
            inner = self.choice()
            self._cursor.expect("]", "for the bracket that is open")
            return Repeated(word.at, inner, 0, 1)
        read = {
            "text": self._text,
            "pattern": self._pattern,
            "directive": self._directive_in_rule,
        }.get(word.kind)
        if read is not None:
            return read()
        if word.kind in ("rule", "terminal"):
            return self._name()
        if word.kind == "special":
            return self._special()
        if word.kind == "reference":
            return Reference(word.at, self._cursor.take().text[1:])
        raise self._cursor.error(f"expected a name, a text or a group, not {shown(word)}")

    def _special(self) -> Expression:
        word = self._cursor.take()
        try:
            return Special(word.at, tokens_of(word.text))
        except ValueError as error:
            self._cursor.fail(str(error), word.at)

    def _name(self) -> Expression:
        word = self._cursor.take()
        if self._cursor.is_at("::"):
            self._cursor.fail(REFUSED["%if"])
        follower = self._cursor.second if self._cursor.is_at("{") else None
        if follower is not None and not (follower.kind == "number" or follower.text == ","):
            self._cursor.fail("templates are not supported; write a rule for each use")
        return Name(word.at, word.text.lstrip("!?"))

    def _text(self) -> Expression:
        word = self._cursor.take()
        text, ignores_case = self._unquoted(word)
        if not self._cursor.took(".."):
            return Text(word.at, text, ignores_case)
        last = self._unquoted(self._cursor.expect_kind("text", "a character in quotes"))
        if ignores_case or last[1]:
            self._cursor.fail("a range of characters has no flag i", word.at)
        for each in (text, last[0]):
            if len(each) != 1:
                self._cursor.fail("a range goes from one character to one character", word.at)
        if text > last[0]:
            self._cursor.fail(f"the range {text!r} to {last[0]!r} ends before it begins", word.at)
        return Characters(word.at, CharacterClass.of([(ord(text), ord(last[0]))]).ranges)

    def _unquoted(self, word: Word) -> tuple[str, bool]:
        ignores_case = word.text.endswith("i")
        inside = word.text[1 : -2 if ignores_case else -1]

        def character(found: re.Match[str]) -> str:
            escape = found[1]
            if len(escape) > 1:
                return chr(int(escape[1:], 16))
            if escape not in _ESCAPED:
                self._cursor.fail(
                    f"a text has no escape {found[0]}; there are \\n, \\t, \\uXXXX and the others "
                    'of JSON, and \\xXX; a backslash is "\\\\"',
                    word.at + 1 + found.start(),
                )
            return _ESCAPED[escape]

        text = _ESCAPE.sub(character, inside)
        try:
            text = text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._cursor.fail(
                "a text has half of a surrogate pair, which UTF-8 cannot encode", word.at
            )
        return text, ignores_case

    def _pattern(self) -> Expression:
        word = self._cursor.take()
        end = word.text.rindex("/")
        flags = word.text[end + 1 :]
        for flag in flags:
            if flag not in "imsux":
                self._cursor.fail(
                    f"a regular expression has no flag {flag}; it may have i, m, s, u and x",
                    word.at + end + 1,
                )
        return Pattern(word.at, word.text[1:end], flags)

    def _directive_in_rule(self) -> Expression:
        word = self._cursor.take()
        if word.text == "%json":
            if not isinstance(word.value, dict | bool):
                self._cursor.fail("a JSON Schema is a JSON object", word.at)
            return Schema(word.at, word.value)
        if word.text == "%regex":
            try:
                return Substring(word.at, chunks_of(word.value))
            except ValueError as error:
                self._cursor.fail(str(error), word.at)
        if word.text != "%lark":
            self._cursor.fail(
                REFUSED.get(word.text, f"{word.text} cannot stand in a rule"), word.at
            )
        self._cursor.skip_lines()
        self._cursor.expect("{", "after %lark")
        document = self._cursor.deeper(self._read_document)
        self._cursor.expect("}", "after the grammar of %lark")
        return Nested(word.at, document)
