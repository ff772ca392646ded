"""What explains the tokens of an index, and why a monitor refuses one.

In: the index of a grammar with a monitor, a text and a token. Out: an
:class:`~cfgguide.diagnostics.explanation.Explanation`, which says what the monitor itself says of
the lexeme (:meth:`cfgguide.monitors.Monitor.why`). What the grammar refuses alone is explained as
without a monitor.
"""

from __future__ import annotations

from dataclasses import replace

from cfgguide.diagnostics.explain import Explainer, ExplainsTokens, MachineExplainer
from cfgguide.diagnostics.explanation import Explanation, shown
from cfgguide.engine.index.index import Index
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.machine.places import ParsePoint
from cfgguide.engine.machine.recognizer import Configuration
from cfgguide.engine.machine.watching import watched
from cfgguide.engine.monitors.watched_machine import WatchedMachine
from cfgguide.errors import LimitError

#: Readings more than a few that all bytes of a text may have together to be told one by one.
_MOST_READINGS = 5_000


class MonitorExplainer(MachineExplainer):
    """Explains pieces of one text that a monitor follows.

    Parameters
    ----------
    index : Index
        Of the grammar and the monitor.
    machine : WatchedMachine
        Its machine.
    before : bytes
        The text so far.
    configuration : Configuration
        What that has come to.
    """

    def __init__(
        self, index: Index, machine: WatchedMachine, before: bytes, configuration: Configuration
    ) -> None:
        super().__init__(index, configuration)
        self._machine = machine
        self._grammatical = Explainer(machine.base, before)

    def advance(self, piece: bytes) -> None:
        """Go on after a token that may follow."""
        super().advance(piece)
        self._grammatical.advance(piece)

    def explain(
        self, piece: bytes, *, is_allowed: bool | None = None, token_id: int | None = None
    ) -> Explanation:
        """Return why a piece may follow, or why not; as :meth:`Explainer.explain`."""
        before, n_read = self._read(piece)
        plain = self._grammatical.explain(piece, token_id=token_id)
        expected = self._named(before)
        if n_read == len(piece):
            return replace(plain, expected=expected)
        if plain.offset is not None and plain.offset <= n_read:
            return replace(plain, expected=expected)
        reason = self._reason(before, piece[n_read:])
        read = self._grammatical.explain(piece[:n_read]).interpretations if n_read else ()
        return Explanation(token_id, piece, False, False, read, n_read, reason, expected)

    def _reason(self, before: Configuration, rest: bytes) -> str:
        """Return what a monitor says of the lexeme that some bytes begin or go on."""
        recognizer = self._machine.recognizer
        stack = watched(before.hypotheses[0].stack)
        # The open lexeme is read again: what follows it may decide which terminal it is.
        place, whole, start = stack.place, stack.text + rest, 0
        while True:
            begin = recognizer.start(place.stack, 0)
            terminal_id, end = recognizer.scanner.longest(begin, whole, start)
            is_ignored = terminal_id == recognizer.scanner.ignored
            if not 0 <= terminal_id < recognizer.scanner.ignored and (
                not is_ignored or end == len(whole)
            ):
                terminal_id = max(recognizer.scanner.terminal_ids_ahead(begin)[:1], default=0)
                return self._of_lexeme(place, terminal_id, whole[start:])
            after = place if is_ignored else place.after(terminal_id, whole[start:end])
            if after is None or end == len(whole):
                return self._of_lexeme(place, terminal_id, whole[start:end])
            place, start = after, end

    def _of_lexeme(self, place: ParsePoint, terminal_id: int, text: bytes) -> str:
        reason = place.why(terminal_id, text)
        name = self._machine.recognizer.parse_table.terminals[terminal_id]
        return reason or f"the monitor allows no {name} {shown(text)} here"


def explainer_of(
    index: Index, before: bytes = b"", configuration: Configuration | None = None
) -> ExplainsTokens:
    """Return what explains pieces after a text; some need the configuration that it has come to.

    Of a text with too many readings, nobody tells the lexemes: what follows is named alone.
    """
    machine = index.machine
    if isinstance(machine, LrMachine) and machine.plain is machine:
        if configuration is None or not machine.recognizer.is_open:
            return Explainer(index, before)
        try:
            return Explainer(index, before, most=_MOST_READINGS)
        except LimitError:
            return MachineExplainer(index, configuration)
    if configuration is None:
        configuration = machine.read(machine.initial, before)
        assert configuration is not None, "a text can follow"
    if isinstance(machine, WatchedMachine):
        return MonitorExplainer(index, machine, before, configuration)
    return MachineExplainer(index, configuration)


def expected_at_once(index: Index, configuration: Configuration) -> tuple[str, ...]:
    """Return what may come next, by name, without asking a monitor: its answers may take long."""
    machine = index.machine
    return (machine.plain if isinstance(machine, LrMachine) else machine).expected(configuration)
