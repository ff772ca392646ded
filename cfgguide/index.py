"""Configuration to vocabulary subset: made once, found again, saved, shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.compiler import compile_recognizer as compile_recognizer
    from cfgguide.engine.index.index import Index as Index
    from cfgguide.index_pool import IndexPool as IndexPool

_NAMES = {
    "Index": "engine.index.index",
    "IndexPool": "index_pool",
    "compile_recognizer": "compiler",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
