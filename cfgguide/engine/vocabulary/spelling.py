"""Which byte strings a vocabulary can spell, as a small automaton.

In: the bytes of every token. Out: a :class:`Spelling`, whose node 0 is "between two tokens".

If every byte that occurs in some token is also a token by itself, any text over those bytes can be
spelled and node 0 is the only one. That holds for byte-level and byte-fallback tokenizers, even
for those that lack some bytes altogether. Otherwise the tokens that hold a byte with no token of
its own add the nodes inside them: a vocabulary with ``null`` but no ``n`` spells ``null`` only
whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cfgguide.errors import LimitError

BOUNDARY = 0  # the node between two tokens
DEFAULT_MAX_NODES = 200_000


@dataclass(frozen=True)
class Spelling:
    """A nondeterministic automaton over bytes whose node 0 is the boundary between tokens.

    Attributes
    ----------
    steps : tuple of tuple of (int, int)
        Per node its (byte, next node) pairs, sorted.

    Examples
    --------
    >>> Spelling.of([b"a", b"ab"]).steps
    (((97, 0), (97, 1)), ((98, 0),))
    >>> Spelling.of([b"a", b"b", b"ab"]).steps
    (((97, 0), (98, 0)),)
    """

    steps: tuple[tuple[tuple[int, int], ...], ...]

    @classmethod
    def of(cls, tokens: Iterable[bytes | None], *, max_nodes: int = DEFAULT_MAX_NODES) -> Spelling:
        """Return the spelling automaton of a vocabulary.

        Raises
        ------
        LimitError
            The tokens with bytes that have no token of their own need more than `max_nodes` nodes.
        """
        words = [token for token in tokens if token]
        single = bytes({word[0] for word in words if len(word) == 1})
        steps: list[set[tuple[int, int]]] = [{(byte, BOUNDARY) for byte in single}]
        nodes: dict[tuple[int, int], int] = {}  # inside tokens: from a node by a byte
        if not b"".join(words).translate(None, single):
            words = []  # the usual case, found quickly
        for word in sorted({word for word in words if word.translate(None, single)}):
            node = BOUNDARY
            for byte in word[:-1]:
                if (node, byte) not in nodes:
                    nodes[node, byte] = len(steps)
                    steps.append(set())
                steps[node].add((byte, nodes[node, byte]))
                node = nodes[node, byte]
            steps[node].add((word[-1], BOUNDARY))
            if len(steps) > max_nodes:
                raise LimitError(
                    f"the vocabulary has no token for some single bytes, and its tokens with such "
                    f"bytes need more than {max_nodes} nodes (max_nodes); add single-byte tokens"
                )
        return cls(tuple(tuple(sorted(node)) for node in steps))

    @classmethod
    def of_all_bytes(cls) -> Spelling:
        """Return the spelling automaton of a vocabulary with a token for every byte."""
        return cls((tuple((byte, BOUNDARY) for byte in range(256)),))

    def spells_any_of(self, used: frozenset[int]) -> bool:
        """Return whether every text over these bytes can be spelled and cut after each byte."""
        return len(self.steps) == 1 and used <= self.reachable_bytes

    @property
    def reachable_bytes(self) -> frozenset[int]:
        """The bytes that occur in some token."""
        return frozenset(byte for node in self.steps for byte, _ in node)
