"""Grammars in llguidance's dialect of Lark's language, translated into Lark's own."""
