"""Configuration to vocabulary subset: made once, found again, saved, shared, built ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.index.compiler import compile_recognizer as compile_recognizer
    from cfgguide.index.index import Index as Index
    from cfgguide.index.pool import IndexPool as IndexPool
    from cfgguide.index.precompute import Precomputed as Precomputed
    from cfgguide.index.precompute import precompute_masks as precompute_masks

_NAMES = {
    "Index": "index",
    "IndexPool": "pool",
    "Precomputed": "precompute",
    "compile_recognizer": "compiler",
    "precompute_masks": "precompute",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
