"""A document of llguidance's dialect, with all that stands inside of it, in Lark's language.

In: a text, and the grammars that it may name. Out: lines in Lark's language, the start rule, and
special terminals. Nested documents and those with a name are converted like the first one, and
share its terminals; schemas and other grammars bring rules and terminals of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.witness import is_part_of
from cfgguide.base.limits import Budget, Limits
from cfgguide.errors import CfgGuideError
from cfgguide.grammar.fragments import Rules
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.literals import pattern_literal, text_literal
from cfgguide.grammar.llguidance.beginnings import confused
from cfgguide.grammar.llguidance.embedding import can_be_empty, rules_of_grammar
from cfgguide.grammar.llguidance.ends import together
from cfgguide.grammar.llguidance.fused import fused
from cfgguide.grammar.llguidance.lexemes import WrittenTerminals
from cfgguide.grammar.llguidance.options import DialectOptions
from cfgguide.grammar.llguidance.reader import read
from cfgguide.grammar.llguidance.rule_translation import Conversion, Found, Parts
from cfgguide.grammar.rejections import n_conflicts
from cfgguide.grammar.rules.names import NameAllocator
from cfgguide.grammar.rules.nonempty import in_lark, optional
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.special_tokens import Tokens, terminals_of
from cfgguide.grammar.rules.tree import (
    Document,
    Expression,
    Name,
    Nested,
    Reference,
    Row,
    Schema,
    Special,
    Text,
    nodes_of,
)

_JSON_SPACE = r"[ \t\n\r]+"
_NOT_FIRST = "(?<=(?s:.))"  # llguidance ignores nothing before the first terminal

SchemaRules = Callable[..., tuple[Rules, tuple[tuple[str, str], ...], bool]]


class Translation:
    """Translates one grammar.

    Parameters
    ----------
    grammars : mapping of str to Grammar or str
        What the text may call ``@name``.
    rules_of_schema : callable
        Takes a schema, what it may cost, and `is_tidy` and `has_ignored`; returns its rules, what
        is left out, and whether they take white space.
    limits : Limits
        What schemas may cost.
    budget : Budget
        What all of it may cost.
    is_tidy : bool
        Whether values of schemas are tidy (:func:`cfgguide.json_schema`).
    """

    def __init__(
        self,
        grammars: Mapping[str, Grammar | str],
        rules_of_schema: SchemaRules,
        limits: Limits,
        budget: Budget,
        *,
        is_tidy: bool = False,
    ) -> None:
        self._is_tidy = is_tidy
        self._grammars = grammars
        self._rules_of_schema = rules_of_schema
        self._limits = limits
        self._budget = budget
        self._names = NameAllocator()
        self._lexemes = WrittenTerminals(self._names, budget)
        self._parts = Parts(self._names, self._lexemes, self._inside)
        self._known: dict[object, Found] = {}
        self._embedded: dict[Reference, Rules] = {}
        self._places: dict[Reference, tuple[Source, int]] = {}
        self._prefixes: dict[Reference, str] = {}  # of the names of their rules and terminals
        self._open: list[str] = []
        self._ignored: str | None = None
        self._options = DialectOptions()

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """What has no effect here, and why."""
        return self._parts.left_out

    def of(self, source: Source) -> tuple[list[str], str, dict[str, tuple[str | int, ...]]]:
        """Return lines in Lark's language, the start rule, and special terminals.

        Raises
        ------
        GrammarError, LimitError
            If the text is wrong; the message points to the place.
        """
        document = read(source)
        self._options = DialectOptions.of(source, document)
        self.left_out.extend(self._options.left_out)
        conversion = Conversion(self._parts, source, document)
        self._ignored = self._ignoring(source, document, conversion)
        part, is_optional = conversion.convert()
        if part is None and not is_optional:
            raise source.error(document.rules["start"].at, "no text is a sentence")
        start = self._with_start(part, is_optional)
        self._check_beginnings(start)
        return self._written(start)

    def _with_start(self, part: Expression | None, is_optional: bool) -> str:
        """Return the name of the start rule, which is made if there is none that may be empty."""
        rules = self._parts.rules
        if part is None:
            rules["start"] = Row(0, ())
            return "start"
        whole = Name(0, "start")
        if part == whole:
            is_used = any(whole in nodes_of(each) for each in rules.values())
            if not is_optional:
                return "start"
            if not is_used:
                part = rules.pop("start")
        name = self._names.new("sentence") if "start" in rules else "start"
        self._parts.rules = {name: optional(part) if is_optional else part, **rules}
        return name

    # --- What stands inside ----------------------------------------------------------------------

    def _inside(self, source: Source, part: Schema | Nested | Reference) -> Found:
        """Return what is found for a schema, a nested grammar or one with a name."""
        if isinstance(part, Schema):
            key: object = json.dumps(part.schema)
        elif isinstance(part, Reference):
            key = f"@{part.name}"
        else:
            key = id(part.document)
        if key not in self._known:
            try:
                self._known[key] = self._found(source, part)
            except CfgGuideError as error:
                if "\n" in str(error) and ", line " in str(error):  # it has a place
                    raise
                raise source.error(part.at, str(error.args[0]), type(error)) from None
        return self._known[key]

    def _found(self, source: Source, part: Schema | Nested | Reference) -> Found:
        if isinstance(part, Schema):
            return self._schema(source, part)
        if isinstance(part, Nested):
            return self._nested(source, part.document, part.at, source)
        if part.name not in self._grammars:
            known = ", ".join(f"@{name}" for name in self._grammars) or "none"
            self._fail(source, part.at, f"@{part.name} is not among `grammars`: there is {known}")
        if part.name in self._open:
            chain = " -> ".join(f"@{name}" for name in [*self._open, part.name])
            self._fail(source, part.at, f"a grammar is a part of itself: {chain}")
        given = self._grammars[part.name]
        self._open.append(part.name)
        if isinstance(given, str):
            inner = Source(given, f"the grammar @{part.name}")
            found = self._nested(source, read(inner), part.at, inner)
        else:
            found = self._grammar(source, part, given)
        self._open.pop()
        return found

    def _schema(self, source: Source, part: Schema) -> Found:
        rules, left_out, has_space = self._rules_of_schema(
            part.schema,
            self._limits,
            is_tidy=self._is_tidy,
            has_ignored=self._ignored is not None,
        )
        self.left_out.extend((f"%json {path}", why) for path, why in left_out)
        if self._ignored is not None:
            self._check_space(source, part, has_space)
        return self._embed(source, part.at, "json", rules), False

    def _check_space(self, source: Source, part: Schema, has_space: bool) -> None:
        """Refuse a schema if Lark would ignore in its values what is no white space of JSON."""
        fsms = [
            fsm_of_pattern(pattern, name="the ignored text", budget=self._budget)
            for pattern in (f"(?:{self._ignored})+", _JSON_SPACE)
        ]
        if not has_space or not is_part_of(*fsms):
            self._fail(
                source,
                part.at,
                "Lark follows %ignore everywhere, also in JSON, where this is no white space; put "
                "what is ignored into the rules",
            )

    def _grammar(self, source: Source, part: Reference, grammar: Grammar) -> Found:
        if self._ignored is not None:
            self._fail(source, part.at, "Lark follows %ignore everywhere, also in this grammar")
        found = self._embed(source, part.at, part.name, rules_of_grammar(grammar))
        return found, can_be_empty(grammar)

    def _embed(self, source: Source, at: int, name: str, rules: Rules) -> Expression:
        leaf = Reference(at, f"{name} {len(self._embedded)}")
        self._embedded[leaf] = rules
        self._places[leaf] = (source, at)
        return leaf

    def _nested(self, source: Source, document: Document, at: int, inner: Source) -> Found:
        options = DialectOptions.of(inner, document)
        conversion = Conversion(self._parts, inner, document)
        if options.differs(self._options) or self._ignoring(inner, document, conversion) != (
            self._ignored
        ):
            self._fail(
                source,
                at,
                "Lark follows one %ignore everywhere; a grammar inside another one needs the same "
                "%ignore and options, or what is ignored goes into its rules",
            )
        return conversion.convert()

    def _ignoring(self, source: Source, document: Document, conversion: Conversion) -> str | None:
        """Return the pattern of what a document ignores, without the empty text."""
        patterns = [conversion.terminals.pattern(each) for each in document.ignored]
        if not patterns:
            return None
        at = document.ignored[0].at
        found = conversion.terminals.regular(
            at, conversion.terminals.checked(at, "|".join(patterns))
        )
        if not found.patterns:
            self._fail(source, at, "%ignore ignores nothing")
        return found.patterns[0]

    def _fail(self, source: Source, at: int, said: str) -> NoReturn:
        raise source.error(at, said)

    def _check_beginnings(self, start: str) -> None:
        """Refuse grammars at one place that Lark could not tell apart."""
        if len(self._embedded) < 2:
            return
        beside = together(self._parts.rules, start, self._embedded)
        found = confused(self._embedded, beside, self._budget)
        if found is None:
            return
        source, at = self._places[found[1]]
        other, before = self._places[found[0]]
        line = other.text.count("\n", 0, before) + 1
        self._fail(
            source,
            at,
            f"this may come where the one of line {line} may, and both may begin with the same "
            "text, so Lark could not tell which has begun; put a text before one of them, or make "
            'one schema of them, with "anyOf"',
        )

    # --- Lark's language -------------------------------------------------------------------------

    def _written(self, start: str) -> tuple[list[str], str, dict[str, tuple[str | int, ...]]]:
        """Return the grammar, with texts in a row joined if it has fewer conflicts so."""
        rules = self._parts.rules
        leaves = [leaf for part in rules.values() for leaf in nodes_of(part)]
        sets = [leaf.tokens for leaf in leaves if isinstance(leaf, Special)]
        special, parts = terminals_of(sets, self._names)
        names = {
            tokens: terminals[0] if len(terminals) == 1 else f"({' | '.join(terminals)})"
            for tokens, terminals in parts.items()
        }
        for leaf in self._embedded:  # all other names are known now
            self._prefixes[leaf] = self._names.prefix(leaf.name.partition(" ")[0])
        others = self._lines(start, special)
        lines = [*self._rules(rules, names), *others]
        joined = fused(rules, self._text_of) if self._ignored is None else None
        if joined is not None:
            shorter = [*self._rules(joined, names), *others]
            if 0 < _n_conflicts(lines, start) > _n_conflicts(shorter, start):
                lines = shorter
        return lines, start, special

    def _rules(self, rules: Mapping[str, Expression], names: Mapping[Tokens, str]) -> list[str]:
        def leaf_in_lark(leaf: Expression) -> str:
            match leaf:
                case Text():
                    return text_literal(leaf.text, "i" if leaf.ignores_case else "")
                case Special():
                    return names[leaf.tokens]
                case Reference():
                    return self._prefixes[leaf]
                case Name():
                    return leaf.name
                case _:
                    raise AssertionError(leaf)

        return [f"{name}: {in_lark(part, leaf_in_lark)}".rstrip() for name, part in rules.items()]

    def _lines(self, start: str, special: Mapping[str, Any]) -> list[str]:
        """Return all but the rules: terminals, embedded grammars, directives."""
        lazy = self._lexemes.lazy
        found = together(self._parts.rules, start, lazy) if len(lazy) > 1 else {}
        lines = self._lexemes.lines(found)
        lines += [rules.text(self._prefixes[leaf]) for leaf, rules in self._embedded.items()]
        if self._ignored is not None:
            name = self._names.new("IGNORED")
            lines += [f"{name}: {pattern_literal(self._guarded(special))}", f"%ignore {name}"]
        return lines + ([f"%declare {' '.join(special)}"] if special else [])

    def _text_of(self, leaf: Expression) -> str | None:
        """Return the text that a leaf stands for, if it is one in this case alone."""
        if isinstance(leaf, Name):
            return self._lexemes.text(leaf)
        return leaf.text if isinstance(leaf, Text) and not leaf.ignores_case else None

    def _guarded(self, special: Mapping[str, Any]) -> str:
        """Return the pattern of ignored text, which does not come first unless options say so."""
        assert self._ignored is not None
        if self._options.allows_initial_skip:
            return self._ignored
        if special:
            self.left_out.append(("%ignore", "beside tokens, ignored text may also come first"))
            return self._ignored
        return f"{_NOT_FIRST}(?:{self._ignored})"


def _n_conflicts(lines: list[str], start: str) -> int:
    return n_conflicts(Grammar("\n".join(lines), start))
