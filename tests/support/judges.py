"""Verdicts on texts: Lark's, by a grammar's own text and options, and the engine's."""

from __future__ import annotations

from collections.abc import Callable

import lark
from lark.exceptions import UnexpectedInput

import cfgguide
from support.lark_search import no_search_for_overlaps


def parses(grammar: cfgguide.Grammar) -> Callable[[str], bool]:
    """What Lark says of a text."""
    with no_search_for_overlaps():
        parser = lark.Lark(grammar.text, **grammar.lark_options)

    def judge(text: str) -> bool:
        try:
            parser.parse(text)
        except UnexpectedInput:
            return False
        return True

    return judge


def accepts(grammar: cfgguide.Grammar) -> Callable[[str], bool]:
    """What the engine says of a text."""
    recognizer = cfgguide.index.compile_recognizer(grammar, use_cache=False)

    def judge(text: str) -> bool:
        read = recognizer.advance(recognizer.initial, text.encode())
        return read is not None and recognizer.is_sentence(read)

    return judge
