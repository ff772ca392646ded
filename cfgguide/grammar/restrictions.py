"""Which lexemes of a terminal a grammar's user wants, of those that the grammar has.

In: the options `restrict`, `keywords` and `max_ignored` of a
:class:`~cfgguide.grammar.grammar.Grammar`, and Lark's terminals. Out: :class:`Restriction` objects,
one or more for a terminal. The lexer reads a text as it would without them; then a lexeme that is
not wanted is refused. So a sentence is what Lark takes, if its lexemes are wanted, too. Where line
breaks are restricted in Python, an empty last line has no white space either. ::

    keywords="upper"   SELECT a    `select a` is refused, and `select` does not become a name

Whether a terminal is a keyword is asked of its FSM: names say little, since Lark renames what is
imported (`sql__SELECT`), and `re` may take any time over a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cfgguide.automata.charset import CharacterClass, ignoring_case
from cfgguide.automata.dfa import DEAD, Fsm
from cfgguide.errors import GrammarError
from cfgguide.grammar.grammar import Grammar

_SHOWN = 20
_MAX_LENGTH = 100  # of a keyword
_MAX_CHARACTERS = 8  # that may come at one place of a keyword, such as s, S and a long s
_SPACE = r"\s+"


@dataclass(frozen=True)
class Restriction:
    """What the lexemes of a terminal may be.

    Attributes
    ----------
    terminal : str
        Its name.
    pattern : str or None
        What they match, whole.
    max_characters : int or None
        How many characters they have at most, together with the white space before them.
    """

    terminal: str
    pattern: str | None = None
    max_characters: int | None = None

    @property
    def is_total(self) -> bool:
        """Whether there is to be no lexeme at all."""
        return self.max_characters == 0


def restrictions_of(
    grammar: Grammar,
    terminals: Sequence[str],
    ignored: Iterable[str],
    unused: Iterable[str],
    fsm_of: Callable[[str], Fsm],
) -> tuple[Restriction, ...]:
    """Return the restrictions of a grammar's terminals.

    Parameters
    ----------
    grammar : Grammar
        The grammar.
    terminals : sequence of str
        The terminals that have a pattern.
    ignored : iterable of str
        Those that the lexer or the indenter drops.
    unused : iterable of str
        Terminals that the grammar defines, perhaps for other start rules.
    fsm_of : callable
        From the name of a terminal to its FSM.

    Raises
    ------
    GrammarError
        If it restricts a terminal that is neither used nor defined.
    PatternError, LimitError
        As `fsm_of`.
    """
    found: list[Restriction] = []
    for terminal, pattern in dict(grammar.restrict).items():
        if terminal not in terminals:
            if terminal in unused:
                continue
            raise GrammarError(
                f"restrict names the terminal {terminal!r}, which the grammar does not use; there "
                f"are {_shown(sorted(terminals))}"
            )
        found.append(
            Restriction(terminal, pattern)
            if pattern is not None
            else Restriction(terminal, max_characters=0)
        )
    if grammar.keywords is not None:
        for name in sorted(terminals):
            cases = keyword_of(fsm_of(name))
            if cases is not None:
                found.append(Restriction(name, f"(?-i:{cases[grammar.keywords]})"))
    if grammar.max_ignored is not None:
        found += [
            Restriction(name, max_characters=grammar.max_ignored) for name in sorted(set(ignored))
        ]
    return tuple(found)


def keyword_of(fsm: Fsm) -> dict[str, str] | None:
    r"""Return patterns of a keyword in upper and in lower case; None if a terminal is not one.

    A keyword matches one word, or several in a row, in upper and in lower case, and nothing else
    but the same in mixed case. White space between words may vary. What the terminal looks for
    before and after the word does not count.

    Examples
    --------
    >>> from cfgguide.automata.determinize import fsm_of_pattern
    >>> keyword_of(fsm_of_pattern(r"(?i:group\s+by)(?!\w)", name="sql__GROUP_BY"))
    {'upper': 'GROUP\\s+BY', 'lower': 'group\\s+by'}
    >>> keyword_of(fsm_of_pattern("[A-Za-z]+", name="NAME")) is None
    True
    """
    upper = lower = ""
    states = {each for start in fsm.starts.tolist() for each in fsm.resolved(start)} - {DEAD}
    for _ in range(_MAX_LENGTH):
        after = _after_one(fsm, states)
        if upper.endswith(_SPACE):
            after.pop(" ", None)  # is in the pattern already
        if not after:
            is_word = upper != lower and not upper[0].isdigit()
            return {"upper": upper, "lower": lower} if is_word else None
        letter = None if fsm.is_final[list(states)].any() else _letter(set(after))
        if letter is None:
            return None
        states = set().union(*after.values())
        if letter == (_SPACE, _SPACE):
            n_before = 0
            while len(states) > n_before:
                n_before = len(states)
                states |= _after_one(fsm, states).get(" ", set())
        upper, lower = upper + letter[0], lower + letter[1]
    return None


def _after_one(fsm: Fsm, states: set[int]) -> dict[str, set[int]]:
    """Return the states after each character that may come, white space as one; not of many."""
    after: dict[str, set[int]] = {}
    begun = [(b"", state) for state in sorted(states)]
    for data, state in begun:  # grows while it is walked
        row = fsm.after_bytes(state)
        for byte in np.flatnonzero(row).tolist():
            longer = data + bytes([byte])
            targets = set(fsm.resolved(int(row[byte]))) - {DEAD}
            if len(longer) < _n_bytes(longer[0]):
                begun += [(longer, target) for target in targets]
            else:
                character = longer.decode()
                after.setdefault(" " if character.isspace() else character, set()).update(targets)
        if len(after) > _MAX_CHARACTERS:
            break
    return after


def _n_bytes(first: int) -> int:
    """Return how many bytes a character has, by its first."""
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)


def _letter(characters: set[str]) -> tuple[str, str] | None:
    """Return patterns of the one letter that characters are, in upper and in lower case.

    Under `re.IGNORECASE` an S may be a long s, too, and a K the sign for Kelvin.
    """
    if characters == {" "}:
        return _SPACE, _SPACE
    for upper in sorted(characters):
        lower = upper.lower()
        if upper == upper.upper() and lower in characters:
            alike = ignoring_case(CharacterClass.of_characters([ord(lower)]), ascii_only=False)
            is_one = all(ord(each) in alike for each in characters)
            return (re.escape(upper), re.escape(lower)) if is_one else None
    return None


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
