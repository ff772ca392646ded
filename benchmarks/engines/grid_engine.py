"""GRID, which makes an LALR(1) grammar of a JSON Schema."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from grid.errors import LALRConflictError
from grid.grammar.projection import RoleProjection
from grid.guide import GridGuide
from grid.jsonschema import compile_json_schema_grammar
from grid.lalr.compile import compile_tables
from grid.lexer.dfa import build_scanner
from grid.models.hf_adapter import HFTokenizerAdapter
from grid.models.vllm_structured import GridGrammarSession
from grid.trie.build import build_trie
from vocabularies import Tokenizer

from engines import Sequence, new_mask


class Grid:
    """GRID as it serves vLLM: it notes which conditions it leaves out, and goes on without them."""

    mask: npt.NDArray[np.int32]
    refusals: tuple[type[Exception], ...] = ()  # its session returns False

    def prepare(self, tokenizer: Tokenizer) -> None:
        """Build its trie."""
        self._adapter = HFTokenizerAdapter(tokenizer.fast)
        self._trie = build_trie(self._adapter)
        self.mask = new_mask(tokenizer)
        self._rows = self.mask.reshape(1, -1)

    def compile_schema(self, schema: Any) -> None:
        """Compile a schema; once more in another form, as GRID's own, if there is a conflict."""
        with warnings.catch_warnings(action="ignore"):
            try:
                self._guide = self._compiled(schema, unify=False)
            except LALRConflictError:
                self._guide = self._compiled(schema, unify=True)

    def _compiled(self, schema: Any, *, unify: bool) -> GridGuide:
        grammar, _ = compile_json_schema_grammar(schema, unify_string_values=unify)
        tables = compile_tables(RoleProjection.full(grammar).build())
        scanner = build_scanner(grammar.terminals, grammar.terminal_order)
        return GridGuide(tables=tables, dfa=scanner, trie=self._trie, adapter=self._adapter)

    def start(self) -> Sequence:
        """Start a session on a copy of the guide; copies share what they have found out."""
        session = GridGrammarSession(self._guide.copy())
        fill = partial(session.fill_bitmask, self._rows, 0)
        return Sequence(fill, lambda token: session.accept_tokens("", [token]))
