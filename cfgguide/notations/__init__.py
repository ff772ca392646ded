"""Grammars in the notations of other engines: GBNF, XGrammar's EBNF, and W3C's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.notations.read import Converted as Converted
    from cfgguide.notations.read import ebnf as ebnf
    from cfgguide.notations.read import gbnf as gbnf
    from cfgguide.notations.read import w3c as w3c

_NAMES = {
    "Converted": "read",
    "ebnf": "read",
    "gbnf": "read",
    "w3c": "read",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
