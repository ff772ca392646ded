"""Writes the walk-through in docs/python.md: a function, token by token, from the real objects.

Run ``python docs/pictures/walkthrough.py``; `tests/project/test_docs.py` checks that the
page is current.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import cfgguide
from cfgguide.diagnostics.diagnosis import lexemes
from cfgguide.diagnostics.explanation import Lexeme
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.machine.recognizer import Configuration, Recognizer
from cfgguide.studio.draw.parsers import symbols_of_states

# Willard & Louf 2023, section 4, and some further tokens.
TOKENS = ["d", "ef", " f", "oo(", "):", " ", "pass"]
OTHERS = ["f", "def", "(", ")", ":", "x", "\n", "\n  ", "if", "-> int", "*", ", ", "=", "@"]
SHOWN = 3  # names of terminals in a cell


def main() -> None:
    page = Path(__file__).parent.parent / "python.md"
    text = page.read_text(encoding="utf-8")
    text = re.sub(
        r"(?<=^\n)\| token \|.*?(?=^$)", lambda _: table() + "\n", text, flags=re.M | re.S
    )
    page.write_text(text, encoding="utf-8")


def table() -> str:
    """Return the walk-through as a table in Markdown."""
    vocabulary = cfgguide.Vocabulary(
        [word.encode() for word in TOKENS + OTHERS] + [None], eos_token_ids=len(TOKENS + OTHERS)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most of Python can't be spelled with these
        index = cfgguide.compile(cfgguide.Grammar.bundled("python", start="function"), vocabulary)
    guide = cfgguide.Guide(index)
    text = "".join(TOKENS).encode()
    read = lexemes(index.machine.recognizer, text)
    rows = [
        "| token | lexemes that end in it | stack | the last lexeme | it may be | then allowed |",
        "|---|---|---|---|---|---|",
    ]
    end = 0
    for token_id, token in enumerate(TOKENS):
        guide.advance(token_id)
        start, end = end, end + len(token)
        ended = [row.terminal for row in read if start < row.end <= end]
        (cells,) = {
            _cells(index.machine.recognizer, reading) for reading in _readings(guide.configuration)
        }
        allowed = [
            _word(vocabulary, allowed_id) for allowed_id in guide.allowed_token_ids().tolist()
        ]
        lexeme = _last_lexeme(read, text, end)
        rows.append(
            f"| {_code(token)} | {' '.join(ended)} | {cells[0]} | {_code(lexeme)} | {cells[1]} "
            f"| {' '.join(allowed)} |"
        )
    return "\n".join(rows)


def _readings(configuration: Configuration) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield scanner state and stack of each hypothesis without obligations."""
    for hypothesis in configuration.hypotheses:
        if not hypothesis.obligations:
            yield hypothesis.scanner_state, tuple(hypothesis.stack)[::-1]


def _cells(recognizer: Recognizer, reading: tuple[int, tuple[int, ...]]) -> tuple[str, str]:
    """Return the stack by its symbols, and the terminals that the lexeme may become."""
    scanner_state, states = reading
    symbols = symbols_of_states(recognizer.parse_table)
    names = (*recognizer.parse_table.terminals, "(ignored)")
    terminal_ids = sorted(_ahead(recognizer, scanner_state))
    shown = [names[terminal_id] for terminal_id in terminal_ids[:SHOWN]]
    n_more = len(terminal_ids) - SHOWN
    more = f" and {n_more} more" if n_more > 0 else ""
    return " ".join(symbols[state] for state in states[1:]), " ".join(shown) + more


def _ahead(recognizer: Recognizer, scanner_state: int) -> set[int]:
    """Return the ids of the terminals that a scanner state can still come to match."""
    scanner = recognizer.scanner
    seen, pending = {scanner_state}, [scanner_state]
    while pending:
        state = pending.pop()
        following = (
            {*scanner.transitions[state].tolist(), *scanner.assertions[state].tolist()} - seen - {0}
        )
        seen |= following
        pending += following
    return {int(scanner.match[state]) for state in seen} - {NO_MATCH}


def _last_lexeme(read: list[Lexeme], text: bytes, end: int) -> str:
    """Return the bytes read of the lexeme in which a token ends."""
    start = max((row.start for row in read if row.start < end), default=0)
    return text[start:end].decode()


def _word(vocabulary: cfgguide.Vocabulary, token_id: int) -> str:
    token = vocabulary.tokens[token_id]
    return "EOS" if token is None else _code(token.decode())


def _code(text: str) -> str:
    shown = text.replace("\n", "\\n").replace(" ", "\u2423")
    return f"`{shown}`" if shown else ""


if __name__ == "__main__":
    main()
