"""cfgguide: a language model writes only sentences of a grammar.

>>> import cfgguide, warnings
>>> vocabulary = cfgguide.Vocabulary([b"{", b"}", b'"a"', b":1", None], eos_token_ids=4)
>>> with warnings.catch_warnings(action="ignore"):  # no token for `true`, `[` and the like
...     index = cfgguide.compile(cfgguide.Grammar.bundled("json"), vocabulary)
>>> guide = cfgguide.Guide(index)
>>> for token_id in (0, 2, 3):
...     guide.advance(token_id)
>>> [vocabulary.tokens[token_id] for token_id in guide.allowed_token_ids()]
[b'}']

The names below are imported when they are first used: ``import cfgguide`` is quick, and loads
neither torch nor transformers nor numpy.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide import combinators as combinators
    from cfgguide import decoding as decoding
    from cfgguide import diagnostics as diagnostics
    from cfgguide import draw as draw
    from cfgguide import evaluation as evaluation
    from cfgguide import grammar as grammar
    from cfgguide import index as index
    from cfgguide import integrations as integrations
    from cfgguide import messages as messages
    from cfgguide import models as models
    from cfgguide import monitors as monitors
    from cfgguide import notations as notations
    from cfgguide import precompute as precompute
    from cfgguide import serving as serving
    from cfgguide import sql as sql
    from cfgguide import testing as testing
    from cfgguide import values as values
    from cfgguide.base.limits import Limits as Limits
    from cfgguide.compiler import compile as compile
    from cfgguide.description import describe as describe
    from cfgguide.diagnostics.diagnosis import check as check
    from cfgguide.engine.index.index import Index as Index
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary as Vocabulary
    from cfgguide.errors import CfgGuideError as CfgGuideError
    from cfgguide.errors import TokenRejectedError as TokenRejectedError
    from cfgguide.grammar.combinators.patterns import choice as choice
    from cfgguide.grammar.combinators.patterns import regex as regex
    from cfgguide.grammar.combinators.sequence import concat as concat
    from cfgguide.grammar.combinators.sequence import free_text as free_text
    from cfgguide.grammar.combinators.sequence import repeat as repeat
    from cfgguide.grammar.combinators.values import integer as integer
    from cfgguide.grammar.combinators.values import number as number
    from cfgguide.grammar.grammar import Grammar as Grammar
    from cfgguide.guide.batch import fill_bitmasks as fill_bitmasks
    from cfgguide.guide.guide import Guide as Guide
    from cfgguide.guide.repetition import Repetition as Repetition
    from cfgguide.index_pool import IndexPool as IndexPool
    from cfgguide.models.bitmask import apply_bitmask as apply_bitmask
    from cfgguide.models.decoding.sampling import sample as sample
    from cfgguide.models.load import load_model as load_model
    from cfgguide.models.serving.client import client as client
    from cfgguide.models.transformers.asynchronous import agenerate as agenerate
    from cfgguide.models.transformers.asynchronous import astream as astream
    from cfgguide.models.transformers.generation import generate as generate
    from cfgguide.models.transformers.generation import stream as stream
    from cfgguide.models.transformers.logits_processor import LogitsProcessor as LogitsProcessor
    from cfgguide.quotes import quote_of as quote_of
    from cfgguide.schema.json_schema import json_schema as json_schema
    from cfgguide.schema.messages.message_grammar import structural_tag as structural_tag
    from cfgguide.schema.messages.thinking import thinking as thinking
    from cfgguide.schema.messages.tools import tools as tools
    from cfgguide.schema.quoted_strings import Quote as Quote
    from cfgguide.schema.unknown import or_unknown as or_unknown

__version__ = "0.2.0"

_NAMES = {
    "CfgGuideError": "errors",
    "Grammar": "grammar.grammar",
    "Guide": "guide.guide",
    "Index": "engine.index.index",
    "IndexPool": "index_pool",
    "Limits": "base.limits",
    "LogitsProcessor": "models.transformers.logits_processor",
    "Quote": "schema.quoted_strings",
    "Repetition": "guide.repetition",
    "TokenRejectedError": "errors",
    "Vocabulary": "engine.vocabulary.vocabulary",
    "agenerate": "models.transformers.asynchronous",
    "apply_bitmask": "models.bitmask",
    "astream": "models.transformers.asynchronous",
    "check": "diagnostics.diagnosis",
    "choice": "grammar.combinators.patterns",
    "client": "models.serving.client",
    "compile": "compiler",
    "concat": "grammar.combinators.sequence",
    "describe": "description",
    "fill_bitmasks": "guide.batch",
    "free_text": "grammar.combinators.sequence",
    "generate": "models.transformers.generation",
    "integer": "grammar.combinators.values",
    "json_schema": "schema.json_schema",
    "load_model": "models.load",
    "number": "grammar.combinators.values",
    "or_unknown": "schema.unknown",
    "quote_of": "quotes",
    "regex": "grammar.combinators.patterns",
    "repeat": "grammar.combinators.sequence",
    "sample": "models.decoding.sampling",
    "stream": "models.transformers.generation",
    "structural_tag": "schema.messages.message_grammar",
    "thinking": "schema.messages.thinking",
    "tools": "schema.messages.tools",
}
_FOLDERS = (
    "combinators",
    "decoding",
    "diagnostics",
    "draw",
    "evaluation",
    "grammar",
    "index",
    "integrations",
    "messages",
    "models",
    "monitors",
    "notations",
    "precompute",
    "serving",
    "sql",
    "testing",
    "values",
)

__all__ = sorted([*_NAMES, *_FOLDERS])
__getattr__, __dir__ = lazy_names(__name__, _NAMES, _FOLDERS)


def _tell_notebook() -> None:
    """Tell a notebook that runs this how grammars are shown."""
    if "IPython" in sys.modules:
        from cfgguide.studio.draw.notebook import register

        register()


_tell_notebook()
