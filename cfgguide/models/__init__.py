"""Loads a local model, or SmolLM2 from the package index."""

from cfgguide.models.load import load_model as load_model
from cfgguide.models.load import load_tokenizer as load_tokenizer
