"""Monitors: what a grammar cannot say of a text, such as which names are known.

A monitor follows the lexemes and reductions of a text, and says which texts may come next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.engine.monitors.monitor import Monitor as Monitor
    from cfgguide.engine.monitors.monitored_grammar import MonitoredGrammar as MonitoredGrammar
    from cfgguide.engine.monitors.text_sets import NOTHING as NOTHING
    from cfgguide.engine.monitors.text_sets import AllBut as AllBut
    from cfgguide.engine.monitors.text_sets import OneOf as OneOf
    from cfgguide.engine.monitors.text_sets import Texts as Texts
    from cfgguide.languages.python_grammar import python_names as python_names

_NAMES = {
    "NOTHING": "engine.monitors.text_sets",
    "AllBut": "engine.monitors.text_sets",
    "Monitor": "engine.monitors.monitor",
    "MonitoredGrammar": "engine.monitors.monitored_grammar",
    "OneOf": "engine.monitors.text_sets",
    "Texts": "engine.monitors.text_sets",
    "python_names": "languages.python_grammar",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
