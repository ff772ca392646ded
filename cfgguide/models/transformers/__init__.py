"""Masks inside transformers."""
