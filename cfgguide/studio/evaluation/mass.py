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

import sys
from typing import Any, NamedTuple

import numpy as np

from cfgguide.errors import BitmaskError
from cfgguide.models.dense_mask import bool_mask, check_is_array


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
        if of is np:
            ids, take = np.asarray(one_per_row), of.take_along_axis
        else:
            ids, take = of.as_tensor(one_per_row, device=values.device), of.take_along_dim
        chosen = take(values, ids[..., None], -1)[..., 0]
        is_allowed = take(allowed, ids[..., None], -1)[..., 0] & of.isfinite(kept)
        masked = of.where(is_allowed, chosen - kept, -of.inf)
        results.append(LogProbabilities(chosen - every, masked))
    return tuple(results)


def _mass(values: Any, allowed: Any, of: Any) -> tuple[Mass, Any, Any]:
    """Return the mass, and the logarithms of the sums over all columns and the allowed ones."""
    every = _log_sum(values, of)
    kept = _log_sum(of.where(allowed, values, -of.inf), of)
    removed = _log_sum(of.where(allowed, -of.inf, values), of)
    is_more = kept > removed  # more than half is kept
    log_kept, log_removed = kept - every, removed - every
    small = of.where(is_more, log_removed, log_kept)
    large = of.log1p(-of.exp(small))
    mass = Mass(of.where(is_more, large, log_kept), of.where(is_more, log_removed, large))
    return mass, every, kept


def _check(logits: Any, bitmask: Any) -> None:
    """Check that logits and a bitmask are arrays of one kind with the same rows."""
    check_is_array("logits", logits)
    is_array = isinstance(logits, np.ndarray)
    if isinstance(bitmask, np.ndarray) != is_array:
        raise BitmaskError("logits and bitmask must both be numpy arrays, or both torch tensors")
    if logits.ndim == 0 or logits.shape[:-1] != bitmask.shape[:-1]:
        raise BitmaskError(
            f"logits of shape {tuple(logits.shape)} take a bitmask with the same axes before the "
            f"last, not one of shape {tuple(bitmask.shape)}"
        )
    if not (np.issubdtype(logits.dtype, np.floating) if is_array else logits.is_floating_point()):
        raise BitmaskError(f"the logits must be floating, not {logits.dtype}")


def _precise(logits: Any) -> tuple[Any, Any]:
    """Return logits shifted so that the largest of each row is 0, and the library's operations."""
    of: Any = np
    if isinstance(logits, np.ndarray):
        values = logits.astype(np.float64)
        largest = values.max(axis=-1, keepdims=True)
    else:
        of = sys.modules["torch"]
        values = logits if logits.element_size() == 8 else logits.float()
        largest = values.detach().amax(-1, keepdim=True)
    # Only differences of logits count, and differences of large numbers lose digits.
    return values - of.where(of.isfinite(largest), largest, 0.0), of


def _log_sum(values: Any, of: Any) -> Any:
    """Return the logarithm of the sum of a row's exponentials."""
    if of is not np:
        return values.logsumexp(-1)
    largest = values.max(axis=-1)
    shift = np.where(np.isneginf(largest), 0.0, largest)
    return np.log(np.exp(values - shift[..., None]).sum(axis=-1)) + shift
