"""Reads llguidance's dialect of Lark's language."""
