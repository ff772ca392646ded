"""Rules of llguidance's dialect as rules of Lark's language.

In: documents. Out: for each rule that the start rule needs, a part that is not empty
(:mod:`cfgguide.grammar.rules.nonempty`), with its terminals, tokens and embedded
grammars noted in a :class:`Parts` that all documents of a grammar share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NoReturn

from cfgguide.grammar.llguidance.attributes import Attributes
from cfgguide.grammar.llguidance.embedding import one_of_schemas
from cfgguide.grammar.llguidance.lexemes import WrittenTerminals
from cfgguide.grammar.llguidance.terminals import Terminals, unknown
from cfgguide.grammar.rules.facts import SOMETHING, Facts, facts_of, ordered, reached
from cfgguide.grammar.rules.names import NameAllocator
from cfgguide.grammar.rules.nonempty import alternatives, sequence, times
from cfgguide.grammar.rules.source import Source
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
    Rule,
    Schema,
    Special,
    Substring,
    Text,
    folded,
    parts_of,
)

#: What is not empty of an expression, and whether it may be empty.
Found = tuple[Expression | None, bool]
_LEAVES = (Text, Characters, Pattern, Special, Reference, Schema, Substring, Nested, Not)


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
    rules : dict of str to Expression
        The rules, by their names in Lark's language.
    inside : callable
        Returns what is found for a schema, a nested grammar or one that is given by name.
    """

    names: NameAllocator
    lexemes: WrittenTerminals
    inside: Callable[[Source, Schema | Nested | Reference], Found]
    left_out: list[tuple[str, str]] = field(default_factory=list)
    rules: dict[str, Expression] = field(default_factory=dict)


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
        self._facts: dict[str, Facts] = {}
        self._rules: dict[str, Rule] = {}  # those that are needed, and no lazy terminals
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
        for name in self._pending:  # grows while it is walked
            part, _ = self._body(self._rules[name])
            assert part is not None
            self._parts.rules[self._names[name]] = part
        return found

    def _fail(self, at: int, said: str) -> NoReturn:
        raise self._source.error(at, said)

    # --- Which rules may be empty ----------------------------------------------------------------

    def _find_facts(self) -> None:
        """Note for all rules that are needed whether they may be empty, or anything else."""
        rules, leaves = {}, dict[int, Facts]()
        known = self._document.rules
        for name, _ in ordered({name: known[name] for name in reached(known, "start")}):
            rule = known[name]
            lazy = self._attributes.lazy(rule)
            if lazy is not None:
                self._facts[name] = _facts(lazy)
                continue
            rules[name] = rule = replace(rule, body=self._without_stops(rule.body))
            leaves |= {id(leaf): self._of_leaf(leaf, name) for leaf in _leaves_of(rule.body)}

        def of_leaf(leaf: Expression) -> Facts:
            if isinstance(leaf, Name) and leaf.name in self._facts:  # a lazy terminal
                return self._facts[leaf.name]
            return leaves[id(leaf)]

        self._facts |= facts_of(rules, of_leaf)
        self._rules = rules

    def _of_leaf(self, leaf: Expression, hint: str) -> Facts:
        if isinstance(leaf, Schema) or self._is_rule(leaf):
            return SOMETHING  # which other rules have is found later; some schemas become one
        return _facts(self._found(leaf, hint))

    def _without_stops(self, body: Expression) -> Expression:
        """Return an expression without texts that the rule before them has read already."""

        def rebuilt(node: Expression, parts: list[Expression]) -> Expression:
            match node:
                case Row():
                    kept = [
                        part
                        for before, part in zip([None, *parts], parts, strict=False)
                        if not self._has_stop(before, part)
                    ]
                    return replace(node, parts=tuple(kept))
                case Choice():
                    return replace(node, parts=tuple(parts))
                case Repeated():
                    return replace(node, part=parts[0])
                case _:
                    return node

        return folded(body, rebuilt)

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
        facts = self._facts[rule.name]
        if not facts.is_something:
            return None, facts.is_optional
        if rule.name not in self._names:
            self._names[rule.name] = self._parts.names.new(rule.name)
            self._pending.append(rule.name)
        return Name(0, self._names[rule.name]), facts.is_optional

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
                return expression, False
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
        return expression, False

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
        found = [self._found(part, hint) for part in row.parts]
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
        options = [self._resolved(option) for option in choice.parts]
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


def _leaves_of(body: Expression) -> Iterator[Expression]:
    """Yield what rows, choices and counts are made of, from left to right."""
    pending = [body]
    while pending:
        node = pending.pop()
        if isinstance(node, Row | Choice | Repeated):
            pending.extend(reversed(parts_of(node)))
        else:
            yield node


def _facts(found: Found) -> Facts:
    part, is_optional = found
    return Facts(is_optional, part is not None)
