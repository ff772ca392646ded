"""Looks for the texts that cost most for their length: hill climbing over random texts.

In: a seed, and what measures a text. Out: the best of each climb, and files of what must not be.

There is a climb for each kind and each measure (seconds, bytes, standstills), and they take turns.
It begins at a fresh text, at a listed case or near the top of an earlier climb, goes on from a
changed text if that costs more, and begins anew after so many that do not, or where a limit is
exceeded: that is kept, and others are looked for. Costs are shares of what a step may take
(:data:`MOST_OF`), so that 50 ms of a mask weigh more than a second of compiling, and count per
character. Everything is drawn from the seed; only what is measured differs between runs.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from support.inputs import beside_the_table

from hostile.attack import COMPILE, JUDGE, attack
from hostile.cases import all_cases
from hostile.derivations import MOST, Node, leaf
from hostile.run import BYTES, REFUSED, SECONDS, TOO_SLOW, UNSOUND, WORKS, Step, watched
from hostile.tables import TABLES

MEASURES = ("seconds", "bytes", "standstill")
_CALL, _ANSWER, _STANDSTILL = 0.1, 1.0, 0.1
#: Seconds that a step may take, by how it begins: a call of a walk, and an answer to a person.
MOST_OF = {
    COMPILE: SECONDS,
    "forced": _ANSWER,
    "walk": _CALL,
    "explain": _ANSWER,
    "check": _ANSWER,
}
PATIENCE = 8  # changes that are no worse, before a climb begins anew
SHORT = 200  # characters that count for nothing: the shortest texts are not the best
_KILLED = 7  # seconds of a step: no limit ended it
_KEPT = 10  # climbs of each kind and measure


@dataclass(frozen=True)
class Sample:
    """A text to be tried.

    Attributes
    ----------
    kind : str
        One of :data:`hostile.tables.TABLES`.
    node : Node
        The text.
    seed : int
        Of what is written with it.
    """

    kind: str
    node: Node
    seed: int = 0

    @property
    def text(self) -> str:
        """The text."""
        return self.node.text


@cache
def listed_texts(kind: str) -> list[str]:
    """Return the listed cases of a kind that are not too long to be changed."""
    cases = [case for case in all_cases() if case.kind == kind and case.n_characters <= MOST]
    return [case.make() for case in cases]


def measured(sample: Sample) -> tuple[Step, ...]:
    """Return the steps of a text, in a process of its own."""
    return watched(
        lambda meter: attack(sample.kind, sample.text, sample.seed, meter),
        most_seconds=_KILLED,
    ).steps


def shares(step: Step) -> dict[str, float]:
    """Return by measure how much a step takes of what it may take."""
    most = MOST_OF.get(step.name.split(":")[0])
    if most is None:
        return dict.fromkeys(MEASURES, 0.0)
    used = (step.seconds / most, step.n_bytes / BYTES, step.standstill / _STANDSTILL)
    return dict(zip(MEASURES, used, strict=True))


def is_defect(step: Step) -> bool:
    """Return whether a step came to what it must not come to, whatever it took."""
    if step.name == JUDGE:  # it may know no answer, or take for ever
        return step.outcome == UNSOUND
    return step.outcome not in (WORKS, REFUSED, TOO_SLOW)


def as_json(sample: Sample, steps: Sequence[Step]) -> str:
    """Return what a text took at most, and where, as a line of JSON."""
    own = [step for step in steps if step.name != JUDGE] or list(steps)
    worst = max(own, key=lambda step: step.seconds)
    bad = [step.outcome for step in steps if is_defect(step) or max(shares(step).values()) > 1]
    told = {
        "kind": sample.kind,
        "seed": sample.seed,
        "n_characters": len(sample.text),
        "outcome": bad[0] if bad else own[-1].outcome,
        "seconds": round(worst.seconds, 4),
        "step": worst.name,
        "megabytes": round(max(step.n_bytes for step in own) / 1e6, 1),
        "standstill": round(max(step.standstill for step in own), 4),
        "text": sample.text,
    }
    return json.dumps(told) + "\n"


@dataclass(frozen=True)
class Find:
    """A text, and the step of it that is worst by some measure.

    Attributes
    ----------
    kind, node, seed
        As of a :class:`Sample`.
    measure : str
        By which it was found; ``outcome`` for what is a defect.
    share : float
        Of what the step may take.
    step : Step
        The step.
    """

    kind: str
    node: Node
    seed: int
    measure: str
    share: float
    step: Step

    @property
    def text(self) -> str:
        """The text."""
        return self.node.text

    def __str__(self) -> str:
        step = self.step
        took = f"{1000 * step.seconds:7.0f} ms {step.n_bytes / 1e6:5.0f} MB"
        standstill = f"{1000 * step.standstill:5.0f} ms"
        return (
            f"{self.kind:10} {step.name:13} {took} {standstill}  {step.outcome:12} "
            f"{self.text[:100]!r} {step.where[:60]}"
        )

    @property
    def alike(self) -> str:
        """Where it is kept: of finds that are alike, one is."""
        said = re.sub(r"\W+|\d+", "", self.step.more.split("after")[0])[:40]
        words = [self.kind, self.measure, self.step.name, self.step.outcome]
        if self.measure == "outcome":  # whichever walk it was
            words[2:3] = [self.step.name.split(":")[0], said]
        return re.sub(r"[^\w]+", "-", "-".join(words)).strip("-")

    def write(self, path: Path) -> None:
        """Write it to a file that :func:`read` reads."""
        told = {"kind": self.kind, "seed": self.seed, "measure": self.measure, "share": self.share}
        head = json.dumps({**told, "step": asdict(self.step)}, indent=1)
        path.write_text(f"{head}\n=== text\n{self.text}", encoding="utf-8", newline="")


def read(path: Path) -> Find:
    """Return a find as it was written."""
    head, text = path.read_bytes().decode().split("\n=== text\n", 1)
    told = json.loads(head)
    return Find(node=leaf(text), **{**told, "step": Step(**told["step"])})


@dataclass
class _Climb:
    """Where a climb is, and how often it has failed since."""

    sample: Sample | None = None
    score: float = 0.0
    n_failed: int = 0
    number: int = 0


@dataclass
class Search:
    """All climbs.

    Parameters
    ----------
    seed : int
        Of everything that is drawn.
    kinds : sequence of str
        What to look at.
    measure : callable
        Returns the steps of a sample.
    folder : Path, optional
        Where finds are written that are over a limit, or defects.
    log : callable, optional
        Is given a line of JSON for each text that was tried.
    """

    seed: int
    kinds: Sequence[str] = tuple(TABLES)
    measure: Callable[[Sample], Iterable[Step]] = measured
    folder: Path | None = None
    log: Callable[[str], object] | None = None
    n_tried: int = 0
    n_refused: int = 0
    best: dict[tuple[str, str], dict[int, Find]] = field(default_factory=dict)
    bad: dict[str, Find] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._climbs = {(kind, of): _Climb() for of in MEASURES for kind in self.kinds}
        self._turns = list(self._climbs)
        self._recent: dict[str, Node] = {}

    def go_on(self) -> None:
        """Try one more text."""
        kind, of = self._turns[self.n_tried % len(self._turns)]
        climb = self._climbs[kind, of]
        sample = self._next(kind, of, climb)
        self._recent[kind] = sample.node
        self.n_tried += 1
        steps = list(self.measure(sample))
        self.n_refused += any(step.outcome == REFUSED for step in steps)
        if self.log is not None:
            self.log(as_json(sample, steps))
        for step in steps:
            self._note(sample, step)
        worst = max(steps, key=lambda step: shares(step)[of])
        share = shares(worst)[of]
        score = share / (SHORT + len(sample.text))
        if score <= climb.score:
            climb.n_failed += 1
            return
        climb.sample, climb.score, climb.n_failed = sample, score, 0
        found = Find(kind, sample.node, sample.seed, of, share, worst)
        tops = self.best.setdefault((kind, of), {})
        tops[climb.number] = found
        if share > 1 or is_defect(worst):
            climb.n_failed = PATIENCE
        while len(tops) > _KEPT:
            del tops[min(tops, key=lambda number: tops[number].share)]

    def _next(self, kind: str, of: str, climb: _Climb) -> Sample:
        rng, table = self._rng, TABLES[kind]
        if climb.sample is not None and climb.n_failed < PATIENCE:
            if rng.random() < 0.15:
                return Sample(kind, climb.sample.node, rng.getrandbits(16))
            other = self._recent.get(kind, climb.sample.node)
            return Sample(kind, table.changed(rng, climb.sample.node, other), climb.sample.seed)
        climb.sample, climb.score, climb.n_failed = None, 0.0, 0
        climb.number += 1
        seed = rng.getrandbits(16)
        tops = [find for find in self.best.get((kind, of), {}).values() if find.share <= 1]
        if tops and rng.random() < 0.3:
            top = max(rng.choices(tops, k=2), key=_weight)
            return Sample(kind, table.changed(rng, top.node, table.draw(rng)), top.seed)
        listed = listed_texts(kind)
        if listed and rng.random() < 0.25:
            return Sample(kind, leaf(rng.choice(listed)), seed)
        if (
            rng.random() < 0.25
            and (text := beside_the_table(kind, rng, 50 * self.seed))
            and len(text) <= MOST
        ):
            return Sample(kind, leaf(text), seed)
        return Sample(kind, table.draw(rng), seed)

    def _note(self, sample: Sample, step: Step) -> None:
        """Keep what must not be."""
        if is_defect(step):
            self._keep(Find(sample.kind, sample.node, sample.seed, "outcome", 0.0, step))
            return
        for measure, share in shares(step).items():
            if share > 1 or (step.outcome == TOO_SLOW and measure == "seconds" and share):
                self._keep(Find(sample.kind, sample.node, sample.seed, measure, share, step))

    def _keep(self, found: Find) -> None:
        """Keep a find if it is the first of its like, or worse for its length."""
        before = self.bad.get(found.alike)
        if before is not None and _weight(before) >= _weight(found):
            return
        self.bad[found.alike] = found
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            found.write(self.folder / f"{found.alike}.txt")

    def table(self) -> str:
        """Return the tops of the climbs, and what must not be."""
        lines = [f"{self.n_tried} texts, of which {self.n_refused} were refused"]
        for kind in self.kinds:
            for of in MEASURES:
                tops = self.best.get((kind, of), {}).values()
                lines.append(f"--- {kind}, by {of}")
                lines += map(str, sorted(tops, key=lambda find: -find.share))
        lines.append(f"--- {len(self.bad)} over a limit, or defects")
        return "\n".join(lines + [f"{find} {find.step.more}" for find in self.bad.values()])


def _weight(find: Find) -> float:
    """Return how much a find is worth keeping: the worst for its length, else the shortest."""
    return (find.share or 1.0) / (SHORT + len(find.text))


def steps_of(find: Find) -> tuple[Step, ...]:
    """Return the steps of a find, made again."""
    return measured(Sample(find.kind, find.node, find.seed))
