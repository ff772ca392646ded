r"""A grammar of the JSON texts that a schema allows, in Lark's language.

In: the value classes of a schema. Out: the text of a grammar. There is a rule for each value class
that is needed, and one for each state of its arrays and objects. A state's rule derives what has
been read so far, so a parser never has to guess what comes next::

    value_0: object_0_2 "}"
    object_0_2: object_0_1 "," pair_3

Punctuation and the white space around it are one terminal, as are a name and its colon.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cfgguide.automata.json_spelling import STRING, number_pattern, plain, string_pattern
from cfgguide.automata.numbers import NO_DIGIT, NUMBER
from cfgguide.errors import SchemaError
from cfgguide.schema.automaton import JsonLayout
from cfgguide.schema.solver.classes import ClassAutomaton, Context, Nodes, ValueClasses, useful
from cfgguide.schema.solver.member_automata import MemberSymbol, Problem, ValueClass
from cfgguide.schema.solver.nodes import Condition
from cfgguide.schema.solver.objects import NameClass
from cfgguide.schema.solver.scalars import of_lengths

_SPACE = r"[ \t\n\r]"


@dataclass(frozen=True)
class Whitespace:
    """White space between lexemes.

    Attributes
    ----------
    space : str
        The pattern of what may stand around punctuation; "" for nothing.
    separators : tuple of (str, str), optional
        The exact texts between members and after a name.
    """

    space: str
    separators: tuple[str, str] | None = None

    @classmethod
    def of(cls, layout: JsonLayout) -> Whitespace:
        """Return the white space of a layout."""
        if not layout.space:
            exact = (layout.comma.decode(), layout.colon.decode())
            return cls(f"{_SPACE}*") if layout.space is None else cls("", exact)
        return cls(f"{_SPACE}{{0,{layout.space}}}")

    def punctuation(self, kind: str) -> str:
        """Return the pattern of a punctuation character and the white space around it."""
        if kind in ",:" and self.separators is not None:
            return "".join(_literal(c) for c in self.separators[kind == ":"])
        before = self.space if kind in ",:]}" else ""
        behind = self.space if kind in ",:[{" else ""
        return f"{before}{_literal(kind)}{behind}"


def _literal(character: str) -> str:
    return f"\\{character}" if character in "[]{}" else character


class SchemaWriter:
    """Writes the grammar of the value classes that the values of the root need."""

    def __init__(self, value_classes: ValueClasses, whitespace: Whitespace) -> None:
        self._cells = value_classes
        self._whitespace = whitespace
        self._terminals: dict[str, str] = {}
        self._rules: list[str] = []
        self._names: dict[tuple[Nodes, ValueClass], str] = {}
        self._pairs: dict[tuple[str, str], str] = {}
        self.problems: dict[Problem, None] = {}

    def text(self, value_class: ValueClass) -> str:
        """Return the grammar of the values of a value class of the root."""
        wanted = self._cells.wanted(value_class)
        for nodes, found in wanted.items():
            for each in found:
                self._names[nodes, each] = f"value_{len(self._names)}"
        for number, (nodes, found) in enumerate(wanted.items()):
            if found:
                self._write(self._cells.contexts[nodes], number, list(found))
        root = self._names[self._cells.root, value_class]
        space = self._whitespace.space
        if space:
            self._terminals[space.replace("*", "+").replace("{0,", "{1,")] = "_SPACE"
        start = f"start: _SPACE? {root} _SPACE?\n" if space else f"start: {root}\n"
        terminals = "".join(f"{name}: /{text}/\n" for text, name in self._terminals.items())
        return start + "".join(self._rules) + "\n" + terminals

    def _terminal(self, pattern: str, name: str) -> str:
        """Return the terminal of a pattern; equal patterns share one."""
        # Lark drops a backslash before a quotation mark, even one that is escaped itself.
        pattern = re.sub(r'(?<=\\)"', r"\\x22", pattern)
        if pattern not in self._terminals:
            known = set(self._terminals.values())
            number = 1
            unique = name
            while unique in known:
                number += 1
                unique = f"{name}_{number}"
            self._terminals[pattern] = unique
        return self._terminals[pattern]

    def _write(self, context: Context, number: int, wanted: list[ValueClass]) -> None:
        options: dict[ValueClass, list[str]] = {value_class: [] for value_class in wanted}
        for value_class in wanted:
            for kind, condition in context.scalars.get(value_class, ()):
                options[value_class].append(self._scalar(kind, condition))
        for kind, automaton in context.automata.items():
            self._write_automaton(context, f"{kind}_{number}", kind, automaton, options)
        for value_class, alternatives in options.items():
            rule = self._names[context.nodes, value_class]
            self._rules.append(f"{rule}: " + "\n  | ".join(alternatives) + "\n")

    def _scalar(self, kind: str, condition: Condition | None) -> str:
        if kind == "number":
            if condition is None:
                return self._terminal(NUMBER, "NUMBER")
            whole = condition if condition.asserted is None else condition.parts[0]
            text = f"(?:{whole.text or number_pattern(whole.language)}){NO_DIGIT}"
            if condition.asserted is not None:
                text = f"(?=(?:{condition.asserted}){NO_DIGIT}){text}"
            return self._terminal(text, "NUMBER")
        if kind == "string":
            if condition is None:
                return self._terminal(STRING, "STRING")
            return self._terminal(self._string(condition), "STRING")
        return self._terminal(kind, kind.upper())

    def _string(self, condition: Condition) -> str:
        """Return the pattern of the strings that meet a condition.

        If one pattern would be too long, look-ahead joins those of the condition's parts.
        """
        if not condition.is_wider:
            if condition.text is not None and condition.language.words(1000) is None:
                return f'"{condition.text}"'
            try:
                return string_pattern(condition.language)
            except SchemaError:
                if len(condition.parts) + len(condition.without) < 2:
                    raise
        patterns = [self._string(each) for each in condition.parts or (of_lengths(0, None),)]
        asserted = "".join(f"(?={pattern[1:]})" for pattern in patterns[1:])
        asserted += "".join(f"(?!{self._string(each)[1:]})" for each in condition.without)
        return '"' + asserted + patterns[0][1:]

    def _write_automaton(
        self,
        context: Context,
        name: str,
        kind: str,
        automaton: ClassAutomaton,
        options: dict[ValueClass, list[str]],
    ) -> None:
        is_useful = useful(automaton, options)
        if not is_useful[0]:
            return
        blocks = merged(automaton, is_useful, options)
        opening, closing = ("[", "]") if kind == "array" else ("{", "}")
        marks = {",": "_COMMA", "[": "_LIST", "]": "_END_LIST", "{": "_OBJECT", "}": "_END_OBJECT"}
        comma, first, last = (
            self._terminal(self._whitespace.punctuation(mark), marks[mark])
            for mark in (",", opening, closing)
        )
        ways: dict[int, dict[str, None]] = {0: {first: None}}
        ends: dict[ValueClass, dict[int, None]] = {}
        for state, value_class in enumerate(automaton.value_classes):
            if is_useful[state] and value_class in options:
                ends.setdefault(value_class, {})[blocks[state]] = None
                # What is uncertain matters only where an array or object that is written may end.
                self.problems |= dict.fromkeys(automaton.problems[state])
        for source, symbol, value_class, target in automaton.moves:
            if not is_useful[target]:
                continue
            inner = self._names[symbol.nodes, value_class]
            if kind == "object":
                inner = self._pair(context, symbol, inner)
            # Only the first member has no comma before it, and nothing leads back to the start.
            between = "" if source == 0 else f" {comma}"
            way = f"{name}_{blocks[source]}{between} {inner}"
            ways.setdefault(blocks[target], {})[way] = None
        for block, found in ways.items():
            self._rules.append(f"{name}_{block}: " + "\n  | ".join(found) + "\n")
        for value_class, found_ends in ends.items():
            options[value_class] += [f"{name}_{block} {last}" for block in found_ends]

    def _pair(self, context: Context, symbol: MemberSymbol, inner: str) -> str:
        assert isinstance(symbol.name, int)
        key = self._key(context.objects.name_classes[symbol.name])
        pair = self._pairs.get((key, inner))
        if pair is None:
            pair = self._pairs[key, inner] = f"pair_{len(self._pairs)}"
            self._rules.append(f"{pair}: {key} {inner}\n")
        return pair

    def _key(self, names: NameClass) -> str:
        colon = self._whitespace.punctuation(":")
        if names.name is not None:
            readable = re.sub(r"[^A-Z0-9]+", "_", names.name.upper()).strip("_")[:30] or "EMPTY"
            return self._terminal(f'"{plain(names.name)}"{colon}', f"NAME_{readable}")
        text = STRING if names.language is None else string_pattern(names.language)
        return self._terminal(text + colon, "NAME")


def merged(
    automaton: ClassAutomaton, is_useful: list[bool], wanted: Iterable[ValueClass]
) -> list[int]:
    """Return an equivalence class for each state; 0 is the start's, -1 that of useless states.

    Equivalent states lead to the same value classes.
    """
    value_classes = list(wanted)
    block = [
        -1
        if not is_useful[state]
        else 0
        if state == 0
        else 2 + value_classes.index(value_class)
        if value_class in value_classes
        else 1
        for state, value_class in enumerate(automaton.value_classes)
    ]
    moves: list[list[tuple[MemberSymbol, ValueClass, int]]] = [[] for _ in block]
    for source, symbol, value_class, target in automaton.moves:
        if is_useful[target]:
            moves[source].append((symbol, value_class, target))
    while True:
        numbers: dict[object, int] = {}
        new = []
        for state, own in enumerate(block):
            if not is_useful[state]:
                new.append(-1)
                continue
            after = frozenset(
                (symbol, value_class, block[target]) for symbol, value_class, target in moves[state]
            )
            # The old block is a part of the key, so blocks are split and never joined; and the
            # start comes first, so its block keeps the number 0.
            new.append(numbers.setdefault((own, after), len(numbers)))
        # As many blocks as before: none was split, and none ever will be.
        if len(set(new)) == len(set(block)):
            return new
        block = new
