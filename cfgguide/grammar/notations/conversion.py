r"""Rules over characters as a grammar in Lark's language.

In: the rules of a grammar in a notation. Out: lines of Lark's language for its Earley parser with
the lexer `dynamic_complete`, in which a terminal may end wherever its pattern matches.

A part without recursion is regular. As many regular parts as stand beside each other become one
terminal, if ``re`` reads it exactly (:mod:`cfgguide.grammar.notations.longest`) and it is not too
large; otherwise its parts do::

    root ::= "[" ws item* "]"            start: root
    item ::= [0-9]+ ws | root ws    ->   root: ROOT item* "]"
    ws   ::= ([ ] ws)?                   item: root WS? | ITEM
                                         ROOT: /\[ */      WS: / +/      ITEM: /[0-9]+ */
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from cfgguide.automata.language import difference
from cfgguide.errors import CfgGuideError, GrammarError, LimitError, SchemaError
from cfgguide.grammar.literals import pattern_literal, text_literal
from cfgguide.grammar.notations.character_patterns import Pattern, of_text, one_of_characters, times
from cfgguide.grammar.notations.linear import without_itself
from cfgguide.grammar.notations.longest import (
    MAX_DEPTH,
    automaton_of,
    from_automaton,
    longest_first,
)
from cfgguide.grammar.notations.regular import (
    Regular,
    optional,
    regular,
    regular_choice,
    regular_row,
    regular_times,
)
from cfgguide.grammar.notations.rules import NOTHING, Alternative, Piece, Rules, choice, symbol
from cfgguide.grammar.rules.facts import check_texts, facts_of, needed, ordered
from cfgguide.grammar.rules.names import NameAllocator
from cfgguide.grammar.rules.nonempty import in_lark
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.special_tokens import Tokens, terminals_of
from cfgguide.grammar.rules.tree import (
    Characters,
    Choice,
    Expression,
    Minus,
    Name,
    Repeated,
    Row,
    Rule,
    Special,
    Text,
    folded,
    nodes_of,
)

#: Of one terminal: characters of its pattern, its sets once counts are written out, and groups
#: inside each other.
MAX_SIZE = (4_000, 2_000, MAX_DEPTH)
#: Of the whole grammar that is written.
MAX_CHARACTERS = 10_000_000

Found = Regular | Piece


class Conversion:
    """Converts the rules of one grammar.

    Parameters
    ----------
    source : Source
        Its text.
    rules : mapping of str to Rule
        Its rules, by name.
    root : str
        The rule with which it starts.

    Raises
    ------
    GrammarError, LimitError
        If a rule is not defined, has no text, or is too large; the message points to the place.
    """

    def __init__(self, source: Source, rules: Mapping[str, Rule], root: str) -> None:
        self._source = source
        self._rules = {
            name: without_itself(rule) for name, rule in needed(source, rules, root).items()
        }
        self._facts = facts_of(self._rules)
        check_texts(source, self._rules, self._facts)
        self._names = NameAllocator()
        self._lark = Rules(self._names)
        self._rule_names: dict[str, str] = {}
        self._regular: dict[str, Regular] = {}
        self._terminals: dict[str, str | None] = {}  # by their patterns
        self._patterns: dict[str, str] = {}  # names of terminals, by what is written for them
        self._hints: dict[str, str] = {}  # rules, by the patterns that they are
        self._parts_of_set: dict[Tokens, tuple[str, ...]] = {}
        self._pending: list[str] = []
        self._start = NOTHING
        self._root = self._rule = root
        self.names: dict[str, str] = {}
        self.special: dict[str, tuple[str | int, ...]] = {}
        self.lines = self._converted(root)

    @property
    def pattern(self) -> str | None:
        """A regular expression for all texts, if the grammar is regular as a whole."""
        whole = self._regular.get(self._root)
        return None if whole is None else whole.every.written

    def _converted(self, root: str) -> list[str]:
        self._names.new("start")
        order = ordered(self._rules)
        sets = [
            node.tokens
            for rule in self._rules.values()
            for node in nodes_of(rule.body)
            if isinstance(node, Special)
        ]
        self.special, self._parts_of_set = terminals_of(sets, self._names)
        for name, is_recursive in order:
            found = None if is_recursive else self._regular_rule(self._rules[name])
            if found is not None:
                self._regular[name] = found
                if found.some is not None:
                    self._hints.setdefault(found.some.written, name)
        self._define_from(root)
        return self._written()

    # --- Rules -----------------------------------------------------------------------------------

    def _regular_rule(self, rule: Rule) -> Regular | None:
        """Return what a rule is if it is regular and fits into a terminal."""
        return self.regular_part(rule.body)

    def regular_part(self, expression: Expression) -> Regular | None:
        """Return an expression of the rules as a regular part, or None if it is none that fits."""
        return folded(expression, self._regular_of)

    def _define_from(self, root: str) -> None:
        """Define the rule of Lark's with which the grammar starts, and those that it needs."""
        self._owner(root, _plain(root))
        self._start = self._piece(self._of_rule(root))
        while self._pending:
            name = self._pending.pop(0)
            self._owner(name, self._rule_names[name])
            body = self._piece(folded(self._rules[name].body, self._combined))
            self._lark.define(self._rule_names[name], body.alternatives)

    def _owner(self, name: str, lark_name: str) -> None:
        """Call what is defined from now on after a rule."""
        self._rule = name
        self._lark.owner = lark_name

    def _of_rule(self, name: str) -> Found:
        """Return what stands for a rule where it is used."""
        if name in self._regular:
            return self._regular[name]
        facts = self._facts[name]
        if not facts.is_something:
            return NOTHING
        if name not in self._rule_names:
            self._rule_names[name] = self._names.new(_plain(name))
            self.names[self._rule_names[name]] = name.partition(" ")[0]  # it may be a macro's
            self._pending.append(name)
        return symbol(Name(0, self._rule_names[name]), is_optional=facts.is_optional)

    # --- Regular parts ---------------------------------------------------------------------------

    def _regular_of(self, node: Expression, parts: Sequence[Found | None]) -> Regular | None:
        """Return an expression as a regular part, or None if it is none that fits a terminal."""
        known = [part for part in parts if isinstance(part, Regular)]
        if isinstance(node, Minus):
            return self._minus(node, known)
        if len(known) < len(parts):
            return None
        match node:
            case Characters():
                return regular(one_of_characters(node.ranges))  # a terminal, however long it is
            case Text():
                found = regular(of_text(node.text))
            case Name():
                return self._regular.get(node.name)
            case Special():
                return None
            case Row():
                row = regular_row(known)
                if row is None:
                    return None
                found = row
            case Choice():
                found = regular_choice(known)
            case Repeated():
                found = regular_times(known[0], node.least, node.most)
        return found if _fits(found) else None

    def _minus(self, node: Minus, parts: Sequence[Regular]) -> Regular:
        if len(parts) < 2:
            self._fail(
                node.at,
                "what stands on both sides of - is regular: no rule in it calls itself, and none "
                "is very large",
            )
        part, other = parts
        is_optional = part.is_optional and not other.is_optional
        if part.some is None or other.some is None:
            if part.some is None and not is_optional:
                self._fail(node.at, _NOTHING_LEFT)
            return optional(part.some, is_optional=is_optional)
        automaton, without = automaton_of(part.some), automaton_of(other.some)
        if automaton is None or without is None:
            self._fail(node.at, "the automata of both sides of this - are too large", LimitError)
        try:
            left = difference(automaton, without)
        except SchemaError:  # which speaks of schemas
            self._fail(node.at, "the automaton of this - is too large", LimitError)
        if left.is_empty:
            self._fail(node.at, _NOTHING_LEFT)
        pattern = from_automaton(left)
        if pattern is None or not _fits(Regular(pattern, pattern)):
            self._fail(node.at, "what this - leaves is too large for a pattern", LimitError)
        return optional(pattern, is_optional=is_optional)

    # --- Other parts -----------------------------------------------------------------------------

    def _combined(self, node: Expression, parts: list[Found]) -> Found:
        found = self._regular_of(node, parts)
        if found is not None:
            return found
        match node:
            case Name():
                return self._of_rule(node.name)
            case Special():
                names = self._parts_of_set[node.tokens]
                return Piece(tuple((Name(0, name),) for name in names), is_optional=False)
            case Row():
                return self._lark.row([self._piece(part) for part in self._joined(parts)])
            case Choice():
                return self._choice(parts)
            case Repeated():
                return self._lark.times(self._piece(parts[0]), node.least, node.most)
            case Text():
                return self._lark.row(
                    [self._piece(regular(of_text(piece))) for piece in _cut(node.text)]
                )
            case _:
                raise AssertionError(node)  # the others are regular

    def _joined(self, parts: Sequence[Found]) -> list[Found]:
        """Return the parts of a row, with as many regular ones joined as fit into terminals."""
        found: list[Found] = []
        for part in parts:
            before = found[-1] if found else None
            if isinstance(before, Regular) and isinstance(part, Regular):
                both = regular_row([before, part])
                if both is not None and _fits(both):
                    found[-1] = both
                    continue
            found.append(part)
        return found

    def _choice(self, parts: Sequence[Found]) -> Piece:
        alike = [part for part in parts if isinstance(part, Regular)]
        joined = regular_choice(alike)
        if not alike or not _fits(joined):
            return choice([self._piece(part) for part in parts])
        others = [self._piece(part) for part in parts if isinstance(part, Piece)]
        return choice([*others, self._piece(joined)])

    def _piece(self, found: Found) -> Piece:
        """Return a part with its regular texts as a terminal, or as several."""
        if isinstance(found, Piece):
            return found
        if found.some is None:
            return NOTHING
        terminal = self._terminal(found.some)
        piece = self._split(found.some) if terminal is None else symbol(terminal)
        return Piece(piece.alternatives, found.is_optional)

    def _split(self, pattern: Pattern) -> Piece:
        """Return a pattern that cannot be one terminal as several, put together by rules."""
        if pattern.kind == "choice":
            return choice([self._piece(Regular(part, part)) for part in pattern.parts])
        if pattern.kind == "repeat":
            part = self._piece(Regular(pattern.parts[0], pattern.parts[0]))
            return self._lark.times(part, pattern.least, pattern.most)
        return self._lark.row(
            [
                self._piece(Regular(part, times(part.parts[0], 1, part.most)))
                if part.is_optional
                else self._piece(Regular(part, part))
                for part in pattern.parts
            ]
        )

    def _terminal(self, pattern: Pattern) -> Expression | None:
        """Return the terminal for a pattern, or None if there is no way to write one."""
        if pattern.text is not None:
            return Text(0, pattern.text)
        if pattern.written not in self._terminals:
            good = longest_first(pattern)
            is_good = good is not None and (good.kind == "set" or _fits(Regular(good, good)))
            written = good.written if good is not None and is_good else None
            self._terminals[pattern.written] = written and self._named(pattern, written)
        name = self._terminals[pattern.written]
        return Name(0, name) if name is not None else None

    def _named(self, pattern: Pattern, written: str) -> str:
        if written not in self._patterns:
            rule = self._hints.get(pattern.written, self._rule)
            name = self._names.new(_plain(rule).upper())
            self.names[name] = rule.partition(" ")[0]
            self._patterns[written] = name
        return self._patterns[written]

    def _fail(self, at: int, said: str, kind: type[CfgGuideError] = GrammarError) -> NoReturn:
        raise self._source.error(at, said, kind)

    # --- What is written -------------------------------------------------------------------------

    def _written(self) -> list[str]:
        alternatives = [*self._start.alternatives, *([()] if self._start.is_optional else [])]
        lines = [_rule_line("start", alternatives)]
        made = self._lark.alternatives
        owners = [*dict.fromkeys([*self._lark.owners.values(), *self._rule_names.values()])]
        owned: dict[str, list[str]] = {owner: [] for owner in owners}
        for name, owner in self._lark.owners.items():
            owned[owner].append(name)
        first = [owner for owner in owners if owner not in self._rule_names.values()]
        for owner in [*first, *self._rule_names.values()]:
            for name in [owner] * (owner not in first) + owned.get(owner, []):
                lines += [*self._comment(name, owner), _rule_line(name, made[name])]
        for written, name in self._patterns.items():
            lines += [*self._comment(name, ""), f"{name}: {pattern_literal(written)}"]
        if self.special:
            lines.append(f"%declare {' '.join(self.special)}")
        return lines

    def _comment(self, name: str, owner: str) -> list[str]:
        """Return a comment with the rule that something comes from, if its name does not say so."""
        rule = self.names.setdefault(name, self.names.get(owner, self._root))
        return [] if _plain(rule) == rule else [f"// {rule}"]


_NOTHING_LEFT = "no text is left, or only the empty one: what stands after - matches the others"


def _fits(found: Regular) -> bool:
    return all(size <= most for size, most in zip(found.size, MAX_SIZE, strict=True))


def _plain(name: str) -> str:
    """Return a name as Lark's rules have them.

    >>> _plain("data-Type"), _plain("_1a")
    ('data_type', 'rule_1a')
    """
    plain = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")
    return plain if plain[:1].isalpha() else f"rule_{plain}".rstrip("_")


def _cut(text: str) -> list[str]:
    """Return a text in pieces that are small enough for a terminal."""
    return [text[at : at + MAX_SIZE[1]] for at in range(0, len(text), MAX_SIZE[1])]


def _rule_line(name: str, alternatives: Sequence[Alternative]) -> str:
    rows = Choice(0, tuple([Row(0, alternative) for alternative in alternatives]))
    return f"{name}: {in_lark(rows, _in_lark)}".rstrip()


def _in_lark(leaf: Expression) -> str:
    if isinstance(leaf, Text):
        return text_literal(leaf.text)
    assert isinstance(leaf, Name)
    return leaf.name
