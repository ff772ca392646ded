"""Regular expressions as automata over bytes, exactly as Python's ``re`` matches.

Knows nothing of grammars, vocabularies or Lark.
"""
