"""Finds out why a token may come next, or why not.

In: an index, the text so far, and tokens or any bytes. Out: an
:class:`~cfgguide.diagnostics.explanation.Explanation` of each.

The refused byte is the first after which no sentence can follow, whatever the tokens. If the
grammar takes all bytes, and only the vocabulary has no tokens for what must follow, no byte is
refused.

What is expected is found by example: texts that end with a lexeme of a terminal, after which a
sentence can follow. Only if that search stops early do the others have no example that the scanner
and the parser take.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf
from typing import Any

from cfgguide.base.limits import check_step
from cfgguide.base.locks import new_lock
from cfgguide.diagnostics.diagnosis import last_live
from cfgguide.diagnostics.explanation import (
    Expected,
    Explanation,
    Interpretation,
    Lexeme,
    OpenLexeme,
    names,
    shown,
    shown_lexeme,
)
from cfgguide.diagnostics.trace import (
    IGNORED,
    Lexing,
    Way,
    name_of,
    shortest_texts,
    sources_of,
)
from cfgguide.engine.index.index import Index
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.liveness import always_live_cache as cached_liveness
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.errors import LimitError
from cfgguide.grammar.lr.indentation_names import NEWLINE
from cfgguide.grammar.lr.table import END

AFTER_EOS = "the text has ended with EOS"
_NOT_THERE = "nothing that may stand there begins with it"
_MAX_REASONS = 2
_FEW = 8  # readings of a text
_lock = new_lock()


class ExplainsTokens(ABC):
    """Explains tokens by what their bytes do."""

    def __init__(self, index: Index) -> None:
        self._index = index
        vocabulary = index.vocabulary
        names = {token_id: name for name, token_id in vocabulary.special_tokens.items()}
        self._special = {each: names.get(each) for each in vocabulary.symbol_ids}

    def explain_token(
        self, token_id: int, *, is_allowed: bool | None = None, is_finished: bool = False
    ) -> Explanation:
        """Return why a token may follow, or why not.

        Parameters
        ----------
        token_id : int
            The token; it need not be in the vocabulary.
        is_allowed : bool, optional
            Whether the mask allows it, if that is known.
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
            explanation = self.explain(token, is_allowed=is_allowed, token_id=token_id)
            return replace(explanation, special=self._special.get(token_id))
        if not is_known:
            reason = f"it is not in the vocabulary of {vocabulary.size} ids"
        elif is_eos:
            reason = "" if self._is_sentence() else "the text so far is not a sentence"
        else:
            reason = "it spells no text: it is special, or no token has this id"
        expected = self._expected() if reason else ()
        return Explanation(token_id, None, is_eos, not reason, (), None, reason, expected)

    @abstractmethod
    def explain(
        self, piece: bytes, *, is_allowed: bool | None = None, token_id: int | None = None
    ) -> Explanation:
        """Return why a piece may follow, or why not.

        Parameters
        ----------
        piece : bytes
            The bytes of a token, or any others.
        is_allowed : bool, optional
            Whether it may follow, if that is known.
        token_id : int, optional
            The token whose bytes these are.
        """

    @abstractmethod
    def advance(self, piece: bytes) -> None:
        """Go on after a piece that may follow."""

    @abstractmethod
    def _is_sentence(self) -> bool:
        """Return whether the text so far is a sentence."""

    @abstractmethod
    def _expected(self) -> tuple[Expected, ...]:
        """Return what may follow the text so far."""


class MachineExplainer(ExplainsTokens):
    """Explains pieces of one text by the protocol alone: what may follow has names only.

    Parameters
    ----------
    index : Index
        Of any machine.
    configuration : Configuration
        What the text so far has come to.
    """

    def __init__(self, index: Index, configuration: Any) -> None:
        super().__init__(index)
        self._configuration = configuration

    def advance(self, piece: bytes) -> None:
        """Go on after a token that may follow."""
        after = self._index.machine.advance(self._configuration, piece)
        assert after is not None, "a text can follow"
        self._configuration = after

    def explain(
        self, piece: bytes, *, is_allowed: bool | None = None, token_id: int | None = None
    ) -> Explanation:
        """Return why a piece may follow, or why not; as :meth:`Explainer.explain`."""
        if is_allowed is None:
            after = self._index.machine.advance(self._configuration, piece)
            is_allowed = after is not None and self._index.machine.is_live(after)
        before, n_read = self._read(piece)
        is_read = n_read == len(piece)
        reason = "the text has had all the tokens that it may have" if is_read else _NOT_THERE
        return Explanation(
            token_id,
            piece,
            False,
            is_allowed,
            (),
            None if is_read else n_read,
            "" if is_allowed else reason,
            self._named(before),
        )

    def _read(self, piece: bytes) -> tuple[Any, int]:
        """Return what a piece leads to, as far as a sentence can follow, and its length so far."""
        machine, before = self._index.machine, self._configuration
        for n_read, byte in enumerate(piece):
            try:
                after = machine.read(before, bytes([byte]))
            except LimitError:  # too many readings: of those that masks follow
                after = machine.advance(before, bytes([byte]))
            if after is None or not machine.is_live(after):
                return before, n_read
            before = after
        return before, len(piece)

    def _is_sentence(self) -> bool:
        return self._index.machine.is_sentence(self._configuration)

    def _expected(self) -> tuple[Expected, ...]:
        return self._named(self._configuration)

    def _named(self, configuration: Any) -> tuple[Expected, ...]:
        return tuple(Expected(name, None) for name in self._index.machine.expected(configuration))


class Explainer(ExplainsTokens):
    """Explains pieces of one text, one after the other.

    Parameters
    ----------
    index : Index
        Of the grammar.
    before : bytes
        The text so far, after which a sentence can follow.
    most : int, optional
        Readings more than a few that all bytes of it may have together; by default any number.

    Raises
    ------
    LimitError
        If there are more, or more than `max_hypotheses` at a time.
    """

    def __init__(self, index: Index, before: bytes = b"", *, most: float = inf) -> None:
        super().__init__(index)
        self._left = most
        self._recognizer = _recognizer_of(index)
        self._judge = _Judge(index)
        self._text = b""
        self._lexing = Lexing.of(self._recognizer)
        self.advance(before)

    def advance(self, piece: bytes) -> None:
        """Go on after a piece that may follow."""
        for lexing in self._lexing.steps(self._recognizer, piece):
            self._left -= max(lexing.n_compared - _FEW, 0)
            if self._left < 0:
                raise LimitError("the text has too many readings to tell how each goes on")
            self._lexing = lexing
        self._text += piece
        assert self._lexing.n_bytes == len(self._text), "a sentence can follow"

    def explain(
        self, piece: bytes, *, is_allowed: bool | None = None, token_id: int | None = None
    ) -> Explanation:
        """Return why a piece may follow, or why not; of too many readings, without lexemes."""
        try:
            steps = [self._lexing, *self._lexing.steps(self._recognizer, piece)]
        except LimitError:
            check_step()  # or it was the step's
            some = MachineExplainer(self._index, self._lexing.configuration)
            return some.explain(piece, is_allowed=is_allowed, token_id=token_id)
        n_live = last_live(steps, lambda lexing: self._judge.is_live(lexing.configuration))
        before = steps[n_live]
        refused = steps[n_live + 1] if n_live + 1 < len(steps) else None
        is_read = n_live == len(piece)
        text = self._text + piece
        if is_allowed is None:
            is_allowed = is_read and self._judge.may_follow(before.configuration)
        if is_allowed:
            reason = ""
        elif is_read:
            reason = "the grammar allows it, but the vocabulary cannot spell what must follow"
        else:
            reason = _Why(self._recognizer, self._judge, text).reason(before, refused)
        return Explanation(
            token_id,
            piece,
            False,
            is_allowed,
            tuple(self._interpretations(before, text)),
            None if is_read else n_live,
            reason,
            self.expected(before),
        )

    def _is_sentence(self) -> bool:
        return self._recognizer.is_sentence(self._lexing.configuration)

    def _expected(self) -> tuple[Expected, ...]:
        return self.expected(self._lexing)

    def expected(self, lexing: Lexing) -> tuple[Expected, ...]:
        """Return what may stand at a place, with examples, by name."""
        configuration, recognizer = lexing.configuration, self._recognizer
        terminal_ids = _terminal_ids_to_come(recognizer, configuration)
        examples, is_all = shortest_texts(
            recognizer, configuration, terminal_ids, self._judge.may_end
        )
        by_name: dict[str, bytes | None] = {
            name_of(recognizer, terminal_id): text for terminal_id, text in examples.items()
        }
        if not is_all:
            by_name = dict.fromkeys(_names_of(recognizer, sorted(terminal_ids))) | by_name
        if recognizer.is_sentence(configuration):
            by_name[recognizer.parse_table.terminals[END]] = None
        return tuple(Expected(*pair) for pair in sorted(by_name.items()))

    def _interpretations(self, lexing: Lexing, text: bytes) -> Iterator[Interpretation]:
        scanner, since = self._recognizer.scanner, len(self._text)
        for hypothesis, way in lexing.ways.items():
            if not self._judge.is_live(Configuration((hypothesis,), lexing.context)):
                continue
            lexemes = [*way.lexemes(text, since)]
            last = _open_lexeme(self._recognizer, hypothesis, text[way.start : lexing.n_bytes])
            if last is not None and not scanner.can_continue[hypothesis.scanner_state]:
                if lexing.n_bytes > since:
                    name = last.ending or names(last.terminals)
                    lexemes.append(Lexeme(name, way.start, last.text))
                last = None
            yield Interpretation(tuple(lexemes), last)


class _Judge:
    """Tells whether a sentence can follow, inside of tokens too: written in any bytes."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._recognizer = _recognizer_of(index)
        used = self._recognizer.scanner.used_bytes()
        self.is_free = index.vocabulary.spelling.spells_any_of(used)

    def is_live(self, configuration: Configuration, *, quickly: bool = False) -> bool:
        """Return whether some text completes it; `quickly`: only if that is known at once."""
        if self.is_free:
            return self._index.machine.is_live(configuration, quickly=quickly)
        with _lock:
            byte_liveness = self._index.derived(_byte_liveness)
            if quickly:
                return byte_liveness.always_live.holds_for(self._recognizer, configuration)
            return byte_liveness.is_live(configuration)

    def may_follow(self, configuration: Configuration) -> bool:
        """Return whether tokens complete what some text does."""
        return self.is_free or self._index.machine.is_live(configuration)

    def may_end(self, hypothesis: Hypothesis, context: int) -> bool:
        """Return whether some text follows if the lexeme ends here, where it matches."""
        recognizer = self._recognizer
        after_end = tuple(recognizer.ended(hypothesis, context))
        if not after_end or recognizer.is_sentence(Configuration(after_end, context)):
            return bool(after_end)
        contexts = recognizer.scanner.contexts[context].tolist()
        # Deciding a hypothesis with obligations takes long; one more byte mostly resolves them.
        return any(
            not extended.obligations
            and self.is_live(Configuration((extended,), after), quickly=True)
            for fresh in after_end
            for byte_class, after in enumerate(contexts)
            for extended in recognizer.extended(fresh, byte_class)
        ) or self.is_live(Configuration(after_end, context))


def _recognizer_of(index: Index) -> Recognizer:
    machine = index.machine
    assert isinstance(machine, LrMachine), "a grammar in Lark's language"
    return machine.recognizer


def _byte_liveness(index: Index) -> Liveness:
    """Return what decides for texts in any bytes."""
    recognizer, spelling = _recognizer_of(index), Spelling.of_all_bytes()
    always_live = cached_liveness.load_or_make(recognizer, spelling)
    return Liveness(recognizer, spelling, budget=recognizer.budget, always_live=always_live)


class _Why:
    """Says why a byte is refused."""

    def __init__(self, recognizer: Recognizer, judge: _Judge, text: bytes) -> None:
        self._recognizer = recognizer
        self._judge = judge
        self._text = text

    def reason(self, before: Lexing, after: Lexing | None) -> str:
        """Return why the byte after a place is refused.

        Parameters
        ----------
        before : Lexing
            How the text before the byte is read.
        after : Lexing or None
            How it is read with the byte, if Lark's lexer and parser go on; no sentence follows.
        """
        if after is not None:
            reasons = [
                self._of_dead(hypothesis, way, after.n_bytes)
                for hypothesis, way in after.ways.items()
            ]
        else:
            reasons = [
                self._of_stop(hypothesis, way, before.n_bytes)
                for hypothesis, way in before.ways.items()
                if self._judge.is_live(Configuration((hypothesis,), before.context))
            ]
        return ", or ".join(list(dict.fromkeys(reasons))[:_MAX_REASONS])

    def _of_dead(self, hypothesis: Hypothesis, way: Way, end: int) -> str:
        """Return why no sentence follows a lexeme that was begun or goes on."""
        terminal_ids = self._recognizer.scanner.terminal_ids_ahead(hypothesis.scanner_state)
        said = shown_lexeme(self._text[way.start : end])
        taken = _taken(self._recognizer, hypothesis, terminal_ids)
        read_as = names(_names_of(self._recognizer, taken or terminal_ids))
        what = "after which no sentence can follow" if taken else "which may not stand there"
        return f"{said} would be read as {read_as}, {what}"

    def _of_stop(self, hypothesis: Hypothesis, way: Way, end: int) -> str:
        """Return why a byte neither goes on with a lexeme nor starts one after it."""
        recognizer = self._recognizer
        state, _, stack, indentation = hypothesis
        terminal_id = int(recognizer.scanner.match[state])
        said = shown(self._text[way.start : end])
        if terminal_id == NO_MATCH and recognizer.scanner.is_start[state]:
            return "no terminal that may stand there begins with it"
        if terminal_id == NO_MATCH:
            ahead = recognizer.scanner.terminal_ids_ahead(state)
            taken = _taken(recognizer, hypothesis, ahead)
            return f"{said} does not go on with it to {names(_names_of(recognizer, taken))}"
        name = name_of(recognizer, terminal_id)
        reader = recognizer.indentation_reader
        if not recognizer.shifts(stack, indentation, terminal_id):
            if reader is not None and terminal_id == reader.indentation_rules.newline:
                return "no line may begin in that column there"
            return f"{said} would end before it as {name}, which may not stand there"
        place = "stand there" if name == IGNORED else f"follow {name} {said}"
        return f"no terminal that may {place} begins with it"


def _open_lexeme(recognizer: Recognizer, hypothesis: Hypothesis, text: bytes) -> OpenLexeme | None:
    """Return the lexeme that the scanner is in, or None before the first byte of all."""
    if not text:
        return None
    terminal_id = int(recognizer.scanner.match[hypothesis.scanner_state])
    can_end = terminal_id != NO_MATCH and bool(_taken(recognizer, hypothesis, [terminal_id]))
    terminal_ids = recognizer.scanner.terminal_ids_ahead(hypothesis.scanner_state)
    return OpenLexeme(
        text,
        name_of(recognizer, terminal_id) if can_end else None,
        _names_of(recognizer, _taken(recognizer, hypothesis, terminal_ids)),
    )


def _taken(
    recognizer: Recognizer, hypothesis: Hypothesis, terminal_ids: Iterable[int]
) -> list[int]:
    """Return the terminals of which the parser takes a lexeme; a line break in some column."""
    _, _, stack, indentation = hypothesis
    return [
        terminal_id
        for terminal_id in terminal_ids
        if recognizer.shifts(stack, indentation, terminal_id)
        or _may_be_line_break(recognizer, hypothesis, terminal_id)
    ]


def _may_be_line_break(recognizer: Recognizer, hypothesis: Hypothesis, terminal_id: int) -> bool:
    """Return whether a lexeme can still become a line break, in some column, that may stand there.

    One that the parser does not take is dropped inside brackets.
    """
    state, _, stack, indentation = hypothesis
    reader = recognizer.indentation_reader
    return (
        reader is not None
        and bool(recognizer.scanner.can_continue[state])
        and terminal_id == reader.indentation_rules.newline
        and reader.takes(NEWLINE, stack.state)
        and (indentation.level > 0 or recognizer.parse_table.shift(stack, terminal_id) is not None)
    )


def _names_of(recognizer: Recognizer, terminal_ids: Iterable[int]) -> tuple[str, ...]:
    return tuple(name_of(recognizer, terminal_id) for terminal_id in terminal_ids)


def _terminal_ids_to_come(recognizer: Recognizer, configuration: Configuration) -> set[int]:
    """Return the terminals that the scanner may come to next and that the parser takes."""
    scanner = recognizer.scanner
    extended = {
        following
        for source in sources_of(recognizer, configuration)
        for byte_class in range(scanner.contexts.shape[1])
        for following in recognizer.extended(source, byte_class)  # by its obligations
    }
    return {
        terminal_id
        for following in extended
        for terminal_id in _taken(
            recognizer, following, scanner.terminal_ids_ahead(following.scanner_state)
        )
        if terminal_id < scanner.ignored
    }
