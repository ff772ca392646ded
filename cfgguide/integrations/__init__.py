"""Masks inside other people's libraries: torch, transformers, llama.cpp."""
