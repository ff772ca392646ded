"""Verdicts on texts: Lark's, by a grammar's own text and options, CPython's, and the engine's."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from typing import Any

import lark

import cfgguide
from support.lark_search import no_search_for_overlaps


def lark_parser(grammar: cfgguide.Grammar, **options: Any) -> lark.Lark:
    """Return Lark's parser; that it compares all terminals first would take minutes."""
    with nullcontext() if grammar.lark_options.get("strict") else no_search_for_overlaps():
        return lark.Lark(grammar.text, **grammar.lark_options, **options)


def is_parsed(parser: lark.Lark, text: str, **options: Any) -> bool:
    """Return whether one of Lark's parsers takes a text."""
    try:
        parser.parse(text, **options)
    except lark.exceptions.LarkError:
        return False
    return True


def parses(grammar: cfgguide.Grammar) -> Callable[[str], bool]:
    """Return what Lark says of a text."""
    return partial(is_parsed, lark_parser(grammar))


def is_python(text: str, mode: str = "exec") -> bool:
    """Return whether CPython parses a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text, mode=mode)
        except (SyntaxError, ValueError):
            return False
    return True


def is_sentence(recognizer: Any, text: str | bytes) -> bool:
    """Return whether a recogniser takes a whole text."""
    data = text.encode() if isinstance(text, str) else text
    read = recognizer.advance(recognizer.initial, data)
    return read is not None and recognizer.is_sentence(read)


def accepts(grammar: cfgguide.Grammar) -> Callable[[str], bool]:
    """Return what the engine says of a text."""
    recognizer = cfgguide.index.compile_recognizer(grammar, use_cache=False)
    return partial(is_sentence, recognizer)


def is_written(what: Any, token_ids: Iterable[int]) -> bool:
    """Return whether masks allow one token after the other, and the text may end after them."""
    guide = cfgguide.Guide(what)
    for token_id in token_ids:
        if not guide.accepts(token_id):
            return False
        guide.advance(token_id)
    return guide.is_accepting
