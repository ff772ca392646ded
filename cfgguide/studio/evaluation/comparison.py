"""What masks and descriptions change: a model's answers in several ways, beside what is right.

In: a model, examples with references, and what is to be written. Out: a :class:`Comparison`: for
each way the share of valid answers and of right fields, lengths, times, and how much of the model's
probability the mask kept in each field. All shares have intervals, by bootstrap over the examples.

A way without a mask writes any text up to the model's end of text, by the same loop; the text is
read afterwards (:mod:`cfgguide.studio.evaluation.answers`).

Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), section 13.3 (percentiles).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from cfgguide.description import describe
from cfgguide.engine.index.index import Index
from cfgguide.errors import EvaluationError, shown
from cfgguide.grammar.combinators.sequence import free_text
from cfgguide.models.prompts import with_description
from cfgguide.models.transformers.generation import generate, model_and_tokenizer
from cfgguide.schema.json_reading import Leaves
from cfgguide.schema.unknown import or_unknown
from cfgguide.shared_indexes import shared_index, shared_vocabulary
from cfgguide.studio.draw.picture import Picture
from cfgguide.studio.draw.shares import Share, shares_picture
from cfgguide.studio.evaluation.answers import (
    WHOLE,
    AnswerReading,
    Example,
    Match,
    Score,
    check_match,
    examples_of,
    fields_of,
    right_fields,
)
from cfgguide.studio.evaluation.evaluation import evaluate

N_RESAMPLES = 4_000
ALL = "(all)"  # all fields of an answer; what is kept in all of its text
_LEVELS = (0.025, 0.975)  # of the intervals


class Way(NamedTuple):
    """How answers are written: with a mask or freely, and whether the model is told what."""

    is_masked: bool
    is_told: bool
    may_be_unknown: bool = False


WAYS = {
    "free": Way(is_masked=False, is_told=False),
    "free, described": Way(is_masked=False, is_told=True),
    "masked": Way(is_masked=True, is_told=False),
    "masked, described": Way(is_masked=True, is_told=True),
    "or unknown": Way(is_masked=True, is_told=True, may_be_unknown=True),
}
DEFAULT_WAYS = tuple(WAYS)[:4]


class Interval(NamedTuple):
    """A mean over the examples, and the middle 95 % of what it is over examples drawn again."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Answer:
    """What a model wrote in one way for one example.

    Attributes
    ----------
    line : int
        The line of the example.
    way : str
        How it was written.
    text : str
        The text.
    is_valid : bool
        Whether it is what was to be written.
    right : mapping of str to bool
        For each field of the reference whether it is right.
    n_tokens : int
        New tokens, with EOS.
    seconds : float
        How long writing took.
    kept : mapping of str to float
        For each field of a masked answer the probability that the mask kept: the product over the
        field's tokens of what the model gave to allowed ones. 1 if the model needed no mask. That
        of the whole text, with what stands between the fields, is under ``(all)``.
    """

    line: int
    way: str
    text: str
    is_valid: bool
    right: Mapping[str, bool]
    n_tokens: int
    seconds: float
    kept: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Comparison:
    """A model's answers in several ways; it prints as a table.

    Attributes
    ----------
    answers : tuple of Answer
        By example, and then by way.
    seed : int
        Of the bootstrap.
    """

    answers: tuple[Answer, ...]
    seed: int = 0

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways, in the order in which they were compared."""
        return tuple(dict.fromkeys(each.way for each in self.answers))

    @property
    def measures(self) -> tuple[str, ...]:
        """What :meth:`interval` knows: "valid", "right FIELD", "kept FIELD" and the like."""
        fields = dict.fromkeys(name for each in self.answers for name in each.right)
        kept = dict.fromkeys(name for each in self.answers for name in each.kept)
        right = [f"right {name}" for name in fields]
        return (
            *("valid", *right, *([f"right {ALL}"] if len(right) > 1 else [])),
            *("tokens", "characters", "seconds", *(f"kept {name}" for name in kept)),
        )

    def interval(self, measure: str, way: str, beside: str | None = None) -> Interval | None:
        """Return the mean of a measure with its interval; or of its difference from another way.

        Parameters
        ----------
        measure : str
            One of `measures`.
        way : str
            One of `ways`.
        beside : str, optional
            The way that is subtracted, example by example.

        Returns
        -------
        Interval or None
            Over the examples in which it was measured; None if there are none, as of what is kept
            in free texts.

        Raises
        ------
        EvaluationError
            If there is no such measure or way.
        """
        for name, known in ((measure, self.measures), (way, self.ways), (beside or way, self.ways)):
            if name not in known:
                raise EvaluationError(f"there is no {shown(name)}; there is {', '.join(known)}")
        values = self._values(measure, way)
        if beside is not None:
            values = values - self._values(measure, beside)
        values = values[~np.isnan(values)]
        if not len(values):
            return None
        rng = np.random.default_rng(self.seed)
        drawn = rng.integers(len(values), size=(N_RESAMPLES, len(values)))
        low, high = np.quantile(values[drawn].mean(axis=1), _LEVELS)
        return Interval(float(values.mean()), float(low), float(high))

    def _values(self, measure: str, way: str) -> npt.NDArray[np.float64]:
        """Return a measure of each example; NaN where it was not measured."""
        kind, _, name = measure.partition(" ")

        def value(each: Answer) -> float:
            if kind == "right":
                return all(each.right.values()) if name == ALL else each.right.get(name, np.nan)
            if kind == "kept":
                return each.kept.get(name, np.nan)
            if kind == "characters":
                return len(each.text)
            return {"valid": each.is_valid, "tokens": each.n_tokens, "seconds": each.seconds}[kind]

        return np.array([value(each) for each in self.answers if each.way == way], np.float64)

    def table(self) -> dict[str, dict[str, Interval]]:
        """Return each measure in each way in which it was measured."""
        return {
            measure: {
                way: interval
                for way in self.ways
                if (interval := self.interval(measure, way)) is not None
            }
            for measure in self.measures
        }

    def picture(self, title: str = "Shares, with 95 % intervals") -> Picture:
        """Return all shares as a picture.

        Parameters
        ----------
        title : str
            What stands above it.
        """
        kinds = ("valid", "right", "kept")
        shares = [
            Share(measure, way, *interval)
            for measure, intervals in self.table().items()
            for way, interval in intervals.items()
            if measure.partition(" ")[0] in kinds
        ]
        return shares_picture(title, shares)

    def __str__(self) -> str:
        n = len({each.line for each in self.answers})
        rows = [f"| n = {n} | {' | '.join(self.ways)} |", "| --- " * (len(self.ways) + 1) + "|"]
        for measure, intervals in self.table().items():
            cells = [_cell(intervals.get(way)) for way in self.ways]
            rows.append(f"| {measure} | {' | '.join(cells)} |")
        return "\n".join(rows)


def _cell(interval: Interval | None) -> str:
    if interval is None:
        return ""
    size = abs(interval.mean)
    form = ".1g" if 0 < size < 0.005 else ".2f" if size < 10 else ".0f"
    mean, low, high = (format(each, form) for each in interval)
    return f"{mean} ({low} to {high})"


def compare(
    model: Any,
    examples: str | os.PathLike[str] | Iterable[Mapping[str, Any] | Example],
    what: object,
    *,
    tokenizer: Any = None,
    ways: Sequence[str] = DEFAULT_WAYS,
    match: Mapping[str, Match] | None = None,
    score: Score | None = None,
    max_new_tokens: int = 128,
    temperature: float = 0.0,
    seed: int = 0,
    output: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Return how a model answers freely, with a mask, and told what to write.

    Parameters
    ----------
    model, tokenizer :
        As for :func:`cfgguide.generate`.
    examples : path, or iterable of mapping
        A file of lines of JSON, or what is in its lines: ``prompt``, a text, or ``messages``, a
        chat; and ``reference``, the right answer or some fields of it.
    what : type, mapping, Grammar, ...
        What to write, as for :func:`cfgguide.generate`.
    ways : sequence of str
        Some of "free", "free, described", "masked", "masked, described", and "or unknown": masked
        and described, and each value may be left open (:func:`cfgguide.or_unknown`).
    match : mapping of str to {"exact", "set"} or float, optional
        How fields are compared, by their paths, such as ``home.city``: exactly, as sets, or as
        numbers that differ by so much at most. Exactly by default.
    score : callable, optional
        Compares instead: called with an answer and a reference, it returns whether the answer is
        right, or that for each of some names. An answer in JSON that is not valid is not right.
    max_new_tokens : int
        Of each answer.
    temperature : float
        By default the likeliest token is taken.
    seed : int
        Of what is drawn, and of the bootstrap: same seed, same answers and intervals.
    output : path, optional
        A file for the answers, in lines of JSON, each written as soon as it is there. If it holds
        answers of the same examples and settings, they are not asked for again.
    progress : bool, optional
        Whether to show a bar of answers on standard error; by default on a terminal.

    Returns
    -------
    Comparison
        It prints as a table, and has each answer.

    Raises
    ------
    EvaluationError
        If the examples or the file are not as they should be.
    CfgGuideError
        As :func:`cfgguide.generate`.
    """
    given = read_examples(examples)
    unknown = [way for way in ways if way not in WAYS]
    if unknown or not ways:
        raise EvaluationError(f"there is no way {shown(unknown)}; there are {', '.join(WAYS)}")
    if score is None:
        fields = dict.fromkeys(path for each in given for path in fields_of(each.reference))
        check_match(match or {}, [*fields])
    writer = _Writer(model, tokenizer, what, match or {}, score, max_new_tokens, temperature, seed)
    answers: dict[tuple[int, str], Answer] = {}
    file = None if output is None else _ResultFile(Path(output), writer.settings(given))
    for each in file.answers if file else ():
        answers[each.line, each.way] = each
    wanted = [(example, way) for example in given for way in ways]
    left = [(example, way) for example, way in wanted if (example.line, way) not in answers]
    shows = sys.stderr.isatty() if progress is None else progress
    for example, way in tqdm(left, unit="answer", disable=not shows, leave=False):
        answers[example.line, way] = writer.answer(example, way)
        if file:
            file.add(answers[example.line, way])
    return Comparison(tuple(answers[example.line, way] for example, way in wanted), seed)


def read_examples(examples: Any) -> list[Example]:
    """Return the examples of a file, or of what is in its lines.

    Raises
    ------
    EvaluationError
        If they are not as they should be.
    """
    if isinstance(examples, list) and all(isinstance(each, Example) for each in examples):
        return examples
    if not isinstance(examples, str | os.PathLike):
        return examples_of(json.dumps(each) for each in examples)
    try:
        lines = Path(examples).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise EvaluationError(f"cannot read the examples {shown(str(examples))}: {error}") from None
    return examples_of(lines)


class _Writer:
    """Writes answers, and compares them with references."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        what: object,
        match: Mapping[str, Match],
        score: Score | None,
        max_new_tokens: int,
        temperature: float,
        seed: int,
    ) -> None:
        self._model, self._tokenizer = model_and_tokenizer(model, tokenizer)
        self._what, self._match, self._score = what, match, score
        self._max_new_tokens, self._temperature, self._seed = max_new_tokens, temperature, seed
        self._reading, self._free = AnswerReading(what), free_text()
        self._told = describe(what).instruction
        eos_token_ids = getattr(
            getattr(self._model, "generation_config", None), "eos_token_id", None
        )
        self._vocabulary = shared_vocabulary(self._tokenizer, eos_token_ids)
        self._open: Any = None

    def settings(self, examples: Sequence[Example]) -> str:
        """Return a digest of all on which answers depend, but for the weights of the model."""
        name = str(getattr(self._model, "name_or_path", ""))
        how = [name, self._max_new_tokens, self._temperature, self._seed, dict(self._match)]
        how += [self._told, self._index(self._what).digest, self._score is not None]
        made = json.dumps([how, examples], sort_keys=True)
        return hashlib.sha256(made.encode()).hexdigest()

    def answer(self, example: Example, name: str) -> Answer:
        """Return the answer to an example in one way."""
        way = WAYS[name]
        what, prompt, reading = self._what, example.prompt, self._reading
        if way.may_be_unknown:
            if self._open is None:
                made: Any = or_unknown(self._what)  # type: ignore[call-overload]
                self._open = made, describe(made).instruction, AnswerReading(made)
            what, told, reading = self._open
        else:
            told = self._told
        if way.is_told:
            prompt = with_description(prompt, told, self._tokenizer)
        written_as = what if way.is_masked else self._free
        self._index(written_as)  # compiling is no part of the time
        begun = time.perf_counter()
        written = generate(
            self._model,
            prompt,
            written_as,
            tokenizer=self._tokenizer,
            max_new_tokens=self._max_new_tokens,
            temperature=self._temperature,
            seed=np.random.default_rng([self._seed, example.line]),
            progress=False,
        )
        seconds = time.perf_counter() - begun
        value, is_valid = reading.read(written.text)
        kept = self._kept(what, prompt, written) if way.is_masked else {}
        return Answer(
            line=example.line,
            way=name,
            text=written.text,
            is_valid=is_valid,
            right=self._right(value, example, is_valid or not reading.is_json),
            n_tokens=len(written.token_ids),
            seconds=round(seconds, 4),
            kept=kept,
        )

    def _right(self, value: Any, example: Example, is_there: bool) -> dict[str, bool]:
        reference = example.reference
        if self._score is None:
            return right_fields(value, reference, self._match)
        verdict: Any = is_there and self._score(value, reference)
        found = verdict if isinstance(verdict, Mapping) else {WHOLE: verdict}
        if not found or not all(isinstance(each, bool | np.bool_) for each in found.values()):
            raise EvaluationError(
                f"line {example.line}: the score is {shown(verdict)}; it is True or False, or an "
                "object of these"
            )
        return {str(name): bool(each) for name, each in found.items()}

    def _index(self, what: object) -> Index:
        return shared_index(what, self._vocabulary, is_written=True)

    def _kept(self, what: object, prompt: Any, written: Any) -> dict[str, float]:
        """Return how much the mask kept in each field, by reading the text once more."""
        index = self._index(what)
        [read] = evaluate(
            self._model,
            index,
            [(prompt, list(written.token_ids))],
            tokenizer=self._tokenizer,
            n_disagreements=0,
            progress=False,
        ).texts
        tokens = index.vocabulary.tokens
        ends = np.cumsum([len(tokens[token_id] or b"") for token_id in read.token_ids])
        begins = np.concatenate([[0], ends[:-1]])
        found = {ALL: float(read.log_kept.sum())}
        for path, begin, end in _places(written.text, is_json=self._reading.is_json):
            is_inside = (begins < end) & (ends > begin)
            found[path] = found.get(path, 0.0) + float(read.log_kept[is_inside].sum())
        return {path: float(f"{np.exp(mass):.4g}") for path, mass in found.items()}


def _places(text: str, *, is_json: bool) -> Iterator[tuple[str, int, int]]:
    """Yield where each value in a text begins and ends, in bytes, with the path of its field."""
    if not is_json:
        yield WHOLE, 0, len(text.encode())
        return
    for path, leaf in fields_of(
        Leaves(text, lambda _, begin, end: _Place(begin, end)).value
    ).items():
        pending = [leaf]
        while pending:
            each = pending.pop()
            if isinstance(each, _Place):
                yield path, *each
            else:
                pending += each.values() if isinstance(each, dict) else each


class _Place(NamedTuple):
    """Where a value stands, in bytes."""

    begin: int
    end: int


class _ResultFile:
    """A file of answers: a line for the settings, and one for each answer.

    Raises
    ------
    EvaluationError
        If it has something else, or of other settings.
    """

    def __init__(self, path: Path, settings: str) -> None:
        self._path = path
        data = path.read_bytes() if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]  # an interruption may have cut the last line
        lines = whole.decode(errors="replace").splitlines()
        if lines and self._parsed(1, lines[0]).get("settings") != settings:
            raise EvaluationError(
                f"{shown(str(path))} has answers to other examples, or of other settings; name "
                "another file, or delete it"
            )
        self.answers = [self._answer(n, line) for n, line in enumerate(lines[1:], 2)]
        if not lines:
            self._write(json.dumps({"settings": settings}), mode="wb")
        elif len(whole) < len(data):
            os.truncate(path, len(whole))

    def _parsed(self, number: int, line: str) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise EvaluationError(f"{shown(str(self._path))}, line {number}: it is no answer")
        return found

    def _answer(self, number: int, line: str) -> Answer:
        found = self._parsed(number, line)
        if found.keys() != Answer.__dataclass_fields__.keys():
            raise EvaluationError(f"{shown(str(self._path))}, line {number}: it is no answer")
        return Answer(**found)

    def add(self, answer: Answer) -> None:
        """Write an answer."""
        self._write(json.dumps(asdict(answer)), mode="ab")

    def _write(self, line: str, *, mode: str) -> None:
        with self._path.open(mode) as file:
            file.write(f"{line}\n".encode())
