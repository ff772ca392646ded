"""Whether a sentence can follow, since a few more bytes lead to where it certainly can.

In: a hypothesis that no table decides. Out: that it is live, and how much of its stack says so; or
None. A text is tried instead of searching all that can follow, which takes seconds for a large
language (:mod:`cfgguide.liveness.pushdown`), and mostly some byte settles it::

    x = f(a)␣    no line break may follow the space, so not all that the table offers can;
                 but a `+` can, and after that a name

If the text was cut inside a character or a word, the rest of that comes first, and so does what an
obligation asks for: the text is read first that is nearest to an end of the lexeme and of all
obligations. What led on from the same scanner state before is tried before all others. The
recogniser reads on the topmost states alone. If these were enough, the answer holds for every stack
with them on top.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from heapq import heappop, heappush
from itertools import count, product

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import IF_FAILS, IF_HOLDS
from cfgguide.errors import LimitError
from cfgguide.lexer.scanner import NO_MATCH
from cfgguide.liveness.always_live import AlwaysLive
from cfgguide.parser.indentation import NO_COLUMN, ONE_SPACE, unpacked
from cfgguide.recognizer.recognizer import Configuration, Hypothesis, Recognizer

_DEPTHS = (4, 16, 64, 256)  # states on top that are tried
_MAX_KNOWN = 10_000  # answers
_MAX_REMEMBERED = 4  # texts that led on from a scanner state
_MAX_TRIED = 32  # texts that are read on without coming nearer
_MAX_READ = 2_000  # texts that are read without coming nearer
_MAX_WANTED = 100  # sets of terminals for which distances are kept
_FAR = 1 << 20  # more bytes than any text has


class Witnesses:
    """Tries a few bytes.

    Parameters
    ----------
    recognizer : Recognizer
        Of the grammar.
    always_live : AlwaysLive
        What is live on every stack.
    tries_endings : bool
        Whether a text is also tried as the rest of a sentence, on the whole of a short stack.
    """

    def __init__(
        self, recognizer: Recognizer, always_live: AlwaysLive, *, tries_endings: bool = False
    ) -> None:
        self._tries_endings = tries_endings
        self._recognizer = recognizer.with_whole_stacks()
        self._always_live = always_live
        classes = recognizer.scanner.byte_classes
        firsts = np.unique(classes, return_index=True)[1]
        letters = [byte for byte in firsts.tolist() if always_live.is_letter[classes[byte]]]
        # What begins a name or a number mostly does.
        self._letters = sorted(map(bytes, zip(letters, strict=True)), key=bytes.isalnum)[::-1]
        # How each letter acts where a lexeme starts: wherever one has ended, another one may start.
        starts = recognizer.scanner.transitions[np.unique(recognizer.scanner.starts)]
        kinds = np.unique(starts, axis=1, return_inverse=True)[1].reshape(-1).tolist()
        of_letters = [int(classes[letter[0]]) for letter in self._letters]
        self._acts_at_start = [
            (letter, each, kinds[each])
            for letter, each in zip(self._letters, of_letters, strict=True)
        ]
        self._reader = recognizer.indentation_reader
        self._match: list[int] = recognizer.scanner.match.tolist()
        self._representatives: list[int] = recognizer.scanner.class_representatives.tolist()
        self._is_assertion = recognizer.scanner.is_assertion
        answers = recognizer.scanner.assertions[self._is_assertion][:, [IF_HOLDS, IF_FAILS]]
        self._answers: npt.NDArray[np.int32] = answers
        self._to_match = self._distances(np.unique(recognizer.scanner.match)[1:].tolist())
        self._to_wanted_known: dict[frozenset[int], list[int]] = {}
        self._has_space = bool(always_live.is_letter[classes[ord(" ")]])
        self._known: dict[tuple[Hypothesis, int], int | None] = {}
        self._led_on: dict[int, list[bytes]] = {}  # by scanner state, the last one first

    def decide(self, hypothesis: Hypothesis, context: int) -> tuple[bool, int] | None:
        """Return True and the lowest height of the stack that was read; None if it is not known."""
        height = hypothesis.stack.height
        for depth in _DEPTHS:
            top = hypothesis._replace(stack=hypothesis.stack.top(depth))
            question = (top, context)
            if question not in self._known:
                if len(self._known) >= _MAX_KNOWN:
                    self._known.clear()
                may_wait = depth < min(height, _DEPTHS[-1])
                self._known[question] = self._n_read(top, context, may_wait)
            n_read = self._known[question]
            if n_read is not None:
                return (True, height - n_read + 1) if n_read else None
            if depth >= height:
                return None
        return None

    def _n_read(self, hypothesis: Hypothesis, context: int, may_wait: bool) -> int | None:
        """Return how much of a stack shows that a byte leads on for sure.

        0 if none does, and None if the stack is too short to say. `may_wait` tells that more of it
        is tried then.
        """
        try:
            text = self._remembered(hypothesis, context, may_wait) or self._found(
                hypothesis, context
            )
        except IndexError:
            return None
        if not text:
            return 0
        self._remember(hypothesis.scanner_state, text)
        too_few, enough = 0, hypothesis.stack.height
        while enough - too_few > 1:
            between = (enough + too_few) // 2
            top = hypothesis._replace(stack=hypothesis.stack.top(between))
            try:
                after = self._advanced(Configuration((top,), context), text)
                if after is not None and self._holds_for(after):
                    enough = between
                else:
                    too_few = between
            except IndexError:
                too_few = between
        return enough

    def _advanced(self, configuration: Configuration, text: bytes) -> Configuration | None:
        """Return where bytes lead; None also if there are too many ways to read them."""
        try:
            return self._recognizer.advance(configuration, text)
        except LimitError:
            return None

    def _remembered(self, hypothesis: Hypothesis, context: int, may_wait: bool) -> bytes:
        """Return a text that led on from the same scanner state and does so here; empty if none.

        Raises
        ------
        IndexError
            If the stack is too short for one of them, and `may_wait`.
        """
        start = Configuration((hypothesis,), context)
        is_short = False
        for text in self._led_on.get(hypothesis.scanner_state, ()):
            try:
                after = self._advanced(start, text)
                if after is not None and self._holds_for(after):
                    return text
            except IndexError:
                is_short = True
        if is_short and may_wait:
            raise IndexError
        return b""

    def _remember(self, scanner_state: int, text: bytes) -> None:
        texts = self._led_on.setdefault(scanner_state, [])
        if text in texts:
            texts.remove(text)
        texts.insert(0, text)
        del texts[_MAX_REMEMBERED:]

    def _found(self, hypothesis: Hypothesis, context: int) -> bytes:
        """Return a text after which a sentence follows for sure, empty if none is found.

        Raises
        ------
        IndexError
            If the stack is too short.
        """
        start = Configuration((hypothesis,), context)
        stack = hypothesis.stack
        needs_more = (
            self._reader is None  # else the search comes next, and is asked little
            or bool(hypothesis.obligations)
            or self._match[hypothesis.scanner_state] == NO_MATCH
        )
        to_wanted = self._to_wanted(hypothesis) if needs_more else self._to_match
        order = count()
        # Of those that are as near, the longest is read on first.
        pending = [(_FAR - 1, 0, next(order), start, b"")]
        seen = {start}
        spaces = self._spaces(hypothesis)
        nearest, n_left, n_read = _FAR, 1, 0
        while pending and n_left:
            way, *_, before, read = heappop(pending)
            n_left -= 1
            if needs_more and way - len(read) < nearest:
                nearest, n_left, n_read = way - len(read), _MAX_TRIED, 0
            for letter, first in product(self._different(before), spaces):
                if n_read == _MAX_READ:
                    return b""
                n_read += 1
                text = first + letter
                after = self._advanced(before, text)
                if after is None or after in seen:
                    continue
                if self._holds_for(after):
                    return read + text
                seen.add(after)
                distances = [
                    self._distance(each, to_wanted if each.stack is stack else self._to_match)
                    for each in after.hypotheses
                ]
                way = len(read) + min(distances)
                heappush(pending, (way, -len(read), next(order), after, read + text))
        return b""

    def _different(self, configuration: Configuration) -> Iterable[bytes]:
        """Return one letter for each way in which a letter can act: many act alike here."""
        if self._reader is not None:  # which counts columns
            return self._letters
        owed = {owed for hypothesis in configuration.hypotheses for owed in hypothesis.obligations}
        states = {hypothesis.scanner_state for hypothesis in configuration.hypotheses}
        acts = self._recognizer.lookahead.acts(sorted(states), sorted(owed), configuration.context)
        found: dict[object, bytes] = {}
        for letter, byte_class, at_start in self._acts_at_start:
            found.setdefault((acts[byte_class], at_start), letter)
        return found.values()

    def _to_wanted(self, hypothesis: Hypothesis) -> list[int]:
        """Return the distances of scanner states from what the parser takes on a stack."""
        _, _, stack, indentation = hypothesis
        table = self._recognizer.parse_table
        row = np.flatnonzero(table.action[stack.state]).tolist()
        wanted = frozenset(
            terminal for terminal in row if self._recognizer.shifts(stack, indentation, terminal)
        )
        if wanted not in self._to_wanted_known:
            if len(self._to_wanted_known) >= _MAX_WANTED:
                self._to_wanted_known.clear()
            ignored = self._recognizer.scanner.ignored
            self._to_wanted_known[wanted] = self._distances([*wanted, ignored])
        return self._to_wanted_known[wanted]

    def _distance(self, hypothesis: Hypothesis, to_end: list[int]) -> int:
        """Return how many bytes the lexeme and the obligations need, each of these by itself."""
        state, obligations, _, _ = hypothesis
        owed = [
            self._to_match[self._representatives[-obligation]]
            for obligation in obligations
            if obligation < 0
        ]
        return max(to_end[state], sum(owed))

    def _holds_for(self, configuration: Configuration) -> bool:
        if self._always_live.holds_for(self._recognizer, configuration):
            return True
        try:
            return self._tries_endings and self._recognizer.is_sentence(configuration)
        except IndexError:  # more of the stack decides
            return False

    def _distances(self, terminal_ids: list[int]) -> list[int]:
        """Return how many bytes it takes from each scanner state to a match of some terminal.

        Look-ahead may need more.
        """
        match, is_assertion = self._recognizer.scanner.match, self._is_assertion
        distance = np.where(np.isin(match, terminal_ids) & ~is_assertion, 0, _FAR)
        sources, targets = self._steps
        for n_bytes in count():
            # An assertion state is as near as its nearer answer.
            nearer = distance.copy()
            while True:
                nearer[is_assertion] = nearer[self._answers].min(axis=1)
                if np.array_equal(nearer, distance):
                    break
                distance = nearer.copy()
            is_here = distance == n_bytes
            if not is_here.any():
                break
            reached = sources[is_here[targets]]
            distance[reached] = np.minimum(distance[reached], n_bytes + 1)
        found: list[int] = distance.tolist()
        return found

    @cached_property
    def _steps(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Pairs of a scanner state and one to which some letter leads, each once."""
        scanner = self._recognizer.scanner
        letters = scanner.byte_classes[[ord(byte) for byte in self._letters]]
        sources = np.flatnonzero(~scanner.is_assertion).astype(np.int64)[:, None]
        pairs = np.unique(
            sources * scanner.n_states + scanner.transitions[:, letters][sources[:, 0]]
        )
        sources, targets = np.divmod(pairs, scanner.n_states)
        return sources, targets

    def _spaces(self, hypothesis: Hypothesis) -> list[bytes]:
        """Return the spaces after which a line that has begun may be where a block is."""
        state, _, _, (columns, _, column) = hypothesis
        reader = self._reader
        if reader is None or not reader.is_newline[state] or column == NO_COLUMN:
            return [b""]
        found = {0: b""}
        if self._has_space and reader.can_widen[state]:
            narrow = unpacked(column)[1]
            for block in (*columns, columns[-1] + ONE_SPACE):
                n = unpacked(block)[1] - narrow
                if n > 0:
                    found[n] = b" " * n
        return list(found.values())
