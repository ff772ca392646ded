"""Says whether a text is a sentence, and if not, where and what was expected.

In: a recogniser and its liveness, and a text. Out: a :class:`Diagnosis`, and the lexemes of a
sentence. The text is refused at the first byte after which no sentence can follow.
"""

from __future__ import annotations

import codecs
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from typing import TypeVar

from cfgguide.base.limits import Limits
from cfgguide.compiler import compile_machine
from cfgguide.diagnostics.explanation import Lexeme
from cfgguide.diagnostics.trace import Lexing, name_of
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.machine.protocol import AnyMachine, Reader
from cfgguide.engine.machine.recognizer import Configuration, Recognizer
from cfgguide.engine.vocabulary.notebook import BAD, GOOD, coloured
from cfgguide.errors import GrammarError, LimitError
from cfgguide.grammar.lr.indentation import FLAT
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import START_STATE

_EXCERPT = 60  # characters of the line shown
_STRIDE = 1024  # bytes between configurations that are remembered
_Step = TypeVar("_Step")


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
    excerpt: str = field(repr=False)

    def __str__(self) -> str:
        if self.is_sentence:
            return "is a sentence"
        return (
            f"line {self.line}, column {self.column}: expected one of: "
            f"{', '.join(self.expected) or 'the rest of an ignored lexeme'}\n{self.excerpt}"
        )

    def _repr_html_(self) -> str:
        """For notebooks: green for a sentence, red for the place where a text is refused."""
        first, _, rest = str(self).partition("\n")
        verdict = coloured([(first, GOOD if self.is_sentence else BAD)])
        return f"<p>{verdict}</p>" + (f"<pre>{escape(rest)}</pre>" if rest else "")


def check(grammar: object, text: str | bytes, *, limits: Limits | None = None) -> Diagnosis:
    r"""Return whether a text is a sentence of a grammar, and if not, where and what was expected.

    Parameters
    ----------
    grammar : Grammar, type, mapping, ...
        The language; anything that :func:`cfgguide.output_types.output_type` takes.
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
    if not isinstance(text, str | bytes):
        raise GrammarError(f"a text is a str or bytes, not {type(text).__name__}")
    # What is half a surrogate pair is no character: no sentence has its bytes.
    written = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return diagnose(compile_machine(grammar, limits=limits), written)


def diagnose(machine: AnyMachine, text: bytes) -> Diagnosis:
    """Return whether a text is a sentence, and if not, the first byte that no sentence has there.

    Raises
    ------
    LimitError
        If there are more ways to read it than `max_hypotheses`, and those that masks follow do not
        make it a sentence; or if reading a text of a grammar takes longer than a step may.
    """
    # What schemas and patterns read is read in time that is linear in the text alone.
    with machine.steps.begun() if isinstance(machine, LrMachine) else nullcontext():
        return _diagnosed(machine, text)


def _diagnosed(machine: AnyMachine, text: bytes) -> Diagnosis:
    marks = []
    try:
        for n_read, last in enumerate(_read(machine, machine.initial, text)):
            if n_read % _STRIDE == 0:
                marks.append(last)
    except LimitError:
        followed = machine.advance(machine.initial, text)
        if followed is None or not machine.is_sentence(followed):
            raise
        n_read, last = len(text), followed
    if n_read == len(text) and machine.is_sentence(last):
        return _diagnosis(text, len(text), (), is_sentence=True)

    mark = last_live(marks, machine.is_live)
    start = mark * _STRIDE
    configurations = list(_read(machine, marks[mark], text[start : start + _STRIDE - 1]))
    n_live = last_live(configurations, machine.is_live)
    return refused_at(text, start + n_live, machine.expected(configurations[n_live]))


def refused_at(text: bytes, offset: int, expected: tuple[str, ...]) -> Diagnosis:
    """Return the diagnosis of a text that is known to be refused at a byte."""
    return _diagnosis(text, offset, expected, is_sentence=False)


def last_live(steps: Sequence[_Step], is_live: Callable[[_Step], bool]) -> int:
    """Return the index of the last step of reading after which a sentence can follow.

    One can follow after the first, and after every step before a live one.
    """
    return bisect_left(steps, True, lo=1, key=lambda step: not is_live(step)) - 1


def _read(
    machine: Reader[Configuration], configuration: Configuration, text: bytes
) -> Iterator[Configuration]:
    """Yield the configuration before a text and after each of its bytes, while it is read."""
    yield configuration
    for byte in text:
        following = machine.read(configuration, bytes([byte]))
        if following is None:
            return
        configuration = following
        yield configuration


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
    """Return the lexemes of a text, up to the first place where none matches or may stand.

    Examples
    --------
    >>> from cfgguide import Grammar
    >>> from cfgguide.index import compile_recognizer
    >>> recognizer = compile_recognizer(Grammar.bundled("json"))
    >>> [(lexeme.terminal, lexeme.text) for lexeme in lexemes(recognizer, b"[10]")]
    [('LSQB', b'['), ('NUMBER', b'10'), ('RSQB', b']')]
    """
    scanner, reader = recognizer.scanner, recognizer.indentation_reader
    if scanner.asks_each:
        return _lexemes_of_a_way(recognizer, text)
    stack, indentation = Stack(START_STATE), FLAT
    found: list[Lexeme] = []
    start = context = 0
    while start < len(text):
        terminal_id, end = scanner.longest(recognizer.start(stack, context), text, start)
        if terminal_id == NO_MATCH:
            break
        lexeme = Lexeme(name_of(recognizer, terminal_id), start, text[start:end])
        found.append(lexeme)
        if reader is not None:
            indentation = reader.read(indentation, lexeme.text, terminal_id)
        shifted = recognizer.shifts(stack, indentation, terminal_id)
        if not shifted:
            break
        stack, indentation = shifted[0]
        for byte in lexeme.text:
            context = int(scanner.contexts[context, scanner.byte_classes[byte]])
        start = end
    return found


def _lexemes_of_a_way(recognizer: Recognizer, text: bytes) -> list[Lexeme]:
    """Return the lexemes of one way to read a text, one that makes it a sentence if there is one.

    They are up to the first byte that Lark refuses.
    """
    begun = Lexing.of(recognizer)
    (lexing,) = deque(chain([begun], begun.steps(recognizer, text)), maxlen=1)
    hypothesis, way = lexing.likeliest(recognizer)
    found = [*way.lexemes(text)]
    terminal_id = int(recognizer.scanner.match[hypothesis.scanner_state])
    if terminal_id != NO_MATCH:
        name = name_of(recognizer, terminal_id)
        found.append(Lexeme(name, way.start, text[way.start : lexing.n_bytes]))
    return found
