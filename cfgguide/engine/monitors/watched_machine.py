"""A machine with a monitor: what the machine reads, without what the monitor refuses.

In: the index of a grammar, and a monitor. Out: a :class:`WatchedMachine`. Many monitors share what
is known of one grammar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from cfgguide.base.archive import Arrays
from cfgguide.engine.liveness.indented_endings import IndentedEndings
from cfgguide.engine.liveness.watched_endings import WatchedEndings
from cfgguide.engine.machine.lr_machine import FindEnding, LrMachine
from cfgguide.engine.machine.places import can_finish
from cfgguide.engine.machine.recognizer import Configuration
from cfgguide.engine.machine.watching import WatchingRecognizer
from cfgguide.engine.monitors.monitor import Monitor
from cfgguide.engine.monitors.watched_masks import WatchedMasks
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import GrammarError, MonitorError, VocabularyError
from cfgguide.grammar.lr.stack import Stack

if TYPE_CHECKING:
    from cfgguide.engine.index.index import Index


class WatchedMachine(LrMachine):
    """Reads texts of a grammar that a monitor allows.

    Parameters
    ----------
    base : Index
        Of the grammar alone.
    monitor : Monitor
        Before any text.

    Raises
    ------
    GrammarError
        If the grammar lacks what the monitor follows, or no machine of it can be watched.
    MonitorError
        If no text at all is allowed.
    VocabularyError
        If the vocabulary cannot cut texts after every byte.
    """

    recognizer: WatchingRecognizer

    def __init__(self, base: Index, monitor: Monitor) -> None:
        machine: object = base.machine
        spelling = base.vocabulary.spelling
        if not isinstance(machine, LrMachine):
            raise GrammarError(
                f"the monitor {type(monitor).__name__} follows terminals and rules, and a JSON "
                "Schema has none; watch a grammar in Lark's language"
            )
        spelled = spelling.reachable_bytes
        if not spelling.spells_any_of(spelled):
            raise VocabularyError(
                "a grammar with a monitor needs a vocabulary that has a token for each byte which "
                "occurs in its tokens; use such a tokenizer"
            )
        self.base = base
        self.monitor = monitor
        goes_on, is_live = _goes_on(machine), None
        if can_finish(monitor) is None:
            is_live = _is_live(base, machine, monitor)
        super().__init__(
            WatchingRecognizer.of(
                machine.recognizer, monitor, spelled=spelled, goes_on=goes_on, is_live=is_live
            ),
            machine.liveness,
        )
        self.lock = machine.lock
        if not self.is_live(self.initial):
            raise MonitorError(
                f"the monitor {type(monitor).__name__} allows no text at all at the beginning; "
                f"the grammar expects one of: {', '.join(machine.expected(machine.initial))}"
            )

    @property
    def plain(self) -> LrMachine:
        """The machine of the grammar alone, without a monitor."""
        machine: Any = self.base.machine
        return cast(LrMachine, machine)

    @property
    def n_parse_states(self) -> None:
        """None: what follows does not depend on parse states alone."""
        return None

    def is_live(self, configuration: Configuration, *, quickly: bool = False) -> bool:
        """Return whether tokens can complete a sentence that the monitor allows."""
        return any(map(self.recognizer.is_possible, configuration.hypotheses)) and super().is_live(
            configuration, quickly=quickly
        )

    def endings(
        self, vocabulary: Vocabulary, n_tokens: Callable[[bytes], int | None]
    ) -> list[FindEnding]:
        """Return ways to find short endings of bytes that are in tokens, the quickest first."""
        is_indented = self.recognizer.indentation_reader is not None
        kind = IndentedEndings if is_indented else WatchedEndings
        return [kind(self.recognizer, vocabulary.spelling.reachable_bytes).of]

    def masks(self, vocabulary: Vocabulary) -> WatchedMasks:
        """Return what makes masks; the tables of the grammar's own are shared."""
        is_same = vocabulary is self.base.vocabulary
        return WatchedMasks(self, self.base if is_same else self.base.with_vocabulary(vocabulary))

    def packed(self) -> tuple[Arrays, dict[str, object]]:
        """Raise an error: a monitor is code, and files hold none.

        Raises
        ------
        GrammarError
            Always.
        """
        raise GrammarError(
            f"the index of a grammar with the monitor {type(self.monitor).__name__} cannot be "
            "saved, since a monitor is code; compile it again where it is needed, or pickle it"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: the grammar's index and the monitor."""
        return WatchedMachine, (self.base, self.monitor)


def _is_live(base: Index, machine: LrMachine, monitor: Monitor) -> Callable[[Stack, Monitor], bool]:
    """Return what looks for a sentence that a monitor allows, from a stack between two lexemes.

    Raises
    ------
    GrammarError
        If there is an indenter: the stack does not tell the open blocks.
    """
    if machine.recognizer.indentation_rules is not None:
        raise GrammarError(
            f"the monitor {type(monitor).__name__} leaves open whether a text can be finished, and "
            "in a grammar with an indenter that cannot be searched; define can_finish"
        )
    spelled = base.vocabulary.spelling.reachable_bytes
    unlimited = WatchingRecognizer.of(
        machine.recognizer, monitor, spelled=spelled, goes_on=_goes_on(machine)
    )
    endings = WatchedEndings(unlimited, spelled)

    def is_live(stack: Stack, reached: Monitor) -> bool:
        return endings.from_place(unlimited.places.place(stack, reached)) is not None

    return is_live


def _goes_on(machine: LrMachine) -> Callable[[Stack], bool]:
    """Return what says whether a sentence of the grammar can follow on a stack.

    With an indenter a stack alone does not tell it, and an indent may have to be fed next; then
    only whole configurations are asked about.
    """
    if machine.recognizer.indentation_reader is not None:
        return lambda stack: True
    lock, liveness = machine.lock, machine.liveness

    def goes_on(stack: Stack) -> bool:
        if liveness.always_live.is_always_live[stack.state, -1]:
            return True
        with lock:
            return liveness.goes_on(stack)

    return goes_on
