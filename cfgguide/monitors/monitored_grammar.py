"""A grammar with a monitor, used wherever a grammar is."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from cfgguide.errors import GrammarError
from cfgguide.grammar.grammar import Grammar
from cfgguide.monitors.monitor import Monitor


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
