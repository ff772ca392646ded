"""Finds out why a token may come next, or why not.

In: an index, the text so far, and tokens or any bytes. Out: an
:class:`~cfgguide.diagnostics.explanation.Explanation` of each.

The refused byte is the first after which no sentence can follow, whatever the tokens. Where all
bytes could stay, and only the vocabulary has no tokens for what must follow, no byte is refused.

What is expected is found by example: texts that end with a lexeme of a terminal, after which a
sentence can follow. Only where that search ends too early is the exact question put
(:meth:`Liveness.expected`), which takes seconds for a large grammar.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from cfgguide.diagnostics.explanation import (
    Expected,
    Explanation,
    LexemeText,
    OpenLexeme,
    Reading,
    names,
    shown,
)
from cfgguide.diagnostics.trace import (
    IGNORED,
    Lexing,
    Way,
    ended,
    moves,
    name_of,
    shortest_texts,
    terminal_ids_ahead,
)
from cfgguide.index.index import Index
from cfgguide.lexer.scanner import NO_MATCH
from cfgguide.liveness import cached as cached_liveness
from cfgguide.liveness.liveness import Liveness
from cfgguide.parser.indentation_names import NEWLINE
from cfgguide.parser.table import END
from cfgguide.recognizer.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.vocabulary.spelling import Spelling

AFTER_EOS = "the text has ended with EOS"
_MAX_REASONS = 2
_lock = threading.Lock()


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
            return self.explain(token, is_allowed=is_allowed, token_id=token_id)
        if not is_known:
            reason = f"it is not in the vocabulary of {vocabulary.size} ids"
        elif is_eos:
            is_sentence = self._recognizer.is_sentence(self._lexing.configuration)
            reason = "" if is_sentence else "the text so far is not a sentence"
        else:
            reason = "it spells no text: it is special, or no token has this id"
        expected = self.expected(self._lexing) if reason else ()
        return Explanation(token_id, None, is_eos, not reason, (), None, reason, expected)

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
        if is_allowed is None:
            is_allowed = is_read and self._judge.may_follow(steps[-1].configuration)
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
            tuple(self._interpretations(steps[-1], text)),
            None if is_read else len(steps) - 1,
            reason,
            self.expected(steps[-1]),
        )

    def expected(self, lexing: Lexing) -> tuple[Expected, ...]:
        """Return what may stand at a place, with examples, by name."""
        configuration, recognizer = lexing.configuration, self._recognizer
        terminal_ids = _terminal_ids_to_come(recognizer, configuration)
        examples, is_all = shortest_texts(
            recognizer, configuration, terminal_ids, self._judge.may_end
        )
        found: dict[str, bytes | None] = {
            name_of(recognizer, terminal_id): text for terminal_id, text in examples.items()
        }
        if not is_all:
            found |= dict.fromkeys(self._judge.expected(configuration)) | found
        if recognizer.is_sentence(configuration):
            found[recognizer.parse_table.terminals[END]] = None
        return tuple(Expected(*each) for each in sorted(found.items()))

    def _interpretations(self, lexing: Lexing, text: bytes) -> Iterator[Reading]:
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

    def is_live(self, configuration: Configuration, *, quickly: bool = False) -> bool:
        """Return whether some text completes it; `quickly`: only if that is known at once."""
        recognizer = self._recognizer
        if not any(
            _taken(recognizer, each, terminal_ids_ahead(recognizer, each.scanner_state))
            or recognizer.scanner.is_start[each.scanner_state]
            for each in configuration.hypotheses
        ):
            return False  # quickly told, and mostly so
        if self.is_free:
            return self._index.is_live(configuration, quickly=quickly)
        with _lock:
            byte_liveness = self._index.derived(_byte_liveness)
            if quickly:
                return byte_liveness.always_live.holds_for(recognizer, configuration)
            return byte_liveness.is_live(configuration)

    def may_follow(self, configuration: Configuration) -> bool:
        """Return whether tokens complete what some text does."""
        return self.is_free or self._index.is_live(configuration)

    def may_end(self, hypothesis: Hypothesis, context: int) -> bool:
        """Return whether some text follows if the lexeme ends here, where it matches."""
        recognizer = self._recognizer
        behind = ended(recognizer, hypothesis, context)
        if not behind or recognizer.is_sentence(Configuration(behind, context)):
            return bool(behind)
        contexts = recognizer.scanner.contexts[context].tolist()
        # To decide what claims something takes long, and one byte more mostly settles that.
        return any(
            not each.obligations and self.is_live(Configuration((each,), after), quickly=True)
            for fresh in behind
            for byte_class, after in enumerate(contexts)
            for each in moves(recognizer, fresh, byte_class)
        ) or self.is_live(Configuration(behind, context))

    def expected(self, configuration: Configuration) -> tuple[str, ...]:
        """Return the names of the terminals that may come next, sorted."""
        if self.is_free:
            return self._index.expected(configuration)
        with _lock:
            return self._index.derived(_byte_liveness).expected(configuration)


def _byte_liveness(index: Index) -> Liveness:
    """Return what decides for texts in any bytes."""
    recognizer, spelling = index.recognizer, Spelling.of_all_bytes()
    always_live = cached_liveness.load_or_make(recognizer, spelling)
    return Liveness(recognizer, spelling, budget=recognizer.budget, always_live=always_live)


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
        return ", or ".join(list(dict.fromkeys(found))[:_MAX_REASONS])

    def _of_dead(self, hypothesis: Hypothesis, way: Way, end: int) -> str:
        """Return why no sentence follows a lexeme that was begun or goes on."""
        terminal_ids = terminal_ids_ahead(self._recognizer, hypothesis.scanner_state)
        said = shown(self._text[way.start : end])
        taken = _taken(self._recognizer, hypothesis, terminal_ids)
        read_as = names(_names_of(self._recognizer, taken or terminal_ids))
        what = "after which no sentence can follow" if taken else "which may not stand there"
        return f"{said} would be read as {read_as}, {what}"

    def _of_stop(self, hypothesis: Hypothesis, way: Way, end: int) -> str:
        """Return why a byte neither goes on with a lexeme nor starts one behind it."""
        recognizer = self._recognizer
        state, _, stack, indentation = hypothesis
        terminal_id = int(recognizer.scanner.match[state])
        said = shown(self._text[way.start : end])
        if terminal_id == NO_MATCH and recognizer.scanner.is_start[state]:
            return "no terminal that may stand there begins with it"
        if terminal_id == NO_MATCH:
            taken = _taken(recognizer, hypothesis, terminal_ids_ahead(recognizer, state))
            return f"{said} does not go on with it to {names(_names_of(recognizer, taken))}"
        name = name_of(recognizer, terminal_id)
        reader = recognizer.indentation_reader
        if recognizer.shift(stack, indentation, terminal_id) is None:
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
    terminal_ids = terminal_ids_ahead(recognizer, hypothesis.scanner_state)
    return OpenLexeme(
        text,
        name_of(recognizer, terminal_id) if can_end else None,
        _names_of(recognizer, _taken(recognizer, hypothesis, terminal_ids)),
    )


def _taken(recognizer: Recognizer, hypothesis: Hypothesis, terminal_ids: list[int]) -> list[int]:
    """Return those labels whose lexemes the parser takes; of line breaks, in some column."""
    state, _, stack, indentation = hypothesis
    reader = recognizer.indentation_reader
    may_move = reader is not None and bool(recognizer.scanner.can_continue[state])
    return [
        terminal_id
        for terminal_id in terminal_ids
        if recognizer.shift(stack, indentation, terminal_id) is not None
        or (
            may_move
            and reader is not None
            and terminal_id == reader.indentation_rules.newline
            and reader.takes(NEWLINE, stack.state)
            and (
                indentation.level > 0
                or recognizer.parse_table.shift(stack, terminal_id) is not None
            )
        )
    ]


def _names_of(recognizer: Recognizer, terminal_ids: list[int]) -> tuple[str, ...]:
    return tuple(name_of(recognizer, terminal_id) for terminal_id in terminal_ids)


def _terminal_ids_to_come(recognizer: Recognizer, configuration: Configuration) -> set[int]:
    """Return the terminals that the scanner may come to next and that the parser takes."""
    sources = [*configuration.hypotheses]
    for hypothesis in configuration.hypotheses:
        sources += ended(recognizer, hypothesis, configuration.context)
    moved = {
        each
        for source in sources
        for byte_class in range(recognizer.scanner.contexts.shape[1])
        for each in moves(recognizer, source, byte_class)  # which knows what is claimed
    }
    return {
        terminal_id
        for each in moved
        for terminal_id in _taken(
            recognizer, each, terminal_ids_ahead(recognizer, each.scanner_state)
        )
        if terminal_id < recognizer.scanner.ignored
    }
