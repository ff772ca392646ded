"""Grammars in GBNF and in W3C's EBNF, from any notation.

In: a text in a notation (:func:`translate`), or a grammar in Lark's language (:func:`from_lark`).
Out: a text in GBNF or W3C's EBNF. What that cannot say is an error with a place.

Neither of the two has a lexer, and Lark's has a say in which texts are sentences: it takes one
terminal at each place and never goes back, and drops what is ignored. Rules can say which texts are
made of the terminals that the grammar asks for, with ignored text between them; each sentence is
one, but not each of these has to be a sentence. The two languages are the same where the lexer has
nothing to choose (:mod:`cfgguide.grammar.notations.lexer_readings`), as in JSON, and for Lark's
Earley parser with the lexer `dynamic_complete`, which tries all ends of a terminal, if nothing is
ignored. Otherwise a caller has to say that more texts may be allowed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property

from cfgguide.automata import syntax
from cfgguide.automata.preference import is_longest_first
from cfgguide.automata.python_notation import nodes_of
from cfgguide.base.limits import Limits
from cfgguide.errors import CfgGuideError, GrammarError
from cfgguide.grammar.fragments import Rules, TerminalText, every_rule_of
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lark_frontend import check_is_grammar, load
from cfgguide.grammar.notations.character_patterns import Pattern
from cfgguide.grammar.notations.converted import reading
from cfgguide.grammar.notations.lexer_readings import why_fewer
from cfgguide.grammar.notations.linear import without_itself
from cfgguide.grammar.rules.facts import needed
from cfgguide.grammar.rules.names import NameAllocator
from cfgguide.grammar.rules.printers import TARGETS, printed
from cfgguide.grammar.rules.source import Source
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
    expression_of,
)

_LINE = re.compile(r"^[^\S\n]*+[?!]?(\w++)", re.MULTILINE)
_COMMENTS = {"gbnf": "# {}", "w3c": "/* {} */"}


def translate(
    text: str,
    notation: str,
    target: str,
    *,
    root: str | None = None,
    limits: Limits | None = None,
) -> str:
    r"""Return a grammar in another notation, with the same texts.

    Parameters
    ----------
    text : str
        The grammar.
    notation : {"gbnf", "ebnf", "w3c"}
        Its notation.
    target : {"gbnf", "w3c"}
        The notation that is written.
    root : str, optional
        The rule with which it starts; by default "root", in W3C's EBNF the first.
    limits : Limits, optional
        As for :func:`gbnf`.

    Raises
    ------
    GrammarError
        If the text is not in the notation, or the target cannot say something: tokens in W3C's
        EBNF, some differences in GBNF. The message points to the place.
    LimitError
        If it is too large.

    Examples
    --------
    >>> print(translate('root ::= x{2} | [^a]\nx ::= "b" #c', "gbnf", "w3c"))
    root ::= x x | [^a]
    x ::= "b"
    >>> print(translate("a ::= [a-z] - [aeiou] | 'b' #x0", "w3c", "gbnf"))
    # a is root here
    root ::= [b-df-hj-np-tv-z] | "b" [\x00]
    """
    _check_target(target)

    def without_minus(minus: Minus) -> Expression | None:
        found = conversion.regular_part(minus)
        return None if found is None else _expression(found.every, minus.at)

    source, rules, start, conversion = reading(text, notation, root, limits)
    return printed(source, needed(source, rules, start), start, target, without_minus)


def from_lark(grammar: Grammar, target: str, *, wider: bool = False) -> str:
    r"""Return a grammar of Lark's in another notation.

    Parameters
    ----------
    grammar : Grammar
        The grammar.
    target : {"gbnf", "w3c"}
        The notation that is written.
    wider : bool
        Whether the text may allow more than the grammar; a comment then says why it may. Each
        sentence of the grammar is allowed in any case.

    Raises
    ------
    GrammarError
        If Lark rejects the grammar, the notation cannot say something, such as look-around, or more
        texts may be allowed and `wider` is not given. The message names the terminal.

    Examples
    --------
    >>> grammar = Grammar('start: "a" start "b" | /[0-9]+/', parser="earley",
    ...     lexer="dynamic_complete")
    >>> print(from_lark(grammar, "gbnf"))
    # start is root here
    root ::= "a" root "b" | ANON_0
    # __ANON_0 is ANON_0 here
    ANON_0 ::= [0-9]+
    """
    _check_target(target)
    check_is_grammar(grammar)
    grammar = grammar.chosen()
    made = _LarkRules(grammar)
    if made.wider_for and not wider:
        raise GrammarError(
            f"rules alone would allow more texts than this grammar: {made.wider_for[0]}; ask for "
            "that with --wider, or wider=True"
        )
    notes = [
        _COMMENTS[target].format(f"May allow more texts than the grammar: {why}.")
        for why in made.wider_for
    ]
    body = printed(made.source, needed(made.source, made.rules, made.root), made.root, target)
    return "\n".join([*notes, body])


def _check_target(target: str) -> None:
    if target not in TARGETS:
        raise GrammarError(f"the notations to write are {', '.join(TARGETS)}, not {target!r}")


def _expression(pattern: Pattern, at: int) -> Expression:
    """Return a pattern as an expression."""
    parts = tuple([_expression(part, at) for part in pattern.parts])
    match pattern.kind:
        case "set":
            return Characters(at, pattern.ranges)
        case "row":
            return Row(at, parts)
        case "choice":
            return Choice(at, parts)
        case _:
            return Repeated(at, parts[0], pattern.least, pattern.most)


class _LarkRules:
    """The rules of a grammar of Lark's as rules over characters.

    Attributes
    ----------
    rules : dict of str to Rule
        They.
    root : str
        The one with which the grammar starts.
    wider_for : list of str
        Why they may allow more texts.
    """

    def __init__(self, grammar: Grammar) -> None:
        self.source = Source(grammar.text, grammar.source_path or "the grammar")
        self._grammar = grammar
        self._check()
        found = _without_unknown(every_rule_of(grammar))
        names = NameAllocator()
        self._rules = {
            name: names.new(name) for name in dict.fromkeys(p.left for p in found.productions)
        }
        self._terminals = {each.name: names.new(each.name) for each in found.terminals}
        self._special = dict(found.special)
        self._ignored = names.new("ignored") if found.ignored else None
        self.wider_for = self._differences(found)
        self.rules: dict[str, Rule] = {}
        self.root = self._rules.get(found.start, found.start)
        self._add_rules(found)
        for terminal in found.terminals:
            self._add(self._terminals[terminal.name], self._terminal(terminal))
        if self._ignored is not None:
            parts = tuple([Name(0, self._terminals[name]) for name in found.ignored])
            self._add(self._ignored, Repeated(0, _one_of(parts), 0, None))
            root = names.new("sentence")
            self._add(root, Row(0, (Name(0, self._ignored), Name(0, self.root))))
            self.root = root

    def _check(self) -> None:
        grammar = self._grammar
        if type(grammar).own_machine is not Grammar.own_machine:
            raise GrammarError(
                "this grammar is more than its text in Lark's language, as with a schema or a "
                "monitor; its `text` alone can be converted: Grammar(grammar.text)"
            )
        if grammar.postlex is not None:
            raise GrammarError(
                "an indenter (postlex) counts columns, which rules cannot say; write the blocks "
                "with brackets"
            )

    def _differences(self, found: Rules) -> list[str]:
        """Return why the rules may allow more texts than the grammar."""
        grammar = self._grammar
        reasons = [
            f"{what} refuses some texts that the rules allow"
            for what, is_there in (
                ("restrict", bool(grammar.restrict)),
                ("keywords", grammar.keywords is not None),
                ("max_ignored", grammar.max_ignored is not None),
            )
            if is_there
        ]
        if grammar.parser == "lalr":
            why = why_fewer(load(grammar))
        elif grammar.lexer != "dynamic_complete":
            why = f"Lark's lexer ({grammar.lexer}) tries one end of each terminal only"
        elif found.ignored:
            why = "Lark decides where ignored text ends before it reads on"
        else:
            bad = [
                t.name
                for t in found.terminals
                if not t.is_string and not is_longest_first(t.pattern)
            ]
            why = f"{bad[0]} prefers short matches, and Lark tries no longer ones" if bad else None
        if why is not None and grammar.parser == "lalr":
            why = f"Lark's lexer takes one terminal at each place and never goes back, and {why}"
        return [*reasons, *([why] if why is not None else [])]

    def _add(self, name: str, body: Expression) -> None:
        self.rules[name] = without_itself(Rule(self._at(name), name, body))

    def _at(self, name: str) -> int:
        return self._places.get(name, 0)

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where each name begins a line of the grammar first."""
        lines = [*_LINE.finditer(self.source.text)]
        return {found[1]: found.start() for found in reversed(lines)}

    def _add_rules(self, found: Rules) -> None:
        rights: dict[str, list[Expression]] = {}
        texts = {each.name: each for each in found.terminals}
        for production in found.productions:
            parts: list[Expression] = []
            for symbol in production.right:
                if not symbol.is_terminal:
                    parts.append(Name(0, self._rules[symbol.name]))
                    continue
                parts.append(self._use(symbol.name, texts.get(symbol.name)))
                if self._ignored is not None:
                    parts.append(Name(0, self._ignored))
            row = parts[0] if len(parts) == 1 else Row(0, tuple(parts))
            rights.setdefault(production.left, []).append(row)
        for left, rows in rights.items():
            self._add(self._rules[left], _one_of(tuple(rows)))

    def _use(self, name: str, terminal: TerminalText | None) -> Expression:
        if name in self._special:
            return Special(self._at(name), frozenset(self._special[name]))
        assert terminal is not None
        if terminal.is_string and not terminal.flags:
            return Text(0, terminal.value)
        return Name(0, self._terminals[name])

    def _terminal(self, terminal: TerminalText) -> Expression:
        at = self._at(terminal.name)
        try:
            tree = syntax.parse(terminal.pattern, self._grammar.regex_flags)
        except (re.error, RecursionError, CfgGuideError) as error:
            raise self.source.error(at, f"{terminal.name} cannot be read: {error}") from None

        def refusal(_: object) -> CfgGuideError:
            return self.source.error(
                at,
                f"{terminal.name} looks around, which no rule can say: {terminal.value[:60]}; "
                "write the terminal without look-ahead, look-behind, anchors and \\b",
            )

        if any(isinstance(node, syntax.Unsupported) for node in syntax.walk(tree.nodes)):
            raise refusal(None)
        return expression_of(nodes_of(tree.nodes, tree.flags), 0, refusal, has_texts=True)


def _without_unknown(rules: Rules) -> Rules:
    """Return rules without what needs a terminal that has no pattern: nothing spells it."""
    known = {each.name for each in rules.terminals} | {name for name, _ in rules.special}
    kept, size = list(rules.productions), -1
    while len(kept) != size:
        size = len(kept)
        named = known | {production.left for production in kept}
        kept = [each for each in kept if named.issuperset(symbol.name for symbol in each.right)]
    return replace(rules, productions=tuple(kept))


def _one_of(options: tuple[Expression, ...]) -> Expression:
    return options[0] if len(options) == 1 else Choice(0, options)
