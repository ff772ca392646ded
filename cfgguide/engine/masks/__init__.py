"""One walk over the vocabulary trie: a configuration in, the tokens that may follow out."""
