"""Tokens that begin alike and then stay in one lexeme, where a monitor follows a text.

In: a configuration, and tokens. Out: groups of them. Reading a token with the monitor takes a
while; of thousands of names after one white space only the first is read, and of the others the
lexer tells that they lead to the same place. ::

    after `def`      ` mean`, ` total`, ` x1`     a gap, and then NAME
                     `(`, ` ():`                  by themselves
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cfgguide.engine.machine.lexer_places import LEAVING, LexerPlace
from cfgguide.engine.machine.recognizer import Configuration
from cfgguide.engine.machine.watching import WatchedStack, WatchingRecognizer, watched

_MANY = 100  # tokens; fewer are read one by one


class NameGroup(NamedTuple):
    """Tokens that lead to one place, or one token.

    Attributes
    ----------
    members : list of int
        The tokens, by where they are in the list.
    begun : WatchedStack or None
        Of one of them: where the lexeme began that all of them are in; None if there is one token.
    lexer_place : LexerPlace or None
        Where the lexer is after them.
    size : int
        How many bytes of each are before that lexeme.
    read : bytes
        What of that lexeme was read before the tokens.
    """

    members: list[int]
    begun: WatchedStack | None = None
    lexer_place: LexerPlace | None = None
    size: int = 0
    read: bytes = b""


def groups(
    recognizer: WatchingRecognizer, start: Configuration, tokens: Sequence[bytes]
) -> Iterator[NameGroup]:
    """Yield groups of tokens, which together are all of them.

    Parameters
    ----------
    recognizer : WatchingRecognizer
        Reads them.
    start : Configuration
        Where they begin.
    tokens : sequence of bytes
        The tokens.
    """
    left, beginnings = dict(enumerate(tokens)), set[bytes]()
    while len(left) >= _MANY:
        first, token = next(iter(left.items()))
        after = recognizer.advance(start, token)
        begun = None if after is None else watched(after.hypotheses[0].stack)
        n_before = len(token) - (0 if begun is None else len(begun.text))
        before = token[: max(n_before, 0)]
        found: list[NameGroup] = []
        if begun is not None and begun.text and before not in beginnings:
            beginnings.add(before)
            found = _groups(recognizer, start, before, begun, left, begun.text[: max(-n_before, 0)])
        for group in found or [NameGroup([first])]:
            yield group
            for each in group.members:
                del left[each]
    for each in left:
        yield NameGroup([each])


def _groups(
    recognizer: WatchingRecognizer,
    start: Configuration,
    before: bytes,
    begun: WatchedStack,
    left: dict[int, bytes],
    read: bytes,
) -> list[NameGroup]:
    """Return groups of the tokens with one beginning, after which a lexeme begins somewhere."""
    lexer = recognizer.lexer
    here = recognizer.advance(start, before)
    # Lexemes with different stacks would begin at different places, and a group has one.
    if here is None or any(each.stack != here.hypotheses[0].stack for each in here.hypotheses):
        return []
    number = recognizer.lexer_number(here)
    ended = lexer.reading(number, begun.text[len(read) :])
    is_ended = ended.number == LEAVING and not ended.end and ended.terminal_id >= 0
    terminal_set = int(recognizer.parse_table.set_of_state[begun.place.stack.state])
    next_number = lexer.start(terminal_set, here.context)
    members: dict[tuple[int, int], list[int]] = {}
    for each, token in left.items():
        if not token.startswith(before):
            continue
        rest = token[len(before) :]
        reading = lexer.reading(number, rest)
        terminal_id = -1
        if is_ended and reading[:1] + reading[2:4] == ended[:1] + ended[2:4]:
            terminal_id = ended.terminal_id
            reading = lexer.reading(next_number, rest)
        if reading.number >= 0 and not reading.begin:
            members.setdefault((terminal_id, reading.number), []).append(each)
    wanted = ended.terminal_id if is_ended else -1
    return [
        NameGroup(each, begun, lexer.places[number], len(before), read)
        for (terminal_id, number), each in members.items()
        if terminal_id == wanted and not lexer.places[number].may_have_left
    ]
