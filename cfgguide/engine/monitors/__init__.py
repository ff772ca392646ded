"""Monitors: what a grammar cannot say of a text, such as which names are known."""
