"""Tokenizers: the bytes of every token, and the trie of all of them.

Knows nothing of grammars. Many tokens share their first bytes, so what is asked of all of them is
asked of the trie, once for each beginning.

Read first: ``vocabulary``, ``tokenizer_bytes``, ``trie``; ``spelling`` says which texts tokens can
spell at all.
"""
