"""What byte strings do to the lexer, whatever the parser does.

In: a recogniser and a vocabulary trie. Out: :class:`Effects`, which gives the string of each node
an *effect*: what it does to a lexer in any scanner state, with any obligations, in any context and
column. Two strings with one effect act alike in every configuration, so one of them speaks for both
(:mod:`cfgguide.engine.masks.token_classes`).

What a string does in one scanner state is a *reading*. The lexeme that the scanner is in may go on,
and it may have ended somewhere in the string as a terminal, after which the rest of the string was
read from some start state. Which one depends on the parser; so the reading of a rest is a vector
with an entry for each start state, a *rest*. ::

    string    inside a STRING      inside a NUMBER    at the start of a value
    `"`       STRING is complete   -                  inside a STRING
    `1,`      inside a STRING      NUMBER, then `,`   NUMBER, then `,`
    `",`      STRING, then `,`     -                  inside a STRING

An effect is the vector of the readings of all states, and of what happens to all obligations. With
one more byte it follows from the effect so far. So effects are the states of an automaton over
bytes, and a trie is a part of it. A kernel makes it (:mod:`cfgguide.engine.masks.effect_kernels`).

Source: the states are transitions of the scanner composed along a string, as in a transition
monoid (Pin, "Mathematical foundations of automata theory", chapter 4), here with outputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD, IF_FAILS, IF_HOLDS, LOOKED_FOR
from cfgguide.engine.lexer.scanner import NO_MATCH, Scanner
from cfgguide.engine.machine.indentation_reader import IndentationReader
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.masks import arrays, effect_kernels
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.views import view
from cfgguide.engine.vocabulary.trie import PackedTrie

NOTHING = 0  # the effect of what no state can read

# How long axes are at first; what is too short is made twice as long, `items` by a piece.
_SIZES = {"items": 1 << 24, "ids": 1 << 12, "known": 1 << 14}
_SIZES |= {"scratch": 1 << 16, "jobs": 1 << 8, "effects": 1 << 14}
_MORE_ITEMS = 1 << 22
_AXES = {
    arrays.FULL_ITEMS: "items",
    arrays.FULL_IDS: "ids",
    arrays.FULL_KNOWN: "known",
    arrays.FULL_SCRATCH: "scratch",
    arrays.FULL_JOBS: "jobs",
    arrays.FULL_EFFECTS: "effects",
}
_LONGER = {
    "ids": {"offsets", "hashes", "slots", "marks", "effect_numbers"},
    **{name: {name} for name in ("known", "scratch", "jobs", "effects")},
}
_HASHED = {"slots", "known"}  # filled anew


class Effects:
    """The effects of the nodes of a trie, made as far as they are asked for.

    Attributes
    ----------
    of_tokens : int32, shape (n_text_tokens,)
        The effect of each token, in the order of `token_ids`, `NOTHING` where no state can read it.
    """

    def __init__(self, recognizer: Recognizer, trie: PackedTrie) -> None:
        scanner, reader = recognizer.scanner, recognizer.indentation_reader
        is_newline = is_followed = np.zeros(scanner.n_states, dtype=np.bool_)
        if reader is not None:
            is_newline = reader.is_newline
            is_followed = is_newline | reader.is_counted
        self._tables = view(_tables(scanner, reader, is_followed))
        self._trie = view(trie)
        needs_care = scanner.is_assertion | is_followed
        acts = arrays.MAY_END * (scanner.match != NO_MATCH) + arrays.NEEDS_CARE * needs_care
        acts = acts.astype(np.int8)
        owed_as = scanner.class_representatives[scanner.equivalence_classes]
        moves = np.empty(scanner.transitions.shape[::-1], dtype=np.int32)
        effect_kernels.lay_out(*_views(scanner.transitions, acts, owed_as, moves))
        states = _different(scanner, is_followed)
        first = 4 * scanner.n_states
        self._sizes = {"nodes": len(trie.nodes), "tokens": len(trie.token_ids), **_SIZES}
        self._sizes["scanner_states"] = scanner.n_states
        while self._sizes["ids"] < 8 * scanner.n_states:
            self._sizes["ids"] *= 2
            self._sizes["known"] *= 2
        self._space = arrays.effect_space(
            self._sizes,
            first=first,
            same_contexts=first + 1,
            no_column=first + 2,
            first_column=first + 3,
            n_needed=len(states),
            states=states,
            lexeme_starts=np.unique(scanner.starts).astype(np.int32),
            owed=_owed(scanner),
            acts=acts,
            owed_as=owed_as,
            moves=moves,
            is_newline=is_newline,
        )
        self._view = view(self._space)
        while lacking := effect_kernels.begin_strings(self._tables, self._view):
            self._enlarge(lacking)

    @property
    def of_tokens(self) -> Int32Array:
        """The effect of each token."""
        return self._space.effect_of_token

    def work(self, n_steps: int) -> bool:
        """Go on for about so many readings of a group; return whether all effects are found."""
        self._space.counts[arrays.N_STEPS] = 0
        while lacking := effect_kernels.run(self._tables, self._trie, self._view, n_steps):
            if lacking == arrays.PAUSED:
                return False
            self._enlarge(lacking)
        return True

    def strings(self) -> list[bytes]:
        """Return a string of each effect: that of the one that it was found from, and a byte."""
        n_effects = int(self._space.counts[arrays.N_EFFECTS])
        _, before, last = self._space.effects[:n_effects].T.tolist()
        strings = [b"", b""]  # of `NOTHING`, and of no byte
        for effect, byte in zip(before[2:], last[2:], strict=True):
            strings.append(strings[effect] + bytes((byte,)))
        return strings

    def _enlarge(self, lacking: int) -> None:
        """Make what is too short longer."""
        axis = _AXES[lacking]
        if axis == "items":  # tens of megabytes, which stay where they are
            del self._view
            self._sizes[axis] += _MORE_ITEMS
            self._space.items.resize(self._sizes[axis], refcheck=False)
            self._view = view(self._space)
            return
        self._sizes[axis] *= 2
        old, longer = self._space, _LONGER[axis]
        kept = {name: value for name, value in old._asdict().items() if name not in longer}
        self._space = arrays.effect_space(self._sizes, **kept)
        for name in longer - _HASHED:
            shorter = getattr(old, name)
            getattr(self._space, name)[: len(shorter)] = shorter
        smaller, self._view = self._view, view(self._space)
        if axis in ("ids", "known"):
            effect_kernels.fill_again(self._view, smaller)


def _tables(
    scanner: Scanner, reader: IndentationReader | None, is_followed: npt.NDArray[np.bool_]
) -> arrays.Tables:
    names: tuple[str, ...] = (
        "byte_classes",
        "match",
        "assertions",
        "is_assertion",
        "contexts",
        "ignored",
    )
    names += ("equivalence_classes", "class_representatives")
    fields = {name: getattr(scanner, name) for name in names}
    if reader is not None:
        fields |= {"byte_kinds": reader.kinds, "tab": reader.indentation_rules.tab}
    return arrays.tables(**fields, is_followed=is_followed)


def _views(*given: Any) -> list[Any]:
    """Return arrays as the kernels take them, compiled or not."""
    return [memoryview(array) for array in given]


def _different(scanner: Scanner, is_followed: npt.NDArray[np.bool_]) -> Int32Array:
    """Return the states that bytes tell apart; assertion states stand for others."""
    states = np.flatnonzero(~scanner.is_assertion)[1:].astype(np.int32)
    slots = np.zeros(1 << (2 * len(states)).bit_length(), dtype=np.int32)
    firsts = np.zeros_like(states)
    given = _views(scanner.transitions, states, is_followed, slots, firsts)
    return firsts[: effect_kernels.tell_apart(*given)]


def _owed(scanner: Scanner) -> Int32Array:
    """Return what a text may owe before a string, as readings from 2n on.

    Where a lexeme ends, nothing may match that it has begun; an assertion may owe that something
    does. What follows from that with more bytes may be owed too.
    """
    match, classes = scanner.match != NO_MATCH, scanner.equivalence_classes
    is_owed = np.zeros((2, len(scanner.class_representatives)), dtype=np.bool_)
    asked = np.unique(scanner.assertions[scanner.is_looking, LOOKED_FOR])
    pending = [_about(scanner, asked), _about(scanner, asked)]
    pending[0] = np.union1d(pending[0], classes[match])
    for sign in (0, 1):
        while len(new := pending[sign]):
            is_owed[sign, new] = True
            after = _about(scanner, scanner.transitions[scanner.class_representatives[new]])
            pending[sign] = after[~is_owed[sign, after]]
    is_owed[:, 0] = False
    owed = [scanner.class_representatives[each] for each in is_owed]
    return np.concatenate([owed[0], scanner.n_states + owed[1]]).astype(np.int32)


def _about(scanner: Scanner, states: Int32Array) -> Int32Array:
    """Return the classes that obligations about states are about, without what assertions ask."""
    seen, pending = np.zeros((2, scanner.n_states), dtype=np.bool_)
    pending[states] = (
        True  # marks instead of sorted numbers: this is asked at each step of a search
    )
    while pending.any():
        seen |= pending
        asking = pending & scanner.is_looking
        pending = np.zeros_like(seen)
        pending[scanner.assertions[asking, IF_HOLDS : IF_FAILS + 1]] = True
        pending &= ~seen
    seen &= (scanner.match == NO_MATCH) & ~scanner.is_assertion
    seen[DEAD] = False
    is_about = np.zeros(len(scanner.class_representatives), dtype=np.bool_)
    is_about[scanner.equivalence_classes[seen]] = True
    return np.flatnonzero(is_about).astype(np.int32)
