"""Rules of llguidance's dialect as rules of Lark's language.

In: documents. Out: for each rule that the start rule needs, a part that is not empty
(:mod:`cfgguide.grammar.llguidance.nonempty_parts`), with its terminals, tokens and embedded
grammars noted in a :class:`Parts` that all documents of a grammar share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from cfgguide.grammar.llguidance.attributes import Attributes
from cfgguide.grammar.llguidance.dialect_syntax import (
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
from cfgguide.grammar.llguidance.embedding import one_of_schemas
from cfgguide.grammar.llguidance.lexemes import WrittenTerminals
from cfgguide.grammar.rules.names import NameAllocator
from cfgguide.grammar.llguidance.nonempty_parts import Leaf, Part, alternatives, sequence, times
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.special_tokens import tokens_of
from cfgguide.grammar.llguidance.terminals import Terminals, unknown

#: What is not empty of an expression, and whether it may be empty.
Found = tuple[Part | None, bool]
_LEAVES = (Text, Range, Pattern, Special, Reference, Schema, Substring, Nested, Not)


@dataclass
class Parts:
    """What all documents of a grammar share.

    Attributes
    ----------
    names : NameAllocator
        The names that are taken.
    lexemes : WrittenTerminals
        The terminals.
    left_out : list of (str, str)
        What has no effect here, and why.
    rules : dict of str to Part
        The rules, by their names in Lark's language.
    inside : callable
        Returns what is found for a schema, a nested grammar or one that is given by name.
    """

    names: NameAllocator
    lexemes: WrittenTerminals
    inside: Callable[[Source, Schema | Nested | Reference], Found]
    left_out: list[tuple[str, str]] = field(default_factory=list)
    rules: dict[str, Part] = field(default_factory=dict)


class Conversion:
    """Converts the rules of one document.

    Parameters
    ----------
    parts : Parts
        Where to note what is found.
    source : Source
        The text of the document.
    document : Document
        What it says.
    """

    def __init__(self, parts: Parts, source: Source, document: Document) -> None:
        self._parts = parts
        self._source = source
        self._document = document
        self.terminals = Terminals(source, document)
        self._attributes = Attributes(source, self.terminals, parts.lexemes, parts.left_out)
        self._names: dict[str, str] = {}
        self._facts: dict[str, tuple[bool, bool]] = {}  # may be empty, may be something else
        self._pending: list[str] = []

    def convert(self) -> Found:
        """Return the start rule, and note it and all that it needs.

        Raises
        ------
        GrammarError, LimitError
            If a rule cannot be converted; the message points to the place.
        """
        if "start" not in self._document.rules:
            self._fail(0, "there is no rule called start, in lower case")
        self._find_facts()
        found = self._of_rule("start")
        while self._pending:
            name = self._pending.pop()
            part, _ = self._body(self._document.rules[name])
            assert part is not None
            self._parts.rules[self._names[name]] = part
        return found

    def _fail(self, at: int, said: str) -> NoReturn:
        raise self._source.error(at, said)

    # --- Which rules may be empty ----------------------------------------------------------------

    def _find_facts(self) -> None:
        """Note for all rules that are needed whether they may be empty, or anything else."""
        order = ["start"]
        self._facts["start"] = (False, False)
        for name in order:  # grows while it is walked
            for each in _names_in(self._document.rules[name]):
                if each in self._document.rules and each not in self._facts:
                    self._facts[each] = (False, False)
                    order.append(each)
        is_changed = True
        while is_changed:
            is_changed = False
            for name in reversed(order):
                part, is_optional = self._body(self._document.rules[name])
                facts = (is_optional, part is not None)
                if facts != self._facts[name]:
                    self._facts[name] = facts
                    is_changed = True

    # --- Rules -----------------------------------------------------------------------------------

    def _body(self, rule: Rule) -> Found:
        lazy = self._attributes.lazy(rule)
        return self._found(rule.body, rule.name) if lazy is None else lazy

    def _of_rule(self, name: str) -> Found:
        """Return what stands for a rule: its name, or its body if that is a symbol alone."""
        rule = self._document.rules[name]
        seen = {name}
        while not self._attributes.is_lazy(rule) and isinstance(rule.body, Name):
            if rule.body.name not in self._document.rules or rule.body.name in seen:
                break
            seen.add(rule.body.name)
            rule = self._document.rules[rule.body.name]
        is_symbol = isinstance(rule.body, (*_LEAVES, Name))
        if self._attributes.is_lazy(rule) or (is_symbol and not self._is_rule(rule.body)):
            return self._body(rule)
        is_optional, is_something = self._facts[rule.name]
        if not is_something:
            return None, is_optional
        if rule.name not in self._names:
            self._names[rule.name] = self._parts.names.new(rule.name)
            self._pending.append(rule.name)
        return Leaf("rule", self._names[rule.name]), is_optional

    def _is_rule(self, expression: Expression) -> bool:
        return isinstance(expression, Name) and expression.name in self._document.rules

    # --- Expressions -----------------------------------------------------------------------------

    def _found(self, expression: Expression, hint: str) -> Found:
        match expression:
            case Row():
                return self._row(expression, hint)
            case Choice():
                return self._choice(expression, hint)
            case Repeated():
                return self._repeated(expression, hint)
            case Name():
                return self._named(expression)
            case Text():
                return self._text(expression)
            case Special():
                try:
                    return Leaf("tokens", tokens_of(expression.written)), False
                except ValueError as error:
                    self._fail(expression.at, str(error))
            case Schema() | Nested() | Reference():
                return self._parts.inside(self._source, expression)
            case Both():
                self._fail(
                    expression.at,
                    "& is for terminals; give this a name in upper case, and use that here",
                )
            case _:
                pass
        pattern = self.terminals.pattern(expression)
        return self._lexeme(expression.at, pattern, hint.upper())

    def _lexeme(self, at: int, pattern: str, name: str) -> Found:
        return self._parts.lexemes.of_pattern(self.terminals, self._source, at, pattern, name)

    def _text(self, expression: Text) -> Found:
        if not expression.text:
            return None, True
        return Leaf("literal", (expression.text, expression.ignores_case)), False

    def _named(self, name: Name) -> Found:
        if name.name in self._document.rules:
            return self._of_rule(name.name)
        if name.name not in self._document.terminals:
            raise unknown(self._source, self._document, name)
        definition = self._document.terminals[name.name]
        body = definition.body
        if isinstance(body, Text) and body.text and not body.ignores_case:
            leaf = self._parts.lexemes.named_text(
                self.terminals, self._source, definition.at, body.text, name.name
            )
            return leaf, False
        return self._lexeme(definition.at, self.terminals.named(name), name.name)

    def _row(self, row: Row, hint: str) -> Found:
        found: list[Found] = []
        before: Expression | None = None
        for part in row.parts:
            if not self._has_stop(before, part):
                found.append(self._found(part, hint))
            before = part
        return sequence(found), all(is_optional for _, is_optional in found)

    def _has_stop(self, before: Expression | None, part: Expression) -> bool:
        """Return whether a text was read already, by the rule before it that stops with it."""
        text = self._text_meant(part)
        if text is None or not (isinstance(before, Name) and before.name in self._document.rules):
            return False
        stop = self._attributes.stop(self._document.rules[before.name])
        meant = None if stop is None else self._text_meant(stop)
        return meant is not None and (meant.text, meant.ignores_case) == (
            text.text,
            text.ignores_case,
        )

    def _text_meant(self, expression: Expression) -> Text | None:
        """Return the text that an expression is, if it is one that is not empty, or names one."""
        if isinstance(expression, Name) and expression.name in self._document.terminals:
            expression = self._document.terminals[expression.name].body
        return expression if isinstance(expression, Text) and expression.text else None

    def _choice(self, choice: Choice, hint: str) -> Found:
        options = [self._resolved(option) for option in choice.options]
        schemas = [option for option in options if isinstance(option, Schema)]
        if len(schemas) > 1:
            others = [option for option in options if not isinstance(option, Schema)]
            options = [*others, merged(schemas)]
        found = [self._found(option, hint) for option in options]
        parts = [part for part, _ in found if part is not None]
        is_optional = any(is_optional for _, is_optional in found)
        return (alternatives(parts) if parts else None), is_optional

    def _resolved(self, option: Expression) -> Expression:
        """Return the schema that an alternative is, if it is one, or the alternative itself."""
        here, seen = option, set[str]()
        while isinstance(here, Name) and here.name in self._document.rules:
            rule = self._document.rules[here.name]
            if here.name in seen or self._attributes.is_lazy(rule):
                return option
            seen.add(here.name)
            here = rule.body
        return here if isinstance(here, Schema) else option

    def _repeated(self, repeated: Repeated, hint: str) -> Found:
        part, is_optional = self._found(repeated.part, hint)
        if part is None or repeated.most == 0:
            return None, is_optional or repeated.least == 0 or repeated.most == 0
        least = 1 if is_optional else max(repeated.least, 1)
        return times(part, least, repeated.most), is_optional or repeated.least == 0


def merged(schemas: list[Schema]) -> Schema:
    """Return one schema for alternatives: Lark could not tell which of them has begun."""
    return Schema(schemas[0].at, one_of_schemas([each.schema for each in schemas]))


def _names_in(rule: Rule) -> list[str]:
    found: list[str] = []
    pending: list[Expression] = [rule.body]
    while pending:
        here = pending.pop()
        match here:
            case Name():
                found.append(here.name)
            case Row() | Both():
                pending.extend(here.parts)
            case Choice():
                pending.extend(here.options)
            case Repeated() | Not():
                pending.append(here.part)
            case _:
                pass
    return found
