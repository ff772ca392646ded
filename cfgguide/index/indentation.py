"""What masks depend on where there is an indenter, beside the lexer and the stack.

In: a recogniser with rules of lines, and a vocabulary. Out: a :class:`IndentationKeys`, which tells
for a configuration what its mask certainly depends on, and what of its layout was read.

Most masks depend neither on columns nor on the number of brackets. Whether the text may end
depends on the whole stack, as all open blocks have to be closed: so that is found out for each
configuration, and the masks of those that may end and of those that may not are kept apart.
"""

from __future__ import annotations

from functools import cached_property

from cfgguide.index.configuration_trie import IndentationKey
from cfgguide.mask.arrays import COLUMNS_READ, LEVEL_READ
from cfgguide.recognizer.recognizer import Configuration, Recognizer
from cfgguide.vocabulary.vocabulary import Vocabulary


class IndentationKeys:
    """Tells what masks depend on.

    Parameters
    ----------
    recognizer : Recognizer
        With rules of lines.
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

        Where a token could come to a limit, all of the layout counts.
        """
        equivalence_classes, brackets = self._most_opened
        indentation_rules = self._reader.indentation_rules
        is_tight = any(
            each.indentation.level >= indentation_rules.max_brackets - brackets
            or len(each.indentation.columns) > indentation_rules.max_indents - equivalence_classes
            for each in configuration.hypotheses
        )
        is_sentence = self._recognizer.is_sentence(configuration)
        columns = tuple(
            0
            if self._reader.is_counted[each.scanner_state]
            and each.indentation.column < self._few_digits
            else each.indentation.column
            for each in configuration.hypotheses
        )
        return IndentationKey(is_sentence, LEVEL_READ | COLUMNS_READ if is_tight else 0, columns)

    def read_to_decide(self, configuration: Configuration) -> int:
        """Return what of its layouts was read to decide whether a configuration is live."""
        reads = 0
        for state, *_ in configuration.hypotheses:
            if self._reader.is_newline[state]:
                is_free = self._reader.is_free[state]
                reads |= LEVEL_READ if is_free else LEVEL_READ | COLUMNS_READ
        return reads

    @cached_property
    def _few_digits(self) -> int:
        """So few digits that no token can make them too many."""
        return self._reader.indentation_rules.max_digits - self._vocabulary.trie.max_depth - 1

    @cached_property
    def _most_opened(self) -> tuple[int, int]:
        """How many blocks and how many brackets a token can open, at most."""
        opening = self._reader.opening_bytes
        tokens = [token for token in self._vocabulary.tokens if token]
        equivalence_classes = max(
            (token.count(b"\n") + token.count(b"\r") for token in tokens), default=0
        )
        brackets = max((sum(map(opening.__contains__, token)) for token in tokens), default=0)
        return equivalence_classes + 1, brackets + 1  # and one by the lexeme that is being read
