"""The rules and terminals of a grammar as Lark has them, written out under other names.

In: a :class:`~cfgguide.grammar.grammar.Grammar`. Out: a :class:`Rules`: productions without EBNF,
templates or imports, and terminals as patterns; and its text in Lark's language, every name with a
prefix, so that it can stand beside the text of another grammar. Lark lexes and parses it as before:
terminals keep their patterns, priorities and the order of their names, productions their
priorities.

:func:`ended` gives the end of a sentence rules of its own. LALR(1) treats places alike whose rules
look alike so far, so after the ``]`` of ``[1]`` Lark's lexer also tries what may follow a value
inside an array. With copies of the rules that can stand at the end there are two kinds of ``]``::

    start: value                       start: value_
    value: "[" value "]" | "1"   ->    value_: "[" value "]" | "1"
                                       value: "[" value "]" | "1"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from lark.lexer import PatternRE, PatternStr

from cfgguide.automata.preference import may_begin
from cfgguide.base.sets import reached_from
from cfgguide.errors import GrammarError
from cfgguide.grammar import lark_parts
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lark_frontend import check_declared, parser_of
from cfgguide.grammar.literals import pattern_literal, text_literal

_TERMINAL = re.compile("[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True)
class Symbol:
    """A rule or terminal in a production."""

    name: str
    is_terminal: bool


@dataclass(frozen=True)
class Production:
    """One way to replace a rule; a higher `priority` wins where both could be reduced."""

    left: str
    right: tuple[Symbol, ...]
    priority: int | None


@dataclass(frozen=True)
class TerminalText:
    """A terminal: what its literal holds, and Lark's flags and priority."""

    name: str
    value: str
    is_string: bool
    flags: str
    priority: int

    @property
    def literal(self) -> str:
        """The literal that stands for it in a grammar."""
        return (text_literal if self.is_string else pattern_literal)(self.value, self.flags)

    @property
    def pattern(self) -> str:
        """The pattern for ``re``, flags inside."""
        return f"(?{self.flags}:{re.escape(self.value) if self.is_string else self.value})"

    def may_begin(self, text: str) -> bool:
        """Return whether it may match at the start of some text that begins with `text`."""
        return may_begin(self.pattern, text)

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """What Lark's scanner sorts by: the first of two that match wins."""
        made = (PatternStr if self.is_string else PatternRE)(self.value, tuple(self.flags))
        return (-self.priority, -made.max_width, -len(self.value), self.name)

    @property
    def meaning(self) -> tuple[object, ...]:
        """Everything but the name."""
        return (self.value, self.is_string, self.flags, self.priority)


@dataclass(frozen=True)
class Rules:
    """The rules and terminals of a grammar.

    Attributes
    ----------
    start : str
        The start rule.
    productions : tuple of Production
        All of them, sorted.
    terminals : tuple of TerminalText
        By name.
    ignored : tuple of str
        The terminals whose lexemes are dropped.
    special : tuple of (str, tuple of str or int)
        The terminals that are tokens, with these.
    """

    start: str
    productions: tuple[Production, ...]
    terminals: tuple[TerminalText, ...]
    ignored: tuple[str, ...]
    special: tuple[tuple[str, tuple[str | int, ...]], ...] = ()

    @property
    def optional(self) -> frozenset[str]:
        """The rules that derive the empty text."""
        found: set[str] = set()
        size = -1
        while len(found) > size:
            size = len(found)
            found |= {
                each.left
                for each in self.productions
                if all(not symbol.is_terminal and symbol.name in found for symbol in each.right)
            }
        return frozenset(found)

    @property
    def first(self) -> frozenset[str]:
        """The terminals with which sentences may begin."""
        optional, found = self.optional, {self.start}
        size = -1
        while len(found) > size:
            size = len(found)
            for each in self.productions:
                if each.left in found:
                    for symbol in each.right:
                        found.add(symbol.name)
                        if symbol.is_terminal or symbol.name not in optional:
                            break
        return frozenset(found)

    def text(self, prefix: str, special: Mapping[str, str] | None = None) -> str:
        """Return the rules and terminals in Lark's language.

        Parameters
        ----------
        prefix : str
            In lower case; what all names begin with.
        special : mapping of str to str, optional
            What is written for the special terminals, which are then declared elsewhere.
        """
        special = special or {}
        terminals = {**self._names_of_terminals(prefix.upper()), **special}
        rules = _names_of_rules(
            sorted({each.left for each in self.productions} | {self.start}), prefix
        )
        lines = []
        for each in self.productions:
            right = " ".join(
                (terminals if symbol.is_terminal else rules)[symbol.name] for symbol in each.right
            )
            lines.append((rules[each.left], each.priority, right))
        written = [f"{prefix}: {rules[self.start]}"]
        for left in dict.fromkeys(line[0] for line in lines):
            mine = [line for line in lines if line[0] == left]
            priority = "" if mine[0][1] is None else f".{mine[0][1]}"
            written.append(f"{left}{priority}: " + "\n    | ".join(line[2] for line in mine))
        written += [
            f"{terminals[each.name]}.{each.priority}: {each.literal}" for each in self.terminals
        ]
        written += [f"%ignore {terminals[name]}" for name in self.ignored]
        written += [f"%declare {terminals[name]}" for name in self._declared if name not in special]
        return "\n".join(written)

    @property
    def _declared(self) -> list[str]:
        """The terminals without a pattern."""
        used = {
            symbol.name for each in self.productions for symbol in each.right if symbol.is_terminal
        }
        return sorted(used - {each.name for each in self.terminals})

    def _names_of_terminals(self, prefix: str) -> dict[str, str]:
        """Return new names that sort in the same order."""
        names = sorted([*(each.name for each in self.terminals), *self._declared])
        if all(map(_TERMINAL.fullmatch, names)):
            return {name: f"{prefix}_{name}" for name in names}
        return {name: f"{prefix}_{index:04d}" for index, name in enumerate(names)}


def _names_of_rules(names: list[str], prefix: str) -> dict[str, str]:
    new_names: dict[str, str] = {}
    for name in names:
        plain = f"{prefix}_" + re.sub("[^a-z0-9_]+", "_", name.lower())
        number = 2
        while plain in new_names.values():
            plain, number = f"{plain}_{number}", number + 1
        new_names[name] = plain
    return new_names


def rules_of(grammar: Grammar) -> Rules:
    r"""Return the rules and terminals of a grammar.

    Raises
    ------
    GrammarError
        If Lark rejects the grammar, a special terminal is not declared, or the grammar has an
        indenter, the basic lexer or flags for all terminals: none of these can apply to a part of a
        text only.

    Examples
    --------
    >>> print(rules_of(Grammar('start: "a"+ | B\nB: /b/i')).text("x"))
    x: x_start
    x___start_plus_0: X_A
        | x___start_plus_0 X_A
    x_start: X_B
        | x___start_plus_0
    X_A.0: "a"
    X_B.0: /b/i
    """
    for what, is_there in (
        ("an indenter (postlex)", grammar.postlex is not None),
        (f"parser={grammar.parser!r}", grammar.parser == "earley"),
        ("lexer='basic'", grammar.lexer == "basic"),
        ("regex_flags", grammar.regex_flags != 0),
        ("max_ignored", grammar.max_ignored is not None),
        ("keywords", grammar.keywords is not None),
        ("restrict", bool(grammar.restrict)),
    ):
        if is_there:
            raise GrammarError(
                f"a grammar with {what} cannot be a part of another one: that holds for a whole "
                "text or not at all"
            )
    return every_rule_of(grammar)


def every_rule_of(grammar: Grammar) -> Rules:
    """Return the rules and terminals of a grammar, whatever else it asks of texts.

    Raises
    ------
    GrammarError
        If Lark rejects the grammar, or a special terminal is not declared.
    """
    parser = parser_of(grammar, kind=lark_parts.Rules)
    check_declared(parser, grammar)
    productions = {
        Production(
            str(rule.origin.name),
            tuple(Symbol(str(each.name), bool(each.is_term)) for each in rule.expansion),
            rule.options.priority if rule.options else None,
        )
        for rule in parser.rules
    }
    return Rules(
        grammar.start,
        tuple(sorted(productions, key=_key)),
        tuple(
            TerminalText(
                str(each.name),
                each.pattern.value,
                type(each.pattern) is PatternStr,
                "".join(sorted(each.pattern.flags)),
                each.priority,
            )
            for each in sorted(parser.terminals, key=lambda each: str(each.name))
        ),
        tuple(sorted(map(str, parser.ignore_tokens))),
        tuple(dict(grammar.special).items()),
    )


def _key(production: Production) -> tuple[str, tuple[str, ...]]:
    return (production.left, tuple(each.name for each in production.right))


def ended(rules: Rules) -> Rules:
    """Return rules for the same sentences, with copies for what stands at their end.

    Examples
    --------
    >>> grammar = Grammar('start: "(" start ")" | "1"')
    >>> print(ended(rules_of(grammar)).text("x").split("X_LPAR.0")[0])
    x: x_start__end
    x_start: X_LPAR x_start X_RPAR
        | X___ANON_0
    x_start__end: X_LPAR x_start X_RPAR
        | X___ANON_0
    <BLANKLINE>
    """
    optional = rules.optional
    found: list[Production] = []
    wanted = [rules.start]
    for left in wanted:  # grows while it is walked
        for production in (each for each in rules.productions if each.left == left):
            for right in _endings(production.right, optional):
                last = right[-1]
                if not last.is_terminal:
                    if last.name not in wanted:
                        wanted.append(last.name)
                    right = (*right[:-1], replace(last, name=_end(last.name)))
                found.append(replace(production, left=_end(left), right=right))
    found = _grounded(found, {_end(name) for name in wanted})
    start = _end(rules.start)
    used = _used(rules, found)
    if rules.start in optional:
        whole = _end(start)  # the copies are not empty
        used += [Production(whole, (Symbol(start, False),), None), Production(whole, (), None)]
        start = whole
    return replace(rules, start=start, productions=tuple(sorted([*found, *used], key=_key)))


def _endings(right: tuple[Symbol, ...], optional: frozenset[str]) -> Iterator[tuple[Symbol, ...]]:
    """Yield what is left of a production if everything after some symbol is empty."""
    for length in range(len(right), 0, -1):
        yield right[:length]
        last = right[length - 1]
        if last.is_terminal or last.name not in optional:
            return


def _grounded(productions: list[Production], copies: set[str]) -> list[Production]:
    """Return the productions that do not end with a copy without productions."""
    kept = list(dict.fromkeys(productions))
    while copies:
        empty = copies - {each.left for each in kept}
        if not empty:
            break
        kept = [each for each in kept if each.right[-1].name not in empty]
        copies -= empty
    return kept


def _end(name: str) -> str:
    return f"{name}__end"


def _used(rules: Rules, ends: list[Production]) -> list[Production]:
    """Return the productions that the copies still use."""

    def inside(productions: Iterable[Production]) -> list[str]:
        rights = (production.right for production in productions)
        return [each.name for right in rights for each in right if not each.is_terminal]

    names = reached_from(
        inside(ends), lambda name: inside(each for each in rules.productions if each.left == name)
    )
    return [production for production in rules.productions if production.left in names]
