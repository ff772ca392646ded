"""Which configurations there can be, by the scanner state and the topmost parse states.

In: a :class:`~cfgguide.engine.liveness.liveness.Liveness`. Out: a :class:`Frontier`: the parts of
configurations whose masks are still to be made, those likely to be needed soon first.

A mask depends on the scanner state and on as much of the stack, from the top, as is read while it
is made. So there is a tree for each scanner state and each parse state that can be on top when a
lexeme starts. Where the known part of a stack does not decide, every parse state that can lie
below it is tried: those from which the goto function, or a shift, leads to it. Where there is only
one, it is added at once; the finished mask tells how much of the stack it depends on. ::

    JSON, after `1`     top `[`               decided: `,` or `]` or more digits
                        top `:`               depends on what is below `{`, by the token `}]`:
                        top `:`, then `{`     try `[`, `,`, `:`, and the bottom below that

Not all of these configurations occur: in a real text not every lexeme can be where the parser would
accept it, nor every stack below it. Trying them in vain does no harm.

Source: Willard & Louf 2023, section 4.1, "the pre-image of the transition map".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD
from cfgguide.engine.index.configuration_trie import Mask, Path
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS
from cfgguide.engine.lexer.reachability import IntArray, layers
from cfgguide.engine.lexer.scanner import NO_MATCH, Scanner
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.engine.masks.lr_keys import path_of
from cfgguide.errors import LimitError
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import ERROR, START_STATE

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

DEFAULT_MAX_DEPTH = 64  # states of a stack that are known


class FrontierPart(NamedTuple):
    """The known part of a configuration with one hypothesis and no obligations.

    Attributes
    ----------
    scanner_state, context : int
        What is known of the lexer.
    states : tuple of int
        The topmost parse states, the top first.
    weight : float
        Its share of all configurations, if at each level below all possible states are equally
        likely.
    """

    scanner_state: int
    context: int
    states: tuple[int, ...]
    weight: float

    @property
    def configuration(self) -> Configuration:
        """The configuration as if nothing were below."""
        stack = Stack.of(reversed(self.states))
        return Configuration((Hypothesis(self.scanner_state, NO_OBLIGATIONS, stack),), self.context)

    def path(self, depth: int) -> Path:
        """Return the path of an entry that depends on `depth` states."""
        return path_of(self.configuration, depth)


class Unmade(Enum):
    """Why there is no mask for a part."""

    TOO_SHALLOW = "it depends on what is below"
    TOO_COSTLY = "it costs more than the grammar's limits"


Answer = Mask | Unmade


def answer(mask_of: Callable[[Configuration], Mask | None], part: FrontierPart) -> Answer:
    """Return the mask of a part, or why there is none."""
    try:
        return mask_of(part.configuration) or Unmade.TOO_SHALLOW
    except LimitError:
        return Unmade.TOO_COSTLY


class Frontier:
    """The parts that are still to be tried, and how much has been decided.

    Parameters
    ----------
    liveness : Liveness
        Of the grammar.
    known : iterable of path
        Those of masks that were made before.
    max_depth : int
        Most states of a stack; a part that they do not decide is given up.

    Attributes
    ----------
    n_decided : int
        Number of parts that decide their mask.
    n_given_up : int
        Number of parts that do not, and are not extended.
    share : float
        The decided parts' share of all configurations, from 0 to 1; see :class:`FrontierPart`.
    """

    def __init__(
        self, liveness: Liveness, known: Iterable[Path], *, max_depth: int = DEFAULT_MAX_DEPTH
    ) -> None:
        self._predecessors = liveness.predecessors
        self._short_stacks = liveness.recognizer.short_stacks
        self._groups = _groups_of_states(liveness.recognizer)
        self._max_depth = max_depth
        self._known = set(known)
        self._too_shallow = {path[:end] for path in self._known for end in range(2, len(path))}
        has_indentation = liveness.recognizer.indentation_rules is not None
        roots = np.empty((0, 3), dtype=np.int64) if has_indentation else _roots(liveness)
        self._n_untried = len(roots)  # of the roots
        self._roots = self._parts(roots)
        self._children: deque[FrontierPart] = deque()
        self._undecided: deque[FrontierPart] = deque()
        self.n_decided = 0
        # With an indenter whether the text may end depends on the whole stack, and so do masks.
        self.n_given_up = int(has_indentation)
        self.share = 0.0 if len(roots) or has_indentation else 1.0

    @property
    def n_left(self) -> int:
        """Number of known parts that are neither decided nor given up."""
        return self._n_untried + len(self._children) + len(self._undecided)

    @property
    def n_kept(self) -> int:
        """Number of parts that are kept in memory."""
        return len(self._children) + len(self._undecided)

    def take(self, max_parts: int) -> list[FrontierPart]:
        """Return the next parts to try; fewer if there are fewer now."""
        taken: list[FrontierPart] = []
        while len(taken) < max_parts and (part := self._next()) is not None:
            path = part.path(len(part.states))
            if self._is_shortened(part):  # no configuration has it
                self.share += part.weight
            elif any(path[:end] in self._known for end in range(1, len(path) + 1)):
                self.decided(part)
            elif path in self._too_shallow:
                self.undecided(part)
            else:
                taken.append(part)
        return taken

    def put_back(self, parts: Iterable[FrontierPart]) -> None:
        """Add parts again that were not tried after all."""
        self._children.extendleft(parts)

    def decided(self, part: FrontierPart, path: Path | None = None) -> None:
        """Note that a part decides its mask; `path` is what the mask depends on."""
        self.n_decided += 1
        self.share += part.weight
        if path is not None and len(path) == 1:  # it serves other roots too
            self._known.add(path)

    def undecided(self, part: FrontierPart) -> None:
        """Note that the mask of a part depends on what is below."""
        if len(part.states) < self._max_depth:
            self._undecided.append(part)
        else:
            self.give_up(part)

    def give_up(self, part: FrontierPart) -> None:
        """Note that a part is not extended any more."""
        self.n_given_up += 1

    def _is_shortened(self, part: FrontierPart) -> bool:
        """Return whether no stack has these states, since they would have been shortened."""
        short_stacks, states = self._short_stacks, part.states
        if short_stacks is None:
            return False
        if not short_stacks.is_short(short_stacks.groups[part.scanner_state], states):
            return True
        # While a state was on top, the stack was short before the terminal that came next.
        return any(
            (groups := self._groups[states[depth]])
            and not any(short_stacks.is_short(group, states[depth:]) for group in groups)
            for depth in range(1, len(states))
        )

    def _next(self) -> FrontierPart | None:
        while not self._children:
            root = next(self._roots, None)
            if root is not None:
                self._n_untried -= 1
                return root
            if not self._undecided:
                return None
            self._branch(self._undecided.popleft())
        return self._children.popleft()

    def _branch(self, part: FrontierPart) -> None:
        below = self._predecessors(part.states[-1])
        if not below:  # there is no such stack
            self.share += part.weight
        weight = part.weight / max(len(below), 1)
        for state in below:
            states = self._lengthened((*part.states, state))
            self._children.append(part._replace(states=states, weight=weight))

    def _lengthened(self, states: tuple[int, ...]) -> tuple[int, ...]:
        """Return a part of a stack, and what lies below as long as there is only one choice."""
        while len(states) < self._max_depth:
            below = self._predecessors(states[-1])
            if len(below) != 1:
                break
            states = (*states, *below)
        return states

    def _parts(self, roots: Int64Array) -> Iterator[FrontierPart]:
        """Yield the roots; making all objects at once would take too much memory."""
        for state, context, top in roots:
            states = self._lengthened((int(top),))
            yield FrontierPart(int(state), int(context), states, 1 / len(roots))


def _roots(liveness: Liveness) -> Int64Array:
    """Return scanner states with the parse states that can be on top inside their lexeme.

    Returns
    -------
    int64, shape (n_roots, 3)
        Scanner state, context, parse state; those soonest after the start of the lexeme first.
    """
    recognizer = liveness.recognizer
    table, scanner = recognizer.parse_table, recognizer.scanner
    shifted = [np.unique(column[column > 0] - 1).tolist() for column in table.action.T]
    reached: dict[tuple[int, int], Int64Array] = {}
    starts = {(START_STATE, 0)}
    pending = list(starts)
    while pending:  # what can be on top, and the context there, when a lexeme starts
        top, context = pending.pop()
        start = int(scanner.starts[table.set_of_state[top], context])
        if (start, context) not in reached:
            reached[start, context] = _reached(scanner, start, context)
        for terminal_id, after in _ends(scanner, reached[start, context]):
            tops = [top] if terminal_id == scanner.ignored else shifted[terminal_id]
            fresh = {(state, after) for state in tops if liveness.predecessors(state)} - starts
            starts |= fresh
            pending.extend(sorted(fresh))
    possible = _possible_terminal_ids(liveness)
    rows = [_initial(liveness)]
    short_stacks = recognizer.short_stacks
    if short_stacks is not None:
        # Of a shortened stack any state may be on top. Where the next lexeme may start in the same
        # set, it is one that has that set.
        alike = [np.flatnonzero(table.set_of_state == each) for each in table.set_of_state]
        starts = {(state, context) for top, context in starts for state in alike[top].tolist()}
        all_reached = np.concatenate(list(reached.values()))
        possible_if_fed = np.where(short_stacks.is_fed[:, None], possible, False)
        for top in range(table.n_states):
            rows.append(_below_lexemes(liveness, possible_if_fed, all_reached, top))
        possible = possible & ~short_stacks.is_fed[:, None]
    for top, context in sorted(starts):
        start = int(scanner.starts[table.set_of_state[top], context])
        rows.append(_below_lexemes(liveness, possible, reached[start, context], top))
    every = np.concatenate(rows)
    every = every[np.lexsort(every.T[::-1])]
    _, first = np.unique(every[:, 1:], axis=0, return_index=True)  # by the shortest distance
    return every[np.sort(first), 1:]


def _groups_of_states(recognizer: Recognizer) -> list[set[int]]:
    """Return, for each parse state, the groups in which a stack with it on top may be shortened.

    There are none for a state that a terminal may follow whose group is not certain.
    """
    table, scanner, short_stacks = (
        recognizer.parse_table,
        recognizer.scanner,
        recognizer.short_stacks,
    )
    if short_stacks is None:
        return []
    group_of: list[int | None] = []
    for terminal_id in range(table.n_terminals):
        ends = np.flatnonzero(scanner.match == terminal_id).tolist()
        group_of.append(short_stacks.certain_group(ends, terminal_id) if ends else None)
    found: list[set[int]] = []
    for row in table.action:
        following = [group_of[terminal_id] for terminal_id in np.flatnonzero(row).tolist()]
        known = {group for group in following if group is not None}
        found.append(known if None not in following else set())
    return found


def _below_lexemes(
    liveness: Liveness, possible: BoolArray, reached: Int64Array, top: int
) -> Int64Array:
    """Return those of the scanner states inside whose lexemes a parse state can be on top.

    Returns
    -------
    int64, shape (n_roots, 4)
        Distance, scanner state, context, parse state.
    """
    table, scanner = liveness.recognizer.parse_table, liveness.recognizer.scanner
    if top != START_STATE and not liveness.predecessors(top):
        return np.empty((0, 4), dtype=np.int64)
    wanted = np.zeros(possible.shape[1], dtype=np.bool_)
    wanted[: table.n_terminals] = table.action[top] != ERROR
    wanted[scanner.ignored] = True
    codes, distances = reached.T
    states, contexts = np.divmod(codes, len(scanner.contexts))
    is_kept = np.any(possible[:, wanted], axis=1)[states] & ~scanner.is_start[states]
    tops = np.full(len(codes), top)
    rows: Int64Array = np.stack([distances, states, contexts, tops], axis=1)[is_kept]
    return rows


def _initial(liveness: Liveness) -> Int64Array:
    """Return the configuration before any byte, if it is one of those that are built."""
    found = [
        [0, state, 0, START_STATE]
        for state, obligations, _, _ in liveness.recognizer.initial.hypotheses
        if not obligations and len(liveness.recognizer.initial.hypotheses) == 1
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 4)


def _reached(scanner: Scanner, start: int, context: int) -> Int64Array:
    """Return the scanner states and contexts that bytes lead to, and by how many bytes.

    Returns
    -------
    int64, shape (n_reached, 2)
        ``state * n_contexts + context`` and the least number of bytes.
    """
    n_contexts = len(scanner.contexts)

    def step(codes: IntArray) -> IntArray:
        states, contexts = np.divmod(codes, n_contexts)
        targets = scanner.transitions[states].astype(np.int64)
        following = targets * n_contexts + scanner.contexts[contexts]
        return _resolved(scanner, np.unique(following[targets != DEAD]))

    first = _resolved(scanner, np.array([start * n_contexts + context]))
    reached = list(layers(first, step, n_codes=scanner.n_states * n_contexts))
    distances = np.repeat(np.arange(len(reached)), [len(codes) for codes in reached])
    found: Int64Array = np.stack([np.concatenate(reached).astype(np.int64), distances], axis=1)
    return found


def _resolved(scanner: Scanner, codes: IntArray) -> Int64Array:
    """Return states and contexts, with what assertion states stand for in their place."""
    n_contexts = len(scanner.contexts)
    states, contexts = np.divmod(codes, n_contexts)
    is_assertion = scanner.is_assertion[states]
    pairs = zip(states[is_assertion].tolist(), contexts[is_assertion].tolist(), strict=True)
    resolved = [
        following * n_contexts + context
        for state, context in pairs
        for following in scanner.resolved(state)
    ]
    return np.unique(np.append(codes[~is_assertion], np.array(resolved, dtype=np.int64)))


def _ends(scanner: Scanner, reached: Int64Array) -> list[tuple[int, int]]:
    """Return the terminal ids of the lexemes that can end, and the contexts then."""
    states, contexts = np.divmod(reached[:, 0], len(scanner.contexts))
    ends = np.stack([scanner.match[states], contexts], axis=1)
    ends = ends[(ends[:, 0] != NO_MATCH) & (ends[:, 0] <= scanner.ignored)]
    return [(int(terminal_id), int(context)) for terminal_id, context in np.unique(ends, axis=0)]


def _possible_terminal_ids(liveness: Liveness) -> BoolArray:
    """Return which terminal ids the lexeme in each scanner state may get.

    Returns
    -------
    bool, shape (n_scanner_states, n_terminals + 2)
        The last two: a lexeme that is dropped, and one that no rule uses.
    """
    scanner, always_live = liveness.recognizer.scanner, liveness.always_live
    possible = np.zeros((scanner.n_states, scanner.ignored + 2), dtype=np.bool_)
    states = np.repeat(np.arange(scanner.n_states), np.diff(always_live.end_offsets))
    possible[states, always_live.end_terminal_ids] = True
    return possible
