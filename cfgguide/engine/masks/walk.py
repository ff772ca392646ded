"""Walks the vocabulary trie from a configuration: which tokens lead to a sentence.

In: a :class:`~cfgguide.engine.machine.recognizer.Recognizer`, a vocabulary trie and a
configuration. Out: a :class:`Walk`: the tokens that are lexed and parsed without error, grouped by
the configuration that they lead to (an *outcome*), and how much of the stack was read. The kernel
judges most outcomes; the caller decides those that it leaves open, once for each.

A token after which there are many readings is left to the recogniser, which knows of stacks that
others stand for, as the kernel does not, and follows some of many: runs of a mark that may begin a
part or end one. So what the kernel judges is what the recogniser says.

The kernel gets only a window of the stack's top, since most walks read no further. If one does, the
walk is repeated with a larger window, and likewise for every other size that proves too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.base.remembered import remembered
from cfgguide.base.uncompiled import warn_if_uncompiled
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.engine.masks import arrays, kernels, trie_kernels
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.staying import Staying
from cfgguide.engine.masks.token_classes import ClassTrie, TokenClasses
from cfgguide.engine.masks.views import view
from cfgguide.engine.vocabulary.trie import PackedTrie, VocabularyTrie
from cfgguide.errors import LimitError
from cfgguide.grammar.lr.indentation import COLUMN_0, Indentation
from cfgguide.grammar.lr.stack import Stack

MAX_OBLIGATIONS = 1 << 11  # of a hypothesis
#: Hypotheses that the recogniser moves on by a byte for a mask; each takes 0.02 to 0.05 ms.
#: It reads the first bytes of all tokens, and short tokens first; what it does not come to is left
#: out of the mask.
_MOST_READ = 4_000
MAX_SIZE = 1 << 26  # of any array of the workspace, in rows


@dataclass(frozen=True)
class Outcome:
    """A configuration that some tokens lead to.

    Attributes
    ----------
    configuration : Configuration
        Where they lead.
    origins : tuple of (int, int) or None
        None if the recogniser read the tokens; else, per hypothesis of `configuration`: the
        hypothesis of the walk's base whose stack it grew from, and the height of the highest cell
        that both share.
    """

    configuration: Configuration
    origins: tuple[tuple[int, int], ...] | None


class Walk:
    """What a walk found; it holds until the next walk of the same walker.

    Attributes
    ----------
    is_sentence : bool
        Whether the text may end before any token.
    inspected : list of int
        Per hypothesis of the base how many of its topmost states were read.
    n_outcomes : int
        Number of distinct configurations that tokens lead to.
    """

    def __init__(
        self,
        trie: PackedTrie,
        work: arrays.Workspace,
        configuration: Configuration,
        window: int,
        read: dict[int, Configuration | None],
        n_read: int,
    ) -> None:
        #: What was walked over; the numbers of the outcomes are the same whenever it is the same.
        self.trie = trie
        self._work = work
        self._configuration = configuration
        self._window = window
        self._read = read  # by outcome, what the recogniser has read
        counts: list[int] = work.counts.tolist()
        self.is_sentence = bool(counts[arrays.IS_SENTENCE])
        #: What was read of the indentations: `LEVEL_READ`, `COLUMNS_READ`.
        self.reads = counts[arrays.READS]
        self.inspected: list[int] = work.inspected[: len(configuration.hypotheses)].tolist()
        if read:  # and what of the stacks it looked at is not known
            self.inspected = [each.stack.height for each in configuration.hypotheses]
        self.n_outcomes = counts[arrays.N_OUTCOMES]
        self._n_read = n_read
        self._n_open = counts[arrays.N_OPEN]

    @property
    def effort(self) -> int:
        """For each outcome the square of its hypotheses, which are compared, and what was read.

        It is found when a budget asks, so that no mask pays for it.
        """
        squares = np.square(self._work.outcome_n[: self.n_outcomes], dtype=np.int64)
        others = (len(each.hypotheses) ** 2 for each in self._read.values() if each is not None)
        return int(squares.sum()) + sum(others) + self._n_read

    @cached_property
    def _cells(self) -> _Cells:
        return _Cells(self._work, self._configuration, self._window)

    @property
    def open_outcomes(self) -> list[int]:
        """The indices of the outcomes that the kernel could not judge."""
        if not self._n_open:
            return []
        verdicts = self._work.verdicts[: self.n_outcomes]
        return np.flatnonzero(verdicts == arrays.OPEN).tolist()

    def outcome(self, outcome: int) -> Outcome:
        """Return an outcome by its index."""
        work = self._work
        if (read := self._read.get(outcome)) is not None:
            return Outcome(read, None)
        hypotheses, origins = [], []
        for index in range(int(work.outcome_n[outcome])):
            stack, origin = self._cells.stack(int(work.outcome_cell[outcome, index]))
            n_obligations = int(work.outcome_n_obligations[outcome, index])
            obligations = tuple(work.outcome_obligations[outcome, index, :n_obligations].tolist())
            indentation = self._indentation(int(work.outcome_indentation[outcome, index]))
            state = int(work.outcome_state[outcome, index])
            hypotheses.append(Hypothesis(state, obligations, stack, indentation))
            origins.append(origin)
        context = int(work.outcome_context[outcome])
        return Outcome(Configuration(tuple(hypotheses), context), tuple(origins))

    def configuration(self, outcome: int) -> Configuration:
        """Return what the tokens of an outcome lead to."""
        return self.outcome(outcome).configuration

    def _indentation(self, number: int) -> Indentation:
        """Return the indentation that a number stands for."""
        columns = self._columns_of(number >> arrays.COLUMNS_SHIFT)
        level = number >> arrays.LEVEL_SHIFT & arrays.LEVEL_BITS
        return Indentation(columns, level, number & arrays.COLUMN_BITS)

    @remembered
    def _columns_of(self, cell: int) -> tuple[int, ...]:
        columns = []
        while cell != arrays.NONE:
            columns.append(int(self._work.column[cell]))
            cell = int(self._work.column_parent[cell])
        return tuple(columns[::-1])

    def outcome_of_tokens(self) -> dict[int, int]:
        """Return the outcome of each token that is lexed and parsed without error."""
        work = self._work
        return {
            token_id: int(work.segment_outcome[segment])
            for segment in range(int(work.counts[arrays.N_SEGMENTS]))
            for token_id in self.trie.token_ids[
                work.segment_start[segment] : work.segment_end[segment]
            ].tolist()
        }

    def places_of(self, outcome: int) -> npt.NDArray[np.int64]:
        """Return where the tokens that lead to an outcome are in the trie."""
        work = self._work
        n = int(work.counts[arrays.N_SEGMENTS])
        segments = np.flatnonzero(work.segment_outcome[:n] == outcome)
        starts = work.segment_start[segments].astype(np.int64)
        lengths = work.segment_end[segments] - starts
        firsts = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        return firsts + np.arange(lengths.sum())

    def stays(self, outcome: int) -> bool:
        """Return whether no lexeme has ended on the way to an outcome."""
        work = self._work
        homes = self._configuration.hypotheses
        heights = [min(self._window, hypothesis.stack.height) for hypothesis in homes]
        tops = {0, *np.cumsum(heights[:-1]).tolist()}  # cells; shifts make new ones
        cells = work.outcome_cell[outcome, : work.outcome_n[outcome]].tolist()
        return outcome not in self._read and tops.issuperset(cells)

    def first_tokens(self) -> list[int]:
        """Return for each outcome one of the tokens that lead to it."""
        work = self._work
        n_segments = int(work.counts[arrays.N_SEGMENTS])
        outcomes, segments = np.unique(work.segment_outcome[:n_segments], return_index=True)
        first = np.full(self.n_outcomes, arrays.NONE, dtype=np.int64)
        first[outcomes] = self.trie.token_ids[work.segment_start[segments]]
        return first.tolist()

    def resolve(self, outcome: int, *, is_live: bool) -> None:
        """Set whether a sentence can follow an outcome."""
        self._work.verdicts[outcome] = arrays.LIVE if is_live else arrays.DEAD_END

    def verdict(self, outcome: int) -> int:
        """Return what is known of an outcome: `LIVE`, `DEAD_END` or `OPEN`."""
        return int(self._work.verdicts[outcome])


class LrWalker:
    """Runs the kernel; owns its workspace, and so serves one thread at a time."""

    def __init__(
        self,
        recognizer: Recognizer,
        token_classes: TokenClasses,
        always_live: AlwaysLive,
        tokens: Sequence[bytes | None] = (),
    ) -> None:
        self._recognizer = recognizer
        # Without tokens, and with an indenter, the recogniser reads none.
        self._tokens = tokens if recognizer.is_open else ()
        self._staying = recognizer.derived(Staying.of)
        self._tables = view(_tables(recognizer, always_live))
        self._base = _Base()
        self._is_walking = False  # still True if a walk was interrupted
        self._token_classes = token_classes
        self._use(token_classes.trie)
        self._budget = recognizer.budget
        self._sizes = {
            "window": 32,
            "cells": 1024,
            "hypotheses": 4,
            "obligations": 8,
            "outcomes": 1024,
        }

    def _use(self, trie: VocabularyTrie | ClassTrie) -> None:
        """Walk over a trie from now on."""
        self._packed = view(trie.packed)
        self._work: arrays.Workspace | None = None
        self._may_cut = False  # whether the kernel leaves tokens to the recogniser
        self._view: arrays.Workspace | None = None  # the same memory, as the kernels read it
        self._trie = trie  # at last: who is interrupted before does all of it again

    @property
    def trie(self) -> PackedTrie:
        """What the last walk was over."""
        return self._trie.packed

    def walk(self, configuration: Configuration) -> Walk:
        """Return what the tokens lead to from a configuration with whole stacks."""
        walk = self.walk_tops(configuration)
        assert walk is not None, "nothing lies below the bottom of a whole stack"
        return walk

    def advance(self, configuration: Configuration, data: bytes) -> Configuration | None:
        """Return what a token leads to, as a walk has it: with whole stacks."""
        return self._whole_stacks.advance(configuration, data)

    @cached_property
    def _whole_stacks(self) -> Recognizer:
        return self._recognizer.with_whole_stacks()

    def walk_tops(self, configuration: Configuration) -> Walk | None:
        """Return what the tokens lead to, if only the tops of the stacks may be there.

        Parameters
        ----------
        configuration : Configuration
            Where to start.

        Returns
        -------
        Walk or None
            None if the stacks end above a state that is needed, as parts of stacks may.

        Raises
        ------
        LimitError
            If the walk needs more than `MAX_SIZE` cells, hypotheses or outcomes.
        """
        warn_if_uncompiled(kernels.__file__)
        if not self._token_classes.are_made:
            self._token_classes.work_a_while()
        if self._is_walking or self._token_classes.trie is not self._trie:
            self._base = _Base()
            self._use(self._token_classes.trie)
        self._is_walking = True
        walk = self._walked(configuration)
        self._is_walking = False
        return walk

    def _walked(self, configuration: Configuration) -> Walk | None:
        while True:
            window = self._sizes["window"]
            base = self._base.loaded(configuration, window)
            if self._work is None or self._view is None:
                self._work = self._workspace()
                self._view = view(self._work)
            result = kernels.outcomes(self._tables, self._packed, self._view, base)
            if result == arrays.DONE:
                if not self._may_cut:
                    return Walk(self._trie.packed, self._work, configuration, window, {}, 0)
                reading = self._reading(configuration)
                if (read := self._read_others(reading)) is None:
                    return None
                self._recognizer.derived(_last_reading)[:] = [reading]
                n_read = reading.n_read
                return Walk(self._trie.packed, self._work, configuration, window, read, n_read)
            if result == arrays.TOO_SHALLOW and self._sees_all(configuration):
                return None
            n_hypotheses = len(configuration.hypotheses)
            if result == arrays.TOO_MANY_HYPOTHESES and self._has_room(n_hypotheses):
                self._may_cut = True
                self._work.counts[arrays.MAY_CUT] = 1
            else:
                self._enlarge(result)

    def _has_room(self, n_hypotheses: int) -> bool:
        """Return whether the kernel may leave tokens to the recogniser from now on."""
        n = self._sizes["hypotheses"]
        is_large = n_hypotheses <= n >= self._recognizer.n_followed
        return bool(self._tokens) and not self._may_cut and is_large

    def _reading(self, configuration: Configuration) -> _Reading:
        """Return what reads tokens: the last one that any walker finished, if of the same ones."""
        question = configuration, self._trie, self._sizes["hypotheses"]
        for last in self._recognizer.derived(_last_reading)[:]:  # other threads change the list
            if last.answers(*question):
                return last
        return _Reading(self._recognizer, *question)

    def _read_others(self, reading: _Reading) -> dict[int, Configuration | None] | None:
        """Return what tokens lead to that the kernel has left, by outcome; None if they are short.

        That is, if the stacks end above a state that is needed.
        """
        work = self._work
        assert work is not None, "there was a walk"
        n = int(work.counts[arrays.N_SEGMENTS])
        outcomes = work.segment_outcome[:n]
        left = np.flatnonzero(work.outcome_n[outcomes] == 0)
        token_ids = self._trie.packed.token_ids[work.segment_start[left]].tolist()
        tokens = [self._tokens[token_id] or b"" for token_id in token_ids]
        order = np.argsort(np.array(list(map(len, tokens)), np.int32), kind="stable")
        left = left[order]
        read: dict[int, Configuration | None] = {}
        first: dict[int, int] = {}  # outcomes, by the identity of what they lead to
        led_to: list[int] = []
        try:
            for beginning in sorted({token[:1] for token in tokens}):
                reading.after(self._recognizer, beginning)
            for number, outcome in zip(order.tolist(), outcomes[left].tolist(), strict=True):
                if reading.is_over(len(tokens[number])):  # and so it is for all after it
                    break
                read[outcome] = after = reading.after(self._recognizer, tokens[number])
                led_to.append(first.setdefault(id(after), outcome))
        except IndexError:
            return None
        n_read = len(led_to)
        is_dead = np.ones(len(left), np.bool_)
        is_dead[:n_read] = [read[each] is None for each in led_to]
        led_to += outcomes[left[n_read:]].tolist()
        read |= dict.fromkeys(led_to[n_read:])
        is_dead |= np.array(led_to, np.int32) != outcomes[left]  # no token leads to it any more
        work.verdicts[outcomes[left[is_dead]]] = arrays.DEAD_END
        work.counts[arrays.N_OPEN] -= is_dead.sum()
        work.segment_outcome[left] = led_to
        return read

    def _sees_all(self, configuration: Configuration) -> bool:
        heights = [hypothesis.stack.height for hypothesis in configuration.hypotheses]
        return max(heights) <= self._sizes["window"]

    def join_live(self) -> Int32Array:
        """Return the tokens of the last walk whose outcomes are live.

        Returns
        -------
        int32, shape (n_ranges, 2)
            Ranges of indices into the `token_ids` of what was walked over, ascending and apart. The
            next walk overwrites them.
        """
        assert self._work is not None, "there was a walk"
        assert self._view is not None, "it is made with the workspace"
        return self._work.live_ranges[: trie_kernels.join_live(self._view)]

    def fill(self, bitmask: Int32Array) -> None:
        """Make the mask of the last walk, of the outcomes that are live.

        Parameters
        ----------
        bitmask : int32, shape (n_words,)
            Where the mask goes; without EOS.
        """
        assert self._view is not None, "there was a walk"
        n_ranges = trie_kernels.join_live(self._view)
        trie_kernels.fill(self._packed, self._view, n_ranges, bitmask.view(np.uint32))

    def release_workspace(self) -> None:
        """Free the workspace, between walks; the next walk allocates another."""
        self._work = self._view = None
        self._may_cut = False

    def _enlarge(self, result: int) -> None:
        """Enlarge what proved too small."""
        name = {
            arrays.TOO_SHALLOW: "window",
            arrays.TOO_MANY_CELLS: "cells",
            arrays.TOO_MANY_HYPOTHESES: "hypotheses",
            arrays.TOO_MANY_OBLIGATIONS: "obligations",
            arrays.TOO_MANY_OUTCOMES: "outcomes",
        }[result]
        if name == "hypotheses":
            self._budget.check("max_hypotheses", self._sizes[name], "the grammar")
        self._sizes[name] *= 4
        if self._sizes[name] > (MAX_OBLIGATIONS if name == "obligations" else MAX_SIZE):
            raise LimitError(f"a mask needs more than {MAX_SIZE} {name}: simplify the grammar")
        if name != "window":
            self._work = None
            self._may_cut = False

    def _workspace(self) -> arrays.Workspace:
        sizes = {name: size for name, size in self._sizes.items() if name != "window"}
        work = arrays.workspace(
            frames=self._trie.max_depth + 2,
            terminal_ids=self._tables.ignored + 2,
            tokens=len(self._trie.packed.token_ids),
            nodes=len(self._trie.packed.nodes) - 1,
            **sizes,
        )
        work.below[:] = self._staying.own_bits(self._trie.packed)
        trie_kernels.join_below(self._packed, view(work))
        return work


class _Reading:
    """Reads tokens after one configuration, beginnings that they share only once.

    Bytes of one class are the same to the recogniser. Who reads the same tokens again finds the
    same, and nothing new.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        configuration: Configuration,
        trie: VocabularyTrie | ClassTrie,
        n_hypotheses: int,
    ) -> None:
        self._configuration = configuration
        self._tokens = trie, n_hypotheses  # on these it depends which tokens are left
        self._classes = recognizer.scanner.byte_classes.astype(np.uint8).tobytes()
        self._known: dict[bytes, Configuration | None] = {b"": configuration}
        self._longest = 0  # bytes of what was read
        self.n_read = 0  # hypotheses, by a byte each

    def answers(
        self, configuration: Configuration, trie: VocabularyTrie | ClassTrie, n_hypotheses: int
    ) -> bool:
        """Return whether the same tokens are read after the same configuration."""
        own, n = self._tokens
        return own is trie and n == n_hypotheses and self._configuration == configuration

    def after(self, recognizer: Recognizer, token: bytes) -> Configuration | None:
        """Return where a token leads; None if it is refused, or too much was read before.

        The recogniser keeps the last reading, and so is not kept by it.
        """
        classes, known = token.translate(self._classes), self._known
        if classes in known:
            return known[classes]
        if self.n_read > _MOST_READ and len(token) > 1:
            return None
        n = next(n for n in range(len(token), -1, -1) if classes[:n] in known)
        after = known[classes[:n]]
        for place in range(n, len(token)):
            if after is None or (place and self.n_read > _MOST_READ):
                return None
            self.n_read += len(after.hypotheses)
            after = recognizer.advance(after, token[place : place + 1])
            known[classes[: place + 1]] = after
            self._longest = max(self._longest, place + 1)
        return after

    def is_over(self, n: int) -> bool:
        """Return whether too much was read, and nothing of tokens of so many bytes or more."""
        return self.n_read > _MOST_READ and n > self._longest


def _last_reading(_: Recognizer) -> list[_Reading]:
    """Return where all walkers of a recogniser keep the last one: none yet."""
    return []


def _tables(recognizer: Recognizer, always_live: AlwaysLive) -> arrays.Tables:
    """Return the tables of a grammar: each field from the one object that has it."""
    scanner, reader = recognizer.scanner, recognizer.indentation_reader
    owners: list[object] = [scanner, recognizer.derived(Staying.of)]
    owners += [recognizer.parse_table, always_live]
    if recognizer.short_stacks is not None:
        owners.append(recognizer.short_stacks)
    fields: dict[str, Any] = {}
    if reader is not None:
        owners += [reader.indentation_rules, reader]
        fields["has_indentation"] = True
        fields["byte_kinds"] = reader.kinds
        fields["is_followed"] = reader.is_newline | reader.is_counted
    for name in arrays.Tables._fields:
        for owner in owners:
            if name not in fields and hasattr(owner, name):
                fields[name] = getattr(owner, name)
    return arrays.tables(**fields)


class _Base:
    """The bases of walks, one after another in the same memory."""

    def __init__(self) -> None:
        self._room = {"states": 32, "hypotheses": 1, "obligations": 4, "columns": 4}
        self._make()

    def _make(self) -> None:
        made = arrays.base(**self._room)
        self._view = view(made)
        # Compiled, a view makes an object whenever Python asks for an array.
        self._arrays: Any = arrays.Base._make(map(memoryview, made))  # type: ignore[arg-type]

    def loaded(self, configuration: Configuration, window: int) -> arrays.Base:
        """Return a configuration, with so many states of each stack at most."""
        hypotheses = configuration.hypotheses
        columns = _Columns()
        indentations = [columns.number(hypothesis.indentation) for hypothesis in hypotheses]
        self._make_room(
            states=window * len(hypotheses),
            hypotheses=len(hypotheses),
            obligations=sum(len(hypothesis.obligations) for hypothesis in hypotheses),
            columns=len(columns.columns),
        )
        base = self._arrays
        n_states = n_obligations = 0
        for home, (scanner_state, obligations, stack, _) in enumerate(hypotheses):
            base.scanner_states[home] = scanner_state
            base.indentations[home] = indentations[home]
            cell: Stack | None = stack
            end = n_states + window
            while cell is not None and n_states < end:
                base.parse_states[n_states] = cell.state
                n_states += 1
                cell = cell.below
            base.offsets[home + 1] = n_states
            for obligation in obligations:
                base.obligations[n_obligations] = obligation
                n_obligations += 1
            base.obligation_offsets[home + 1] = n_obligations
        for column, parts in enumerate(
            zip(columns.columns, columns.parents, columns.depths, strict=True)
        ):
            base.columns[column], base.column_parents[column], base.column_depths[column] = parts
        base.numbers[arrays.N_HYPOTHESES] = len(hypotheses)
        base.numbers[arrays.N_BASE_COLUMNS] = len(columns.columns)
        base.numbers[arrays.CONTEXT] = configuration.context
        return self._view

    def _make_room(self, **needed: int) -> None:
        """Make larger arrays if there is not room for so much."""
        if any(size > self._room[name] for name, size in needed.items()):
            self._room = {name: 2 * max(size, self._room[name]) for name, size in needed.items()}
            self._make()


class _Columns:
    """Turns indentations into numbers; those with equal outer columns share cells."""

    def __init__(self) -> None:
        self.columns = [COLUMN_0]
        self.parents = [arrays.NONE]
        self.depths = [0]
        self._known: dict[tuple[int, int], int] = {}

    def number(self, indentation: Indentation) -> int:
        """Return an indentation as one number."""
        cell = 0
        for column in indentation.columns[1:]:
            key = (cell, column)
            if key not in self._known:
                self._known[key] = len(self.columns)
                self.columns.append(column)
                self.parents.append(cell)
                self.depths.append(self.depths[cell] + 1)
            cell = self._known[key]
        return (
            cell << arrays.COLUMNS_SHIFT
            | indentation.level << arrays.LEVEL_SHIFT
            | indentation.column
        )


class _Cells:
    """Turns the kernel's cells back into stacks."""

    def __init__(self, work: arrays.Workspace, configuration: Configuration, window: int) -> None:
        self._work = work
        self._known: dict[int, tuple[Stack, tuple[int, int]]] = {}
        for home, hypothesis in enumerate(configuration.hypotheses):
            cell: Stack | None = hypothesis.stack
            for _ in range(min(window, hypothesis.stack.height)):
                assert cell is not None, "the window is part of the stack"
                self._known[len(self._known)] = (cell, (home, cell.height))
                cell = cell.below

    def stack(self, cell: int) -> tuple[Stack, tuple[int, int]]:
        """Return the stack of a cell, and where it leaves the base."""
        pushed: list[int] = []
        while cell not in self._known:
            pushed.append(cell)
            cell = int(self._work.cell_parent[cell])
        stack, origin = self._known[cell]
        for cell in reversed(pushed):
            stack = stack.push(int(self._work.cell_state[cell]))
            self._known[cell] = (stack, origin)
        return stack, origin
