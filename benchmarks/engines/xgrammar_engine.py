"""XGrammar, with a grammar in its EBNF and with the JSON grammar that it brings along."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import xgrammar
from vocabularies import Tokenizer

from engines import Batch, Sequence, grammar_text, new_mask


class XGrammar:
    """XGrammar with a grammar of `benchmarks/grammars`."""

    mask: npt.NDArray[np.int32]
    refusals: tuple[type[Exception], ...] = (RuntimeError,)

    def prepare(self, tokenizer: Tokenizer) -> None:
        """Read the vocabulary and sort it."""
        self._tokens = xgrammar.TokenizerInfo.from_huggingface(
            tokenizer.fast, vocab_size=tokenizer.size, stop_token_ids=[tokenizer.eos_token_id]
        )
        self.mask = new_mask(tokenizer)
        self._rows = self.mask.reshape(1, -1)

    def compile(self, grammar: str) -> None:
        """Compile with a compiler of its own, so that nothing is cached."""
        compiler = xgrammar.GrammarCompiler(self._tokens, cache_enabled=False)
        self._compiled = self._compile(compiler, grammar)

    def compile_schema(self, schema: Any) -> None:
        """Compile a schema as the standard reads it: with other properties, and any white space.

        In one thread, as MaskBench does: a service compiles as many schemas at a time as it has
        cores.
        """
        compiler = xgrammar.GrammarCompiler(self._tokens, max_threads=1, cache_enabled=False)
        self._compiled = compiler.compile_json_schema(json.dumps(schema), strict_mode=False)

    def _compile(
        self, compiler: xgrammar.GrammarCompiler, grammar: str
    ) -> xgrammar.CompiledGrammar:
        return compiler.compile_grammar(grammar_text(grammar, "xgrammar"))

    def start(self) -> Sequence:
        """Start a matcher on the compiled grammar, which all matchers share."""
        matcher = xgrammar.GrammarMatcher(self._compiled)
        fill = partial(matcher.fill_next_token_bitmask, self._rows, 0)
        return Sequence(fill, matcher.accept_token)

    def batch(self, n: int) -> Batch:
        """Start so many matchers, and as many threads as it takes by default."""
        matchers = [xgrammar.GrammarMatcher(self._compiled) for _ in range(n)]
        rows = np.zeros((n, len(self.mask)), dtype=np.int32)
        filler = xgrammar.BatchGrammarMatcher()
        fill = partial(filler.batch_fill_next_token_bitmask, matchers, rows)

        def step(tokens: list[int]) -> None:
            filler.batch_accept_token(matchers, tokens)
            fill()

        return Batch(fill, step)

    def sizes(self) -> dict[str, int]:
        """Return the size of the compiled grammar."""
        return {"memory_size_bytes": self._compiled.memory_size_bytes}


class XGrammarBuiltin(XGrammar):
    """XGrammar with its own JSON grammar, whose text is an object or an array."""

    def _compile(
        self, compiler: xgrammar.GrammarCompiler, grammar: str
    ) -> xgrammar.CompiledGrammar:
        if grammar != "json":
            return super()._compile(compiler, grammar)
        return compiler.compile_builtin_json_grammar()
