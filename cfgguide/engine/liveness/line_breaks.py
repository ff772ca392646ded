"""Whether the parser refuses whatever a line break can still lead to, without a search.

In: a hypothesis in a lexeme that can become nothing but a line break, and has broken the line for
the last time. Out: that no sentence can follow; or None where this does not tell.

Of a line that has begun, the column says which blocks it closes or opens, so the parser decides
alone: without the search over all that can follow in
:mod:`cfgguide.engine.liveness.stack_summaries`. What it does not refuse
:mod:`cfgguide.engine.liveness.witnesses` tries. ::

    x = 1⏎␣␣        only INDENT could be fed, and is refused after `x = 1`    dead
    if x:⏎␣␣        INDENT is fed                                             not told
"""

from __future__ import annotations

from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.machine.recognizer import Hypothesis, Recognizer
from cfgguide.grammar.lr.indentation import NO_COLUMN
from cfgguide.grammar.lr.indentation_names import NEWLINE
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import ERROR, ParseTable


class LineBreaks:
    """Tells which line breaks lead nowhere.

    Parameters
    ----------
    recognizer : Recognizer
        Of a grammar with an indenter.
    always_live : AlwaysLive
        What is live on every stack.
    """

    def __init__(self, recognizer: Recognizer, always_live: AlwaysLive) -> None:
        reader = recognizer.indentation_reader
        assert reader is not None, "there is an indenter"
        self._reader = reader
        self._rules = reader.indentation_rules
        self._table = recognizer.parse_table
        self._scanner = recognizer.scanner
        self._always_live = always_live

    def decide(self, hypothesis: Hypothesis) -> tuple[bool, int] | None:
        """Return False and the lowest height of the stack that was read, if no sentence can follow.

        None if that is not known.
        """
        state, obligations, stack, indentation = hypothesis
        if (
            obligations
            or not self._reader.is_newline[state]
            or self._scanner.is_start[state]
            or self._reader.is_free[state]
            or indentation.column == NO_COLUMN
            or self._reader.full(indentation)
            or self._table.may_repeat
            or not self._reader.takes(NEWLINE, stack.state)
            or not self._can_only_break(state)
        ):
            return None
        parser = _Reading(self._table, stack)
        after = parser.shift(stack, self._rules.newline)
        if parser.is_too_short:
            return None
        if after is None:  # inside brackets the line break is dropped
            return None if indentation.level else (False, parser.lowest)
        may_stay, may_indent, most, least = self._reader.choice(state, indentation)
        if may_stay or parser.is_too_short or self._reader.is_last_free[state]:
            return None
        if may_indent and parser.shift(after, self._rules.indent) is not None:
            return None
        if most < 0:
            return None
        for n_closed in range(1, most + 1):
            closed = parser.shift(after, self._rules.dedent)
            if closed is None:
                break
            if n_closed >= least:
                return None
            after = closed
        return None if parser.is_too_short else (False, parser.lowest)

    def _can_only_break(self, state: int) -> bool:
        """Return whether a lexeme can become a line break, and else only what is refused."""
        live = self._always_live
        first, end = live.end_offsets[state], live.end_offsets[state + 1]
        terminal_ids = set(live.end_terminal_ids[first:end].tolist())
        return all(
            terminal_id == self._rules.newline or terminal_id > self._scanner.ignored
            for terminal_id in terminal_ids
        )


class _Reading:
    """Shifts terminals, and notes how deep into the stack that looks.

    Attributes
    ----------
    lowest : int
        The height of the lowest cell that was read.
    is_too_short : bool
        Whether a stack ended of which only the top is known.
    """

    def __init__(self, table: ParseTable, stack: Stack) -> None:
        self._table = table
        self.lowest = stack.height
        self.is_too_short = False

    def shift(self, stack: Stack, terminal: int) -> Stack | None:
        """Return the stack after reductions and a shift, None if refused or too short."""
        while True:
            action = int(self._table.action[stack.state, terminal])
            if action == ERROR:
                return None
            if action > 0:
                return stack.push(action - 1)
            production = -action - 1
            cell: Stack | None = stack
            for _ in range(int(self._table.lengths[production])):
                cell = cell.below if cell is not None else None
            if cell is None:
                self.is_too_short = True
                return None
            self.lowest = min(self.lowest, cell.height)
            stack = self._table.reduced(stack, production)
