"""Terminals of llguidance's dialect as patterns of Python's ``re``.

In: the expression of a terminal, in which texts, regular expressions and other terminals stand.
Out: one pattern that matches the same texts as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.pattern_reader import NotationError
from cfgguide.automata.pattern_text import any_case
from cfgguide.automata.rewrite import escaped, rewritten
from cfgguide.automata.rust_patterns import MAX_CHARACTERS, as_python
from cfgguide.base.limits import Budget, Limits
from cfgguide.errors import CfgGuideError, LimitError
from cfgguide.grammar.combinators.parts import Regular
from cfgguide.grammar.combinators.patterns import regular
from cfgguide.grammar.llguidance import languages
from cfgguide.grammar.llguidance.substrings import pattern_of
from cfgguide.grammar.notations.character_patterns import written_set
from cfgguide.grammar.rules.facts import not_known
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
    Schema,
    Special,
    Substring,
    Text,
)

#: Terminals that one is made of, each by the one before.
MAX_NESTING = 50
_SMALL = Limits(max_nfa_states=1000, max_fsm_states=200)
NOTHING = r"[^\s\S]"  # matches no text
_NOT_IN_TERMINALS = {
    Special: "a token cannot stand in a terminal; write the name of a rule, in lower case",
    Reference: "a grammar cannot stand in a terminal; write the name of a rule, in lower case",
    Schema: "%json cannot stand in a terminal; write the name of a rule, in lower case",
    Nested: "%lark cannot stand in a terminal; write the name of a rule, in lower case",
}


def unknown(source: Source, document: Document, name: Name) -> CfgGuideError:
    """Return the error about a name that is not defined."""
    return source.error(
        name.at,
        not_known(f"{name.name} is not defined", name.name, [*document.rules, *document.terminals]),
    )


class Terminals:
    """The patterns of a grammar's terminals.

    Parameters
    ----------
    source : Source
        The grammar's text.
    document : Document
        What it says.
    """

    def __init__(self, source: Source, document: Document) -> None:
        self._source = source
        self._document = document
        self._known: dict[str, str] = {}
        self._open: list[str] = []

    def named(self, name: Name) -> str:
        """Return the pattern of a terminal.

        Raises
        ------
        GrammarError, LimitError
            If there is none, or it cannot be one pattern.
        """
        if name.name in self._known:
            return self._known[name.name]
        if name.name in self._document.rules:
            self._fail(name.at, f"a terminal is not made of rules, and {name.name} is one")
        if name.name not in self._document.terminals:
            raise unknown(self._source, self._document, name)
        if name.name in self._open:
            self._fail(name.at, f"the terminal {name.name} is a part of itself; use rules for that")
        if len(self._open) >= MAX_NESTING:
            said = f"more than {MAX_NESTING} terminals, each a part of the one before"
            raise self._source.error(name.at, said, LimitError)
        self._open.append(name.name)
        self._known[name.name] = self.pattern(self._document.terminals[name.name].body)
        self._open.pop()
        return self._known[name.name]

    def pattern(self, expression: Expression) -> str:
        """Return the pattern of an expression that stands for text alone.

        Raises
        ------
        GrammarError, LimitError
            If it has parts that are no text, or it cannot be one pattern.
        """
        found = self._pattern(expression)
        if len(found) > MAX_CHARACTERS:
            said = f"this is more than {MAX_CHARACTERS} characters as a regular expression"
            raise self._source.error(expression.at, said, LimitError)
        return found

    def _pattern(self, expression: Expression) -> str:
        match expression:
            case Text():
                text = expression.text
                return any_case(text) if expression.ignores_case else escaped(text)
            case Characters():
                return written_set(expression.ranges)
            case Pattern():
                return self._of_rust(expression.at, expression.pattern, expression.flags)
            case Name():
                return self.named(expression)
            case Substring():
                return self._substring(expression)
            case Row():
                return "".join(f"(?:{self.pattern(each)})" for each in expression.parts)
            case Choice():
                return "|".join(self.pattern(each) for each in expression.parts)
            case Repeated():
                most = "" if expression.most is None else expression.most
                return f"(?:{self.pattern(expression.part)}){{{expression.least},{most}}}"
            case Both():
                parts = [self.pattern(each) for each in expression.parts]
                return self._computed(expression.at, lambda: languages.both(parts))
            case Not():
                part = self.pattern(expression.part)
                return self._computed(expression.at, lambda: languages.without(part))
            case _:
                pass
        raise self._source.error(expression.at, _NOT_IN_TERMINALS[type(expression)])

    def _substring(self, expression: Substring) -> str:
        try:
            found = pattern_of(expression.chunks)
        except ValueError as error:
            raise self._source.error(expression.at, str(error), LimitError) from None
        return f"(?:{found})?" if found else ""

    def _of_rust(self, at: int, pattern: str, flags: str) -> str:
        try:
            return as_python(pattern, flags)
        except NotationError as error:
            self._fail(at + 1 + error.at, error.said)

    def _computed(self, at: int, compute: Callable[[], str | None]) -> str:
        try:
            return compute() or NOTHING
        except LimitError as error:
            raise self._source.error(at, str(error.args[0]), LimitError) from None

    def first_ends(self, at: int, pattern: str, others: list[str]) -> str:
        """Return a pattern of texts that do not go on after a first end, of theirs or of others.

        Raises
        ------
        LimitError
            If it would be too long.
        """
        return self._computed(at, lambda: languages.first_ends(pattern, others))

    def checked(self, at: int, pattern: str) -> str:
        """Return a pattern as Lark should have it: what takes more comes first.

        Raises
        ------
        LimitError
            If it nests too deeply.
        """
        try:
            return rewritten(pattern)[0]
        except CfgGuideError as error:
            raise self._source.error(at, str(error.args[0]), type(error)) from None

    def regular(self, at: int, pattern: str) -> Regular:
        """Return the part of a grammar for the texts of a pattern, as :meth:`checked` has it.

        Where it can be written so, ``re`` prefers the longest match, as llguidance does.

        Raises
        ------
        LimitError
            If it is too large.
        """
        try:
            found = regular(pattern)
        except CfgGuideError as error:
            raise self._source.error(at, str(error.args[0]), type(error)) from None
        if found.is_longest_first:
            return found
        try:  # written anew from its automaton, if that is small, it may prefer the longest match
            fsm_of_pattern(pattern, name="TEXT", budget=Budget(_SMALL))
            again = regular(rewritten(languages.both([pattern]) or pattern)[0])
        except CfgGuideError:
            return found
        return again if again.is_longest_first else found

    def _fail(self, at: int, said: str) -> NoReturn:
        raise self._source.error(at, said)
