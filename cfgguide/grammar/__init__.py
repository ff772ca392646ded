"""Grammars as users write them, and what Lark makes of them.

The only folder that knows Lark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.grammar.grammar import Grammar as Grammar
    from cfgguide.grammar.indenters import CPythonIndenter as CPythonIndenter
    from cfgguide.grammar.indenters import Python312Indenter as Python312Indenter

_NAMES = {
    "CPythonIndenter": "grammar.indenters",
    "Grammar": "grammar.grammar",
    "Python312Indenter": "grammar.indenters",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
