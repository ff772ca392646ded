"""The parser's stack as linked cells.

A :class:`Stack` is its top cell; what lies below is shared with every stack that it grew from, so
copying, rolling back and branching cost nothing. What a cell stands for never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice


class Stack:
    """A cell: a parse state on top of a stack.

    Attributes
    ----------
    state : int
        The parse state on top.
    below : Stack or None
        The rest of the stack.
    height : int
        Number of cells, this one included.
    cell : int
        Its number in the memo that wrote it down last (:mod:`cfgguide.engine.index.memo`).

    Examples
    --------
    >>> stack = Stack(0).push(7)
    >>> list(stack), stack.height, list(stack.push(9).pop(1)) == list(stack)
    ([7, 0], 2, True)
    """

    __slots__ = ("_hash", "below", "cell", "height", "state")

    def __init__(self, state: int, below: Stack | None = None) -> None:
        self.state = state
        self.below = below
        self.cell = 0
        self.height: int = 1 if below is None else below.height + 1
        # Of the whole stack: different stacks are told apart without a walk.
        self._hash: int = hash((state, 0 if below is None else below._hash))

    @classmethod
    def of(cls, states: Iterable[int]) -> Stack:
        """Return the stack of `states`, the bottom first."""
        top: Stack | None = None
        for state in states:
            top = cls(state, top)
        if top is None:
            raise ValueError("a stack has at least one state")
        return top

    def push(self, state: int) -> Stack:
        """Return this stack with one more state on top."""
        return Stack(state, self)

    def pop(self, n: int) -> Stack:
        """Return this stack without its `n` topmost states.

        Raises
        ------
        IndexError
            If none is left, which no reduction does to a whole stack.
        """
        cell = self
        for _ in range(n):
            if cell.below is None:
                raise IndexError("nothing is left of the stack")
            cell = cell.below
        return cell

    def top(self, n: int) -> Stack:
        """Return a stack of its `n` topmost states alone."""
        if n >= self.height:
            return self
        return Stack.of(list(islice(self, n))[::-1])

    def __iter__(self) -> Iterator[int]:
        """Iterate over the states, the top first."""
        cell: Stack | None = self
        while cell is not None:
            yield cell.state
            cell = cell.below

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stack):
            return NotImplemented
        if self._hash != other._hash or self.height != other.height:
            return False
        mine: Stack | None = self
        theirs: Stack | None = other
        while mine is not theirs:
            if mine is None or theirs is None or mine.state != theirs.state:
                return False
            mine, theirs = mine.below, theirs.below
        other.below = self.below  # as it was, but shared: they are not walked through again
        return True

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Stack.of({list(self)[::-1]})"
