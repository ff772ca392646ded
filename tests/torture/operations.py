"""What is done while it is interrupted, and what has to hold afterwards.

In: a subject, an index that many operations share, and random numbers. Out: an operation, and a
check that finds what is wrong after it, whether it was interrupted or not.
"""

from __future__ import annotations

import copy
import pickle
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import cfgguide
from cfgguide import Guide, Index
from torture.subjects import BUDGET, Place, Subject, guide_at, mask_of, within_of


class Operation(NamedTuple):
    """A call that may be interrupted, and what is wrong afterwards."""

    name: str
    call: Callable[[], object]
    wrong: Callable[[], list[str]]


class Tortured:
    """An index in use, of one subject."""

    def __init__(self, subject: Subject, rng: random.Random, folder: Path) -> None:
        self.subject = subject
        self.rng = rng
        self.folder = folder
        self.begin()

    def begin(self) -> None:
        """Use a new index, of which nothing is known."""
        self.index: Index = self.subject.make()

    def operation(self) -> Operation:
        """One at random; those that make masks are most of them."""
        if self.rng.random() < 0.02:
            self.begin()
        if self.rng.random() < 0.2:
            self.index.forget_steps()
        return self.rng.choices(self._kinds(), [20, 8, 8, 2, 1, 1, 1, 2])[0]()

    def operations(self) -> list[Operation]:
        """One of each kind."""
        return [make() for make in self._kinds()]

    def _kinds(self) -> list[Callable[[], Operation]]:
        return [
            *(self._walk, self._batch, self._rollback, self._within),
            *(self._save, self._compile, self._copy, self._expected),
        ]

    def _place(self) -> Place:
        return self.rng.choice(self.subject.places)

    def _some(self, n: int = 3) -> list[Place]:
        return self.rng.sample(self.subject.places, n)

    def wrong_masks(self, index: Index | None = None, n: int = 3) -> list[str]:
        """What is wrong with some masks."""
        index = self.index if index is None else index
        return [
            f"{self.subject.name}: mask after {place.token_ids}"
            for place in self.subject.wrong(index, self._some(n))
        ]

    def _guide_wrong(self, guide: Guide, possible: list[tuple[int, ...]]) -> list[str]:
        """What is wrong with a guide that has consumed one of some sequences of tokens."""
        if guide.token_ids not in possible:
            return [f"{self.subject.name}: the guide is at {guide.token_ids}"]
        twin = guide_at(self.index, guide.token_ids)
        if mask_of(guide) != mask_of(twin) or guide.is_finished != twin.is_finished:
            return [f"{self.subject.name}: the guide at {guide.token_ids} is not its twin"]
        return []

    def _walk(self) -> Operation:
        place = self._place()
        guide = Guide(self.index)

        def call() -> None:
            for token_id in place.token_ids:
                guide.advance(token_id)
                mask_of(guide)

        beginnings = [place.token_ids[:n] for n in range(len(place.token_ids) + 1)]
        return Operation(
            "walk", call, lambda: self._guide_wrong(guide, beginnings) + self.wrong_masks()
        )

    def _rollback(self) -> Operation:
        place = self._place()
        guide, n = guide_at(self.index, place.token_ids), self.rng.randint(0, len(place.token_ids))
        after = place.token_ids[: len(place.token_ids) - n]
        return Operation(
            "rollback",
            lambda: guide.rollback(n),
            lambda: self._guide_wrong(guide, [place.token_ids, after]) + self.wrong_masks(n=1),
        )

    def _batch(self) -> Operation:
        chosen = [place for place in self._some(4) if place.token_ids]
        guides = [guide_at(self.index, place.token_ids[:-1]) for place in chosen]
        tokens = [place.token_ids[-1] for place in chosen]
        out = np.empty((len(guides), self.index.vocabulary.n_words), dtype=np.int32)
        bound: dict[str, Any] = self.rng.choice([{}, {"max_new_masks": 1}])

        def wrong() -> list[str]:
            consumed = {
                guide.token_ids == place.token_ids
                for guide, place in zip(guides, chosen, strict=True)
            }
            found = self.wrong_masks()
            if len(consumed) > 1:
                found.append(f"{self.subject.name}: a part of a batch has advanced")
            for guide, place in zip(guides, chosen, strict=True):
                found += self._guide_wrong(guide, [place.token_ids, place.token_ids[:-1]])
            return found

        return Operation(
            "batch", lambda: cfgguide.fill_bitmasks(guides, out, token_ids=tokens, **bound), wrong
        )

    def _within(self) -> Operation:
        place = self._place()

        def call() -> None:
            guide = guide_at(self.index, place.token_ids)
            within_of(guide)
            guide.forced_bytes()

        def wrong() -> list[str]:
            # Which endings are found is told by what was asked before: but never too few tokens.
            found = within_of(guide_at(self.index, place.token_ids))
            if (found is None) != (place.within is None):
                return [f"{self.subject.name}: within {BUDGET} after {place.token_ids}"]
            allowed = np.unpackbits(np.frombuffer(place.mask, np.uint8), bitorder="little")
            if found is not None and not allowed[np.frombuffer(found, np.int64)].all():
                return [f"{self.subject.name}: within {BUDGET} allows more"]
            return self.wrong_masks(n=1)

        return Operation("within", call, wrong)

    def _save(self) -> Operation:
        path = self.folder / f"{self.subject.name}.index"

        def wrong() -> list[str]:
            if not path.exists():
                return self.wrong_masks(n=1)
            again = Index.load(path, self.index.vocabulary)
            return self.wrong_masks(again) + self.wrong_masks(n=1)

        return Operation("save", lambda: self.index.save(path), wrong)

    def _compile(self) -> Operation:
        def wrong() -> list[str]:
            return self.wrong_masks(self.subject.make()) + self.wrong_masks(n=1)

        return Operation("compile", self.subject.make, wrong)

    def _copy(self) -> Operation:
        guide = guide_at(self.index, self._place().token_ids)

        def call() -> None:
            copy.copy(guide)
            copy.deepcopy(guide)
            pickle.loads(pickle.dumps(guide))

        return Operation(
            "copy", call, lambda: self._guide_wrong(guide, [guide.token_ids]) + self.wrong_masks()
        )

    def _expected(self) -> Operation:
        guide = guide_at(self.index, self._place().token_ids)

        def call() -> None:
            guide.expected()
            guide.accepts(self.rng.randrange(256))

        return Operation("expected", call, self.wrong_masks)


def new_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="cfgguide-torture-")
