"""JSON values sorted by which schemas hold for them: what a schema can still become.

Knows no automaton of texts. Two values are of one class if the same nodes of a schema hold for
them, and whether there is a value of some classes is a question of finitely many cases.

Read first: ``nodes``, ``values``, ``search``; then ``plans`` and ``paths`` for objects and arrays,
``scalars`` for strings and numbers, ``truth`` for what combines schemas.
"""
