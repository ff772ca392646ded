"""One walk over the vocabulary trie: a configuration in, the tokens that may follow out.

Where the grammar's side meets the vocabulary's. The walk groups tokens by where they lead
(``kernels``, compiled; ``walk`` prepares it; ``staying`` tells what it need not visit), tokens that
no configuration can tell apart are one (``token_classes``; ``effect_kernels`` finds them), and what
the walk leaves open is decided once for each group (``lr_masks``).

Read first: ``lr_masks``, ``walk``, ``kernels``, ``subset``, ``lr_keys``; the masks of grammars with
a monitor use ``place_masks``, ``text_tokens``, ``staying_tokens``.
"""
