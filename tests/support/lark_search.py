"""Lark without its search for terminals that overlap, which takes minutes for large grammars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import lark.lexer


@contextmanager
def no_search_for_overlaps() -> Iterator[None]:
    kept, lark.lexer.has_interegular = lark.lexer.has_interegular, False
    try:
        yield
    finally:
        lark.lexer.has_interegular = kept
