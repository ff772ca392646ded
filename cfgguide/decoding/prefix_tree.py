"""Beginnings of sentences, shared by all sequences that begin alike, and what may follow them.

In: a model and an index. Out: a tree of :class:`PrefixNode`. Sampling, beam search and steering all
grow it: a beginning is asked for its :class:`NextTokens`, the allowed tokens with the model's
opinion of them, and followed by some of those. Sequences with the same tokens are one beginning, so
the model is asked once for all of them, and the prompt is read once for all samples. ::

    prompt ── "call me " ─┬─ "ish" ── "mael"      3 sequences: 1, 2, 3 calls of the model
                          └─ "moby" ─┬─ " dick"
                                     └─ "."
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfgguide.decoding.model import AnyModel, Float64Array, Ids, log_probabilities
from cfgguide.errors import GenerationError
from cfgguide.guide.budget import TokenBudget
from cfgguide.guide.guide import Guide
from cfgguide.index.index import Index
from cfgguide.index.step_cache import StepNode

#: What else may restrict a step: from a visit and the number of tokens left, that of this step and
#: EOS among them, to a packed mask (int32, shape (n_words,)) or None for no restriction. A token
#: must be in both masks.
Restriction = Callable[[StepNode, int], npt.NDArray[np.int32] | None]

_SHOWN_BYTES = 40  # of the text so far, in messages


@dataclass(frozen=True)
class NextTokens:
    """The allowed tokens and what the model thinks of them.

    Attributes
    ----------
    token_ids : int64, shape (n_allowed,)
        Ascending, EOS among them where the text is a sentence.
    log_probs : float64, shape (n_allowed,)
        The model's own log-probabilities: without the mask, so that they do not sum up to 1.
    log_mass : float
        Logarithm of their sum, log Z: the probability that the model gives to allowed tokens. Minus
        infinity if no token is allowed, or the model excludes all that are.
    """

    token_ids: npt.NDArray[np.int64]
    log_probs: Float64Array
    log_mass: float


class PrefixNode:
    """A beginning of a sentence.

    Attributes
    ----------
    parent : Beginning or None
        The beginning that is one token shorter; None for the one that only has a prefix.
    token_id : int
        The last token; -1 where there is no parent.
    step_node : Visit
        Where the index is.
    n_tokens : int
        Tokens behind the prefix.
    log_prob : float
        The model's log-probability of the last token, without the mask; 0 where there is no parent.
    log_mass : float
        Logarithm of the probability that the model gave to all tokens that were allowed in its
        place; 0 where there is no parent.
    total : float
        Sum of `log_prob` from the prefix to here.
    is_finished : bool
        Whether the last token is EOS.
    prompt_ids : tuple of int
        The prompt before all of it.
    next_tokens : Outlook or None
        What may follow, from when it is asked for until it is forgotten.
    following : dict of int to Beginning
        Those that it was followed to, by their last tokens, until they are forgotten.
    """

    __slots__ = (
        "following",
        "is_finished",
        "log_mass",
        "log_prob",
        "n_tokens",
        "next_tokens",
        "parent",
        "prompt_ids",
        "step_node",
        "token_id",
        "total",
    )

    def __init__(
        self, parent: PrefixNode | None, token_id: int, step_node: StepNode, *, is_finished: bool
    ) -> None:
        self.parent = parent
        self.token_id = token_id
        self.step_node = step_node
        self.is_finished = is_finished
        self.n_tokens: int = 0 if parent is None else parent.n_tokens + 1
        self.prompt_ids: tuple[int, ...] = () if parent is None else parent.prompt_ids
        self.log_prob = self.log_mass = self.total = 0.0
        self.next_tokens: NextTokens | None = None
        self.following: dict[int, PrefixNode] = {}

    def path(self) -> list[PrefixNode]:
        """Return the beginnings from the first token behind the prefix to this one."""
        found: list[PrefixNode] = []
        prefix_node = self
        while prefix_node.parent is not None:
            found.append(prefix_node)
            prefix_node = prefix_node.parent
        return found[::-1]

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The tokens behind the prefix."""
        return tuple(prefix_node.token_id for prefix_node in self.path())


class PrefixTree:
    """The tree of what a model writes.

    Parameters
    ----------
    model : Model or BatchModel
        The model.
    index : Index
        Of the grammar, for the model's vocabulary.
    max_new_tokens : int
        Most tokens behind the prefix, EOS included; at least 1.
    prefix_ids : sequence of int
        How the sentence begins.
    temperature : float
        Of the model itself: its logits are divided by it before anything else.
    finish : bool
        Whether only such tokens are allowed behind which a sentence can be finished in time.
    restrict : callable, optional
        Narrows the mask of a step.

    Raises
    ------
    GenerationError
        If `max_new_tokens` or `temperature` make no sense.
    BudgetError
        If no sentence can be finished within `max_new_tokens`.
    TokenRejectedError
        If no sentence begins with the prefix.
    """

    def __init__(
        self,
        model: AnyModel,
        index: Index,
        *,
        max_new_tokens: int,
        prefix_ids: Ids = (),
        temperature: float = 1.0,
        finish: bool = True,
        restrict: Restriction | None = None,
    ) -> None:
        if max_new_tokens < 1:
            raise GenerationError(f"max_new_tokens is {max_new_tokens}; at least 1 is needed")
        if not 0 < temperature < float("inf"):
            raise GenerationError(f"temperature is {temperature}; a positive number is needed")
        self.index = index
        self.prefix_ids = tuple(map(int, prefix_ids))
        self.max_new_tokens = max_new_tokens
        self._model = model
        self._temperature = temperature
        self._restrict = restrict
        self._step_node = index.start
        guide = Guide(index)
        for token_id in self.prefix_ids:
            guide.advance(token_id)  # says why, if it may not stand there
            self._step_node = index.advance(self._step_node, token_id)
        self._is_finished = guide.is_finished
        self._token_budget = TokenBudget.of(index) if finish and not self._is_finished else None
        if self._token_budget is not None:
            self._token_budget.check(self._step_node, max_new_tokens)
        self._roots: dict[tuple[int, ...], PrefixNode] = {}

    def root(self, prompt_ids: Ids) -> PrefixNode:
        """Return the beginning behind a prompt; the same for the same one."""
        prompt = tuple(map(int, prompt_ids))
        if prompt not in self._roots:
            root = PrefixNode(None, -1, self._step_node, is_finished=self._is_finished)
            root.prompt_ids = prompt
            self._roots[prompt] = root
        return self._roots[prompt]

    def look(self, prefix_tree: Iterable[PrefixNode]) -> None:
        """Give beginnings their outlook, with one call of the model.

        Raises
        ------
        ModelError
            If the model's logits do not fit the vocabulary.
        GenerationError
            If a restriction has another shape or dtype than the mask.
        """
        asked = [each for each in dict.fromkeys(prefix_tree) if each.next_tokens is None]
        sequences = [(*each.prompt_ids, *self.prefix_ids, *each.token_ids) for each in asked]
        rows = log_probabilities(
            self._model,
            sequences,
            n_ids=self.index.vocabulary.size,
            temperature=self._temperature,
        )
        for prefix_node, log_probs in zip(asked, rows, strict=True):
            token_ids = self._allowed(prefix_node)
            allowed = log_probs[token_ids]
            prefix_node.next_tokens = NextTokens(token_ids, allowed, log_sum(allowed))

    def follow(self, prefix_node: PrefixNode, place: int) -> PrefixNode:
        """Return the beginning with one more token, which is given by its place in the outlook."""
        next_tokens = prefix_node.next_tokens
        assert next_tokens is not None, "a beginning is looked at before it is followed"
        token_id = int(next_tokens.token_ids[place])
        known = prefix_node.following.get(token_id)
        if known is not None:
            return known
        step_node = self.index.advance(prefix_node.step_node, token_id)
        is_finished = token_id in self.index.vocabulary.eos_token_ids
        following = PrefixNode(prefix_node, token_id, step_node, is_finished=is_finished)
        following.log_prob = float(next_tokens.log_probs[place])
        following.log_mass = next_tokens.log_mass
        following.total = prefix_node.total + following.log_prob
        prefix_node.following[token_id] = following
        return following

    def forget(self, prefix_tree: Iterable[PrefixNode]) -> None:
        """Forget the outlooks of beginnings that will not be followed any more."""
        for prefix_node in prefix_tree:
            prefix_node.next_tokens = None
            prefix_node.following = {}

    def refusal(self, prefix_node: PrefixNode) -> GenerationError:
        """Return the error that says that nothing can follow a beginning."""
        text = self.index.vocabulary.spell((*self.prefix_ids, *prefix_node.token_ids))
        n_allowed = 0 if prefix_node.next_tokens is None else len(prefix_node.next_tokens.token_ids)
        shown = repr(text[-_SHOWN_BYTES:])
        if n_allowed:
            return GenerationError(
                f"after {shown} the model excludes all {n_allowed} allowed tokens: their logits "
                "are minus infinity; leave them above that"
            )
        return GenerationError(
            f"after {shown} the restriction leaves none of the allowed tokens: restrict less"
        )

    def _allowed(self, prefix_node: PrefixNode) -> npt.NDArray[np.int64]:
        n_left = self.max_new_tokens - prefix_node.n_tokens
        if self._token_budget is None:
            words = self.index.allowed(prefix_node.step_node).bitmask
        else:
            words = self._token_budget.within(prefix_node.step_node, n_left)
        if self._restrict is not None:
            narrower = self._restrict(prefix_node.step_node, n_left)
            if narrower is not None:
                if narrower.shape != words.shape or narrower.dtype != words.dtype:
                    raise GenerationError(
                        f"the restriction gave {narrower.dtype} of shape {narrower.shape}, "
                        f"expected {words.dtype} of shape {words.shape}: a packed mask"
                    )
                words = words & narrower
        return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))


def log_sum(log_values: Float64Array) -> float:
    """Return the logarithm of a sum, from logarithms; minus infinity for an empty one.

    Examples
    --------
    >>> round(float(np.exp(log_sum(np.log([0.25, 0.5])))), 9)
    0.75
    """
    most = log_values.max(initial=-np.inf)
    if most == -np.inf:
        return -float("inf")
    return float(most + np.log(np.exp(log_values - most).sum()))


def alike(prefix_tree: Sequence[PrefixNode]) -> dict[PrefixNode, list[int]]:
    """Return the places at which each beginning stands, in the order of their first ones."""
    found: dict[PrefixNode, list[int]] = {}
    for place, prefix_node in enumerate(prefix_tree):
        found.setdefault(prefix_node, []).append(place)
    return found
