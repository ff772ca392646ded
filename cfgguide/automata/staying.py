"""Which characters may follow one another from a state of an automaton, in any order.

In: an automaton over characters. Out: kinds of characters (:mod:`cfgguide.base.kinds`), and how
many of them may come.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache, reduce
from operator import or_
from typing import TypeVar

from cfgguide.automata.alphabet import Alphabet
from cfgguide.base.kinds import BEGUN, EVERY, MOST, N_BITS, kinds_meeting
from cfgguide.base.limits import check_step
from cfgguide.base.sets import members

Key = TypeVar("Key", bound=Hashable)

#: States that are looked at together. In 80 schemas of SchemaStore, walks visit 1.4 times as many
#: nodes with 3, as many with 16, and 1.01 times with 1, which costs patterns 3 %.
_MAX_GROUP = 8


def staying(
    start: Key,
    moves: Callable[[Key], Mapping[Key, int]],
    near: Callable[[Key, int], Key],
    alphabet: Alphabet,
    raw: int,
    lengths: Iterable[float],
) -> int:
    """Return kinds of characters, any of which may follow one another from a state.

    Parameters
    ----------
    start : key
        The state.
    moves : callable
        Returns the states after one more character, without the dead one, with its letters as bits.
    near : callable
        Returns for a state and `n` one after which `n` characters do what they do after it.
    alphabet : Alphabet
        That of the letters.
    raw : int
        The kinds that are asked for, as bits.
    lengths : iterable of float
        How many characters are tried, until some kinds are found.

    Returns
    -------
    int
        The kinds, as bits, and above them how many characters may come: `MOST` for any number. 0
        if no kinds are found; there may be some.
    """

    def leading_on(state: Key) -> int:
        return _kinds_in(alphabet, reduce(or_, moves(state).values(), 0))

    for n in lengths:
        n = int(min(n, MOST))
        if n <= 0:
            continue
        found, is_counted = raw & leading_on(start), False
        while found:
            before = found
            # A state stands for those after which n - 1 characters do what they do after it: so of
            # n characters each leads to a state that one of the group stands for.
            group, stand_for = [start], {near(start, n - 1)}
            for state in group:  # grows while it is walked
                for target, letters in moves(state).items():
                    if not (met := found and found & _kinds_meeting(alphabet, letters)):
                        continue
                    like = near(target, n - 1)
                    is_counted = is_counted or like != target
                    if like in stand_for:
                        continue
                    # Either these kinds are given up, or those that do not lead on from there.
                    with_target, without = found & leading_on(target), found & ~met
                    if len(group) == _MAX_GROUP or with_target.bit_count() <= without.bit_count():
                        found = without
                    else:
                        found = with_target
                        group.append(target)
                        stand_for.add(like)
            if found == before:
                return found | BEGUN | n << N_BITS
        if not is_counted:
            break
    return 0


def looping(letters: int, alphabet: Alphabet, raw: int) -> int:
    """Return kinds of characters, any of which lead from a state back to it, and `MOST` above them.

    `letters` are those that lead there, `raw` the kinds that are asked for, both as bits.
    """
    found = raw & _kinds_in(alphabet, letters)
    return found and found | MOST << N_BITS


def _kinds_in(alphabet: Alphabet, letters: int) -> int:
    """Return the kinds that have characters of no other letters."""
    return EVERY & ~_kinds_meeting(alphabet, (1 << alphabet.n_letters) - 1 & ~letters)


@lru_cache(maxsize=10_000)
def _kinds_meeting(alphabet: Alphabet, letters: int) -> int:
    """Return the kinds that have characters of some letters."""
    kinds, found = _kinds_of(alphabet), members(letters)
    check_step(0)
    return reduce(or_, map(kinds.__getitem__, found), 0)


@lru_cache(maxsize=256)
def _kinds_of(alphabet: Alphabet) -> list[int]:
    """Return for each letter the kinds that have characters of it."""
    found = [0] * alphabet.n_letters
    for low, high, letter in alphabet.intervals():
        check_step(0)
        found[letter] |= kinds_meeting(((low, high),))
    return found
