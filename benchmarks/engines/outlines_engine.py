"""outlines-core, whose language is a regular expression."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt
import outlines_core
import outlines_core.json_schema
from vocabularies import Tokenizer

from engines import Sequence, grammar_text, new_mask


class OutlinesCore:
    """outlines-core with an expression of `benchmarks/grammars`."""

    mask: npt.NDArray[np.int32]
    refusals: tuple[type[Exception], ...] = (ValueError,)

    def prepare(self, tokenizer: Tokenizer) -> None:
        """Give it the bytes of all tokens that spell text."""
        not_text = {tokenizer.eos_token_id, *tokenizer.special_ids()}
        ids: dict[bytes, list[int]] = defaultdict(list)
        for number, token in enumerate(tokenizer.token_bytes()):
            if token and number not in not_text:
                ids[token].append(number)
        self._vocabulary = outlines_core.Vocabulary(tokenizer.eos_token_id, dict(ids))
        self.mask = new_mask(tokenizer)

    def compile(self, grammar: str) -> None:
        """Build the index of all states, which is what outlines-core does ahead."""
        expression = grammar_text(grammar, "outlines-core").rstrip("\n")
        self._index = outlines_core.Index(expression, self._vocabulary)

    def compile_schema(self, schema: Any) -> None:
        """Build the index of the expression that outlines-core writes for a schema."""
        expression = outlines_core.json_schema.build_regex_from_schema(json.dumps(schema))
        self._index = outlines_core.Index(expression, self._vocabulary)

    def start(self) -> Sequence:
        """Start a guide on the index; `advance` is asked for no list of the tokens that follow."""
        guide = outlines_core.Guide(self._index)
        address, n_words, n_bytes = self.mask.ctypes.data, len(self.mask), self.mask.itemsize

        def fill() -> None:
            guide.write_mask_into(address, n_words, n_bytes)

        def advance(token: int) -> None:
            guide.advance(token, False)

        return Sequence(fill, advance)

    def sizes(self) -> dict[str, int]:
        """Return the number of transitions of the index."""
        transitions = self._index.get_transitions()
        return {"transitions": sum(map(len, transitions.values()))}
