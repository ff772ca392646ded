"""The one notation for traces; tests/start_here/README.md explains it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import cfgguide
from cfgguide.engine.vocabulary.notebook import text_of

BETWEEN, LEADS_TO, END = "‧", "→", "$"


def guide_of(grammar: str, tokens: str) -> cfgguide.Guide:
    """Return a guide for tokens that spaces separate, in the order of ids; EOS gets the last."""
    texts = [_bytes_of(name) for name in tokens.split()]
    vocabulary = cfgguide.Vocabulary([*texts, None], eos_token_ids=len(texts))
    with warnings.catch_warnings(action="ignore"):  # a letter of no use is part of an example
        return cfgguide.Guide(cfgguide.compile(cfgguide.Grammar(grammar), vocabulary))


def names_of(guide: cfgguide.Guide) -> list[str]:
    """Return all tokens as a trace names them, by id."""
    tokens = guide.index.vocabulary.tokens
    return [END if token is None else text_of(token).replace(" ", "_") for token in tokens]


def advance(guide: cfgguide.Guide, steps: str) -> None:
    """Consume tokens as the left side of a row has them."""
    names = names_of(guide)
    for name in filter(None, steps.strip().split(BETWEEN)):
        guide.advance(names.index(name))


def allowed(guide: cfgguide.Guide) -> str:
    """Return the right side of a row: the tokens that may come next, by id."""
    names = names_of(guide)
    return " ".join(names[token_id] for token_id in guide.allowed_token_ids())


def traced(start: cfgguide.Guide, rows: Sequence[str]) -> list[str]:
    """Return rows with the left sides of some rows, and on the right what is allowed there."""
    found = []
    for row in rows:
        steps = row.partition(LEADS_TO)[0].strip()
        guide = start.copy()
        advance(guide, steps)
        found.append(f"{steps} {LEADS_TO} {allowed(guide)}".strip())
    return found


def _bytes_of(name: str) -> bytes:
    text = name.replace("_", " ").encode()
    return re.sub(rb"\\x(..)", lambda match: bytes([int(match[1], 16)]), text)
