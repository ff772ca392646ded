r"""Why a token may come next, or why not.

In: an index, the text so far, and a token or any bytes. Out: an :class:`Explanation`. If the token
is allowed it says which lexemes the token completes and which it leaves open; if not, at which of
its bytes it is refused, why, and what was expected there, with example texts.

The refused byte is the first after which no sentence can follow, whatever the tokens. Where all
bytes could stay, and only the vocabulary has no tokens for what must follow, no byte is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

from cfgguide import kept_assurances
from cfgguide.configuration import Configuration, Hypothesis, Recognizer
from cfgguide.index import Index
from cfgguide.lexing import IGNORED, Lexing, Way, ended, labels_ahead, name_of, shortest_texts
from cfgguide.line_names import NEWLINE
from cfgguide.liveness import Liveness
from cfgguide.parse_table import END
from cfgguide.scanner import NO_MATCH
from cfgguide.spelling import Spelling

_known: WeakKeyDictionary[Recognizer, Liveness] = WeakKeyDictionary()  # written in any bytes
_lock = threading.Lock()
_MOST_SHOWN = 12  # of expected terminals
_MOST_NAMES = 3  # of terminals that one lexeme may become
_MOST_READINGS = 2
_MOST_CHARACTERS = 40  # of a lexeme
AFTER_EOS = "the text has ended with EOS"


class Expected(NamedTuple):
    """A terminal that could stand at a place.

    Attributes
    ----------
    terminal : str
        Its name; ``$END`` for the end of the text.
    example : bytes or None
        A short text that could stand there and ends with a lexeme of it: a whole one, or the rest
        of one that was begun. None if none was found.
    """

    terminal: str
    example: bytes | None

    def __str__(self) -> str:
        is_named = not self.example
        return self.terminal if is_named else f"{self.terminal} {shown(self.example or b'')}"


class LexemeText(NamedTuple):
    """A lexeme and its terminal; ``(ignored)`` where the lexer drops it."""

    terminal: str
    text: bytes

    def __str__(self) -> str:
        return f"{self.terminal} {shown(self.text)}"


class OpenLexeme(NamedTuple):
    """A lexeme that may go on.

    Attributes
    ----------
    text : bytes
        Its bytes so far.
    ending : str or None
        The terminal that it is if it ends here; None if it cannot end here.
    terminals : tuple of str
        The terminals that it can become, here or later, and that the parser takes.
    """

    text: bytes
    ending: str | None
    terminals: tuple[str, ...]

    def __str__(self) -> str:
        may_end = f", which may end as {self.ending}" if self.ending is not None else ""
        return f"{names(self.terminals)} {shown(self.text)}{may_end}"


class Reading(NamedTuple):
    """One way to read a token behind the text so far.

    Attributes
    ----------
    lexemes : tuple of LexemeText
        The lexemes that the token completes, with those that were open and end because of it.
    open : OpenLexeme or None
        The lexeme that it leaves open.
    """

    lexemes: tuple[LexemeText, ...]
    open: OpenLexeme | None

    def __str__(self) -> str:
        parts = []
        if self.lexemes:
            parts.append(f"completes {', '.join(map(str, self.lexemes))}")
        if self.open is not None:
            parts.append(f"leaves open {self.open}")
        return " and ".join(parts) or "completes nothing"


@dataclass(frozen=True)
class Explanation:
    """Why a token may come next, or why not.

    Attributes
    ----------
    token_id : int or None
        The token; None if only bytes were asked about.
    token : bytes or None
        Its bytes; None if it spells no text.
    is_eos : bool
        Whether it is an EOS token.
    is_allowed : bool
        Whether it may come next.
    readings : tuple of Reading
        How the token is read, or its part before the refused byte: one for each way that the text
        to come may still make the right one.
    offset : int or None
        The byte of the token at which it is refused, from 0; None if it is allowed, spells no
        text, or is refused only because the vocabulary cannot spell what must follow.
    reason : str
        Why it is refused; empty if it is not.
    expected : tuple of Expected
        What could stand at the refused byte; behind the token if it is allowed.
    """

    token_id: int | None
    token: bytes | None
    is_eos: bool
    is_allowed: bool
    readings: tuple[Reading, ...]
    offset: int | None
    reason: str
    expected: tuple[Expected, ...]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.is_allowed:
            yield f"{self._name()} is allowed"
        elif self.offset is None or self.token is None:
            yield f"{self._name()} is refused: {self.reason}"
        else:
            byte = self.token[self.offset : self.offset + 1]
            yield f"{self._name()} is refused at byte {self.offset}, {shown(byte)}: {self.reason}"
        if self.is_allowed or self.offset:
            part = "it" if self.is_allowed else shown((self.token or b"")[: self.offset])
            for number, reading in enumerate(self.readings[:_MOST_READINGS]):
                yield f"  {'or ' * (number > 0)}{part} {reading}"
            if len(self.readings) > _MOST_READINGS:
                yield f"  or {len(self.readings) - _MOST_READINGS} more readings"
        if self.expected:
            place = "then may follow" if self.is_allowed else "expected there"
            found = [str(each) for each in self.expected[:_MOST_SHOWN]]
            more = len(self.expected) - _MOST_SHOWN
            yield f"  {place}: {', '.join(found)}{f' and {more} more' if more > 0 else ''}"

    def _name(self) -> str:
        if self.token_id is None:
            return shown(self.token or b"")
        spelled = "EOS" if self.is_eos else "no text" if self.token is None else shown(self.token)
        return f"token {self.token_id} ({spelled})"


def shown(data: bytes) -> str:
    r"""Return bytes as people read them, in quotes, cut at the front if they are long.

    >>> shown("\n\u00e9".encode()), shown(b"\xc3")
    ("'\\n\u00e9'", "'\\xc3'")
    """
    try:
        text = repr(data.decode())
    except UnicodeDecodeError:
        text = repr(data)[1:]
    return text if len(text) <= _MOST_CHARACTERS else f"{text[0]}…{text[-_MOST_CHARACTERS:]}"


def names(terminals: tuple[str, ...]) -> str:
    """Return the names of terminals of which one is meant."""
    more = len(terminals) - _MOST_NAMES
    return " or ".join(terminals[:_MOST_NAMES]) + (f" or {more} more" if more > 0 else "")


class Explainer:
    """Explains pieces of one text, one behind the other.

    Parameters
    ----------
    index : Index
        Of the grammar.
    before : bytes
        The text so far, after which a sentence can follow.
    """

    def __init__(self, index: Index, before: bytes = b"") -> None:
        self._index = index
        self._recognizer = index.recognizer
        self._judge = _Judge(index)
        self._text = b""
        self._lexing = Lexing.of(index.recognizer)
        self.advance(before)

    def advance(self, piece: bytes) -> None:
        """Go on behind a piece that may follow."""
        for byte in piece:
            lexing = self._lexing.after(self._recognizer, byte)
            assert lexing is not None, "a sentence can follow"
            self._lexing = lexing
        self._text += piece

    def explain_token(
        self, token_id: int, *, is_allowed: bool, is_finished: bool = False
    ) -> Explanation:
        """Return why a token may follow, or why not.

        Parameters
        ----------
        token_id : int
            The token; it need not be in the vocabulary.
        is_allowed : bool
            Whether the mask allows it.
        is_finished : bool
            Whether the text has ended with EOS.
        """
        vocabulary = self._index.vocabulary
        is_known = 0 <= token_id < vocabulary.size
        token = vocabulary.tokens[token_id] if is_known else None
        is_eos = token_id in vocabulary.eos_token_ids
        if is_finished:
            return Explanation(token_id, token, is_eos, False, (), None, AFTER_EOS, ())
        if token is not None:
            return self.explain(token, is_allowed=is_allowed, token_id=token_id)
        if not is_known:
            reason = f"it is not in the vocabulary of {vocabulary.size} ids"
        elif is_eos:
            reason = "" if is_allowed else "the text so far is not a sentence"
        else:
            reason = "it spells no text: it is special, or no token has this id"
        expected = self.expected(self._lexing) if reason else ()
        return Explanation(token_id, None, is_eos, is_allowed, (), None, reason, expected)

    def explain(
        self, piece: bytes, *, is_allowed: bool, token_id: int | None = None
    ) -> Explanation:
        """Return why a piece may follow, or why not.

        Parameters
        ----------
        piece : bytes
            The bytes of a token, or any others.
        is_allowed : bool
            Whether it may follow.
        token_id : int, optional
            The token whose bytes these are.
        """
        steps = [self._lexing]
        refused: Lexing | None = None
        for byte in piece:
            following = steps[-1].after(self._recognizer, byte)
            if following is None or not self._judge.is_live(following.configuration):
                refused = following
                break
            steps.append(following)
        is_read = len(steps) > len(piece)
        text = self._text + piece
        if is_allowed:
            reason = ""
        elif is_read:
            reason = "the grammar allows it, but the vocabulary cannot spell what must follow"
        else:
            reason = _Why(self._recognizer, self._judge, text).reason(steps[-1], refused)
        return Explanation(
            token_id,
            piece,
            False,
            is_allowed,
            tuple(self._readings(steps[-1], text)),
            None if is_read else len(steps) - 1,
            reason,
            self.expected(steps[-1]),
        )

    def expected(self, lexing: Lexing) -> tuple[Expected, ...]:
        """Return what may stand at a place, with examples, by name."""
        configuration, recognizer = lexing.configuration, self._recognizer
        labels = _labels_to_come(recognizer, configuration)
        examples = shortest_texts(recognizer, configuration, labels, self._judge.is_live)
        found: dict[str, bytes | None] = {
            name_of(recognizer, label): text for label, text in examples.items()
        }
        if examples.keys() < labels:  # it takes long to be sure of these in another way
            found |= dict.fromkeys(self._judge.expected(configuration)) | found
        if recognizer.is_sentence(configuration):
            found[recognizer.parse_table.terminals[END]] = None
        return tuple(Expected(*each) for each in sorted(found.items()))

    def _readings(self, lexing: Lexing, text: bytes) -> Iterator[Reading]:
        since = len(self._text)
        was_open = {way.start for way in self._lexing.ways.values()}
        for hypothesis, way in lexing.ways.items():
            if not self._judge.is_live(Configuration((hypothesis,), lexing.context)):
                continue
            lexemes = [
                LexemeText(each.terminal, text[each.start : each.end])
                for each in way.lexemes(since)
                if each.end > since or (each.could_go_on and each.start in was_open)
            ]
            last = _open_lexeme(self._recognizer, hypothesis, text[way.start : lexing.n_bytes])
            if last is not None and not self._recognizer.scanner.can_continue[hypothesis[0]]:
                if lexing.n_bytes > since:
                    lexemes.append(LexemeText(last.ending or names(last.terminals), last.text))
                last = None
            yield Reading(tuple(lexemes), last)


class _Judge:
    """Tells whether a sentence can follow, inside of tokens too: written in any bytes."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._recognizer = index.recognizer
        used = index.recognizer.scanner.used_bytes()
        self.is_free = index.vocabulary.spelling.spells_any_of(used)

    def is_live(self, configuration: Configuration) -> bool:
        """Return whether some text completes a configuration."""
        recognizer = self._recognizer
        if not any(
            _taken(recognizer, each, labels_ahead(recognizer, each.scanner_state))
            or recognizer.scanner.is_start[each.scanner_state]
            for each in configuration.hypotheses
        ):
            return False  # quickly told, and mostly so
        if self.is_free:
            return self._index.is_live(configuration)
        with _lock:
            return self._everything().is_live(configuration)

    def expected(self, configuration: Configuration) -> tuple[str, ...]:
        """Return the names of the terminals that may come next, sorted."""
        if self.is_free:
            return self._index.expected(configuration)
        with _lock:
            return self._everything().expected(configuration)

    def _everything(self) -> Liveness:
        if self._recognizer not in _known:
            spelling = Spelling.of_all_bytes()
            assurance = kept_assurances.found_or_made(self._recognizer, spelling)
            _known[self._recognizer] = Liveness(
                self._recognizer, spelling, budget=self._recognizer.budget, assurance=assurance
            )
        return _known[self._recognizer]


class _Why:
    """Says why a byte is refused."""

    def __init__(self, recognizer: Recognizer, judge: _Judge, text: bytes) -> None:
        self._recognizer = recognizer
        self._judge = judge
        self._text = text

    def reason(self, before: Lexing, after: Lexing | None) -> str:
        """Return why the byte behind a place is refused.

        Parameters
        ----------
        before : Lexing
            How the text before the byte is read.
        after : Lexing or None
            How it is read with the byte, if Lark's lexer and parser go on; no sentence follows.
        """
        if after is not None:
            found = [self._of_dead(each, way, after.n_bytes) for each, way in after.ways.items()]
        else:
            found = [
                self._of_stop(each, way, before.n_bytes)
                for each, way in before.ways.items()
                if self._judge.is_live(Configuration((each,), before.context))
            ]
        return ", or ".join(list(dict.fromkeys(found))[:_MOST_READINGS])

    def _of_dead(self, hypothesis: Hypothesis, way: Way, end: int) -> str:
        """Return why no sentence follows a lexeme that was begun or goes on."""
        labels = labels_ahead(self._recognizer, hypothesis.scanner_state)
        said = shown(self._text[way.start : end])
        taken = _taken(self._recognizer, hypothesis, labels)
        read_as = names(_names_of(self._recognizer, taken or labels))
        what = "after which no sentence can follow" if taken else "which may not stand there"
        return f"{said} would be read as {read_as}, {what}"

    def _of_stop(self, hypothesis: Hypothesis, way: Way, end: int) -> str:
        """Return why a byte neither goes on with a lexeme nor starts one behind it."""
        recognizer = self._recognizer
        state, _, stack, layout = hypothesis
        label = int(recognizer.scanner.match[state])
        said = shown(self._text[way.start : end])
        if label == NO_MATCH and recognizer.scanner.is_start[state]:
            return "no terminal that may stand there begins with it"
        if label == NO_MATCH:
            taken = _taken(recognizer, hypothesis, labels_ahead(recognizer, state))
            return f"{said} does not go on with it to {names(_names_of(recognizer, taken))}"
        name = name_of(recognizer, label)
        reader = recognizer.line_reader
        if recognizer.commit(stack, layout, label) is None:
            if reader is not None and label == reader.lines.newline:
                return "no line may begin in that column there"
            return f"{said} would end before it as {name}, which may not stand there"
        place = "stand there" if name == IGNORED else f"follow {name} {said}"
        return f"no terminal that may {place} begins with it"


def _open_lexeme(recognizer: Recognizer, hypothesis: Hypothesis, text: bytes) -> OpenLexeme | None:
    """Return the lexeme that the scanner is in, or None before the first byte of all."""
    if not text:
        return None
    label = int(recognizer.scanner.match[hypothesis.scanner_state])
    can_end = label != NO_MATCH and bool(_taken(recognizer, hypothesis, [label]))
    labels = labels_ahead(recognizer, hypothesis.scanner_state)
    return OpenLexeme(
        text,
        name_of(recognizer, label) if can_end else None,
        _names_of(recognizer, _taken(recognizer, hypothesis, labels)),
    )


def _taken(recognizer: Recognizer, hypothesis: Hypothesis, labels: list[int]) -> list[int]:
    """Return those labels whose lexemes the parser takes; of line breaks, in some column."""
    state, _, stack, layout = hypothesis
    reader = recognizer.line_reader
    may_move = reader is not None and bool(recognizer.scanner.can_continue[state])
    return [
        label
        for label in labels
        if recognizer.commit(stack, layout, label) is not None
        or (
            may_move
            and reader is not None
            and label == reader.lines.newline
            and (layout.level > 0 or reader.takes(NEWLINE, stack.state))
        )
    ]


def _names_of(recognizer: Recognizer, labels: list[int]) -> tuple[str, ...]:
    return tuple(name_of(recognizer, label) for label in labels)


def _labels_to_come(recognizer: Recognizer, configuration: Configuration) -> set[int]:
    """Return the terminals that the scanner may come to next and that the parser takes."""
    sources = [*configuration.hypotheses]
    for hypothesis in configuration.hypotheses:
        sources += ended(recognizer, hypothesis, configuration.context)
    return {
        label
        for each in sources
        for label in _taken(recognizer, each, labels_ahead(recognizer, each.scanner_state))
        if label < recognizer.scanner.ignored
    }
