"""The byte machine: a deterministic pushdown automaton, made as texts are read, and its walk.

Knows no schema, only how JSON writes strings and numbers. What tells one machine from another is
its ``TextPushdown``, of a pattern, a schema or messages: it makes the row of a state when a text
first comes there, and is never asked for a mask. States inside of strings without conditions are
the same in every automaton, and so are their masks (``shared_masks``). What a text remembers
(``seen_parts``) stands beside the state and the stack.

A pattern alone is such a string without quotes (``pattern_pushdown``); a walk takes whole what any
characters lead on from (:mod:`cfgguide.base.kinds`).

Read first: ``automaton``, ``byte_machine``, ``byte_walker``, ``byte_kernels``; then ``scalars`` for
strings and numbers, ``shared_masks``, ``outcomes``.
"""
