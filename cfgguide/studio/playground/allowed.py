"""The tokens that may follow, or may not, as a list that can be searched and shown in parts.

In: the mask of a place, and what is asked for. Out: one part of the list, of at most 500 tokens: a
page that shows 150,000 tokens draws those on the screen, and asks for the next when it is moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.engine.index.memo import Step
from cfgguide.studio.playground.model import Chances
from cfgguide.studio.playground.reading import Compiled

MAX_PART = 500  # tokens in one answer
ORDERS = ("id", "text", "longest", "probability")


@dataclass(frozen=True)
class Asked:
    """Which tokens are asked for.

    Attributes
    ----------
    query : str
        A part of the token as it is shown; ``#`` and a number for an id. Empty for all.
    is_refused : bool
        Whether those that may not follow are asked for.
    order : {"id", "text", "longest", "probability"}
        How they are sorted.
    """

    query: str = ""
    is_refused: bool = False
    order: str = "id"


class TokenList:
    """The tokens of a mask that fit what is asked; the last list is remembered."""

    def __init__(self) -> None:
        self._key: object = None
        self._ids: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def part(
        self,
        compiled: Compiled,
        node: Step,
        asked: Asked,
        first: int,
        n: int,
        chances: Chances | None,
    ) -> dict[str, Any]:
        """Return how many tokens there are, and some of them."""
        subset = compiled.index.allowed(node)
        key = (id(compiled), subset.key, asked, id(chances))
        if key != self._key:
            self._ids, self._key = self._found(compiled, node, asked, chances), key
        part = self._ids[first : first + min(n, MAX_PART)].tolist()
        vocabulary, shown = compiled.index.vocabulary, compiled.loaded.shown
        items = []
        for token_id in part:
            item: dict[str, Any] = {"id": token_id, "text": shown[token_id]}
            if token_id in vocabulary.eos_token_ids:
                item["kind"] = "EOS"
            elif vocabulary.tokens[token_id] is None:
                item["kind"] = "special"
            if chances is not None:
                item["before"], item["after"] = chances.of(token_id)
            items.append(item)
        return {
            "n_allowed": subset.n_tokens,
            "n_tokens": vocabulary.size,
            "n_found": len(self._ids),
            "first": first,
            "items": items,
            "kept": None if chances is None else chances.kept,
        }

    @staticmethod
    def _found(
        compiled: Compiled, node: Step, asked: Asked, chances: Chances | None
    ) -> npt.NDArray[np.int64]:
        ids = compiled.index.allowed(node).token_ids()
        if asked.is_refused:
            ids = np.setdiff1d(np.arange(compiled.index.vocabulary.size), ids, assume_unique=True)
        query = asked.query.lower()
        if query.startswith("#") and query[1:].isdecimal():
            ids = ids[ids == min(int(query[1:]), 2**62)]
        elif query:
            texts = compiled.loaded.searched
            found = [token_id for token_id in ids.tolist() if query in texts[token_id]]
            ids = np.array(found, dtype=np.int64)
        if asked.order == "probability" and chances is not None:
            return ids[np.argsort(-chances.before[ids], kind="stable")]
        if asked.order in ("text", "longest"):
            shown, is_longest = compiled.loaded.shown, asked.order == "longest"
            ordered = sorted(
                ids.tolist(),
                key=lambda token_id: (-len(shown[token_id]) if is_longest else 0, shown[token_id]),
            )
            return np.array(ordered, dtype=np.int64)
        return ids
