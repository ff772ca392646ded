"""LR parsers: states, tables, stacks, and what indentation adds to them. Knows no Lark.

A ``ParseTable`` is arrays, and a ``Stack`` an immutable list that shares its lower part, so that
configurations cost little and compare quickly.

Read first: ``table``, ``stack``, ``lalr``; ``general`` keeps conflicts for Lark's Earley parser.
"""
