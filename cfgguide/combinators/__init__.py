"""Grammars made of parts: regular expressions, choices, free text, tokens, sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.combinators.escaping import json_string as json_string
    from cfgguide.combinators.patterns import choice as choice
    from cfgguide.combinators.patterns import regex as regex
    from cfgguide.combinators.sequence import concat as concat
    from cfgguide.combinators.sequence import either as either
    from cfgguide.combinators.sequence import free_text as free_text
    from cfgguide.combinators.sequence import optional as optional
    from cfgguide.combinators.sequence import repeat as repeat
    from cfgguide.combinators.sequence import special as special

_NAMES = {
    "choice": "patterns",
    "concat": "sequence",
    "either": "sequence",
    "free_text": "sequence",
    "json_string": "escaping",
    "optional": "sequence",
    "regex": "patterns",
    "repeat": "sequence",
    "special": "sequence",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
