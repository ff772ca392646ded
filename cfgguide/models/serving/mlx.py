"""MLX-LM: a logits processor for one text.

In: an index. Out: a function for the `logits_processors` of ``mlx_lm.generate`` and its relatives,
speculative decoding included, which takes back what it has drafted. ::

    model, tokenizer = mlx_lm.load(folder)
    index = cfgguide.compile(cfgguide.Grammar.bundled("json"), tokenizer._tokenizer)
    mlx_lm.generate(model, tokenizer, prompt, logits_processors=[MlxProcessor(index)])
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cfgguide.automata.shared_prefixes import n_shared_letters
from cfgguide.engine.index.index import Index
from cfgguide.errors import TokenRejectedError
from cfgguide.models.dense_mask import bool_mask
from cfgguide.models.serving.matcher import Matcher


class MlxProcessor:
    """Masks the logits of one text after another.

    Parameters
    ----------
    index : Index
        Of the grammar, for the model's tokenizer.
    stop_token_ids : iterable of int, optional
        As for :class:`Matcher`: what MLX-LM ends a text with, beside the tokenizer's EOS.
    trailing : bool
        As for :class:`Matcher`.
    """

    def __init__(
        self, index: Index, *, stop_token_ids: Iterable[int] | None = (), trailing: bool = False
    ) -> None:
        self._matcher = Matcher(index, stop_token_ids=stop_token_ids, trailing=trailing)
        self._n_prompt: int | None = None
        self._written: list[int] = []

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Return the logits with those of forbidden tokens at minus infinity.

        Parameters
        ----------
        tokens : mlx array, shape (n_tokens,)
            The prompt and what was written. The first call tells where the prompt ends; one with as
            many tokens or fewer begins another text.
        logits : mlx array, shape (1, n_logits)
            The model's.

        Raises
        ------
        TokenRejectedError
            If a token was written that was not allowed.
        """
        import mlx.core as mx

        if self._n_prompt is None or tokens.size <= self._n_prompt:
            self._n_prompt = tokens.size
            self._written = []
            self._matcher.reset()
        else:
            self._follow(tokens[self._n_prompt :].tolist())
        n_columns = logits.shape[-1]
        allowed = bool_mask(self._matcher.bitmask()[: -(-n_columns // 32)], n_columns)
        return mx.where(mx.array(allowed), logits, -mx.inf)

    def _follow(self, written: list[int]) -> None:
        """Take back what was written no longer, and consume what is new."""
        n_same = n_shared_letters(self._written, written)
        self._matcher.rollback(len(self._written) - n_same)
        del self._written[n_same:]
        if not self._matcher.accept(written[n_same:]):
            raise TokenRejectedError(
                f"the tokens {written[n_same:]} may not come after {self._matcher.guide.text!r:.60}"
            )
        self._written = written
