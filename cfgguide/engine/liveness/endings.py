"""Short texts that complete a hypothesis of a configuration to a sentence.

In: a :class:`~cfgguide.engine.machine.recognizer.Recognizer`. Out: :class:`Endings`,
which finds for a configuration bytes after which the text is a sentence.

It goes from lexeme to lexeme. The parser alone says which terminal comes next in a completion of
the fewest tokens (:mod:`cfgguide.grammar.lr.stack_costs`), the scanner alone how its shortest
lexeme is written (:mod:`cfgguide.engine.lexer.shortest_lexemes`), and the recogniser's own steps
read it, after white space if necessary. So the result is a completion however lexer, parser and
indenter interact; it is short, but not always the shortest. ::

    {"a": [1, {"b": "x     `"` (STRING), `}`, `]`, `}`      ending  "}]}

Where a lexeme starts, the ending depends on the *place* alone: the stack, the indentation and the
context. It is remembered for each place on the way, so another text that comes to the same stack
needs only its own first lexeme. Each step lessens what the stack needs, so every way ends. Where
the parser's word fails, because lexemes cannot stand side by side or a conflict was resolved, a
bounded best-first search tries other terminals.

An ending is a function of the configuration: what was asked before, or forgotten, changes none.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import count, islice
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.base.archive import Arrays
from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered, remembered_up_to
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS, Obligations
from cfgguide.engine.lexer.shortest_lexemes import FAR, LexemeTexts
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.errors import LimitError
from cfgguide.grammar.lr.indentation import Indentation
from cfgguide.grammar.lr.indentation_names import COUNTED, INLINE, JOIN, NEWLINE
from cfgguide.grammar.lr.shifts import RememberedShifts
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.stack_costs import StackCosts
from cfgguide.grammar.lr.table import END, ERROR

_MAX_BYTES = 20_000_000  # of the endings that are remembered, about
_OVERHEAD = 500  # bytes of what is remembered beside a text
_MAX_NEEDED = 4096  # tokens of an ending, about; a stack that needs more has none
MAX_LEXEMES = 20_000  # of an ending that is looked for otherwise
_MAX_WAYS = 4  # to end a lexeme
_MAX_READ = 600  # lexemes that are read in one search
_LONG = 32  # bytes that count as much as a lexeme
_HASTE = 2  # the weight of what is still needed in a search; what was written counts 1
_BYTE = 1 / 1024  # the weight of a byte: of as many tokens, the fewest bytes are best


class LexemeStart(NamedTuple):
    """Where a lexeme starts, after all that came before has ended.

    Attributes
    ----------
    stack : Stack
        The parser's.
    indentation : Indentation
        The open blocks and brackets.
    context : int
        What the text so far means to look-behind.
    """

    stack: Stack
    indentation: Indentation
    context: int


class _Step(NamedTuple):
    """Bytes that end a lexeme, and where that leads.

    Attributes
    ----------
    text : bytes
        The rest of the lexeme.
    obligations : Obligations
        What must come true of the text after it.
    place : LexemeStart
        Where the next lexeme starts.
    may_end : bool
        Whether the text may end here, if the parser accepts it.
    """

    text: bytes
    obligations: Obligations
    place: LexemeStart
    may_end: bool


class Endings:
    """Finds short endings.

    Parameters
    ----------
    recognizer : Recognizer
        Of the grammar.
    used : frozenset of int
        The bytes that occur in tokens.
    n_tokens : callable
        Takes the bytes of a lexeme, and returns how many tokens spell them; None if none do.
    stored : dict of str to array, optional
        What :meth:`packed` returned for the same tables and classes of bytes.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary.of_bytes([])
    >>> index = cfgguide.compile(cfgguide.Grammar.bundled("json"), vocabulary)
    >>> endings = Endings(index.machine.recognizer, frozenset(range(256)))
    >>> recognizer = index.machine.recognizer
    >>> endings.of(recognizer.advance(recognizer.initial, b'{"a": [1, {"b": "x'))
    b'"}]}'
    """

    def __init__(
        self,
        recognizer: Recognizer,
        used: frozenset[int],
        n_tokens: Callable[[bytes], int | None] = len,
        stored: Arrays | None = None,
    ) -> None:
        table = RememberedShifts.of(recognizer.parse_table)
        self._recognizer = recognizer.with_parse_table(table)
        if not table.is_general:  # there, stacks that stand for others spare readings
            self._recognizer = self._recognizer.with_whole_stacks()
        self._scanner = recognizer.scanner
        self._lookahead = self._recognizer.lookahead
        self._rules = recognizer.indentation_rules
        self._byte_classes: list[int] = self._scanner.byte_classes.tolist()
        self._match: list[int] = self._scanner.match.tolist()
        self._texts = LexemeTexts(recognizer.scanner, recognizer.lookahead, used, stored)
        is_stored = stored is not None and n_tokens is len
        weights = [] if is_stored else self._weights_of(n_tokens, table.n_terminals)
        self._costs = StackCosts(table, weights, stored, has_stored_lengths=is_stored)
        self._slow = self._with_role(COUNTED, JOIN)
        not_plain = self._with_role(NEWLINE, COUNTED, JOIN)
        self._is_plain = [
            terminal_id <= self._scanner.ignored and terminal_id not in not_plain
            for terminal_id in range(self._scanner.ignored + 2)
        ] + [False]  # the last for `NO_MATCH`
        self._dropped = [self._scanner.ignored, *sorted(self._with_role(INLINE))]
        self._near: dict[tuple[int, int], list[int]] = {}
        self._forget()

    def packed(self) -> Arrays:
        """Return what takes long to make and depends on no spelling of lexemes by tokens."""
        return {**self._texts.packed(), **self._costs.packed()}

    def _weights_of(self, n_tokens: Callable[[bytes], int | None], n_terminals: int) -> list[float]:
        """Return for each terminal about how many tokens its shortest lexeme takes."""
        starts = np.unique(self._scanner.starts)
        followed, distances = self._texts.followed.of(starts), self._texts.distances.of(starts)
        is_last = followed.min(axis=0) >= FAR  # nothing but the end of the text can end it
        nearest = starts[np.where(is_last, distances, followed).argmin(axis=0)].tolist()
        weights = [inf] * n_terminals
        for terminal_id in range(n_terminals):
            check_step(0)
            text = self._texts.some_text(nearest[terminal_id], terminal_id)
            n_needed = None if text is None else n_tokens(text)
            if text is not None and n_needed is not None:
                weights[terminal_id] = max(n_needed, 1) + len(text) * _BYTE
        if self._rules is not None:
            weights[self._rules.indent] = weights[self._rules.dedent] = 1
        weights[END] = inf  # the end is no part of a text
        return weights

    @cached_property
    def _goes_on(self) -> npt.NDArray[np.bool_]:
        """Whether the parser takes anything but the end, by its state."""
        is_taken = self._recognizer.parse_table.action != ERROR
        return np.array(is_taken.sum(axis=1) > is_taken[:, END])

    @remembered
    def _is_final(self, terminal_id: int) -> bool:
        """Return whether the parser takes nothing but the end after a terminal."""
        table = self._recognizer.parse_table
        if terminal_id >= table.n_terminals:
            return False
        after = table.action[:, terminal_id]
        after = after[after > 0] - 1
        return len(after) > 0 and not self._goes_on[after].any()

    def _with_role(self, *roles: int) -> frozenset[int]:
        """Return the terminals with which an indenter does something."""
        if self._rules is None:
            return frozenset()
        return frozenset(np.flatnonzero(np.isin(self._rules.roles, roles)).tolist())

    def _forget(self) -> None:
        self._known: dict[LexemeStart, bytes | None] = {}
        self._ends: dict[tuple[Stack, Indentation, int, int], _End | None] = {}
        self._searches: dict[Configuration, bytes | None] = {}
        self._n_bytes = 0

    def of(self, configuration: Configuration) -> bytes | None:
        """Return bytes after which the text is a sentence; None if none were found."""
        ending = self.direct(configuration)
        return self._searched(configuration) if ending is None else ending

    def are_far(self, configuration: Configuration) -> bool:
        """Return whether the endings are so long that none is looked for."""
        needed = (self._costs.need(each.stack).length for each in configuration.hypotheses)
        return all(MAX_LEXEMES < each < inf for each in needed)  # of which infinity tells nothing

    def direct(self, configuration: Configuration) -> bytes | None:
        """Return bytes after which the text is a sentence, if the parser alone leads there."""
        if self._n_bytes > _MAX_BYTES:
            self._forget()
        hypotheses, best = configuration.hypotheses, None
        least = dict.fromkeys(hypotheses, 0.0)
        if len(hypotheses) > 1 and self._recognizer.is_open:  # mostly, all need as much
            least = self._recognizer.n_needed(hypotheses)
        for hypothesis in sorted(hypotheses, key=least.__getitem__):
            if best is not None and least[hypothesis] >= len(best):
                break
            ending = self._direct(hypothesis, configuration.context)
            if best is None or (ending is not None and len(ending) < len(best)):
                best = ending
        return best

    # -- as the parser says -----------------------------------------------------------------

    def _direct(self, hypothesis: Hypothesis, context: int) -> bytes | None:
        """Return an ending that begins with the best way to end the lexeme, None if none has."""
        state, obligations, stack, indentation = hypothesis
        if self._scanner.is_start[state]:
            may_end = self._lookahead.may_end(obligations)
            place = LexemeStart(stack, indentation, context)
            return self._joined(_Step(b"", obligations, place, may_end))
        if not self._is_plain[self._match[state]] and self._is_sentence(hypothesis, context):
            return b""
        steps: list[_Step] = []
        best, needed, least = None, inf, self._costs.need(stack).length
        for terminal_id in islice(self._nearest(hypothesis), _MAX_WAYS):
            if best is not None and needed <= least:
                return best  # mostly: the lexeme is one that is needed anyway
            if not self._is_plain[terminal_id]:
                steps += self._lexemes(hypothesis, context, terminal_id)
                continue
            for piece in self._known_pieces(state, obligations, context, terminal_id):
                end = (stack, indentation, piece.context, terminal_id)
                known = self._ends[end] if end in self._ends else self._end(*end)
                if known is None:
                    continue
                length = known.needed + (1 if piece.text else 0)
                if length < needed and self._can_follow(piece, known.ending):
                    best, needed = piece.text + known.ending, length
                elif length < needed:
                    steps += self._lexemes(hypothesis, context, terminal_id)
        for step in sorted(steps, key=self._needed):
            if self._needed(step) >= needed:
                break
            text = self._joined(step)
            if text is not None:
                return text
        return best

    def _end(
        self, stack: Stack, indentation: Indentation, context: int, terminal_id: int
    ) -> _End | None:
        """Return what follows a lexeme, and remember it; None if nothing can."""
        end = None
        for shifted in self._recognizer.shifts(stack, indentation, terminal_id):
            place = LexemeStart(*shifted, context)
            ending = self._joined(_Step(b"", NO_OBLIGATIONS, place, True))
            needed = self._costs.need(place.stack).length
            if ending is not None and (end is None or needed < end.needed):
                end = _End(needed, ending)
        self._n_bytes += _OVERHEAD + (0 if end is None else len(end.ending))
        self._ends[stack, indentation, context, terminal_id] = end
        return end

    def _nearest(self, hypothesis: Hypothesis) -> Iterator[int]:
        """Yield the terminals that a lexeme may still become, those with the least rest first.

        Those are left out that the parser does not take, as most of a thousand keywords.
        """
        state, _, stack, indentation = hypothesis
        key = (state, stack.state)
        if key not in self._near:
            distances = self._texts.distances.of(state)
            is_taken = distances < FAR
            if self._rules is None:
                is_taken[:-1] &= self._recognizer.parse_table.action[stack.state] != ERROR
            near = np.flatnonzero(is_taken)
            self._near[key] = near[np.argsort(distances[near], kind="stable")].tolist()
        for terminal_id in self._near[key]:
            if self._rules or self._recognizer.shifts(stack, indentation, terminal_id):
                yield terminal_id

    def _needed(self, step: _Step) -> float:
        """Return about how many tokens a step needs."""
        return (1 if step.text else 0) + self._costs.need(step.place.stack).length

    def _joined(self, step: _Step) -> bytes | None:
        """Return a step's text and the ending after it; None if there is none."""
        pending: list[tuple[LexemeStart, list[_Step]]] = []
        while True:
            check_step()
            ending = self._tried(pending[-1][1] if pending else [step])
            if isinstance(ending, LexemeStart):
                if self._may_be_sentence(ending) and self._may_end_at(ending):
                    self._remember(ending, b"")
                elif self._costs.need(ending.stack).length > _MAX_NEEDED:
                    self._remember(ending, None)
                else:
                    pending.append((ending, list(self._steps(ending))))
            elif not pending:
                return ending
            else:
                self._remember(pending.pop()[0], ending)

    def _may_be_sentence(self, place: LexemeStart) -> bool:
        """Return whether nothing is needed but what the end of the text feeds."""
        first = self._costs.need(place.stack).first
        return first == END or (
            self._rules is not None and first in (self._rules.newline, self._rules.dedent)
        )

    def _may_end_at(self, place: LexemeStart) -> bool:
        """Return whether the parser accepts the text if it ends at a place.

        No lexeme need be able to start there.
        """
        reader = self._recognizer.indentation_reader
        stack: Stack | None = place.stack
        if reader is not None:
            stack = reader.at_the_end(place.stack, place.indentation)
        return stack is not None and self._recognizer.parse_table.is_sentence(stack)

    def _remember(self, place: LexemeStart, ending: bytes | None) -> None:
        self._n_bytes += _OVERHEAD + len(ending or b"")
        self._known[place] = ending

    def _tried(self, steps: list[_Step]) -> bytes | LexemeStart | None:
        """Return the first step's text that has an ending, with that, or a place that is needed."""
        for step in steps:
            ending = self._after(step)
            if ending is not None:
                return ending
        return None

    def _after(self, step: _Step) -> bytes | LexemeStart | None:
        """Return a step's text and the ending after it, None, or a place that is needed."""
        if step.place not in self._known:
            return step.place
        rest = self._known[step.place]
        if rest is None:
            return None
        if self._can_follow(step, rest):
            return step.text + rest
        for gap in self._gaps(step):
            if gap.place not in self._known:
                return gap.place
            rest = self._known[gap.place]
            if rest is not None and self._can_follow(gap, rest):
                return step.text + gap.text + rest
        return None

    def _can_follow(self, step: _Step | _Piece, rest: bytes) -> bool:
        """Return whether the obligations after a lexeme come true of an ending.

        What an ending says of its own lexemes was checked without them: they are about the text,
        and not about one another.
        """
        if not rest:
            return step.may_end
        possible = {step.obligations}
        for byte in rest:
            if NO_OBLIGATIONS in possible:
                return True
            letter = self._byte_classes[byte]
            possible = {after for owed in possible for after in self._lookahead.after(owed, letter)}
            if not possible:
                return False
        return any(map(self._lookahead.may_end, possible))

    def _steps(self, place: LexemeStart) -> Iterator[_Step]:
        """Yield the lexemes that may come next, each with the terminal that the parser says."""
        need = self._costs.need(place.stack)
        if need.first == END:
            return
        steps = [
            step
            for start in self._starts(place)
            for step in self._lexemes(start, place.context, need.first)
        ]
        for step in sorted(steps, key=self._needed):
            if self._costs.need(step.place.stack).length < need.length:  # so that every way ends
                yield step

    def _starts(
        self, place: LexemeStart, obligations: Obligations = NO_OBLIGATIONS
    ) -> list[Hypothesis]:
        start = self._recognizer.start(place.stack, place.context)
        return [
            Hypothesis(fresh, owed, place.stack, place.indentation)
            for fresh, owed in self._lookahead.resolved(start, obligations)
        ]

    def _gaps(self, step: _Step) -> Iterator[_Step]:
        """Yield ignored texts that fulfil the obligations after a step at once."""
        place, representatives = step.place, self._scanner.class_representatives
        start = self._recognizer.start(place.stack, place.context)
        for obligation in step.obligations:
            before = int(representatives[abs(obligation)])
            for terminal_id in self._dropped:
                gap = self._texts.gap(start, before, terminal_id)
                for hypothesis in self._starts(place, step.obligations) if gap else ():
                    yield from self._read(hypothesis, place.context, gap or b"", terminal_id)

    # -- one lexeme -------------------------------------------------------------------------

    def _lexemes(self, hypothesis: Hypothesis, context: int, terminal_id: int) -> list[_Step]:
        """Return the shortest ways to end a lexeme as a terminal: several if columns matter."""
        state, obligations, stack, indentation = hypothesis
        if terminal_id in self._slow:
            return [
                step
                for rest in self._texts.texts(state, terminal_id, obligations)
                for step in self._read(hypothesis, context, rest, terminal_id)
            ]
        if self._rules is not None and terminal_id == self._rules.newline:
            return list(self._line_breaks(hypothesis, context))
        return [
            _Step(
                piece.text, piece.obligations, LexemeStart(*shifted, piece.context), piece.may_end
            )
            for piece in self._known_pieces(state, obligations, context, terminal_id)
            for shifted in self._recognizer.shifts(stack, indentation, terminal_id)
        ]

    def _line_breaks(self, hypothesis: Hypothesis, context: int) -> Iterator[_Step]:
        """Yield ways to end a line break, one for each column that matters."""
        state, obligations, stack, indentation = hypothesis
        assert self._rules is not None, "there is an indenter"
        newline, reader = self._rules.newline, self._recognizer.indentation_reader
        assert reader is not None, "there is an indenter"
        breaks = dict.fromkeys(
            piece
            for rest in self._texts.texts(state, newline, obligations)
            for more in indentation.lines_after(rest)
            for piece in self._known_pieces(state, obligations, context, newline, more)
        )
        for piece in breaks:
            there = reader.read(indentation, piece.text, newline)
            for shifted in self._recognizer.shifts(stack, there, newline):
                place = LexemeStart(*shifted, piece.context)
                end = Hypothesis(piece.state, piece.before, stack, there)
                may_end = self._may_be_sentence(place) and self._is_sentence(end, piece.context)
                yield _Step(piece.text, piece.obligations, place, may_end)

    @remembered_up_to(_MAX_BYTES // _OVERHEAD)
    def _known_pieces(
        self,
        state: int,
        obligations: Obligations,
        context: int,
        terminal_id: int,
        more: bytes = b"",
    ) -> tuple[_Piece, ...]:
        """Return short rests of a lexeme, with more bytes of it after that.

        Where one that hardly anything but the end can follow is shorter, it is the first.
        """
        return tuple(self._made_pieces(state, obligations, context, terminal_id, more))

    def _made_pieces(
        self, state: int, obligations: Obligations, context: int, terminal_id: int, more: bytes
    ) -> Iterator[_Piece]:
        followed = closed = None
        if self._is_final(terminal_id):  # a search for a text that something can follow may be long
            last = self._texts.text(state, terminal_id, obligations=obligations, is_last=True)
            texts = [] if last is None else [last]
        else:
            followed = self._texts.text(state, terminal_id, obligations=obligations)
            texts = self._texts.texts(state, terminal_id, obligations)
        if terminal_id in self._dropped:  # `//` is a short comment, and takes all of the line
            closed = self._texts.closed(state, terminal_id)
            texts += [] if closed is None or closed in texts else [closed]
        for text in texts:
            pieces = self._pieces_of(text + more, state, obligations, context, terminal_id)
            if text not in (followed, closed):
                pieces = [piece for piece in pieces if piece.may_end]
            yield from sorted(pieces, key=lambda piece: len(piece.obligations))[:1]

    def _pieces_of(
        self, text: bytes, state: int, obligations: Obligations, context: int, terminal_id: int
    ) -> list[_Piece]:
        """Return the ways in which bytes end a lexeme."""
        letters = [self._byte_classes[byte] for byte in text]
        for byte_class in letters:
            context = int(self._scanner.contexts[context, byte_class])
        return [
            _Piece(text, after, context, self._lookahead.may_end(after), here, owed)
            for here, owed in self._lookahead.read(state, obligations, letters)
            if self._match[here] == terminal_id
            for after in [self._lookahead.ending(here, owed)]
        ]

    def _read(
        self, hypothesis: Hypothesis, context: int, text: bytes, terminal_id: int
    ) -> Iterator[_Step]:
        """Yield where bytes lead that end a lexeme as a terminal."""
        after = self._advanced(hypothesis, context, text)
        for here in after.hypotheses if after is not None else ():
            if self._match[here.scanner_state] != terminal_id:
                continue
            obligations = self._lookahead.ending(here.scanner_state, here.obligations)
            if after is None:
                continue
            for shifted in self._recognizer.shifts(here.stack, here.indentation, terminal_id):
                place = LexemeStart(*shifted, after.context)
                may_end = self._may_be_sentence(place) and self._is_sentence(here, after.context)
                yield _Step(text, obligations, place, may_end)

    def _advanced(self, hypothesis: Hypothesis, context: int, text: bytes) -> Configuration | None:
        """Return where bytes lead; None also if there are too many ways to read them."""
        try:
            return self._recognizer.advance(Configuration((hypothesis,), context), text)
        except LimitError:
            check_step()  # or it was the step's
            return None

    def _is_sentence(self, hypothesis: Hypothesis, context: int) -> bool:
        return self._recognizer.is_sentence(Configuration((hypothesis,), context))

    # -- otherwise --------------------------------------------------------------------------

    def _searched(self, configuration: Configuration) -> bytes | None:
        """Return an ending by other terminals than the parser says; None if none was found."""
        if configuration not in self._searches:
            text = self._search(configuration)
            self._n_bytes += _OVERHEAD + len(text or b"")
            self._searches[configuration] = text
        return self._searches[configuration]

    def _search(self, root: Configuration) -> bytes | None:
        """Look for an ending, best first."""
        number = count()
        seen = {(hypothesis, root.context) for hypothesis in root.hypotheses}
        pending = [
            (_HASTE * self._costs.need(each.stack).length, next(number), b"", each, root.context)
            for each in root.hypotheses
        ]
        heapq.heapify(pending)
        n_read = 0
        while pending and n_read < _MAX_READ:
            _, _, text, hypothesis, context = heapq.heappop(pending)
            for piece in self._pieces_after(hypothesis, context):
                n_read += 1 + len(piece) // _LONG
                after = self._advanced(hypothesis, context, piece)
                for here in after.hypotheses if after is not None else ():
                    if after is None or (here, after.context) in seen:
                        continue
                    seen.add((here, after.context))
                    rest = self._direct(here, after.context)
                    if rest is not None:
                        return text + piece + rest
                    needed = self._costs.need(here.stack).length
                    if needed < inf:
                        guess = len(text + piece) + _HASTE * needed
                        place = (guess, next(number), text + piece, here, after.context)
                        heapq.heappush(pending, place)
        return None

    def _pieces_after(self, hypothesis: Hypothesis, context: int) -> Iterator[bytes]:
        """Yield what may come next: the rest of the lexeme, or a next one, after a gap perhaps."""
        state = hypothesis.scanner_state
        for terminal_id in islice(self._nearest(hypothesis), 5 * _MAX_WAYS):
            for rest in self._texts.texts(state, terminal_id):
                columns = self._with_columns(rest, terminal_id, hypothesis.indentation)
                yield from filter(None, columns)
        for start in self._recognizer.ended(hypothesis, context):
            gaps = [
                gap
                for terminal_id in self._dropped
                if (gap := self._texts.gap(start.scanner_state, state, terminal_id))
            ]
            for terminal_id in self._nearest(start):
                for lexeme in self._texts.texts(start.scanner_state, terminal_id):
                    for text in self._with_columns(lexeme, terminal_id, start.indentation):
                        yield from (before + text for before in (b"", *gaps))

    def _with_columns(self, rest: bytes, terminal_id: int, indentation: Indentation) -> list[bytes]:
        """Return the rest of a lexeme, going on to each column if it is a line break."""
        if self._rules is None or terminal_id != self._rules.newline:
            return [rest]
        return [rest + more for more in indentation.lines_after(rest)]


class _Piece(NamedTuple):
    """The rest of a lexeme.

    Attributes
    ----------
    text : bytes
        Its bytes.
    obligations : Obligations
        What must come true of the text after it.
    context : int
        What the text then means to look-behind.
    may_end : bool
        Whether the text may end there, if the parser accepts it.
    state : int
        Where the scanner is at its end.
    before : Obligations
        The obligations before the lexeme ends there.
    """

    text: bytes
    obligations: Obligations
    context: int
    may_end: bool
    state: int
    before: Obligations


class _End(NamedTuple):
    """What follows a lexeme: about how many tokens are needed, and the ending."""

    needed: float
    ending: bytes
