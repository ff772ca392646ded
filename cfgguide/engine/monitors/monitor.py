r"""Monitors: what a grammar cannot say of a text, followed while it is written.

In: the lexemes of a text and the reductions of its parser, in turn. Out: at each place, which texts
of a terminal may stand there. A :class:`Monitor` is a value: every event makes another one, so
copies, rollback and beams cost nothing. ::

    start: "<" NAME ">" start "</" NAME ">" | "x"        a tag is closed by its own name

    <a><b>      NAME shifted 'a', then 'b'      open: a b
    <a><b>x</   which NAME?                     only 'b'
    <a><b>x</b> NAME shifted 'b'                open: a

What it refuses never reaches a mask, nor does anything that would leave no way on; so a monitor
that says only what is wrong here and now is enough. How that is found out: see
:mod:`cfgguide.engine.machine.watching`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import ClassVar

from cfgguide.engine.monitors.text_sets import Texts


class Monitor(ABC):
    """What is known of a text, as far as a grammar cannot tell it; immutable and hashable.

    Two monitors that are equal allow the same from here on. A frozen dataclass is a good start.

    Attributes
    ----------
    terminals : frozenset of str
        The terminals whose lexemes the monitor follows, by their names in Lark's tables.
    rules : frozenset of str
        The rules whose reductions it follows. A rule is reduced when all of it has come and the
        terminal of the next lexeme is known, before that is shifted. A rule that is empty, such as
        ``in_where:``, marks a place.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import cfgguide
    >>> from cfgguide.monitors import Monitor, OneOf
    >>> @dataclass(frozen=True)
    ... class Tags(Monitor):
    ...     terminals = frozenset({"NAME", "OPEN", "CLOSE"})
    ...     open: tuple[str, ...] = ()
    ...     is_closing: bool = False
    ...
    ...     def texts(self, terminal):
    ...         return OneOf(self.open[-1:]) if terminal == "NAME" and self.is_closing else None
    ...
    ...     def shifted(self, terminal, text):
    ...         if terminal != "NAME":
    ...             return Tags(self.open, is_closing=terminal == "CLOSE")
    ...         return Tags(self.open[:-1] if self.is_closing else (*self.open, text))
    >>> grammar = cfgguide.Grammar('''
    ... start: OPEN NAME ">" start CLOSE NAME ">" | "x"
    ... OPEN: "<"
    ... CLOSE: "</"
    ... NAME: /[a-z]+/
    ... ''')
    >>> vocabulary = cfgguide.Vocabulary.of_bytes([b"ab", b"</"])
    >>> guide = cfgguide.Guide(cfgguide.compile(grammar.watched_by(Tags()), vocabulary))
    >>> for byte in b"<ab>x</":
    ...     guide.advance(byte)
    >>> [vocabulary.tokens[token_id] for token_id in guide.allowed_token_ids()]
    [b'a', b'ab']
    """

    terminals: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def texts(self, terminal: str) -> Texts | None:
        """Return which texts of a terminal may stand here; None if all may.

        It is asked of the terminals that are followed, after the reductions that come before them.

        Parameters
        ----------
        terminal : str
            One that the grammar allows here.
        """

    @abstractmethod
    def shifted(self, terminal: str, text: str) -> Monitor:
        """Return the monitor after a lexeme that :meth:`texts` allows."""

    def reduced(self, rule: str) -> Monitor | None:
        """Return the monitor after a reduction; None if nothing may follow that leads to it."""
        raise NotImplementedError(f"{type(self).__name__} follows the rule {rule!r}: say how")

    @property
    def relevant(self) -> Hashable:
        """What decides which lexemes may follow from here, however the text goes on.

        Masks are shared by all texts for which this and the parser's stack are equal. By default it
        is the monitor itself, which is always right. Less is faster; what may be left out is found
        by :func:`cfgguide.testing.check_monitor`.
        """
        return self

    @property
    def can_finish(self) -> bool | None:
        """Whether a sentence that the monitor allows can follow; None if that is to be searched.

        True is a promise that holds wherever the grammar can go on: the monitor itself refuses
        what would leave no way. False refuses the text so far.
        """
        return None

    def way_out(self) -> Iterable[tuple[str, str]]:
        """Return lexemes that lead towards the end of a text, the best first: terminals and texts.

        They are tried before all others where a text is to be finished soon; those that may not
        stand here are passed over. By default the grammar alone says what is short.
        """
        return ()

    def known(self) -> Texts | None:
        """Return the texts that mean something here, as names that exist; None if it is not said.

        Where a terminal may have any text, all others are as good as each other: within a budget,
        one of them stands for them all.
        """
        return None

    def why(self, terminal: str, text: str) -> str:
        """Return why a lexeme is refused here, for people; empty if there is nothing to say."""
        return ""
