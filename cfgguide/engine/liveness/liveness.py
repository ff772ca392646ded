"""Whether a sentence can still follow: exact, for every configuration.

In: a :class:`~cfgguide.engine.machine.recognizer.Recognizer` and a
:class:`~cfgguide.engine.vocabulary.spelling.Spelling`. Out: a :class:`Liveness`, which decides for
a configuration between two tokens whether some sequence of tokens and then the end of the text
leads to acceptance, and says how deep it looked into the stack.

A row of the parse table is not enough, nor is the stack: where two names cannot be adjacent
because the scanner would read them as one, no text leads on although the parser would. So this
asks lexer, parser and vocabulary together (:mod:`cfgguide.engine.liveness.stack_summaries`): a
stack is read from the top, and the controls in which one state is left are those in which the next
is read.

Most stacks need not be read to the bottom. From a set of controls and the state just read, every
stack below is a path back through the LALR automaton; if all such paths end in acceptance, or none
does, the answer is known (:class:`Verdict`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from enum import Enum
from functools import cached_property, partial
from itertools import chain, starmap
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from cfgguide.base.limits import Budget, check_step
from cfgguide.base.sets import reached_from
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS, Obligations
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.liveness.always_live import AlwaysLive, possible_terminal_ids, written
from cfgguide.engine.liveness.endings import Endings
from cfgguide.engine.liveness.line_breaks import LineBreaks
from cfgguide.engine.liveness.spelled_ends import Between, End, SpelledEnds, Wanted
from cfgguide.engine.liveness.stack_summaries import (
    ACCEPTED,
    Controls,
    Ending,
    Line,
    StackSummaries,
)
from cfgguide.engine.liveness.witnesses import DEPTHS, Witnesses, topmost
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.engine.vocabulary.spelling import BOUNDARY, Spelling
from cfgguide.grammar.lr.indentation import Indentation
from cfgguide.grammar.lr.indentation_names import FED, INLINE, JOIN, NEWLINE
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import END, ERROR, START_STATE

Result = TypeVar("Result")

MANY_STATES = 300  # of a parser for which the search that decides may take seconds
# Pairs and nodes that may be looked at to decide for all stacks at once; then the stack is read on.
DEFAULT_MAX_NODES = 4_000
_MAX_DECIDED = 20_000  # answers
BELOW = 0  # a height: the stack ends above what must be read
Decided = tuple[bool, int]  # whether a hypothesis is live, and how low its stack was read
Node = tuple[Controls, int]  # controls in which a state was left, and that state


class Verdict(Enum):
    """What is known about all stacks that can lie below."""

    ALWAYS = "live on every stack"
    NEVER = "live on no stack"
    DEPENDS = "the stack must be read on"


class Answer(NamedTuple):
    """Whether a configuration is live.

    Attributes
    ----------
    is_live : bool
        The answer.
    heights : tuple of int
        Per hypothesis the height of the lowest stack cell that was read; the answer holds for
        every configuration that is equal above. The height above the top where none was read;
        `BELOW` where the stack is only a part of one, and what decides lies below.
    """

    is_live: bool
    heights: tuple[int, ...]


class Liveness:
    """Decides whether a sentence can follow a configuration, with the tokens of a vocabulary.

    Attributes
    ----------
    recognizer : Recognizer
        Of the grammar.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        spelling: Spelling,
        *,
        budget: Budget | None = None,
        max_nodes: int = DEFAULT_MAX_NODES,
        always_live: AlwaysLive | None = None,
    ) -> None:
        self.recognizer = recognizer
        self._table = recognizer.parse_table
        self._scanner = recognizer.scanner
        self.spelling = spelling
        self._budget = budget or Budget(is_timed=False)
        self._max_nodes = max_nodes
        self._always_live = always_live
        self._controls: dict[tuple[int, Obligations, int, int, int], Controls] = {}
        self._next: dict[tuple[int, Between, int, Wanted], list[int]] = {}
        self._verdicts: dict[Node, Verdict] = {}
        self._decided: dict[tuple[Hypothesis, int], tuple[bool, int]] = {}  # and states read
        self._depths: dict[int, None] = {}  # of the stacks in it

    # What most grammars need little of is made when it is first needed.

    @property
    def always_live(self) -> AlwaysLive:
        """What is live on every stack."""
        if self._always_live is None:
            self._always_live = AlwaysLive.of(self.recognizer, self.spelling)
        return self._always_live

    @cached_property
    def _pushdown(self) -> StackSummaries:
        return StackSummaries(self.recognizer, self._lexemes, self.always_live, budget=self._budget)

    @cached_property
    def _line_breaks(self) -> LineBreaks | None:
        """What decides lines that have begun; None without an indenter."""
        if self.recognizer.indentation_reader is None:
            return None
        return LineBreaks(self.recognizer, self.always_live)

    @cached_property
    def _witnesses(self) -> Witnesses | None:
        """What tries texts; None where not each text can be written at each place in a token."""
        if len(self.spelling.steps) > 1:
            return None
        used = self.spelling.reachable_bytes
        return Witnesses(self.recognizer, self.always_live, used, self.endings, self.predecessors)

    def endings(self, used: frozenset[int], n_tokens: Callable[[bytes], int | None]) -> Endings:
        """Return what finds short endings of bytes that are in tokens."""
        return Endings(self.recognizer, used, n_tokens, self.always_live.endings)

    @cached_property
    def _asks_witnesses(self) -> bool:
        """Whether texts are tried first: the search looks at all ways to meet what is looked for.

        Of a large grammar most things looked for are near, and are met at once.
        """
        return self._scanner.looks_ahead and self._table.n_states < MANY_STATES

    @cached_property
    def _lexemes(self) -> SpelledEnds:
        return SpelledEnds(self.recognizer, self.spelling, self._budget)

    def is_live(self, configuration: Configuration) -> bool:
        """Return whether some sequence of tokens completes a configuration to a sentence."""
        return (
            self.always_live.holds_for(self.recognizer, configuration)
            or self.recognizer.is_sentence(configuration)
            or self.decide(configuration).is_live
        )

    def goes_on(self, stack: Stack) -> bool:
        """Return whether a sentence can follow where a lexeme has just ended on a stack."""
        if self.always_live.is_always_live[stack.state, -1]:
            return True
        if self.recognizer.parse_table.is_sentence(stack):
            return True
        start = self.recognizer.start(stack, 0)
        states = self.recognizer.lookahead.resolved(start, NO_OBLIGATIONS)
        hypotheses = tuple(Hypothesis(*each, stack) for each in states)
        return bool(hypotheses) and self.decide(Configuration(hypotheses)).is_live

    def decide(self, configuration: Configuration) -> Answer:
        """Return whether a configuration is live, and what was read of its stacks to know it."""
        hypotheses, context = configuration.hypotheses, configuration.context
        heights = [hypothesis.stack.height + 1 for hypothesis in hypotheses]
        unread, undecided = tuple(heights), list[int]()
        deciding: dict[int, Iterator[Decided | None]] = {}
        for number, hypothesis in enumerate(hypotheses):
            known = self._remembered(hypothesis, context)
            if known is None:
                deciding[number] = self._decide_quickly(hypothesis, context)
                continue
            is_live, heights[number] = known
            if is_live:
                return Answer(True, _replaced(unread, number, heights[number]))
        # A search may take seconds: none begins while another hypothesis may be seen to be live.
        # Quick ones take turns: of a letter that has begun, mostly one reading is live, and others
        # are dead only since no letter fits.
        while deciding:
            for number, steps in list(deciding.items()):
                if (decided := next(steps, ())) is None:
                    continue
                del deciding[number]
                if not decided:
                    undecided.append(number)
                    continue
                self._remember(hypotheses[number], context, decided)
                is_live, heights[number] = decided
                if is_live:
                    return Answer(True, _replaced(unread, number, heights[number]))
        for number in sorted(undecided):
            controls = self.controls(hypotheses[number], context)
            decided = self.decide_stack(controls, hypotheses[number].stack)
            self._remember(hypotheses[number], context, decided)
            is_live, heights[number] = decided
            if is_live:
                return Answer(True, _replaced(unread, number, heights[number]))
        return Answer(False, tuple(heights))

    def _remembered(self, hypothesis: Hypothesis, context: int) -> Decided | None:
        """Return what was decided of a hypothesis with the same states on top; None if nothing.

        The tokens of one mask lead to few hypotheses, which stand together in many ways.
        """
        for depth in self._depths:
            known = self._decided.get((topmost(hypothesis, depth), context))
            if known is not None:
                is_live, n_read = known
                return is_live, hypothesis.stack.height - n_read + 1
        return None

    def _remember(self, hypothesis: Hypothesis, context: int, decided: Decided) -> None:
        is_live, height = decided
        n_read = hypothesis.stack.height - height + 1
        depth = next((depth for depth in DEPTHS if depth >= n_read), None)
        if height == BELOW or depth is None:
            return
        if len(self._decided) >= _MAX_DECIDED:
            self._decided.clear()
        self._depths[depth] = None
        self._decided[topmost(hypothesis, depth), context] = is_live, n_read

    def _decide_quickly(self, hypothesis: Hypothesis, context: int) -> Iterator[Decided | None]:
        """Yield whether a hypothesis is live, and how low its stack was read.

        None comes where others may be looked at first; nothing more if it is not known.
        """
        decided = self._untaken(hypothesis)
        if decided is None and self._line_breaks is not None:
            decided = self._line_breaks.decide(hypothesis)
        # What tries texts takes long to make: not before it is needed.
        if decided is None and self._asks_witnesses and self._witnesses is not None:
            # What decides a small grammar takes less than a search for each ending.
            decided = self._witnesses.decide(hypothesis, context, searches=False)
        decided = decided or (yield from self._refuted(hypothesis, context))
        if decided is None:
            decided = yield from self._shown(hypothesis, context)
        is_large = self._table.n_states >= MANY_STATES
        if decided is None and is_large and self._witnesses is not None:
            decided = self._witnesses.decide(hypothesis, context, searches=False)
            if decided is None:
                yield None
                decided = self._witnesses.decide(hypothesis, context)
        if decided is not None:
            yield decided

    def _untaken(self, hypothesis: Hypothesis) -> Decided | None:
        """Return False, and what was read, if the parser takes nothing that a lexeme may become.

        None if it may take something, or the lexeme may be ignored, or none has begun. It is what
        refuses most tokens: a word where no name may stand.
        """
        state, stack = hypothesis.scanner_state, hypothesis.stack
        matched = int(self._scanner.match[state])
        # Mostly the lexeme may end here, and what more bytes may make of it is not looked for.
        is_whole = matched != NO_MATCH and self._none_taken((matched,), stack)
        if self._scanner.is_start[state] or is_whole is None:
            return None
        return self._none_taken(self.always_live.terminal_ids_ahead(state), stack)

    def _none_taken(self, terminal_ids: Iterable[int], stack: Stack) -> Decided | None:
        """Return False, and how low a stack was read, if no terminal may stand; None if one may."""
        depth = 0
        for terminal_id in terminal_ids:
            taken, depth = _asked(stack, max(depth, 1), partial(self._may_stand, terminal_id))
            if taken is None or taken:
                return None
        return False, stack.height - min(depth, stack.height) + 1

    def _may_stand(self, terminal_id: int, stack: Stack) -> bool:
        """Return whether the parser takes a terminal, or it is dropped before the parser."""
        if terminal_id >= self._scanner.ignored:
            return terminal_id == self._scanner.ignored
        reader = self.recognizer.indentation_reader
        role = FED if reader is None else int(reader.indentation_rules.roles[terminal_id])
        if reader is not None and role in (NEWLINE, INLINE, JOIN):
            return reader.takes(role, stack.state)
        return bool(self._table.shifts(stack, terminal_id))

    def _refuted(
        self, hypothesis: Hypothesis, context: int
    ) -> Generator[None, None, Decided | None]:
        """Return False, and what was read, if the parser takes no lexeme that may come next.

        None if it may take one, or the text may end; and with an indenter, which may feed more.
        """
        if self.recognizer.indentation_rules is not None:
            return None
        state, obligations, stack, indentation = hypothesis
        place = Between(obligations, BOUNDARY, context)
        terminal_set = int(self._table.set_of_state[stack.state])
        wanted, depth = self._wanted(state, stack)
        for terminal_id in self._next_terminals(state, place, terminal_set, wanted):
            if terminal_id is None:
                yield None
                continue
            comes = partial(self._may_come, terminal_id, indentation=indentation)
            taken, depth = _asked(stack, max(depth, 1), comes)
            if taken is None or taken:
                return None
        return False, stack.height - min(depth, stack.height) + 1

    def _wanted(self, scanner_state: int, stack: Stack) -> tuple[Wanted, int]:
        """Return what the parser takes of what a lexeme may become; how deep others are refused."""
        terminal_ids, depth = set[int](), 0
        for terminal_id in self.always_live.terminal_ids_ahead(scanner_state):
            taken, n_read = _asked(stack, max(depth, 1), partial(self._may_stand, terminal_id))
            if taken is False:
                depth = n_read
            else:
                terminal_ids.add(terminal_id)
        return Wanted(frozenset(terminal_ids), self.always_live.terminal_ids_ahead), depth

    def _shown(self, hypothesis: Hypothesis, context: int) -> Generator[None, None, Decided | None]:
        """Return True, and what was read, if the table names where some end of the lexeme leads.

        What the end owes to the text after it is looked up, too. None if it names none; and with an
        indenter, which may feed more. It shows most of what owes something: a word of which the
        next byte says whether it is a keyword.
        """
        if self.recognizer.indentation_rules is not None:
            return None
        state, obligations, stack, _ = hypothesis
        place = Between(obligations, BOUNDARY, context)
        if self._scanner.is_start[state]:
            return (
                (True, stack.height) if self._pushdown.is_always_live(place, stack.state) else None
            )
        tried: dict[int, tuple[list[int], int]] = {}
        wanted, _ = self._wanted(state, stack)
        for end in self._lexemes.each_end(state, place, wanted):
            if end is None:
                yield None
                continue
            terminal_id, after = end
            if terminal_id not in tried:
                tried[terminal_id] = self._states_after(terminal_id, stack)
            states, height = tried[terminal_id]
            if any(self._pushdown.is_always_live(after, each) for each in states):
                return True, height
        return None

    def _states_after(self, terminal_id: int, stack: Stack) -> tuple[list[int], int]:
        """Return the states on top after a terminal, and the lowest height that was read.

        None are known where it takes more of the stack than there is.
        """
        if terminal_id == self._scanner.ignored:
            return [stack.state], stack.height
        if terminal_id > self._scanner.ignored:
            return [], stack.height
        after, depth = _asked(stack, 1, lambda top: self._table.shifts(top, terminal_id))
        if after is None:
            return [], stack.height
        return [each.state for each in after], stack.height - min(depth, stack.height) + 1

    def _may_come(self, terminal_id: int, stack: Stack, *, indentation: Indentation) -> bool:
        """Return whether the parser takes a terminal, and another or the end after it."""
        if terminal_id == END:
            return self._table.is_sentence(stack)
        after = self.recognizer.shifts(stack, indentation, terminal_id)
        return any(self._goes_on[each.state] for each, _ in after)

    @cached_property
    def _goes_on(self) -> list[bool]:
        """Whether the parser takes any terminal that can be written, by its state."""
        is_written = written(self.recognizer, self.always_live.possible_terminal_ids)
        is_written[END] = True
        found: list[bool] = (self._table.action[:, is_written] != ERROR).any(axis=1).tolist()
        return found

    def _next_terminals(
        self, scanner_state: int, place: Between, terminal_set: int, wanted: Wanted
    ) -> Iterator[int | None]:
        """Yield what the next lexeme that is not ignored may become; `END` if the text may end.

        None comes where a caller may look elsewhere first.
        """
        question = (scanner_state, place, terminal_set, wanted)
        if question in self._next:
            yield from self._next[question]
            return
        found: list[int] = []
        for terminal_id in self._find_next(*question):
            if terminal_id is None:
                yield None
            elif terminal_id not in found:
                found.append(terminal_id)
                yield terminal_id
        self._next[question] = found

    def _find_next(
        self, scanner_state: int, place: Between, terminal_set: int, wanted: Wanted | None
    ) -> Iterator[int | None]:
        is_start = self._scanner.is_start[scanner_state]
        lexemes, pending = ([], [place]) if is_start else ([(scanner_state, place, wanted)], [])
        seen = set(pending)
        while True:
            for end in chain.from_iterable(starmap(self._lexemes.each_end, lexemes)):
                if end is None or end[0] < self._scanner.ignored:
                    yield end and end[0]
                elif end[0] == self._scanner.ignored and end[1] not in seen:
                    seen.add(end[1])
                    pending.append(end[1])
            if not pending:
                return
            between = pending.pop()
            if self._pushdown.may_end(between):
                yield END
            lexemes = [(*begin, None) for begin in self._lexemes.begins(terminal_set, between)]

    def controls(self, hypothesis: Hypothesis, context: int) -> Controls:
        """Return the controls in which the lexeme that the scanner is in may end."""
        scanner_state, obligations, stack, indentation = hypothesis
        reader = self.recognizer.indentation_reader
        if reader is not None and reader.is_newline[scanner_state]:
            return self._controls_of_line(hypothesis, context)
        full = reader.full(indentation) if reader is not None else 0
        if reader is not None and reader.is_counted[scanner_state]:
            room = reader.indentation_rules.max_digits - indentation.column
            full |= 4 * (room < 0 or (not room and self._scanner.match[scanner_state] == NO_MATCH))
        place_in_line = (
            int(reader.indentation_rules.places[stack.state]) if reader is not None else 0
        )
        question = (scanner_state, obligations, context, full, place_in_line)
        if question not in self._controls:
            place = Between(obligations, BOUNDARY, context, full & 3)
            if self._scanner.is_start[scanner_state]:
                self._controls[question] = self._pushdown.at(place)
            else:
                ends = self._lexemes.ends(scanner_state, place)
                if reader is not None and full & 4:
                    ends = reader.without_counted(ends)
                self._controls[question] = self._pushdown.after(ends, stack.state)
        return self._controls[question]

    def _controls_of_line(self, hypothesis: Hypothesis, context: int) -> Controls:
        """Return the controls in which a lexeme may end that may become a line break."""
        scanner_state, obligations, stack, indentation = hypothesis
        reader = self.recognizer.indentation_reader
        assert reader is not None, "there is an indenter"
        place = Between(obligations, BOUNDARY, context, reader.full(indentation))
        if self._scanner.is_start[scanner_state]:
            return self._pushdown.at(place)
        breaks: list[Between] = []
        others: list[End] = []
        for terminal_id, after in self._lexemes.ends(scanner_state, place):
            if terminal_id == reader.indentation_rules.newline:
                breaks.append(after)
            else:
                others.append((terminal_id, after))
        controls = self._pushdown.after(others, stack.state)
        if reader.takes(NEWLINE, stack.state):
            choice = reader.choice(scanner_state, indentation)
            for after in breaks:
                controls |= self._pushdown.after_line(Line(after, *choice))
                if reader.is_last_free[scanner_state] and self._pushdown.may_end(after):
                    controls |= self._pushdown.after_line(Ending())
                if indentation.level:  # it is dropped if the parser does not take it
                    controls |= self._pushdown.at(after)
        return controls

    def decide_stack(self, controls: Controls, stack: Stack) -> tuple[bool, int]:
        """Return whether some control leads to acceptance, and the lowest height that was read.

        Of a stack of which only the topmost states are known: False and `BELOW` if they do not
        decide.
        """
        if not controls:
            return False, stack.height + 1
        cell: Stack | None = stack
        room = self._max_nodes
        while cell is not None:
            left = self._pushdown.leave(controls, cell.state)
            assert left is not None, "no number of pairs was given"
            controls = left
            verdict, n_looked_at = self._verdict((controls, cell.state), room)
            room -= n_looked_at
            if verdict is not Verdict.DEPENDS:
                return verdict is Verdict.ALWAYS, cell.height
            cell = cell.below
        return False, BELOW

    def predecessors(self, state: int) -> list[int]:
        """Return the parse states that can lie directly below one, ascending."""
        below, above = self._pushes
        first, end = np.searchsorted(above, (state, state + 1)).tolist()
        found: list[int] = below[first:end].tolist()
        return found

    def spellable_terminals(self) -> set[int]:
        """Return the terminals of which the vocabulary can spell some lexeme."""
        is_free = len(self.spelling.steps) == 1  # else what can be spelled depends on the place
        if self._always_live is not None and is_free:
            terminal_ids = self._always_live.possible_terminal_ids
        elif is_free:
            terminal_ids = possible_terminal_ids(self._scanner, self.spelling)
        else:
            terminal_ids = frozenset(self._lexemes.terminal_ids())
        return {terminal_id for terminal_id in terminal_ids if terminal_id < self._scanner.ignored}

    # -- all stacks at once -----------------------------------------------------------------

    def _verdict(self, root: Node, room: int) -> tuple[Verdict, int]:
        """Return what holds for all stacks below a state, just read, under some controls.

        Parameters
        ----------
        root : Node
            The controls and the state.
        room : int
            How much may be looked at. If it is not enough, the stack must be read on.

        Returns
        -------
        tuple of (Verdict, int)
            With how much was looked at.
        """
        known = self._verdicts.get(root)
        if known is not None:
            return known, 0
        children, n_looked_at = self._explored(root, room)
        if children is None:
            if room == self._max_nodes:  # it is not tried again
                self._verdicts[root] = Verdict.DEPENDS
            return Verdict.DEPENDS, n_looked_at
        may_fail = _reaching(children, [node for node in children if self._may_fail(node)])
        may_succeed = _reaching(children, [node for node in children if self._may_succeed(node)])
        for node in children:
            if node in self._verdicts:
                continue
            if node not in may_fail:
                self._verdicts[node] = Verdict.ALWAYS
            elif node not in may_succeed:
                self._verdicts[node] = Verdict.NEVER
            else:
                self._verdicts[node] = Verdict.DEPENDS
        return self._verdicts[root], n_looked_at

    def _explored(self, root: Node, room: int) -> tuple[dict[Node, list[Node]] | None, int]:
        """Return every node below `root` with its children, and how much was looked at.

        None instead if that would be more than there is room for.
        """
        children: dict[Node, list[Node]] = {}
        pending = [root]
        first = self._pushdown.n_expanded
        n_looked_at = 0
        while pending:
            node = pending.pop()
            if node in children:
                continue
            controls, state = node
            children[node] = []
            if controls and ACCEPTED not in controls and node not in self._verdicts:
                for below in self.predecessors(state):
                    n_looked_at = len(children) + self._pushdown.n_expanded - first
                    left = None
                    if n_looked_at < room:
                        left = self._pushdown.leave(controls, below, max_pairs=room - n_looked_at)
                    if left is None:
                        return None, min(n_looked_at, room)
                    children[node].append((left, below))
            pending.extend(children[node])
        return children, n_looked_at

    def _may_fail(self, node: Node) -> bool:
        """Return whether a node is known to fail, or to fail on some stacks."""
        controls, state = node
        known = self._verdicts.get(node)
        if known is not None:
            return known is not Verdict.ALWAYS
        return not controls or (state == START_STATE and ACCEPTED not in controls)

    def _may_succeed(self, node: Node) -> bool:
        """Return whether a node is known to succeed, or to succeed on some stacks."""
        known = self._verdicts.get(node)
        if known is not None:
            return known is not Verdict.NEVER
        return ACCEPTED in node[0]

    @cached_property
    def _pushes(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Which parse states can lie directly below others, sorted by these.

        A stack is a path through the LALR automaton over symbols of which texts can be written.
        """
        is_written = written(self.recognizer, self.always_live.possible_terminal_ids)
        below, above = self._table.pushes(is_written)
        above, below = np.divmod(
            np.unique(above * self._table.n_states + below), self._table.n_states
        )
        return below, above


def _replaced(heights: tuple[int, ...], number: int, height: int) -> tuple[int, ...]:
    return (*heights[:number], height, *heights[number + 1 :])


def _reaching(children: dict[Node, list[Node]], goals: list[Node]) -> dict[Node, None]:
    """Return the nodes from which some goal can be reached."""
    parents: defaultdict[Node, list[Node]] = defaultdict(list)
    for node, below in children.items():
        for child in below:
            parents[child].append(node)
    return reached_from(goals, parents.__getitem__)


def _asked(
    stack: Stack, depth: int, question: Callable[[Stack], Result]
) -> tuple[Result | None, int]:
    """Return what a question about the top of a stack comes to, and how many states were enough.

    None if it takes more than there are.
    """
    while True:
        check_step()
        try:
            return question(stack.top(depth)), depth
        except IndexError:  # it takes more of the stack to know
            if depth >= stack.height:
                return None, depth
            depth *= 2
