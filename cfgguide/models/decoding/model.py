"""The language model, as decoding sees it: token ids in, logits out.

In: anything that gives the logits of the next token: a function of one sequence, or an object that
takes many at once. Out: logits with a checked shape, and log-probabilities. No framework is needed;
:mod:`cfgguide.models.transformers.causal_model` adapts models of transformers. ::

    def model(token_ids):                    class Batched:
        return logits  # (n_columns,)            def logits(self, sequences):
                                                     return rows  # (n_sequences, n_columns)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cfgguide.errors import ModelError
from cfgguide.models.bitmask import check_columns

Ids = Sequence[int]
Float64Array = npt.NDArray[np.float64]


class Model(Protocol):
    """A function from one sequence of token ids to the logits of the next token."""

    def __call__(self, token_ids: Ids, /) -> npt.ArrayLike:
        """Return the logits of the token that follows.

        Parameters
        ----------
        token_ids : sequence of int
            The prompt and the text so far.

        Returns
        -------
        floating, shape (n_columns,)
            One for each id. Ids beyond the vocabulary are never chosen, but they have their part
            in the sum of the probabilities. Minus infinity excludes a token.
        """
        ...


class BatchModel(Protocol):
    """A model that takes many sequences at once."""

    def logits(self, sequences: Sequence[Ids], /) -> npt.ArrayLike:
        """Return the logits of the tokens that follow.

        Parameters
        ----------
        sequences : sequence of (sequence of int)
            Each as for :class:`Model`. No two are equal; they may differ in length.

        Returns
        -------
        floating, shape (n_sequences, n_columns)
            A row for each sequence.
        """
        ...


AnyModel = Model | BatchModel


def next_logits(
    model: AnyModel, sequences: Sequence[Ids], *, n_ids: int
) -> Iterator[npt.NDArray[np.floating]]:
    """Yield the logits of the next token, for each of some sequences.

    Parameters
    ----------
    model : Model or BatchModel
        An object with a method ``logits`` is called once for all sequences.
    sequences : sequence of (sequence of int)
        Prompts, each with the text so far.
    n_ids : int
        Size of the vocabulary.

    Yields
    ------
    floating, shape (n_columns,)
        At least `n_ids` columns.

    Raises
    ------
    ModelError
        If the logits have another shape or too few columns; or if the model is one of transformers,
        which is not such a function.
    """
    if not sequences:
        return
    for row in _rows(model, sequences):
        if row.ndim != 1:
            raise ModelError(
                f"the model gave logits of shape {row.shape} for a sequence: give one logit for "
                f"each of the {n_ids} ids, of the next token only"
            )
        check_columns(len(row), n_ids)
        yield row


def log_probabilities(
    logits: npt.NDArray[np.floating], *, temperature: float = 1.0
) -> Float64Array:
    """Return the logarithms of a model's probabilities.

    Parameters
    ----------
    logits : floating, shape (n_columns,)
        Of one sequence.
    temperature : float
        Positive; the logits are divided by it.

    Returns
    -------
    float64, shape (n_columns,)
        The probabilities of all columns sum up to 1.

    Raises
    ------
    ModelError
        If the logits contain NaN or plus infinity, or are all minus infinity.

    Examples
    --------
    >>> log_probs = log_probabilities(np.array([0.0, 0.0, -np.inf, 0.0]))
    >>> np.exp(log_probs).round(3).tolist()
    [0.333, 0.333, 0.0, 0.333]
    """
    scaled = logits.astype(np.float64)
    largest = scaled.max()
    if not np.isfinite(largest):
        raise not_numbers(largest)
    scaled -= largest
    with np.errstate(over="ignore"):  # to minus infinity, at a temperature of almost 0
        scaled /= temperature
    log_probs: Float64Array = scaled - np.log(np.exp(scaled).sum())
    return log_probs


def not_numbers(largest: float) -> ModelError:
    """Return the error that says that logits are not numbers, given the largest of them."""
    return ModelError(
        f"the largest of the model's logits is {largest}: at least one must be a number, and none "
        "NaN or plus infinity"
    )


def _rows(model: AnyModel, sequences: Sequence[Ids]) -> Iterator[npt.NDArray[np.floating]]:
    batched = getattr(model, "logits", None)
    if callable(batched):
        rows = np.asarray(batched(sequences))
        if rows.ndim != 2 or len(rows) != len(sequences):
            raise ModelError(
                f"the model gave logits of shape {rows.shape} for {len(sequences)} sequences: "
                f"expected ({len(sequences)}, n_columns)"
            )
        yield from rows
        return
    if hasattr(model, "forward") or not callable(model):
        raise ModelError(
            f"a {type(model).__name__} is not a function from token ids to logits: wrap a model "
            "of transformers as cfgguide.integrations.TransformersModel(model), another one in a "
            "function"
        )
    for token_ids in sequences:
        yield np.asarray(model(token_ids))
