"""SynCode, which pins old packages: this runs in an environment of its own."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from syncode.grammar_mask.grammar_constrainer import GrammarConstrainer
from syncode.mask_store.byte_tokenizer import ByteTokenizer
from syncode.parsers.grammars import Grammar
from vocabularies import Tokenizer

from engines import Sequence, lark_grammar, new_mask

_OWN = {"json": "json", "python": "python", "sqlite": "sql"}  # grammars that it brings along


class SynCode:
    """SynCode with its own grammars, in the mode that should mask no valid token."""

    mask: npt.NDArray[np.int32]
    refusals: tuple[type[Exception], ...] = ()  # it takes any token, and then masks nothing

    def prepare(self, tokenizer: Tokenizer) -> None:
        """Read the bytes of the tokens."""
        self._tokenizer = tokenizer.fast
        self._bytes = ByteTokenizer(tokenizer.fast)
        self.mask = new_mask(tokenizer)

    def compile(self, grammar: str) -> None:
        """Build its mask store anew; it writes it to its folder all the same."""
        self._constrainer = GrammarConstrainer(
            grammar=Grammar(_OWN.get(grammar) or lark_grammar(grammar)),
            tokenizer=self._tokenizer,
            byte_tokenizer=self._bytes,
            use_cache=False,
            indent=grammar == "python",
        )

    def start(self) -> Sequence:
        """Start a text; SynCode masks logits, from which the row is packed here."""
        self._constrainer.reset()
        ids: list[int] = []

        def fill() -> None:
            scores = torch.zeros(1, 32 * len(self.mask))
            rows = torch.tensor([ids], dtype=torch.int64)
            allowed = self._constrainer.mask_scores(rows, scores)[0] == 0
            self.mask[:] = np.packbits(allowed.numpy(), bitorder="little").view(np.int32)

        return Sequence(fill, ids.append)

    def sizes(self) -> dict[str, int]:
        """Return the size of the largest file that it keeps: the mask store of the grammar."""
        stores = Path(os.environ["SYNCODE_CACHE"]) / "mask_stores"
        sizes = [path.stat().st_size for path in stores.rglob("*.pkl")]
        return {"mask store on disk": max(sizes)}
