"""Reads a grammar of llguidance's dialect.

In: its text. Out: a :class:`~cfgguide.dialect.syntax.Document`, in which nothing is looked up yet.

Source: the syntax is that of llguidance 1.9 (docs/syntax.md of its repository), and of XGrammar's
``Grammar.from_lark`` where that has more names for the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from cfgguide.dialect.common import COMMON
from cfgguide.dialect.source import Source
from cfgguide.dialect.substrings import chunks_of
from cfgguide.dialect.syntax import (
    Attribute,
    Both,
    Choice,
    Document,
    Expression,
    Name,
    Nested,
    Not,
    Pattern,
    Range,
    Reference,
    Repeated,
    Row,
    Rule,
    Schema,
    Special,
    Substring,
    Text,
)
from cfgguide.dialect.words import OPTIONS, Word, words_of
from cfgguide.errors import LimitError

#: Brackets and grammars inside each other.
MAX_NESTING = 50
_MAX_COUNT = 2**31 - 1
_AFTER_ROW = ("|", "->", ")", "]", "}", "&")
_MARKS = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_REFUSED = {
    "%override": "%override is not supported; write the rule once",
    "%declare": "%declare is not supported: a terminal that is a token is written <name>",
    "%if": "%if and rules with parameters (name::0) are not supported: list the alternatives",
    "%extend": "%extend is not supported; write the rule once",
}


def read(source: Source) -> Document:
    r"""Return what a grammar says.

    Raises
    ------
    GrammarError
        If it is not in the dialect; the message points to the place.
    LimitError
        If it nests too deeply.

    Examples
    --------
    >>> document = read(Source('start: A "b"?\nA: /[a-z]+/', "the grammar"))
    >>> [*document.rules], [*document.terminals]
    (['start'], ['A'])
    """
    return _Reader(source).document(is_nested=False)


class _Reader:
    """Reads words from left to right."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._words = list(words_of(source))
        self._next = 0
        self._depth = 0

    # --- Words -----------------------------------------------------------------------------------

    @property
    def _word(self) -> Word:
        return self._words[self._next]

    def _take(self) -> Word:
        word = self._word
        self._next += word.kind != "end"
        return word

    def _is(self, *marks: str) -> bool:
        return self._word.kind == "mark" and self._word.text in marks

    def _took(self, mark: str) -> bool:
        if self._is(mark):
            self._next += 1
            return True
        return False

    def _expect(self, mark: str, why: str) -> Word:
        if not self._is(mark):
            self._fail(f"expected {mark} {why}, not {_shown(self._word)}")
        return self._take()

    def _expect_kind(self, kind: str, what: str) -> Word:
        if self._word.kind != kind:
            self._fail(f"expected {what}, not {_shown(self._word)}")
        return self._take()

    def _fail(self, said: str, at: int | None = None) -> NoReturn:
        raise self._source.error(self._word.at if at is None else at, said)

    def _skip_lines(self) -> None:
        while self._word.kind == "newline":
            self._next += 1

    # --- Items -----------------------------------------------------------------------------------

    def document(self, *, is_nested: bool) -> Document:
        """Return a whole grammar, or what stands in the braces of ``%lark {...}``."""
        found = Document()
        while True:
            self._skip_lines()
            word = self._word
            if word.kind == "end" or (is_nested and self._is("}")):
                return found
            if word.kind in ("rule", "terminal"):
                self._definition(found)
            elif word.kind == "directive":
                self._directive(found, self._take())
            else:
                self._fail(f"expected a rule, a terminal or a directive, not {_shown(word)}")
            if self._word.kind not in ("newline", "end") and not (is_nested and self._is("}")):
                self._fail(f"expected the end of the line, not {_shown(self._word)}")

    def _definition(self, found: Document) -> None:
        word = self._take()
        is_rule = word.kind == "rule"
        if self._is("{"):
            self._fail("templates are not supported; write a rule for each use")
        if self._is("::"):
            self._fail(_REFUSED["%if"])
        if self._is("."):
            self._fail("priorities are not supported, in llguidance neither; leave the number out")
        attributes: tuple[Attribute, ...] = ()
        if self._is("["):
            if not is_rule:
                self._fail("only rules have attributes; write the name in lower case")
            attributes = self._attributes()
        self._expect(":", "after a name that is defined")
        rule = Rule(word.at, word.text.lstrip("!?"), attributes, self._choice())
        self._define(found, rule, is_rule=is_rule)

    def _define(self, found: Document, rule: Rule, *, is_rule: bool) -> None:
        known = found.rules if is_rule else found.terminals
        if rule.name in known:
            self._fail(f"{rule.name} is defined twice", rule.at)
        known[rule.name] = rule

    def _attributes(self) -> tuple[Attribute, ...]:
        self._take()
        found: list[Attribute] = []
        while not self._is("]"):
            word = self._expect_kind("rule", "an attribute")
            value: Expression | str | None = None
            if self._took("="):
                is_value = word.text in ("stop", "suffix")
                value = self._atom() if is_value else self._attribute_value()
            if word.text in {each.name for each in found}:
                self._fail(f"the attribute {word.text} stands here twice", word.at)
            found.append(Attribute(word.at, word.text, value))
            if not self._took(","):
                break
        self._expect("]", "after attributes")
        return tuple(found)

    def _attribute_value(self) -> str:
        if self._word.kind not in ("text", "number"):
            self._fail(f"expected a number or a text in quotes, not {_shown(self._word)}")
        return self._take().text

    def _directive(self, found: Document, word: Word) -> None:
        if word.text == "%ignore":
            found.ignored.append(self._choice())
        elif word.text == "%import":
            self._import(found, word)
        elif word.text in OPTIONS:
            if not isinstance(word.value, dict):
                self._fail(f"a JSON object follows {word.text}", word.at)
            found.options |= {name: (word.at, value) for name, value in word.value.items()}
        else:
            unknown = f"{word.text} is no directive that a line can begin with"
            self._fail(_REFUSED.get(word.text, unknown), word.at)

    def _import(self, found: Document, directive: Word) -> None:
        library = self._take()
        if library.text != "common":
            self._fail(
                "only %import common.NAME is supported; for another grammar write @name, and give "
                "it in `grammars`",
                library.at,
            )
        names: list[Word] = []
        if self._took("."):
            names.append(self._expect_kind("terminal", "the name of a terminal"))
            alias = names[0].text
            if self._took("->"):
                alias = self._expect_kind("terminal", "a name in upper case").text
            self._import_one(found, names[0], alias)
            return
        self._expect("(", f"or a dot after {directive.text} common")
        while not self._is(")"):
            name = self._expect_kind("terminal", "the name of a terminal")
            self._import_one(found, name, name.text)
            if not self._took(","):
                break
        self._expect(")", "after names")

    def _import_one(self, found: Document, name: Word, alias: str) -> None:
        if name.text not in COMMON:
            self._fail(f"common has no {name.text}; it has {', '.join(COMMON)}", name.at)
        pattern = Pattern(name.at, COMMON[name.text], "")
        self._define(found, Rule(name.at, alias, (), pattern), is_rule=False)

    # --- Expressions -----------------------------------------------------------------------------

    def _choice(self) -> Expression:
        at = self._word.at
        options = self._deeper(self._options)
        return options[0] if len(options) == 1 else Choice(at, tuple(options))

    def _deeper(self, read: Callable[[], list[Expression]]) -> list[Expression]:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self._source.error(
                self._word.at,
                f"more than {MAX_NESTING} brackets inside each other; make rules of some",
                LimitError,
            )
        found = read()
        self._depth -= 1
        return found

    def _options(self) -> list[Expression]:
        found = [self._option()]
        while True:
            begin = self._next
            self._skip_lines()
            if not self._took("|"):
                self._next = begin
                return found
            found.append(self._option())

    def _option(self) -> Expression:
        at = self._word.at
        parts = [self._row()]
        while self._took("&"):
            parts.append(self._row())
        if self._took("->"):  # an alias: only for trees
            self._expect_kind("rule", "a name in lower case")
        if self._word.text == "%if":
            self._fail(_REFUSED["%if"])
        return parts[0] if len(parts) == 1 else Both(at, tuple(parts))

    def _row(self) -> Expression:
        at, parts = self._word.at, list[Expression]()
        while not self._is(*_AFTER_ROW) and self._word.kind not in ("newline", "end"):
            if self._word.text == "%if":
                break
            parts.append(self._counted(self._atom()))
        return parts[0] if len(parts) == 1 else Row(at, tuple(parts))

    def _counted(self, part: Expression) -> Expression:
        word = self._word
        if self._is("?", "*", "+"):
            return Repeated(part.at, part, *_MARKS[self._take().text])
        if self._is("~") and self._words[self._next + 1].kind == "number":
            self._take()
            least = self._count()
            return self._repeated(part, word, least, self._count() if self._took("..") else least)
        if not self._took("{"):
            return part
        least = 0 if self._is(",") else self._count()
        most: int | None = least
        if self._took(","):
            most = None if self._is("}") else self._count()
        self._expect("}", "after a count")
        return self._repeated(part, word, least, most)

    def _repeated(self, part: Expression, word: Word, least: int, most: int | None) -> Expression:
        if most is not None and most < least:
            self._fail(f"the range {least} to {most} ends before it begins", word.at)
        return Repeated(part.at, part, least, most)

    def _count(self) -> int:
        word = self._expect_kind("number", "a number")
        if not word.text.isdecimal() or len(word.text) > 10 or int(word.text) > _MAX_COUNT:
            self._fail(f"a count is a whole number from 0 to {_MAX_COUNT}", word.at)
        return int(word.text)

    def _atom(self) -> Expression:
        word = self._word
        if self._took("~"):
            [part] = self._deeper(lambda: [self._atom()])
            return Not(word.at, part)
        if self._took("("):
            inner = self._choice()
            self._expect(")", "for the bracket that is open")
            return inner
        if self._took("["):
            inner = self._choice()
            self._expect("]", "for the bracket that is open")
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
            return Special(word.at, self._take().text)
        if word.kind == "reference":
            return Reference(word.at, self._take().text[1:])
        raise self._source.error(word.at, f"expected a name, a text or a group, not {_shown(word)}")

    def _name(self) -> Expression:
        word = self._take()
        if self._is("::"):
            self._fail(_REFUSED["%if"])
        follower = self._words[self._next + 1] if self._is("{") else None
        if follower is not None and not (follower.kind == "number" or follower.text == ","):
            self._fail("templates are not supported; write a rule for each use")
        return Name(word.at, word.text.lstrip("!?"))

    def _text(self) -> Expression:
        word = self._take()
        text, ignores_case = self._unquoted(word)
        if not self._took(".."):
            return Text(word.at, text, ignores_case)
        last = self._unquoted(self._expect_kind("text", "a character in quotes"))
        if ignores_case or last[1]:
            self._fail("a range of characters has no flag i", word.at)
        for each in (text, last[0]):
            if len(each) != 1:
                self._fail("a range goes from one character to one character", word.at)
        if text > last[0]:
            self._fail(f"the range {text!r} to {last[0]!r} ends before it begins", word.at)
        return Range(word.at, text, last[0])

    def _unquoted(self, word: Word) -> tuple[str, bool]:
        ignores_case = word.text.endswith("i")
        inside = word.text[1 : -2 if ignores_case else -1]

        def character(found: re.Match[str]) -> str:
            escape = found[1]
            if len(escape) > 1:
                return chr(int(escape[1:], 16))
            if escape not in _ESCAPED:
                self._fail(
                    f"a text has no escape {found[0]}; there are \\n, \\t, \\uXXXX and the others "
                    'of JSON, and \\xXX; a backslash is "\\\\"',
                    word.at + 1 + found.start(),
                )
            return _ESCAPED[escape]

        text = _ESCAPE.sub(character, inside)
        try:
            text = text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._fail("a text has half of a surrogate pair, which UTF-8 cannot encode", word.at)
        return text, ignores_case

    def _pattern(self) -> Expression:
        word = self._take()
        end = word.text.rindex("/")
        flags = word.text[end + 1 :]
        for flag in flags:
            if flag not in "imsux":
                self._fail(
                    f"a regular expression has no flag {flag}; it may have i, m, s, u and x",
                    word.at + end + 1,
                )
        return Pattern(word.at, word.text[1:end], flags)

    def _directive_in_rule(self) -> Expression:
        word = self._take()
        if word.text == "%json":
            if not isinstance(word.value, dict | bool):
                self._fail("a JSON Schema is a JSON object", word.at)
            return Schema(word.at, word.value)
        if word.text == "%regex":
            try:
                return Substring(word.at, chunks_of(word.value))
            except ValueError as error:
                self._fail(str(error), word.at)
        if word.text != "%lark":
            self._fail(_REFUSED.get(word.text, f"{word.text} cannot stand in a rule"), word.at)
        self._skip_lines()
        self._expect("{", "after %lark")
        documents: list[Document] = []

        def read_inside() -> list[Expression]:
            documents.append(self.document(is_nested=True))
            return []

        self._deeper(read_inside)
        self._expect("}", "after the grammar of %lark")
        return Nested(word.at, replace(documents[0]))


def _shown(word: Word) -> str:
    names = {"end": "the end of the text", "newline": "the end of the line"}
    return names.get(word.kind, word.text if len(word.text) <= 30 else f"{word.text[:30]}...")
