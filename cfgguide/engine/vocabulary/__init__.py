"""Tokenizers: the bytes of every token, and the trie of all of them.

Knows nothing of grammars.
"""
