"""Grammars as users write them, and what Lark makes of them.

The only folder that knows Lark.
"""
