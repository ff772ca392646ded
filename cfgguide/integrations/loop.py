"""The loop of generation: what a model writes, token by token, within a grammar.

In: a place in a sentence, and a function that gives the logits after more tokens. Out: tokens, as
:class:`Writing` takes them: forced ones unasked, the others by the model's logits under the mask.

A budget costs next to nothing on the way. A token is taken from the grammar's mask, and only that
one is looked at: does a sentence still fit behind it? If not, another is taken, and where that does
not help soon, the whole mask within the budget is made. What remains are the tokens that fit, each
with the chance that the model gives it among them.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cfgguide.errors import GenerationError, ModelError
from cfgguide.guide.budget import TokenBudget
from cfgguide.guide.forced import Encode, JumpForward
from cfgguide.guide.healing import Healing
from cfgguide.index.index import Index
from cfgguide.index.step_cache import StepNode
from cfgguide.integrations.bitmask import apply_bitmask, open_rows
from cfgguide.mask.subset import Int32Array

if TYPE_CHECKING:
    import torch

_PATIENCE = 20  # tokens that are taken one by one before a whole mask is made


class Writing:
    """One text that is being written.

    Parameters
    ----------
    index : Index
        Of the grammar and the vocabulary.
    step_node : Visit
        Where the sentence is.
    n_left : int
        How many tokens may be written.
    left : bytes
        What is to be spelled before; see :mod:`cfgguide.guide.healing`.
    finish : bool
        Whether to finish a sentence within them.
    encode : callable or None
        Makes tokens of forced text; None if the model is to be asked for all.
    temperature : float
        0 for the most probable token.
    on_token : callable
        Called with each token and the text that it completes.

    Attributes
    ----------
    token_ids : list of int
        What was written.
    text : str
        The sentence, from `step_node` on.
    n_forced : int
        How many of the tokens the model was not asked for.
    is_complete : bool
        Whether the sentence is.

    Raises
    ------
    BudgetError
        If no sentence can be finished in time.
    """

    def __init__(
        self,
        index: Index,
        step_node: StepNode,
        n_left: int,
        *,
        left: bytes = b"",
        finish: bool = True,
        encode: Encode | None = None,
        temperature: float = 0.0,
        on_token: Callable[[int, str], None] | None = None,
    ) -> None:
        self._index = index
        self._step_node = step_node
        self._n_left = n_left
        self._left = left
        self._encode = encode
        self._temperature = temperature
        self._on_token = on_token
        self._healing = Healing(index) if left else None
        self._token_budget = TokenBudget.of(index) if finish else None
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.token_ids: list[int] = []
        self.text = ""
        self.n_forced = 0
        self.is_complete = False
        if self._token_budget is not None:
            n_healed = self._token_budget.n_tokens_of(left)
            self._token_budget.check(step_node, n_left - n_healed)

    def write(
        self,
        logits_after: Callable[[Sequence[int]], torch.Tensor],
        prompt: Sequence[int],
        until: Callable[[str], bool],
    ) -> None:
        """Write until the sentence ends, or the tokens run out.

        Parameters
        ----------
        logits_after : callable
            Returns the logits after some more tokens; float32, shape (n_columns,).
        prompt : sequence of int
            The tokens before.
        until : callable
            Asked of `text` wherever it completes a sentence: True ends it there.

        Raises
        ------
        ModelError
            If the model has fewer columns than the vocabulary has ids.
        GenerationError
            If the model rules out all that the grammar allows.
        """
        unread = list(prompt)
        while self._n_left and not self.is_complete:
            forced = self._forced([*prompt, *self.token_ids]) if self._encode else ()
            for token_id in forced or (self._chosen(logits_after(unread)),):
                unread = unread if forced and unread else []
                unread.append(token_id)
                self._take(token_id, until)
                if self.is_complete:
                    break
            self.n_forced += len(forced)

    def _take(self, token_id: int, until: Callable[[str], bool]) -> None:
        """Append a token."""
        vocabulary = self._index.vocabulary
        self._n_left -= 1
        self.token_ids.append(token_id)
        token = (vocabulary.tokens[token_id] or b"")[len(self._left) :]
        self._left, self._step_node = self._following(token_id)
        piece = self._decoder.decode(token)
        self.text += piece
        if self._on_token is not None:
            self._on_token(token_id, piece)
        if token_id in vocabulary.eos_token_ids:
            self.is_complete = True
        elif not self._left and self._index.recognizer.is_sentence(self._step_node.configuration):
            self.is_complete = until(self.text)

    def _following(self, token_id: int) -> tuple[bytes, StepNode]:
        if self._healing is not None and self._left:
            return self._healing.advance(self._left, self._step_node, token_id)
        return b"", self._index.advance(self._step_node, token_id)

    # -- what needs no model ----------------------------------------------------------------

    def _forced(self, before: Sequence[int]) -> tuple[int, ...]:
        """Return tokens that come next whatever the model says."""
        assert self._encode is not None, "forced text is to be spelled"
        if self._left:
            return ()
        jump_forward = JumpForward.of(self._index)
        subset = self._index.allowed(self._step_node)
        if subset.n_tokens == 1:
            return (int(subset.token_ids()[0]),)
        found: list[int] = []
        step_node = self._step_node
        for token_id in jump_forward.token_ids(
            jump_forward.forced(self._index, step_node), before, self._encode
        ):
            step_node = self._index.advance(step_node, token_id)
            n_left = self._n_left - len(found) - 1
            if n_left < (0 if self._token_budget is None else 1):
                break
            if self._token_budget is not None and not self._token_budget.fits(step_node, n_left):
                break
            found.append(token_id)
        return tuple(found)

    # -- what the model says ----------------------------------------------------------------

    def _chosen(self, logits: torch.Tensor) -> int:
        """Return a token by the model's logits."""
        if len(logits) < self._index.vocabulary.size:
            raise ModelError(
                f"the model's logits have {len(logits)} columns, the vocabulary "
                f"{self._index.vocabulary.size} ids: the tokenizer is of another model"
            )
        token_id = self._drawn(logits, self._allowed())
        if self._token_budget is None:
            return token_id
        for number in range(self._index.vocabulary.size):
            if self._fits(token_id):
                break
            if not self._left and (self._token_budget.is_quick or number >= _PATIENCE):
                return self._drawn(logits, self._token_budget.within(self._step_node, self._n_left))
            logits[token_id] = -np.inf
            token_id = self._drawn(logits, self._allowed())
        return token_id

    def _allowed(self) -> Int32Array:
        if self._healing is not None and self._left:
            return self._healing.allowed(self._left, self._step_node)
        return self._index.allowed(self._step_node).bitmask

    def _fits(self, token_id: int) -> bool:
        """Return whether a sentence can be finished after a token."""
        assert self._token_budget is not None, "a sentence is to be finished"
        if token_id in self._index.vocabulary.eos_token_ids:
            return True
        left, step_node = self._following(token_id)
        n_left = self._n_left - 1 - self._token_budget.n_tokens_of(left)
        return self._token_budget.fits(step_node, n_left)

    def _drawn(self, logits: torch.Tensor, allowed: Int32Array) -> int:
        """Return the most probable of some tokens, or one at random."""
        import torch

        masked = logits.clone()
        apply_bitmask(masked, allowed)
        if not open_rows(masked.unsqueeze(0), allowed)[0]:
            raise GenerationError(
                "the model rules out every token that the grammar allows: its logits are minus "
                "infinity, or no numbers"
            )
        if not self._temperature:
            return int(masked.argmax())
        chances = torch.softmax(masked / self._temperature, dim=-1)
        return int(torch.multinomial(chances, 1))
