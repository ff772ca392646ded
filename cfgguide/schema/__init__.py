"""JSON Schema, and messages around JSON values, as a byte machine.

Knows no parse table. A schema goes through Lark's tables only where a vocabulary lacks bytes that
JSON needs. What may come inside of an object or array follows from which schemas still have to hold
for it (``members``), and the ``solver`` says which of these can. A schema's text in Lark's language
(``writer``) is the judge of tests, and what ``concat`` writes where a machine cannot be embedded.

Read first: ``json_schema`` (what a user calls), ``reader``, ``solver``, ``automaton``, ``members``,
then ``completions``, ``unique`` and ``repeated_parts`` for items that are to be different,
``endings``; ``messages`` last.
"""
