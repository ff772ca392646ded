"""Steps that guides made before: configurations, and where tokens led from them.

In: configurations, as guides reach them. Out: one :class:`StepNode` for each, which remembers its
mask and the nodes that its tokens led to. So a known step costs two look-ups, instead of reading
the bytes of a token and the states of a stack.

The masks belong to the index, so all of this may be forgotten at any time. It is cleared as a whole
when it reaches a bound; guides keep the nodes they hold.
"""

from __future__ import annotations

from cfgguide.mask.subset import Subset
from cfgguide.recognizer.recognizer import Configuration

DEFAULT_MAX_NODES = 20_000  # about 1 kB each
DEFAULT_MAX_STEPS = 200_000  # about 100 bytes each


class StepNode:
    """A configuration that some guide has reached.

    Attributes
    ----------
    configuration : Configuration
        The configuration.
    subset : Subset or None
        The tokens that may follow; None until they are first needed.
    following : dict of int to StepNode
        Where the tokens led that were consumed here.
    """

    __slots__ = ("configuration", "following", "subset")

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.subset: Subset | None = None
        self.following: dict[int, StepNode] = {}


class StepCache:
    """The nodes of an index, one for each configuration, and the steps between them."""

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
        self.clear()

    def __len__(self) -> int:
        return len(self._known)

    def step(self, step_node: StepNode, token_id: int, configuration: Configuration) -> StepNode:
        """Remember that a token led from a node to a configuration, and return its node."""
        if len(self._known) >= self._max_nodes or self._n_steps >= self._max_steps:
            self.clear()
        self._n_steps += 1
        following = self._known.setdefault(configuration, StepNode(configuration))
        step_node.following[token_id] = following
        return following

    def clear(self) -> None:
        """Forget all nodes but those that guides hold.

        Nodes lead to each other in cycles. These are cut, so that the memory is freed at once.
        """
        for step_node in list(self._known.values()):
            step_node.following.clear()
        self.start = StepNode(self._initial)
        self._known = {self._initial: self.start}
        self._n_steps = 0
