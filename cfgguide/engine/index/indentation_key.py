"""What masks depend on besides the lexer and the stack, if there is an indenter.

In: a recogniser with an indenter, and a vocabulary. Out: :class:`IndentationKeys`, which tell for a
configuration what its mask certainly depends on, and what of its indentation was read.

Most masks depend neither on columns nor on the number of brackets. Whether the text may end depends
on the whole stack, because all open blocks must be closed. So it is found out for each
configuration, and those that may end have other masks than those that may not.
"""

from __future__ import annotations

from functools import cached_property

from cfgguide.engine.index.configuration_trie import IndentationKey
from cfgguide.engine.machine.recognizer import Configuration, Recognizer
from cfgguide.engine.masks.arrays import COLUMNS_READ, LEVEL_READ
from cfgguide.engine.vocabulary.vocabulary import Vocabulary


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
        opening = self._reader.opening_bytes
        tokens = [token for token in self._vocabulary.tokens if token]
        blocks = max((token.count(b"\n") + token.count(b"\r") for token in tokens), default=0)
        brackets = max((sum(map(opening.__contains__, token)) for token in tokens), default=0)
        return blocks + 1, brackets + 1  # and one by the lexeme that is being read
