"""Sampling, beam search and steering with any model that maps token ids to logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.models.decoding.beams import beam_search as beam_search
    from cfgguide.models.decoding.sampling import Sample as Sample
    from cfgguide.models.decoding.sampling import sample as sample
    from cfgguide.models.decoding.sampling import sample_many as sample_many
    from cfgguide.models.decoding.smc import SMCResult as SMCResult
    from cfgguide.models.decoding.smc import steer as steer

_NAMES = {
    "Sample": "models.decoding.sampling",
    "SMCResult": "models.decoding.smc",
    "beam_search": "models.decoding.beams",
    "sample": "models.decoding.sampling",
    "sample_many": "models.decoding.sampling",
    "steer": "models.decoding.smc",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
