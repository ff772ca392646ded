"""Numbers, dates and addresses as regular languages and as grammars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.grammar.combinators.values import boolean as boolean
    from cfgguide.grammar.combinators.values import date as date
    from cfgguide.grammar.combinators.values import date_time as date_time
    from cfgguide.grammar.combinators.values import integer as integer
    from cfgguide.grammar.combinators.values import ipv4 as ipv4
    from cfgguide.grammar.combinators.values import number as number
    from cfgguide.grammar.combinators.values import time as time
    from cfgguide.grammar.combinators.values import uuid as uuid

_NAMES = {
    "boolean": "grammar.combinators.values",
    "date": "grammar.combinators.values",
    "date_time": "grammar.combinators.values",
    "integer": "grammar.combinators.values",
    "ipv4": "grammar.combinators.values",
    "number": "grammar.combinators.values",
    "time": "grammar.combinators.values",
    "uuid": "grammar.combinators.values",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
