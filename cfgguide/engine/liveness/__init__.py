"""Whether a sentence can follow: lexer, parser and vocabulary as one pushdown system."""
