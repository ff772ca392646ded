"""Grammars in llguidance's dialect, translated into Lark's own language."""
