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
import logging
import math
import re
from dataclasses import dataclass
from typing import Any

import lark
from lark.lexer import Lexer
from lark.parsers.lalr_analysis import LALR_Analyzer, Shift

from cfgguide.grammar.grammar import Grammar

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
    start, end : int
        The first state, and the one where a text may end.
    ways : tuple
        For each state what a short text goes on with: the name of a terminal, or a rule to reduce.
    spelled : dict
        Of terminals with one text, and of some others, a text.
    root : str
        The start rule, from which :func:`tables` makes them again.
    """

    actions: tuple[dict[str, int | CRule], ...]
    gotos: tuple[dict[str, int], ...]
    start: int
    end: int
    ways: tuple[str | CRule, ...]
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
    analysis = LALR_Analyzer(parser.parser.parser_conf, debug=True)
    level = lark.logger.level
    lark.logger.setLevel(logging.CRITICAL)
    try:
        analysis.compute_lalr()  # type: ignore[no-untyped-call]
    finally:
        lark.logger.setLevel(level)
    table = analysis.parse_table
    first = table.start_states[start]
    number = _numbered(first, table.states)
    names = {rule.origin.name for rule in parser.rules}
    signs = {terminal.name: _name(terminal) for terminal in parser.terminals}
    rules: dict[Any, CRule] = {}
    actions: list[dict[str, int | CRule]] = []
    gotos: list[dict[str, int]] = []
    for state in number:
        here: dict[str, int | CRule] = {}
        for symbol, (action, argument) in table.states[state].items():
            if action is Shift:
                here[symbol] = number[argument]
            else:
                made = CRule(argument.origin.name, len(argument.expansion))
                here[symbol] = rules.setdefault(argument, made)
        gotos.append({name: int(str(to)) for name, to in here.items() if name in names})
        actions.append(
            {signs.get(name, name): to for name, to in here.items() if name not in names}
        )
    lengths = _lengths(parser.rules)
    ways = (_way(state, lengths, rules, parser.rules) for state in number)
    return CTables(
        tuple(actions),
        tuple(gotos),
        number[first],
        number[table.end_states[start]],
        tuple(signs.get(way, way) if isinstance(way, str) else way for way in ways),
        {_name(terminal): _spelled(terminal) for terminal in parser.terminals},
        start,
    )


def _numbered(first: Any, rows: dict[Any, dict[str, Any]]) -> dict[Any, int]:
    """Return the numbers of all states; Lark's own order is that of a set."""
    numbers = {first: 0}
    queue = [first]
    for state in queue:
        for _, (action, argument) in sorted(rows[state].items(), key=lambda item: item[0]):
            if action is Shift and argument not in numbers:
                numbers[argument] = len(numbers)
                queue.append(argument)
    return numbers


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


def _lengths(rules: Any) -> dict[str, float]:
    """Return how many terminals each rule has at least."""
    lengths: dict[str, float] = {rule.origin.name: math.inf for rule in rules}
    is_changed = True
    while is_changed:
        is_changed = False
        for rule in rules:
            length = sum(lengths.get(symbol.name, 1) for symbol in rule.expansion)
            if length < lengths[rule.origin.name]:
                lengths[rule.origin.name] = length
                is_changed = True
    return lengths


def _way(state: Any, lengths: dict[str, float], rules: dict[Any, CRule], all_rules: Any) -> Any:
    """Return the first terminal of the shortest that may follow, or the rule that is complete."""

    def rest(pointer: Any) -> float:
        return sum(lengths.get(each.name, 1) for each in pointer.rule.expansion[pointer.index :])

    def order(pointer: Any) -> tuple[float, str, int]:
        return rest(pointer), pointer.rule.origin.name, pointer.rule.order

    def is_longer_list(pointer: Any) -> bool:
        rule = pointer.rule
        return pointer.index == 1 and bool(rule.expansion[0].name == rule.origin.name)

    begun = [pointer for pointer in state if pointer.index] or list(state)
    # One more item of a list may be as short as what ends it, and leads back to the same state.
    best = min([each for each in begun if not is_longer_list(each)] or begun, key=order)
    if best.is_satisfied:
        return rules.setdefault(best.rule, CRule(best.rule.origin.name, len(best.rule.expansion)))
    symbols = list(best.rule.expansion[best.index :])
    while True:  # some symbols are empty
        name = symbols.pop(0).name
        if name not in lengths:
            return name
        shortest = min(
            (rule for rule in all_rules if rule.origin.name == name),
            key=lambda rule: (
                sum(lengths.get(each.name, 1) for each in rule.expansion),
                rule.order,
            ),
        )
        symbols[:0] = shortest.expansion
        if not symbols:
            return CRule(name, 0)


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
