"""From the text so far to the tokens that may follow.

Knows no notation of grammars, and no Lark. What it knows of a grammar is a *machine*
(``machine.protocol``): it reads bytes and makes masks. What it knows of a tokenizer is a
vocabulary. An ``index`` remembers the masks of one machine for one vocabulary.

Read in this order: ``vocabulary``, ``lexer``, ``machine``, ``masks``, ``liveness``, ``index``; then
``byte_machine`` for JSON Schemas, ``monitors`` for what no grammar says, ``precompute``.
"""
