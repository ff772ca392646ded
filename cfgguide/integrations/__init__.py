"""Masks inside other people's libraries: torch, transformers, llama.cpp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.integrations.bitmask import apply_bitmask as apply_bitmask
    from cfgguide.integrations.dense_mask import additive_mask as additive_mask
    from cfgguide.integrations.dense_mask import bool_mask as bool_mask
    from cfgguide.integrations.generation import Generation as Generation
    from cfgguide.integrations.generation import generate as generate
    from cfgguide.integrations.llama_cpp import LlamaCppProcessor as LlamaCppProcessor
    from cfgguide.integrations.transformers_batching import guide_requests as guide_requests
    from cfgguide.integrations.transformers_model import TransformersModel as TransformersModel
    from cfgguide.integrations.transformers_processor import LogitsProcessor as LogitsProcessor

_NAMES = {
    "Generation": "generation",
    "LlamaCppProcessor": "llama_cpp",
    "LogitsProcessor": "transformers_processor",
    "TransformersModel": "transformers_model",
    "additive_mask": "dense_mask",
    "apply_bitmask": "bitmask",
    "bool_mask": "dense_mask",
    "generate": "generation",
    "guide_requests": "transformers_batching",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
