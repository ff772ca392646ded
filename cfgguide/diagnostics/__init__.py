"""Why: reports about grammars and tokenizers, and explanations of single tokens."""
