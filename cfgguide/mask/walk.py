"""Walks the vocabulary trie from a configuration: which tokens lead to a sentence.

In: a :class:`~cfgguide.recognizer.recognizer.Recognizer`, a vocabulary trie and a configuration.
Out: a :class:`Walk`: the tokens that are lexed and parsed without error, grouped by the
configuration that each leads to, what is known of those, and how much of the stack was read. Most
that many tokens lead to is judged by the kernel; what it leaves open is decided once per group.

The kernel gets only a window of the stack's top, since most walks read no further; if one does,
the walk is repeated with a larger window, and likewise for every other size that proves too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD
from cfgguide.errors import LimitError
from cfgguide.lexer.scanner import NO_MATCH, Scanner
from cfgguide.liveness.always_live import Assurance
from cfgguide.mask import arrays, jit, kernels, trie_kernels
from cfgguide.mask.arrays import Int32Array
from cfgguide.mask.loops import Loops
from cfgguide.parser.indentation import COLUMN_0, Indentation
from cfgguide.parser.stack import Stack
from cfgguide.recognizer.indentation import IndentationReader
from cfgguide.recognizer.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.vocabulary.trie import PackedTrie, VocabularyTrie

MAX_OBLIGATIONS = 1 << 11  # of a hypothesis
MAX_SIZE = 1 << 26  # of any array of the workspace, in rows

_EXAMPLES = arrays.examples()
_N_COMMON = arrays.Tables._fields.index("has_indentation")  # tables that are always needed
jit.load(kernels.outcomes, *_EXAMPLES[:4])
jit.load(trie_kernels.fill, *_EXAMPLES[1:3], _EXAMPLES[4])


@dataclass(frozen=True)
class Outcome:
    """A configuration that some tokens lead to.

    Attributes
    ----------
    configuration : Configuration
        Where they lead.
    origins : tuple of (int, int)
        Per hypothesis of `configuration`: the hypothesis of the walk's base whose stack it grew
        from, and the height of the highest cell that both share.
    """

    configuration: Configuration
    origins: tuple[tuple[int, int], ...]


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
        offsets: Int32Array,
    ) -> None:
        self._trie = trie
        self._work = work
        self._cells = _Cells(work, configuration, offsets)
        self.is_sentence = bool(work.counts[arrays.IS_SENTENCE])
        #: What of the layouts was read: `LEVEL_READ`, `COLUMNS_READ`.
        self.reads = int(work.counts[arrays.READS])
        self.inspected: list[int] = work.inspected[: len(configuration.hypotheses)].tolist()
        self.n_outcomes = int(work.counts[arrays.N_OUTCOMES])

    @property
    def open_outcomes(self) -> list[int]:
        """The numbers of the outcomes that the kernel could not judge."""
        verdicts = self._work.verdicts[: self.n_outcomes]
        return np.flatnonzero(verdicts == arrays.OPEN).tolist()

    def outcome(self, number: int) -> Outcome:
        """Return an outcome by its number."""
        work = self._work
        hypotheses, origins = [], []
        for index in range(int(work.outcome_n[number])):
            stack, origin = self._cells.stack(int(work.outcome_cell[number, index]))
            n_obligations = int(work.outcome_n_obligations[number, index])
            obligations = tuple(work.outcome_obligations[number, index, :n_obligations].tolist())
            indentation = self._indentation(int(work.outcome_indentation[number, index]))
            state = int(work.outcome_state[number, index])
            hypotheses.append(Hypothesis(state, obligations, stack, indentation))
            origins.append(origin)
        context = int(work.outcome_context[number])
        return Outcome(Configuration(tuple(hypotheses), context), tuple(origins))

    def _indentation(self, number: int) -> Indentation:
        """Return the layout that a number stands for."""
        columns = []
        cell = number >> arrays.COLUMNS_SHIFT
        while cell != arrays.NONE:
            columns.append(int(self._work.column[cell]))
            cell = int(self._work.column_parent[cell])
        level = number >> arrays.LEVEL_SHIFT & arrays.LEVEL_BITS
        return Indentation(tuple(columns[::-1]), level, number & arrays.COLUMN_BITS)

    def outcome_of_tokens(self) -> dict[int, int]:
        """Return the outcome of each token that is lexed and parsed without error."""
        work = self._work
        return {
            token_id: int(work.segment_outcome[segment])
            for segment in range(int(work.counts[arrays.N_SEGMENTS]))
            for token_id in self._trie.token_ids[
                work.segment_start[segment] : work.segment_end[segment]
            ].tolist()
        }

    def first_tokens(self) -> list[int]:
        """Return for each outcome one of the tokens that lead to it."""
        work = self._work
        n_segments = int(work.counts[arrays.N_SEGMENTS])
        numbers, places = np.unique(work.segment_outcome[:n_segments], return_index=True)
        first = np.full(self.n_outcomes, arrays.NONE, dtype=np.int64)
        first[numbers] = self._trie.token_ids[work.segment_start[places]]
        return first.tolist()

    def resolve(self, number: int, *, is_live: bool) -> None:
        """Say of an outcome whether a sentence can follow."""
        verdict = arrays.LIVE if is_live else arrays.DEAD_END
        self._work.verdicts[number] = verdict

    def verdict(self, number: int) -> int:
        """Return what is known of an outcome: `LIVE`, `DEAD_END` or `OPEN`."""
        return int(self._work.verdicts[number])


class Walker:
    """Runs the kernel; owns its workspace, and so serves one thread at a time."""

    def __init__(self, recognizer: Recognizer, trie: VocabularyTrie, assurance: Assurance) -> None:
        table, scanner = recognizer.parse_table, recognizer.scanner
        reader = recognizer.indentation_reader
        loops = Loops.of(scanner, trie.packed, reader)
        self._tables = arrays.like(
            _EXAMPLES[0],
            arrays.Tables(
                scanner.transitions,
                scanner.byte_classes,
                scanner.match,
                scanner.assertions,
                scanner.is_assertion,
                _kinds(scanner),
                scanner.is_start,
                scanner.equivalence_classes,
                scanner.class_representatives,
                scanner.starts,
                scanner.contexts,
                table.set_of_state,
                table.action,
                table.goto,
                table.lengths,
                table.left_sides,
                scanner.ignored,
                table.end_state,
                table.max_reductions,
                assurance.end_offsets,
                assurance.end_terminal_ids,
                assurance.end_groups,
                assurance.is_sure,
                assurance.is_letter,
                assurance.is_assured,
                loops.loop_of_state,
                loops.takes,
                *(_line_tables(reader, assurance) if reader else _EXAMPLES[0][_N_COMMON:]),
            ),
        )
        self._arrays = arrays.like(_EXAMPLES[1], trie.packed)
        self._trie = trie
        self._budget = recognizer.budget
        self._sizes = {
            "window": 32,
            "cells": 1024,
            "hypotheses": 4,
            "obligations": 8,
            "outcomes": 1024,
        }
        self._work: arrays.Workspace | None = None

    def walk(self, configuration: Configuration) -> Walk | None:
        """Return what the tokens lead to.

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
        while True:
            base = self._base(configuration)
            work = self._work = self._work or self._workspace()
            result = kernels.outcomes(self._tables, self._arrays, work, base)
            if result == arrays.DONE:
                return Walk(self._arrays, work, configuration, base.offsets)
            if result == arrays.TOO_SHALLOW and self._sees_all(configuration):
                return None
            self._enlarge(result)

    def _sees_all(self, configuration: Configuration) -> bool:
        heights = [hypothesis.stack.height for hypothesis in configuration.hypotheses]
        return max(heights) <= self._sizes["window"]

    def fill(self, bitmask: Int32Array) -> None:
        """Make the mask of the last walk, of the outcomes that are live.

        Parameters
        ----------
        bitmask : int32, shape (n_words,)
            Where the mask goes; without EOS.
        """
        assert self._work is not None, "there was a walk"
        trie_kernels.fill(self._arrays, self._work, bitmask)

    def rest(self) -> None:
        """Give the workspace back, between walks; the next walk makes another."""
        self._work = None

    def _base(self, configuration: Configuration) -> arrays.Base:
        size = self._sizes["window"]
        hypotheses = configuration.hypotheses
        windows = [list(islice(hypothesis.stack, size)) for hypothesis in hypotheses]
        obligations = [hypothesis.obligations for hypothesis in hypotheses]
        columns = _Columns()
        indentations = [columns.number(hypothesis.indentation) for hypothesis in hypotheses]
        return arrays.Base(
            parse_states=np.array(list(chain(*windows)), dtype=np.int32),
            offsets=np.cumsum([0, *map(len, windows)], dtype=np.int32),
            scanner_states=np.array([each.scanner_state for each in hypotheses], dtype=np.int32),
            obligations=np.array(list(chain(*obligations)), dtype=np.int32),
            obligation_offsets=np.cumsum([0, *map(len, obligations)], dtype=np.int32),
            context=configuration.context,
            indentations=np.array(indentations, dtype=np.int64),
            columns=np.array(columns.columns, dtype=np.int32),
            column_parents=np.array(columns.parents, dtype=np.int32),
            column_depths=np.array(columns.depths, dtype=np.int32),
        )

    def _enlarge(self, result: int) -> None:
        """Make larger what proved too small."""
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

    def _workspace(self) -> arrays.Workspace:
        sizes = {name: size for name, size in self._sizes.items() if name != "window"}
        return arrays.workspace(
            frames=self._trie.max_depth + 2,
            n_terminal_ids=self._tables.ignored + 2,
            n_tokens=len(self._arrays.token_ids),
            **sizes,
        )


def _kinds(scanner: Scanner) -> npt.NDArray[np.int8]:
    kinds = np.where(scanner.match != NO_MATCH, arrays.MATCHING, arrays.RUNNING)
    kinds[scanner.is_assertion] = arrays.ASSERTION
    kinds[DEAD] = arrays.DYING
    return kinds.astype(np.int8)


def _line_tables(reader: IndentationReader, assurance: Assurance) -> tuple[Any, ...]:
    """Return the last of the tables: those of an indenter."""
    lines = reader.indentation_rules
    return (
        True,
        lines.roles,
        lines.places,
        reader.kinds,
        reader.is_newline | reader.is_counted,
        reader.is_counted,
        reader.is_free,
        assurance.is_begun,
        lines.newline,
        lines.indent,
        lines.dedent,
        lines.tab,
        lines.max_brackets,
        lines.max_indents,
        lines.max_digits,
    )


class _Columns:
    """Numbers layouts, and puts their columns into cells that they share."""

    def __init__(self) -> None:
        self.columns = [COLUMN_0]
        self.parents = [arrays.NONE]
        self.depths = [0]
        self._known: dict[tuple[int, int], int] = {}

    def number(self, indentation: Indentation) -> int:
        """Return a layout as one number."""
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

    def __init__(
        self, work: arrays.Workspace, configuration: Configuration, offsets: Int32Array
    ) -> None:
        self._work = work
        self._offsets = offsets
        self._known: dict[int, tuple[Stack, tuple[int, int]]] = {}
        for home, hypothesis in enumerate(configuration.hypotheses):
            for cell, stack in self._base(home, hypothesis.stack):
                self._known[cell] = (stack, (home, stack.height))

    def _base(self, home: int, stack: Stack) -> Iterator[tuple[int, Stack]]:
        below: Stack | None = stack
        for cell in range(int(self._offsets[home]), int(self._offsets[home + 1])):
            assert below is not None, "the window is part of the stack"
            yield cell, below
            below = below.below

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
