"""Configurations that were visited, and where tokens led from them.

In: configurations, as guides come by. Out: one :class:`StepNode` for each, which remembers its mask
and the visits that its tokens led to, so that a step known before costs two look-ups instead of
the bytes of a token and the states of a stack.

This is memory, not knowledge: the masks belong to the index, and everything here may be forgotten
at any time. It is, all at once, when it has grown to a bound; guides keep the visits they hold.
"""

from __future__ import annotations

from cfgguide.mask.subset import Subset
from cfgguide.recognizer.recognizer import Configuration

DEFAULT_MAX_NODES = 20_000  # of about 1 kB
DEFAULT_MAX_STEPS = 200_000  # of about 100 bytes


class StepNode:
    """A configuration that some guide has been in.

    Attributes
    ----------
    configuration : Configuration
        The configuration.
    subset : Subset or None
        The tokens that may follow, once they were asked for.
    following : dict of int to Visit
        Where tokens led, for those that were consumed here.
    """

    __slots__ = ("configuration", "following", "subset")

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.subset: Subset | None = None
        self.following: dict[int, StepNode] = {}


class StepCache:
    """All visits of an index, one for each configuration, and the steps between them."""

    def __init__(
        self,
        initial: Configuration,
        *,
        max_nodes: int = DEFAULT_MAX_NODES,
        max_steps: int = DEFAULT_MAX_STEPS,
    ) -> None:
        self._initial = initial
        self._max_nodes = max_nodes
        self._max_steps = max_steps
        self._known: dict[Configuration, StepNode] = {}
        self.forget()

    def __len__(self) -> int:
        return len(self._known)

    def step(self, step_node: StepNode, token_id: int, configuration: Configuration) -> StepNode:
        """Remember that a token led from a visit to a configuration, and return its visit."""
        if len(self._known) >= self._max_nodes or self._n_steps >= self._max_steps:
            self.forget()
        self._n_steps += 1
        following = self._known.setdefault(configuration, StepNode(configuration))
        step_node.following[token_id] = following
        return following

    def forget(self) -> None:
        """Forget all visits but those that guides hold.

        They lead to each other in circles, which are cut, so that their memory is free at once.
        """
        for step_node in list(self._known.values()):
            step_node.following.clear()
        self.start = StepNode(self._initial)
        self._known = {self._initial: self.start}
        self._n_steps = 0
