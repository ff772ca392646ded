"""The state of one sequence: masks, advancing, budgets, forced text, healing, loops.

Knows no machine but by its protocol, and no framework: masks go into arrays that a caller gives.
A ``Guide`` is the only object of the pipeline that changes.

Read first: ``guide``, ``buffers``, ``batch``; then ``budget``, ``forced``, ``healing``,
``repetition``.
"""
