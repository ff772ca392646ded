"""Lexer and parser together, byte by byte, as Lark would read.

Knows nothing of vocabularies.
"""
