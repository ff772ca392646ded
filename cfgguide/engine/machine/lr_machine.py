"""The machine of a grammar in Lark's language: a scanner, LR tables, and what may follow.

In: a :class:`~cfgguide.engine.machine.recognizer.Recognizer`, and the
:class:`~cfgguide.engine.liveness.liveness.Liveness` of what the tokens can spell. Out: an
:class:`LrMachine`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cfgguide.base import archive
from cfgguide.base.archive import Arrays
from cfgguide.base.limits import Budget, Steps, check_step
from cfgguide.base.locks import new_rlock
from cfgguide.engine.liveness.liveness import MANY_STATES, Liveness
from cfgguide.engine.liveness.proof import ProvedEndings
from cfgguide.engine.machine import grammar_file
from cfgguide.engine.machine.protocol import Masks
from cfgguide.engine.machine.recognizer import Configuration, Recognizer
from cfgguide.engine.masks.lr_masks import LrMasks
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import LimitError
from cfgguide.grammar.lr.table import END

FindEnding = Callable[[Configuration], bytes | None]

_ALL_BYTES = frozenset(range(256))
_GRAMMAR = "grammar."  # with which the names of its arrays begin


class LrMachine:
    """Reads texts as Lark's contextual lexer and LALR parser would.

    Parameters
    ----------
    recognizer : Recognizer
        Reads bytes.
    liveness : Liveness
        Decides whether a sentence can follow.
    """

    def __init__(self, recognizer: Recognizer, liveness: Liveness) -> None:
        self.recognizer = recognizer
        self.liveness = liveness
        self.initial = recognizer.initial
        self.lock: Any = new_rlock()
        # Not methods: a call in between costs as much as a known step.
        self.advance, self.read = recognizer.advance, recognizer.read
        self.is_sentence = recognizer.is_sentence

    @classmethod
    def of(cls, liveness: Liveness) -> LrMachine:
        """Return the machine of a recogniser whose liveness is known."""
        return cls(liveness.recognizer, liveness)

    @property
    def plain(self) -> LrMachine:
        """The machine of the grammar alone, without a monitor."""
        return self

    @property
    def digest(self) -> str:
        """SHA-256 in hex of the grammar's tables; the same in every process."""
        return self.recognizer.digest

    @property
    def steps(self) -> Steps:
        """What each step may cost."""
        return self.recognizer.budget.steps

    @property
    def n_parse_states(self) -> int | None:
        """Number of parse states."""
        return self.recognizer.parse_table.n_states

    def is_live(self, configuration: Configuration, *, quickly: bool = False) -> bool:
        """Return whether tokens can complete a sentence; `quickly`: if that is known at once."""
        with self.lock, self.steps.begun():
            if quickly:
                return self.liveness.always_live.holds_for(self.recognizer, configuration)
            return self.liveness.is_live(configuration)

    def expected(self, configuration: Configuration, *, is_whole: bool = False) -> tuple[str, ...]:
        """Return the names of the terminals that may come next, sorted, as far as tables tell."""
        recognizer, spelling = self.recognizer, self.liveness.spelling
        found = recognizer.expected(configuration, is_whole=is_whole)
        if not spelling.spells_any_of(_ALL_BYTES):
            with self.lock:
                found &= {END, *self.liveness.spellable_terminals()}
        return tuple(sorted(recognizer.parse_table.terminals[each] for each in found))

    def height(self, configuration: Configuration) -> int:
        """Return how many states the stack keeps, whatever comes after a lexeme that has ended."""
        if any(self.goes_on(configuration, byte) for byte in range(256)):
            return _height(configuration)
        following = (self.read(configuration, bytes([byte])) for byte in range(256))
        lowest = sorted((each for each in following if each is not None), key=_height)
        return next((_height(each) for each in lowest if self.is_live(each)), 0)

    def goes_on(self, configuration: Configuration, byte: int) -> bool:
        """Return whether a byte goes on with the lexeme that is being read."""
        byte_class = int(self.recognizer.scanner.byte_classes[byte])
        return any(self.recognizer.extended(way, byte_class) for way in configuration.hypotheses)

    def endings(
        self, vocabulary: Vocabulary, n_tokens: Callable[[bytes], int | None]
    ) -> list[FindEnding]:
        """Return ways to find short endings of bytes that are in tokens, the quickest first."""
        recognizer, spelling = self.recognizer, vocabulary.spelling
        short = self.liveness.endings(spelling.reachable_bytes, n_tokens)
        if recognizer.indentation_rules is not None:
            return [short.of]
        ways = [short.of, _Proofs(ProvedEndings(recognizer, spelling)).of]
        if recognizer.parse_table.n_states < MANY_STATES:  # a proof is found at once
            ways.reverse()
        return [short.direct, *map(_IfLive(self, short.are_far).only, ways)]

    def masks(self, vocabulary: Vocabulary) -> Masks[Configuration]:
        """Return what makes masks."""
        return LrMasks(self, vocabulary)

    def packed(self) -> tuple[Arrays, dict[str, object]]:
        """Return the grammar's tables as arrays and a JSON value."""
        recognizer = self.recognizer
        tables = recognizer.parse_table, recognizer.scanner, recognizer.indentation_rules
        arrays, grammar = grammar_file.packed(*tables)
        return {f"{_GRAMMAR}{name}": array for name, array in arrays.items()}, {"grammar": grammar}

    @classmethod
    def unpacked(cls, arrays: Arrays, value: dict[str, Any], spelling: Spelling) -> LrMachine:
        """Return the machine of tables, for what tokens can spell.

        Raises
        ------
        IndexFormatError
            If the tables are damaged.
        """
        tables = grammar_file.unpacked(archive.part(arrays, _GRAMMAR), value["grammar"])
        budget = Budget()
        recognizer = Recognizer(*tables, budget=budget)
        liveness = Liveness(recognizer, spelling, budget=budget)
        budget.stop_clock()
        return cls(recognizer, liveness)

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`, and so for processes: the tables."""
        return LrMachine.unpacked, (*self.packed(), self.liveness.spelling)


def _height(configuration: Configuration) -> int:
    return max(way.stack.height for way in configuration.hypotheses)


class _IfLive:
    """Keeps ways to find endings from searching where there is none, or too long a one."""

    def __init__(self, machine: LrMachine, are_far: Callable[[Configuration], bool]) -> None:
        self._machine, self._are_far = machine, are_far
        self._judged: tuple[Configuration | None, bool] = (None, False)

    def only(self, find: FindEnding) -> FindEnding:
        """Return a way to find endings that is asked only of what is live."""

        def find_if_live(configuration: Configuration) -> bytes | None:
            if self._judged[0] is not configuration:
                with self._machine.lock:
                    is_live = not self._are_far(configuration)
                    is_live = is_live and self._machine.liveness.is_live(configuration)
                self._judged = configuration, is_live
            return find(configuration) if self._judged[1] else None

        return find_if_live


class _Proofs:
    """The endings that a proof of liveness says."""

    def __init__(self, proofs: ProvedEndings) -> None:
        self._proofs = proofs

    def of(self, configuration: Configuration) -> bytes | None:
        """Return an ending; None where the proof takes too long."""
        for hypothesis in configuration.hypotheses:
            try:
                ending = self._proofs.of(hypothesis, configuration.context)
            except LimitError:
                check_step()  # or it was the step's
                continue
            if ending is not None:
                return ending
        return None
