"""cfgguide, through its public names."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from vocabularies import Tokenizer

from cfgguide import (
    Grammar,
    Guide,
    Index,
    TokenRejectedError,
    Vocabulary,
    compile,
    fill_bitmasks,
    json_schema,
)
from engines import BUNDLED, Batch, Sequence, lark_grammar, lark_options, new_mask


class CfgGuide:
    """cfgguide with the Lark grammars that it bundles, or those of `benchmarks/grammars`."""

    mask: npt.NDArray[np.int32]
    refusals: tuple[type[Exception], ...] = (TokenRejectedError,)

    def prepare(self, tokenizer: Tokenizer) -> None:
        """Read the tokens' bytes. The vocabulary trie is made with the first grammar."""
        self._vocabulary = Vocabulary.from_tokenizer(
            tokenizer.fast, eos_token_ids=tokenizer.eos_token_id, size=tokenizer.size
        )
        self.mask = new_mask(tokenizer)

    def compile(self, grammar: str) -> None:
        """Compile the grammar's text."""
        if grammar in BUNDLED:
            chosen = Grammar.bundled(BUNDLED[grammar])
        else:
            chosen = Grammar(lark_grammar(grammar), **lark_options(grammar))
        self._index = compile(chosen, self._vocabulary)

    def compile_schema(self, schema: Any) -> None:
        """Compile a schema, with nothing read from the cache or stored there."""
        with warnings.catch_warnings(action="ignore"):
            self._index = compile(json_schema(schema), self._vocabulary, use_cache=False)

    def save(self, path: str) -> None:
        """Write the index with the masks that it has by now."""
        self._index.save(path)

    def load(self, path: str) -> None:
        """Open an index that was saved, instead of compiling."""
        self._index = Index.load(path, self._vocabulary)

    def start(self) -> Sequence:
        """Start a guide on the index, which all guides share."""
        guide = Guide(self._index)
        return Sequence(partial(guide.fill_bitmask, self.mask), guide.advance)

    def batch(self, n: int) -> Batch:
        """Start so many guides."""
        guides = [Guide(self._index) for _ in range(n)]
        rows = np.zeros((n, len(self.mask)), dtype=np.int32)
        fill = partial(fill_bitmasks, guides, rows)
        return Batch(fill, lambda tokens: fill(token_ids=tokens))

    def sizes(self) -> dict[str, int]:
        """Return the index's figures."""
        index = self._index
        return {
            "index.nbytes": index.nbytes,
            "index.n_entries": index.n_entries,
            "index.n_subsets": index.n_subsets,
            "index.n_made": index.n_made,
        }
