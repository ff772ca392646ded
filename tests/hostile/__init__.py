"""Hostile grammars, patterns and schemas: each works, or is refused in time.

`cases` is the corpus, from data files and from `generated_*` where a case is large; `run` runs a
case in a process of its own and measures what it took; ``python -m hostile`` prints a table.
Beyond the corpus, `tables` has what random texts are made of and `derivations` draws and changes
them, `attack` is all that is done with one, and `search` climbs to the worst.
"""
