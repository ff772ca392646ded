"""The same inputs and texts for both sides, and where their answers differ.

One side writes texts and the other one writes them again (:mod:`same.worker`): which one writes is
drawn for each input, and so is the order in which the other one is asked. While one input is
written again, the next one is written, so that both processes are busy.
"""

from __future__ import annotations

import queue
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support import inputs

from same.process import Answer, Line, Side
from same.worker import FIELDS, GONE, LIMIT, RAW, Job

ORDERS = ("visited", "visited", "backward", "shuffled")
N_PLACES, N_TOKENS = 250, 24  # of an input, and of a text
SECONDS = 0.25  # of the processor, for the texts of an input that compiles in no time
_AHEAD = 4  # inputs that are begun
SIDES = ("before", "now")


@dataclass(frozen=True)
class Vocabulary:
    """What is written with.

    Attributes
    ----------
    name : str
        Its own.
    path : Path
        A file with its tokens, for the processes to read.
    size : int
        How many tokens it has.
    """

    name: str
    path: Path
    size: int


@dataclass(frozen=True)
class Difference:
    """The two sides do not say the same.

    Attributes
    ----------
    what : str
        One of :data:`same.worker.FIELDS`; ``check``, ``refusal``, ``advance`` or ``error``.
    place : int
        Of the tape; -1 if it is none.
    said : tuple
        What each side says.
    text : bytes, optional
        Which text was checked.
    """

    what: str
    place: int
    said: tuple[Any, Any]
    text: bytes | None = None

    def __str__(self) -> str:
        told = [f"{name} {_short(said)}" for name, said in zip(SIDES, self.said, strict=True)]
        return f"{self.what}: {'; '.join(told)}"


def _short(said: Any) -> str:
    shown = repr(said)
    return shown if len(shown) < 300 else f"{shown[:300]}..."


@dataclass
class Compared:
    """What two answers about an input come to.

    Attributes
    ----------
    differences : list of Difference
        In turn.
    defects : list of Difference
        What both sides fail in, in the same way: errors that are none of the package's, and tokens
        that they refuse though their masks or endings have them.
    limits : list of str
        What only one side could not say within the limits.
    n_places : int
        Configurations that both sides could say something of.
    """

    differences: list[Difference] = field(default_factory=list)
    defects: list[Difference] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    n_places: int = 0


def is_limit(said: Any) -> bool:
    return isinstance(said, str) and said.startswith(LIMIT)


def is_raw(said: Any) -> bool:
    return isinstance(said, str) and said.startswith(RAW)


def compared(answers: tuple[Answer, Answer], tape: Sequence[Any], writer: int | None) -> Compared:
    """Compare what the sides say: before and now.

    Parameters
    ----------
    answers : tuple
        Of each side.
    tape : sequence
        What was written.
    writer : int, optional
        Which side wrote it, by its own masks: then no token is refused.
    """
    found = Compared()
    errors = tuple(answer.get("error") for answer in answers)
    if any(errors):
        _compare_one(found, "refusal", -1, errors)
        return found
    notes = tuple(answer["notes"] for answer in answers)
    for place in range(len(tape)):
        said = (notes[0][place], notes[1][place])
        if GONE in said:
            continue
        if isinstance(said[0], str) or isinstance(said[1], str):  # a token is refused
            _compare_one(found, "advance", place, said, is_right=writer is None)
            continue
        found.n_places += 1
        for number, what in enumerate(FIELDS):
            pair = (said[0][number], said[1][number])
            if what == "accepts":
                for one, other in zip(*pair, strict=True):
                    _compare_one(found, what, place, (one, other))
            else:
                _compare_one(found, what, place, pair)
    for (text, one), (_, other) in zip(answers[0]["checked"], answers[1]["checked"], strict=True):
        _compare_one(found, "check", -1, (one, other), text)
    return found


def _compare_one(
    found: Compared,
    what: str,
    place: int,
    said: tuple[Any, Any],
    text: bytes | None = None,
    *,
    is_right: bool = True,
) -> None:
    if is_limit(said[0]) or is_limit(said[1]):
        if said[0] != said[1]:
            found.limits.extend(
                f"{name}: {what}: {each}"
                for name, each in zip(SIDES, said, strict=True)
                if is_limit(each)
            )
    elif (is_raw(said[0]) and is_raw(said[1])) or (said[0] == said[1] and not is_right):
        found.defects.append(Difference(what, place, said, text))
    elif said[0] != said[1]:
        found.differences.append(Difference(what, place, said, text))


@dataclass
class Work:
    """An input that is being compared."""

    number: int
    input: inputs.Input
    vocabulary: Vocabulary
    writer: int
    order: str
    seed: int
    written: Answer = field(default_factory=dict)

    def job(self, do: str, **more: Any) -> Job:
        return {
            "do": do,
            "source": self.input.source,
            "vocabulary": str(self.vocabulary.path),
            "seed": self.seed,
            **more,
        }


@dataclass
class Tally:
    """What was compared, by kind.

    Attributes
    ----------
    counts : Counter
        By kind, and by what is counted.
    seconds : Counter
        Of the processor, by kind and side.
    limits : list of str
        Which limits only one side hit.
    """

    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    limits: list[str] = field(default_factory=list)

    def n(self, what: str) -> int:
        """Return a count over all kinds."""
        return sum(counts[what] for counts in self.counts.values())

    def lines(self) -> Iterator[str]:
        """Yield a table, a kind a line."""
        heads = ("inputs", "refused by both", "by one", "configurations", "tokens compared")
        heads += ("texts checked", "differ", "both fail", "limits of one", "of both")
        names = ("inputs", "refused", "refused by one", "configurations", "tokens")
        names += ("checked", "differences", "defects", "limits", "limits of both")
        yield f"{'':10}" + "".join(f"{head:>17}" for head in heads) + f"{'a second of both':>18}"
        for kind, counts in [*self.counts.items(), ("all", sum(self.counts.values(), Counter()))]:
            seconds = (counts["ms"] or 1) / 1000
            yield (
                f"{kind:10}"
                + "".join(f"{counts[name]:>17,}" for name in names)
                + f"{2 * counts['configurations'] / seconds:>18.0f}"
            )


class Run:
    """Compares until the time is up.

    Parameters
    ----------
    sides : tuple of Side
        Before and now.
    vocabularies : sequence of Vocabulary
        What is written with.
    kinds : sequence of str
        Of :data:`support.inputs.KINDS`.
    seed : int
        Of all that is drawn.
    found : callable
        Is told of differences: the work, what was compared, and the answers.
    seconds : float
        For the texts of each input.
    """

    def __init__(
        self,
        sides: tuple[Side, Side],
        vocabularies: Sequence[Vocabulary],
        *,
        kinds: Sequence[str],
        seed: int,
        found: Callable[[Work, Compared], object],
        seconds: float = SECONDS,
    ) -> None:
        self._vocabularies, self._kinds, self._seed = vocabularies, kinds, seed
        self._found, self._seconds = found, seconds
        self._answers: queue.Queue[tuple[Work, Answer]] = queue.Queue()
        self._lines = [
            Line(side, lambda work, said: self._answers.put((work, said))) for side in sides
        ]
        self._numbers: Counter[str] = Counter()
        self._used: Counter[str] = Counter(dict.fromkeys(kinds, 0))
        self._n_flying = 0
        self.tally = Tally()

    def work(self, kind: str, number: int) -> Work:
        """Return the input of a number, and how it is compared: always the same for a seed."""
        rng = random.Random(f"{self._seed} {kind} {number}")
        return Work(
            number,
            inputs.draw(kind, 1_000_003 * self._seed + number),
            rng.choice(self._vocabularies),
            rng.randrange(2),
            rng.choice(ORDERS),
            rng.getrandbits(32),
        )

    def go(self, end: float, n_inputs: int, progress: Any) -> None:
        """Compare until a time of the monotonic clock, or so many inputs were compared."""
        n_begun = 0
        while True:
            while self._n_flying < _AHEAD and n_begun < n_inputs and time.monotonic() < end:
                self._begin()
                n_begun += 1
            if not self._n_flying:
                return
            try:
                work, answer = self._answers.get(timeout=max(end + 5 - time.monotonic(), 0.1))
            except queue.Empty:  # the time is up
                return
            self._next(work, answer)
            progress(self.tally)

    def _begin(self) -> None:
        """Begin with an input of the kind that has had least time."""
        kind = min(self._kinds, key=lambda each: self._used[each])
        work = self.work(kind, self._numbers[kind])
        self._numbers[kind] += 1
        self._used[kind] += 200
        self._n_flying += 1
        job = work.job("walk", seconds=self._seconds, n_places=N_PLACES, n_tokens=N_TOKENS)
        self._lines[work.writer].put(work, job, first=False)

    def _next(self, work: Work, answer: Answer) -> None:
        """Have what was written written again, or compare it."""
        counts = self.tally.counts[work.input.kind]
        ms = int(1000 * answer.get("seconds", 0))
        counts["ms"] += ms
        self._used[work.input.kind] += ms
        if not work.written:
            work.written = answer
            more = {"tape": answer.get("tape") or [(-1, -1, [], True)], "order": work.order}
            texts = [text for text, _ in answer.get("checked", ())]
            job = work.job("follow", texts=texts, **more)
            self._lines[1 - work.writer].put(work, job, first=True)
            return
        self._n_flying -= 1
        self._used[work.input.kind] -= 200
        answers = (work.written, answer) if work.writer == 0 else (answer, work.written)
        self._count(work, answers)

    def _count(self, work: Work, answers: tuple[Answer, Answer]) -> None:
        counts = self.tally.counts[work.input.kind]
        errors = [answer.get("error") for answer in answers]
        result = compared(answers, work.written.get("tape", ()), work.writer)
        counts["inputs"] += 1
        counts["refused"] += all(errors) and not any(map(is_limit, errors))
        counts["refused by one"] += sum(map(bool, errors)) == 1 and not any(map(is_limit, errors))
        counts["limits of both"] += all(map(is_limit, errors))
        counts["configurations"] += result.n_places
        counts["tokens"] += result.n_places * work.vocabulary.size
        counts["checked"] += len(work.written.get("checked", ()))
        counts["limits"] += len(result.limits)
        self.tally.limits += [f"{work.input.kind} {work.number}: {each}" for each in result.limits]
        counts["differences"] += bool(result.differences)
        counts.update({f"differ in {each.what}" for each in result.differences})
        counts["defects"] += bool(result.defects)
        if result.differences or result.defects:
            self._found(work, result)

    def close(self) -> None:
        """End what still runs."""
        for line in self._lines:
            line.close()
