"""What is done with a hostile case: a pool, as services have it, compiles it and makes a mask.

With the limits for strangers. The vocabulary is one of realistic size, 32,000 tokens. What is
attacked (:mod:`hostile.attack`) goes through the backend of serving engines where that takes it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from support.indenters import BracketIndenter
from support.monitors import MONITORS
from support.small_tokenizers import standard_library_vocabulary

import cfgguide
from cfgguide.errors import CfgGuideError
from cfgguide.models.serving.backend import Backend
from hostile.run import REFUSED, WORKS

#: Seconds, and what else `Limits.for_strangers` bounds.
SECONDS = 5.0


def prepare() -> None:
    """Import everything and read the vocabulary, so that no case has to."""
    for kind, text in (
        ("grammar", 'start: "a" /b+(?=c)/ "c"'),
        ("pattern", "a+b"),
        ("schema", "{}"),
        ("definition", 'cfgguide:sql_select {"tables": "CREATE TABLE t (x)"}'),
    ):
        engine(kind, text)


def engine(kind: str, text: str) -> tuple[str, str]:
    """Return whether a text works or is refused, and with which error."""
    vocabulary = standard_library_vocabulary()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind == "definition":
                Backend(vocabulary, use_cache=False).index("grammar", text)
                return WORKS, ""
            grammar = _grammar(kind, text)
            pool = cfgguide.IndexPool(vocabulary, limits=_limits(), use_cache=False)
            pool.index(grammar)
    except CfgGuideError as error:
        return REFUSED, f"{type(error).__name__}: {str(error)[:100]!a}"
    return WORKS, ""


def _grammar(kind: str, text: str) -> cfgguide.Grammar:
    if kind == "grammar":
        return cfgguide.Grammar(text)
    if kind == "pattern":
        return cfgguide.regex(text)
    return cfgguide.json_schema(text, limits=_limits())


#: What a backend calls the kinds that it takes; it tells the notations of grammars apart.
_REQUESTS = {
    "grammar": "grammar",
    "ebnf": "grammar",
    "llguidance": "grammar",
    "pattern": "regex",
    "schema": "json",
    "tag": "structural_tag",
    "definition": "grammar",
}


def _of_strangers(text: str, make: Callable[..., Any]) -> Any:
    return make(text, limits=_limits())


#: Kinds that no backend takes, and what makes their grammars.
_NOTATIONS: dict[str, Callable[[str], Any]] = {
    "gbnf": lambda text: _of_strangers(text, cfgguide.Grammar.gbnf),
    "w3c": lambda text: _of_strangers(text, cfgguide.Grammar.w3c),
    "indented": lambda text: cfgguide.Grammar(text, postlex=BracketIndenter),
    "watched": lambda text: cfgguide.Grammar(text).watched_by(MONITORS["different"]()),
}


def compiled(kind: str, text: str) -> tuple[cfgguide.Grammar, cfgguide.Index]:
    """Return the grammar of a request of a stranger, and its index with the first mask."""
    vocabulary = standard_library_vocabulary()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind in _NOTATIONS:
            grammar = _NOTATIONS[kind](text)
            pool = cfgguide.IndexPool(vocabulary, limits=_limits(), use_cache=False)
            return grammar, pool.index(grammar)
        backend = Backend(vocabulary, use_cache=False)
        return backend.grammar(_REQUESTS[kind], text), backend.index(_REQUESTS[kind], text)


def _limits() -> cfgguide.Limits:
    if hasattr(cfgguide.Limits, "for_strangers"):
        return cfgguide.Limits.for_strangers()
    return cfgguide.Limits(max_seconds=SECONDS)
