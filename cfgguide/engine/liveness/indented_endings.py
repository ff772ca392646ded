"""Short endings of texts that a monitor follows, where an indenter reads line breaks.

In: a configuration. Out: bytes that finish a sentence. Where a line break leads depends on its
column, which no place between two lexemes tells. So texts are read, lexeme by lexeme, and looked at
best first: those that need least after them, as far as the parser alone can tell.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from cfgguide.base.bounded import BoundedDict
from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered_up_to
from cfgguide.base.sets import members
from cfgguide.engine.liveness.watched_endings import MAX_LEXEMES, WatchedEndings
from cfgguide.engine.machine.places import ParsePoint
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis
from cfgguide.engine.machine.watching import WatchingRecognizer, watched
from cfgguide.errors import LimitError
from cfgguide.grammar.lr.indentation import Indentation
from cfgguide.grammar.lr.indentation_names import INLINE
from cfgguide.grammar.lr.table import END

_MAX_READ = 2_000  # lexemes that are read in one search
_MAX_KNOWN = 20_000  # endings
_MAX_CHOICES = 12  # terminals that are tried at a place, beside the monitor's way out
_HASTE = 2  # the weight of what is still needed; what was written counts 1

Start = tuple[ParsePoint, Indentation]
Path = tuple[tuple[tuple[Start, ...], bytes], ...]  # where each piece begins, and the piece


class LinePiece(NamedTuple):
    """What may come next.

    Attributes
    ----------
    text : bytes
        Its bytes.
    lexeme : tuple of (ParsePoint, int) or None
        Where a lexeme begins with it, after a gap perhaps, and of which terminal; None if it is the
        rest of the lexeme that is being read.
    is_way_out : bool
        Whether the monitor says that it leads towards the end.
    """

    text: bytes
    lexeme: tuple[ParsePoint, int] | None = None
    is_way_out: bool = False


class IndentedEndings(WatchedEndings):
    """Finds endings in a grammar with an indenter.

    Parameters
    ----------
    recognizer : WatchingRecognizer
        Reads texts.
    used : frozenset of int
        The bytes that occur in tokens.
    """

    def __init__(self, recognizer: WatchingRecognizer, used: frozenset[int]) -> None:
        super().__init__(recognizer, used)
        assert recognizer.indentation_rules is not None, "there is an indenter"
        self._rules = recognizer.indentation_rules
        start = int(recognizer.scanner.starts.ravel()[0])
        inline = np.flatnonzero(self._rules.roles == INLINE).tolist()
        gaps = (self._texts.text(start, each) for each in (recognizer.scanner.ignored, *inline))
        self._gap = next(filter(None, gaps), b"")
        self._rests: BoundedDict[Start, bytes] = BoundedDict(_MAX_KNOWN)

    def of(self, configuration: Configuration) -> bytes | None:
        """Return bytes after which the text is a sentence; None if none were found."""
        if self._recognizer.is_sentence(configuration):
            return b""
        return self._ending(configuration)

    @remembered_up_to(_MAX_KNOWN)
    def _ending(self, root: Configuration) -> bytes | None:
        ending = self._direct(root)
        return self._searched_from(root) if ending is None else ending

    def _direct(self, root: Configuration) -> bytes | None:
        """Return an ending as the monitor says at each place; None if that leads nowhere."""
        text, path, seen = b"", list[tuple[tuple[Start, ...], bytes]](), {root}
        here: Configuration | None = root
        while here is not None and len(path) < MAX_LEXEMES:
            starts = tuple(self._starts(here))
            rest = self._known_rest(here, starts)
            if rest is not None or self._recognizer.is_sentence(here):
                self._remember((*path, (starts, rest or b"")))
                return text + (rest or b"")
            before, here = here, None
            pieces = chain(self._ways_out(starts), self._lexemes(starts))
            for piece in pieces if starts else self._rests_in(before):
                after = self._read_piece(before, piece)
                if after is not None and after not in seen:
                    seen.add(after)
                    path.append((() if piece.lexeme is None else starts, piece.text))
                    text, here = text + piece.text, after
                    break
        return None

    def _searched_from(self, root: Configuration) -> bytes | None:
        """Look for an ending, best first."""
        number = count()
        seen = {root}
        pending: list[tuple[float, int, bytes, Path, Configuration]]
        pending = [(0, next(number), b"", (), root)]
        n_read = 0
        while pending and n_read < _MAX_READ:
            before, _, text, path, here = heapq.heappop(pending)
            starts = tuple(self._starts(here))
            rest = self._known_rest(here, starts)
            if rest is not None:
                self._remember((*path, (starts, rest)))
                return text + rest
            for piece in chain(self._rests_in(here), self._ways_out(starts), self._lexemes(starts)):
                n_read += 1
                after = self._read_piece(here, piece)
                if after is None or after in seen:
                    continue
                seen.add(after)
                walked = (*path, (() if piece.lexeme is None else starts, piece.text))
                written = text + piece.text
                if self._recognizer.is_sentence(after):
                    self._remember(walked)
                    return written
                cost = len(written) + _HASTE * self._needed(after)
                if piece.is_way_out:  # what the monitor says may look long at first
                    cost = min(cost, before + 1)
                heapq.heappush(pending, (cost, next(number), written, walked, after))
        return None

    def _remember(self, path: Path) -> None:
        """Remember what comes after the places on a way to the end."""
        rest = b""
        for starts, piece in reversed(path):
            rest = piece + rest
            for start in starts:
                self._rests[start] = rest

    def _known_rest(self, configuration: Configuration, starts: tuple[Start, ...]) -> bytes | None:
        for start in starts:
            rest = self._rests.get(start)
            if rest is None:
                continue
            after = self._read(configuration, rest)
            if after is not None and self._recognizer.is_sentence(after):
                return rest
        return None

    def _read(self, configuration: Configuration, text: bytes) -> Configuration | None:
        try:
            return self._recognizer.advance(configuration, text)
        except LimitError:
            check_step()  # or it was the step's
            return None

    def _read_piece(self, configuration: Configuration, piece: LinePiece) -> Configuration | None:
        """Return where a piece leads; None if it should be a lexeme, and is more of the last."""
        after = self._read(configuration, piece.text)
        if after is None or piece.lexeme is None:
            return after
        place, terminal_id = piece.lexeme
        is_begun = any(
            watched(each.stack).place == place
            and self._recognizer.lexemes.ahead(each.scanner_state) >> terminal_id & 1
            for each in after.hypotheses
        )
        return after if is_begun else None

    def _needed(self, configuration: Configuration) -> float:
        """Return about how much text is needed, of the hypothesis that needs least."""
        stacks = [start.stack for start, _ in self._starts(configuration)]
        stacks += [watched(each.stack).place.stack for each in configuration.hypotheses]
        return min(self._costs.need(stack).length for stack in stacks)

    def _starts(self, configuration: Configuration) -> Iterator[Start]:
        """Yield where the next lexeme begins, if the lexeme that is being read ends here."""
        for hypothesis in configuration.hypotheses:
            if self._recognizer.scanner.is_start[hypothesis.scanner_state]:
                yield watched(hypothesis.stack).place, hypothesis.indentation
            for ended in self._recognizer.ended(hypothesis, configuration.context):
                yield watched(ended.stack).place, ended.indentation

    def _rests_in(self, configuration: Configuration) -> Iterator[LinePiece]:
        """Yield ways to go on with the lexeme that is being read."""
        for hypothesis in configuration.hypotheses:
            for rest in self._rests_of(hypothesis):
                yield LinePiece(rest)

    def _ways_out(self, starts: tuple[Start, ...]) -> Iterator[LinePiece]:
        """Yield the next lexemes that the monitor names."""
        for place, indentation in dict.fromkeys(starts):
            for terminal_id, text in place.ways_out():
                if place.may(terminal_id)[0]:
                    yield from self._with_gaps((place, indentation), terminal_id, text, True)

    def _lexemes(self, starts: tuple[Start, ...]) -> Iterator[LinePiece]:
        """Yield the next lexemes that need least after them."""
        for place, indentation in dict.fromkeys(starts):
            start = self._recognizer.start(place.stack, 0)
            first = self._costs.need(place.stack).first
            known: list[tuple[float, int, bytes]] = []
            for terminal_id, texts in place.allowed.items():
                lexeme = None if terminal_id == END else self._whole(start, texts, terminal_id, b"")
                if lexeme is None:
                    continue
                after = place.after(terminal_id, lexeme)
                needed = 0 if after is None else self._costs.need(after.stack).length
                cost = 0 if terminal_id == first else len(lexeme) + needed
                known.append((cost, terminal_id, lexeme))
            for _, terminal_id, lexeme in sorted(known)[:_MAX_CHOICES]:
                yield from self._with_gaps((place, indentation), terminal_id, lexeme, False)

    def _with_gaps(
        self, start: Start, terminal_id: int, lexeme: bytes, is_way_out: bool
    ) -> Iterator[LinePiece]:
        """Yield a lexeme, to each column that matters, with and without a gap before it."""
        place, indentation = start
        for text in self._with_columns(lexeme, terminal_id, indentation):
            for gap in (b"", self._gap, b"\n")[: 3 if indentation.level else 2]:
                yield LinePiece(gap + text, (place, terminal_id), is_way_out)

    def _rests_of(self, hypothesis: Hypothesis) -> Iterator[bytes]:
        """Yield the rest of the lexeme that is being read, and how it may have to go on."""
        state, stack = hypothesis.scanner_state, watched(hypothesis.stack)
        if self._recognizer.lexer.is_gap(state):
            return
        distances = self._texts.distances.of(state)
        fed = self._recognizer.lexemes.ahead(state)
        allowed = fed & stack.place.bits
        dropped = fed & ~allowed  # such as a line break in brackets
        for terminal_id in sorted(members(allowed | dropped), key=lambda each: distances[each]):
            if allowed >> terminal_id & 1:
                rest = self._rest(state, stack.place, terminal_id, stack.text)
            else:
                rest = self._texts.some_text(state, terminal_id)
            for more in (rest, *self._longer(state, terminal_id)):
                if more is not None:
                    columns = self._with_columns(more, terminal_id, hypothesis.indentation)
                    yield from filter(None, columns)

    def _with_columns(self, rest: bytes, terminal_id: int, indentation: Indentation) -> list[bytes]:
        """Return a lexeme, going on to each column that matters if it is a line break."""
        if terminal_id != self._rules.newline:
            return [rest]
        return [rest + more for more in indentation.lines_after(rest)]
