"""Whether a sentence can follow: lexer, parser and vocabulary as one pushdown system.

Decides exactly, and says how much of a stack that took. Most configurations are known to go on
whatever the stack is (``always_live``); the others are decided by what each state of the parser can
be left with (``stack_summaries``). Short endings of texts are found here too.

Read first: ``liveness``, ``always_live``, ``stack_summaries``; then ``endings``, ``proof``;
``stages`` is what compiling a grammar does here.
"""
