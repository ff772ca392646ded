"""Whether a lexeme may end before ignored text.

In: the union FSMs. Out: :class:`Gaps`. Where the text to come decides what a lexeme is, and one of
the possibilities is refused, the others must be able to end by themselves. A gap does that in most
grammars: white space ends every name, keyword and number, and after it comes whatever may come.
"""

from __future__ import annotations

from collections import deque

from cfgguide.automata.dfa import DEAD
from cfgguide.base.remembered import remembered_up_to
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS, Lookahead, Obligations
from cfgguide.engine.lexer.scanner import NO_MATCH, Scanner
from cfgguide.engine.machine.lexeme_sets import LexemeSets
from cfgguide.engine.machine.recognizer import Recognizer

_MAX_TRIED = 5_000  # bytes after a lexeme that has begun
_MAX_KNOWN = 20_000


class Gaps:
    """Knows which lexemes can end before ignored text.

    Parameters
    ----------
    scanner : Scanner
        The union FSMs.
    lookahead : Lookahead
        Of it.
    lexemes : LexemeSets
        Of it.
    spelled : frozenset of int
        The bytes that can be written.
    """

    @classmethod
    def of(cls, recognizer: Recognizer, spelled: frozenset[int]) -> Gaps:
        """Return those of a recogniser, which are made once for the bytes that can be written."""
        known = recognizer.derived(_by_spelled)
        if spelled not in known:
            lexemes = LexemeSets.of(recognizer)
            known[spelled] = cls(recognizer.scanner, recognizer.lookahead, lexemes, spelled)
        return known[spelled]

    def __init__(
        self, scanner: Scanner, lookahead: Lookahead, lexemes: LexemeSets, spelled: frozenset[int]
    ) -> None:
        self._scanner = scanner
        self._match: list[int] = scanner.match.tolist()
        self._lookahead = lookahead
        self._lexemes = lexemes
        self._classes = sorted({int(scanner.byte_classes[byte]) for byte in spelled})
        self._gaps = [each for each in self._classes if self._is_gap(each)]

    def can_end(self, scanner_state: int, obligations: Obligations, terminals: int) -> bool:
        """Return whether a lexeme certainly may become one of some terminals, and a gap follow.

        Parameters
        ----------
        scanner_state : int
            Where the scanner is.
        obligations : tuple of int
            What the text to come must keep.
        terminals : int
            Those that count, as bits.
        """
        wanted = self._lexemes.ahead(scanner_state) & terminals
        return bool(wanted) and self._searched(scanner_state, obligations, wanted)

    @remembered_up_to(_MAX_KNOWN)
    def _searched(self, scanner_state: int, obligations: Obligations, wanted: int) -> bool:
        pending = deque([(scanner_state, obligations)])
        n_tried = 0
        while pending and n_tried < _MAX_TRIED:
            state, owed = pending.popleft()
            terminal_id = self._match[state]
            if terminal_id != NO_MATCH and wanted >> terminal_id & 1:
                owing = self._lookahead.ending(state, owed)
                if any(NO_OBLIGATIONS in self._lookahead.after(owing, gap) for gap in self._gaps):
                    return True
            for byte_class in self._classes:
                n_tried += 1
                pending += [
                    (target, after)
                    for target, after in self._lookahead.step(state, owed, byte_class)
                    if self._lexemes.ahead(target) & wanted
                ]
        return False

    def _is_gap(self, byte_class: int) -> bool:
        """Return whether a byte is ignored text from wherever a lexeme starts, and always ends.

        Whatever byte follows is more of it only if it would begin ignored text itself.
        """
        scanner = self._scanner
        starts = {int(start) for start in scanner.starts.ravel()}
        for start in starts:
            for state, _ in self._lookahead.resolved(start, NO_OBLIGATIONS):
                target = int(scanner.transitions[state, byte_class])
                if not self._is_ignored(target) or scanner.match[target] == NO_MATCH:
                    return False
                for each in range(scanner.transitions.shape[1]):
                    longer = int(scanner.transitions[target, each])
                    if longer == DEAD:
                        continue
                    if not self._is_ignored(int(scanner.transitions[state, each])):
                        return False
                    if not self._is_ignored(longer):
                        return False
        return True

    def _is_ignored(self, state: int) -> bool:
        """Return whether a lexeme that has begun can only become ignored text."""
        is_plain = state != DEAD and not self._scanner.is_assertion[state]
        return is_plain and self._lexemes.ahead(state) == 1 << self._scanner.ignored


def _by_spelled(recognizer: Recognizer) -> dict[frozenset[int], Gaps]:
    """Return where those of a recogniser are kept."""
    return {}
