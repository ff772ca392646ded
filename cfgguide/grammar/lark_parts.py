"""Parts that Lark lets others replace, as cfgguide wants them.

Lark takes the classes of its lexers and its parser from its option ``_plugins``. Our lexers leave
out a comparison of terminals that may take any time, and can be given a scanner that matches with
automata in place of ``re``; positions, keywords and errors stay Lark's. Our parser makes Lark's
tables from an analysis over integers (:mod:`cfgguide.grammar.lr.lalr`), since Lark's own takes most
of the time of compiling a large grammar, and keeps what Lark only logs. Lark itself stays as it
was.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple

from lark import Lark, load_grammar
from lark.exceptions import GrammarError
from lark.grammar import NonTerminal, Terminal
from lark.lexer import (
    BasicLexer,
    ContextualLexer,
    LexerThread,
    PatternRE,
    Scanner,
    TerminalDef,
    Token,
    UnlessCallback,
)
from lark.parser_frontends import EarleyRegexpMatcher
from lark.parsers.lalr_analysis import IntParseTable, Reduce, Shift
from lark.parsers.lalr_parser import LALR_Parser, _Parser

from cfgguide.automata.alternation import Alternations, WholeText
from cfgguide.automata.syntax import names_of_groups
from cfgguide.base.locks import new_lock
from cfgguide.base.sets import members
from cfgguide.base.symbols import parts
from cfgguide.grammar.lr.lalr import Automaton, build
from cfgguide.grammar.lr.table import Production

_LOCK = new_lock()


#: A string and an expression of Lark's language, whose own patterns try two ways at each backslash:
#: that is exponential where none is closed. Both end at the first quote or slash that no backslash
#: hides; if all are hidden, at the last one.
STRING = r'"(?:[^"\\\n]|\\["\\]?+)*+"i?|"[^\n]*"i?'
EXPRESSION = r"/(?!/)(?:[^/\\]|\\[/\\]?+)*+/[imslux]*|/(?!/)(?s:.)*/[imslux]*"
#: Lark's patterns, and others with the same matches that take time linear in the text. Of n empty
#: lines, Lark's would try n ways to divide them into line breaks and white space.
LINEAR = {
    r'"(\\"|\\\\|[^"\n])*?"i?': STRING,
    r"/(?!/)(\\/|\\\\|[^/])*?/[imslux]*": EXPRESSION,
    r"(\r?\n)+\s*": r"\r?\n\s*",
    r"(\r?\n)+\s*\|": r"\r?\n\s*\|",
}
_LEXER_CONF: Any = load_grammar.LexerConf  # type: ignore[attr-defined]
_built: Any = None


def build_reader_of_grammars() -> None:
    """Have Lark build the parser with which it reads grammars, so that it reads in linear time.

    Lark builds it once in a process, and compares all of its terminals for 0.1 s. They are Lark's
    own and never change, so its private ``LexerConf`` is replaced while the parser is built, and
    restored afterwards: by one without this check, and with patterns that match the same as Lark's
    (`LINEAR`). What Lark has built before is built anew.
    """
    global _built
    module: Any = load_grammar
    with _LOCK:
        if _built is not None and getattr(module._get_parser, "cache", None) is _built:
            return
        module.LexerConf = partial(_linear_configuration, _LEXER_CONF)
        try:
            vars(module._get_parser).pop("cache", None)
            module._get_parser()
            _built = module._get_parser.cache
        finally:
            module.LexerConf = _LEXER_CONF


def _linear_configuration(make: Any, terminals: Sequence[TerminalDef], *others: Any) -> Any:
    """Return Lark's configuration of a lexer, with linear patterns and no comparison of them."""
    linear = [
        TerminalDef(each.name, PatternRE(LINEAR.get(each.pattern.value, each.pattern.value)))
        for each in terminals
    ]
    return make(linear, *others, skip_validation=True)


class _Uncompared:
    """Stands for a comparison of terminals that has already shown enough collisions.

    Lark compares all terminals with interegular, which may take any time. Unless it is strict, it
    only logs what it finds. All its other checks stay.
    """

    def count_marked_pairs(self) -> int:
        return sys.maxsize


class _Reading:
    """Stands for ``re`` where Lark only asks whether it can compile a terminal."""

    error = re.error
    compile = staticmethod(names_of_groups)


class Basic(BasicLexer):
    """A lexer whose terminals are not compared.

    Attributes
    ----------
    scanner_of : callable or None
        Returns its scanner, when a text is first read; None for Lark's own, which matches with
        ``re``.
    """

    scanner_of: Callable[[BasicLexer], TextScanner] | None

    def __init__(self, conf: Any, comparator: Any = None) -> None:
        super().__init__(conf, _Uncompared())
        self.scanner_of = None

    def _build_scanner(self) -> Any:
        if self.scanner_of is None:
            return super()._build_scanner()
        scanner = self.scanner_of(self)
        of_strings: Any = Scanner  # without types
        self.callback = {
            # Lark's own scanner, but of fixed strings, with which `re` has nothing to try.
            name: UnlessCallback(
                of_strings(
                    [self.terminals_by_name[each] for each in strings],
                    self.g_regex_flags,
                    re,
                    False,
                )
            )
            for name, strings in scanner.retyped.items()
            if strings
        }
        self._scanner: Any = scanner  # Lark 1.2 takes it from here, later ones what is returned
        return scanner


class TextScanner:
    """What a lexer of Lark's matches with, in place of its ``Scanner``: automata.

    Parameters
    ----------
    alternations : Alternations
        Those of all lexers of a parser.
    retyped : mapping of str to tuple of str
        The terminals that this lexer tries, the preferred first, and the strings that lexemes of
        each are retyped to.
    """

    def __init__(self, alternations: Alternations, retyped: Mapping[str, tuple[str, ...]]) -> None:
        self._alternations = alternations
        self._names = tuple(map(str, retyped))  # some are Lark's tokens
        self.retyped = retyped
        self.allowed_types = {*self._names}

    def match(self, text: Any, position: int) -> tuple[str, str] | None:
        """Return the lexeme at a position of one of Lark's texts, and its terminal."""
        if not isinstance(text, str):  # Lark 1.2 has texts, later ones slices of them
            text = text.text if type(text.text) is WholeText else text.text[: text.end]
        whole = text if type(text) is WholeText else WholeText(text)
        found = self._alternations.find(self._names, whole, position)
        return None if found is None else (whole[position : found[1]], found[0])


class EarleyMatcher:
    """What Lark's Earley parser asks for the lexemes of one terminal, in place of ``re``."""

    def __init__(self, alternations: Alternations) -> None:
        self._alternations = alternations

    def __call__(self, terminal: Any, text: str, position: int = 0) -> EarleyMatch | None:
        """Return the preferred lexeme at a position of a text."""
        whole = text if type(text) is WholeText else WholeText(text)
        found = self._alternations.find((str(terminal.name),), whole, position)
        return None if found is None else EarleyMatch(whole[position : found[1]], found[1])


class EarleyMatch(NamedTuple):
    """As much of a match of ``re`` as Lark's Earley parser asks for."""

    text: str
    at: int

    def group(self, _: int) -> str:
        """Return the text of the lexeme."""
        return self.text

    def end(self) -> int:
        """Return where it ends."""
        return self.at


class Contextual(ContextualLexer):
    """A contextual lexer that checks the terminals that some state tries, but compares none."""

    BasicLexer = Basic

    def __init__(self, conf: Any, states: Any, always_accept: Any = ()) -> None:
        tried = {
            *always_accept,
            *conf.ignore,
            *(name for names in states.values() for name in names),
        }
        checked = copy(conf)
        checked.terminals = [terminal for terminal in conf.terminals if terminal.name in tried]
        checked.re_module = _Reading
        Basic(checked)
        unchecked = copy(conf)
        unchecked.skip_validation = True
        # States that differ only in their nonterminals share a lexer, and a set of terminals.
        known = conf.terminals_by_name.keys()
        shared: dict[frozenset[str], frozenset[str]] = {}
        read: dict[int, Any] = {}
        for state, names in states.items():
            terminals = frozenset(known & names)
            read[state] = shared.setdefault(terminals, terminals)
        super().__init__(unchecked, read, always_accept)


class Rules(Lark):
    """Lark without its Earley parser for a dynamic lexer, of which only the checks are kept.

    Making that parser takes time quadratic in the number of rules, and only texts need it.
    """

    def _build_parser(self) -> Any:
        if not (self.options.parser == "earley" and str(self.options.lexer).startswith("dynamic")):
            return super()._build_parser()
        matcher: Any = EarleyRegexpMatcher  # has no types
        matcher(self.lexer_conf)
        known = {rule.origin for rule in self.rules}
        used = [symbol for rule in self.rules for symbol in rule.expansion]
        for symbol in [*used, *map(NonTerminal, self.options.start)]:
            if not (symbol.is_term or symbol in known):
                raise GrammarError(f"Using an undefined rule: {symbol}")
        return None


class TextParser(Lark):
    """Lark, whose texts remember what its lexers found out about them."""

    def parse(self, text: Any, *others: Any, **options: Any) -> Any:
        """Return what Lark makes of a text."""
        return super().parse(WholeText(text) if isinstance(text, str) else text, *others, **options)

    def lex_with(
        self, alternations: Alternations, scanner_of: Callable[[BasicLexer], TextScanner]
    ) -> None:
        """Have all lexers match with automata."""
        frontend: Any = self.parser
        if frontend.skip_lexer:
            frontend.parser.term_matcher = EarleyMatcher(alternations)
            return
        lexer = getattr(frontend.lexer, "lexer", frontend.lexer)  # inside a postlex
        contextual = isinstance(lexer, Contextual)
        for each in (*lexer.lexers.values(), lexer.root_lexer) if contextual else (lexer,):
            each.scanner_of = scanner_of


class LarkParser(LALR_Parser):
    """Lark's tables, from an analysis over integers, and the terminals of the conflicts in them."""

    def __init__(self, parser_conf: Any, debug: bool = False, strict: bool = False) -> None:
        (start,) = parser_conf.start
        automaton = automaton_of(parser_conf.rules, start)
        states = resolved(automaton, parser_conf.rules, strict=strict)
        table: Any = IntParseTable  # without types
        self._parse_table = table(states, {start: 0}, {start: automaton.end_state})
        self.parser_conf = parser_conf
        run: Any = _Parser
        self.parser = run(self._parse_table, parser_conf.callbacks, debug)
        self.conflicts = {
            automaton.symbols[terminal]
            for state in range(len(states))
            for terminal in members(automaton.contested(state))
        }


def production_of(rule: Any) -> Production:
    """Return a rule of Lark's as its left and right side."""
    return str(rule.origin.name), tuple([str(symbol.name) for symbol in rule.expansion])


def automaton_of(rules: Sequence[Any], start: str) -> Automaton:
    """Return the LALR(1) automaton of Lark's rules.

    Raises
    ------
    lark.exceptions.GrammarError
        If there is no start rule.
    """
    if not any(rule.origin.name == start for rule in rules):
        raise GrammarError(f"Using an undefined rule: {NonTerminal(start)}")
    return build(map(production_of, rules), start)


class SymbolThread:
    """What Lark's parser reads from, in place of its ``LexerThread``: texts and special tokens.

    Lark's own lexer reads each text; a special token is one token, and ends the lexeme before it.

    Parameters
    ----------
    lexer : lark.lexer.Lexer
        That of Lark's parser, with its postlex.
    data : bytes
        The text with its symbols.
    names : mapping of int to str
        The terminals that the symbols stand for.
    """

    def __init__(self, lexer: Any, data: bytes, names: Mapping[int, str]) -> None:
        self._postlex = getattr(lexer, "postlexer", None)
        self._lexer = getattr(lexer, "lexer", lexer) if self._postlex is not None else lexer
        self._parts = parts(data)
        self._names = names
        self.state: Any = None

    def lex(self, parser_state: Any) -> Iterator[Token]:
        """Yield the tokens that the parser is to read."""
        tokens = self._tokens(parser_state)
        return tokens if self._postlex is None else self._postlex.process(tokens)

    def _tokens(self, parser_state: Any) -> Iterator[Token]:
        for part in self._parts:
            if isinstance(part, int):
                name = self._names.get(part, "no terminal")
                yield Token(name, name)
            else:
                thread: Any = LexerThread.from_text(self._lexer, WholeText(part.decode()))
                self.state = thread.state
                yield from thread.lex(parser_state)


Action = tuple[Any, Any]  # Shift and a state, or Reduce and a rule


class Lookaheads:
    """The names of a set of terminals, which many reductions share."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.known = frozenset(names)


class LarkActions(Mapping[str, Action]):
    """What Lark does in a state before each symbol, in the form of a ``dict``.

    Thousands of keywords, each with a state of its own in which any of them may follow, would fill
    the memory with a ``dict`` for each.

    Attributes
    ----------
    chosen : dict of str to Action
        For symbols one by one.
    reductions : list of (Lookaheads, Action)
        For sets of terminals, none of which are in `chosen` or in two of them.
    """

    def __init__(self, chosen: dict[str, Action]) -> None:
        self.chosen = chosen
        self.reductions: list[tuple[Lookaheads, Action]] = []

    def __getitem__(self, symbol: str) -> Action:
        if symbol in self.chosen:
            return self.chosen[symbol]
        for lookaheads, action in self.reductions:
            if symbol in lookaheads.known:
                return action
        raise KeyError(symbol)

    def __iter__(self) -> Iterator[str]:
        yield from self.chosen
        for lookaheads, _ in self.reductions:
            yield from lookaheads.names

    def __len__(self) -> int:
        return len(self.chosen) + sum(len(each.names) for each, _ in self.reductions)


def resolved(automaton: Automaton, rules: Sequence[Any], *, strict: bool) -> dict[int, LarkActions]:
    """Return what Lark does in each state.

    A rule wins over others by its priority, and a shift over all rules.

    Parameters
    ----------
    automaton : Automaton
        The automaton.
    rules : sequence of lark.grammar.Rule
        Its rules, in any order.
    strict : bool
        Whether a shift does not win either.

    Raises
    ------
    lark.exceptions.GrammarError
        If a conflict is left. Lark's message, which names conflicts in the order of sets; here by
        state and terminal.
    """
    by_production = {production_of(rule): rule for rule in rules}
    names = automaton.symbols
    shifts = [(Shift, state) for state in range(automaton.n_states)]
    # The first rule is above the start rule, and never reduced.
    reductions: list[Any] = [None, *((Reduce, by_production[each]) for each in automaton.rules[1:])]
    shared: dict[int, Lookaheads] = {}
    states: dict[int, LarkActions] = {}
    collisions = []
    for state, row in enumerate(automaton.transitions):
        chosen: dict[str, Action] = {
            names[symbol]: shifts[target] for symbol, target in row.items()
        }
        contested = automaton.contested(state)
        for terminal in members(contested):
            reduced = winning(automaton.reduced(state, terminal), automaton, by_production)
            if len(reduced) > 1:
                collisions.append((names[terminal], [reductions[rule][1] for rule in reduced]))
            elif strict and terminal in row:
                raise GrammarError(
                    f"Shift/Reduce conflict for terminal {names[terminal]}. [strict-mode]\n"
                    f" * {reductions[reduced[0]][1]}\n"
                )
            else:
                chosen.setdefault(names[terminal], reductions[reduced[0]])
        states[state] = actions = LarkActions(chosen)
        for rule, lookaheads in automaton.lookaheads[state].items():
            uncontested = lookaheads & ~contested
            if uncontested not in shared:
                shared[uncontested] = Lookaheads(
                    [names[terminal] for terminal in members(uncontested)]
                )
            actions.reductions.append((shared[uncontested], reductions[rule]))
    if collisions:
        raise GrammarError("\n\n".join(_collision(*each) for each in collisions))
    return states


def winning(
    rules: list[int], automaton: Automaton, by_production: Mapping[Production, Any]
) -> list[int]:
    """Return the one of several rules that wins by its priority, or all if none does."""
    priorities = [by_production[automaton.rules[rule]].options.priority or 0 for rule in rules]
    best = [
        rule
        for rule, priority in zip(rules, priorities, strict=True)
        if priority == max(priorities)
    ]
    return best if len(best) == 1 else rules


def _collision(terminal: str, rules: Sequence[Any]) -> str:
    listed = "".join(f"\n\t- {rule}" for rule in rules)
    return f"Reduce/Reduce collision in {Terminal(terminal)} between the following rules: {listed}"
