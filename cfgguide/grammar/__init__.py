"""Grammars as users write them, in any notation, and what Lark makes of them.

The only room with Lark; knows no vocabulary. Every notation ends as a ``Grammar`` in Lark's
language, and what Lark itself builds of that is the truth: its parse tables, the order of its
terminals, what it refuses.

Read first: ``grammar`` (what a user holds), ``lark_frontend`` (what Lark is asked for),
``rejections`` (what is refused, and why). ``lr`` has tables and stacks, ``combinators`` grammars of
parts, ``notations`` GBNF and EBNF, ``llguidance`` another engine's dialect.
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
