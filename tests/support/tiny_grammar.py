"""A grammar and a vocabulary of six ids, whose masks can be checked by eye."""

from __future__ import annotations

import functools
from typing import Any

import torch

import cfgguide

OPEN, CLOSE, X, OPEN_X, END, SPECIAL = range(6)
TINY = cfgguide.Vocabulary([b"(", b")", b"x", b"(x", None, None], eos_token_ids=END)
TINY_GRAMMAR = cfgguide.Grammar('start: "(" start ")" | "x"')
N_COLUMNS = 48


@functools.cache
def tiny_index() -> cfgguide.Index:
    return cfgguide.compile(TINY_GRAMMAR, TINY)


def tiny_processor(**options: Any) -> cfgguide.LogitsProcessor:
    return cfgguide.LogitsProcessor(tiny_index(), **options)


def scores_of(n_rows: int, n_columns: int = N_COLUMNS, **options: Any) -> torch.Tensor:
    """Scores that are all different, so that a moved column would be seen."""
    return torch.arange(n_rows * n_columns, **options).reshape(n_rows, n_columns) * 0.5 - 7


def allowed(masked: torch.Tensor) -> list[set[int]]:
    """The columns of each row that are not minus infinity."""
    return [set((row != -torch.inf).nonzero().flatten().tolist()) for row in masked]
