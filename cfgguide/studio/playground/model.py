"""A model beside the page: how likely each token is, before the mask and after it.

In: a model of transformers, and the tokens so far. Out: :class:`Chances`, and tokens drawn from
them. The model reads the prompt first, as a chat if it has been trained for that.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.base.remembered import remembered_up_to
from cfgguide.errors import GenerationError
from cfgguide.models.decoding.model import log_probabilities
from cfgguide.models.decoding.warpers import Warper

MAX_PROMPT = 4_000  # characters
_MAX_KEPT = 32  # logits


@dataclass(frozen=True)
class Chances:
    """The probabilities of the next token.

    Attributes
    ----------
    before : float64, shape (n_columns,)
        As the model has them.
    kept : float
        The sum of those of allowed tokens: what the mask leaves.
    is_allowed : bool, shape (n_columns,)
        The mask.
    """

    before: npt.NDArray[np.float64]
    kept: float
    is_allowed: npt.NDArray[np.bool_]

    @classmethod
    def under(cls, before: npt.NDArray[np.float64], allowed: npt.NDArray[np.int64]) -> Chances:
        """Return probabilities together with a mask.

        Examples
        --------
        >>> chances = Chances.under(np.array([0.25, 0.25, 0.5]), np.array([0, 1]))
        >>> chances.kept, chances.of(0), chances.of(2)
        (0.5, (0.25, 0.5), (0.5, 0.0))
        """
        is_allowed = np.zeros(len(before), dtype=bool)
        is_allowed[allowed] = True
        return cls(before, float(before[is_allowed].sum()), is_allowed)

    def of(self, token_id: int) -> tuple[float, float]:
        """Return the probability of a token before the mask, and after it."""
        chance = float(self.before[token_id])
        if not self.is_allowed[token_id] or self.kept <= 0:
            return chance, 0.0
        return chance, chance / self.kept


class Writer:
    """Asks a model; one question at a time.

    Parameters
    ----------
    model, tokenizer
        From :func:`cfgguide.models.load_model`.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        from cfgguide.models.transformers.causal_model import TransformersModel

        self._model = TransformersModel(model)
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[int, ...], npt.NDArray[np.float64]] = OrderedDict()
        self._random = np.random.default_rng()

    def probabilities(self, prompt: str, token_ids: list[int]) -> npt.NDArray[np.float64]:
        """Return the probability of each token after a prompt and a text.

        Raises
        ------
        GenerationError
            If the prompt is too long.
        """
        with self._lock:
            ids = (*self._prompt_ids(prompt), *token_ids)
            if ids not in self._known:
                logits = np.asarray(self._model.logits([list(ids)]))[0]
                self._known[ids] = np.exp(log_probabilities(logits))
                while len(self._known) > _MAX_KEPT:
                    self._known.popitem(last=False)
            self._known.move_to_end(ids)
            return self._known[ids]

    def drawn(self, chances: Chances, temperature: float) -> int:
        """Return one allowed token: the likeliest, or drawn with a temperature."""
        token_ids = np.flatnonzero(chances.is_allowed)
        with np.errstate(divide="ignore"):
            log_probs = np.log(chances.before[token_ids])
        if log_probs.max() == -np.inf:  # all that is allowed has no chance at all
            return int(token_ids[0])
        warper = Warper(max(temperature, 0.0))
        return int(token_ids[warper.draw(log_probs, self._random.random(1))[0]])

    @remembered_up_to(_MAX_KEPT)
    def _prompt_ids(self, prompt: str) -> list[int]:
        if len(prompt) > MAX_PROMPT:
            raise GenerationError(f"the prompt has more than {MAX_PROMPT:,} characters")
        from cfgguide.models.prompts import prompt_ids

        is_chat = bool(prompt) and bool(getattr(self._tokenizer, "chat_template", None))
        asked: Any = [{"role": "user", "content": prompt}] if is_chat else prompt
        return prompt_ids(asked, self._tokenizer)
