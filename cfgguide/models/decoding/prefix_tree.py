"""The tree of prefixes that a model writes: texts that begin alike share their nodes.

In: a model and an index. Out: a tree of :class:`PrefixNode`. Sampling, beam search and steering all
grow it: :meth:`PrefixTree.look` gives a node its :class:`NextTokens`, the allowed tokens with the
model's opinion of them, and :meth:`PrefixTree.follow` makes the node after one of those. Sequences
with the same tokens are one node, so the model is called once for all of them, and it reads the
prompt once for all samples. ::

    prompt ── "call me " ─┬─ "ish" ── "mael"      3 sequences: 1, 2, 3 calls of the model
                          └─ "moby" ─┬─ " dick"
                                     └─ "."
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfgguide.engine.index.index import Index
from cfgguide.engine.index.memo import Step
from cfgguide.engine.masks.subset import Int32Array, Subset, is_in_bitmask, token_ids_in
from cfgguide.errors import GenerationError, TokenRejectedError, shown
from cfgguide.guide.budget import TokenBudget, check_finish, check_max_new_tokens
from cfgguide.guide.forced import Encode, JumpForward
from cfgguide.guide.guide import Guide, as_token_id
from cfgguide.guide.healing import Healing
from cfgguide.guide.repetition import Loops, Written
from cfgguide.models.decoding.model import (
    AnyModel,
    Float64Array,
    Ids,
    log_probabilities,
    next_logits,
    not_numbers,
)

#: Narrows a step further: a function of the last step and the number of tokens left, this step's
#: and EOS included. It returns a packed mask (int32, shape (n_words,)), or None for no restriction.
#: A token must be in both masks.
Restriction = Callable[[Step, int], Int32Array | None]

_SHOWN_BYTES = 40  # of the text so far, in messages


@dataclass(frozen=True)
class NextTokens:
    """The allowed tokens and what the model thinks of them.

    Attributes
    ----------
    token_ids : int64, shape (n_allowed,)
        Ascending, with EOS where the text is a sentence.
    log_probs : float64, shape (n_allowed,)
        The model's own log-probabilities: without the mask, so that their exponentials do not sum
        up to 1. If the tree does not measure, they are logits: right up to a constant.
    log_mass : float
        log Z, the logarithm of the probability that the model gives to all allowed tokens together.
        Minus infinity if no token is allowed, or the model excludes all that are; otherwise NaN if
        the tree does not measure.
    """

    token_ids: npt.NDArray[np.int64]
    log_probs: Float64Array
    log_mass: float


class PrefixNode:
    """A prefix of a sentence.

    Attributes
    ----------
    parent : PrefixNode or None
        The prefix that is one token shorter; None for a root, which has no new token.
    token_id : int
        The last token; -1 for a root.
    step : Step
        Where the index is.
    left : bytes
        What healing still has to spell before the sentence goes on; mostly empty.
    written : Written
        What repetition is asked about; empty without that.
    read_ids : tuple of int
        What the model reads before the new tokens: prompt and given prefix.
    n_tokens : int
        Number of new tokens.
    log_prob : float
        The model's log-probability of the last token, without the mask. 0 for a root; NaN if the
        model was not asked for the token, or the tree does not measure.
    log_mass : float
        log Z of the step that led here; 0 or NaN as `log_prob`.
    total : float
        Sum of `log_prob` over the new tokens.
    is_forced : bool
        Whether the last token was written without asking the model.
    is_finished : bool
        Whether the last token is EOS.
    next_tokens : NextTokens or None
        What may follow, from when it is looked up until it is forgotten.
    following : dict of int to PrefixNode
        The nodes that were followed to, by their last tokens, until they are forgotten.
    """

    __slots__ = (
        "following",
        "is_finished",
        "is_forced",
        "left",
        "log_mass",
        "log_prob",
        "n_tokens",
        "next_tokens",
        "parent",
        "read_ids",
        "step",
        "token_id",
        "total",
        "written",
    )

    def __init__(
        self,
        parent: PrefixNode | None,
        token_id: int,
        step: Step,
        *,
        is_finished: bool,
        is_forced: bool = False,
        left: bytes = b"",
        written: Written | None = None,
    ) -> None:
        self.parent = parent
        self.token_id = token_id
        self.step = step
        self.left = left
        self.written = written or Written(b"")
        self.is_finished = is_finished
        self.is_forced = is_forced
        self.n_tokens: int = 0 if parent is None else parent.n_tokens + 1
        self.read_ids: tuple[int, ...] = () if parent is None else parent.read_ids
        self.log_prob = self.log_mass = self.total = 0.0 if parent is None else np.nan
        self.next_tokens: NextTokens | None = None
        self.following: dict[int, PrefixNode] = {}

    def path(self) -> list[PrefixNode]:
        """Return the nodes of the new tokens, from the first to this one."""
        nodes: list[PrefixNode] = []
        node = self
        while node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The new tokens."""
        return tuple(node.token_id for node in self.path())


class PrefixTree:
    """The tree of what a model writes.

    Parameters
    ----------
    model : Model or BatchModel
        The model.
    index : Index
        Of the grammar, for the model's vocabulary.
    max_new_tokens : int
        Maximum number of new tokens, EOS included; at least 1.
    prefix_ids : sequence of int
        How the sentence begins.
    temperature : float
        Of the model itself: its logits are divided by it before anything else.
    finish : bool
        Whether only tokens are allowed after which a sentence can be finished in time.
    restrict : callable, optional
        Narrows the mask of a step.
    heal : bool
        Whether the model spells the last tokens of prompt and prefix again
        (:mod:`cfgguide.guide.healing`).
    trailing : bool
        Whether ignored text, such as white space, may stand behind a sentence where nothing else
        could follow. If not, only EOS may.
    loops : Loops, optional
        What closes loops, and weighs free tokens.
    measure : bool
        Whether log-probabilities and log Z are wanted. If not, `finish` costs less: the allowed
        tokens are those of the grammar, and :meth:`fits` is to be asked of a token that is chosen.

    Raises
    ------
    GenerationError
        If `max_new_tokens` or `temperature` is out of its range.
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
        heal: bool = False,
        trailing: bool = True,
        loops: Loops | None = None,
        measure: bool = True,
    ) -> None:
        check_max_new_tokens(max_new_tokens)
        check_finish(finish)
        if not isinstance(index, Index):
            raise GenerationError(
                f"index is {shown(index)}; it is what cfgguide.compile(grammar, tokenizer) returns"
            )
        if not 0 < temperature < float("inf"):
            raise GenerationError(f"temperature is {temperature}; a positive number is needed")
        self.index = index
        self.prefix_ids = _ids(prefix_ids, "prefix_ids")
        self.max_new_tokens = max_new_tokens
        self.is_measured = measure
        self._model = model
        self._temperature = temperature
        self._restrict = restrict
        self._loops = loops
        self._is_trailing = trailing
        self._only_eos = Subset.of(index.eos_bitmask)
        self._healing = Healing(index) if heal else None
        guide = Guide(index)
        for token_id in self.prefix_ids:
            guide.advance(token_id)  # says why, if it may not stand there
        self._start = guide.step
        self._is_finished = guide.is_finished
        self.token_budget = TokenBudget.of(index) if finish and not guide.is_finished else None
        self._roots: dict[tuple[int, ...], PrefixNode] = {}

    def root(self, prompt_ids: Ids) -> PrefixNode:
        """Return the node after a prompt and the prefix; the same for the same prompt.

        Raises
        ------
        BudgetError
            If no sentence can be finished within `max_new_tokens`.
        """
        prompt = _ids(prompt_ids, "the prompt")
        if prompt not in self._roots:
            read_ids, left = (*prompt, *self.prefix_ids), b""
            if self._healing is not None:
                healed = self._healing.taken_back(read_ids)
                read_ids, left = healed.token_ids, healed.bytes_left
            if self.token_budget is not None:
                n_left = self.max_new_tokens - self.token_budget.n_tokens_of(left)
                self.token_budget.check(self._start, n_left)
            written = Written(self.index.vocabulary.spell(self.prefix_ids))
            root = PrefixNode(
                None, -1, self._start, is_finished=self._is_finished, left=left, written=written
            )
            root.read_ids = read_ids
            self._roots[prompt] = root
        return self._roots[prompt]

    # -- what the model says ----------------------------------------------------------------

    def look(self, nodes: Iterable[PrefixNode]) -> None:
        """Give nodes their next tokens, with one call of the model.

        Raises
        ------
        ModelError
            If the model's logits do not fit the vocabulary, or are not numbers.
        GenerationError
            If a restriction has another shape or dtype than the mask.
        """
        asked = [node for node in dict.fromkeys(nodes) if node.next_tokens is None]
        sequences = [(*node.read_ids, *node.token_ids) for node in asked]
        rows = next_logits(self._model, sequences, n_ids=self.index.vocabulary.size)
        for node, logits in zip(asked, rows, strict=True):
            node.next_tokens = self._next_tokens(node, logits)

    def _next_tokens(self, node: PrefixNode, logits: npt.NDArray[np.floating]) -> NextTokens:
        token_ids = token_ids_in(self._allowed(node))
        if self.is_measured:
            log_probs = log_probabilities(logits, temperature=self._temperature)
            return NextTokens(token_ids, log_probs[token_ids], log_sum(log_probs[token_ids]))
        allowed = logits[token_ids].astype(np.float64)
        largest = allowed.max(initial=-np.inf)
        if np.isnan(largest) or largest == np.inf:
            raise not_numbers(largest)
        return NextTokens(token_ids, allowed, -np.inf if largest == -np.inf else np.nan)

    def weighed(self, node: PrefixNode) -> Float64Array:
        """Return what the model thinks of the next tokens, less what free ones have lost."""
        next_tokens = node.next_tokens
        assert next_tokens is not None, "look at a node before you choose"
        if self._loops is None or node.left:
            return next_tokens.log_probs
        return self._loops.weighed(
            node.written, node.step, next_tokens.token_ids, next_tokens.log_probs
        )

    def follow(self, node: PrefixNode, position: int) -> PrefixNode:
        """Return the node after one more token, given by its position in the next tokens."""
        next_tokens = node.next_tokens
        assert next_tokens is not None, "look at a node before you follow it"
        token_id = int(next_tokens.token_ids[position])
        child = node.following.get(token_id)
        if child is None:
            child = node.following[token_id] = self._child(node, token_id)
            if self.is_measured:
                child.log_prob = float(next_tokens.log_probs[position])
                child.log_mass = next_tokens.log_mass
                child.total = node.total + child.log_prob
        return child

    def forget(self, nodes: Iterable[PrefixNode]) -> None:
        """Forget the next tokens of nodes that will not be followed any more."""
        for node in nodes:
            node.next_tokens = None
            node.following = {}

    def refusal(self, node: PrefixNode) -> GenerationError:
        """Return the error that says that no token can follow a node."""
        text = self.index.vocabulary.spell((*self.prefix_ids, *node.token_ids))
        n_allowed = 0 if node.next_tokens is None else len(node.next_tokens.token_ids)
        shown = repr(text[-_SHOWN_BYTES:])
        if n_allowed:
            return GenerationError(
                f"after {shown} the model excludes all {n_allowed} allowed tokens: their logits "
                "are minus infinity; leave them above that"
            )
        return GenerationError(
            f"after {shown} the restriction leaves none of the allowed tokens: restrict less"
        )

    # -- what needs no model ----------------------------------------------------------------

    def forced(self, node: PrefixNode, encode: Encode) -> list[PrefixNode]:
        """Return the nodes of tokens that come next whatever the model says; none if it may choose.

        Parameters
        ----------
        node : PrefixNode
            Where the text is.
        encode : callable
            Makes tokens of forced text (:mod:`cfgguide.guide.forced`).
        """
        if node.left or node.written.part is not None:
            return []
        subset = self._only_eos if self._ends(node) else self.index.allowed(node.step)
        is_only = subset.n_tokens == 1
        token_ids: tuple[int, ...]
        if is_only:
            token_ids = (int(subset.token_ids()[0]),)
        else:
            jump_forward = JumpForward.of(self.index)
            forced_bytes = jump_forward.forced(self.index, node.step)
            before = (*node.read_ids, *node.token_ids) if forced_bytes else ()
            token_ids = jump_forward.token_ids(forced_bytes, before, encode)
        nodes: list[PrefixNode] = []
        for token_id in token_ids:
            narrower = self._narrower(node)
            if narrower is not None and not is_in_bitmask(token_id, narrower):
                break
            if not self.n_left(node) or not (is_only or self.fits(node, token_id)):
                break
            node = self._child(node, token_id, is_forced=True)
            nodes.append(node)
        return nodes

    def n_left(self, node: PrefixNode) -> int:
        """Return how many tokens may be written after a node."""
        return self.max_new_tokens - node.n_tokens

    def fits(self, node: PrefixNode, token_id: int) -> bool:
        """Return whether it is known how to finish a sentence in time after an allowed token."""
        if self.token_budget is None or token_id in self.index.vocabulary.eos_token_ids:
            return True
        left, step = self._after(node, token_id)
        n_left = self.n_left(node) - 1 - self.token_budget.n_tokens_of(left)
        return self.token_budget.fits(step, n_left)

    def within(self, node: PrefixNode, token_budget: TokenBudget) -> Int32Array:
        """Return the tokens after which a sentence can still be finished in time."""
        return token_budget.within(node.step, self.n_left(node))

    def _child(self, node: PrefixNode, token_id: int, *, is_forced: bool = False) -> PrefixNode:
        left, step = self._after(node, token_id)
        written = node.written
        if self._loops is not None:
            piece = (self.index.vocabulary.tokens[token_id] or b"")[len(node.left) :]
            written = self._loops.after(written, node.step, token_id, piece)
        return PrefixNode(
            node, token_id, step, is_finished=step.is_end, is_forced=is_forced, left=left,
            written=written,
        )  # fmt: skip

    def _after(self, node: PrefixNode, token_id: int) -> tuple[bytes, Step]:
        """Return what is left to spell, and where the index is, after a token."""
        if self._healing is not None and node.left:
            return self._healing.advance(node.left, node.step, token_id)
        return b"", self.index.advance(node.step, token_id)

    def _allowed(self, node: PrefixNode) -> Int32Array:
        if self._healing is not None and node.left:
            words = self._healing.allowed(node.left, node.step)
        elif self._ends(node):
            words = self._only_eos.bitmask
        elif self.token_budget is not None and self.is_measured:
            words = self.within(node, self.token_budget)
        else:
            words = self.index.allowed(node.step).bitmask
        narrower = self._narrower(node)
        if narrower is not None:
            words = words & narrower
        if self._loops is None or node.left:
            return words
        return self._loops.narrowed(node.written, node.step, words)

    def _ends(self, node: PrefixNode) -> bool:
        """Return whether the sentence is to end here."""
        return not self._is_trailing and self.index.is_at_end(node.step)

    def _narrower(self, node: PrefixNode) -> Int32Array | None:
        if self._restrict is None:
            return None
        narrower = self._restrict(node.step, self.n_left(node))
        n_words = self.index.vocabulary.n_words
        if narrower is not None and (narrower.shape != (n_words,) or narrower.dtype != np.int32):
            raise GenerationError(
                f"the restriction gave {narrower.dtype} of shape {narrower.shape}, "
                f"expected int32 of shape ({n_words},): a packed mask"
            )
        return narrower


def log_sum(log_values: Float64Array) -> float:
    """Return the logarithm of a sum, given logarithms; minus infinity for an empty sum.

    Examples
    --------
    >>> round(float(np.exp(log_sum(np.log([0.25, 0.5])))), 9)
    0.75
    """
    largest = log_values.max(initial=-np.inf)
    if largest == -np.inf:
        return -float("inf")
    return float(largest + np.log(np.exp(log_values - largest).sum()))


def _ids(token_ids: Ids, name: str) -> tuple[int, ...]:
    try:
        return tuple([as_token_id(token_id) for token_id in token_ids])
    except (TypeError, TokenRejectedError):
        raise GenerationError(
            f"{name} is {shown(token_ids)}; it is a sequence of token ids, as a tokenizer's encode "
            "returns it"
        ) from None
