"""Pushdown automata that are made as texts are read, and their masks."""
