"""How the next token is chosen among those that are allowed.

In: the model's log-probabilities of the allowed tokens. Out: the probabilities with which one is
drawn. The order is: mask, renormalise, temperature, top-k, top-p, min-p, and what is left is
renormalised each time.

The mask comes first on purpose. If the model were cut down first, to its 40 likeliest tokens, the
grammar might allow none of them. And the bounds keep their meaning: `top_p=0.9` leaves out the
unlikely tenth of what can be written here, however little of the model's mass that is. ::

    model      a .50  b .30  c .15  d .05        mask: b c d
    masked            b .60  c .30  d .10        top_p=0.8: b c
    drawn             b .67  c .33
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfgguide.decoding.model import Float64Array
from cfgguide.errors import GenerationError


@dataclass(frozen=True)
class Warper:
    """The settings of a choice.

    Attributes
    ----------
    temperature : float
        Probabilities are raised to the power of ``1 / temperature``. 0 takes the most probable
        token, of several the one with the lowest id.
    top_k : int or None
        Only so many of the most probable tokens are left, of equal ones those with lower ids.
    top_p : float
        Only the fewest most probable tokens are left that have at least this probability together.
    min_p : float
        Only tokens are left that have at least this share of the probability of the likeliest one.

    Raises
    ------
    GenerationError
        If one of them is out of its range.

    Examples
    --------
    >>> log_probs = np.log([0.3, 0.15, 0.05])  # of the allowed tokens: their mass is 0.5
    >>> Warper().probabilities(log_probs).round(2).tolist()
    [0.6, 0.3, 0.1]
    >>> Warper(top_p=0.8).probabilities(log_probs).round(2).tolist()
    [0.67, 0.33, 0.0]
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise GenerationError(
                f"temperature is {self.temperature}; it is 0 (greedy) or positive"
            )
        if self.top_k is not None and self.top_k < 1:
            raise GenerationError(f"top_k is {self.top_k}; it is at least 1, or None for all")
        if not 0 < self.top_p <= 1:
            raise GenerationError(f"top_p is {self.top_p}; it is above 0 and at most 1")
        if not 0 <= self.min_p <= 1:
            raise GenerationError(f"min_p is {self.min_p}; it is between 0 and 1")

    def probabilities(self, log_probs: Float64Array) -> Float64Array:
        """Return the probability of each allowed token to be drawn.

        Parameters
        ----------
        log_probs : float64, shape (n_allowed,)
            The model's log-probabilities, at least one of them above minus infinity.

        Returns
        -------
        float64, shape (n_allowed,)
            They sum up to 1.
        """
        if self.temperature == 0:
            greedy = np.zeros(len(log_probs))
            greedy[np.argmax(log_probs)] = 1.0
            return greedy
        found = np.exp((log_probs - log_probs.max()) / self.temperature)
        found /= found.sum()
        if self.top_k is not None:
            _keep(found, self.top_k)
        if self.top_p < 1:
            found /= found.sum()
            sums = np.cumsum(-np.sort(-found))
            _keep(found, int(np.searchsorted(sums, self.top_p)) + 1)
        found[found < self.min_p * found.max()] = 0.0
        total: Float64Array = found / found.sum()
        return total


def _keep(found: Float64Array, n: int) -> None:
    """Set all but the `n` largest values to 0, of equal ones those that stand behind."""
    if n >= len(found):
        return
    least = np.partition(found, -n)[-n]
    is_more = found > least
    equal = np.flatnonzero(found == least)[: n - np.count_nonzero(is_more)]
    is_more[equal] = True
    found[~is_more] = 0.0


def drawn(probabilities: Float64Array, uniforms: Float64Array) -> npt.NDArray[np.int64]:
    """Return the positions that uniform numbers draw.

    Parameters
    ----------
    probabilities : float64, shape (n_allowed,)
        They sum up to 1.
    uniforms : float64, shape (n_draws,)
        From [0, 1).

    Returns
    -------
    int64, shape (n_draws,)
        Each has a probability above 0.

    Examples
    --------
    >>> drawn(np.array([0.25, 0.0, 0.75]), np.array([0.0, 0.2499, 0.25, 0.9])).tolist()
    [0, 0, 2, 2]
    """
    sums = np.cumsum(probabilities)
    last = np.flatnonzero(probabilities)[-1]  # a product may round up to the sum
    found = np.searchsorted(sums, uniforms * sums[-1], side="right")
    places: npt.NDArray[np.int64] = np.minimum(found, last)
    return places
