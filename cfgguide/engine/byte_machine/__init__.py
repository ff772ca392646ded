"""The byte machine: a deterministic pushdown automaton, made as texts are read, and its walk.

Knows no schema, only how JSON writes strings and numbers: a subclass of ``Pushdown`` makes the row
of a state when a text first comes there. States inside of strings without conditions are the same
in every automaton, and so are their masks (``shared_masks``). What a text remembers
(``seen_parts``) stands beside the state and the stack.

A pattern alone is such a string without quotes (``text_machine``); a walk takes whole what any
characters lead on from (:mod:`cfgguide.base.kinds`).

Read first: ``automaton``, ``byte_machine``, ``byte_walker``, ``byte_kernels``; then ``scalars`` for
strings and numbers, ``shared_masks``, ``outcomes``.
"""
