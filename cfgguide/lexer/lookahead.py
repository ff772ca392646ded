"""Claims about the text to come, which settle what a lexer must look ahead for.

In: the union FSMs. Out: :class:`Lookahead`, which says what becomes of claims byte by byte.

Whether a lexeme ends here depends on the text behind it: on whether the scanner, reading on, would
match more, and on whether look-ahead holds. Nobody waits for that text. Each possibility goes on by
itself, with the *claims* that it rests on, and is dropped when a claim turns out false. A claim is
about one scanner block (:class:`~cfgguide.lexer.scanner.Scanner`)::

    +b   no continuation by some of the bytes to come matches, from a state of block b
    -b   one does

and is settled when the state that has read on from there matches or dies, or the text ends: then
what has not matched never will. ::

    NUMBER = [0-9]+    "12" is a number if +"in a number": no digit may follow
    IF = /if(?!x)/     "if" is an IF if +"before an x"; else, with -"before an x", it is none
"""

from __future__ import annotations

from itertools import product

from cfgguide.automata.dfa import DEAD
from cfgguide.lexer.scanner import NO_MATCH, Scanner

Obligations = tuple[int, ...]  # sorted; +block: will not match, -block: will match
NO_OBLIGATIONS: Obligations = ()


class Lookahead:
    """Follows claims and questions through the union FSMs."""

    def __init__(self, scanner: Scanner) -> None:
        self._transitions = memoryview(scanner.transitions.data)  # quicker to index than the array
        self._match: list[int] = scanner.match.tolist()
        self._assertions: list[list[int]] = scanner.assertions.tolist()
        self._is_assertion: list[bool] = scanner.is_assertion.tolist()
        self._equivalence_classes: list[int] = scanner.equivalence_classes.tolist()
        self._class_representatives: list[int] = scanner.class_representatives.tolist()
        self._after: dict[tuple[Obligations, int], tuple[Obligations, ...]] = {}
        self._resolved: dict[tuple[int, Obligations], tuple[tuple[int, Obligations], ...]] = {}

    def after(self, obligations: Obligations, byte_class: int) -> tuple[Obligations, ...]:
        """Return what is claimed after one more byte, as alternatives; none if a claim is false.

        There are several only where a claim has come to a question.
        """
        if not obligations:
            return (NO_OBLIGATIONS,)
        key = (obligations, byte_class)
        if key not in self._after:
            self._after[key] = self._all(
                [self._later(obligation, byte_class) for obligation in obligations], NO_OBLIGATIONS
            )
        return self._after[key]

    def resolved(self, state: int, obligations: Obligations) -> tuple[tuple[int, Obligations], ...]:
        """Return the states that a scanner state stands for, and what each of them claims.

        These are more than the state itself only if it asks.
        """
        if not self._is_assertion[state]:
            return ((state, obligations),)
        key = (state, obligations)
        if key not in self._resolved:
            looked_for, yes, no = self._assertions[state]
            self._resolved[key] = tuple(
                found
                for is_yes, following in ((True, yes), (False, no))
                for after in self._all([self._obligations(looked_for, is_yes)], obligations)
                for found in self.resolved(following, after)
                if found[0] != DEAD
            )
        return self._resolved[key]

    def ending(self, state: int, obligations: Obligations) -> Obligations:
        """Return what is claimed if the lexeme ends in a scanner state: it will match no more."""
        equivalence_class = self._equivalence_classes[state]
        return (
            obligations
            if equivalence_class == 0 or equivalence_class in obligations
            else tuple(sorted((*obligations, equivalence_class)))
        )

    def is_hopeless(self, state: int, obligations: Obligations) -> bool:
        """Return whether a lexeme cannot end, because it is claimed that it will not match."""
        return self._match[state] == NO_MATCH and self._equivalence_classes[state] in obligations

    @staticmethod
    def may_end(obligations: Obligations) -> bool:
        """Return whether all claims are true if the text ends here."""
        return not obligations or obligations[0] > 0

    def _later(self, obligation: int, byte_class: int) -> list[Obligations]:
        state = self._transitions[self._class_representatives[abs(obligation)], byte_class]
        return self._obligations(state, obligation < 0)

    def _obligations(self, state: int, is_match: bool) -> list[Obligations]:
        """Return what must be claimed for a state to match, or not to, now or later."""
        if state == DEAD:
            return [] if is_match else [NO_OBLIGATIONS]
        if self._match[state] != NO_MATCH:
            return [NO_OBLIGATIONS] if is_match else []
        if not self._is_assertion[state]:
            equivalence_class = self._equivalence_classes[state]
            return [(-equivalence_class if is_match else equivalence_class,)]
        looked_for, yes, no = self._assertions[state]
        return [
            obligations
            for is_yes, following in ((True, yes), (False, no))
            for after in self._obligations(following, is_match)
            for obligations in self._all([self._obligations(looked_for, is_yes)], after)
        ]

    @staticmethod
    def _all(
        alternatives: list[list[Obligations]], obligations: Obligations
    ) -> tuple[Obligations, ...]:
        """Return what is claimed if `obligations` and one of each of the alternatives are."""
        found: dict[Obligations, None] = {}
        for chosen in product(*alternatives):
            together = {*obligations, *(obligation for each in chosen for obligation in each)}
            if not any(-obligation in together for obligation in together):
                found[tuple(sorted(together))] = None
        return tuple(found)
