"""Whatever makes work in a step looks at the limits often: counted in lines, not in seconds.

A step is what a limit of seconds and bytes is for: reading a schema, a mask, a token, an ending. No
thread watches it, so each loop over what a stranger wrote has to call `check_step`. Here a tracer
counts the lines of the package that run between two such calls, whatever a clock says. A part of a
line that loops in C counts once: such loops are bounded by sizes that were checked before.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import cfgguide
from cfgguide.automata.charset import CharacterClass
from cfgguide.base import limits
from cfgguide.errors import CfgGuideError
from hostile.cases import Case, all_cases

#: Lines between two looks at the limits: of most, it is a hundred; 20,000 take some milliseconds.
MOST = 20_000
#: Lines after which a call is left: none of the inputs needs to come to its end.
ENOUGH = 400_000
N_TOKENS = 6  # of a text, with the longest ones first
_PACKAGE = str(Path(cfgguide.__file__).parent)
#: No clock ends what is counted.
_UNTIMED = cfgguide.Limits(max_seconds=10_000.0)
_VOCABULARY = cfgguide.Vocabulary.of_bytes([b"word", b'": ', b'{"', b"ab ", b"aaaa", b", "])


class EnoughError(BaseException):
    """A call has had so many lines."""


class Lines:
    """Counts the lines of the package, and those since the limits were looked at last."""

    def __init__(self) -> None:
        self.worst, self.where = 0, ""
        self._n_left = ENOUGH
        self._since = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count inside a ``with`` block, which ends after so many."""
        self._since, self._n_left = 0, ENOUGH
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            with suppress(EnoughError, CfgGuideError):
                yield
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is limits.check_step.__code__:
            if limits._thread.step.lock.locked():  # outside of a step nothing is looked at
                self._since = 0
            return None
        return self._line if frame.f_code.co_filename.startswith(_PACKAGE) else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event != "line":
            return self._line
        self._n_left -= 1
        self._since += 1
        if self._since > self.worst:
            self.worst = self._since
            if self._since > MOST:
                self.where = "".join(traceback.format_stack(frame)[-8:])
        if not self._n_left or self._since > MOST:
            raise EnoughError
        return self._line


def longest_gap(kind: str, text: str, limits: cfgguide.Limits = _UNTIMED) -> Lines:
    """Return the most lines between two looks at the limits while a text is written."""
    lines = Lines()
    try:
        index = cfgguide.compile(_grammar(kind, text, lines), _VOCABULARY, limits=limits)
    except CfgGuideError:
        return lines  # compiling is watched by another thread
    guide = cfgguide.Guide(index)
    for _ in range(N_TOKENS):
        token_ids: list[int] = []
        _count(lines, lambda: token_ids.extend(guide.allowed_token_ids().tolist()))  # noqa: B023
        left = sorted(set(token_ids) - set(_VOCABULARY.eos_token_ids), key=_length)
        for work in (guide.shortest_completion, guide.forced_bytes, guide.expected):
            _count(lines, work)
        _count(lines, partial(guide.allowed_within, 50))
        _count(lines, lambda: str(guide.explain(b"\x00")))
        if not left:
            break
        _count(lines, partial(guide.advance, left[-1]))
    return lines


def _grammar(kind: str, text: str, lines: Lines) -> cfgguide.Grammar:
    if kind == "grammar":
        return cfgguide.Grammar(text)
    if kind == "pattern":
        return cfgguide.regex(text)
    found: list[cfgguide.Grammar] = []
    with lines.counted():  # reading a schema is a step
        found.append(cfgguide.json_schema(text, limits=_UNTIMED))
    return found[0] if found else cfgguide.json_schema("{}")


def _count(lines: Lines, work: Callable[[], object]) -> None:
    with lines.counted():
        work()


def _length(token_id: int) -> int:
    return len(_VOCABULARY.tokens[token_id] or b"")


def matching(pattern: str, **more: Any) -> str:
    return json.dumps({"type": "string", "pattern": pattern, **more})


def requires(*names: str) -> dict[str, Any]:
    return {"type": "object", "required": names}


def thousands(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1000}


NAMES = [f"k{n}" for n in range(1500)]
LOOKS = "".join(f"(?=.*[{a}-{b}]{{9}}.{{9}})" for a, b in ("ac", "bd", "ce", "df", "eg"))
KINDS = {
    "boundaries that are counted": ("schema", matching(r"^(?:.|\b|.){4000}$")),
    "the same after a word": ("pattern", r"word(?:.|\b|.){4000}"),
    "five look-aheads": ("schema", matching(f"^{LOOKS}")),
    "look-aheads in a loop": ("pattern", r"(?:(?=a.{1,30}b)a|b|c){1,200}"),
    "words with boundaries": ("schema", matching(r"^(\b\w{1,50}\b\s?){5,50}$")),
    "a look-behind at the end": ("pattern", "a{3000}b*(?<=ab)"),
    "nested counts": ("pattern", r"(?:(?:a{1,30}|b{1,30}|\w{1,30}){1,30}){1,30}"),
    "thousands of optional letters": ("pattern", "a?" * 1500 + "b"),
    "names by patterns": (
        "schema",
        json.dumps({"patternProperties": {f"^a{{{n}}}.*b{{{n}}}$": {} for n in range(1, 9)}}),
    ),
    "300 objects that are listed": (
        "schema",
        json.dumps({"enum": [{"id": n, "name": f"n{n}"} for n in range(300)]}),
    ),
    "alternatives of required names": (
        "schema",
        json.dumps(
            {"allOf": [{"oneOf": [requires(f"a{n}"), requires(f"b{n}")]} for n in range(16)]}
        ),
    ),
    "items that all have to contain": (
        "schema",
        json.dumps({"allOf": [{"type": "array", "contains": {"const": n}} for n in range(12)]}),
    ),
    "many names": (
        "schema",
        json.dumps({**requires(*NAMES), "properties": {each: {} for each in NAMES}}),
    ),
    "arrays of a thousand arrays": ("schema", json.dumps(thousands(thousands(thousands({}))))),
    "a grammar that looks ahead": (
        "grammar",
        "start: (A | B)+\nA: /[a-z]{1,60}(?=[0-9]{1,9}x)/\nB: /[0-9a-z]{1,60}/",
    ),
}


@pytest.mark.few(5)
@pytest.mark.parametrize(("kind", "text"), KINDS.values(), ids=KINDS)
def test_work_in_a_step_looks_at_the_limits_often(kind, text):
    lines = longest_gap(kind, text)
    assert lines.worst <= MOST, lines.where


@pytest.mark.slow
@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.full_name)
def test_each_hostile_case_looks_at_the_limits_often(case: Case):
    lines = longest_gap(case.kind, case.make(), cfgguide.Limits.for_strangers())
    assert lines.worst <= MOST, lines.where


def test_the_count_finds_a_loop_that_does_not_look():
    lines = Lines()
    with lines.counted():
        CharacterClass.of((n, n) for n in range(0, 2 * MOST, 2))
    assert lines.worst > MOST
