"""Lexer, parser and vocabulary as one pushdown system, and how stacks are left in it.

In: a :class:`~cfgguide.engine.machine.recognizer.Recognizer`, a
:class:`~cfgguide.engine.liveness.spelled_ends.SpelledEnds`, and what is always live. Out: a
:class:`StackSummaries`, which tells for a control and the parse state on top in which controls that
state can be *left*, popped for good. The controls are

* ``Between(obligations, node, context)``: between two lexemes
  (:mod:`cfgguide.engine.liveness.spelled_ends`);
* ``Lookahead(choices)``: the next lexeme is one of some, each with the place after it; the parser
  has it as lookahead;
* ``Reducing(pops, left_side, lookahead)``: a reduction with states still to be popped;
* ``Line(between, ...)``: a line break, INDENT or a DEDENT was fed, and more of these may come;
* ``Ending()``: the text has ended, and DEDENTs or ``$END`` are to be fed;
* ``Accepted()``: the text has ended and Lark accepts it. It is left unchanged in every state.

The sets of controls are the least solution of these rules (the saturation called pre*), where
``[c, s]`` is the set for control ``c`` and top state ``s``::

    [Between, s]          contains  [each control after one more lexeme, or $END, s]
    [Lookahead, s]        contains  [t, s] for every t in [Between after it, g], where a choice
                                    shifts to g, and Reducing(length - 1, those that reduce so)
    [Reducing(k > 0), s]  contains  Reducing(k - 1)
    [Reducing(0), s]      contains  [t, s] for every t in [its Lookahead, goto(s, left side)]
                                    and Accepted, where $END has led to the end state

Of an indenter this much is seen: a line break is fed, and then nothing, or INDENT, or any number of
DEDENTs, since the newline terminal can come to every column; the parser takes no DEDENT where no
block is open, and no line break inside brackets, since rules are balanced
(:mod:`cfgguide.grammar.lr.indentation`). Inside brackets a line break is dropped. A state that is
pushed says how many brackets were opened since; whether one is open in the stack below is guessed:
the text neither ends nor feeds a line break until that one is closed. Where an ignored lexeme does
the same as the break, nothing is guessed.

Choices that reduce alike stay together: of the sixty terminals that may follow a name in a
programming language most go through the same dozen reductions.

States that act alike as tops are one: in a list of a thousand keywords, those after a keyword.

They are computed for the pairs that are needed, and each element is passed on only once.
Controls are interned and handled by number.

All that is asked in the end is whether acceptance is among them. So a pair of which the table says
that a sentence can follow on every stack (:mod:`cfgguide.engine.liveness.always_live`) contains
Accepted and nothing else, and a question is answered as soon as one of its pairs contains it. What
leads nowhere meets no such pair, and all that it can come to is looked at: that is little, since
most states are always live. What a question that was answered early has left over is looked at only
if a later one needs all there is. Without the table, why a pair contains what it contains is kept
as well, and acceptance is explained by the steps that lead to it
(:mod:`cfgguide.engine.liveness.proof`).

Source: Bouajjani, Esparza, Maler, "Reachability Analysis of Pushdown Automata" (1997).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cfgguide.base.limits import Budget, check_step
from cfgguide.engine.liveness.always_live import AlwaysLive, first_alike
from cfgguide.engine.liveness.live_rows import LiveRows
from cfgguide.engine.liveness.spelled_ends import THE_END, Between, End, SpelledEnds
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.vocabulary.spelling import BOUNDARY
from cfgguide.grammar.lr.indentation import AT_LINE_START, BLOCKS, BRACKETS, DROPPED
from cfgguide.grammar.lr.indentation_names import CLOSES, FED, INLINE, JOIN, NEWLINE, OPENS
from cfgguide.grammar.lr.table import END


class Line(NamedTuple):
    """A line break, INDENT or a DEDENT was fed.

    Attributes
    ----------
    between : Between
        The place after it.
    may_stay : bool
        Whether the column may be that of the innermost block.
    may_indent : bool
        Whether INDENT may be fed.
    most_dedents, least_dedents : int
        How many DEDENTs may be fed, if any: at most, -1 for any number, and at least.
    """

    between: Between
    may_stay: bool = True
    may_indent: bool = True
    most_dedents: int = -1
    least_dedents: int = 1


class Ending(NamedTuple):
    """The text has ended, and DEDENTs may be fed before ``$END``."""

    is_ending: bool = True


class LookaheadControl(NamedTuple):
    """The parser has one of some terminals as its lookahead; with each, what comes after it."""

    choices: frozenset[tuple[int, Between | Line | Ending]]


class Reducing(NamedTuple):
    """A reduction to `left_side` with `pops` more states to be popped."""

    pops: int
    left_side: int
    lookahead: LookaheadControl


class Accepted(NamedTuple):
    """The text has ended and Lark accepts it."""


Control = Between | Line | Ending | LookaheadControl | Reducing | Accepted
Controls = frozenset[int]  # numbers of controls
# The number of a control, and the parse state on top, plus `n_states` for each bracket opened.
Pair = tuple[int, int]
Fact = tuple[Pair, int]  # and the control in which that is left
Step = tuple[int, int, int, int]  # the number of a control, the state on top, and the next ones
ACCEPTED = 0  # the number of Accepted()
_STEPS = {OPENS: 1, CLOSES: -1}


class StackSummaries:
    """Computes, on demand, the controls in which a state on top of the stack can be left.

    Attributes
    ----------
    n_expanded : int
        How many pairs of a control and a parse state were looked at so far.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        lexemes: SpelledEnds,
        always_live: AlwaysLive | None,
        *,
        budget: Budget,
    ) -> None:
        self._is_explained = always_live is None
        self._budget = budget
        self.lexemes = lexemes
        self._ahead = recognizer.lookahead
        self._table = recognizer.parse_table
        self._lengths: list[int] = self._table.lengths.tolist()
        self._left_sides: list[int] = self._table.left_sides.tolist()
        self._scanner = recognizer.scanner
        self._reader = recognizer.indentation_reader
        self._indentation_rules = rules = recognizer.indentation_rules
        n_roles = self._table.n_terminals + 2
        self._roles: list[int] = [FED] * n_roles if rules is None else rules.roles.tolist()
        # More open brackets are not counted: when those of one production are closed, one is left.
        opening = {
            name
            for name, role in zip(self._table.terminals, self._roles, strict=False)
            if role == OPENS
        }
        check_step()
        self._most_open = 2 * max(
            sum(map(opening.__contains__, right)) for _, right in self._table.productions
        )
        check_step()
        alike = first_alike(recognizer) if always_live is None else always_live.first_alike
        self._alike: list[int] = alike.tolist()
        self._live_rows = None
        if always_live is not None:
            self._live_rows = LiveRows(recognizer, always_live, self._alike)
        self._controls: list[Control] = [Accepted()]
        self._numbers: dict[Control, int] = {Accepted(): ACCEPTED}
        self._left: dict[tuple[Controls, int], Controls] = {}  # answers of `leave`
        self.n_expanded = 0
        self._is_sound = False  # a limit or an interruption leaves half a step, of no use
        self._forget()

    def _forget(self) -> None:
        """Start the saturation afresh; answers given stay right."""
        self._targets: dict[Pair, set[int]] = {}
        # Who else gets what a pair gets; and who, in which state, goes on from it.
        self._copies: defaultdict[Pair, set[Pair]] = defaultdict(set)
        self._continuations: defaultdict[Pair, list[Pair]] = defaultdict(list)
        self._unexpanded: deque[Pair] = deque()
        self._left_over: list[Pair] = []  # by questions that were answered early
        self._news: list[tuple[Pair, int]] = []
        # Why a pair contains a target, which another pair contained before; and where a pair has
        # what another has, what was pushed and left in between. Only if it is explained.
        self._reasons: dict[tuple[Pair, int], Pair] = {}
        self._pushes: dict[tuple[Pair, Pair], tuple[Pair, int]] = {}

    def after(self, ends: Iterable[End], state: int) -> Controls:
        """Return the controls after lexemes that end in these ways, over a parse state."""
        controls = self._after(ends, state)
        return frozenset(self._number(control) for control in controls)

    def may_end(self, between: Between) -> bool:
        """Return whether the text may end between two lexemes."""
        is_open = between.full & DROPPED
        return between.node == BOUNDARY and not is_open and self._ahead.may_end(between.obligations)

    def after_line(self, line: Line | Ending) -> Controls:
        """Return the control of a line break that is fed, with what comes after it, as a set."""
        assert self._indentation_rules is not None, "there is an indenter"
        return frozenset(
            {self._number(LookaheadControl(frozenset({(self._indentation_rules.newline, line)})))}
        )

    def at(self, between: Between) -> Controls:
        """Return the control between two lexemes, as a set."""
        return frozenset({self._number(between)})

    def leave(
        self, controls: Controls, state: int, *, max_pairs: int | None = None
    ) -> Controls | None:
        """Return the controls in which the top state can be left, coming from any of `controls`.

        If acceptance is among them, the others may be missing.

        Parameters
        ----------
        controls : frozenset of int
            In which the state is on top.
        state : int
            The parse state.
        max_pairs : int, optional
            How many pairs may be looked at.

        Returns
        -------
        frozenset of int or None
            None if more than `max_pairs` would have to be looked at.

        Raises
        ------
        LimitError
            If more pairs of a control and a state are needed than the limit.
        """
        state = self._alike[state]
        question = (controls, state)
        if question not in self._left:
            if not self._is_sound:
                self._forget()
                if self._is_explained:
                    self._left.clear()  # answers whose reasons are gone
            self._is_sound = False
            self._left_over.extend(self._unexpanded)
            self._unexpanded.clear()
            pairs = {(control, state) for control in controls}
            for pair in pairs:
                self._need(pair)
            is_answered = self._saturate(pairs, max_pairs)
            self._is_sound = True
            if not is_answered:
                return None
            self._left[question] = frozenset().union(*(self._targets[pair] for pair in pairs))
        return self._left[question]

    def leaving(self, controls: Controls, state: int, target: int) -> int:
        """Return one of some controls from which a state is left in another control."""
        return next(
            number
            for number in sorted(controls)
            if target in self._targets[number, self._alike[state]]
        )

    def fact(self, number: int, state: int, target: int) -> Fact:
        """Return the fact that a state is left in a control, coming from another."""
        return (number, self._alike[state]), target

    def reason(self, fact: Fact) -> tuple[Step, tuple[Fact, ...]] | None:
        """Return the step that a fact begins with, and the facts that it goes on with, in order.

        The next state was pushed if the first control is a `Lookahead` or a `Reducing`. Each fact
        follows from such as were found before it, so there is an end. None if the state is popped
        at once, or the text accepted.
        """
        pair, target = fact
        source = self._reasons.get(fact)
        if source is None:
            return None
        push = self._pushes.get((source, pair))
        following, top = source if push is None else push[0]
        step = (*pair, following, top)
        return step, ((source, target),) if push is None else (push, (source, target))

    def is_shift(self, state: int, terminal: int, target: int) -> bool:
        """Return whether a terminal is shifted to a state, or to one that is like it."""
        actions = self._table.actions_of(state, terminal)
        return any(action > 0 and self._alike[action - 1] == target for action in actions)

    def control(self, number: int) -> Control:
        """Return a control by its number."""
        return self._controls[number]

    def _number(self, control: Control) -> int:
        number = self._numbers.get(control)
        if number is None:
            number = len(self._controls)
            self._controls.append(control)  # first: one without a number is of no harm
            self._numbers[control] = number
        return number

    def _after(self, ends: Iterable[End], state: int, n_open: int = 0) -> Iterator[Control]:
        choices: set[tuple[int, Between | Line | Ending]] = set()
        ignored, breaks = dict[Between, None](), dict[Between, None]()
        for terminal_id, between in ends:
            role = self._roles[terminal_id]
            if terminal_id == self._scanner.ignored:
                ignored[between] = None
            elif terminal_id > self._scanner.ignored:
                continue
            elif role in (INLINE, JOIN):
                if self._reader is not None and self._reader.takes(role, state):
                    ignored[between] = None
            elif role != NEWLINE:
                choices.add((terminal_id, between))
            elif self._reader is not None and self._reader.takes(role, state):
                (ignored if n_open else breaks)[between] = None
                if not n_open and not between.full & DROPPED:
                    choices.add((terminal_id, Line(between)))
        yield from ignored
        for between in breaks if self._most_open else ():
            if between not in ignored:
                yield between._replace(full=between.full | DROPPED)
        if choices:
            yield LookaheadControl(frozenset(choices))

    # -- the saturation ---------------------------------------------------------------------

    def _saturate(self, wanted: set[Pair], max_pairs: int | None) -> bool:
        """Find all targets of some pairs, or that one of them leads to acceptance.

        False if more pairs than some number would have to be looked at.
        """
        if any(ACCEPTED in self._targets[pair] for pair in wanted):
            return True
        end = None if max_pairs is None else self.n_expanded + max_pairs
        while self._news or self._unexpanded or self._left_over:
            while self._news:
                pair, target = self._news.pop()
                for other in self._copies[pair]:
                    self._add(other, target, pair)
                for state, control in self._continuations[pair]:
                    self._copy((target, state), (control, state), (pair, target))
                if target == ACCEPTED and pair in wanted:
                    return True
            if not self._unexpanded:
                self._unexpanded.extend(self._left_over)
                self._left_over.clear()
            # The oldest first: what is near is mostly enough.
            while self._unexpanded and not self._news:
                if self.n_expanded == end:
                    return False
                check_step()
                self.n_expanded += 1
                self._expand(self._unexpanded.popleft())
        return True

    def _need(self, pair: Pair) -> None:
        if pair in self._targets:
            return
        self._budget.check("max_pairs", len(self._targets), "deciding what can follow")
        self._targets[pair] = set()
        self._unexpanded.append(pair)

    def _add(self, pair: Pair, target: int, source: Pair | None = None) -> None:
        if target not in self._targets[pair]:
            self._targets[pair].add(target)
            self._news.append((pair, target))
            if self._is_explained and source is not None:
                self._reasons[pair, target] = source

    def _copy(self, source: Pair, pair: Pair, push: tuple[Pair, int] | None = None) -> None:
        """Let `pair` contain all that `source` contains, now and later.

        `push` tells, if anything was pushed, in which pair, and in which control it was left.
        """
        if pair in self._copies[source]:
            return
        self._copies[source].add(pair)
        if self._is_explained and push is not None:
            self._pushes[source, pair] = push
        self._need(source)
        for target in tuple(self._targets[source]):
            self._add(pair, target, source)

    def _go_on(self, control: Control, top: int, n_open: int, pair: Pair) -> None:
        """Let `pair` leave `top`, pushed on its state, in `control`, and then its own state."""
        if self.is_always_live(control, top):
            self._add(pair, ACCEPTED)
            return
        n_open = max(min(n_open, self._most_open), 0)
        source = (self._number(control), self._alike[top] + n_open * self._table.n_states)
        self._continuations[source].append((pair[1], pair[0]))
        self._need(source)
        for target in tuple(self._targets[source]):
            self._copy((target, pair[1]), pair, (source, target))

    def _expand(self, pair: Pair) -> None:
        """Apply the rule of a new pair."""
        number, (n_open, state) = pair[0], divmod(pair[1], self._table.n_states)
        control = self._controls[number]
        if self.is_always_live(control, state):
            self._add(pair, ACCEPTED)
        elif isinstance(control, Line | Ending):
            for following in self._feeds(control):
                self._copy((self._number(following), pair[1]), pair)
        elif isinstance(control, Between):
            for following in self._next_lexemes(control, state, n_open):
                self._copy((self._number(following), pair[1]), pair)
        elif isinstance(control, LookaheadControl):
            self._expand_lookahead(control, pair)
        elif isinstance(control, Reducing) and control.pops:
            self._add(pair, self._number(control._replace(pops=control.pops - 1)))
        elif isinstance(control, Reducing):
            self._arrive(control.left_side, control.lookahead, pair)
        else:
            self._add(pair, ACCEPTED)

    def is_always_live(self, control: Control, state: int) -> bool:
        """Return whether a sentence surely can follow, on every stack with a state on top."""
        if isinstance(control, Between):
            between, after_line = control, False
        elif isinstance(control, Line) and control == Line(control.between):
            between, after_line = control.between, True
        else:
            return False
        if self._live_rows is None or between.node != BOUNDARY or between.full:
            return False
        return self._live_rows.holds(state, between.obligations, after_line=after_line)

    def _next_lexemes(self, between: Between, state: int, n_open: int) -> Iterator[Control]:
        """Yield the controls after one more lexeme, or after the end of the text."""
        terminal_set = int(self._table.set_of_state[state])
        yield from self._after(self.lexemes.next_ends(terminal_set, between), state, n_open)
        if not self.may_end(between):
            return
        if self._indentation_rules is None:
            yield LookaheadControl(frozenset({(END, THE_END)}))
        elif (
            self._indentation_rules.ends_last_line
            and self._indentation_rules.places[state] != AT_LINE_START
        ):
            yield LookaheadControl(frozenset({(self._indentation_rules.newline, Ending())}))
        else:
            yield Ending()

    def _feeds(self, control: Line | Ending) -> Iterator[Control]:
        """Yield the controls after what an indenter may feed, or if it feeds nothing."""
        assert self._indentation_rules is not None, "there is an indenter"
        if isinstance(control, Ending):
            yield LookaheadControl(
                frozenset({(END, THE_END), (self._indentation_rules.dedent, control)})
            )
            return
        between, may_stay, may_indent, most, least = control
        if may_stay:
            yield between
        if may_indent and not between.full & BLOCKS:
            yield LookaheadControl(frozenset({(self._indentation_rules.indent, between)}))
        if most:
            between = between._replace(full=between.full & ~BLOCKS)
            line = Line(between, least <= 1, False, max(most - 1, -1), max(least - 1, 1))
            yield LookaheadControl(frozenset({(self._indentation_rules.dedent, line)}))

    def _after_shift(
        self, role: int, control: Between | Line | Ending, n_open: int
    ) -> Control | None:
        """Return the control after the shift of a terminal, None if it is one too many."""
        if isinstance(control, Between) and role == OPENS and control.full & BRACKETS:
            return None
        if isinstance(control, Between) and role == CLOSES and not n_open:
            return control._replace(full=control.full & ~(BRACKETS | DROPPED))
        return control

    def _expand_lookahead(self, control: LookaheadControl, pair: Pair) -> None:
        reducing: defaultdict[tuple[int, int], set[tuple[int, Between | Line | Ending]]]
        reducing = defaultdict(set)
        n_open, state = divmod(pair[1], self._table.n_states)
        for terminal, between in control.choices:
            role = self._roles[terminal]
            for action in self._table.actions_of(state, terminal):
                if action > 0:
                    after = self._after_shift(role, between, n_open)
                    if after is not None:
                        self._go_on(after, action - 1, n_open + _STEPS.get(role, 0), pair)
                else:
                    length = self._lengths[-action - 1]
                    left_side = self._left_sides[-action - 1]
                    reducing[length, left_side].add((terminal, between))
        for (length, left_side), choices in reducing.items():
            lookahead = LookaheadControl(frozenset(choices))
            if length:
                self._add(pair, self._number(Reducing(length - 1, left_side, lookahead)))
            else:
                self._arrive(left_side, lookahead, pair)

    def _arrive(self, left_side: int, lookahead: LookaheadControl, pair: Pair) -> None:
        """Push the goto of a finished reduction."""
        n_open, state = divmod(pair[1], self._table.n_states)
        target = int(self._table.goto[state, left_side])
        choices = lookahead.choices
        if target == self._table.end_state:
            if any(terminal == END for terminal, _ in choices):
                self._add(pair, ACCEPTED)
            choices = frozenset(choice for choice in choices if choice[0] != END)
        if target >= 0 and choices:
            self._go_on(LookaheadControl(choices), target, n_open, pair)
