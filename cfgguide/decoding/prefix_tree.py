"""Beginnings of sentences, shared by all sequences that begin alike, and what may follow them.

In: a model and an index. Out: a tree of :class:`Beginning`. Sampling, beam search and steering all
grow it: a beginning is asked for its :class:`Outlook`, the allowed tokens with the model's opinion
of them, and followed by some of those. Sequences with the same tokens are one beginning, so the
model is asked once for all of them, and the prompt is read once for all samples. ::

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
from cfgguide.guide.budget import Finishing
from cfgguide.guide.guide import Guide
from cfgguide.index.index import Index
from cfgguide.index.step_cache import Visit

#: What else may restrict a step: from a visit and the number of tokens left, that of this step and
#: EOS among them, to a packed mask (int32, shape (n_words,)) or None for no restriction. A token
#: must be in both masks.
Restriction = Callable[[Visit, int], npt.NDArray[np.int32] | None]

_SHOWN_BYTES = 40  # of the text so far, in messages


@dataclass(frozen=True)
class Outlook:
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


class Beginning:
    """A beginning of a sentence.

    Attributes
    ----------
    parent : Beginning or None
        The beginning that is one token shorter; None for the one that only has a prefix.
    token_id : int
        The last token; -1 where there is no parent.
    visit : Visit
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
    outlook : Outlook or None
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
        "outlook",
        "parent",
        "prompt_ids",
        "token_id",
        "total",
        "visit",
    )

    def __init__(
        self, parent: Beginning | None, token_id: int, visit: Visit, *, is_finished: bool
    ) -> None:
        self.parent = parent
        self.token_id = token_id
        self.visit = visit
        self.is_finished = is_finished
        self.n_tokens: int = 0 if parent is None else parent.n_tokens + 1
        self.prompt_ids: tuple[int, ...] = () if parent is None else parent.prompt_ids
        self.log_prob = self.log_mass = self.total = 0.0
        self.outlook: Outlook | None = None
        self.following: dict[int, Beginning] = {}

    def path(self) -> list[Beginning]:
        """Return the beginnings from the first token behind the prefix to this one."""
        found: list[Beginning] = []
        beginning = self
        while beginning.parent is not None:
            found.append(beginning)
            beginning = beginning.parent
        return found[::-1]

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The tokens behind the prefix."""
        return tuple(beginning.token_id for beginning in self.path())


class Beginnings:
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
        self._visit = index.start
        guide = Guide(index)
        for token_id in self.prefix_ids:
            guide.advance(token_id)  # says why, if it may not stand there
            self._visit = index.advance(self._visit, token_id)
        self._is_finished = guide.is_finished
        self._finishing = Finishing.of(index) if finish and not self._is_finished else None
        if self._finishing is not None:
            self._finishing.check(self._visit, max_new_tokens)
        self._roots: dict[tuple[int, ...], Beginning] = {}

    def root(self, prompt_ids: Ids) -> Beginning:
        """Return the beginning behind a prompt; the same for the same one."""
        prompt = tuple(map(int, prompt_ids))
        if prompt not in self._roots:
            root = Beginning(None, -1, self._visit, is_finished=self._is_finished)
            root.prompt_ids = prompt
            self._roots[prompt] = root
        return self._roots[prompt]

    def look(self, beginnings: Iterable[Beginning]) -> None:
        """Give beginnings their outlook, with one call of the model.

        Raises
        ------
        ModelError
            If the model's logits do not fit the vocabulary.
        GenerationError
            If a restriction has another shape or dtype than the mask.
        """
        asked = [each for each in dict.fromkeys(beginnings) if each.outlook is None]
        sequences = [(*each.prompt_ids, *self.prefix_ids, *each.token_ids) for each in asked]
        rows = log_probabilities(
            self._model,
            sequences,
            n_ids=self.index.vocabulary.size,
            temperature=self._temperature,
        )
        for beginning, log_probs in zip(asked, rows, strict=True):
            token_ids = self._allowed(beginning)
            allowed = log_probs[token_ids]
            beginning.outlook = Outlook(token_ids, allowed, log_sum(allowed))

    def follow(self, beginning: Beginning, place: int) -> Beginning:
        """Return the beginning with one more token, which is given by its place in the outlook."""
        outlook = beginning.outlook
        assert outlook is not None, "a beginning is looked at before it is followed"
        token_id = int(outlook.token_ids[place])
        known = beginning.following.get(token_id)
        if known is not None:
            return known
        visit = self.index.advance(beginning.visit, token_id)
        is_finished = token_id in self.index.vocabulary.eos_token_ids
        following = Beginning(beginning, token_id, visit, is_finished=is_finished)
        following.log_prob = float(outlook.log_probs[place])
        following.log_mass = outlook.log_mass
        following.total = beginning.total + following.log_prob
        beginning.following[token_id] = following
        return following

    def forget(self, beginnings: Iterable[Beginning]) -> None:
        """Forget the outlooks of beginnings that will not be followed any more."""
        for beginning in beginnings:
            beginning.outlook = None
            beginning.following = {}

    def refusal(self, beginning: Beginning) -> GenerationError:
        """Return the error that says that nothing can follow a beginning."""
        text = self.index.vocabulary.spell((*self.prefix_ids, *beginning.token_ids))
        n_allowed = 0 if beginning.outlook is None else len(beginning.outlook.token_ids)
        shown = repr(text[-_SHOWN_BYTES:])
        if n_allowed:
            return GenerationError(
                f"after {shown} the model excludes all {n_allowed} allowed tokens: their logits "
                "are minus infinity; leave them above that"
            )
        return GenerationError(
            f"after {shown} the restriction leaves none of the allowed tokens: restrict less"
        )

    def _allowed(self, beginning: Beginning) -> npt.NDArray[np.int64]:
        n_left = self.max_new_tokens - beginning.n_tokens
        if self._finishing is None:
            words = self.index.allowed(beginning.visit).bitmask
        else:
            words = self._finishing.within(beginning.visit, n_left)
        if self._restrict is not None:
            narrower = self._restrict(beginning.visit, n_left)
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


def alike(beginnings: Sequence[Beginning]) -> dict[Beginning, list[int]]:
    """Return the places at which each beginning stands, in the order of their first ones."""
    found: dict[Beginning, list[int]] = {}
    for place, beginning in enumerate(beginnings):
        found.setdefault(beginning, []).append(place)
    return found
