"""Grammars in the notations of other engines: GBNF, XGrammar's EBNF, and W3C's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.grammar.notations.converted import Converted as Converted
    from cfgguide.grammar.notations.converted import ebnf as ebnf
    from cfgguide.grammar.notations.converted import gbnf as gbnf
    from cfgguide.grammar.notations.converted import w3c as w3c
    from cfgguide.grammar.notations.transcription import from_lark as from_lark
    from cfgguide.grammar.notations.transcription import translate as translate

_NAMES = {
    "Converted": "grammar.notations.converted",
    "ebnf": "grammar.notations.converted",
    "from_lark": "grammar.notations.transcription",
    "gbnf": "grammar.notations.converted",
    "translate": "grammar.notations.transcription",
    "w3c": "grammar.notations.converted",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
