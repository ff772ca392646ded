"""Regular expressions as automata over bytes, exactly as Python's ``re`` matches.

Knows nothing of grammars, vocabularies or Lark. A pattern goes from a tree (``syntax``) to an NFA
whose paths have an order of preference (``nfa``, ``preference``), and from there to a DFA that
finds the same lexeme as ``re`` (``determinize``, ``dfa``, ``minimize``). Languages of whole texts,
where preference does not matter, are a thing of their own (``language``), with which numbers,
string formats and patterns are made. Patterns are read from ECMA's, Rust's and Python's notation
into one tree (``pattern_tree``).

Read first: ``syntax``, ``nfa``, ``determinize``, ``dfa``; then ``pattern_tree``,
``pattern_reader``, ``language``.
"""
