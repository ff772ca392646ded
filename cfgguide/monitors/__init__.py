"""Monitors: what a grammar cannot say of a text, such as which names are known.

A monitor follows the lexemes and reductions of a text, and says which texts may come next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.monitors.c_grammar import c_names as c_names
    from cfgguide.monitors.monitor import Monitor as Monitor
    from cfgguide.monitors.monitored_grammar import MonitoredGrammar as MonitoredGrammar
    from cfgguide.monitors.python_grammar import python_names as python_names
    from cfgguide.monitors.texts import NOTHING as NOTHING
    from cfgguide.monitors.texts import AllBut as AllBut
    from cfgguide.monitors.texts import OneOf as OneOf
    from cfgguide.monitors.texts import Texts as Texts

_NAMES = {
    "NOTHING": "texts",
    "AllBut": "texts",
    "Monitor": "monitor",
    "MonitoredGrammar": "monitored_grammar",
    "OneOf": "texts",
    "Texts": "texts",
    "c_names": "c_grammar",
    "python_names": "python_grammar",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
