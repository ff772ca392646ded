"""Under what the masks of an LR machine are remembered: paths of configurations.

In: a configuration. Out: an :class:`LrKey`, whose path begins with what the configuration knows of
the lexer and goes on with the states of its stacks, level by level.

With an indenter, most masks depend neither on columns nor on the number of brackets. Whether the
text may end depends on the whole stack, because all open blocks must be closed. So it is found out
for each configuration, and those that may end have other masks than those that may not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from itertools import islice, zip_longest
from typing import NamedTuple

import numpy as np

from cfgguide.engine.index.configuration_trie import Mask, Path
from cfgguide.engine.machine.recognizer import Configuration, Recognizer
from cfgguide.engine.masks.arrays import COLUMNS_READ, LEVEL_READ
from cfgguide.engine.vocabulary.trie import byte_counter
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.grammar.lr.indentation import Indentation
from cfgguide.grammar.lr.stack import Stack


class IndentationKey(NamedTuple):
    """What a mask depends on besides the lexer and the stack, if there is an indenter.

    Attributes
    ----------
    is_sentence : bool
        Whether the text may end. It depends on the whole stack, so the caller finds out.
    reads : int
        What the mask certainly needs of the indentation: `LEVEL_READ`, `COLUMNS_READ`, as bits.
    columns : tuple of int
        Per hypothesis what matters of `Indentation.column`.
    """

    is_sentence: bool
    reads: int
    columns: tuple[int, ...]

    @property
    def possible_reads(self) -> tuple[int, ...]:
        """What the mask may need of the indentation, `reads` included."""
        every = (0, LEVEL_READ, COLUMNS_READ, LEVEL_READ | COLUMNS_READ)
        return tuple(reads for reads in every if reads | self.reads == reads)


class LrKey(NamedTuple):
    """Under what the mask of a configuration is remembered.

    Attributes
    ----------
    configuration : Configuration
        Whose mask it is.
    indentation : IndentationKey or None
        What it depends on besides the lexer and the stack; None without an indenter.
    """

    configuration: Configuration
    indentation: IndentationKey | None = None

    def candidates(self, depth: int) -> Iterable[Path]:
        """Return the paths under which its mask may be.

        With an indenter, one for each choice of what a mask may need of the indentation. At most
        one has an entry: what is read first depends on the rest of the path alone.
        """
        if self.indentation is None:
            return (path_of(self.configuration, depth),)
        _, *stacks = path_of(self.configuration, depth, self.indentation)
        return [
            (lexers_part(self.configuration, self.indentation._replace(reads=reads)), *stacks)
            for reads in self.indentation.possible_reads
        ]

    def path(self, mask: Mask) -> Path:
        """Return the path of what a mask depends on."""
        indentation = self.indentation
        if indentation is not None:
            indentation = indentation._replace(reads=indentation.reads | mask.reads)
        return path_of(self.configuration, mask.depth, indentation)


class IndentationKeys:
    """Tells what masks depend on.

    Parameters
    ----------
    recognizer : Recognizer
        With an indenter.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    """

    def __init__(self, recognizer: Recognizer, vocabulary: Vocabulary) -> None:
        assert recognizer.indentation_reader is not None, "there is an indenter"
        self._recognizer = recognizer
        self._reader = recognizer.indentation_reader
        self._vocabulary = vocabulary

    def part(self, configuration: Configuration) -> IndentationKey:
        """Return what is known before the mask is made.

        Where a token could reach a limit, the whole indentation matters.
        """
        blocks, brackets = self._max_opened
        rules = self._reader.indentation_rules
        is_tight = any(
            indentation.level >= rules.max_brackets - brackets
            or len(indentation.columns) > rules.max_indents - blocks
            for _, _, _, indentation in configuration.hypotheses
        )
        is_sentence = self._recognizer.is_sentence(configuration)
        columns = tuple(
            0
            if self._reader.is_counted[state] and indentation.column < self._few_digits
            else indentation.column
            for state, _, _, indentation in configuration.hypotheses
        )
        return IndentationKey(is_sentence, LEVEL_READ | COLUMNS_READ if is_tight else 0, columns)

    def read_to_decide(self, configuration: Configuration) -> int:
        """Return what was read of its indentations to decide whether a configuration is live."""
        reads = 0
        for state, *_ in configuration.hypotheses:
            if self._reader.is_newline[state]:
                is_free = self._reader.is_free[state]
                reads |= LEVEL_READ if is_free else LEVEL_READ | COLUMNS_READ
        return reads

    @cached_property
    def _few_digits(self) -> int:
        """The number of digits below which no token can make them too many."""
        return self._reader.indentation_rules.max_digits - self._vocabulary.trie.max_depth - 1

    @cached_property
    def _max_opened(self) -> tuple[int, int]:
        """The most blocks and the most brackets that a token can open."""
        data, count = byte_counter(self._vocabulary.tokens)

        def most(counted: Iterable[int]) -> int:
            """Return how many of some bytes a token holds at most."""
            return int(count(np.isin(data, [*counted])).max())

        blocks, brackets = most(b"\n\r"), most(self._reader.opening_bytes)
        return blocks + 1, brackets + 1  # and one by the lexeme that is being read


def path_of(
    configuration: Configuration, depth: int, indentation_key: IndentationKey | None = None
) -> Path:
    """Return the lexer's part, then the topmost `depth` states of the stacks, level by level."""
    hypotheses = configuration.hypotheses
    is_plain = len(hypotheses) == 1 and not hypotheses[0].obligations and not configuration.context
    # Such a path is made of numbers alone, which are quick to look up.
    if is_plain and indentation_key is None:
        state, stack = hypotheses[0].scanner_state, hypotheses[0].stack
        path = [state]
        cell: Stack | None = stack
        while cell is not None and depth:
            path.append(cell.state)
            cell = cell.below
            depth -= 1
        return tuple(path)
    levels = zip_longest(*(hypothesis.stack for hypothesis in hypotheses))
    if indentation_key is None:
        lexer = tuple((state, obligations) for state, obligations, _, _ in hypotheses)
        return ((lexer, configuration.context), *islice(levels, depth))
    return (lexers_part(configuration, indentation_key), *islice(levels, depth))


def lexers_part(configuration: Configuration, indentation_key: IndentationKey) -> Hashable:
    """Return the first part of a path, if there is an indenter."""
    parts = tuple(
        (
            hypothesis.scanner_state,
            hypothesis.obligations,
            _needed(hypothesis.indentation, column, indentation_key),
        )
        for hypothesis, column in zip(
            configuration.hypotheses, indentation_key.columns, strict=True
        )
    )
    return parts, configuration.context


def _needed(
    indentation: Indentation, column: int, indentation_key: IndentationKey
) -> tuple[int, ...]:
    """Return what is needed of an indentation as numbers; -1 for the level if it is not."""
    columns, level, _ = indentation
    if not indentation_key.reads:
        return (int(indentation_key.is_sentence), column)
    level = level if indentation_key.reads & LEVEL_READ else -1
    return (
        int(indentation_key.is_sentence),
        column,
        level,
        *(columns if indentation_key.reads & COLUMNS_READ else ()),
    )


def scanner_part(path: Path) -> Hashable:
    """Return the lexer's part of a path without what is needed of indentations."""
    lexer = path[0]
    if not isinstance(lexer, tuple):
        return lexer
    return tuple(part[:2] for part in lexer[0])
