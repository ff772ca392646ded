"""Liveness by search alone: the oracle of what only saves time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from cfgguide.base.limits import Budget, Limits
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.vocabulary.spelling import Spelling


def searching(recognizer: Recognizer, tokens: Iterable[bytes | None], **limits: int) -> Liveness:
    """Return a liveness that believes no table: it searches all that can follow."""
    spelling = Spelling.of(tokens)
    table = AlwaysLive.of(recognizer, spelling)
    nothing = replace(
        table,
        is_always_live=np.zeros_like(table.is_always_live),
        is_live_after_newline=np.zeros_like(table.is_live_after_newline),
    )
    budget = Budget(Limits(**limits))
    return Liveness(recognizer, spelling, budget=budget, always_live=nothing)
