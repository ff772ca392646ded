"""Tokens that begin alike and then stay in one lexeme, where a monitor follows a text.

In: a configuration, and tokens. Out: those that may follow, or groups that lead alike. Reading a
token with the monitor takes a while; of thousands of names after one white space only the
beginning is read, and of the others the lexer tells that they lead to the same place. ::

    after `def`      ` mean`, ` total`, ` x1`     a gap, and then NAME
                     `(`, ` ():`                  by themselves
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cfgguide.engine.machine.lexer_places import LEAVING
from cfgguide.engine.machine.recognizer import Configuration
from cfgguide.engine.machine.watching import WatchedStack, WatchingRecognizer, watched

_MANY = 100  # tokens; fewer are read one by one


def accepted(
    recognizer: WatchingRecognizer,
    start: Configuration,
    tokens: Sequence[bytes],
    is_live: Callable[[Configuration], bool],
) -> list[int]:
    """Return the tokens that may follow, by their places in the list.

    They are read as a tree of bytes, so all that begin with what is refused are refused.

    Parameters
    ----------
    recognizer : WatchingRecognizer
        Reads them.
    start : Configuration
        Where they begin.
    tokens : sequence of bytes
        The tokens.
    is_live : callable
        Whether a sentence can follow a configuration.
    """
    found: list[int] = []
    pending = [(start, 0, [*range(len(tokens))])]
    while pending:
        here, n_read, among = pending.pop()
        by_byte: dict[int, list[int]] = {}
        ended: list[int] = []
        for each in among:
            token = tokens[each]
            if len(token) == n_read:
                ended.append(each)
            else:
                by_byte.setdefault(token[n_read], []).append(each)
        if ended and is_live(here):
            found += ended
        for byte, below in by_byte.items():
            read = bytes((byte,)) if len(below) > 1 else tokens[below[0]][n_read:]
            after = recognizer.advance(here, read)
            if after is not None:
                pending.append((after, n_read + len(read), below))
    return found


def groups(
    recognizer: WatchingRecognizer, start: Configuration, tokens: Sequence[bytes]
) -> Iterator[list[int]]:
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
        found: list[list[int]] = []
        if begun is not None and begun.text and before not in beginnings:
            beginnings.add(before)
            found = _groups(recognizer, start, before, begun, left, begun.text[: max(-n_before, 0)])
        for group in found or [[first]]:
            yield group
            for each in group:
                del left[each]
    for each in left:
        yield [each]


def _groups(
    recognizer: WatchingRecognizer,
    start: Configuration,
    before: bytes,
    begun: WatchedStack,
    left: dict[int, bytes],
    read: bytes,
) -> list[list[int]]:
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
        each
        for (terminal_id, number), each in members.items()
        if terminal_id == wanted and not lexer.places[number].left
    ]
