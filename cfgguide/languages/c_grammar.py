"""C whose names are types by their declarations: the tokens of C with a monitor."""

from __future__ import annotations

from collections.abc import Iterable

from cfgguide.engine.monitors.monitored_grammar import MonitoredGrammar
from cfgguide.grammar.grammar import Grammar
from cfgguide.languages.c_monitor import CNames, CStack
from cfgguide.languages.c_scopes import NONE
from cfgguide.languages.c_tables import row_of_tokens, tables


def c_names(types: Iterable[str] = (), *, start: str = "start") -> MonitoredGrammar:
    """Return a grammar of C11 in which those names are types that were made so by `typedef`.

    It is the bundled grammar in all else, but has no `#pragma` lines, which begin like white space.
    Scopes are C's: a type of a block ends with it, and declarations hide what is outside of them.

    Parameters
    ----------
    types : iterable of str, optional
        Names that are types before the text, such as ``size_t``.
    start : str, optional
        A start rule of the bundled grammar.

    Examples
    --------
    >>> import cfgguide
    >>> index = cfgguide.compile(c_names(["size_t"]), cfgguide.Vocabulary.of_bytes())
    >>> def accepts(text):
    ...     guide = cfgguide.Guide(index)
    ...     return all(guide.accepts(byte) and not guide.advance(byte) for byte in text.encode())
    >>> accepts("typedef size_t number; number *x;"), accepts("size_t number; number *x;")
    (True, False)
    """
    chosen = tables(start)
    grammar = Grammar(row_of_tokens())
    CNames.terminals = _terminals(grammar)
    scope = NONE
    for name in sorted(set(types)):
        scope = scope.declared(name, is_type=True)
    return grammar.watched_by(CNames(chosen, CStack.first(0, (), None), (scope,)))


def _terminals(grammar: Grammar) -> frozenset[str]:
    row = grammar.text.split("_token: ", 1)[1].split("\n", 1)[0]
    return frozenset(row.split(" | "))
