"""An ending of any live configuration, read off the search that decides liveness.

In: a hypothesis of a configuration. Out: bytes after which the text is a sentence, if there are
any. :mod:`cfgguide.engine.liveness.endings` finds shorter ones where the parser alone leads. Where
lexemes cannot stand there, or tokens cannot spell them, this module is asked: the pushdown system
(:mod:`cfgguide.engine.liveness.stack_summaries`) keeps why a state can be left, and a stack is left
state by state. What is found need not be short, but it is there.

A lexeme is chosen when it is shifted: until then the parser has several terminals as its lookahead,
and reduces alike on all of them.

All that follows a place in a proof depends on the facts that are still to be read off and on the
lexeme that is open, so it is remembered by them: the endings after the tokens of one mask differ in
their first lexemes.

With an indenter there is no such ending, since a place between two lexemes tells no column.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from cfgguide.base.limits import Budget, check_step
from cfgguide.base.remembered import remembered_up_to
from cfgguide.engine.liveness.endings import MAX_LEXEMES
from cfgguide.engine.liveness.spelled_ends import Between, SpelledEnds
from cfgguide.engine.liveness.stack_summaries import (
    ACCEPTED,
    Fact,
    LookaheadControl,
    StackSummaries,
    Step,
)
from cfgguide.engine.machine.recognizer import Hypothesis, Recognizer
from cfgguide.engine.vocabulary.spelling import BOUNDARY, Spelling
from cfgguide.grammar.lr.stack import Stack

_MAX_KNOWN = 10_000  # lexemes by how they end
_MAX_REST = 500_000  # lexemes, places and facts of the rests of proofs that are remembered
_LONG = 100  # facts of a rest that is
_EVERY = 16  # one place in so many is remembered: others soon come to one
_DONE = 0  # the number of no facts


@dataclass(frozen=True, eq=False)
class _Lexeme:
    """Where a lexeme goes on of which it is not decided yet how it ends."""

    begins: tuple[tuple[int, Between], ...]


@dataclass(frozen=True, eq=False)
class _Effect:
    """What a step does: a lexeme begins, or one ends as one of some terminals, or both.

    Attributes
    ----------
    lexeme : _Lexeme or None
        That which begins.
    terminal_ids : frozenset of int
        What the lexeme that is open ends as; none if it goes on.
    after : Between or None
        The place where it ends.
    """

    lexeme: _Lexeme | None = None
    terminal_ids: frozenset[int] = frozenset()
    after: Between | None = None


class _Rest(NamedTuple):
    """The lexemes from a place in a proof to where a state is left, and what is open then."""

    texts: list[bytes]
    start: int
    lexeme: _Lexeme | None


class ProvedEndings:
    """Finds an ending wherever one exists.

    Parameters
    ----------
    recognizer : Recognizer
        Of a grammar without an indenter.
    spelling : Spelling
        What the tokens can spell.
    """

    def __init__(self, recognizer: Recognizer, spelling: Spelling) -> None:
        assert recognizer.indentation_rules is None, "a column is more than a place tells"
        self._recognizer = recognizer
        self._table = recognizer.parse_table
        self._ignored = frozenset({recognizer.scanner.ignored})
        budget = Budget(is_timed=False)
        self._pushdown = StackSummaries(
            recognizer, SpelledEnds(recognizer, spelling, budget), None, budget=budget
        )
        self._effects: dict[Step, _Effect] = {}
        # Facts to be read off are numbered: each number is that of a fact and of those after it.
        self._numbers: dict[tuple[Fact, int], int] = {}
        self._rests: dict[tuple[int, _Lexeme | None], _Rest] = {}
        self._n_remembered = 0

    def of(self, hypothesis: Hypothesis, context: int) -> bytes | None:
        """Return bytes after which the text is a sentence; None if there are none, or too many.

        Raises
        ------
        LimitError
            If deciding it takes more pairs of a control and a state than the limit.
        """
        state, obligations, stack, _ = hypothesis
        place = Between(obligations, BOUNDARY, context)
        if self._recognizer.scanner.is_start[state]:
            controls, lexeme = self._pushdown.at(place), None
        else:
            ends = self._pushdown.lexemes.ends(state, place)
            controls, lexeme = self._pushdown.after(ends, stack.state), _Lexeme(((state, place),))
        levels, states = [controls], list[int]()
        cell: Stack | None = stack
        while cell is not None and ACCEPTED not in levels[-1]:
            left = self._pushdown.leave(levels[-1], cell.state)
            assert left is not None, "as many pairs are looked at as it takes"
            levels.append(left)
            states.append(cell.state)
            cell = cell.below
        if ACCEPTED not in levels[-1]:
            return None
        way = [ACCEPTED]
        for controls, here in zip(reversed(levels[:-1]), reversed(states), strict=True):
            way.append(self._pushdown.leaving(controls, here, way[-1]))
        way.reverse()
        texts: list[bytes] = []
        first = self._pushdown.control(way[0])
        if lexeme is not None and isinstance(first, Between):
            texts.append(self._ended(lexeme, _Effect(None, self._ignored, first)))
        for (number, target), here in zip(pairwise(way), states, strict=True):
            lexeme = self._leave(self._pushdown.fact(number, here, target), lexeme, texts)
            if len(texts) > MAX_LEXEMES:
                return None
        return b"".join(texts)

    def _leave(self, fact: Fact, lexeme: _Lexeme | None, texts: list[bytes]) -> _Lexeme | None:
        """Add the lexemes with which a state is left, and return the one that is open then."""
        if len(self._numbers) + self._n_remembered > _MAX_REST:
            self._rests.clear()
            self._numbers.clear()
            self._n_remembered = 0
        pending, numbers, n_before = [fact], [self._numbered(fact, _DONE)], len(texts)
        passed: list[tuple[tuple[int, _Lexeme | None], int]] = []
        while pending and len(texts) <= MAX_LEXEMES:
            check_step()
            known = self._rests.get((numbers[-1], lexeme))
            if known is not None:
                texts += known.texts[known.start :]
                lexeme = known.lexeme
                break
            passed.append(((numbers[-1], lexeme), len(texts) - n_before))
            reason = self._pushdown.reason(pending.pop())
            numbers.pop()
            if reason is None:
                continue
            step, following = reason
            for each in reversed(following):
                numbers.append(self._numbered(each, numbers[-1] if numbers else _DONE))
                pending.append(each)
            effect = self._effects.get(step)
            if effect is None:
                effect = self._effects[step] = self._effect(step)
            lexeme = effect.lexeme or lexeme
            if effect.terminal_ids:
                texts.append(self._ended(lexeme, effect))
        if len(passed) > _LONG and len(texts) <= MAX_LEXEMES:
            rest = texts[n_before:]
            kept = passed[::_EVERY]
            self._rests.update((place, _Rest(rest, start, lexeme)) for place, start in kept)
            self._n_remembered += len(rest) + len(kept)
        return lexeme

    def _numbered(self, fact: Fact, after: int) -> int:
        return self._numbers.setdefault((fact, after), len(self._numbers) + 1)

    def _effect(self, step: Step) -> _Effect:
        number, top, following, pushed = step
        before, after = self._pushdown.control(number), self._pushdown.control(following)
        if isinstance(before, Between):
            terminal_set = int(self._table.set_of_state[top])
            lexeme = _Lexeme(tuple(self._pushdown.lexemes.begins(terminal_set, before)))
            return (
                _Effect(lexeme, self._ignored, after)
                if isinstance(after, Between)
                else _Effect(lexeme)
            )
        if not isinstance(before, LookaheadControl) or not isinstance(after, Between):
            return _Effect()
        shifted = (
            terminal
            for terminal, place in before.choices
            if place == after and self._pushdown.is_shift(top, terminal, pushed)
        )
        return _Effect(None, frozenset(shifted), after)

    @remembered_up_to(_MAX_KNOWN)
    def _ended(self, lexeme: _Lexeme | None, effect: _Effect) -> bytes:
        assert lexeme is not None, "a lookahead is a lexeme"
        assert effect.after is not None, "it ends"
        return self._pushdown.lexemes.text(lexeme.begins, effect.terminal_ids, effect.after)
