"""The LALR(1) parser: stacks, tables, and what indentation adds to them.

Knows nothing of bytes or of Lark.
"""
