"""Reads the words of a text from left to right.

In: a :class:`~cfgguide.grammar.rules.source.Source`. Out: its words one by one, and errors
about the one that comes next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from cfgguide.errors import CfgGuideError, LimitError
from cfgguide.grammar.llguidance.dialect_words import Word, words_of
from cfgguide.grammar.rules.source import Source

#: Brackets and grammars inside each other.
MAX_NESTING = 50
Result = TypeVar("Result")


class Cursor:
    """A place among the words of a text.

    Parameters
    ----------
    source : Source
        The text.

    Raises
    ------
    GrammarError
        If a place in the text is no word.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._words = list(words_of(source))
        self._next = 0
        self._depth = 0

    @property
    def word(self) -> Word:
        """The next word."""
        return self._words[self._next]

    @property
    def second(self) -> Word:
        """The word after the next one, if that is not the last."""
        return self._words[min(self._next + 1, len(self._words) - 1)]

    def take(self) -> Word:
        """Return the next word, and go on."""
        word = self.word
        self._next += word.kind != "end"
        return word

    def is_at(self, *marks: str) -> bool:
        """Return whether one of some marks comes next."""
        return self.word.kind == "mark" and self.word.text in marks

    def took(self, mark: str) -> bool:
        """Return whether a mark came next, and go on if so."""
        is_next = self.is_at(mark)
        self._next += is_next
        return is_next

    def took_on_a_line(self, mark: str) -> bool:
        """Return whether a mark came next, on this line or a later one, and go on if so."""
        begin = self._next
        self.skip_lines()
        if self.took(mark):
            return True
        self._next = begin
        return False

    def expect(self, mark: str, why: str) -> Word:
        """Return the mark that has to come next, and go on.

        Raises
        ------
        GrammarError
            If it does not.
        """
        if not self.is_at(mark):
            self.fail(f"expected {mark} {why}, not {shown(self.word)}")
        return self.take()

    def expect_kind(self, kind: str, what: str) -> Word:
        """Return the word of a kind that has to come next, and go on; raises as :meth:`expect`."""
        if self.word.kind != kind:
            self.fail(f"expected {what}, not {shown(self.word)}")
        return self.take()

    def skip_lines(self) -> None:
        """Go on to the next word that is no end of a line."""
        while self.word.kind == "newline":
            self._next += 1

    def deeper(self, read: Callable[[], Result]) -> Result:
        """Return what is read one level deeper.

        Raises
        ------
        LimitError
            If there are too many levels.
        """
        self._depth += 1
        if self._depth > MAX_NESTING:
            said = f"more than {MAX_NESTING} brackets inside each other; make rules of some"
            raise self._source.error(self.word.at, said, LimitError)
        found = read()
        self._depth -= 1
        return found

    def fail(self, said: str, at: int | None = None) -> NoReturn:
        """Raise an error about the next word, or about another place."""
        raise self.error(said, at)

    def error(self, said: str, at: int | None = None) -> CfgGuideError:
        """Return an error about the next word, or about another place."""
        return self._source.error(self.word.at if at is None else at, said)


def shown(word: Word) -> str:
    """Return a word as messages show it."""
    names = {"end": "the end of the text", "newline": "the end of the line"}
    return names.get(word.kind, word.text if len(word.text) <= 30 else f"{word.text[:30]}...")
