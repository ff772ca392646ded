"""Kinds of characters are a partition, and what stays under them is never dead."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfgguide.automata.charset import MAX_CODE_POINT, SURROGATES
from cfgguide.automata.ecma_notation import read
from cfgguide.automata.language import DEAD, after
from cfgguide.automata.pattern_automaton import anywhere, automaton_of
from cfgguide.base.kinds import KINDS, N_BITS, NO_TEXT, kinds_in, kinds_meeting, kinds_of
from cfgguide.engine.byte_machine.scalars import Bounded, Strings

_POINTS = np.arange(MAX_CODE_POINT + 1)
_KINDS = kinds_of(_POINTS)


def test_each_character_has_one_kind():
    assert (_KINDS[SURROGATES[0] : SURROGATES[1] + 1] == NO_TEXT).all()
    others = np.delete(_KINDS, np.arange(SURROGATES[0], SURROGATES[1] + 1))
    assert set(np.bitwise_count(others).tolist()) == {1}
    assert NO_TEXT not in set(others.tolist())
    assert len(set(others.tolist())) < N_BITS
    assert kinds_of(np.array([-1, MAX_CODE_POINT + 1])).tolist() == [NO_TEXT, NO_TEXT]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(*[st.integers(0, 0x3100) | st.integers(0, MAX_CODE_POINT)] * 2)))
def test_kinds_of_ranges_are_those_of_their_characters(pairs):
    is_in = np.zeros(MAX_CODE_POINT + 1, dtype=np.bool_)
    for low, high in pairs:
        is_in[min(low, high) : max(low, high) + 1] = True
    edges = np.flatnonzero(np.diff(is_in.astype(np.int8), prepend=0, append=0))
    ranges = tuple((int(low), int(end) - 1) for low, end in edges.reshape(-1, 2))
    every = set(np.unique(_KINDS).tolist()) - {NO_TEXT}
    outside = set(np.unique(_KINDS[~is_in]).tolist())
    meeting = set(np.unique(_KINDS[is_in]).tolist()) - {NO_TEXT}
    assert kinds_in(ranges) == sum(every - outside)
    assert kinds_meeting(ranges) == sum(meeting)


_STAYING = [
    r"^\S+$", r"^[^\n]{0,20}$", r"^[A-Za-z_][A-Za-z0-9_]*$", r"^(\w+ ?){2,5}$", r"^[^/]*/?$",
    r"^(?!.*\.\.)[\w.-]+$", r"^[a-z]{3}$", r"^[一-龥]{2,}$", r"^\p{L}+$", r"a|b\d*",
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", r"^[A-Za-z][a-z]*$",
]  # fmt: skip
_OTHERS = [
    r"^([a-z]{2}-){1,40}[0-9]+$", r"^(?=.*[0-9])[a-z0-9]{4,12}$", r"^(a|b(c|[^d]){0,9})*$",
    r"^(?:[a-z]{5}){0,3}$", r"^(ab|cd)*$",
]  # fmt: skip


@pytest.mark.parametrize("pattern", [*_STAYING, *_OTHERS])
def test_what_stays_leads_on(pattern):
    """After any text of the kinds that stay, and no longer than is said, more may follow."""
    automaton = automaton_of(anywhere(read(pattern)))
    strings, bounded = Strings([automaton]), Bounded([(automaton, (2, 15))])
    rng = random.Random(pattern)
    n_found = 0
    characters = [
        chr(point) for point in [*range(0x20, 0x7F), 0xE9, 0x3B1, 0x2028, 0x3000, 0x4E2D, 0x1F600]
    ]
    for _ in range(60):
        state, count = automaton.start, 0
        for _ in range(rng.randrange(14)):
            character = rng.choice(characters)
            if (further := after(automaton, state, character)) != DEAD:
                state, count = further, count + 1
        for row, most in (
            (strings.row(("c", (state,))), None),
            (bounded.row(("c", (state,), count)), 15),
        ):
            if count > (most or count) or not row.stays:
                continue
            n_found += 1
            kinds, length = row.stays & KINDS, row.stays >> N_BITS
            staying = [
                each for each in characters if int(kinds_of(np.array([ord(each)]))[0]) & kinds
            ]
            here = state
            for n in range(1, min(length, 40) + 1):
                here = after(automaton, here, rng.choice(staying))
                assert here != DEAD
                assert most is None or bounded._may_end((here,), count + n)
    assert n_found or pattern not in _STAYING
