"""Pictures of regular expressions, scanners, parsers, tries and masks, drawn from the real objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.draw.machines import fsm as fsm
    from cfgguide.draw.machines import scanner as scanner
    from cfgguide.draw.machines import terminal as terminal
    from cfgguide.draw.picture import Picture as Picture

_NAMES = {
    "Picture": "picture",
    "fsm": "machines",
    "scanner": "machines",
    "terminal": "machines",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
