"""What Lark makes of a grammar: its tables, terminals and definitions.

In: a :class:`~cfgguide.grammar.grammar.Grammar`. Out: a :class:`CompiledGrammar`: the LALR(1)
tables as arrays, the pattern of each terminal, and for each parse state the *terminal set* that
Lark's lexer would try there, in the order in which it would try them. The contextual lexer has many
such sets, the basic lexer one. For Lark's Earley parser there is no table of Lark's: it is made
here of Lark's rules (:mod:`cfgguide.grammar.lr.general`). Its dynamic lexers try each terminal by
itself; the set of a state then is in no order. Together with :mod:`cfgguide.grammar.lr_automaton`
and :mod:`cfgguide.grammar.rejections`, which explain why Lark refuses a grammar, and
:mod:`cfgguide.grammar.fragments`, which writes one out again, this is all that knows Lark.

Lark decides whatever it can; the order of a terminal set is read from its lexer objects. Ours are
the numbering, because Lark's changes with ``PYTHONHASHSEED``, and what may take any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

import lark
import numpy as np
from lark.lexer import BasicLexer, PatternStr
from lark.parsers.lalr_analysis import Shift
from lark.utils import get_regexp_width

from cfgguide.automata.alternation import Alternations
from cfgguide.automata.determinize import fsm_of_bytes, fsm_of_pattern
from cfgguide.automata.dfa import Fsm
from cfgguide.automata.syntax import names_of_groups
from cfgguide.base.limits import Budget
from cfgguide.base.numbered import Numbered
from cfgguide.base.remembered import remembered
from cfgguide.base.sets import reached_from
from cfgguide.base.symbols import symbols_of
from cfgguide.errors import CfgGuideError, GrammarError, LimitError
from cfgguide.grammar import expansions, lark_parts
from cfgguide.grammar.definitions import Definitions
from cfgguide.grammar.grammar import AUTO, Grammar
from cfgguide.grammar.imports import ImportedFile, ImportedFiles
from cfgguide.grammar.indenters import indentation_names
from cfgguide.grammar.lark_parts import LarkActions
from cfgguide.grammar.lr.general import general_table
from cfgguide.grammar.lr.indentation import IndentationRules
from cfgguide.grammar.lr.indentation_names import INLINE, JOIN, IndentationNames
from cfgguide.grammar.lr.table import ERROR, NO_STATE, ParseTable
from cfgguide.grammar.rejections import circle_of, explain, files_read, is_of_conflicts
from cfgguide.grammar.restrictions import Restriction, restrictions_of

END_NAME = "$END"


@dataclass(frozen=True)
class Terminal:
    """A terminal and its pattern.

    Attributes
    ----------
    name : str
        As in the grammar.
    pattern : str
        For Python's ``re``, with the terminal's flags inside.
    flags : int
        The grammar-wide ``re`` flags.
    is_string : bool
        Whether the grammar gives it as a string, which makes it a keyword for retyping.
    symbol : int or None
        The byte that stands for a special terminal; it has no pattern.
    """

    name: str
    pattern: str
    flags: int
    is_string: bool
    symbol: int | None = None


@dataclass(frozen=True)
class SetMember:
    """One alternative of Lark's scanner.

    Attributes
    ----------
    terminal : str
        The terminal whose pattern is tried.
    is_ignored : bool
        Whether its lexemes are dropped (``%ignore``).
    retyped : tuple of str
        String terminals that a lexeme becomes if it equals them, in Lark's order.
    """

    terminal: str
    is_ignored: bool
    retyped: tuple[str, ...]


TerminalSet = tuple[SetMember, ...]


@dataclass(frozen=True)
class CompiledGrammar:
    """What Lark makes of a grammar.

    Attributes
    ----------
    lexer, parser : str
        As Lark calls them.
    parse_table : ParseTable
        The LALR(1) automaton.
    patterns : tuple of Terminal
        Every terminal that has a pattern or is special, by name.
    terminal_sets : tuple of TerminalSet
        What the lexer tries, most preferred first; `parse_table.set_of_state` points here.
    definitions : Definitions
        What the grammar defines, used or not.
    imported : tuple of (str, str or None)
        The files that ``%import`` found or looked for in folders. While these stay the same, the
        grammar means the same. Lark's own grammars are not among them.
    indentation_rules : IndentationRules or None
        The rules of indentation, if the grammar has an indenter.
    restrictions : tuple of Restriction
        Which lexemes of some terminals are refused, although the lexer finds them.
    fsms : TerminalFsms
        The FSMs of the terminals.
    """

    lexer: str
    parser: str
    parse_table: ParseTable
    patterns: tuple[Terminal, ...]
    terminal_sets: tuple[TerminalSet, ...]
    definitions: Definitions
    fsms: TerminalFsms = field(compare=False)
    imported: tuple[ImportedFile, ...] = ()
    indentation_rules: IndentationRules | None = None
    restrictions: tuple[Restriction, ...] = ()

    @property
    def bytes_apart(self) -> bytes:
        """Bytes that byte classes must keep apart, whatever the terminals say."""
        return b"" if self.indentation_rules is None else b"\n\r\t\f 0123456789"


def load(grammar: Grammar, *, budget: Budget | None = None) -> CompiledGrammar:
    """Return Lark's tables and terminals for a grammar.

    Raises
    ------
    GrammarError
        If Lark rejects the grammar; the message holds Lark's own, the place and a way out.
    LimitError
        If the grammar nests too deeply to be read, or gets too large.

    Examples
    --------
    >>> load(Grammar('start: "a"+')).parse_table.terminals
    ('$END', 'A')
    """
    check_is_grammar(grammar)
    names = indentation_names(grammar.postlex) if grammar.postlex is not None else None
    budget = budget or Budget()
    imports = ImportedFiles(grammar, allows_files=budget.limits.allows_imports)
    grammar, parser = _chosen(grammar, imports, budget)
    patterns = _patterns(parser, grammar)
    fsms = TerminalFsms(patterns, budget)
    if grammar.parser == "earley":
        parse_table, terminal_sets = _general(parser, grammar, names, fsms, budget)
    else:
        parse_table, terminal_sets = _of_lalr(parser, grammar, names, fsms, budget)
    special = tuple(SetMember(each.name, False, ()) for each in patterns if each.symbol is not None)
    terminal_sets = tuple((*members, *special) for members in terminal_sets)
    definitions = _definitions(parser, grammar.start)
    dropped = [name for name, role in names.roles if role in (INLINE, JOIN)] if names else []
    return CompiledGrammar(
        str(grammar.lexer),
        grammar.parser,
        parse_table,
        patterns,
        terminal_sets,
        definitions,
        fsms,
        imports.found,
        IndentationRules.of(names, parse_table) if names is not None else None,
        restrictions_of(
            grammar,
            [terminal.name for terminal in patterns if terminal.symbol is None],
            (*definitions.ignored, *dropped),
            definitions.terminals,
            fsms.__getitem__,
        ),
    )


def check_is_grammar(grammar: object) -> None:
    """Raise a GrammarError if something is no grammar."""
    if not isinstance(grammar, Grammar):
        raise GrammarError(
            f"expected a Grammar, not {type(grammar).__name__}; use Grammar.bundled(name), "
            "Grammar.open(path) or Grammar(text)"
        )


def chosen(grammar: Grammar) -> Grammar:
    """Return a grammar whose parser is "auto" with the parser that takes it.

    Raises
    ------
    GrammarError, LimitError
        As :func:`load`.
    """
    return _chosen(grammar, None, Budget())[0]


def _chosen(
    grammar: Grammar, imports: ImportedFiles | None, budget: Budget
) -> tuple[Grammar, lark.Lark]:
    """Return a grammar with a parser that takes it, and what that parser knows of it."""
    if grammar.parser != AUTO:
        return grammar, parser_of(grammar, imports, budget=budget, kind=lark_parts.Rules)
    lexer = grammar.lexer if grammar.lexer != AUTO else None
    with_lalr = replace(grammar, parser="lalr", lexer=lexer)
    try:
        return with_lalr, _parser_of(with_lalr, imports, budget)
    except lark.exceptions.GrammarError as error:
        has_other_way = grammar.postlex is None and not grammar.strict
        if has_other_way and is_of_conflicts(error):
            with_earley = replace(grammar, parser="earley", lexer=lexer)
            return with_earley, parser_of(
                with_earley, imports, budget=budget, kind=lark_parts.Rules
            )
    except CfgGuideError:
        raise
    except Exception:  # whatever it is, it is explained below
        pass
    return with_lalr, parser_of(with_lalr, imports, budget=budget)


def parser_of(
    grammar: Grammar,
    imports: ImportedFiles | None = None,
    *,
    budget: Budget | None = None,
    kind: type[lark.Lark] = lark.Lark,
) -> lark.Lark:
    """Return Lark's parser of a grammar; `imports` notes the files that it reads.

    It reads texts with Lark's own lexer, and so matches the grammar's patterns with ``re``.
    :func:`tree_parser_of` does not. If only rules and terminals are asked for, its `kind` is
    :class:`~cfgguide.grammar.lark_parts.Rules`.

    Raises
    ------
    GrammarError, LimitError
        As :func:`load`.
    """
    where = grammar.source_path or "the grammar"
    rules: list[Any] = []
    try:
        return _parser_of(grammar, imports, budget, rules, kind=kind)
    except RecursionError as error:
        if circle := circle_of(error):
            raise GrammarError(
                f"{circle}; put what both need into a file of its own, and import that"
            ) from None
        raise LimitError(
            f"{where} nests too deeply for Lark to read; split its rules into smaller ones"
        ) from None
    except CfgGuideError:
        raise
    except Exception as error:  # Lark reports some mistakes with assertions, TypeErrors and others
        said = explain(error, grammar, rules[0] if rules else None)
        imported = [f"{path}, which is imported" for path, _ in files_read(error)]
        raise GrammarError(f"Lark rejects {[where, *imported][-1]}:\n{said}") from error


def _parser_of(
    grammar: Grammar,
    imports: ImportedFiles | None,
    budget: Budget | None,
    rules: list[Any] | None = None,
    *,
    kind: type[lark.Lark] = lark.Lark,
) -> lark.Lark:
    """Return Lark's parser of a grammar; what Lark has read of it is added to `rules` first."""
    lark_parts.build_reader_of_grammars()
    grammar.text  # noqa: B018  # may have to be written first
    options: dict[str, Any] = dict(grammar.lark_options)
    options["_plugins"] = {"LALR_Parser": lark_parts.LarkParser}
    if kind is lark_parts.TextParser:
        options["strict"] = False  # that refuses grammars, and has made this one no other
    if not options["strict"]:  # strict asks for the comparison
        options["_plugins"] |= {
            "ContextualLexer": lark_parts.Contextual,
            "BasicLexer": lark_parts.Basic,
        }
    read = expansions.read(grammar, imports, budget)
    if rules is not None:
        rules.append(read)
    return kind(read, **options)


def tree_parser_of(grammar: Grammar, *, budget: Budget | None = None) -> lark.Lark:
    """Return Lark's parser of a grammar, for texts of grammars that strangers may have written.

    Its trees, positions and errors are those of Lark's own. Only the lexemes are found by automata,
    which take time linear in the text, and not by ``re``, which may take any.

    Parameters
    ----------
    budget : Budget, optional
        What making the automata may cost, which are made when a text first needs them.

    Raises
    ------
    GrammarError, LimitError
        As :func:`load`. Reading a text raises those that its terminals raise as automata.
    """
    budget = budget or Budget(is_timed=False)
    grammar = grammar.chosen()
    parser: Any = parser_of(grammar, budget=budget, kind=lark_parts.TextParser)
    fsms = TerminalFsms(_patterns(parser, grammar), budget)
    alternations = Alternations(fsms.__getitem__)

    def scanner_of(lexer: BasicLexer) -> lark_parts.TextScanner:
        members = _terminal_set(lexer, fsms)
        retyped = {member.terminal: member.retyped for member in members}
        return lark_parts.TextScanner(alternations, retyped)

    parser.lex_with(alternations, scanner_of)
    tree_parser: lark.Lark = parser
    return tree_parser


def tree_of(parser: lark.Lark, grammar: Grammar, data: bytes) -> Any:
    """Return Lark's tree of a text with symbols of special terminals.

    Raises
    ------
    lark.exceptions.LarkError
        If it is no sentence.
    """
    names = {byte: name for name, byte in symbols_of(dict(grammar.special)).items()}
    frontend: Any = parser.parser
    thread = lark_parts.SymbolThread(frontend.lexer, data, names)
    return frontend.parser.parse(thread, grammar.start)


def _of_lalr(
    parser: lark.Lark,
    grammar: Grammar,
    names: IndentationNames | None,
    fsms: TerminalFsms,
    budget: Budget,
) -> tuple[ParseTable, tuple[TerminalSet, ...]]:
    """Return the table of Lark's LALR parser, and its terminal sets."""
    table: Any = parser.parser.parser._parse_table
    rules = {rule.origin.name for rule in parser.rules}
    order = _canonical_order(table.states, table.start_states[grammar.start])
    terminal_sets, set_of_state = _terminal_sets(_lexers(parser, order), fsms)
    parse_table = _parse_table(
        table,
        order,
        grammar.start,
        rules,
        set_of_state,
        conflicts=tuple(sorted(parser.parser.parser.conflicts)),
        unused=_unused(parser, names) if names is not None else [],
        budget=budget,
    )
    return parse_table, terminal_sets


def _general(
    parser: lark.Lark,
    grammar: Grammar,
    names: IndentationNames | None,
    fsms: TerminalFsms,
    budget: Budget,
) -> tuple[ParseTable, tuple[TerminalSet, ...]]:
    """Return the table of all of a grammar's rules, and its terminal sets.

    Raises
    ------
    GrammarError
        If no text is a sentence, or there are conflicts and an indenter.
    """
    productions = [lark_parts.production_of(rule) for rule in parser.rules]
    unused = {*dict(grammar.special), *(_unused(parser, names) if names is not None else ())}
    table = general_table(productions, grammar.start, unused, budget)
    if table is None:
        if not any(left == grammar.start for left, _ in productions):
            raise GrammarError(
                f"there is no rule {grammar.start!r} to start from; its rules are "
                f"{', '.join(sorted({left for left, _ in productions}))}"
            )
        raise GrammarError(
            f"no text at all is a sentence of the grammar (start rule {grammar.start!r}): each "
            "rule needs another one first"
        )
    if table.is_general and names is not None:
        _, terminal, _ = table.alternatives[0].tolist()
        raise GrammarError(
            f"with an indenter, Earley's parser is followed only where a grammar leaves nothing to "
            f"choose, and this one has several ways to go on before {table.terminals[terminal]}: "
            "take parser='lalr', which says where"
        )
    if grammar.lexer == "basic":
        lexer: Any = parser.parser.lexer
        return table, (_terminal_set(getattr(lexer, "lexer", lexer), fsms),)
    ignored = tuple(SetMember(str(name), True, ()) for name in sorted(set(parser.ignore_tokens)))
    special = dict(grammar.special)
    known = {terminal.name for terminal in parser.terminals} | special.keys()
    for name in table.terminals[1:]:
        if name not in known:
            raise GrammarError(
                f"the terminal {name} is declared without a pattern, and Lark's dynamic lexers "
                "fail where it might stand; use lexer='basic', or name its token in `special`"
            )
    is_text = np.array([name not in special for name in table.terminals])
    is_text[0] = False  # the end of the text
    rows = Numbered[bytes]()  # states share them: a row is spelled out once
    set_of_state = [rows[row.tobytes()] for row in is_text & (table.action != ERROR)]
    members = [SetMember(name, False, ()) for name in table.terminals]
    terminal_sets = tuple(
        (*(members[terminal] for terminal in np.flatnonzero(np.frombuffer(row, bool))), *ignored)
        for row in rows
    )
    table = replace(table, set_of_state=np.array(set_of_state, dtype=np.int32))
    return table, terminal_sets


def _canonical_order(states: dict[int, LarkActions], start: int) -> list[int]:
    """Return Lark's state numbers breadth-first from `start`, over sorted symbols."""

    def shifted(state: int) -> list[int]:
        chosen = sorted(states[state].chosen.items(), key=itemgetter(0))
        return [argument for _, (action, argument) in chosen if action is Shift]

    return list(reached_from([start], shifted))


def _lexers(parser: lark.Lark, order: list[int]) -> list[Any]:
    """Return the lexer of each state: a basic lexer is the same everywhere."""
    lexer: Any = parser.parser.lexer
    lexer = getattr(lexer, "lexer", lexer)  # inside a postlex
    if parser.options.lexer == "basic":
        return [lexer] * len(order)
    return [lexer.lexers[state] for state in order]


def _terminal_sets(
    lexers: list[Any], fsms: TerminalFsms
) -> tuple[tuple[TerminalSet, ...], list[int]]:
    """Return the different terminal sets, and the number of the one of each state's lexer."""
    terminal_sets = Numbered[TerminalSet]()
    number_of_lexer: dict[int, int] = {}  # states share their lexers
    for lexer in lexers:
        if id(lexer) not in number_of_lexer:
            number_of_lexer[id(lexer)] = terminal_sets[_terminal_set(lexer, fsms)]
    return tuple(terminal_sets), [number_of_lexer[id(lexer)] for lexer in lexers]


def _terminal_set(lexer: Any, fsms: TerminalFsms) -> TerminalSet:
    """Return the alternatives of one of Lark's lexers, in the order of its scanner.

    A string that a pattern matches whole is no alternative beside it, if its flags are among those
    of the pattern. Lark's ``_create_unless`` says the same, but asks ``re``, which may take any
    time to answer.
    """
    strings: dict[int, list[Any]] = {}  # by priority
    for terminal in lexer.terminals:
        if type(terminal.pattern) is PatternStr:
            strings.setdefault(terminal.priority, []).append(terminal)
    swallowed: set[str] = set()
    retyped: dict[str, tuple[str, ...]] = {}
    for terminal in lexer.terminals:
        if type(terminal.pattern) is not PatternStr and terminal.priority in strings:
            matched = fsms.matched(terminal, strings[terminal.priority])
            retyped[terminal.name] = tuple(string.name for string in matched)
            swallowed.update(
                string.name for string in matched if string.pattern.flags <= terminal.pattern.flags
            )
    return tuple(
        SetMember(
            terminal.name, terminal.name in lexer.ignore_types, retyped.get(terminal.name, ())
        )
        for terminal in lexer.terminals
        if terminal.name not in swallowed
    )


class TerminalFsms:
    """The FSMs of a grammar's terminals, made when they are asked for.

    Parameters
    ----------
    patterns : iterable of Terminal
        The terminals.
    budget : Budget
        What making them may cost.
    """

    def __init__(self, patterns: Iterable[Terminal], budget: Budget) -> None:
        self._patterns = {terminal.name: terminal for terminal in patterns}
        self._budget = budget

    @remembered
    def __getitem__(self, name: str) -> Fsm:
        """Return the FSM of a terminal.

        Raises
        ------
        PatternError, LimitError
            As :func:`cfgguide.automata.determinize.fsm_of_pattern`.
        """
        terminal = self._patterns[name]
        return (
            fsm_of_pattern(terminal.pattern, name=name, flags=terminal.flags, budget=self._budget)
            if terminal.symbol is None
            else fsm_of_bytes(bytes([terminal.symbol]), name=name, budget=self._budget)
        )

    def matched(self, terminal: Any, strings: list[Any]) -> list[Any]:
        """Return those of Lark's string terminals whose texts a terminal matches whole."""
        return [string for string in strings if self._matches(terminal.name, string.pattern.value)]

    @remembered
    def _matches(self, name: str, string: str) -> bool:
        text = string.encode("utf-8", "surrogatepass")
        return self[name].match(text) == len(text)


def _patterns(parser: lark.Lark, grammar: Grammar) -> tuple[Terminal, ...]:
    """Return the terminals with a pattern, and those that are special.

    Raises
    ------
    GrammarError
        If a special terminal is not declared, or there are too many.
    """
    flags = parser.options.g_regex_flags
    patterns = [
        Terminal(
            terminal.name, terminal.pattern.to_regexp(), flags, type(terminal.pattern) is PatternStr
        )
        for terminal in parser.terminals
    ]
    symbols = symbols_of(dict(grammar.special))
    check_declared(parser, grammar)
    patterns += [Terminal(name, "", 0, False, byte) for name, byte in symbols.items()]
    return tuple(sorted(patterns, key=lambda terminal: terminal.name))


def check_declared(parser: lark.Lark, grammar: Grammar) -> None:
    """Check that the special terminals of a grammar are declared, and nothing else.

    Raises
    ------
    GrammarError
        If one is not.
    """
    declared = {str(name) for name, (tree, _) in parser.grammar.term_defs if tree is None}
    for name in dict(grammar.special):
        if name not in declared:
            raise GrammarError(
                f"the special terminal {name} has to be declared, and nothing else: write "
                f"%declare {name}"
            )


def _definitions(parser: lark.Lark, start: str) -> Definitions:
    trees = {str(name): tree for name, (tree, _) in parser.grammar.term_defs}
    names = {id(tree): name for name, tree in trees.items() if tree is not None}
    return Definitions(
        start=start,
        rules=tuple(str(name) for name, *_ in parser.grammar.rule_defs),
        terminals=tuple(trees),
        ignored=tuple(map(str, parser.ignore_tokens)),
        declared=tuple(name for name, tree in trees.items() if tree is None),
        parts=tuple(  # Lark puts the tree of a terminal into those that use it
            (names[id(part)], whole)
            for whole, tree in trees.items()
            if tree is not None
            for part in tree.iter_subtrees()
            if names.get(id(part), whole) != whole
        ),
        productions=tuple(_production(rule) for rule in parser.rules),
        templates=tuple(
            (rule.origin.name, str(rule.options.template_source))
            for rule in parser.rules
            if rule.options and rule.options.template_source
        ),
    )


def check_joined(grammar: CompiledGrammar) -> None:
    """Refuse terminals that ``re`` cannot join into one expression, as Lark would on a text.

    Lark joins the terminals that a state tries when it first reads in that state.

    Raises
    ------
    GrammarError
        If a pattern cannot stand inside a group, or two patterns share the name of a group.
    """
    groups: dict[str, list[str]] = {}
    for terminal in _tried(grammar):
        try:
            joined = names_of_groups(f"(?P<{terminal.name}>{terminal.pattern})", terminal.flags)
        except re.error as error:
            raise GrammarError(
                f"Lark cannot use the terminal {terminal.name}, since re refuses "
                f"(?P<{terminal.name}>{terminal.pattern}): {error}"
            ) from None
        groups[terminal.name] = list(joined)
    for members in grammar.terminal_sets:
        used: dict[str, str] = {}
        for group, name in (
            (g, member.terminal) for member in members for g in groups.get(member.terminal, [])
        ):
            if used.setdefault(group, name) != name:
                raise GrammarError(
                    f"Lark cannot use the terminals {used[group]} and {name} together: both have "
                    f"a group called {group!r}, or one is called as a group of the other"
                )


def _tried(grammar: CompiledGrammar) -> list[Terminal]:
    names = {member.terminal for members in grammar.terminal_sets for member in members}
    return [
        terminal
        for terminal in grammar.patterns
        if terminal.name in names and terminal.symbol is None
    ]


def check_width(grammar: CompiledGrammar) -> None:
    """Refuse terminals that only flags make empty: Lark measures their width without flags.

    Raises
    ------
    GrammarError
        If a terminal that some state tries matches the empty text under ``re.VERBOSE``.
    """
    for terminal in _tried(grammar):
        if terminal.flags & re.VERBOSE:
            min_width, _ = get_regexp_width(f"(?x:{terminal.pattern}\n)")  # \n ends a comment
            if min_width == 0:
                raise GrammarError(
                    f"the terminal {terminal.name} matches the empty text under regex_flags, and "
                    f"Lark would then read it for ever: /{terminal.pattern}/; write `\\ ` or `[ ]` "
                    "for a space that is meant, or leave out re.VERBOSE"
                )


def _parse_table(
    table: Any,
    order: list[int],
    start: str,
    rules: set[str],
    set_of_state: list[int],
    *,
    conflicts: tuple[str, ...],
    unused: Iterable[str],
    budget: Budget,
) -> ParseTable:
    rows = [table.states[state] for state in order]
    number = {state: index for index, state in enumerate(order)}
    productions, number_of_rule = _productions(rows)
    terminals, nonterminals = _symbols(rows, rules, unused)
    n_symbols = len(terminals) + len(nonterminals)
    budget.check_memory(2 * 4 * len(rows) * n_symbols, "the parse table")
    action = np.zeros((len(rows), len(terminals)), dtype=np.int32)
    goto = np.full((len(rows), len(nonterminals)), NO_STATE, dtype=np.int32)
    columns: dict[int, list[int]] = {}  # of shared sets of terminals, by their identity
    for state, row in enumerate(rows):
        for lookaheads, (_, rule) in row.reductions:
            if id(lookaheads) not in columns:
                columns[id(lookaheads)] = [terminals[name] for name in lookaheads.names]
            action[state, columns[id(lookaheads)]] = -number_of_rule[id(rule)] - 1
        for symbol, (kind, argument) in row.chosen.items():
            if symbol in nonterminals:
                goto[state, nonterminals[symbol]] = number[argument]
            elif kind is Shift:
                action[state, terminals[symbol]] = number[argument] + 1
            else:
                action[state, terminals[symbol]] = -number_of_rule[id(argument)] - 1
    return ParseTable(
        terminals=tuple(map(str, terminals)),  # Lark's tokens are compared slowly
        nonterminals=tuple(map(str, nonterminals)),
        productions=tuple(productions),
        action=action,
        goto=goto,
        lengths=np.array([len(right) for _, right in productions], dtype=np.int32),
        left_sides=np.array([nonterminals[left] for left, _ in productions], dtype=np.int32),
        set_of_state=np.array(set_of_state, dtype=np.int32),
        end_state=number[table.end_states[start]],
        conflicts=conflicts,
    )


def _production(rule: Any) -> tuple[str, tuple[str, ...]]:
    return str(rule.origin.name), tuple(str(symbol.name) for symbol in rule.expansion)


def _productions(
    rows: Iterable[LarkActions],
) -> tuple[dict[tuple[str, tuple[str, ...]], int], dict[int, int]]:
    """Return the number of each production, and of each of Lark's rules by its identity.

    Rules that differ only in their alias are one.
    """
    rules = {
        id(argument): argument
        for row in rows
        for kind, argument in (*row.chosen.values(), *(action for _, action in row.reductions))
        if kind is not Shift
    }
    found = {number: _production(rule) for number, rule in rules.items()}
    numbers = {production: index for index, production in enumerate(sorted(set(found.values())))}
    return numbers, {rule: numbers[production] for rule, production in found.items()}


def _unused(parser: lark.Lark, names: IndentationNames) -> list[str]:
    """Return the terminals of an indenter that the rules of a start rule need not use."""
    known = {terminal.name for terminal in parser.terminals}
    dropped = [name for name, role in names.roles if role in (INLINE, JOIN) and name in known]
    defined = {str(name) for name, _ in parser.grammar.term_defs}
    return dropped + [
        name for name in (names.newline, names.indent, names.dedent) if name in defined
    ]


def _symbols(
    rows: list[LarkActions], rules: set[str], unused: Iterable[str]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the numbers of the terminals, with ``$END`` first, and of the nonterminals.

    The terminals of an indenter may be used by no rule. Case does not tell terminals from rules:
    Lark names ``"\u65e5"`` after its one letter, which has none.
    """
    shared = {id(each): each.names for row in rows for each, _ in row.reductions}
    symbols = {symbol for row in rows for symbol in row.chosen}.union(*shared.values(), unused)
    terminals = sorted(symbols - rules - {END_NAME})
    return (
        {name: index for index, name in enumerate([END_NAME, *terminals])},
        {name: index for index, name in enumerate(sorted(rules))},
    )
