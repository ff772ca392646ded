"""The scanner: the union FSM of every set of terminals, and what it must look ahead for.

Knows no stacks. Lark's contextual lexer has one scanner for each set of
terminals that a parse state accepts; each is one FSM here, whose state is the tuple of its
terminals' states. What must come true of the text after a lexeme is an obligation.

Read first: ``scanner``, ``lookahead``; ``shortest_lexemes`` and ``lexeme_ends`` serve endings.
"""
