"""What is done with a text of a stranger after it is compiled: hostile texts are written with it.

In: a kind, a text and a seed. Out: the steps, told to a :class:`~hostile.run.Meter`. First
the text is compiled, and the first mask made. Then each *walk* writes a text token by token, and
each call of it is timed:

* *any* takes any allowed token, *long* the longest ones, *bytes* single bytes;
* *again* takes one token as often as it may come, then another one, so that each byte comes again
  and again in each state of a lexer;
* *budget* writes within a few tokens more than are needed, which have to suffice.

Each walk ends with the shortest ending. Then tokens are refused and explained, and whole texts are
checked, by the engine and in the end by a judge: Python's `re`, the library `jsonschema`, or Lark.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import warnings
import zlib
from collections.abc import Callable, Collection
from typing import Any

import lark
import numpy as np
from support.inputs import UNLIKE
from support.schemas import is_valid

import cfgguide
from cfgguide.diagnostics.diagnosis import diagnose
from cfgguide.errors import (
    BudgetError,
    CfgGuideError,
    LimitError,
    SchemaError,
    TokenRejectedError,
)
from cfgguide.grammar.lark_frontend import parser_of
from hostile import engine
from hostile.run import (
    DEAD_END,
    INCONSISTENT,
    LIMIT,
    NO_ENDING,
    REFUSED,
    UNSOUND,
    WORKS,
    Meter,
)

N_TOKENS = 60  # of a walk
N_AGAIN = 600  # tokens that come again, of which the last are measured like the first
MOST_SECONDS = 2.0  # of the calls of a walk, which then ends
_MOST_SECONDS_WITH_END = 4.0  # of those with which it ends, too
N_REFUSED = 4  # tokens that are refused in each walk
_JUDGE_SECONDS = 3
COMPILE, JUDGE = "compile", "judge"

#: Brings in what each kind needs (:func:`prepare`).
_EACH_KIND = {
    "grammar": 'start: start "a" start | "b"',
    "ebnf": 'root ::= "a" root | [b-c]+',
    "llguidance": '%llguidance {}\nstart: A %json {"enum": [1]}\nA: B & /b+/\nB: /[a-c]+/',
    "pattern": r"(?!ab)\w+(?=c)c",
    "schema": '{"properties": {"a": {"type": "string", "pattern": "^a+$"}}, "uniqueItems": true}',
    "tag": '{"type": "structural_tag", "format": {"type": "tag", "begin": "<a>", "end": "</a>", '
    '"content": {"type": "any_text"}}}',
    "gbnf": 'root ::= root "+" root | [0-9]+',
    "w3c": "root ::= [a-z] - [aeiou]",
    "indented": 'start: "i" _NL [_INDENT start _DEDENT]\n_NL: /\\n */\n%declare _INDENT _DEDENT',
    "watched": "start: A+\nA: /[ab]/",
    "definition": 'cfgguide:sql_select {"tables": "CREATE TABLE t (x); CREATE VIEW v AS SELECT 1"}',
}

Finding = tuple[str, str]


class Defect(Exception):
    """A text that has begun came to something that it must not come to."""


class _Unmeasured:
    """Does what a Meter measures."""

    used = 0.0

    def step(
        self, name: str, work: Callable[[], Finding], *, most_seconds: int | None = None
    ) -> bool:
        return work()[0] == WORKS

    def call(self, where: Callable[[], str], function: Callable[..., Any], *given: Any) -> Any:
        return function(*given)


def prepare(kinds: Collection[str] = tuple(_EACH_KIND)) -> None:
    """Import everything and make what all indexes share, as a service has it after a while."""
    engine.prepare()
    for kind in kinds:
        _Attack(kind, _EACH_KIND[kind], 0, _Unmeasured()).run()


def attack(kind: str, text: str, seed: int, meter: Meter) -> None:
    """Do everything with a text, as far as it is not refused."""
    _Attack(kind, text, seed, meter).run()


class _Attack:
    def __init__(self, kind: str, text: str, seed: int, meter: Meter | _Unmeasured) -> None:
        self._kind, self._text, self._meter = kind, text, meter
        self._rng = random.Random(zlib.crc32(text.encode(errors="replace")) + seed)
        self._grammar: Any = None
        self._index: Any = None
        self._written: list[bytes] = []
        self._begun: list[cfgguide.Guide] = []

    def run(self) -> None:
        if not self._meter.step(COMPILE, self._compile):
            return
        self._step("forced", self._forced)
        for walk in (self._any, self._long, self._bytes, self._again, self._budget):
            self._step(f"walk: {walk.__name__[1:]}", walk)
        self._step("explain", self._explain)
        self._step("check", self._check)
        self._step(JUDGE, self._judge, most_seconds=_JUDGE_SECONDS)

    def _compile(self) -> Finding:
        try:
            self._grammar, self._index = engine.compiled(self._kind, self._text)
        except CfgGuideError as error:
            return REFUSED, f"{type(error).__name__}: {str(error)[:200]!a}"
        tokens = self._index.vocabulary.tokens
        self._lengths = np.array([len(token or b"") for token in tokens])
        return WORKS, ""

    def _step(
        self, name: str, work: Callable[[], object], *, most_seconds: int | None = None
    ) -> None:
        def judged() -> Finding:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    work()
            except Defect as error:
                return error.args
            except (LimitError, SchemaError) as error:
                if "max_" not in str(error):
                    raise
                return LIMIT, str(error)[:200]
            except BudgetError as error:
                return NO_ENDING, str(error)[:200]
            return WORKS, ""

        self._meter.step(name, judged, most_seconds=most_seconds)

    # --- Walks -----------------------------------------------------------------------------------

    def _call(self, guide: cfgguide.Guide, function: Callable[..., Any], *given: Any) -> Any:
        def where() -> str:
            name = getattr(function, "__qualname__", str(function)).split(".")[-1]
            return f"{name} after {guide.text!r:.300}"

        return self._meter.call(where, function, *given)

    def _mask(self, guide: cfgguide.Guide) -> Any:
        """Return the tokens that may come, but for those that end the text, if others may."""
        allowed = self._call(guide, guide.allowed_token_ids)
        if not len(allowed):
            raise Defect(DEAD_END, f"after {guide.text!r:.300}")
        return self._going_on(allowed)

    def _going_on(self, allowed: Any) -> Any:
        return allowed[~np.isin(allowed, list(self._index.vocabulary.eos_token_ids))]

    def _forced(self) -> None:
        """Prepare an index for forced text, which a walk asks about at its end."""
        guide = cfgguide.Guide(self._index)
        self._call(guide, guide.forced_bytes)

    def _any(self) -> None:
        self._walk(self._rng.choice)

    def _long(self) -> None:
        self._walk(lambda allowed: self._of_length(allowed, int(self._lengths[allowed].max())))

    def _bytes(self) -> None:
        self._walk(lambda allowed: self._of_length(allowed, int(self._lengths[allowed].min())))

    def _of_length(self, allowed: Any, length: int) -> int:
        return self._rng.choice(allowed[self._lengths[allowed] == length])

    def _walk(self, choose: Callable[[Any], int]) -> None:
        guide = cfgguide.Guide(self._index)
        for number in range(N_TOKENS):
            allowed = self._mask(guide)
            if number % (N_TOKENS // N_REFUSED) == 0:
                self._refuse(guide)
            if not len(allowed) or self._meter.used > MOST_SECONDS:
                break
            self._call(guide, guide.advance, int(choose(allowed)))
        self._end(guide)

    def _again(self) -> None:
        """Write tokens again and again, mostly single bytes."""
        guide, n_again = cfgguide.Guide(self._index), 0
        while n_again < N_AGAIN and self._meter.used < MOST_SECONDS:
            allowed = self._mask(guide)
            if not len(allowed):
                break
            shortest = self._rng.random() < 0.8
            length = int(self._lengths[allowed].min()) if shortest else 0
            token = self._of_length(allowed, length) if length else self._rng.choice(allowed)
            most = self._rng.choice((1, 1, 2, 5, 20, N_AGAIN))
            for number in range(most):
                n_again += 1
                if self._meter.used > MOST_SECONDS or not self._call(
                    guide, guide.try_advance, int(token)
                ):
                    break
                if number < N_TOKENS or number == most - 1:
                    self._mask(guide)
            self._refuse(guide)
        self._end(guide)

    def _budget(self) -> None:
        """Write any text within a few tokens more than the shortest one has."""
        guide = cfgguide.Guide(self._index)
        left = len(self._call(guide, guide.shortest_completion)) + self._rng.choice((0, 1, 5, 20))
        while not guide.is_finished:
            if self._meter.used > MOST_SECONDS:
                return
            try:
                allowed = self._call(guide, guide.allowed_within, left)
            except BudgetError as error:
                raise Defect(NO_ENDING, f"{left} left: {error}") from error
            if not len(allowed):
                raise Defect(DEAD_END, f"within {left} after {guide.text!r:.300}")
            going_on = self._going_on(allowed)
            chosen = self._rng.choice(going_on if len(going_on) else allowed)
            self._call(guide, guide.advance, int(chosen))
            left -= 1
        self._written.append(self._sentence(guide))

    def _end(self, guide: cfgguide.Guide) -> None:
        """Finish a text as soon as it can be."""
        self._begun.append(guide.copy())
        self._call(guide, guide.forced_bytes)
        self._call(guide, guide.expected)
        ending = self._call(guide, guide.shortest_completion)
        if len(ending) > N_AGAIN:
            return
        for token_id in ending:
            if self._meter.used > _MOST_SECONDS_WITH_END:
                return
            self._call(guide, guide.advance, token_id)
        if not guide.is_finished:
            raise Defect(INCONSISTENT, f"its ending does not finish {guide.text!r:.300}")
        self._written.append(self._sentence(guide))

    def _sentence(self, guide: cfgguide.Guide) -> bytes:
        return guide.index.vocabulary.spell(guide.token_ids[:-1])

    def _refuse(self, guide: cfgguide.Guide) -> None:
        """Give it a token that may not come."""
        token_id = self._refused(guide)
        if token_id is None:
            return
        if self._call(guide, guide.accepts, token_id):
            if not self._index.masks.are_complete:  # what a mask leaves out is read all the same
                self._call(guide, guide.copy().advance, token_id)
                return
            raise Defect(INCONSISTENT, f"accepts {token_id} after {guide.text!r:.300}")
        try:
            self._call(guide, guide.advance, token_id)
        except TokenRejectedError as error:
            self._call(guide, str, error)
        else:
            raise Defect(INCONSISTENT, f"reads {token_id} after {guide.text!r:.300}")

    def _refused(self, guide: cfgguide.Guide) -> int | None:
        allowed = set(guide.allowed_token_ids().tolist())
        tries = (self._rng.randrange(self._index.vocabulary.size) for _ in range(50))
        return next((each for each in tries if each not in allowed), None)

    # --- Of whole texts --------------------------------------------------------------------------

    def _explain(self) -> None:
        for guide in self._begun:
            token_id = self._refused(guide)
            if token_id is not None:
                self._call(guide, str, self._call(guide, guide.explain, token_id))

    def _check(self) -> None:
        """Ask the machine about texts that were written, and about others near them."""
        machine = self._index.machine

        def verdict(text: bytes) -> bool:
            return self._meter.call(
                lambda: f"diagnose {text!r:.300}", diagnose, machine, text
            ).is_sentence

        for text in self._written:
            if self._meter.used > MOST_SECONDS:
                break
            if not verdict(text):
                raise Defect(INCONSISTENT, f"check refuses {text!r:.300}")
            place = self._rng.randrange(len(text) + 1)
            changed = self._rng.choice((b"a", b'"', b"\xff", b"", b"{"))
            try:
                verdict(text[:place] + changed + text[place + 1 :])
            except LimitError as error:
                if "(max_hypotheses)" not in str(error):  # no mask has written such a text
                    raise

    def _judge(self) -> None:
        verdict = self._judge_of_kind()
        for written in self._written if verdict else ():
            with contextlib.suppress(UnicodeDecodeError):
                text = written.decode()
                if verdict(text) is False:
                    raise Defect(UNSOUND, f"{text!r:.1000}")

    def _judge_of_kind(self) -> Callable[[str], bool | None] | None:
        """Return what judges texts, which may know no answer; None for those without a judge."""
        if self._kind in ("tag", "watched"):
            return None
        if self._kind == "pattern":
            pattern = re.compile(self._text)
            return lambda text: pattern.fullmatch(text) is not None
        if self._kind == "schema":
            if UNLIKE.search(self._text):
                return None
            schema = json.loads(self._text)
            return lambda text: _is_valid(schema, text)
        parser = parser_of(self._grammar.chosen())
        return lambda text: _parses(parser, text)


def _is_valid(schema: Any, text: str) -> bool | None:
    try:
        return is_valid(schema, text)
    except Exception:  # a reference without an end
        return None


def _parses(parser: lark.Lark, text: str) -> bool | None:
    try:
        parser.parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    except Exception:  # trees may be nested too deeply
        return None
    return True
