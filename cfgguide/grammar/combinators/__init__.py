"""Grammars made of parts: regular expressions, choices, free text, tokens, sequences."""
