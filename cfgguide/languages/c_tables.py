"""The parser of C that the monitor of its names runs: LALR tables of ``grammars/c.lark``.

In: that grammar, in which the spelling of a name tells whether it is a type. Out: the grammar that
is watched, which takes any row of tokens; and tables of the same rules with terminals for what a
name is where it stands. Their lexemes look alike, so that no lexer could tell them apart; the
monitor does:

    NAME          no type                     NEW_TYPE      becomes a type
    TYPE_NAME     a type                      SHADOWING     a type that becomes something else
                                              PARAMETER     the same, of a function
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import lark
from lark.lexer import Lexer

from cfgguide.base.sets import members
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lark_parts import automaton_of
from cfgguide.grammar.lr import lalr
from cfgguide.grammar.lr.items import Item
from cfgguide.grammar.lr.table import Production

#: What is other than in the file: name by name, where types are declared.
_CHANGES = (
    ("_typedef_declared: TYPE_NAME\n", "_typedef_declared: NEW_TYPE\n"),
    (
        "declarator: _name_alone | _function_declarator | _other_declarator\n",
        "declarator: _name_alone | _function_declarator | _other_declarator\n"
        "    | pointer? _shadowing\n"
        "_shadowing: SHADOWING | _shadowing (_function_suffix | _array_suffix)\n",
    ),
    (
        "_parameter_declarator: pointer? _parameter_direct\n",
        "_parameter_declarator: pointer? (_parameter_direct | _shadowing_parameter)\n"
        "_shadowing_parameter: PARAMETER\n"
        "    | _shadowing_parameter (_function_suffix | _array_suffix)\n",
    ),
    (
        "function_definition: declaration_specifiers _function_declarator _declaration_list? "
        "compound_statement\n",
        "function_definition: declaration_specifiers _function_declarator _function_scope "
        '_declaration_list? "{" block_item* "}"\n'
        "_function_scope:\n"
        "_scope:\n",
    ),
    (
        'compound_statement: "{" block_item* "}"\n',
        'compound_statement: "{" _scope block_item* "}"\n',
    ),
    (
        '    | FOR "(" for_declaration expression? ";" expression? ")" statement\n',
        "    | _declaring_for\n"
        '_declaring_for: FOR "(" _scope for_declaration expression? ";" expression? ")" '
        "statement\n",
    ),
    (
        '    | typedef_specifiers _typedef_list ";"\n    | static_assert_declaration\n\n',
        "    | _typedef_declaration\n    | static_assert_declaration\n"
        '_typedef_declaration: typedef_specifiers _typedef_list ";"\n\n',
    ),
    ("_suffix: _function_suffix | _shadowing_suffix |", "_suffix: _function_suffix |"),
    ("_name_alone (_array_suffix | _shadowing_suffix)", "_name_alone _array_suffix"),
    (' | "(" _parameters? ")" | _shadowing_suffix\n', ' | "(" _parameters? ")"\n'),
    ('ARRAY_OF_ANY "*" "]"', 'ARRAY ANY_SIZE "]"'),
)
_TERMINALS = "NEW_TYPE: /n/\nSHADOWING: /s/\nPARAMETER: /p/\nANY_SIZE: /a/\n"

#: Terminals of the tables, by the terminal of the watched grammar that looks like them.
ALIKE = {
    "NAME": ("NAME", "TYPE_NAME", "NEW_TYPE", "SHADOWING", "PARAMETER"),
    "LSQB": ("LSQB", "ARRAY"),
    "STAR": ("ANY_SIZE", "STAR"),
}
# What the tables alone tell apart; and what begins like white space, so that the tokens of a mask
# would have to be read one by one.
_HIDDEN = ("TYPE_NAME", "ARRAY", "ARRAY_OF_ANY", "PRAGMA")


_MANY = 100  # terminals


@dataclass(frozen=True)
class CRule:
    """A rule of the tables: what it makes, and how many symbols it is made of."""

    name: str
    length: int


@dataclass(frozen=True, eq=False)
class CTables:
    """LALR tables.

    Attributes
    ----------
    actions : tuple of dict
        For each state and terminal a state to go to, or a rule to reduce.
    gotos : tuple of dict
        For each state and rule the next state.
    end : int
        The state where a text may end; the first one is 0.
    ways : tuple
        For each state what a short text goes on with: the name of a terminal, or a rule to reduce.
    begun : tuple of frozenset of str
        For each state the rules of which something has come.
    spelled : dict
        Of terminals with one text, and of some others, a text.
    root : str
        The start rule, from which :func:`tables` makes them again.
    """

    actions: tuple[dict[str, int | CRule], ...]
    gotos: tuple[dict[str, int], ...]
    end: int
    ways: tuple[str | CRule, ...]
    begun: tuple[frozenset[str], ...]
    spelled: dict[str, str]
    root: str

    def __reduce__(self) -> tuple[Any, ...]:
        return tables, (self.root,)


class _NoLexer(Lexer):
    """Reads nothing: only the tables of a parser are wanted."""

    def __init__(self, conf: Any) -> None:
        """Take what Lark gives."""

    def lex(self, lexer_state: Any, parser_state: Any) -> Any:
        """Read no lexeme."""
        return iter(())


@functools.cache
def tables(start: str) -> CTables:
    """Return the tables of C from a start rule of the bundled grammar."""
    text = Grammar.bundled("c").text + _TERMINALS
    for old, new in _CHANGES:
        assert text.count(old) == 1, f"grammars/c.lark has no {old!r}"
        text = text.replace(old, new)
    parser = lark.Lark(text, parser="lalr", lexer=_NoLexer, start=start, maybe_placeholders=False)
    signs = {terminal.name: _name(terminal) for terminal in parser.terminals}
    automaton = automaton_of(parser.rules, start)
    rules = [CRule(left, len(right)) for left, right in automaton.rules]
    nonterminals = {left for left, _ in automaton.rules}
    names = [signs.get(name, name) for name in automaton.symbols]
    actions: list[dict[str, int | CRule]] = []
    gotos: list[dict[str, int]] = []
    for state, transitions in enumerate(automaton.transitions):
        row: dict[str, int | CRule] = {
            names[terminal]: rules[rule]
            for rule, terminals in automaton.lookaheads[state].items()
            for terminal in members(terminals)
        }
        targets = {names[symbol]: target for symbol, target in transitions.items()}
        gotos.append({name: to for name, to in targets.items() if name in nonterminals})
        # As in Lark, a shift is preferred: `else` belongs to the last `if`.
        actions.append(row | {name: to for name, to in targets.items() if name not in nonterminals})
    spelled = {terminal.name: _spelled(terminal) for terminal in parser.terminals}
    lengths = _lengths(automaton.rules, spelled)
    ways = [_way(automaton, state, lengths) for state in range(automaton.n_states)]
    begun = [
        frozenset(rules[automaton.items[number].production].name for number in kernel)
        for kernel in automaton.kernels
    ]
    return CTables(
        tuple(actions),
        tuple(gotos),
        automaton.end_state,
        tuple(signs.get(way, way) if isinstance(way, str) else way for way in ways),
        tuple(begun),
        {signs[name]: text for name, text in spelled.items()},
        start,
    )


def _name(terminal: Any) -> str:
    """Return the name of a terminal, and of one that Lark has numbered a name of its own."""
    name: str = terminal.name
    if not name.startswith("__"):
        return name
    return "SIGN_" + "_".join(str(ord(character)) for character in terminal.pattern.value)


def _spelled(terminal: Any) -> str:
    """Return a text of a terminal, if it has one only or is one of these; else nothing."""
    if terminal.pattern.type == "str":
        return str(terminal.pattern.value)
    word = _WORD.match(terminal.pattern.value)
    return {"INTEGER": "0", "STRING": '""'}.get(terminal.name, word[1] if word else "")


def _lengths(rules: Sequence[Production], spelled: Mapping[str, str]) -> dict[str, float]:
    """Return how many terminals each symbol has at least, those without a known text as many."""
    lengths: dict[str, float] = {
        name: 1 if text or name in ("NAME", "ANY_SIZE") else _MANY for name, text in spelled.items()
    }
    lengths |= {left: math.inf for left, _ in rules}
    is_changed = True
    while is_changed:
        is_changed = False
        for left, right in rules:
            length = sum(lengths[name] for name in right)
            if length < lengths[left]:
                lengths[left] = length
                is_changed = True
    return lengths


def _way(automaton: lalr.Automaton, state: int, lengths: Mapping[str, float]) -> str | CRule:
    """Return the first terminal of the shortest that may follow, or the rule that is complete."""
    rules = automaton.rules
    nonterminals = {left for left, _ in rules}

    def length(names: Sequence[str]) -> float:
        return sum(lengths[name] for name in names)

    def order(item: Item) -> tuple[float, str, int]:
        left, right = rules[item.production]
        return length(right[item.dot :]), left, item.production

    def is_longer_list(item: Item) -> bool:
        left, right = rules[item.production]
        return item.dot == 1 and right[0] == left

    items = [automaton.items[number] for number in automaton.kernels[state]]
    # One more item of a list may be as short as what ends it, and leads back to the same state.
    best = min([each for each in items if not is_longer_list(each)] or items, key=order)
    left, right = rules[best.production]
    symbols = [*right[best.dot :]]
    while symbols:  # some are empty
        name = symbols.pop(0)
        if name not in nonterminals:
            return name
        bodies = [body for left_side, body in rules if left_side == name]
        symbols[:0] = shortest = min(bodies, key=length)
        if not symbols:
            return CRule(name, len(shortest))
    return CRule(left, len(right))


def row_of_tokens() -> str:
    """Return a grammar of any row of tokens of C, of whose names nothing is known."""
    text = Grammar.bundled("c").text
    parser = lark.Lark(text, parser="lalr", lexer=_NoLexer, maybe_placeholders=False)
    lines = []
    names = []
    for terminal in parser.terminals:
        if terminal.name in _HIDDEN:
            continue
        if terminal.name not in parser.ignore_tokens:
            names.append(_name(terminal))
        pattern = terminal.pattern.to_regexp()
        if terminal.name == "NAME":
            pattern, n_left_out = _SPELLING.subn("", pattern)
            assert n_left_out == 1, "grammars/c.lark tells types from other names"
        pattern = _UNESCAPED_SLASH.sub("\\\\/", pattern)
        pattern = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", pattern)
        lines.append(f"{_name(terminal)}: /{pattern}/")
    ignored = [f"%ignore {name}" for name in parser.ignore_tokens]
    return "\n".join([f"start: _token*\n_token: {' | '.join(names)}", *lines, *ignored, ""])


#: What the bundled grammar leaves out of names, since they are types by their spelling.
_SPELLING = re.compile(
    re.escape("(?!(?:FILE|bool|jmp_buf|va_list)") + r".*?_t\(\?!\[A-Za-z0-9_\]\)\)"
)
_WORD = re.compile(r"\\?([A-Za-z_]+|\W)\(\?[!=]")
_CONTROL = re.compile(r"[\x00-\x1f]")
_UNESCAPED_SLASH = re.compile(r"(?<!\\)/")
