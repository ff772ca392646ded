"""Quotes: answers that stand word for word in a text.

In: a text. Out: a :class:`QuoteGrammar`, whose machine reads the pieces of the text
(:mod:`cfgguide.automata.pieces`) as that of a pattern reads what the pattern matches.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from cfgguide.automata.pieces import PieceAutomaton, Unit
from cfgguide.base import archive
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.engine.byte_machine.piece_masks import PieceMachine
from cfgguide.errors import GrammarError, VocabularyError, shown
from cfgguide.grammar.grammar import Grammar, GrammarOnRequest
from cfgguide.schema.quoted_strings import Quote

if TYPE_CHECKING:
    from cfgguide.engine.index.index import Index
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

VERSION = 1  # of what the masks mean


class QuoteSource(NamedTuple):
    """What the machine of quotes is made from.

    Attributes
    ----------
    text, unit, max_length :
        As of :func:`quote_of`.
    missing : frozenset of int
        Bytes that no token has: no quote has a character with one of them.
    """

    text: str
    unit: Unit
    max_length: int | None
    missing: frozenset[int] = frozenset()

    @property
    def digest(self) -> str:
        """Of all of it."""
        return archive.digest({}, [VERSION, "quote", *self[:3], sorted(self.missing)])

    def packed(self) -> dict[str, object]:
        """Return all of it, in the place of a pattern."""
        return {"pattern": [*self[:3], sorted(self.missing)]}

    def machine(self) -> ByteMachine:
        """Return a machine that nobody else has.

        Raises
        ------
        VocabularyError
            If no piece can be written.
        """
        automaton = PieceAutomaton(*self)
        if automaton.is_empty:
            raise VocabularyError(
                "the vocabulary can spell no piece of the text: use a tokenizer with a token for "
                "every byte"
            )
        return PieceMachine(automaton, self)


def quotes_again(packed: Any) -> ByteMachine:
    """Return the machine of what :meth:`QuoteSource.packed` made.

    Raises
    ------
    TypeError, ValueError, CfgGuideError
        If it is something else.
    """
    text, unit, max_length, missing = packed
    source = quote_of(text, unit, max_length=max_length).source
    return source._replace(missing=frozenset(missing)).machine()


class QuoteGrammar(GrammarOnRequest):
    """A grammar of the pieces of a text; :func:`quote_of` makes it."""

    has_tables = False
    source: QuoteSource

    def __init__(self, source: QuoteSource) -> None:
        vars(self)["source"] = source

    def _written(self) -> str:
        raise GrammarError(
            "quotes have no text in Lark's language, and are no parts of other grammars: let the "
            "whole answer be a quote"
        )

    def _key(self) -> Hashable:
        return self.source

    def __repr__(self) -> str:
        return f"QuoteGrammar({shown(self.source.text)}, unit={self.source.unit!r})"

    def parse(self, text: str) -> str:
        """Return the text."""
        return text

    def own_machine(
        self, vocabulary: Vocabulary, compile: Callable[[Grammar, Vocabulary], Index]
    ) -> ByteMachine:
        """Return the machine of the pieces that a vocabulary can spell."""
        missing = frozenset(range(256)) - vocabulary.spelling.reachable_bytes
        kept = missing.intersection(self.source.text.encode())
        return self.source._replace(missing=kept).machine()


def quote_of(
    text: str, unit: Unit = "characters", *, max_length: int | None = None
) -> QuoteGrammar:
    """Return a grammar of the pieces of a text, word for word.

    Parameters
    ----------
    text : str
        The text, of at most 1,000,000 characters.
    unit : {"characters", "words", "sentences"}
        Of what a quote is made, with all that stands between. A word is letters, digits and ``_``,
        also with a hyphen, an apostrophe or a point inside. A sentence ends with a mark before
        white space, or before an empty line.
    max_length : int, optional
        The most units of a quote.

    Returns
    -------
    QuoteGrammar
        What :func:`cfgguide.generate` and :func:`cfgguide.compile` take.

    Raises
    ------
    GrammarError
        If the text has no such unit, or an argument is wrong.
    LimitError
        If it is too long.

    Examples
    --------
    >>> import cfgguide
    >>> quotes = quote_of("It is late. We are tired!", unit="words", max_length=3)
    >>> texts = ("is late", "late. We are", "It is late. We", "is lat", "We tired")
    >>> [cfgguide.check(quotes, each).is_sentence for each in texts]
    [True, True, False, False, False]
    """
    quote = Quote(text, unit, max_length)
    return QuoteGrammar(QuoteSource(quote.text, quote.unit, quote.max_length))
