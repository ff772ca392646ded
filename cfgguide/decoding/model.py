"""A language model, as little as decoding needs of one: token ids in, logits out.

In: anything that gives the logits of the next token: a function of one sequence, or an object that
takes many at once. Out: log-probabilities, checked. No framework is needed; that of transformers is
adapted in :mod:`cfgguide.integrations.transformers_model`. ::

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

Ids = Sequence[int]
Float64Array = npt.NDArray[np.float64]


class Model(Protocol):
    """A function from one sequence of token ids to the logits of the next token."""

    def __call__(self, token_ids: Ids, /) -> npt.ArrayLike:
        """Return the logits of the token that follows.

        Parameters
        ----------
        token_ids : sequence of int
            The prompt and what was written so far.

        Returns
        -------
        floating, shape (n_columns,)
            One for each id; ids beyond the vocabulary are never chosen, but take part in what the
            probabilities sum up to. Minus infinity is a token that the model excludes.
        """
        ...


class BatchModel(Protocol):
    """A model that takes many sequences at once."""

    def logits(self, sequences: Sequence[Ids], /) -> npt.ArrayLike:
        """Return the logits of the tokens that follow.

        Parameters
        ----------
        sequences : sequence of (sequence of int)
            Each as for :class:`Model`; no two are equal, and they may have different lengths.

        Returns
        -------
        floating, shape (n_sequences, n_columns)
            A row for each sequence.
        """
        ...


AnyModel = Model | BatchModel


def log_probabilities(
    model: AnyModel, sequences: Sequence[Ids], *, n_ids: int, temperature: float = 1.0
) -> Iterator[Float64Array]:
    """Yield the model's log-probabilities of the next token, for each of some sequences.

    Parameters
    ----------
    model : Model or BatchModel
        An object with a method ``logits`` is asked once for all sequences.
    sequences : sequence of (sequence of int)
        Prompts and what was written so far.
    n_ids : int
        Size of the vocabulary.
    temperature : float
        Positive; the logits are divided by it.

    Yields
    ------
    float64, shape (n_columns,)
        They sum up to 1 as probabilities, over all columns.

    Raises
    ------
    ModelError
        If the logits have another shape, too few columns, NaN or plus infinity in them, or are all
        minus infinity; or if the model is one of transformers, which is no such function.

    Examples
    --------
    >>> model = lambda token_ids: [0.0, 0.0, -np.inf, 0.0]
    >>> [row] = log_probabilities(model, [(1, 2)], n_ids=3)
    >>> np.exp(row).round(3).tolist()
    [0.333, 0.333, 0.0, 0.333]
    """
    if not sequences:
        return
    for row in _rows(model, sequences):
        if row.ndim != 1 or len(row) < n_ids:
            raise ModelError(
                f"the model gave logits of shape {row.shape} for a sequence, the vocabulary has "
                f"{n_ids} ids: give one logit for each, of the next token only"
            )
        scaled = row.astype(np.float64) / temperature
        most = scaled.max()
        if not np.isfinite(most):
            raise ModelError(
                f"the largest of the model's logits is {most}: at least one must be a number, and "
                "none NaN or plus infinity"
            )
        scaled -= most
        yield scaled - np.log(np.exp(scaled).sum())


def _rows(model: AnyModel, sequences: Sequence[Ids]) -> Iterator[npt.NDArray[np.floating]]:
    many = getattr(model, "logits", None)
    if callable(many):
        rows = np.asarray(many(sequences))
        if rows.ndim != 2 or len(rows) != len(sequences):
            raise ModelError(
                f"the model gave logits of shape {rows.shape} for {len(sequences)} sequences: "
                f"expected ({len(sequences)}, n_columns)"
            )
        yield from rows
        return
    if hasattr(model, "forward") or not callable(model):
        raise ModelError(
            f"a {type(model).__name__} is no function from token ids to logits: wrap a model of "
            "transformers as cfgguide.integrations.TransformersModel(model), another "
            "one in a function"
        )
    for token_ids in sequences:
        yield np.asarray(model(token_ids))
