"""Masks made before their first use, by this process or by several, on top of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.precompute.masks import Precomputed as Precomputed
    from cfgguide.precompute.masks import precompute_masks as precompute_masks
    from cfgguide.precompute.once import built_once as built_once

_NAMES = {"Precomputed": "masks", "built_once": "once", "precompute_masks": "masks"}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
