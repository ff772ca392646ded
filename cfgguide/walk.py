"""Walks the vocabulary trie from a configuration: which tokens lex and parse, and where they lead.

In: a :class:`~cfgguide.configuration.Recognizer`, a vocabulary trie and a configuration. Out: an
:class:`Outcomes`: the tokens grouped by the configuration that each leads to, and how much of the
stack was read. Many tokens lead to few configurations, so what costs more than a step (liveness)
is asked once per group.

The kernel gets only a window of the stack's top, since most walks read no further; if one does,
the walk is repeated with a larger window, and likewise for every other size that proves too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from cfgguide import kernel_types, kernels
from cfgguide.configuration import Configuration, Hypothesis, Recognizer
from cfgguide.errors import LimitError
from cfgguide.fsm import DEAD
from cfgguide.kernel_types import Int32Array
from cfgguide.scanner import NO_MATCH, Scanner
from cfgguide.stack import Stack
from cfgguide.vocabulary_trie import VocabularyTrie

MAX_CLAIMS = 1 << 11  # of a hypothesis
MAX_SIZE = 1 << 26  # of any array of the workspace, in rows


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


@dataclass(frozen=True)
class Outcomes:
    """What a walk found.

    Attributes
    ----------
    token_ids : int32, shape (n_tokens,)
        The tokens that are lexed and parsed without error.
    token_outcomes : int32, shape (n_tokens,)
        For each the number of its outcome.
    outcomes : tuple of Outcome
        Distinct configurations.
    is_sentence : bool
        Whether the text may end before any token.
    inspected : tuple of int
        Per hypothesis of the base how many of its topmost states were read.
    """

    token_ids: Int32Array
    token_outcomes: Int32Array
    outcomes: tuple[Outcome, ...]
    is_sentence: bool
    inspected: tuple[int, ...]


class Walker:
    """Runs the kernel; owns its workspace, and so serves one thread at a time."""

    def __init__(self, recognizer: Recognizer, trie: VocabularyTrie) -> None:
        table, scanner = recognizer.parse_table, recognizer.scanner
        self._tables = kernel_types.Tables(
            scanner.transitions,
            scanner.byte_classes,
            scanner.match,
            scanner.asks,
            scanner.is_asking,
            _kinds(scanner),
            scanner.is_start,
            scanner.blocks,
            scanner.representatives,
            scanner.starts,
            scanner.contexts,
            table.set_of_state,
            table.action,
            table.goto,
            table.lengths,
            table.left_sides,
            scanner.ignored,
            table.end_state,
            table.most_reductions,
        )
        self._trie = trie
        self._budget = recognizer.budget
        self._sizes = {"window": 32, "cells": 1024, "hypotheses": 4, "claims": 8, "outcomes": 1024}
        self._work = self._workspace()

    def walk(self, configuration: Configuration) -> Outcomes:
        """Return the tokens that Lark does not refuse at once, grouped by where they lead.

        Raises
        ------
        LimitError
            If the walk needs more than `MAX_SIZE` cells, hypotheses or outcomes.
        """
        while True:
            base = self._base(configuration)
            result = kernels.walk(self._tables, self._trie.arrays, self._work, base)
            if result == kernel_types.DONE:
                return self._outcomes(configuration, base.offsets)
            self._enlarge(result)

    def _base(self, configuration: Configuration) -> kernel_types.Base:
        size = self._sizes["window"]
        hypotheses = configuration.hypotheses
        windows = [list(islice(hypothesis.stack, size)) for hypothesis in hypotheses]
        claims = [hypothesis.claims for hypothesis in hypotheses]
        return kernel_types.Base(
            parse_states=np.array(list(chain(*windows)), dtype=np.int32),
            offsets=np.cumsum([0, *map(len, windows)], dtype=np.int32),
            scanner_states=np.array([each.scanner_state for each in hypotheses], dtype=np.int32),
            claims=np.array(list(chain(*claims)), dtype=np.int32),
            claim_offsets=np.cumsum([0, *map(len, claims)], dtype=np.int32),
            context=configuration.context,
        )

    def _enlarge(self, result: int) -> None:
        """Make larger what proved too small."""
        name = {
            kernel_types.TOO_SHALLOW: "window",
            kernel_types.TOO_MANY_CELLS: "cells",
            kernel_types.TOO_MANY_HYPOTHESES: "hypotheses",
            kernel_types.TOO_MANY_CLAIMS: "claims",
            kernel_types.TOO_MANY_OUTCOMES: "outcomes",
        }[result]
        if name == "hypotheses":
            self._budget.check("max_hypotheses", self._sizes[name], "the grammar")
        self._sizes[name] *= 4
        if self._sizes[name] > (MAX_CLAIMS if name == "claims" else MAX_SIZE):
            raise LimitError(f"a mask needs more than {MAX_SIZE} {name}: simplify the grammar")
        if name != "window":
            self._work = self._workspace()

    def _workspace(self) -> kernel_types.Workspace:
        def array(*shape: int) -> Int32Array:
            return np.zeros(shape, dtype=np.int32)

        cells, hypotheses = self._sizes["cells"], self._sizes["hypotheses"]
        claims, outcomes = self._sizes["claims"], self._sizes["outcomes"]
        frames = self._trie.max_depth + 2
        n_labels = self._tables.ignored + 2
        n_tokens = len(self._trie.arrays.token_ids)
        return kernel_types.Workspace(
            cell_state=array(cells),
            cell_parent=array(cells),
            first_child=array(cells),
            next_sibling=array(cells),
            cell_home=array(cells),
            commits=array(cells, n_labels),
            frame_n=array(frames),
            frame_context=array(frames),
            frame_is_plain=np.zeros(frames, dtype=np.bool_),
            frame_state=array(frames, hypotheses),
            frame_cell=array(frames, hypotheses),
            frame_n_claims=array(frames, hypotheses),
            frame_claims=array(frames, hypotheses, claims),
            open_state=array(claims),
            open_n_claims=array(claims),
            open_n_tasks=array(claims),
            open_claims=array(claims, claims),
            open_task=array(claims, claims),
            outcome_n=array(outcomes),
            outcome_context=array(outcomes),
            outcome_state=array(outcomes, hypotheses),
            outcome_cell=array(outcomes, hypotheses),
            outcome_n_claims=array(outcomes, hypotheses),
            outcome_claims=array(outcomes, hypotheses, claims),
            outcome_hash=array(2 * outcomes),
            token_id=array(n_tokens),
            token_outcome=array(n_tokens),
            inspected=array(hypotheses),
            counts=array(4),
        )

    def _outcomes(self, configuration: Configuration, offsets: Int32Array) -> Outcomes:
        work = self._work
        n_tokens = int(work.counts[kernel_types.N_TOKENS])
        cells = _Cells(work, configuration, offsets)
        return Outcomes(
            token_ids=work.token_id[:n_tokens].copy(),
            token_outcomes=work.token_outcome[:n_tokens].copy(),
            outcomes=tuple(
                _outcome(work, cells, index)
                for index in range(int(work.counts[kernel_types.N_OUTCOMES]))
            ),
            is_sentence=bool(work.counts[kernel_types.IS_SENTENCE]),
            inspected=tuple(work.inspected[: len(configuration.hypotheses)].tolist()),
        )


def _kinds(scanner: Scanner) -> npt.NDArray[np.int8]:
    kinds = np.where(scanner.match != NO_MATCH, kernel_types.MATCHING, kernel_types.RUNNING)
    kinds[scanner.is_asking] = kernel_types.ASKING
    kinds[DEAD] = kernel_types.DYING
    return kinds.astype(np.int8)


def _outcome(work: kernel_types.Workspace, cells: _Cells, index: int) -> Outcome:
    hypotheses, origins = [], []
    for number in range(int(work.outcome_n[index])):
        stack, origin = cells.stack(int(work.outcome_cell[index, number]))
        n_claims = int(work.outcome_n_claims[index, number])
        claims = tuple(work.outcome_claims[index, number, :n_claims].tolist())
        hypotheses.append(Hypothesis(int(work.outcome_state[index, number]), claims, stack))
        origins.append(origin)
    context = int(work.outcome_context[index])
    return Outcome(Configuration(tuple(hypotheses), context), tuple(origins))


class _Cells:
    """Turns the kernel's cells back into stacks."""

    def __init__(
        self, work: kernel_types.Workspace, configuration: Configuration, offsets: Int32Array
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
