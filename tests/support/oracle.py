"""The slow and obvious twin of the engine: which tokens are allowed, by the definition alone.

A token is allowed after a text if some sequence of tokens completes the two to a text that Lark
parses; EOS is allowed if Lark parses the text as it stands. An :class:`Oracle` decides this by
trying all sequences of tokens up to a length. It knows Lark, and nothing of cfgguide.

The search is bounded, so it proves that a token is allowed, but not that it is forbidden: a longer
completion might exist. Each :class:`Case` states within how many tokens every text of its grammar
can be completed that can be completed at all; the grammars are so small that this is seen at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import lark
from lark.exceptions import UnexpectedInput


class Oracle:
    """Decides tokens after texts, for one grammar and one vocabulary.

    Parameters
    ----------
    grammar : str
        In Lark's language.
    tokens : sequence of (bytes or None)
        Bytes of each id; None for ids without text.
    eos_token_ids : sequence of int
        Ids that end the text.
    counts_bytes : bool
        Whether a completion is as long as its bytes, or as its tokens.
    """

    def __init__(
        self,
        grammar: str,
        tokens: Sequence[bytes | None],
        *,
        eos_token_ids: Sequence[int],
        counts_bytes: bool = False,
    ) -> None:
        self.parser = lark.Lark(grammar, parser="lalr", lexer="contextual")
        self.tokens = [
            None if index in eos_token_ids else token or None for index, token in enumerate(tokens)
        ]
        self.eos_token_ids = set(eos_token_ids)
        self._words = sorted({token for token in self.tokens if token})
        self._cost = len if counts_bytes else lambda word: 1
        self.is_sentence = cache(self._is_sentence)
        self.completion = cache(self._completion)

    def _is_sentence(self, text: bytes) -> bool:
        """Return whether Lark parses a text."""
        try:
            self.parser.parse(text.decode())
        except (UnexpectedInput, UnicodeDecodeError, EOFError):
            # EOFError: Lark's own search for a better message can run into the end of the text.
            return False
        return True

    def _completion(self, text: bytes, room: int) -> bytes | None:
        """Return what tokens of length `room` in all make of a text a sentence, or None."""
        if self.is_sentence(text):
            return b""
        for word in self._words:
            if self._cost(word) <= room:
                rest = self.completion(text + word, room - self._cost(word))
                if rest is not None:
                    return word + rest
        return None

    def allowed(self, text: bytes, *, within: int) -> set[int]:
        """Return the ids allowed after a text, if what is live can be completed `within` that."""
        found = set(self.eos_token_ids if self.is_sentence(text) else ())
        for index, token in enumerate(self.tokens):
            if token is not None and self.completion(text + token, within) is not None:
                found.add(index)
        return found


class Case(NamedTuple):
    """A grammar and a vocabulary for which a bounded search is enough.

    Attributes
    ----------
    grammar : str
        In Lark's language.
    tokens : sequence of bytes
        All tokens but EOS, which gets the next id.
    within : int
        A text that can be completed to a sentence is completed by so many tokens or fewer.
    depth : int
        The longest sequence of tokens after which masks are compared.
    """

    grammar: str
    tokens: Sequence[bytes]
    within: int
    depth: int

    @property
    def eos_token_id(self) -> int:
        return len(self.tokens)

    @property
    def vocabulary(self) -> list[bytes | None]:
        return [*self.tokens, None]

    def oracle(self) -> Oracle:
        return Oracle(self.grammar, self.vocabulary, eos_token_ids=[self.eos_token_id])


def spelled_texts(tokens: Sequence[bytes | None], max_bytes: int) -> Iterator[bytes]:
    """Yield every text of at most `max_bytes` that the tokens spell, the shortest first."""
    words = sorted({token for token in tokens if token})
    of_length: list[set[bytes]] = [{b""}, *(set() for _ in range(max_bytes))]
    for texts in of_length:
        for text in sorted(texts):
            yield text
            for word in words:
                if len(text + word) <= max_bytes:
                    of_length[len(text + word)].add(text + word)
