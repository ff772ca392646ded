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
neither torch nor transformers nor numba.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cfgguide import sql as sql
    from cfgguide.combinators.regex import choice as choice
    from cfgguide.combinators.regex import regex as regex
    from cfgguide.combinators.sequence import concat as concat
    from cfgguide.combinators.sequence import free_text as free_text
    from cfgguide.combinators.sequence import optional as optional
    from cfgguide.combinators.sequence import repeat as repeat
    from cfgguide.decoding.beam_search import beam_search as beam_search
    from cfgguide.decoding.sampling import Sample as Sample
    from cfgguide.decoding.sampling import sample as sample
    from cfgguide.decoding.sampling import sample_many as sample_many
    from cfgguide.decoding.smc import Steered as Steered
    from cfgguide.decoding.smc import steer as steer
    from cfgguide.diagnostics import tokenizer as testing
    from cfgguide.diagnostics.explanation import Explanation as Explanation
    from cfgguide.diagnostics.inspect import inspect as inspect
    from cfgguide.diagnostics.report import Report as Report
    from cfgguide.errors import CfgGuideError as CfgGuideError
    from cfgguide.errors import TokenRejectedError as TokenRejectedError
    from cfgguide.evaluation.disagreement import Evaluation as Evaluation
    from cfgguide.evaluation.evaluation import evaluate as evaluate
    from cfgguide.evaluation.mass import kept_mass as kept_mass
    from cfgguide.evaluation.mass import log_probabilities as log_probabilities
    from cfgguide.evaluation.mass import token_log_probabilities as token_log_probabilities
    from cfgguide.evaluation.teacher_forcing import masks_for as masks_for
    from cfgguide.evaluation.teacher_forcing import side_by_side as side_by_side
    from cfgguide.grammar.grammar import Grammar as Grammar
    from cfgguide.grammar.indenters import CPythonIndenter as CPythonIndenter
    from cfgguide.guide.batch import fill_bitmasks as fill_bitmasks
    from cfgguide.guide.guide import Guide as Guide
    from cfgguide.index.compile import compile as compile
    from cfgguide.index.compile import compile_recognizer as compile_recognizer
    from cfgguide.index.index import Index as Index
    from cfgguide.index.pool import IndexPool as IndexPool
    from cfgguide.integrations.bitmask import apply_bitmask as apply_bitmask
    from cfgguide.integrations.dense_mask import additive_mask as additive_mask
    from cfgguide.integrations.dense_mask import bool_mask as bool_mask
    from cfgguide.integrations.generate import Generation as Generation
    from cfgguide.integrations.generate import generate as generate
    from cfgguide.integrations.llama_cpp import LlamaCppProcessor as LlamaCppProcessor
    from cfgguide.integrations.transformers_model import TransformersModel as TransformersModel
    from cfgguide.integrations.transformers_processor import LogitsProcessor as LogitsProcessor
    from cfgguide.limits import Limits as Limits
    from cfgguide.schema.json_schema import json_schema as json_schema
    from cfgguide.values.values import boolean as boolean
    from cfgguide.values.values import date as date
    from cfgguide.values.values import date_time as date_time
    from cfgguide.values.values import integer as integer
    from cfgguide.values.values import ipv4 as ipv4
    from cfgguide.values.values import number as number
    from cfgguide.values.values import time as time
    from cfgguide.values.values import uuid as uuid
    from cfgguide.vocabulary.vocabulary import Vocabulary as Vocabulary

__version__ = "0.1.0"

_MODULES = {
    "CPythonIndenter": "grammar.indenters",
    "CfgGuideError": "errors",
    "Evaluation": "evaluation.disagreement",
    "Explanation": "diagnostics.explanation",
    "Generation": "integrations.generate",
    "Grammar": "grammar.grammar",
    "Guide": "guide.guide",
    "Index": "index.index",
    "IndexPool": "index.pool",
    "Limits": "limits",
    "LlamaCppProcessor": "integrations.llama_cpp",
    "LogitsProcessor": "integrations.transformers_processor",
    "Report": "diagnostics.report",
    "Sample": "decoding.sampling",
    "Steered": "decoding.smc",
    "TokenRejectedError": "errors",
    "TransformersModel": "integrations.transformers_model",
    "Vocabulary": "vocabulary.vocabulary",
    "additive_mask": "integrations.dense_mask",
    "apply_bitmask": "integrations.bitmask",
    "beam_search": "decoding.beam_search",
    "bool_mask": "integrations.dense_mask",
    "boolean": "values.values",
    "choice": "combinators.regex",
    "compile": "index.compile",
    "compile_recognizer": "index.compile",
    "concat": "combinators.sequence",
    "date": "values.values",
    "date_time": "values.values",
    "evaluate": "evaluation.evaluation",
    "fill_bitmasks": "guide.batch",
    "free_text": "combinators.sequence",
    "generate": "integrations.generate",
    "inspect": "diagnostics.inspect",
    "integer": "values.values",
    "ipv4": "values.values",
    "json_schema": "schema.json_schema",
    "kept_mass": "evaluation.mass",
    "log_probabilities": "evaluation.mass",
    "masks_for": "evaluation.teacher_forcing",
    "number": "values.values",
    "optional": "combinators.sequence",
    "regex": "combinators.regex",
    "repeat": "combinators.sequence",
    "sample": "decoding.sampling",
    "sample_many": "decoding.sampling",
    "side_by_side": "evaluation.teacher_forcing",
    "steer": "decoding.smc",
    "time": "values.values",
    "token_log_probabilities": "evaluation.mass",
    "uuid": "values.values",
}
_SUBMODULES = {"sql": "sql", "testing": "diagnostics.tokenizer"}

__all__ = sorted([*_MODULES, *_SUBMODULES])


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        return importlib.import_module(f"cfgguide.{_SUBMODULES[name]}")
    if name not in _MODULES:
        raise AttributeError(f"module 'cfgguide' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"cfgguide.{_MODULES[name]}"), name)
    globals()[name] = value  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
