r"""Grammars in the notations of other engines, as grammars in Lark's language.

In: a text in GBNF (llama.cpp), in XGrammar's EBNF, or in the EBNF of W3C's specifications. Out: a
grammar for Lark's Earley parser with exactly the same texts (:class:`Converted`). In all of them a
grammar is over characters, and nothing is ignored between parts::

    root ::= "(" root ")" | [0-9]+     ->   start: root
                                            root: "(" root ")" | ROOT
                                            ROOT: /[0-9]+/
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cfgguide.base.limits import Budget, Limits
from cfgguide.errors import GrammarError, LimitError
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.notations.conversion import MAX_CHARACTERS, Conversion
from cfgguide.grammar.notations.ebnf_reader import read_ebnf
from cfgguide.grammar.notations.gbnf_reader import read_gbnf
from cfgguide.grammar.notations.mixed_up import advice
from cfgguide.grammar.notations.w3c_reader import read_w3c
from cfgguide.grammar.rules.facts import needed
from cfgguide.grammar.rules.source import Source, checked_text, with_advice
from cfgguide.grammar.rules.tree import Rule


@dataclass(frozen=True)
class Converted:
    """A grammar in Lark's language for ``lark.Lark(text, parser="earley", lexer=lexer)``.

    Attributes
    ----------
    text : str
        The grammar.
    start : str
        Its start rule.
    lexer : str
        Lark's `lexer`, with which a terminal may end wherever its pattern matches.
    special : dict of str to tuple
        The terminals that are tokens, each with their names or ids, as for
        :class:`~cfgguide.grammar.grammar.Grammar`.
    names : dict of str to str
        For each rule and terminal with a name, the rule of the text that it comes from.
    pattern : str or None
        A regular expression for the same texts, if there is one; in Python's notation.
    """

    text: str
    start: str = "start"
    lexer: str = "dynamic_complete"
    special: dict[str, tuple[str | int, ...]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    pattern: str | None = None

    @property
    def grammar(self) -> Grammar:
        """The grammar; one that is regular has an automaton for the whole text."""
        options: dict[str, Any] = {
            "parser": "earley",
            "lexer": self.lexer,
            "special": self.special,
        }
        if self.pattern is None:
            return Grammar(self.text, self.start, **options)
        return RegularGrammar(self.text, self.start, **options, pattern=self.pattern)


@dataclass(frozen=True, repr=False)
class RegularGrammar(Grammar):
    """A grammar that is regular as a whole: however many readings it has, an automaton has one.

    Attributes
    ----------
    pattern : str
        A regular expression for its texts, in Python's notation.
    """

    pattern: str = field(kw_only=True)

    @property
    def whole_pattern(self) -> str | None:
        """The regular expression that all texts match as a whole."""
        return self.pattern


def gbnf(text: str, *, root: str = "root", limits: Limits | None = None) -> Converted:
    r"""Return a grammar from a text in GBNF, llama.cpp's notation.

    Rules may call themselves at their left end, which llama.cpp refuses.

    Parameters
    ----------
    text : str
        The grammar.
    root : str
        The rule with which it starts.
    limits : Limits, optional
        What reading may cost: `max_seconds` and `max_memory`.

    Raises
    ------
    GrammarError
        If the text is not in the notation, or has what a grammar here cannot say, such as all
        tokens but one. The message points to the place.
    LimitError
        If it is too large.

    Examples
    --------
    >>> print(gbnf('root ::= [a-z]+ ("," root)? <|end|>').text)
    start: root
    root: ROOT root_2? END
    root_2: "," root
    ROOT: /[a-z]+/
    %declare END
    """
    return _converted(text, root, "gbnf", limits)


def ebnf(text: str, *, root: str = "root", limits: Limits | None = None) -> Converted:
    """Return a grammar from a text in XGrammar's EBNF.

    Parameters
    ----------
    text : str
        The grammar.
    root : str
        The rule with which it starts.
    limits : Limits, optional
        What reading may cost: `max_seconds` and `max_memory`.

    Raises
    ------
    GrammarError
        If the text is not in the notation, or has what a grammar here cannot say: macros that
        mean all tokens but some, rules that are lazy or count tokens. The message points to the
        place.
    LimitError
        If it is too large.

    Examples
    --------
    >>> ebnf("root ::= Token(3, 4)").special
    {'TOKENS': (3, 4)}
    """
    return _converted(text, root, "ebnf", limits)


def w3c(text: str, *, root: str | None = None, limits: Limits | None = None) -> Converted:
    """Return a grammar from a text in the EBNF of W3C's specifications.

    Parameters
    ----------
    text : str
        The grammar.
    root : str, optional
        The rule with which it starts; by default the first.
    limits : Limits, optional
        As for :func:`gbnf`.

    Raises
    ------
    GrammarError
        If the text is not in the notation. The message points to the place.
    LimitError
        If it is too large.

    Examples
    --------
    >>> print(w3c("letter ::= [#x61-#x7A] - [aeiou]").text)
    start: LETTER
    LETTER: /[b-df-hj-np-tv-z]/
    """
    return _converted(text, root, "w3c", limits)


_READERS: dict[str, Callable[[Source], dict[str, Rule]]] = {
    "gbnf": read_gbnf,
    "ebnf": read_ebnf,
    "w3c": read_w3c,
}


def reading(
    text: Any, notation: str, root: str | None, limits: Limits | None
) -> tuple[Source, dict[str, Rule], str, Conversion]:
    """Return what a text in a notation says: its rules, the start rule, and their conversion.

    Raises
    ------
    GrammarError, LimitError
        As :func:`gbnf`.
    """
    text = checked_text(text)
    if notation not in _READERS:
        raise GrammarError(f"the notations are {', '.join(_READERS)}, not {notation!r}")
    source = Source(text, "the grammar")
    budget = Budget(limits)
    budget.begin("reading the grammar")

    def read() -> tuple[Source, dict[str, Rule], str, Conversion]:
        try:
            rules = _READERS[notation](source)
            if not rules:
                raise source.error(0, "there is no rule; a rule is written name ::= ...")
            start = root or ("root" if notation != "w3c" else next(iter(rules)))
            needed(source, rules, start)
        except GrammarError as error:
            raise with_advice(error, advice(source.text, notation)) from None
        return source, rules, start, Conversion(source, rules, start)

    return budget.run(read)


def _converted(text: Any, root: str | None, notation: str, limits: Limits | None) -> Converted:
    _, _, _, found = reading(text, notation, root, limits)
    if sum(map(len, found.lines)) > MAX_CHARACTERS:
        raise LimitError(
            f"the grammar has more than {MAX_CHARACTERS} characters in Lark's language; give parts "
            "that stand in several places rules of their own"
        )
    return Converted(
        "\n".join(found.lines), special=found.special, names=found.names, pattern=found.pattern
    )
