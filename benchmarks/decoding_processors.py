"""The logits processors that are compared, made for a model, a tokenizer and languages.

In: the names of languages, one for all prompts or one for each. Out: what the engine offers for
transformers' ``generate``. cfgguide reads the bundled grammars of JSON and of SQLite's queries; the
others read the same JSON, and the part of SQL in `grammars/sql.*`.
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Sequence
from typing import Any

from engines import grammar_text, lark_grammar

import cfgguide

LANGUAGES = ("json", "sql", "arithmetic")
_DISTRIBUTIONS = {"cfgguide": "cfgguide", "XGrammar": "xgrammar", "Outlines": "outlines"}


class NotOfferedError(Exception):
    """The engine has nothing for this."""


class CfgGuide:
    """cfgguide.LogitsProcessor."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._index = functools.cache(self._compiled)

    @staticmethod
    def grammar(language: str) -> cfgguide.Grammar:
        """Return the grammar of a language."""
        if language == "json":
            return cfgguide.Grammar.bundled("json", max_ignored=4)
        if language == "sql":
            return cfgguide.Grammar.bundled("sql_select")
        return cfgguide.Grammar(lark_grammar(language))

    @staticmethod
    def is_judged(language: str) -> bool:
        """Return whether a judge apart from Lark reads just the language that it is given."""
        return True

    def _compiled(self, language: str) -> cfgguide.Index:
        return cfgguide.compile(self.grammar(language), self._tokenizer)

    def processor(self, languages: Sequence[str]) -> Any:
        """Return a processor for one language, or for one of each prompt."""
        indexes = [self._index(language) for language in languages]
        return cfgguide.LogitsProcessor(indexes if len(indexes) > 1 else indexes[0])


class XGrammar:
    """``xgrammar.contrib.hf.LogitsProcessor``."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        import xgrammar

        tokens = xgrammar.TokenizerInfo.from_huggingface(
            tokenizer,
            vocab_size=model.config.vocab_size,
            stop_token_ids=[tokenizer.eos_token_id],
        )
        compiler = xgrammar.GrammarCompiler(tokens)
        self._compiled = functools.cache(
            lambda language: compiler.compile_grammar(grammar_text(language, "xgrammar"))
        )

    @staticmethod
    def grammar(language: str) -> cfgguide.Grammar:
        """Return what defines the language that it is given."""
        return cfgguide.Grammar(lark_grammar(language))

    @staticmethod
    def is_judged(language: str) -> bool:
        """Return whether a judge apart from Lark reads just the language that it is given."""
        return language != "sql"

    def processor(self, languages: Sequence[str]) -> Any:
        """Return a processor for one language, or for one of each prompt."""
        from xgrammar.contrib import hf

        return hf.LogitsProcessor([self._compiled(language) for language in languages])


class Outlines:
    """The processor of Outlines for context-free grammars, whose masks are llguidance's."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        import outlines
        from outlines import backends

        self._model = outlines.from_transformers(model, tokenizer)
        self._made: Any = backends.get_cfg_logits_processor

    grammar = staticmethod(XGrammar.grammar)
    is_judged = staticmethod(XGrammar.is_judged)

    def processor(self, languages: Sequence[str]) -> Any:
        """Return a processor for one language."""
        if len(languages) > 1:
            raise NotOfferedError("its processor takes one grammar")
        return self._made(None, self._model, grammar_text(languages[0], "llguidance"))


ENGINES: dict[str, Any] = {"cfgguide": CfgGuide, "XGrammar": XGrammar, "Outlines": Outlines}


def version(engine: str) -> str | None:
    """Return the installed version of an engine; None if it is not installed."""
    try:
        return importlib.metadata.version(_DISTRIBUTIONS[engine])
    except importlib.metadata.PackageNotFoundError:
        return None
