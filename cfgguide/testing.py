"""For your own tests: checks of what you write for cfgguide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.diagnostics.monitor_checks import check_monitor as check_monitor

_NAMES = {
    "check_monitor": "diagnostics.monitor_checks",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
