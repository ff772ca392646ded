r"""The bytes that stand for special tokens in texts.

A grammar may have terminals that are tokens and no text. A text that a model has written is then no
longer UTF-8 alone: each such token is one byte that UTF-8 never has. So no text spells one, none is
taken for text, and whatever reads bytes reads it like any other. ::

    <tool_call>{"name"   F5 7B 22 6E 61 6D 65 22

Which byte stands for which terminal is a matter of one grammar.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping

from cfgguide.errors import GrammarError

SYMBOLS = bytes([*range(0xF5, 0x100), 0xC0, 0xC1])
_SYMBOL = re.compile(b"([" + re.escape(SYMBOLS) + b"])")


def symbols_of(terminals: Iterable[str]) -> dict[str, int]:
    """Return the byte that stands for each special terminal of a grammar, in their order.

    Raises
    ------
    GrammarError
        If there are more than 13.

    Examples
    --------
    >>> symbols_of(["END", "BEGIN"])
    {'BEGIN': 245, 'END': 246}
    """
    names = sorted(terminals)
    if len(names) > len(SYMBOLS):
        raise GrammarError(
            f"a grammar has at most {len(SYMBOLS)} special terminals, and this one has "
            f"{len(names)}; one terminal may stand for several tokens"
        )
    return dict(zip(names, SYMBOLS, strict=False))


def parts(data: bytes) -> Iterator[bytes | int]:
    r"""Yield the texts and the symbols of which bytes are made.

    Examples
    --------
    >>> list(parts(b"a\xf5\xf6b"))
    [b'a', 245, 246, b'b']
    """
    for index, part in enumerate(_SYMBOL.split(data)):
        if index % 2:
            yield part[0]
        elif part:
            yield part


class TextDecoder:
    r"""Decodes pieces of a text as they come, with a name for each symbol.

    A character whose bytes are not all there is kept back, until they are.

    Parameters
    ----------
    names : mapping of int to str
        The names of symbols.

    Examples
    --------
    >>> decoder = TextDecoder({0xF5: "<end>"})
    >>> decoder.decode(b"a\xc3"), decoder.decode(b"\xa9\xf5")
    ('a', 'é<end>')
    """

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def decode(self, piece: bytes) -> str:
        """Return the characters that are complete with a piece.

        Raises
        ------
        UnicodeDecodeError
            If the bytes are not UTF-8.
        """
        if not self._names:
            return self._decoder.decode(piece)
        return "".join(
            self._names[part] if isinstance(part, int) else self._decoder.decode(part)
            for part in parts(piece)
        )
