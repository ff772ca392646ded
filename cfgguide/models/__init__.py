"""Masks in a model's loop, whatever runs the model.

Uses the public methods of guides; nothing below it knows torch. ``decoding`` needs no framework,
``transformers`` plugs into Hugging Face's, ``serving`` into engines with many requests at once.

Read first: ``decoding``, ``bitmask``, ``dense_mask``; ``load`` finds a local model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.models.load import load_model as load_model
    from cfgguide.models.load import load_tokenizer as load_tokenizer
    from cfgguide.models.load import prepare_smollm2 as prepare_smollm2

_NAMES = {
    "load_model": "models.load",
    "load_tokenizer": "models.load",
    "prepare_smollm2": "models.load",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
