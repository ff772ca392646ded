"""Python whose names are bound: the bundled grammar of Python with a monitor."""

from __future__ import annotations

import builtins as builtins_module
from collections.abc import Iterable

from cfgguide.engine.monitors.monitored_grammar import MonitoredGrammar
from cfgguide.grammar.grammar import Grammar
from cfgguide.languages.python_monitor import PythonNames

_OF_MODULES = ("__annotations__", "__builtins__", "__file__")


def python_names(builtins: Iterable[str] | None = None) -> MonitoredGrammar:
    """Return a grammar of Python files in which only names are read that are bound.

    A name counts as bound in its scope from its first binding on, in the order of the text and in
    any branch. So a function cannot use one that is defined below it. Fields of f-strings are read
    as other expressions. Annotations in strings are not looked into, and after
    ``from module import *`` nothing more is bound.

    Much else that `compile` refuses is refused too, such as `yield` outside functions; what follows
    Python 3.12 is not among the texts, since the grammar is that of 3.11.

    Parameters
    ----------
    builtins : iterable of str, optional
        The names that are bound before the text; by default Python's own.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary.of_bytes([b"y", b"len", b"lex"])
    >>> index = cfgguide.compile(python_names(), vocabulary)
    >>> guide = cfgguide.Guide(index)
    >>> for byte in b"y = 1; z = ":
    ...     guide.advance(byte)
    >>> tokens = [vocabulary.tokens[token_id] for token_id in guide.allowed_token_ids()]
    >>> b"y" in tokens, b"len" in tokens, b"lex" in tokens
    (True, True, True)
    """
    if builtins is None:
        builtins = (*(name for name in dir(builtins_module) if name != "_"), *_OF_MODULES)
    grammar = Grammar.bundled("python", start="program")
    return grammar.watched_by(PythonNames(frozenset(builtins)))
