"""Sampling, beam search and steering with any model that maps token ids to logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.decoding.beams import beam_search as beam_search
    from cfgguide.decoding.sampling import Sample as Sample
    from cfgguide.decoding.sampling import sample as sample
    from cfgguide.decoding.sampling import sample_many as sample_many
    from cfgguide.decoding.smc import SMCResult as SMCResult
    from cfgguide.decoding.smc import steer as steer

_NAMES = {
    "Sample": "sampling",
    "SMCResult": "smc",
    "beam_search": "beams",
    "sample": "sampling",
    "sample_many": "sampling",
    "steer": "smc",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
