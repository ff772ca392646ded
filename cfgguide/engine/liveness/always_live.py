"""Where a sentence can follow whatever lies on the stack: a table that decides most questions.

In: a recogniser, and the spelling of a vocabulary. Out: an :class:`AlwaysLive`: how a lexeme can
end from each scanner state, and which parse states, after such an end, are *always live*: a
sentence can follow on every stack.

An LALR(1) parser never shifts a terminal that no sentence continues with: after a shift there are
terminals that lead to acceptance, whatever the stack (the viable-prefix property). Only the lexer
can still stand in the way, if two lexemes cannot be adjacent, or the vocabulary, if a lexeme cannot
be spelled. If from a parse state every terminal of its row can be lexed and spelled, perhaps after
ignored text, and the same holds again wherever that leads, then the parser's word is enough. The
table is the largest set of states with this property; it is computed once, and takes no stack into
account. Where it is too small, because Lark resolved conflicts or some terminal of a row cannot
follow, a second search avoids such terminals: it looks only at those that begin the shortest
completions without them (:mod:`cfgguide.grammar.lr.completions`). ::

    after "12" in a JSON array      `,` or `]` or white space: each can follow      always live
    after a WORD, next WORD only    the scanner would read both as one              not always live

Obligations on the text after a lexeme ("no digit follows") count only by the bytes that resolve
them at once. Those that the same bytes resolve are one *group*.

Where the table says no, :mod:`cfgguide.engine.liveness.liveness` decides.

Source: Aho, Lam, Sethi, Ullman, "Compilers", section 4.7, on when LR parsers detect an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from cfgguide.automata.partition import distinct_rows
from cfgguide.base.archive import Arrays
from cfgguide.engine.lexer.lexeme_ends import (
    Int32Array,
    LexemeEndClasses,
    certain_moves,
    classes_of,
)
from cfgguide.engine.lexer.reachability import BoolArray
from cfgguide.engine.lexer.scanner import NO_MATCH, Scanner
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.engine.vocabulary.spelling import BOUNDARY, Spelling
from cfgguide.grammar.lr.completions import Completions
from cfgguide.grammar.lr.indentation import AT_LINE_START
from cfgguide.grammar.lr.indentation_names import COUNTED, INLINE, JOIN, NEWLINE
from cfgguide.grammar.lr.table import END, ERROR

_MAX_ROUNDS = 6  # of leaving out terminals
_MAX_CELLS = 1 << 26  # of the table of what can follow; without it nothing is always live


@dataclass(frozen=True)
class AlwaysLive:
    """What is always live: certain on every stack.

    Attributes
    ----------
    end_offsets : int32, shape (n_scanner_states + 1,)
        Where the ends of each scanner state start in what follows.
    end_terminal_ids : int32, shape (n_ends,)
        Terminals that the lexeme which the scanner is in may become.
    end_groups : int32, shape (n_ends,)
        The obligations after it: a column of `is_always_live`.
    is_certain : bool, shape (n_ends,)
        Whether it can be spelled, one token a byte, with no look-ahead. Else it is only possible.
    resolves : bool, shape (n_groups, n_byte_classes)
        Whether a byte proves all obligations of a group.
    is_letter : bool, shape (n_byte_classes,)
        Whether some byte of the class is a token.
    is_always_live : bool, shape (n_parse_states, n_groups)
        Whether a sentence can follow in a parse state after a shift, on every stack, with the
        obligations of the group. The last group has none.
    is_live_after_newline : bool, shape (n_parse_states, n_groups)
        The same after a line break: in states where a line starts, an indenter may still feed
        INDENT or DEDENTs, as the column will have it; in others the line break was dropped inside
        brackets, where none has to follow. Without an indenter `is_always_live`.
    first_alike : int32, shape (n_parse_states,)
        For each parse state the first one that leads on alike; see :func:`first_alike`.
    possible_terminal_ids : frozenset of int
        Terminals of which some lexeme can be spelled.
    endings : dict of str to array, optional
        What short endings are found with (:meth:`cfgguide.engine.liveness.endings.Endings.packed`),
        if it is kept with this table.
    """

    end_offsets: Int32Array
    end_terminal_ids: Int32Array
    end_groups: Int32Array
    is_certain: BoolArray
    resolves: BoolArray
    is_letter: BoolArray
    is_always_live: BoolArray
    is_live_after_newline: BoolArray
    first_alike: Int32Array
    possible_terminal_ids: frozenset[int]
    endings: Arrays | None = None

    @classmethod
    def of(cls, recognizer: Recognizer, spelling: Spelling) -> AlwaysLive:
        """Return what is always live in a grammar that is written with a vocabulary."""
        scanner = recognizer.scanner
        single = {byte for byte, node in spelling.steps[BOUNDARY] if node == BOUNDARY}
        is_letter = np.zeros(scanner.transitions.shape[1], dtype=np.bool_)
        letters = classes_of(scanner, single)
        is_letter[letters] = True
        end_classes = LexemeEndClasses.of(scanner)
        certain = end_classes.reached(scanner, single, is_certain=True)
        possible = end_classes.reached(scanner, spelling.reachable_bytes, is_certain=False)
        states, ends = np.nonzero(possible)
        order = np.lexsort((~certain[states, ends], states))  # the certain ones first
        states, ends = states[order], ends[order]
        offsets = np.searchsorted(states, np.arange(scanner.n_states + 1))
        possible_terminal_ids = end_classes.terminal_ids_from_starts(scanner, possible)
        is_always_live, is_live_after_newline = _always_live_states(
            recognizer, end_classes, certain, letters, possible_terminal_ids
        )
        return cls(
            end_offsets=offsets.astype(np.int32),
            end_terminal_ids=end_classes.terminal_ids[ends],
            end_groups=end_classes.groups[ends],
            is_certain=certain[states, ends],
            resolves=end_classes.resolves,
            is_letter=is_letter,
            is_always_live=is_always_live,
            is_live_after_newline=is_live_after_newline,
            first_alike=first_alike(recognizer),
            possible_terminal_ids=possible_terminal_ids,
        )

    def terminal_ids_ahead(self, scanner_state: int) -> frozenset[int]:
        """Return the terminals that the lexeme which the scanner is in may become."""
        if (known := self._terminal_ids_ahead.get(scanner_state)) is None:
            first, end = self.end_offsets[scanner_state : scanner_state + 2].tolist()
            known = frozenset(self.end_terminal_ids[first:end].tolist())
            self._terminal_ids_ahead[scanner_state] = known
        return known

    @cached_property
    def _terminal_ids_ahead(self) -> dict[int, frozenset[int]]:
        return {}

    def holds_for(self, recognizer: Recognizer, configuration: Configuration) -> bool:
        """Return whether a sentence certainly can follow; if not, it still may."""
        reader = recognizer.indentation_reader
        return any(
            not hypothesis.obligations
            and (reader is None or not reader.full(hypothesis.indentation))
            and self._holds_for_hypothesis(recognizer, hypothesis)
            for hypothesis in configuration.hypotheses
        )

    def _holds_for_hypothesis(self, recognizer: Recognizer, hypothesis: Hypothesis) -> bool:
        state, _, stack, indentation = hypothesis
        if recognizer.scanner.is_start[state]:
            return bool(self.is_always_live[stack.state, -1])
        rules = recognizer.indentation_rules
        for end in range(self.end_offsets[state], self.end_offsets[state + 1]):
            if not self.is_certain[end]:
                continue
            terminal_id, group = int(self.end_terminal_ids[end]), self.end_groups[end]
            if rules is not None and terminal_id == rules.newline:
                if self._holds_after_newline(recognizer, hypothesis, group):
                    return True
                continue
            shifted = recognizer.shifts(stack, indentation, terminal_id)
            if not shifted or self._lacks_digits(recognizer, hypothesis, terminal_id):
                continue
            table = self.is_always_live
            if rules is not None and rules.roles[terminal_id] == INLINE:
                is_start = rules.places[stack.state] == AT_LINE_START
                if not is_start and recognizer.parse_table.shift(stack, rules.newline) is None:
                    # Else the line break takes the white space before it.
                    table = self.is_live_after_newline
            if any(table[after.state, group] for after, _ in shifted):
                return True
        return False

    def _lacks_digits(
        self, recognizer: Recognizer, hypothesis: Hypothesis, terminal_id: int
    ) -> bool:
        """Return whether a number that is counted needs another digit and has no room for it."""
        rules, state = recognizer.indentation_rules, hypothesis.scanner_state
        return (
            rules is not None
            and bool(rules.roles[terminal_id] == COUNTED)
            and hypothesis.indentation.column >= rules.max_digits
            and bool(recognizer.scanner.match[state] == NO_MATCH)
        )

    def _holds_after_newline(
        self, recognizer: Recognizer, hypothesis: Hypothesis, group: int
    ) -> bool:
        """Return whether a sentence certainly can follow if the lexeme becomes a line break."""
        reader, stack = recognizer.indentation_reader, hypothesis.stack
        assert reader is not None, "there is an indenter"
        if not reader.takes(NEWLINE, stack.state):
            return False
        after = recognizer.parse_table.shift(stack, reader.indentation_rules.newline)
        if after is None:
            return hypothesis.indentation.level > 0 and bool(
                self.is_live_after_newline[stack.state, group]
            )
        is_free = bool(reader.is_free[hypothesis.scanner_state])
        return is_free and bool(self.is_live_after_newline[after.state, group])


def possible_terminal_ids(scanner: Scanner, spelling: Spelling) -> frozenset[int]:
    """Return the terminals that can be spelled: `AlwaysLive.possible_terminal_ids`."""
    end_classes = LexemeEndClasses.of(scanner)
    reached = end_classes.reached(scanner, spelling.reachable_bytes, is_certain=False)
    return end_classes.terminal_ids_from_starts(scanner, reached)


def written(recognizer: Recognizer, terminal_ids: frozenset[int]) -> list[bool]:
    """Return which terminals can reach the parser, if lexemes have these terminal ids."""
    fed, rules = set(terminal_ids), recognizer.indentation_rules
    if rules is not None and rules.newline in terminal_ids:
        fed |= {rules.indent, rules.dedent}
    return [terminal in fed for terminal in range(recognizer.parse_table.n_terminals)]


def _always_live_states(
    recognizer: Recognizer,
    end_classes: LexemeEndClasses,
    certain: BoolArray,
    letters: Int32Array,
    possible_terminal_ids: frozenset[int],
) -> tuple[BoolArray, BoolArray]:
    """Return `is_always_live` and `is_live_after_newline`.

    They come from all terminals of each row, or from those of shortest completions.
    """
    table, scanner = recognizer.parse_table, recognizer.scanner
    nothing = np.zeros((table.n_states, end_classes.n_groups), dtype=np.bool_)
    n_cells = len(scanner.starts) * end_classes.n_groups * len(end_classes.terminal_ids)
    n_rows = len(distinct_rows(np.hstack([table.set_of_state[:, None], table.action != ERROR]))[0])
    if max(n_cells, n_rows * end_classes.n_groups * table.n_terminals) > _MAX_CELLS:
        return nothing, nothing
    found = found_after_newline = nothing
    following = _following(scanner, end_classes, certain, letters)
    largest = partial(_largest, recognizer, end_classes, following)
    if not table.conflicts:
        derives = table.deriving([True] * table.n_terminals)
        if derives[table.left_sides].all():
            found, found_after_newline = largest(table.action != ERROR)
    shifted_to = np.unique(table.action[table.action > 0] - 1)
    is_all = np.where(_is_line_start(recognizer), found_after_newline[:, -1], found[:, -1])
    if table.terminals[END] in table.conflicts or is_all[shifted_to].all():
        return found, found_after_newline
    is_wanted = ~np.isin(table.terminals, table.conflicts)
    is_wanted &= _is_lexed(recognizer, end_classes, following)
    is_written = written(recognizer, possible_terminal_ids)
    for _ in range(_MAX_ROUNDS):
        completions = Completions.of(table, is_wanted.tolist(), is_written)
        more, more_after_newline = largest(completions.first)
        can = completions.is_completable[:, None]
        found = found | (more & can)
        found_after_newline = found_after_newline | (more_after_newline & can)
        if found[shifted_to, -1].all():
            break
        # Next without what some state wants and cannot lex, then what leads where nothing follows.
        lexed = partial(
            _is_lexed_wherever_wanted, recognizer, end_classes, following, completions.first
        )
        is_better = is_wanted & lexed()
        if np.array_equal(is_better, is_wanted):
            at_first, _ = largest(completions.first, n_rounds=1)
            is_better &= lexed(at_first)
            if np.array_equal(is_better, is_wanted):
                break
        is_wanted = is_better
    return found, found_after_newline


def _is_lexed(
    recognizer: Recognizer, end_classes: LexemeEndClasses, following: BoolArray
) -> BoolArray:
    """Return which terminals can be lexed in some state; shape (n_terminals,)."""
    n_terminals, rules = recognizer.parse_table.n_terminals, recognizer.indentation_rules
    is_lexed = np.zeros(n_terminals + 2, dtype=np.bool_)
    is_lexed[end_classes.terminal_ids[following.any(axis=(0, 1))]] = True
    if rules is not None:
        is_lexed[[rules.indent, rules.dedent]] = is_lexed[rules.newline]
    return np.array(is_lexed[:n_terminals])


def _is_lexed_wherever_wanted(
    recognizer: Recognizer,
    end_classes: LexemeEndClasses,
    following: BoolArray,
    wanted: BoolArray,
    is_live: BoolArray | None = None,
) -> BoolArray:
    """Return which terminals can be lexed in all states that want them.

    Parameters
    ----------
    wanted : bool, shape (n_parse_states, n_terminals)
        What completions begin with. That a state has an action for a terminal is not enough: one
        of higher priority may take its texts there, and it is lexed wherever it is wanted.
    is_live : bool, shape (n_parse_states, n_groups), optional
        What is live; if given, they also lead there.
    """
    table, rules = recognizer.parse_table, recognizer.indentation_rules
    can_follow = np.zeros((len(following), table.n_terminals + 2), dtype=np.bool_)
    kinds = zip(end_classes.terminal_ids, end_classes.groups, strict=True)
    for index, (terminal_id, group) in enumerate(kinds):
        if is_live is not None and terminal_id < table.n_terminals:
            column = table.action[:, terminal_id]
            if not is_live[column[column > 0] - 1, group].all():
                continue
        can_follow[:, terminal_id] |= following[:, -1, index]
    if rules is not None:
        can_follow[:, [rules.indent, rules.dedent]] = True
    can_follow = can_follow[table.set_of_state, : table.n_terminals]
    return np.array((~wanted | can_follow).all(axis=0))


def _is_line_start(recognizer: Recognizer) -> BoolArray:
    """Return which parse states stand where a line starts; shape (n_states,)."""
    if recognizer.indentation_rules is None:
        return np.zeros(recognizer.parse_table.n_states, dtype=np.bool_)
    return np.array(recognizer.indentation_rules.places == AT_LINE_START)


def _largest(
    recognizer: Recognizer,
    end_classes: LexemeEndClasses,
    following: BoolArray,
    needed: BoolArray,
    n_rounds: int = -1,
) -> tuple[BoolArray, BoolArray]:
    """Return the largest tables in which each pair leads to others with all that it needs.

    Where a line has begun, INDENT and DEDENTs may still be fed; later they may not, and a state
    that needs one is not always live.

    Parameters
    ----------
    needed : bool, shape (n_parse_states, n_terminals)
        Which terminals must be able to follow in a state; the end of the text always is.
    n_rounds : int
        After so many steps the tables are returned as they are, too large.
    """
    table, rules = recognizer.parse_table, recognizer.indentation_rules
    targets = [np.unique(column[column > 0] - 1) for column in table.action.T]
    ends_of_terminal = [
        np.flatnonzero(end_classes.terminal_ids == terminal_id)
        for terminal_id in range(table.n_terminals)
    ]
    is_dropped = end_classes.terminal_ids == recognizer.scanner.ignored
    is_inline = is_dropped.copy()
    is_fed = np.ones(table.n_terminals, dtype=np.bool_)
    unneeded = ~needed
    unneeded[:, END] = True  # whatever must not match
    if rules is not None:
        is_inline |= rules.roles[end_classes.terminal_ids] == INLINE
        is_fed = (rules.roles[:-2] != INLINE) & (rules.roles[:-2] != JOIN)
        if rules.ends_last_line:  # elsewhere a line break comes before the end
            in_line = rules.places != AT_LINE_START
            unneeded[in_line, END] = ~needed[in_line, END]
    # Most states are like others in all that is looked at here.
    is_start = _is_line_start(recognizer)
    alike = np.hstack([table.set_of_state[:, None], is_start[:, None], ~unneeded])
    rows, row_of_state = distinct_rows(alike.astype(np.int32))
    needs = rows[:, 2:].astype(np.float32)
    rows_of_sets = [
        (members, bool(start), np.flatnonzero((rows[:, 0] == members) & (rows[:, 1] == start)))
        for members, start in np.unique(rows[:, :2], axis=0).tolist()
    ]

    def all_follow(lexed: BoolArray, lexed_in_line: BoolArray) -> BoolArray:
        """Return for which states and groups all that they need can follow."""
        found = np.zeros((len(rows), end_classes.n_groups), dtype=np.bool_)
        for terminal_set, start, alike in rows_of_sets:
            lacking = ~(lexed if start else lexed_in_line)[terminal_set]
            found[alike] = needs[alike] @ lacking.T.astype(np.float32) == 0
        return np.array(found[row_of_state])

    by_end = np.ascontiguousarray(np.moveaxis(following, -1, 0))
    is_always_live: BoolArray = np.ones((table.n_states, end_classes.n_groups), dtype=np.bool_)
    is_live_after_newline = is_always_live
    while True:
        lexed = np.zeros((*following.shape[:2], table.n_terminals), dtype=np.bool_)
        for terminal, (states, ends) in enumerate(zip(targets, ends_of_terminal, strict=True)):
            if len(ends) and is_fed[terminal]:
                is_newline = rules is not None and terminal == rules.newline
                leads = (is_live_after_newline if is_newline else is_always_live)[states].all(
                    axis=0
                )
                lexed[..., terminal] = by_end[ends[leads[end_classes.groups[ends]]]].any(axis=0)
        lexed_in_line = lexed.copy()
        _follow_ignored(lexed, following[..., is_dropped], end_classes.groups[is_dropped])
        _follow_ignored(lexed_in_line, following[..., is_inline], end_classes.groups[is_inline])
        found = found_after_newline = all_follow(lexed, lexed_in_line)
        if rules is not None:
            for can_follow in (lexed, lexed_in_line):
                can_follow[..., rules.indent] |= is_always_live[targets[rules.indent]].all(axis=0)
                can_follow[..., rules.dedent] |= is_live_after_newline[targets[rules.dedent]].all(
                    axis=0
                )
            lexed_in_line[..., rules.newline] = True
            found_after_newline = all_follow(lexed, lexed_in_line)
        if np.array_equal(found, is_always_live) and np.array_equal(
            found_after_newline, is_live_after_newline
        ):
            return is_always_live, is_live_after_newline
        is_always_live, is_live_after_newline = found, found_after_newline
        n_rounds -= 1
        if not n_rounds:
            return found, found_after_newline


def _following(
    scanner: Scanner, end_classes: LexemeEndClasses, certain: BoolArray, letters: Int32Array
) -> BoolArray:
    """Return what the next lexeme can be, whatever the context.

    Returns
    -------
    bool, shape (n_terminal_sets, n_groups, n_end_classes)
        Whether the lexeme can end so, beginning with a byte that resolves the group's obligations.
    """
    # Most letters resolve the obligations of the same groups, and lead to the same states.
    columns, kinds = np.unique(end_classes.resolves[:, letters], axis=1, return_inverse=True)
    moves = certain_moves(scanner, letters)

    def can_follow(state: int) -> BoolArray:
        targets, inverse = np.unique(moves[state], return_inverse=True)
        leads = np.zeros((columns.shape[1], len(targets)), dtype=np.float32)
        leads[kinds, inverse] = 1
        resolving = (columns.astype(np.float32) @ leads > 0).astype(np.float32)
        return np.array(resolving @ certain[targets].astype(np.float32) > 0)

    following = np.ones(
        (len(scanner.starts), end_classes.n_groups, len(end_classes.terminal_ids)), dtype=np.bool_
    )
    for members, starts in enumerate(scanner.starts):
        for start in np.unique(starts).tolist():
            following[members] &= np.any(list(map(can_follow, scanner.unforked(start))), axis=0)
    return following


def _follow_ignored(lexed: BoolArray, dropped: BoolArray, groups: Int32Array) -> None:
    """Add to `lexed` the terminals that come after any amount of ignored text."""
    while True:
        before = lexed.copy()
        for index, group in enumerate(groups):
            lexed |= dropped[..., index, None] & before[:, group, None]
        if np.array_equal(before, lexed):
            return


def first_alike(recognizer: Recognizer) -> Int32Array:
    """Return for each parse state the first one that leads on alike; int32, shape (n_states,).

    Two do if they lex the same terminal set, stand in like places of a line, pop as many states for
    the same nonterminal on each terminal, and push states that are alike.
    """
    table, rules = recognizer.parse_table, recognizer.indentation_rules
    if table.is_general:  # those that are alike are joined already
        return np.arange(table.n_states, dtype=np.int32)
    places = np.zeros(table.n_states, dtype=np.int8) if rules is None else rules.places
    return table.first_alike(zip(table.set_of_state.tolist(), places.tolist(), strict=True))
