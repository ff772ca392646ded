"""Short texts that complete a hypothesis of a configuration to a sentence.

In: a :class:`~cfgguide.recognizer.recognizer.Recognizer` and the bytes in tokens. Out:
:class:`Endings`, which finds for a hypothesis bytes after which the text is a sentence.

It goes from lexeme to lexeme: the parser alone says which terminal comes next in a shortest
completion (:mod:`cfgguide.parser.stack_costs`), the scanner alone how its shortest lexeme is
written (:mod:`cfgguide.lexer.shortest_lexemes`), and the recogniser reads it, after white space if
necessary. So the result is a completion however lexer, parser and indenter interact; it is short,
but not always the shortest. Mostly the first lexeme that is tried is right; where it is not, a
best-first search tries others. ::

    {"a": [1, {"b": "x     `"` (STRING), `}`, `]`, `}`      ending  "}]}

The endings of all hypotheses on the way are remembered: another text that comes to the same stack
needs only its own first lexeme.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from math import inf

import numpy as np

from cfgguide.errors import LimitError
from cfgguide.lexer.shortest_lexemes import FAR, LexemeTexts
from cfgguide.parser.indentation import NO_COLUMN, ONE_SPACE, Indentation, unpacked
from cfgguide.parser.stack import Stack
from cfgguide.parser.stack_costs import StackCosts
from cfgguide.parser.table import END, ERROR
from cfgguide.recognizer.recognizer import Configuration, Hypothesis, Recognizer

_MAX_KNOWN = 50_000  # endings that are remembered
_FEW, _MANY = 3, 40  # ways to end a lexeme that are tried: at first, and if that fails
_HASTE = 2  # the weight of the bytes still needed; those already written count 1
_MAX_TRIED = {_FEW: 60, _MANY: 400}  # hypotheses in one search

Position = tuple[Hypothesis, int]  # a hypothesis, and the context of its configuration
Way = tuple[float, bytes, Stack]  # what is still needed, the rest of a lexeme, the stack after it


class Endings:
    """Finds short endings.

    Parameters
    ----------
    recognizer : Recognizer
        Of the grammar.
    used : frozenset of int
        The bytes that occur in tokens.

    Examples
    --------
    >>> import cfgguide
    >>> recognizer = cfgguide.index.compile_recognizer(cfgguide.Grammar.bundled("json"))
    >>> configuration = recognizer.advance(recognizer.initial, b'{"a": [1, {"b": "x')
    >>> Endings(recognizer, frozenset(range(256))).of(configuration)
    b'"}]}'
    """

    def __init__(self, recognizer: Recognizer, used: frozenset[int]) -> None:
        self._recognizer = recognizer
        self._table = recognizer.parse_table
        self._scanner = recognizer.scanner
        self._texts = LexemeTexts(recognizer.scanner, used)
        lengths = [
            inf if length >= FAR else max(length, 1) for length in self._texts.lengths()[:-1]
        ]
        rules = recognizer.indentation_rules
        if rules is not None:
            lengths[rules.indent] = lengths[rules.dedent] = 1
        lengths[END] = inf  # the end is no part of a text
        self._costs = StackCosts(self._table, lengths)
        self._known: dict[Position, bytes | None] = {}
        self._known_ways: dict[Hypothesis, list[Way]] = {}

    def of(self, configuration: Configuration) -> bytes | None:
        """Return bytes after which the text is a sentence; None if none were found.

        The hypothesis that seems to need the fewest bytes is tried first; the first ending wins.
        """
        needed = sorted(
            (self._needed(hypothesis), number)
            for number, hypothesis in enumerate(configuration.hypotheses)
        )
        for _, number in needed:
            ending = self.ending((configuration.hypotheses[number], configuration.context))
            if ending is not None:
                return ending
        return None

    def ending(self, position: Position) -> bytes | None:
        """Return bytes after which the text is a sentence; None if none were found."""
        if position not in self._known:
            if len(self._known) > _MAX_KNOWN:
                self._known.clear()
            if not self._search(position, _FEW) and not self._search(position, _MANY):
                self._known[position] = None
        return self._known[position]

    def _search(self, root: Position, n_ways: int) -> bool:
        """Look for an ending, and remember it all along its way; return whether there is one."""
        number = count()
        pending: list[tuple[float, int, int, Position]] = [(0, next(number), 0, root)]
        came: dict[Position, tuple[Position, bytes]] = {}
        for _ in range(_MAX_TRIED[n_ways]):
            if not pending:
                return False
            _, _, length, position = heapq.heappop(pending)
            ending = self._known.get(position)
            if ending is None and self._is_sentence(position):
                ending = b""
            if ending is not None:
                self._remember(position, ending, root, came)
                return True
            for piece in self._pieces(position, n_ways):
                for after in self._read(position, piece):
                    if after == root or after in came:
                        continue
                    came[after] = (position, piece)
                    total = length + len(piece)
                    guess = total + _HASTE * self._needed(after[0])
                    if guess < inf:
                        heapq.heappush(pending, (guess, next(number), total, after))
        return False

    def _remember(
        self,
        position: Position,
        ending: bytes,
        root: Position,
        came: dict[Position, tuple[Position, bytes]],
    ) -> None:
        self._known[position] = ending
        while position != root:
            position, piece = came[position]
            ending = piece + ending
            self._known[position] = ending

    def _read(self, position: Position, piece: bytes) -> list[Position]:
        """Return where bytes lead; an empty list if there are too many ways to read them."""
        try:
            after = self._recognizer.advance(Configuration((position[0],), position[1]), piece)
        except LimitError:
            after = None
        if after is None:
            return []
        return [(hypothesis, after.context) for hypothesis in after.hypotheses]

    def _is_sentence(self, position: Position) -> bool:
        return self._recognizer.is_sentence(Configuration((position[0],), position[1]))

    def _pieces(self, position: Position, n_ways: int) -> Iterator[bytes]:
        """Yield what may come next: the rest of the lexeme, or the next one."""
        hypothesis, context = position
        for _, rest, stack in self._ways(hypothesis)[:n_ways]:
            if rest:
                yield rest
            else:
                yield from self._next_lexemes(hypothesis, stack, context, n_ways)

    def _needed(self, hypothesis: Hypothesis) -> float:
        """Return about how many bytes a hypothesis needs."""
        return self._ways(hypothesis)[0][0] if self._ways(hypothesis) else inf

    def _ways(self, hypothesis: Hypothesis) -> list[Way]:
        """Return the ways to end the lexeme that the scanner is in, the best first."""
        if hypothesis not in self._known_ways:
            if len(self._known_ways) > _MAX_KNOWN:
                self._known_ways.clear()
            ways = sorted(self._found_ways(hypothesis), key=lambda way: way[:2])
            self._known_ways[hypothesis] = [way for way in ways if way[0] < inf]
        return self._known_ways[hypothesis]

    def _found_ways(self, hypothesis: Hypothesis) -> list[Way]:
        state, _, stack, indentation = hypothesis
        if self._scanner.is_start[state]:
            return [(self._costs.need(stack).length, b"", stack)]
        ways: list[Way] = []
        distances = self._texts.distances[state]
        for terminal_id in np.flatnonzero(distances < FAR).tolist():
            rest = self._texts.text(state, terminal_id)
            assert rest is not None, "there is a distance"
            for more, column in self._columns(terminal_id, indentation, rest):
                after = self._shifted(stack, indentation._replace(column=column), terminal_id)
                if after is not None:
                    needed = len(rest + more) + self._costs.need(after).length
                    ways.append((needed, rest + more, after))
        return ways

    def _shifted(self, stack: Stack, indentation: Indentation, terminal_id: int) -> Stack | None:
        if self._recognizer.indentation_rules is None and terminal_id != self._scanner.ignored:
            if self._table.action[stack.state, terminal_id] == ERROR:
                return None
            return self._table.shift(stack, terminal_id)
        shifted = self._recognizer.shift(stack, indentation, terminal_id)
        return None if shifted is None else shifted[0]

    def _columns(
        self, terminal_id: int, indentation: Indentation, rest: bytes
    ) -> Iterator[tuple[bytes, int]]:
        """Yield what to add to a lexeme for each column that matters, and that column."""
        rules = self._recognizer.indentation_rules
        if rules is None or terminal_id != rules.newline:
            yield b"", indentation.column
            return
        is_inside = indentation.column != NO_COLUMN and not rest
        n_spaces = unpacked(indentation.column)[0] if is_inside else 0
        if is_inside:
            yield b"", indentation.column
        for column in (*indentation.columns, indentation.columns[-1] + ONE_SPACE):
            width = unpacked(column)[0] - n_spaces
            if width >= 0:
                yield b" " * width, column
        if n_spaces:  # another line, further left
            for column in indentation.columns:
                yield b"\n" + b" " * unpacked(column)[0], column

    def _next_lexemes(
        self, hypothesis: Hypothesis, stack: Stack, context: int, n_ways: int
    ) -> Iterator[bytes]:
        """Yield lexemes that begin a completion, with white space before them if it is needed."""
        indentation = hypothesis.indentation
        start = int(self._recognizer.start(stack, context))
        gap = self._texts.gap(start, hypothesis.scanner_state)
        terminal_ids = [self._costs.need(stack).first]
        if n_ways == _MANY:
            near = np.flatnonzero(self._texts.distances[start] < FAR).tolist()
            terminal_ids += [terminal_id for terminal_id in near if terminal_id not in terminal_ids]
        for terminal_id in terminal_ids:
            text = self._texts.text(start, terminal_id) if terminal_id != END else None
            if text is None:
                continue
            for more, _ in self._columns(terminal_id, indentation._replace(column=NO_COLUMN), text):
                yield text + more
                if gap:
                    yield gap + text + more
