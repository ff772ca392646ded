"""Claims about the text to come, which settle what a lexer must look ahead for.

In: the union FSMs. Out: :class:`Ahead`, which says what becomes of claims byte by byte.

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

Claims = tuple[int, ...]  # sorted; +block: will not match, -block: will match
NO_CLAIMS: Claims = ()


class Ahead:
    """Follows claims and questions through the union FSMs."""

    def __init__(self, scanner: Scanner) -> None:
        self._transitions = memoryview(scanner.transitions.data)  # quicker to index than the array
        self._match: list[int] = scanner.match.tolist()
        self._asks: list[list[int]] = scanner.asks.tolist()
        self._is_asking: list[bool] = scanner.is_asking.tolist()
        self._blocks: list[int] = scanner.blocks.tolist()
        self._representatives: list[int] = scanner.representatives.tolist()
        self._after: dict[tuple[Claims, int], tuple[Claims, ...]] = {}
        self._settled: dict[tuple[int, Claims], tuple[tuple[int, Claims], ...]] = {}

    def after(self, claims: Claims, byte_class: int) -> tuple[Claims, ...]:
        """Return what is claimed after one more byte, as alternatives; none if a claim is false.

        There are several only where a claim has come to a question.
        """
        if not claims:
            return (NO_CLAIMS,)
        key = (claims, byte_class)
        if key not in self._after:
            self._after[key] = self._all(
                [self._later(claim, byte_class) for claim in claims], NO_CLAIMS
            )
        return self._after[key]

    def settled(self, state: int, claims: Claims) -> tuple[tuple[int, Claims], ...]:
        """Return the states that a scanner state stands for, and what each of them claims.

        These are more than the state itself only if it asks.
        """
        if not self._is_asking[state]:
            return ((state, claims),)
        key = (state, claims)
        if key not in self._settled:
            monitor, yes, no = self._asks[state]
            self._settled[key] = tuple(
                found
                for is_yes, following in ((True, yes), (False, no))
                for after in self._all([self._claims(monitor, is_yes)], claims)
                for found in self.settled(following, after)
                if found[0] != DEAD
            )
        return self._settled[key]

    def ending(self, state: int, claims: Claims) -> Claims:
        """Return what is claimed if the lexeme ends in a scanner state: it will match no more."""
        block = self._blocks[state]
        return claims if block == 0 or block in claims else tuple(sorted((*claims, block)))

    def is_hopeless(self, state: int, claims: Claims) -> bool:
        """Return whether a lexeme cannot end, because it is claimed that it will not match."""
        return self._match[state] == NO_MATCH and self._blocks[state] in claims

    @staticmethod
    def may_end(claims: Claims) -> bool:
        """Return whether all claims are true if the text ends here."""
        return not claims or claims[0] > 0

    def _later(self, claim: int, byte_class: int) -> list[Claims]:
        state = self._transitions[self._representatives[abs(claim)], byte_class]
        return self._claims(state, claim < 0)

    def _claims(self, state: int, is_match: bool) -> list[Claims]:
        """Return what must be claimed for a state to match, or not to, now or later."""
        if state == DEAD:
            return [] if is_match else [NO_CLAIMS]
        if self._match[state] != NO_MATCH:
            return [NO_CLAIMS] if is_match else []
        if not self._is_asking[state]:
            block = self._blocks[state]
            return [(-block if is_match else block,)]
        monitor, yes, no = self._asks[state]
        return [
            claims
            for is_yes, following in ((True, yes), (False, no))
            for after in self._claims(following, is_match)
            for claims in self._all([self._claims(monitor, is_yes)], after)
        ]

    @staticmethod
    def _all(alternatives: list[list[Claims]], claims: Claims) -> tuple[Claims, ...]:
        """Return what is claimed if `claims` and one of each of the alternatives are."""
        found: dict[Claims, None] = {}
        for chosen in product(*alternatives):
            together = {*claims, *(claim for each in chosen for claim in each)}
            if not any(-claim in together for claim in together):
                found[tuple(sorted(together))] = None
        return tuple(found)
