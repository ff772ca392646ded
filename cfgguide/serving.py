"""Inside engines that serve many requests: one matcher for each, one backend for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.models.serving.backend import Backend as Backend
    from cfgguide.models.serving.backend import Metrics as Metrics
    from cfgguide.models.serving.client import Client as Client
    from cfgguide.models.serving.matcher import Matcher as Matcher
    from cfgguide.models.serving.matcher import fill_bitmasks as fill_bitmasks
    from cfgguide.models.serving.mlx import MlxProcessor as MlxProcessor

_NAMES = {
    "Backend": "models.serving.backend",
    "Client": "models.serving.client",
    "Matcher": "models.serving.matcher",
    "Metrics": "models.serving.backend",
    "MlxProcessor": "models.serving.mlx",
    "fill_bitmasks": "models.serving.matcher",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
