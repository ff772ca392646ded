"""An ending of any live configuration, read off the search that decides liveness.

In: a hypothesis of a configuration. Out: bytes after which the text is a sentence, if there are
any. :mod:`cfgguide.engine.liveness.endings` finds shorter ones where the parser alone leads. Where
lexemes cannot stand there, or tokens cannot spell them, this module is asked: the pushdown system
(:mod:`cfgguide.engine.liveness.stack_summaries`) keeps why a state can be left, and a stack is left
state by state. What is found need not be short, but it is there.

A lexeme is chosen when it is shifted: until then the parser has several terminals as its lookahead,
and reduces alike on all of them.

With an indenter there is no such ending, since a place between two lexemes tells no column.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

from cfgguide.base.limits import Budget
from cfgguide.engine.liveness.endings import MAX_LEXEMES
from cfgguide.engine.liveness.spelled_ends import Between, SpelledEnds
from cfgguide.engine.liveness.stack_summaries import (
    ACCEPTED,
    Control,
    LookaheadControl,
    StackSummaries,
)
from cfgguide.engine.machine.recognizer import Hypothesis, Recognizer
from cfgguide.engine.vocabulary.spelling import BOUNDARY, Spelling
from cfgguide.grammar.lr.stack import Stack

_MAX_KNOWN = 10_000  # lexemes by how they end


class _Lexeme(NamedTuple):
    """Where a lexeme goes on of which it is not decided yet how it ends."""

    begins: tuple[tuple[int, Between], ...]


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
        self._ended_so: dict[tuple[_Lexeme, frozenset[int], Between], bytes] = {}

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
        texts = list(islice(self._texts(way, states, lexeme), MAX_LEXEMES + 1))
        return None if len(texts) > MAX_LEXEMES else b"".join(texts)

    def _texts(self, way: list[int], states: list[int], lexeme: _Lexeme | None) -> Iterator[bytes]:
        """Yield the lexemes on a way from the top of a stack to its bottom."""
        before: Control = self._pushdown.control(way[0])
        if lexeme is not None and isinstance(before, Between):
            yield self._ended(lexeme, self._ignored, before)
        for (number, target), state in zip(pairwise(way), states, strict=True):
            for before, top, after, pushed in self._pushdown.explained(number, state, target):
                if isinstance(before, Between):
                    terminal_set = int(self._table.set_of_state[top])
                    lexeme = _Lexeme(tuple(self._pushdown.lexemes.begins(terminal_set, before)))
                    if isinstance(after, Between):
                        yield self._ended(lexeme, self._ignored, after)
                elif isinstance(before, LookaheadControl) and isinstance(after, Between):
                    assert lexeme is not None, "a lookahead is a lexeme"
                    shifted = {
                        terminal
                        for terminal, place in before.choices
                        if place == after and self._pushdown.is_shift(top, terminal, pushed)
                    }
                    yield self._ended(lexeme, shifted, after)

    def _ended(
        self, lexeme: _Lexeme, terminal_ids: frozenset[int] | set[int], after: Between
    ) -> bytes:
        key = lexeme, frozenset(terminal_ids), after
        if key not in self._ended_so:
            if len(self._ended_so) > _MAX_KNOWN:
                self._ended_so.clear()
            self._ended_so[key] = self._pushdown.lexemes.text(lexeme.begins, terminal_ids, after)
        return self._ended_so[key]
