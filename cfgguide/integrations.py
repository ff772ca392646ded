"""Masks inside other people's libraries: torch, transformers, llama.cpp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.guide.repetition import Loop as Loop
    from cfgguide.models.bitmask import apply_bitmask as apply_bitmask
    from cfgguide.models.decoding.confidence import Confidence as Confidence
    from cfgguide.models.dense_mask import additive_mask as additive_mask
    from cfgguide.models.dense_mask import bool_mask as bool_mask
    from cfgguide.models.llama_cpp import LlamaCppProcessor as LlamaCppProcessor
    from cfgguide.models.transformers.causal_model import TransformersModel as TransformersModel
    from cfgguide.models.transformers.continuous_batching import guide_requests as guide_requests
    from cfgguide.models.transformers.generation import generate as generate
    from cfgguide.models.transformers.generation import stream as stream
    from cfgguide.models.transformers.logits_processor import LogitsProcessor as LogitsProcessor
    from cfgguide.models.transformers.streaming import Generation as Generation
    from cfgguide.models.transformers.streaming import Part as Part
    from cfgguide.models.transformers.streaming import Stream as Stream

_NAMES = {
    "Confidence": "models.decoding.confidence",
    "Generation": "models.transformers.streaming",
    "LlamaCppProcessor": "models.llama_cpp",
    "Loop": "guide.repetition",
    "LogitsProcessor": "models.transformers.logits_processor",
    "Part": "models.transformers.streaming",
    "Stream": "models.transformers.streaming",
    "TransformersModel": "models.transformers.causal_model",
    "additive_mask": "models.dense_mask",
    "apply_bitmask": "models.bitmask",
    "bool_mask": "models.dense_mask",
    "generate": "models.transformers.generation",
    "guide_requests": "models.transformers.continuous_batching",
    "stream": "models.transformers.generation",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
