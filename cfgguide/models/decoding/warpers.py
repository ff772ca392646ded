"""How the next token is chosen among those that are allowed.

In: the model's log-probabilities of the allowed tokens. Out: the probabilities with which one is
drawn. The order is: mask, temperature, top-k, top-p, min-p; the probabilities are renormalised
after each.

The mask comes first on purpose. If the model were first cut down to its 40 likeliest tokens, the
grammar might allow none of them. And the bounds keep their meaning: `top_p=0.9` leaves out the
unlikely tenth of what can be written here, however little of the model's mass that is. ::

    model      a .50  b .30  c .15  d .05        mask: b c d
    masked            b .60  c .30  d .10        top_p=0.8: b c
    drawn             b .67  c .33
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from cfgguide.errors import GenerationError, shown
from cfgguide.models.decoding.model import Float64Array


@dataclass(frozen=True)
class Warper:
    """Temperature and the bounds that are applied after it.

    Attributes
    ----------
    temperature : float
        Probabilities are raised to the power of ``1 / temperature``. 0 takes the most probable
        token; of several, the one with the lowest id.
    top_k : int or None
        Keeps only so many of the most probable tokens; of equal ones, those with lower ids.
    top_p : float
        Keeps only the fewest most probable tokens that together have at least this probability.
    min_p : float
        Keeps only tokens with at least this share of the probability of the likeliest one.

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
        t, k, p, least = self.temperature, self.top_k, self.top_p, self.min_p
        is_count = k is None or (isinstance(k, Integral) and k >= 1)
        for name, is_right, said in (
            ("temperature", _is_real(t) and 0 <= t <= sys.float_info.max, "0 (greedy) or positive"),
            ("top_k", is_count, "at least 1, or None for all"),
            ("top_p", _is_real(p) and 0 < p <= 1, "above 0 and at most 1"),
            ("min_p", _is_real(least) and 0 <= least <= 1, "between 0 and 1"),
        ):
            if not is_right:
                raise GenerationError(f"{name} is {shown(getattr(self, name))}; it is {said}")
        for name in ("temperature", "top_p", "min_p"):  # such as a fraction
            object.__setattr__(self, name, float(getattr(self, name)))

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
        with np.errstate(over="ignore"):  # to minus infinity, at a temperature of almost 0
            chances: Float64Array = np.exp((log_probs - log_probs.max()) / self.temperature)
        chances /= chances.sum()
        if self.top_k is not None:
            _keep(chances, self.top_k)
        if self.top_p < 1:
            chances /= chances.sum()
            sums = np.cumsum(-np.sort(-chances))
            _keep(chances, int(np.searchsorted(sums, self.top_p)) + 1)
        chances[chances < self.min_p * chances.max()] = 0.0
        chances /= chances.sum()
        return chances

    def draw(self, log_probs: Float64Array, uniforms: Float64Array) -> npt.NDArray[np.int64]:
        """Return the positions of the tokens that uniform numbers draw.

        Parameters
        ----------
        log_probs : float64, shape (n_allowed,)
            As for :meth:`probabilities`; a constant may have been added to all of them.
        uniforms : float64, shape (n_draws,)
            From [0, 1).

        Returns
        -------
        int64, shape (n_draws,)
            Positions in `log_probs`.
        """
        if self.temperature == 0:
            return np.full(len(uniforms), np.argmax(log_probs), dtype=np.int64)
        return drawn(self.probabilities(log_probs), uniforms)


def _keep(chances: Float64Array, n: int) -> None:
    """Set all but the `n` largest values to 0; of equal ones, the first stay."""
    if n >= len(chances):
        return
    smallest = np.partition(chances, -n)[-n]
    is_kept = chances > smallest
    equal = np.flatnonzero(chances == smallest)[: n - np.count_nonzero(is_kept)]
    is_kept[equal] = True
    chances[~is_kept] = 0.0


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
    positions = np.searchsorted(sums, uniforms * sums[-1], side="right")
    clipped: npt.NDArray[np.int64] = np.minimum(positions, last)
    return clipped


def _is_real(value: object) -> bool:
    return isinstance(value, Real)
