"""Grammars in the notations of other engines: GBNF, XGrammar's EBNF, and W3C's."""
