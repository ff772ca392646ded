"""What there is to see at one place of a text: the parser's stack, what may come, and why not.

In: a reading and a place, which is a number of tokens. Out: plain values for the page.
"""

from __future__ import annotations

from typing import Any

from cfgguide.diagnostics.explain import Explainer
from cfgguide.diagnostics.explanation import Expected, Explanation
from cfgguide.diagnostics.trace import Lexing, name_of
from cfgguide.engine.vocabulary.notebook import text_of
from cfgguide.errors import TextError
from cfgguide.studio.playground.reading import Reading

_MAX_WAYS = 8  # shown
_MAX_STATES = 200  # of a stack
_MAX_AHEAD = 12  # terminals


def stacks_at(reading: Reading, place: int) -> dict[str, Any]:
    """Return how the text before a place is read: each way with its stack and open lexeme."""
    lexing = _lexing(reading, place)
    recognizer, symbols = reading.compiled.recognizer, reading.compiled.symbols
    data = reading.data[: lexing.n_bytes]
    ways = []
    for hypothesis, way in list(lexing.ways.items())[:_MAX_WAYS]:
        states = [*hypothesis.stack][::-1]
        ahead = recognizer.scanner.terminal_ids_ahead(hypothesis.scanner_state)
        is_open = way.start < len(data)
        ways.append(
            {
                "stack": [[state, symbols.get(state, "")] for state in states[-_MAX_STATES:]],
                "n_below": max(0, len(states) - _MAX_STATES),
                "open": text_of(data[way.start :]) if is_open else None,
                "ahead": [name_of(recognizer, each) for each in [*ahead][:_MAX_AHEAD]],
                "n_ahead": len([*ahead]),
            }
        )
    configuration = lexing.configuration
    return {
        "ways": ways,
        "n_ways": len(lexing.ways),
        "is_sentence": recognizer.is_sentence(configuration),
    }


def expected_at(reading: Reading, place: int) -> list[dict[str, str | None]]:
    """Return the terminals that may come at a place, each with a short text."""
    lexing = _lexing(reading, place)
    explainer = Explainer(reading.compiled.index, reading.data[: lexing.n_bytes])
    return _expected(explainer.explain(b"", is_allowed=True).expected)


def explanation_at(reading: Reading, place: int, asked: int | bytes) -> dict[str, Any]:
    """Return why a token, or any bytes, may stand at a place, or why not."""
    lexing = _lexing(reading, place)
    index = reading.compiled.index
    explainer = Explainer(index, reading.data[: lexing.n_bytes])
    made: Explanation = (
        explainer.explain(asked) if isinstance(asked, bytes) else explainer.explain_token(asked)
    )
    verdict, *_ = str(made).split("\n")
    token = made.token or b""
    offset = made.offset
    return {
        "is_allowed": made.is_allowed,
        "verdict": verdict,
        "reason": made.reason,
        "offset": offset,
        "taken": text_of(token if made.is_allowed or offset is None else token[:offset]),
        "refused": text_of(b"" if made.is_allowed or offset is None else token[offset:]),
        "readings": [str(each) for each in made.interpretations[:_MAX_WAYS]],
        "expected": _expected(made.expected),
    }


def _expected(found: tuple[Expected, ...]) -> list[dict[str, str | None]]:
    return [
        {
            "terminal": each.terminal,
            "example": None if each.example is None else text_of(each.example),
        }
        for each in found
    ]


def _lexing(reading: Reading, place: int) -> Lexing:
    if not 0 <= place <= reading.n_read:
        raise TextError("the text is not read so far: before that, it is refused")
    return reading.lexings[reading.offsets[place]]
