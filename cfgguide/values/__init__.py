"""Numbers, dates and addresses as regular languages and as grammars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.values.values import boolean as boolean
    from cfgguide.values.values import date as date
    from cfgguide.values.values import date_time as date_time
    from cfgguide.values.values import integer as integer
    from cfgguide.values.values import ipv4 as ipv4
    from cfgguide.values.values import number as number
    from cfgguide.values.values import time as time
    from cfgguide.values.values import uuid as uuid

_NAMES = {
    "boolean": "values",
    "date": "values",
    "date_time": "values",
    "integer": "values",
    "ipv4": "values",
    "number": "values",
    "time": "values",
    "uuid": "values",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
