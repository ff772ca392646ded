"""A grammar with a monitor, used wherever a grammar is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from cfgguide.base.bounded import BoundedDict
from cfgguide.engine.monitors.monitor import Monitor
from cfgguide.errors import GrammarError
from cfgguide.grammar.grammar import Grammar

if TYPE_CHECKING:
    from cfgguide.engine.index.index import Index
    from cfgguide.engine.monitors.watched_machine import WatchedMachine
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

_MAX_BASES = 4
#: Indexes of grammars that monitors have followed, by grammar and vocabulary: one serves all
#: monitors.
_BASES: BoundedDict[tuple[Grammar, str], Index] = BoundedDict(_MAX_BASES)


@dataclass(frozen=True, repr=False)
class MonitoredGrammar(Grammar):
    """A grammar whose texts a monitor follows.

    Attributes
    ----------
    monitor : Monitor
        Before any text.

    Raises
    ------
    GrammarError
        If it is no monitor.
    """

    monitor: Monitor = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.monitor, Monitor):
            raise GrammarError(
                f"a grammar is watched by a Monitor, not by {type(self.monitor).__name__}; "
                "derive a class from cfgguide.monitors.Monitor"
            )
        try:
            hash(self.monitor)
        except TypeError as error:
            raise GrammarError(
                f"the monitor {type(self.monitor).__name__} is not hashable ({error}); "
                "make it a frozen dataclass of tuples and frozensets"
            ) from None

    @property
    def plain(self) -> Grammar:
        """The same grammar without a monitor."""
        return Grammar(**{each.name: getattr(self, each.name) for each in fields(Grammar)})

    def own_machine(
        self, vocabulary: Vocabulary, compile: Callable[[Grammar, Vocabulary], Index]
    ) -> WatchedMachine:
        """Return the machine of the plain grammar, without what the monitor refuses."""
        from cfgguide.engine.monitors.watched_machine import WatchedMachine

        key = self.plain, vocabulary.digest
        base = _BASES.get(key)
        if base is None or base.vocabulary.tokens != vocabulary.tokens:
            base = _BASES[key] = compile(self.plain, vocabulary)
        return WatchedMachine(base, self.monitor)
