"""The results of :func:`cfgguide.evaluation.evaluate`, as values and as a table.

The numbers of one text are arrays with one entry for each token, EOS included; all logarithms are
natural. A perplexity is the exponential of the mean negative log-probability of a token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.diagnostics.explanation import Explanation, shown

_COLUMNS = ("text", "tokens", "raw ppl", "masked ppl", "removed", "forbidden", "")
_MAX_TEXTS = 20  # shown one by one


@dataclass(frozen=True, eq=False)
class TextEvaluation:
    """How a model judges one sentence.

    Attributes
    ----------
    number : int
        Its position among the texts.
    text : bytes
        The sentence.
    token_ids : int64, shape (n_tokens,)
        Its tokens, EOS last.
    raw, masked : float64, shape (n_tokens,)
        Their log-probabilities, without the mask and among the allowed tokens.
    log_kept, log_removed : float64, shape (n_tokens,)
        For each step, the logarithm of the probability that the mask keeps (log Z) and removes.
    best_token_ids : int64, shape (n_tokens,)
        The model's most probable token at each step.
    is_best_forbidden : bool, shape (n_tokens,)
        Whether the mask forbids that token.
    forbidden_token_ids : int64, shape (n_tokens,)
        The most probable token that the mask forbids, at each step.
    forbidden : float64, shape (n_tokens,)
        Its log-probability without the mask; minus infinity if nothing is forbidden.
    """

    number: int
    text: bytes
    token_ids: npt.NDArray[np.int64]
    raw: npt.NDArray[np.float64]
    masked: npt.NDArray[np.float64]
    log_kept: npt.NDArray[np.float64]
    log_removed: npt.NDArray[np.float64]
    best_token_ids: npt.NDArray[np.int64]
    is_best_forbidden: npt.NDArray[np.bool_]
    forbidden_token_ids: npt.NDArray[np.int64]
    forbidden: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Disagreement:
    """A step at which the model prefers what the grammar forbids.

    Attributes
    ----------
    number : int
        The position of the text.
    step : int
        The position of the token in the text.
    before : bytes
        The sentence up to there.
    token_id : int
        The token of the sentence at that step.
    token : bytes or None
        Its bytes; None for EOS.
    log_removed : float
        The logarithm of the probability that the mask removes.
    forbidden_log_probability : float
        The log-probability of the most probable token that the mask forbids.
    explanation : Explanation
        Why that one is forbidden.
    """

    number: int
    step: int
    before: bytes
    token_id: int
    token: bytes | None
    log_removed: float
    forbidden_log_probability: float
    explanation: Explanation

    def __str__(self) -> str:
        token = "EOS" if self.token is None else shown(self.token)
        share = f"{np.exp(self.forbidden_log_probability):.1%} of {np.exp(self.log_removed):.1%}"
        return (
            f"text {self.number}, token {self.step}, after {shown(self.before)}, instead of "
            f"{token}; {share} removed:\n{self.explanation}"
        )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How far a model disagrees with a grammar.

    Attributes
    ----------
    texts : tuple of TextEvaluation
        One for each text, in the order in which they were given.
    disagreements : tuple of Disagreement
        The largest ones, by what the mask removes.
    """

    texts: tuple[TextEvaluation, ...]
    disagreements: tuple[Disagreement, ...]

    @property
    def n_tokens(self) -> int:
        """Number of tokens measured, EOS of each text included."""
        return len(self._every("token_ids"))

    @property
    def raw_perplexity(self) -> float:
        """Perplexity of a token without the mask."""
        return perplexity(self._every("raw"))

    @property
    def masked_perplexity(self) -> float:
        """Perplexity of a token among those that the grammar allows."""
        return perplexity(self._every("masked"))

    @property
    def removed(self) -> float:
        """Mean probability that the mask removes at a step."""
        return float(np.exp(self._every("log_removed")).mean())

    @property
    def share_forbidden(self) -> float:
        """Share of the steps at which the model's most probable token is forbidden."""
        return float(self._every("is_best_forbidden").mean())

    def _every(self, name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(text, name) for text in self.texts])

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        rows = [_row(str(text.number), [text], shown(text.text)) for text in self.texts]
        n_more = len(rows) - _MAX_TEXTS
        rows = [list(_COLUMNS), *rows[:_MAX_TEXTS], _row("all", self.texts, "")]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS) - 1)]
        for number, row in enumerate(rows):
            if n_more > 0 and number == len(rows) - 1:
                yield f"and {n_more} more texts"
            cells = [cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=True)]
            yield f"{'  '.join(cells)}  {row[-1]}".rstrip()
        if self.disagreements:
            yield ""
            yield "where the mask removes most:"
        yield from map(str, self.disagreements)


def perplexity(log_probabilities: npt.NDArray[np.float64]) -> float:
    """Return the perplexity of tokens with these log-probabilities."""
    with np.errstate(over="ignore"):
        return float(np.exp(-log_probabilities.mean()))


def _row(name: str, texts: Sequence[TextEvaluation], shown_as: str) -> list[str]:
    """Return the cells of one row of the table."""
    evaluation = Evaluation(tuple(texts), ())
    return [
        name,
        f"{evaluation.n_tokens:,}",
        f"{evaluation.raw_perplexity:,.2f}",
        f"{evaluation.masked_perplexity:,.2f}",
        f"{evaluation.removed:.2%}",
        f"{evaluation.share_forbidden:.1%}",
        shown_as,
    ]
