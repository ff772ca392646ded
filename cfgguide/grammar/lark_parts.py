"""Parts that Lark lets others replace, as cfgguide wants them.

Lark takes the classes of its lexers and its parser from its option ``_plugins``. Ours leave out a
comparison of terminals that may take any time, and keep what Lark only logs. Lark itself stays as
it was.
"""

from __future__ import annotations

import sys
from copy import copy
from functools import partial
from threading import Lock
from typing import Any

from lark import load_grammar
from lark.lexer import BasicLexer, ContextualLexer
from lark.parsers.lalr_analysis import LALR_Analyzer
from lark.parsers.lalr_parser import LALR_Parser

_LOCK = Lock()


def build_reader_of_grammars() -> None:
    """Have Lark build the parser with which it reads grammars, unless it already has.

    Lark builds it once in a process, and compares all of its terminals for 0.1 s. They are Lark's
    own and never change, so its private ``LexerConf`` is replaced by one without this check while
    the parser is built, and restored afterwards.
    """
    module: Any = load_grammar
    with _LOCK:
        if hasattr(module._get_parser, "cache"):
            return
        original = module.LexerConf
        module.LexerConf = partial(original, skip_validation=True)
        try:
            module._get_parser()
        finally:
            module.LexerConf = original


class _Uncompared:
    """Stands for a comparison of terminals that has already shown enough collisions.

    Lark compares all terminals with interegular, which may take any time. Unless it is strict, it
    only logs what it finds. All its other checks stay.
    """

    def count_marked_pairs(self) -> int:
        return sys.maxsize


class Basic(BasicLexer):
    """A lexer whose terminals are not compared."""

    def __init__(self, conf: Any, comparator: Any = None) -> None:
        super().__init__(conf, _Uncompared())


class Contextual(ContextualLexer):
    """A contextual lexer that checks the terminals that some state tries, but compares none."""

    def __init__(self, conf: Any, states: Any, always_accept: Any = ()) -> None:
        tried = {
            *always_accept,
            *conf.ignore,
            *(name for names in states.values() for name in names),
        }
        checked = copy(conf)
        checked.terminals = [terminal for terminal in conf.terminals if terminal.name in tried]
        Basic(checked)
        unchecked = copy(conf)
        unchecked.skip_validation = True
        super().__init__(unchecked, states, always_accept)


class Parser(LALR_Parser):
    """Keeps what Lark only logs: the lookaheads of the conflicts that it resolved."""

    def __init__(self, parser_conf: Any, debug: bool = False, strict: bool = False) -> None:
        analysis = LALR_Analyzer(parser_conf, debug=debug, strict=strict)
        analysis.compute_lalr()  # type: ignore[no-untyped-call]
        self._parse_table = analysis.parse_table
        self.parser_conf = parser_conf
        self.conflicts = {
            str(lookahead.name)
            for state in analysis.lr0_itemsets
            for lookahead, rules in state.lookaheads.items()
            if len(rules) > 1 or lookahead in state.transitions
        }
