"""Masks made before their first use, by this process or by several, on top of an index."""
