"""The index: configuration to vocabulary subset, made once, found again, saved, shared.

Knows a machine by its protocol alone. Masks stand in a trie under the part of a configuration that
they depend on; nodes remember where tokens led, so that a known step is two look-ups.

Read first: ``index``, ``configuration_trie``, ``memo``; then ``saved_index``, ``index_file``.
"""
