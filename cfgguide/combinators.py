"""Grammars made of parts: regular expressions, choices, free text, tokens, sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.grammar.combinators.escaping import json_string as json_string
    from cfgguide.grammar.combinators.patterns import choice as choice
    from cfgguide.grammar.combinators.patterns import regex as regex
    from cfgguide.grammar.combinators.sequence import concat as concat
    from cfgguide.grammar.combinators.sequence import either as either
    from cfgguide.grammar.combinators.sequence import free_text as free_text
    from cfgguide.grammar.combinators.sequence import optional as optional
    from cfgguide.grammar.combinators.sequence import repeat as repeat
    from cfgguide.grammar.combinators.sequence import special as special

_NAMES = {
    "choice": "grammar.combinators.patterns",
    "concat": "grammar.combinators.sequence",
    "either": "grammar.combinators.sequence",
    "free_text": "grammar.combinators.sequence",
    "json_string": "grammar.combinators.escaping",
    "optional": "grammar.combinators.sequence",
    "regex": "grammar.combinators.patterns",
    "repeat": "grammar.combinators.sequence",
    "special": "grammar.combinators.sequence",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
