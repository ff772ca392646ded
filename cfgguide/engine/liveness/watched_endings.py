"""Short endings of texts that a monitor follows, lexeme by lexeme.

In: a configuration. Out: bytes that finish a sentence which grammar and monitor allow. At each
place the monitor's own way out is tried first, then the terminals in the order of what the grammar
needs after them. If that leads nowhere, a search looks around.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from math import inf

import numpy as np

from cfgguide.base.bounded import BoundedDict
from cfgguide.base.sets import members
from cfgguide.engine.lexer.shortest_lexemes import FAR, LexemeTexts
from cfgguide.engine.machine.places import ParsePoint
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis
from cfgguide.engine.machine.watching import WatchingRecognizer, watched
from cfgguide.engine.monitors.text_sets import Texts
from cfgguide.grammar.lr.stack_costs import StackCosts
from cfgguide.grammar.lr.table import END

MAX_LEXEMES = 300  # of an ending
_MAX_SEARCHED = 2_000  # places
_MAX_KNOWN = 2_000  # places whose endings are remembered: about those of two masks

_LETTERS = b"xz0_."  # that make another word of a keyword, and a fraction of an integer

Lexemes = tuple[bytes, ...]


class WatchedEndings:
    """Finds endings.

    Parameters
    ----------
    recognizer : WatchingRecognizer
        Reads texts.
    used : frozenset of int
        The bytes that occur in tokens.
    """

    def __init__(self, recognizer: WatchingRecognizer, used: frozenset[int]) -> None:
        self._recognizer = recognizer
        self._table = recognizer.parse_table
        scanner = recognizer.scanner
        self._texts = LexemeTexts(scanner, recognizer.lookahead, used)
        starts = np.unique(scanner.starts)
        nearest = self._texts.distances.of(starts).min(axis=0)[: self._table.n_terminals]
        lengths = [inf if each >= FAR else max(int(each), 1) for each in nearest.tolist()]
        lengths[END] = inf
        rules = recognizer.indentation_rules
        if rules is not None:
            lengths[rules.indent] = lengths[rules.dedent] = 1
        self._costs = StackCosts(self._table, lengths)
        gap = self._texts.text(int(starts[0]), scanner.ignored)
        self._gap = b"" if gap is None else gap
        self._known: BoundedDict[ParsePoint, Lexemes | None] = BoundedDict(_MAX_KNOWN)

    def of(self, configuration: Configuration) -> bytes | None:
        """Return bytes after which the text is a sentence; None if none were found."""
        if self._recognizer.is_sentence(configuration):
            return b""
        best: bytes | None = None
        for hypothesis in configuration.hypotheses:
            for rest, place in self._lexeme_ends(hypothesis):
                lexemes = self.from_place(place)
                if lexemes is None:
                    continue
                ending = self._written(configuration, rest, lexemes)
                if ending is not None and (best is None or len(ending) < len(best)):
                    best = ending
                    break
        return best

    def _lexeme_ends(self, hypothesis: Hypothesis) -> Iterator[tuple[bytes, ParsePoint]]:
        """Yield ways to end the lexeme that is being read: its rest, and the place after it."""
        recognizer, scanner = self._recognizer, self._recognizer.scanner
        state, stack = hypothesis.scanner_state, watched(hypothesis.stack)
        place = stack.place
        if recognizer.lexer.is_gap(state):
            yield b"", place
            return
        terminal_id = int(scanner.match[state])
        if 0 <= terminal_id < scanner.ignored:
            after = place.after(terminal_id, stack.text)
            if after is not None:
                yield b"", after
        distances = self._texts.distances.of(state)
        ahead = recognizer.lexemes.ahead(state) & place.bits & ~1
        for terminal_id in sorted(members(ahead), key=lambda each: distances[each]):
            rest = self._rest(state, place, terminal_id, stack.text)
            for more in (rest, *self._longer(state, terminal_id)):
                after = None if more is None else place.after(terminal_id, stack.text + more)
                if more and after is not None:
                    yield more, after
        gap = self._texts.text(state, scanner.ignored)
        if gap is not None:
            yield gap, place

    def _longer(self, state: int, terminal_id: int) -> Iterator[bytes]:
        """Yield letters with which a lexeme goes on, where it may have to."""
        scanner = self._recognizer.scanner
        for letter in _LETTERS:
            target = int(scanner.transitions[state, scanner.byte_classes[letter]])
            if self._recognizer.lexemes.ahead(target) >> terminal_id & 1:
                yield bytes((letter,))

    def _rest(self, state: int, place: ParsePoint, terminal_id: int, text: bytes) -> bytes | None:
        whole = self._whole(state, place.allowed[terminal_id], terminal_id, text)
        return None if whole is None else whole[len(text) :]

    def _whole(
        self, state: int, texts: Texts | None, terminal_id: int, text: bytes
    ) -> bytes | None:
        """Return a short lexeme that begins with a text, and is among some, if one is known."""
        if texts is not None and not texts.is_endless:
            return texts.completed(text)
        rest = self._texts.some_text(state, terminal_id)
        if rest is None or texts is None or texts.has(text + rest):
            return None if rest is None else text + rest
        return self._recognizer.lexemes.other(state, terminal_id, text, texts)

    def from_place(self, place: ParsePoint) -> Lexemes | None:
        """Return lexemes that finish a sentence from a place; None if none were found."""
        path: list[tuple[ParsePoint, bytes]] = []
        seen: set[ParsePoint] = set()
        here: ParsePoint | None = place
        found: Lexemes | None = None
        while here is not None:
            if here in self._known:
                found = self._known[here]
                break
            if here.can_end_now():
                found = ()
                break
            seen.add(here)
            step = None
            if len(path) < MAX_LEXEMES:
                step = next((each for each in self._steps(here) if each[1] not in seen), None)
            if step is None:
                found = self._searched(here)
                break
            path.append((here, step[0]))
            here = step[1]
        for before, text in reversed(path):
            found = None if found is None else (text, *found)
            before.forget()
            self._known[before] = found
        return found

    def _steps(self, place: ParsePoint) -> Iterator[tuple[bytes, ParsePoint]]:
        """Yield lexemes that may come, those first that lead towards the end."""
        for terminal_id, text in place.ways_out():
            after = place.after(terminal_id, text)
            if after is not None:
                yield text, after
        first = self._costs.need(place.stack).first
        if first != END:
            step = self._step(place, first)
            if step is not None:
                yield step
        yield from sorted(
            (
                step
                for terminal_id in place.allowed
                if terminal_id != END and (step := self._step(place, terminal_id)) is not None
            ),
            key=lambda each: len(each[0]) + self._costs.need(each[1].stack).length,
        )

    def _step(self, place: ParsePoint, terminal_id: int) -> tuple[bytes, ParsePoint] | None:
        """Return a short lexeme of a terminal, and the place after it; None if none is known."""
        if terminal_id not in place.allowed:
            return None
        start = self._recognizer.start(place.stack, 0)
        text = self._whole(start, place.allowed[terminal_id], terminal_id, b"")
        after = None if text is None else place.after(terminal_id, text)
        return None if text is None or after is None else (text, after)

    def _searched(self, root: ParsePoint) -> Lexemes | None:
        """Look for an ending, best first."""
        number = count()
        pending: list[tuple[float, int, Lexemes, ParsePoint]] = [(0, next(number), (), root)]
        seen = {root}
        while pending and len(seen) < _MAX_SEARCHED:
            _, _, lexemes, here = heapq.heappop(pending)
            if here.can_end:
                return lexemes
            for text, after in self._steps(here):
                if after not in seen:
                    seen.add(after)
                    cost = len(lexemes) + self._costs.need(after.stack).length
                    heapq.heappush(pending, (cost, next(number), (*lexemes, text), after))
        return None

    def _written(self, configuration: Configuration, rest: bytes, lexemes: Lexemes) -> bytes | None:
        """Return lexemes as one text, with as few gaps as they need."""
        recognizer = self._recognizer
        for is_close in (True, False):
            text, last = rest, rest or b"x"
            for lexeme in lexemes:
                is_needed = not is_close or (_is_word(last[-1]) and _is_word(lexeme[0]))
                text += (self._gap if is_needed else b"") + lexeme
                last = lexeme
            after = recognizer.advance(configuration, text)
            if after is not None and recognizer.is_sentence(after):
                return text
        return None


def _is_word(byte: int) -> bool:
    return byte >= 0x80 or chr(byte).isalnum() or byte in b"_$"
