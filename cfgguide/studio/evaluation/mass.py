r"""How much probability a mask keeps, and what the allowed tokens have then.

In: logits and bitmasks. Out: the probability mass that each mask keeps and removes, and the
log-probabilities of tokens before and after. With the model's probabilities p and the set A of
allowed tokens::

    log Z = log of the sum of p over A        log of the mass that is kept; at most 0
    masked log-probability = raw log-probability - log Z        for tokens in A

The kept mass may be so close to 1, or to 0, that floating point cannot tell the difference. So both
logarithms are computed from the smaller of kept and removed mass, with ``log1p``. Sums are in
float64 for numpy arrays; for tensors in float32, or in float64 if the logits are.

Source: Willard & Louf 2023, section 5, which proposes to measure a model by this discrepancy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cfgguide.errors import BitmaskError
from cfgguide.models.dense_mask import bool_mask, is_tensor


class Mass(NamedTuple):
    """The probability mass that masks keep and remove; arrays or tensors of shape (...).

    Attributes
    ----------
    log_kept : floating
        log Z: the logarithm of the mass of the allowed tokens.
    log_removed : floating
        The logarithm of the mass of the other tokens.
    """

    log_kept: Any
    log_removed: Any


class LogProbabilities(NamedTuple):
    """Log-probabilities of tokens, before a mask and after it.

    Attributes
    ----------
    raw : floating
        Without the mask.
    masked : floating
        Among the allowed tokens; minus infinity for the others.
    """

    raw: Any
    masked: Any


@np.errstate(divide="ignore", invalid="ignore")
def kept_mass(logits: Any, bitmask: Any) -> Mass:
    """Return how much probability masks keep and remove.

    Parameters
    ----------
    logits : floating, shape (..., n_columns)
        A numpy array, or a torch tensor on any device. Numbers, or minus infinity where a token has
        no probability.
    bitmask : int32, shape (..., n_words)
        Packed masks, as :meth:`Guide.fill_bitmask` writes them; of the same kind as the logits and
        with the same axes before the last.

    Returns
    -------
    Mass
        Of shape (...). NaN where no token at all has any probability.

    Raises
    ------
    BitmaskError
        If the two are of different kinds or shapes, or not such arrays.

    Examples
    --------
    >>> import numpy as np
    >>> mass = kept_mass(np.zeros(4), np.array([0b0111], dtype=np.int32))
    >>> float(np.exp(mass.log_kept)), float(np.exp(mass.log_removed))
    (0.75, 0.25)
    """
    _check(logits, bitmask)
    mass: Mass = measured(logits, bool_mask(bitmask, logits.shape[-1]))[0]
    return mass


@np.errstate(divide="ignore", invalid="ignore")
def log_probabilities(logits: Any, bitmask: Any) -> LogProbabilities:
    """Return the log-probabilities of all tokens, raw and masked.

    Parameters
    ----------
    logits, bitmask
        As for :func:`kept_mass`.

    Returns
    -------
    LogProbabilities
        Of shape (..., n_columns). Where the mask allows no token with any probability, all of the
        masked ones are minus infinity.

    Raises
    ------
    BitmaskError
        As :func:`kept_mass`.

    Examples
    --------
    >>> import numpy as np
    >>> result = log_probabilities(np.zeros(4), np.array([0b0011], dtype=np.int32))
    >>> np.exp(result.raw).tolist(), np.exp(result.masked).tolist()
    ([0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.0, 0.0])
    """
    _check(logits, bitmask)
    allowed = bool_mask(bitmask, logits.shape[-1])
    values, of = _precise(logits)
    _, every, kept = _mass(values, allowed, of)
    masked = of.where(allowed & of.isfinite(kept)[..., None], values - kept[..., None], -of.inf)
    return LogProbabilities(values - every[..., None], masked)


@np.errstate(divide="ignore", invalid="ignore")
def token_log_probabilities(logits: Any, bitmask: Any, token_ids: Any) -> LogProbabilities:
    """Return the log-probabilities of one token for each row, raw and masked.

    Parameters
    ----------
    logits, bitmask
        As for :func:`kept_mass`.
    token_ids : integer, shape (...)
        One token for each row.

    Returns
    -------
    LogProbabilities
        Of shape (...).

    Raises
    ------
    BitmaskError
        As :func:`kept_mass`.

    Examples
    --------
    >>> import numpy as np
    >>> bitmask = np.array([[0b0011]], dtype=np.int32)
    >>> result = token_log_probabilities(np.zeros((1, 4)), bitmask, np.array([1]))
    >>> np.exp(result.raw).tolist(), np.exp(result.masked).tolist()
    ([0.25], [0.5])
    """
    _check(logits, bitmask)
    result: LogProbabilities
    _, result = measured(logits, bool_mask(bitmask, logits.shape[-1]), token_ids)
    return result


@np.errstate(divide="ignore", invalid="ignore")
def measured(logits: Any, allowed: Any, *token_ids: Any) -> tuple[Any, ...]:
    """Return the mass, and the log-probabilities of several tokens for each row, all at once.

    Parameters
    ----------
    logits : floating, shape (..., n_columns)
        As for :func:`kept_mass`.
    allowed : bool, shape (..., n_columns)
        Unpacked masks.
    *token_ids : integer, shape (...)
        One token for each row.

    Returns
    -------
    tuple of (Mass, LogProbabilities, ...)
        One LogProbabilities for each array of tokens.
    """
    values, of = _precise(logits)
    mass, every, kept = _mass(values, allowed, of)
    results: list[Any] = [mass]
    for one_per_row in token_ids:
        ids = of.as_ids(one_per_row, values)[..., None]
        chosen = of.take(values, ids)[..., 0]
        is_allowed = of.take(allowed, ids)[..., 0] & of.isfinite(kept)
        masked = of.where(is_allowed, chosen - kept, -of.inf)
        results.append(LogProbabilities(chosen - every, masked))
    return tuple(results)


def _mass(values: Any, allowed: Any, of: Any) -> tuple[Mass, Any, Any]:
    """Return the mass, and the logarithms of the sums over all columns and the allowed ones."""
    every = of.log_sum(values)
    kept = of.log_sum(of.where(allowed, values, -of.inf))
    removed = of.log_sum(of.where(allowed, -of.inf, values))
    is_more = kept > removed  # more than half is kept
    log_kept, log_removed = kept - every, removed - every
    small = of.where(is_more, log_removed, log_kept)
    large = of.log1p(-of.exp(small))
    mass = Mass(of.where(is_more, large, log_kept), of.where(is_more, log_removed, large))
    return mass, every, kept


def _check(logits: Any, bitmask: Any) -> None:
    """Check that logits and a bitmask are arrays of one kind with the same rows."""
    is_array = isinstance(logits, np.ndarray)
    if not is_array and not is_tensor(logits):
        kind = type(logits).__name__
        raise BitmaskError(f"the logits must be a numpy array or a torch tensor, not {kind}")
    if isinstance(bitmask, np.ndarray) != is_array:
        raise BitmaskError("logits and bitmask must both be numpy arrays, or both torch tensors")
    if logits.ndim == 0 or logits.shape[:-1] != bitmask.shape[:-1]:
        raise BitmaskError(
            f"logits of shape {tuple(logits.shape)} take a bitmask with the same axes before the "
            f"last, not one of shape {tuple(bitmask.shape)}"
        )
    of: Any = _Numpy if is_array else _Torch
    if not of.is_floating(logits):
        raise BitmaskError(f"the logits must be floating, not {logits.dtype}")


def _precise(logits: Any) -> tuple[Any, Any]:
    """Return logits shifted so that the largest of each row is 0, and the library's operations."""
    of: Any = _Numpy if isinstance(logits, np.ndarray) else _Torch
    values = of.precise(logits)
    # Only differences of logits count, and differences of large numbers lose digits.
    largest = of.largest(values)
    return values - of.where(of.isfinite(largest), largest, 0.0), of


class _Numpy:
    """The operations of numpy."""

    inf = np.inf
    where = staticmethod(np.where)
    isfinite = staticmethod(np.isfinite)
    exp = staticmethod(np.exp)

    @staticmethod
    def is_floating(values: Any) -> bool:
        return bool(np.issubdtype(values.dtype, np.floating))

    @staticmethod
    def precise(values: Any) -> Any:
        return values.astype(np.float64)

    @staticmethod
    def log1p(values: Any) -> Any:
        return np.log1p(values)

    @staticmethod
    def largest(values: Any) -> Any:
        return values.max(axis=-1, keepdims=True)

    @staticmethod
    def log_sum(values: Any) -> Any:
        largest = values.max(axis=-1)
        shift = np.where(np.isneginf(largest), 0.0, largest)
        return np.log(np.exp(values - shift[..., None]).sum(axis=-1)) + shift

    @staticmethod
    def as_ids(token_ids: Any, values: Any) -> Any:
        return np.asarray(token_ids)

    @staticmethod
    def take(values: Any, ids: Any) -> Any:
        return np.take_along_axis(values, ids, axis=-1)


class _Torch:
    """The operations of torch."""

    inf = float("inf")

    @staticmethod
    def where(condition: Any, first: Any, second: Any) -> Any:
        import torch

        return torch.where(condition, first, second)

    @staticmethod
    def isfinite(values: Any) -> Any:
        return values.isfinite()

    @staticmethod
    def exp(values: Any) -> Any:
        return values.exp()

    @staticmethod
    def is_floating(values: Any) -> bool:
        return bool(values.is_floating_point())

    @staticmethod
    def precise(values: Any) -> Any:
        return values if values.element_size() == 8 else values.float()

    @staticmethod
    def log1p(values: Any) -> Any:
        return values.log1p()

    @staticmethod
    def largest(values: Any) -> Any:
        return values.detach().amax(dim=-1, keepdim=True)

    @staticmethod
    def log_sum(values: Any) -> Any:
        return values.logsumexp(dim=-1)

    @staticmethod
    def as_ids(token_ids: Any, values: Any) -> Any:
        import torch

        return torch.as_tensor(token_ids, device=values.device)

    @staticmethod
    def take(values: Any, ids: Any) -> Any:
        return values.gather(-1, ids)
