"""Reads a grammar of llguidance's dialect.

In: its text. Out: a :class:`~cfgguide.grammar.rules.tree.Document`, in which nothing
is looked up yet.

Source: the syntax is that of llguidance 1.9 (docs/syntax.md of its repository), and of XGrammar's
``Grammar.from_lark`` where that has more names for the same.
"""

from __future__ import annotations

from cfgguide.grammar.llguidance.common import COMMON
from cfgguide.grammar.llguidance.dialect_words import OPTIONS, Word
from cfgguide.grammar.llguidance.right_hand_sides import REFUSED, Expressions
from cfgguide.grammar.llguidance.word_cursor import Cursor, shown
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import (
    Attribute,
    Document,
    Expression,
    Pattern,
    Rule,
)


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
    return _Reader(Cursor(source)).document(is_nested=False)


class _Reader:
    """Reads rules, terminals and directives."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._expressions = Expressions(cursor, lambda: self.document(is_nested=True))

    def document(self, *, is_nested: bool) -> Document:
        """Return a whole grammar, or what stands in the braces of ``%lark {...}``."""
        found = Document()
        while True:
            self._cursor.skip_lines()
            word = self._cursor.word
            if word.kind == "end" or (is_nested and self._cursor.is_at("}")):
                return found
            if word.kind in ("rule", "terminal"):
                self._definition(found)
            elif word.kind == "directive":
                self._directive(found, self._cursor.take())
            else:
                self._cursor.fail(f"expected a rule, a terminal or a directive, not {shown(word)}")
            if self._cursor.word.kind not in ("newline", "end") and not (
                is_nested and self._cursor.is_at("}")
            ):
                self._cursor.fail(f"expected the end of the line, not {shown(self._cursor.word)}")

    def _definition(self, found: Document) -> None:
        word = self._cursor.take()
        is_rule = word.kind == "rule"
        if self._cursor.is_at("{"):
            self._cursor.fail("templates are not supported; write a rule for each use")
        if self._cursor.is_at("::"):
            self._cursor.fail(REFUSED["%if"])
        if self._cursor.is_at("."):
            self._cursor.fail(
                "priorities are not supported, in llguidance neither; leave the number out"
            )
        attributes: tuple[Attribute, ...] = ()
        if self._cursor.is_at("["):
            if not is_rule:
                self._cursor.fail("only rules have attributes; write the name in lower case")
            attributes = self._attributes()
        self._cursor.expect(":", "after a name that is defined")
        rule = Rule(word.at, word.text.lstrip("!?"), self._expressions.choice(), attributes)
        self._define(found, rule, is_rule=is_rule)

    def _define(self, found: Document, rule: Rule, *, is_rule: bool) -> None:
        known = found.rules if is_rule else found.terminals
        if rule.name in known:
            self._cursor.fail(f"{rule.name} is defined twice", rule.at)
        known[rule.name] = rule

    def _attributes(self) -> tuple[Attribute, ...]:
        self._cursor.take()
        found: list[Attribute] = []
        while not self._cursor.is_at("]"):
            word = self._cursor.expect_kind("rule", "an attribute")
            value: Expression | str | None = None
            if self._cursor.took("="):
                is_value = word.text in ("stop", "suffix")
                value = self._expressions.atom() if is_value else self._attribute_value()
            if word.text in {each.name for each in found}:
                self._cursor.fail(f"the attribute {word.text} stands here twice", word.at)
            found.append(Attribute(word.at, word.text, value))
            if not self._cursor.took(","):
                break
        self._cursor.expect("]", "after attributes")
        return tuple(found)

    def _attribute_value(self) -> str:
        if self._cursor.word.kind not in ("text", "number"):
            self._cursor.fail(
                f"expected a number or a text in quotes, not {shown(self._cursor.word)}"
            )
        return self._cursor.take().text

    def _directive(self, found: Document, word: Word) -> None:
        if word.text == "%ignore":
            found.ignored.append(self._expressions.choice())
        elif word.text == "%import":
            self._import(found, word)
        elif word.text in OPTIONS:
            if not isinstance(word.value, dict):
                self._cursor.fail(f"a JSON object follows {word.text}", word.at)
            found.options |= {name: (word.at, value) for name, value in word.value.items()}
        else:
            unknown = f"{word.text} is no directive that a line can begin with"
            self._cursor.fail(REFUSED.get(word.text, unknown), word.at)

    def _import(self, found: Document, directive: Word) -> None:
        library = self._cursor.take()
        if library.text != "common":
            self._cursor.fail(
                "only %import common.NAME is supported; for another grammar write @name, and give "
                "it in `grammars`",
                library.at,
            )
        names: list[Word] = []
        if self._cursor.took("."):
            names.append(self._cursor.expect_kind("terminal", "the name of a terminal"))
            alias = names[0].text
            if self._cursor.took("->"):
                alias = self._cursor.expect_kind("terminal", "a name in upper case").text
            self._import_one(found, names[0], alias)
            return
        self._cursor.expect("(", f"or a dot after {directive.text} common")
        while not self._cursor.is_at(")"):
            name = self._cursor.expect_kind("terminal", "the name of a terminal")
            self._import_one(found, name, name.text)
            if not self._cursor.took(","):
                break
        self._cursor.expect(")", "after names")

    def _import_one(self, found: Document, name: Word, alias: str) -> None:
        if name.text not in COMMON:
            self._cursor.fail(f"common has no {name.text}; it has {', '.join(COMMON)}", name.at)
        pattern = Pattern(name.at, COMMON[name.text])
        self._define(found, Rule(name.at, alias, pattern), is_rule=False)
