"""Whether a sentence can follow, since a few more bytes lead to where it certainly can.

In: a hypothesis that no table decides. Out: that it is live, and how much of its stack says so; or
None. A text is tried instead of searching all that can follow, which takes seconds for a large
language (:mod:`cfgguide.engine.liveness.stack_summaries`), and mostly some byte settles it::

    x = f(a)␣    no line break may follow the space, so not all that the table offers can;
                 but a `+` can, and after that a name

The text is the beginning of a short ending (:mod:`cfgguide.engine.liveness.endings`). It is read on
the topmost states alone: if these are enough, the answer holds for every stack with them on top. If
nothing but the end of the ending says so, all of the stack was read. Where only the top of a stack
is known, an ending of some stack with that top is taken. What led on from the same scanner state
before is tried first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cached_property

from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.liveness.endings import Endings
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.errors import LimitError
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import START_STATE

DEPTHS = (1, 4, 16, 64, 256)  # how many states on top may be enough, asked in this order
_MAX_REMEMBERED = 4  # texts that led on from a scanner state
_MAX_READ = 64  # bytes of an ending after which nothing was found to lead on whatever lies below


class Witnesses:
    """Tries a few bytes.

    Parameters
    ----------
    recognizer : Recognizer
        Of the grammar.
    always_live : AlwaysLive
        What is live on every stack.
    used : frozenset of int
        The bytes that occur in tokens; each is one.
    endings : callable
        Makes what finds short endings of such bytes.
    predecessors : callable
        Returns the parse states that can lie directly below one.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        always_live: AlwaysLive,
        used: frozenset[int],
        endings: Callable[[frozenset[int], Callable[[bytes], int | None]], Endings],
        predecessors: Callable[[int], list[int]],
    ) -> None:
        self._make_endings = endings
        self._recognizer = recognizer.with_whole_stacks()
        self._always_live = always_live
        self._used = used
        self._predecessors = predecessors
        self._led_on: dict[int, list[bytes]] = {}  # by scanner state, the last one first

    def decide(
        self, hypothesis: Hypothesis, context: int, *, searches: bool = True
    ) -> tuple[bool, int] | None:
        """Return True and the lowest height of the stack that was read; None if it is not known.

        Unless it `searches`, only an ending is tried to which the parser alone leads.
        """
        height = hypothesis.stack.height
        led_on = self._remembered(hypothesis, context)
        if not led_on and "_endings" not in self.__dict__:  # to make them takes longer
            led_on = self._letter(hypothesis, context)
        if led_on:
            return True, height - self._n_read(hypothesis, context, led_on) + 1
        whole = self._whole(hypothesis)
        find = self._endings.of if searches else self._endings.direct
        ending = None if whole is None else find(Configuration((whole,), context))
        if ending is None:
            return None
        text = self._beginning(hypothesis, context, ending)
        if text is None:  # it is known of the whole stack alone
            return (True, 1) if whole is hypothesis else None
        return True, height - self._n_read(hypothesis, context, text) + 1

    def _whole(self, hypothesis: Hypothesis) -> Hypothesis | None:
        """Return a hypothesis with the same top and a whole stack; None if there is none."""
        states = list(hypothesis.stack)
        if states[-1] == START_STATE:
            return hypothesis
        below = self._states_below(states[-1])
        if below is None:
            return None
        return hypothesis._replace(stack=Stack.of([*below, *reversed(states)]))

    @remembered
    def _states_below(self, state: int) -> list[int] | None:
        """Return the states of the least stack that can lie below one, the bottom first."""
        above: dict[int, int] = {}
        pending = deque([state])
        while pending and START_STATE not in above:
            here = pending.popleft()
            for below in self._predecessors(here):
                if below not in above:
                    above[below] = here
                    pending.append(below)
        found = [START_STATE] if START_STATE in above else None
        while found and above[found[-1]] != state:
            found.append(above[found[-1]])
        return found

    def _beginning(self, hypothesis: Hypothesis, context: int, ending: bytes) -> bytes | None:
        """Return the least beginning of an ending that leads on whatever lies below the stack."""
        lengths = range(1, min(len(ending), _MAX_READ) + 1)
        beginnings = (ending[:length] for length in lengths)
        return next((t for t in beginnings if self._leads_on(hypothesis, context, t)), None)

    def _n_read(self, hypothesis: Hypothesis, context: int, text: bytes) -> int:
        """Return how many states on top are enough for a text to lead on, and remember the text."""
        too_few, enough = 0, hypothesis.stack.height
        for depth in DEPTHS:  # mostly it is few, however high the stack is
            if depth >= enough:
                break
            if self._leads_on(topmost(hypothesis, depth), context, text):
                enough = depth
            else:
                too_few = depth
        while enough - too_few > 1:
            between = (enough + too_few) // 2
            if self._leads_on(topmost(hypothesis, between), context, text):
                enough = between
            else:
                too_few = between
        texts = self._led_on.setdefault(hypothesis.scanner_state, [])
        if text in texts:
            texts.remove(text)
        texts.insert(0, text)
        del texts[_MAX_REMEMBERED:]
        return enough

    def _remembered(self, hypothesis: Hypothesis, context: int) -> bytes:
        """Return a text that led on from the same scanner state and does so here; empty if none."""
        texts = self._led_on.get(hypothesis.scanner_state, ())
        return next((text for text in texts if self._leads_on(hypothesis, context, text)), b"")

    def _letter(self, hypothesis: Hypothesis, context: int) -> bytes:
        """Return a letter, or another byte of ASCII, that leads on; empty if none does."""
        classes = self._recognizer.scanner.byte_classes[127::-1].tolist()
        different = {byte_class: 127 - place for place, byte_class in enumerate(classes)}
        texts = (bytes((byte,)) for byte in different.values() if byte in self._used)
        return next((text for text in texts if self._leads_on(hypothesis, context, text)), b"")

    @cached_property
    def _endings(self) -> Endings:
        return self._make_endings(self._used, len)

    def _leads_on(self, hypothesis: Hypothesis, context: int, text: bytes) -> bool:
        try:
            after = self._advanced(Configuration((hypothesis,), context), text)
            return after is not None and self._always_live.holds_for(self._recognizer, after)
        except IndexError:  # more of the stack decides
            return False

    def _advanced(self, configuration: Configuration, text: bytes) -> Configuration | None:
        """Return where bytes lead; None also if there are too many ways to read them."""
        try:
            return self._recognizer.advance(configuration, text)
        except LimitError:
            check_step()  # or it was the step's
            return None


def topmost(hypothesis: Hypothesis, depth: int) -> Hypothesis:
    """Return a hypothesis with the topmost states of its stack alone."""
    return hypothesis._replace(stack=hypothesis.stack.top(depth))
