"""What a model writes around its values: thinking, text, and calls of tools.

A message is a schema's machine with a ``structure`` around it: fixed texts, free texts with ends,
special tokens, choices. The next byte tells whether a value begins.

Read first: ``structural_tag``, ``parts``, ``structure``, ``message_automaton``,
``token_limits``; ``tools`` and ``formats`` for calls.
"""
