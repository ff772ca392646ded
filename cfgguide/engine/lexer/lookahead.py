"""Obligations about the text to come, which decide what a lexer must look ahead for.

In: the union FSMs. Out: :class:`Lookahead`, which follows scanner states and obligations byte by
byte.

Whether a lexeme ends here depends on the text after it: on whether the scanner, reading on, would
match more, and on whether look-ahead holds. Nothing waits for that text. Each possibility goes on
by itself, with the *obligations* that it rests on, and is dropped when one turns out false. An
obligation is about one equivalence class of states
(:class:`~cfgguide.engine.lexer.scanner.Scanner`)::

    +c   no continuation by some of the bytes to come matches, from a state of class c
    -c   one does

It is resolved when the state that has read on from there matches or dies, or when the text ends:
what has not matched by then never will. ::

    NUMBER = [0-9]+    "12" is a number if +"in a number": no digit may follow
    IF = /if(?!x)/     "if" is an IF if +"before an x"; else, with -"before an x", it is none
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, product

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD, LOOKED_FOR
from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered, remembered_up_to
from cfgguide.engine.lexer.scanner import NO_MATCH, Scanner

Obligations = tuple[int, ...]  # sorted; +class: will not match, -class: will match
NO_OBLIGATIONS: Obligations = ()
_MAX_COMBINED = 1 << 62  # ways to act that are told apart by one number
_MAX_FULFILLED = 1_000  # obligations that are looked at to know that no text fulfils some
_MAX_STEPS = 100_000  # that are remembered, of about 200 bytes


class Lookahead:
    """Follows scanner states and obligations through the union FSMs."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._transitions = memoryview(scanner.transitions.data)  # quicker to index than the array
        self._match: list[int] = scanner.match.tolist()
        self._assertions: list[list[int]] = scanner.assertions.tolist()
        self._is_assertion: list[bool] = scanner.is_assertion.tolist()
        self._equivalence_classes: list[int] = scanner.equivalence_classes.tolist()
        self._class_representatives: list[int] = scanner.class_representatives.tolist()
        self._can_come_true: dict[Obligations, bool] = {}

    def step(
        self, state: int, obligations: Obligations, byte_class: int
    ) -> tuple[tuple[int, Obligations], ...]:
        """Return the scanner states after one more byte of a lexeme, each with its obligations.

        They are the possibilities that the text to come decides between. There is none if the
        scanner dies, if an obligation turns out false, or if the lexeme could no longer end.
        """
        target = self._transitions[state, byte_class]
        if target == DEAD:
            return ()
        if not obligations and not self._is_assertion[target]:
            return ((target, NO_OBLIGATIONS),)  # mostly
        return self._possible(target, obligations, byte_class)

    @remembered_up_to(_MAX_STEPS)
    def _possible(
        self, target: int, obligations: Obligations, byte_class: int
    ) -> tuple[tuple[int, Obligations], ...]:
        check_step()
        return tuple(
            resolved
            for after in self.after(obligations, byte_class)
            for resolved in self.resolved(target, after)
            if not self._is_hopeless(*resolved)
        )

    def read(
        self, state: int, obligations: Obligations, letters: Iterable[int]
    ) -> list[tuple[int, Obligations]]:
        """Return the scanner states after more bytes of a lexeme, given as their classes.

        Each has its obligations, as :meth:`step` has it.
        """
        possible = list(self.resolved(state, obligations))
        for byte_class, alike in groupby(letters):
            for _ in alike:
                check_step(0)
                before, possible = (
                    possible,
                    [
                        after
                        for here, owed in possible
                        for after in self.step(here, owed, byte_class)
                    ],
                )
                if possible == before:  # more of a line's white space changes nothing
                    break
        return possible

    @remembered
    def after(self, obligations: Obligations, byte_class: int) -> tuple[Obligations, ...]:
        """Return the obligations after one more byte, as alternatives; none if one is false.

        There are several only where an obligation has come to an assertion state.
        """
        if not obligations:
            return (NO_OBLIGATIONS,)
        later = [self._later(obligation, byte_class) for obligation in obligations]
        return self._all(later, NO_OBLIGATIONS)

    def resolved(self, state: int, obligations: Obligations) -> tuple[tuple[int, Obligations], ...]:
        """Return the states that a scanner state stands for, each with its obligations.

        They are other than the state itself only for an assertion state.
        """
        if not self._is_assertion[state]:
            return ((state, obligations),)
        return self._resolved(state, obligations)

    @remembered
    def _resolved(
        self, state: int, obligations: Obligations
    ) -> tuple[tuple[int, Obligations], ...]:
        check_step()
        looked_for, if_holds, if_fails = self._assertions[state]
        is_fork = looked_for == state  # whose answers owe nothing
        return tuple(
            possible
            for is_match, following in ((True, if_holds), (False, if_fails))
            for after in (
                (obligations,)
                if is_fork
                else self._all([self._obligations(looked_for, is_match)], obligations)
            )
            for possible in self.resolved(following, after)
            if possible[0] != DEAD
        )

    def acts(
        self, state: int, owed: Iterable[int], context: int | None = None
    ) -> npt.NDArray[np.int64]:
        """Return how each byte class acts on a state and obligations, and on a context if given.

        Classes with equal numbers lead to the same.
        """
        acts, n_combined = self._row(state), 1
        n_numbers = max(self._scanner.contexts.shape)
        rows = [self._row(self._class_representatives[abs(obligation)]) for obligation in owed]
        if context is not None:
            rows.append(self._scanner.contexts[context])
        for row in rows:
            if n_combined * n_numbers**2 >= _MAX_COMBINED:
                acts, n_combined = np.unique(acts, return_inverse=True)[1], 1
            acts = acts * n_numbers + row
            n_combined *= n_numbers
        return acts

    @remembered
    def _row(self, state: int) -> npt.NDArray[np.int64]:
        """Return a number for where each byte class leads, smaller than the number of classes."""
        targets = self._scanner.transitions[state]
        return np.unique(targets, return_inverse=True)[1].astype(np.int64)

    def ending(self, state: int, obligations: Obligations) -> Obligations:
        """Return the obligations if the lexeme ends in a scanner state: it will match no more."""
        equivalence_class = self._equivalence_classes[state]
        return (
            obligations
            if equivalence_class == 0 or equivalence_class in obligations
            else tuple(sorted((*obligations, equivalence_class)))
        )

    @staticmethod
    def may_end(obligations: Obligations) -> bool:
        """Return whether all obligations are true if the text ends here."""
        return not obligations or obligations[0] > 0

    @remembered
    def can_be_followed(self, obligations: Obligations) -> bool:
        r"""Return whether another lexeme, or the end of the text, may fulfil all obligations.

        ``int(?!\w)`` that is no keyword goes on with a letter: as a name that ends there, only
        with one that begins no lexeme.
        """
        return self.may_end(obligations) or any(
            self.can_come_true(after)
            for letter in self._scanner.first_letters
            for after in self.after(obligations, letter)
        )

    def can_come_true(self, obligations: Obligations) -> bool:
        """Return whether some text fulfils all obligations; also if it takes long to know."""
        if self.may_end(obligations):
            return True
        if obligations not in self._can_come_true:
            self._can_come_true[obligations] = self._found_fulfilled(obligations)
        return self._can_come_true[obligations]

    def _found_fulfilled(self, obligations: Obligations) -> bool:
        pending, seen = [obligations], {obligations}
        while pending and len(seen) < _MAX_FULFILLED:
            check_step()
            owed = pending.pop()
            state = self._class_representatives[abs(owed[0])]
            letters = np.unique(self.acts(state, owed), return_index=True)[1].tolist()
            for after in {after for letter in letters for after in self.after(owed, letter)} - seen:
                if self.may_end(after) or self._can_come_true.get(after):
                    return True
                seen.add(after)
                pending.append(after)
        return bool(pending)

    def _is_hopeless(self, state: int, obligations: Obligations) -> bool:
        """Return whether a lexeme cannot end, because an obligation forbids it to match."""
        return self._match[state] == NO_MATCH and self._equivalence_classes[state] in obligations

    def _later(self, obligation: int, byte_class: int) -> list[Obligations]:
        state = self._transitions[self._class_representatives[abs(obligation)], byte_class]
        return self._obligations(state, obligation < 0)

    def _obligations(self, state: int, is_match: bool) -> list[Obligations]:
        """Return the obligations, as alternatives, under which a state matches now or later.

        If not `is_match`, those under which it does not.
        """
        if state == DEAD:
            return [] if is_match else [NO_OBLIGATIONS]
        if self._match[state] != NO_MATCH or self._assertions[state][LOOKED_FOR] == state:
            return [NO_OBLIGATIONS] if is_match else []  # a fork matches, one way or another
        if not self._is_assertion[state]:
            equivalence_class = self._equivalence_classes[state]
            return [(-equivalence_class if is_match else equivalence_class,)]
        looked_for, if_holds, if_fails = self._assertions[state]
        return [
            obligations
            for is_held, following in ((True, if_holds), (False, if_fails))
            for after in self._obligations(following, is_match)
            for obligations in self._all([self._obligations(looked_for, is_held)], after)
        ]

    @staticmethod
    def _all(
        alternatives: list[list[Obligations]], obligations: Obligations
    ) -> tuple[Obligations, ...]:
        """Return `obligations` together with one of each of the alternatives, in all ways."""
        combined: dict[Obligations, None] = {}
        for chosen in product(*alternatives):
            together = {*obligations, *(obligation for part in chosen for obligation in part)}
            if not any(-obligation in together for obligation in together):
                combined[tuple(sorted(together))] = None
        return tuple(combined)
