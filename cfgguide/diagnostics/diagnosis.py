"""Says whether a text is a sentence, and if not, where and what was expected.

In: a recogniser and its liveness, and a text. Out: a :class:`Diagnosis`, and the lexemes of a
sentence. The text is refused at the first byte after which no sentence can follow.
"""

from __future__ import annotations

import codecs
from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

from cfgguide.grammar.grammar import Grammar
from cfgguide.index.compiler import compile_recognizer
from cfgguide.lexer.scanner import NO_MATCH
from cfgguide.limits import Limits
from cfgguide.liveness.liveness import Liveness
from cfgguide.parser.indentation import FLAT
from cfgguide.parser.stack import Stack
from cfgguide.parser.table import START_STATE
from cfgguide.recognizer.recognizer import Configuration, Recognizer
from cfgguide.vocabulary.spelling import Spelling

_EXCERPT = 60  # characters of the line shown
_STRIDE = 1024  # bytes between configurations that are kept


class Lexeme(NamedTuple):
    """A lexeme of a text: its terminal, and where it starts and ends, in bytes."""

    terminal: str
    start: int
    end: int


@dataclass(frozen=True)
class Diagnosis:
    """What a text is to a grammar.

    Attributes
    ----------
    is_sentence : bool
        Whether Lark parses it.
    offset : int
        The first byte after which no sentence can follow; the length of the text if all of it
        can be continued.
    line, column : int
        That place, counted in characters from 1.
    expected : tuple of str
        Terminals that could stand there; ``$END`` for the end of the text.
    excerpt : str
        The line, with a caret below the place.
    """

    is_sentence: bool
    offset: int
    line: int
    column: int
    expected: tuple[str, ...]
    excerpt: str

    def __str__(self) -> str:
        if self.is_sentence:
            return "is a sentence"
        return (
            f"line {self.line}, column {self.column}: expected one of: "
            f"{', '.join(self.expected) or 'the rest of an ignored lexeme'}\n{self.excerpt}"
        )


def check(grammar: Grammar, text: str | bytes, *, limits: Limits | None = None) -> Diagnosis:
    r"""Return whether a text is a sentence of a grammar, and if not, where and what was expected.

    Parameters
    ----------
    grammar : Grammar
        The language.
    text : str or bytes
        The whole text; a str stands for its UTF-8.
    limits : Limits, optional
        What compiling the grammar may cost.

    Raises
    ------
    GrammarError, PatternError, LimitError
        As :func:`cfgguide.compile`.

    Examples
    --------
    >>> from cfgguide import Grammar
    >>> sums = Grammar('start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/')
    >>> check(sums, "1+23").is_sentence
    True
    >>> print(check(sums, "1+*"))
    line 1, column 3: expected one of: NUMBER
    1+*
      ^
    """
    recognizer = compile_recognizer(grammar, limits=limits)
    liveness = Liveness(recognizer, Spelling.of_all_bytes())
    return diagnose(recognizer, liveness, text.encode() if isinstance(text, str) else text)


def diagnose(recognizer: Recognizer, liveness: Liveness, text: bytes) -> Diagnosis:
    """Return whether a text is a sentence, or where it stops to be the start of one."""
    read = _Read(recognizer, text)
    if read.length == len(text) and recognizer.is_sentence(read.last):
        return _diagnosis(text, len(text), (), is_sentence=True)
    offset, configuration = read.last_live(liveness)
    return refused_at(text, offset, liveness.expected(configuration))


def refused_at(text: bytes, offset: int, expected: tuple[str, ...]) -> Diagnosis:
    """Return the diagnosis of a text of which it is known where it is refused."""
    return _diagnosis(text, offset, expected, is_sentence=False)


class _Read:
    """A text read as far as it is lexed and parsed without error."""

    def __init__(self, recognizer: Recognizer, text: bytes) -> None:
        self._recognizer = recognizer
        self._text = text
        self._marks = [recognizer.initial]  # after every _STRIDE bytes
        self.last = recognizer.initial
        self.length = 0
        for byte in text:
            following = recognizer.advance(self.last, bytes([byte]))
            if following is None:
                break
            self.last = following
            self.length += 1
            if self.length % _STRIDE == 0:
                self._marks.append(following)

    def last_live(self, liveness: Liveness) -> tuple[int, Configuration]:
        """Return the last place from which a sentence can follow: before it all places can."""
        mark = _last_live(liveness, self._marks)
        between = [self._marks[mark]]
        for offset in range(mark * _STRIDE, min(self.length, (mark + 1) * _STRIDE - 1)):
            following = self._recognizer.advance(between[-1], self._text[offset : offset + 1])
            assert following is not None, "it was read before"
            between.append(following)
        last = _last_live(liveness, between)
        return mark * _STRIDE + last, between[last]


def _last_live(liveness: Liveness, configurations: list[Configuration]) -> int:
    """Return the number of the last live one; all before it are live."""
    return (
        bisect_left(configurations, True, lo=1, key=lambda each: not liveness.decide(each).is_live)
        - 1
    )


def _diagnosis(
    text: bytes, offset: int, expected: tuple[str, ...], *, is_sentence: bool
) -> Diagnosis:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    before = decoder.decode(text[:offset])  # without a character that the place is inside of
    after = decoder.decode(text[offset:], final=True)
    line_start = before.rfind("\n") + 1
    column = len(before) - line_start + 1
    line = (before[line_start:] + after).split("\n")[0].removesuffix("\r")
    first = max(0, column - 1 - _EXCERPT // 2)
    shown = "".join(
        character if character.isprintable() else " "  # one column each; no terminal controls
        for character in line[first : first + _EXCERPT]
    )
    caret = " " * (column - 1 - first) + "^"
    return Diagnosis(
        is_sentence, offset, before.count("\n") + 1, column, expected, f"{shown}\n{caret}"
    )


def lexemes(recognizer: Recognizer, text: bytes) -> list[Lexeme]:
    """Return the lexemes of a text, up to the first that is not ended by a match.

    >>> from cfgguide import Grammar

    >>> from cfgguide.index import compiler
    >>> recognizer = compiler.compile_recognizer(Grammar.bundled("json"))
    >>> [tuple(lexeme) for lexeme in lexemes(recognizer, b"[10]")]
    [('LSQB', 0, 1), ('NUMBER', 1, 3), ('RSQB', 3, 4)]
    """
    found: list[Lexeme] = []
    names = (*recognizer.parse_table.terminals, "(ignored)")
    stack, indentation = Stack(START_STATE), FLAT
    scanner, start, context = recognizer.scanner, 0, 0
    while start < len(text):
        terminal_id, end = scanner.longest(recognizer.start(stack, context), text, start)
        if terminal_id == NO_MATCH:
            break
        found.append(Lexeme(names[min(terminal_id, len(names) - 1)], start, end))
        if recognizer.indentation_reader is not None:
            indentation = recognizer.indentation_reader.read(
                indentation, text[start:end], terminal_id
            )
        shifted = recognizer.shift(stack, indentation, terminal_id)
        if shifted is None:
            break
        stack, indentation = shifted
        for byte in text[start:end]:
            context = int(
                recognizer.scanner.contexts[context, recognizer.scanner.byte_classes[byte]]
            )
        start = end
    return found
