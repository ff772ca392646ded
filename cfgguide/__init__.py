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
    from cfgguide import testing as testing
    from cfgguide.batch import fill_bitmasks as fill_bitmasks
    from cfgguide.beams import beam_search as beam_search
    from cfgguide.bool_masks import additive_mask as additive_mask
    from cfgguide.bool_masks import bool_mask as bool_mask
    from cfgguide.compiler import compile as compile
    from cfgguide.compiler import compile_recognizer as compile_recognizer
    from cfgguide.disagreement import Evaluation as Evaluation
    from cfgguide.errors import CfgGuideError as CfgGuideError
    from cfgguide.errors import TokenRejectedError as TokenRejectedError
    from cfgguide.evaluation import evaluate as evaluate
    from cfgguide.explanation import Explanation as Explanation
    from cfgguide.generation import Generation as Generation
    from cfgguide.generation import generate as generate
    from cfgguide.grammar import Grammar as Grammar
    from cfgguide.guide import Guide as Guide
    from cfgguide.indenters import CPythonIndenter as CPythonIndenter
    from cfgguide.index import Index as Index
    from cfgguide.inspection import inspect as inspect
    from cfgguide.limits import Limits as Limits
    from cfgguide.llama_cpp_processor import LlamaCppProcessor as LlamaCppProcessor
    from cfgguide.logits_processor import LogitsProcessor as LogitsProcessor
    from cfgguide.masking import apply_bitmask as apply_bitmask
    from cfgguide.mass import kept_mass as kept_mass
    from cfgguide.mass import log_probabilities as log_probabilities
    from cfgguide.mass import token_log_probabilities as token_log_probabilities
    from cfgguide.pool import IndexPool as IndexPool
    from cfgguide.regular import choice as choice
    from cfgguide.regular import regex as regex
    from cfgguide.report import Report as Report
    from cfgguide.sampling import Sample as Sample
    from cfgguide.sampling import sample as sample
    from cfgguide.sampling import sample_many as sample_many
    from cfgguide.schema import json_schema as json_schema
    from cfgguide.sequences import concat as concat
    from cfgguide.sequences import free_text as free_text
    from cfgguide.sequences import optional as optional
    from cfgguide.sequences import repeat as repeat
    from cfgguide.steering import Steered as Steered
    from cfgguide.steering import steer as steer
    from cfgguide.teacher_forcing import masks_for as masks_for
    from cfgguide.teacher_forcing import side_by_side as side_by_side
    from cfgguide.transformers_model import TransformersModel as TransformersModel
    from cfgguide.values import boolean as boolean
    from cfgguide.values import date as date
    from cfgguide.values import date_time as date_time
    from cfgguide.values import integer as integer
    from cfgguide.values import ipv4 as ipv4
    from cfgguide.values import number as number
    from cfgguide.values import time as time
    from cfgguide.values import uuid as uuid
    from cfgguide.vocabulary import Vocabulary as Vocabulary

__version__ = "0.1.0"

_MODULES = {
    "CPythonIndenter": "indenters",
    "CfgGuideError": "errors",
    "Evaluation": "disagreement",
    "Explanation": "explanation",
    "Generation": "generation",
    "Grammar": "grammar",
    "Guide": "guide",
    "Index": "index",
    "IndexPool": "pool",
    "Limits": "limits",
    "LlamaCppProcessor": "llama_cpp_processor",
    "LogitsProcessor": "logits_processor",
    "Report": "report",
    "Sample": "sampling",
    "Steered": "steering",
    "TokenRejectedError": "errors",
    "TransformersModel": "transformers_model",
    "Vocabulary": "vocabulary",
    "additive_mask": "bool_masks",
    "apply_bitmask": "masking",
    "beam_search": "beams",
    "bool_mask": "bool_masks",
    "boolean": "values",
    "choice": "regular",
    "compile": "compiler",
    "compile_recognizer": "compiler",
    "concat": "sequences",
    "date": "values",
    "date_time": "values",
    "evaluate": "evaluation",
    "fill_bitmasks": "batch",
    "free_text": "sequences",
    "generate": "generation",
    "inspect": "inspection",
    "integer": "values",
    "ipv4": "values",
    "json_schema": "schema",
    "kept_mass": "mass",
    "log_probabilities": "mass",
    "masks_for": "teacher_forcing",
    "number": "values",
    "optional": "sequences",
    "regex": "regular",
    "repeat": "sequences",
    "sample": "sampling",
    "sample_many": "sampling",
    "side_by_side": "teacher_forcing",
    "steer": "steering",
    "time": "values",
    "token_log_probabilities": "mass",
    "uuid": "values",
}
_SUBMODULES = ("sql", "testing")

__all__ = sorted([*_MODULES, *_SUBMODULES])


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        return importlib.import_module(f"cfgguide.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'cfgguide' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"cfgguide.{_MODULES[name]}"), name)
    globals()[name] = value  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
