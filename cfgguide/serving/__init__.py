"""Inside engines that serve many requests: one matcher for each, one backend for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.serving.backend import Backend as Backend
    from cfgguide.serving.backend import Metrics as Metrics
    from cfgguide.serving.matcher import Matcher as Matcher
    from cfgguide.serving.matcher import fill_bitmasks as fill_bitmasks
    from cfgguide.serving.mlx import MlxProcessor as MlxProcessor

_NAMES = {
    "Backend": "backend",
    "Matcher": "matcher",
    "Metrics": "backend",
    "MlxProcessor": "mlx",
    "fill_bitmasks": "matcher",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
