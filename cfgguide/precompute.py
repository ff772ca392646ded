"""Masks made before their first use, by this process or by several, on top of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.engine.precompute.ahead import Precomputed as Precomputed
    from cfgguide.engine.precompute.ahead import precompute_masks as precompute_masks
    from cfgguide.engine.precompute.once import built_once as built_once

_NAMES = {
    "Precomputed": "engine.precompute.ahead",
    "built_once": "engine.precompute.once",
    "precompute_masks": "engine.precompute.ahead",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
