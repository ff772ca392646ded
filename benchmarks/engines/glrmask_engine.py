"""GLRMask, which reads the same Lark grammars as cfgguide but for look-ahead, and JSON Schemas."""

from __future__ import annotations

from functools import partial
from typing import Any

import glrmask
import numpy as np
import numpy.typing as npt
from vocabularies import Tokenizer

from engines import Sequence, grammar_text, is_written_for, lark_grammar, new_mask


class GLRMask:
    """GLRMask with its default strategy, which here builds a weighted automaton ahead."""

    mask: npt.NDArray[np.int32]
    refusals: tuple[type[Exception], ...] = ()  # its state returns False and is then spent

    def prepare(self, tokenizer: Tokenizer) -> None:
        """Give it the bytes of all tokens that spell text, and EOS as an id without bytes."""
        not_text = {tokenizer.eos_token_id, *tokenizer.special_ids()}
        self._vocabulary = glrmask.Vocab.from_id_to_bytes(
            {
                number: token
                for number, token in enumerate(tokenizer.token_bytes())
                if token and number not in not_text
            }
        )
        self._end = glrmask.TokenSet([tokenizer.eos_token_id])
        self.mask = new_mask(tokenizer)

    def compile(self, grammar: str) -> None:
        """Compile the grammar with EOS after it."""
        has_own = is_written_for(grammar, "glrmask")
        text = grammar_text(grammar, "glrmask") if has_own else lark_grammar(grammar)
        self._end_and_compile(glrmask.Grammar.from_lark(text))

    def compile_schema(self, schema: Any) -> None:
        """Compile a schema with EOS after it."""
        self._end_and_compile(glrmask.Grammar.from_json_schema(schema))

    def _end_and_compile(self, text: glrmask.Grammar) -> None:
        ended = glrmask.Grammar.from_expr(glrmask.Expr.sequence(text, self._end))
        self._constraint = ended.compile(self._vocabulary)

    def start(self) -> Sequence:
        """Start a state on the constraint, which all states share."""
        state = self._constraint.start()
        return Sequence(partial(state.fill_mask, self.mask), state.commit_token)

    def sizes(self) -> dict[str, int]:
        """Return the size of the constraint as it would be saved."""
        return {"len(constraint.save())": len(self._constraint.save())}
