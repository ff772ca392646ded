"""Lark as the judge of one grammar, and what its verdicts prove about prefixes.

A sentence proves that each of its prefixes is live. With tokens, a prefix is live if the rest of
some sentence can be spelled by tokens. So every sentence that is found, wherever it was found, adds
to what is proved; nothing here proves that a text is *not* live.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from unittest import mock

import lark
from lark.exceptions import UnexpectedInput


class LarkRefusal(Exception):
    """Lark does not take the grammar."""


class Judge:
    """Decides texts by Lark.

    Parameters
    ----------
    grammar, lexer : str
        As for ``lark.Lark``.
    tokens : sequence of bytes
        What sentences are spelled with.

    Attributes
    ----------
    live : set of bytes
        Texts that tokens are proved to complete to a sentence.
    starts : set of bytes
        Prefixes of sentences, whatever the tokens.
    odd : set of str
        Names of errors that Lark raised for a text and that are no refusals as it documents them.
    """

    def __init__(self, grammar: str, lexer: str, tokens: Sequence[bytes]) -> None:
        try:
            self.parser = self._parser(grammar, lexer)
        except Exception as error:  # Lark reports some mistakes with assertions and others
            raise LarkRefusal(str(error)) from error
        self._tokens = sorted(set(tokens))
        self._verdicts: dict[bytes, bool] = {}
        self.live: set[bytes] = set()
        self.starts: set[bytes] = set()
        self.odd: set[str] = set()

    @staticmethod
    def _parser(grammar: str, lexer: str) -> lark.Lark:
        try:
            return lark.Lark(grammar, parser="lalr", lexer=lexer)
        except AttributeError as error:
            if "Comparator" not in str(error):
                raise
            # The comparison of terminals, of which Lark only logs what it finds, has a defect.
            with mock.patch("lark.lexer.has_interegular", False):
                return lark.Lark(grammar, parser="lalr", lexer=lexer)

    @property
    def n_sentences(self) -> int:
        return sum(self._verdicts.values())

    def is_sentence(self, text: bytes) -> bool:
        """Return whether Lark parses a text."""
        if text not in self._verdicts:
            self._verdicts[text] = self._parses(text)
            if self._verdicts[text]:
                self.starts.update(text[:end] for end in range(len(text) + 1))
                self.live.update(text[:end] for end in self._spelled_from(text))
        return self._verdicts[text]

    def _parses(self, text: bytes) -> bool:
        try:
            self.parser.parse(text.decode())
        except (UnexpectedInput, UnicodeDecodeError, EOFError):
            # EOFError: Lark's own search for a better message can run into the end of the text.
            return False
        except Exception as error:
            self.odd.add(f"{type(error).__name__}: {error}")
            return False
        return True

    def _spelled_from(self, text: bytes) -> set[int]:
        """Return the places from which on tokens spell the rest of a text."""
        places = {len(text)}
        for start in range(len(text) - 1, -1, -1):
            if any(
                text.startswith(token, start) and start + len(token) in places
                for token in self._tokens
            ):
                places.add(start)
        return places

    def lexing_error(self) -> str | None:
        """Return what ``re`` says of Lark's scanners; Lark itself builds them with the texts."""
        lexers = getattr(self.parser.parser.lexer, "lexers", None)
        for lexer in lexers.values() if lexers else [self.parser.parser.lexer]:
            try:
                assert lexer.scanner
            except re.error as error:
                return str(error)
        return None
