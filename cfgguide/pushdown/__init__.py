"""Deterministic pushdown automata over bytes, made as they are read, and their masks."""
