"""Steps that guides made before: configurations, and where tokens led from them.

In: configurations, as guides reach them. Out: one :class:`StepNode` for each, which remembers its
mask and the nodes that its tokens led to. So a known step costs two look-ups, instead of reading
the bytes of a token and the states of a stack.

The masks belong to the index, so all of this may be forgotten at any time; guides keep the nodes
they hold. Time is cut into ages, each of so many new nodes or steps. A node is of the age in which
it was last used here: was new, or was stepped from, or to, by a step that was not known. ::

    this age          nodes and steps are added
    the age before    little by little, the steps of its nodes are cut
    before that       little by little, its nodes are forgotten, if they are still of that age

A guide that repeats a known step leaves no trace here, and so costs nothing here. That a node is
needed shows when its steps have been cut: then a guide asks for one anew.

If a change was interrupted, all nodes are forgotten; guides keep theirs.

A node is of the age of the last step that leads to it, or of a later one. So when it is forgotten
these steps have been cut: nothing but guides holds it, and its memory is freed at once, although
nodes lead to each other in cycles.
"""

from __future__ import annotations

from cfgguide.base.locks import new_lock
from cfgguide.engine.machine.recognizer import Configuration
from cfgguide.engine.masks.subset import Subset

DEFAULT_MAX_NODES = 20_000  # about 1 kB each
DEFAULT_MAX_STEPS = 200_000  # about 100 bytes each

_N_AGES = 3  # that are remembered
_OFTEN = 4  # new steps after which something is cut and forgotten
_AT_ONCE = 12  # nodes whose steps are cut, and as many that are forgotten; a step uses two at most


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
    age : int
        In which it was last used.
    is_at_end : bool or None
        Whether only EOS and ignored text may follow; None until that is first asked for.
    """

    __slots__ = ("age", "configuration", "following", "is_at_end", "subset")

    def __init__(self, configuration: Configuration, age: int = 0) -> None:
        self.configuration = configuration
        self.subset: Subset | None = None
        self.following: dict[int, StepNode] = {}
        self.age = age
        self.is_at_end: bool | None = None


class StepCache:
    """The nodes of an index, one for each configuration, and the steps between them."""

    def __init__(
        self,
        initial: Configuration,
        *,
        max_nodes: int = DEFAULT_MAX_NODES,
        max_steps: int = DEFAULT_MAX_STEPS,
    ) -> None:
        self._max_nodes = max_nodes // _N_AGES  # of an age
        self._max_steps = max_steps // _N_AGES
        self._lock = new_lock()  # guides step without holding the index's lock
        self._is_changing = False  # still True if a change was interrupted
        self._age = 1
        self._dropped: list[StepNode] = []  # their steps are not cut yet
        self._begin(initial)

    def _begin(self, initial: Configuration) -> None:
        self.start = StepNode(initial, self._age)
        self._known = {initial: self.start}
        self._new = [self.start]  # of this age
        self._n_steps = 0
        self._idle: list[StepNode] = []  # of the age before
        self._n_cut = 0  # of these
        self._old: list[StepNode] = []  # of the age before that

    def __len__(self) -> int:
        return len(self._known)

    def step(self, step_node: StepNode, token_id: int, configuration: Configuration) -> StepNode:
        """Remember that a token led from a node to a configuration, and return its node."""
        with self._lock:
            if self._is_changing:
                self._begin(self.start.configuration)
            self._is_changing = True
            age = self._age
            following = self._known.get(configuration)
            if following is None:
                following = self._known[configuration] = StepNode(configuration)
            if following.age != age:
                following.age = age
                self._new.append(following)
            # A node that was forgotten while a guide held it may have been replaced.
            if step_node.age != age and self._is_known(step_node):
                step_node.age = age
                self._new.append(step_node)
            step_node.following[token_id] = following
            self._n_steps += 1
            if self._n_steps % _OFTEN == 0:
                self._tidy()
            self._is_changing = False
            return following

    def drop(self) -> None:
        """Forget all nodes but those that guides hold; their memory is freed little by little."""
        with self._lock:
            self._is_changing = True
            for nodes in (self._new, self._idle, self._old):
                self._dropped += nodes
            self._age += 1
            self._begin(self.start.configuration)
            self._is_changing = False

    def clear(self) -> None:
        """Forget all nodes but those that guides hold, and free their memory at once."""
        self.drop()
        with self._lock:
            while self._dropped:
                self._dropped.pop().following = {}

    def _is_known(self, node: StepNode) -> bool:
        return self._known.setdefault(node.configuration, node) is node

    def _tidy(self) -> None:
        """Cut and forget a little; begin another age when this one is full."""
        for node in self._idle[self._n_cut : self._n_cut + _AT_ONCE]:
            node.following = {}
        self._n_cut += _AT_ONCE
        for node in self._old[-_AT_ONCE:]:
            if node.age < self._age - 1 and node is not self.start:
                self._known.pop(node.configuration, None)
        del self._old[-_AT_ONCE:]
        for node in self._dropped[-_AT_ONCE:]:
            node.following = {}
        del self._dropped[-_AT_ONCE:]
        is_full = len(self._new) >= self._max_nodes or self._n_steps >= self._max_steps
        if is_full and self._n_cut >= len(self._idle) and not self._old:
            self._age += 1
            self._old, self._idle, self._new = self._idle, self._new, []
            self._n_cut = self._n_steps = 0
