"""Lark as the judge of one grammar, and what its verdicts prove about prefixes.

A sentence proves that each of its prefixes is live. With tokens, a prefix is live if the rest of
some sentence can be spelled by tokens. So every sentence that is found, wherever it was found, adds
to what is proved; nothing here proves that a text is *not* live.

Lark's Earley parser is asked for the forest of a text and not for a tree. It has decided whether
the text is a sentence before it makes a tree of the forest, which may take any time. Where the
start rule has several sides and ignored text at the end can be read in two ways, Lark 1.3.1 finds
a whole text twice and calls that an error of its own; such a text is a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from unittest import mock

import lark
from lark.exceptions import UnexpectedInput

_SEVERAL_STARTS = "Earley should not generate multiple start symbol items"


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
    parser : str
        As for ``lark.Lark``.

    Attributes
    ----------
    live : set of bytes
        Texts that tokens are proved to complete to a sentence.
    starts : set of bytes
        Prefixes of sentences, whatever the tokens.
    odd : set of str
        Names of errors that Lark raised for a text and that are no refusals as it documents them.
    """

    def __init__(
        self, grammar: str, lexer: str, tokens: Sequence[bytes], parser: str = "lalr"
    ) -> None:
        options = {"parser": parser, "lexer": lexer}
        if parser == "earley":
            options["ambiguity"] = "forest"  # see above
        try:
            self.parser = self._parser(grammar, options)
        except Exception as error:  # Lark reports some mistakes with assertions and others
            raise LarkRefusal(str(error)) from error
        self._tokens = sorted(set(tokens))
        self._verdicts: dict[bytes, bool] = {}
        self.live: set[bytes] = set()
        self.starts: set[bytes] = set()
        self.odd: set[str] = set()

    @staticmethod
    def _parser(grammar: str, options: dict[str, Any]) -> lark.Lark:
        try:
            return lark.Lark(grammar, **options)
        except AttributeError as error:
            if "Comparator" not in str(error):
                raise
            # The comparison of terminals, of which Lark only logs what it finds, has a defect.
            with mock.patch("lark.lexer.has_interegular", False):
                return lark.Lark(grammar, **options)

    @property
    def n_sentences(self) -> int:
        return sum(self._verdicts.values())

    def sentences(self) -> list[bytes]:
        """Return the texts that were judged to be sentences."""
        return [text for text, is_sentence in self._verdicts.items() if is_sentence]

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
            if _SEVERAL_STARTS in str(error):
                return True
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
        if self.parser.parser.skip_lexer:  # the dynamic lexers have none
            return None
        lexers = getattr(self.parser.parser.lexer, "lexers", None)
        for lexer in lexers.values() if lexers else [self.parser.parser.lexer]:
            try:
                assert lexer.scanner
            except re.error as error:
                return str(error)
        return None
