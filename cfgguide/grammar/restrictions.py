"""Which lexemes of a terminal a grammar's user wants, of those that the grammar has.

In: the options `restrict`, `keywords` and `max_ignored` of a
:class:`~cfgguide.grammar.grammar.Grammar`, and Lark's terminals. Out: :class:`Restriction` objects,
one or more for a terminal. The lexer reads a text as it would without them; then a lexeme that is
not wanted is refused. So a sentence is what Lark takes, if its lexemes are wanted, too. Where line
breaks are restricted in Python, an empty last line has no white space either. ::

    keywords="upper"   SELECT a    `select a` is refused, and `select` does not become a name
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cfgguide.errors import GrammarError
from cfgguide.grammar.grammar import Grammar

#: The letters that keywords of a case do not have.
OTHER_CASE = {"upper": b"abcdefghijklmnopqrstuvwxyz", "lower": b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_SHOWN = 20


@dataclass(frozen=True)
class Restriction:
    """What the lexemes of a terminal may be.

    Attributes
    ----------
    terminal : str
        Its name.
    pattern : str or None
        What they match, whole.
    forbidden : bytes
        What they do not contain.
    max_characters : int or None
        How many characters they have at most, together with the white space before them.
    """

    terminal: str
    pattern: str | None = None
    forbidden: bytes = b""
    max_characters: int | None = None

    @property
    def is_total(self) -> bool:
        """Whether there is to be no lexeme at all."""
        return self.max_characters == 0


def restrictions_of(
    grammar: Grammar, patterns: dict[str, str], ignored: Iterable[str]
) -> tuple[Restriction, ...]:
    """Return the restrictions of a grammar's terminals.

    Parameters
    ----------
    grammar : Grammar
        The grammar.
    patterns : dict of str to str
        The pattern of each terminal.
    ignored : iterable of str
        The terminals that the lexer or the indenter drops.

    Raises
    ------
    GrammarError
        If it restricts a terminal that is not there.
    """
    found: list[Restriction] = []
    for terminal, pattern in dict(grammar.restrict).items():
        if terminal not in patterns:
            raise GrammarError(
                f"restrict names the terminal {terminal!r}, which the grammar does not use; there "
                f"are {_shown(sorted(patterns))}"
            )
        found.append(
            Restriction(terminal, pattern)
            if pattern is not None
            else Restriction(terminal, max_characters=0)
        )
    if grammar.keywords is not None:
        found += [
            Restriction(name, forbidden=OTHER_CASE[grammar.keywords])
            for name, pattern in sorted(patterns.items())
            if is_keyword(name, pattern, grammar.regex_flags)
        ]
    if grammar.max_ignored is not None:
        found += [
            Restriction(name, max_characters=grammar.max_ignored) for name in sorted(set(ignored))
        ]
    return tuple(found)


def is_keyword(name: str, pattern: str, flags: int = 0) -> bool:
    """Return whether a terminal is a keyword: it matches its own name in any case, and no other.

    Examples
    --------
    >>> is_keyword("SELECT", "(?i:select)"), is_keyword("NAME", "[A-Za-z]+")
    (True, False)
    """
    matches = re.compile(pattern, flags).fullmatch
    word = name.removeprefix("_")
    cases = word.upper(), word.lower()
    others = [f"{before}{case}" for before in ("zq", "ZQ", word) for case in cases]
    return all(map(matches, cases)) and not any(map(matches, others))


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
