"""Regular expressions as automata: languages of whole texts, and matches that ``re`` prefers.

Knows nothing of grammars, vocabularies or Lark. Python's, ECMA-262's and Rust's notations are read
into one tree (``pattern_tree``). Where a whole text has to match, one automaton over characters
reads that tree (``pattern_automaton``), lazily or at once, and languages are computed with
(``language``, ``side_by_side``). What automata read alike is a letter (``alphabet``). Terminals of
Lark are another question: which match ``re`` prefers. There, a pattern becomes an NFA over bytes
whose paths have an order (``nfa``, ``preference``), and from that a DFA that finds the same lexeme
(``determinize``, ``dfa``).

Read first: ``pattern_tree``, ``pattern_automaton``, ``language``; then ``syntax``, ``nfa``,
``determinize``.
"""
