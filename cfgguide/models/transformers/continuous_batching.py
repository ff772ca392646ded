"""Grammars in transformers' continuous batching: one for each request. Experimental.

In: a manager of :mod:`transformers.generation.continuous_batching` that has not been started, and
grammars. Out: the manager, whose requests then say by which of them they are guided. transformers
takes no processors of its callers there, so one is put into its list.

A mask is made from the tokens that a request has, just before the model is asked for the next one.
transformers must know them all by then, and call processors anew in each step: it may not prepare
a step while another one runs, nor replay a recorded graph. So both have to be switched off.

The module of transformers changes with its versions; this one was tested with 5.23.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from cfgguide.engine.index.index import Index
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import BudgetError, BudgetWarning, GenerationError, shown
from cfgguide.guide.budget import TokenBudget
from cfgguide.guide.buffers import write_rows
from cfgguide.guide.guide import Guide
from cfgguide.models.bitmask import apply_bitmask
from cfgguide.models.transformers.batch_rows import RESERVE
from cfgguide.shared_indexes import shared_index

_MOST = 2**31 - 1  # what transformers takes for no limit


def guide_requests(manager: Any, grammars: Mapping[str, object], tokenizer: object) -> None:
    """Let the requests of a manager of continuous batching name the grammar that guides them.

    Each then says ``manager.add_request(ids, grammar="name")``; one that names none is not guided.
    Texts finish within their `max_new_tokens`, as in ``generate``.

    Parameters
    ----------
    manager : ContinuousBatchingManager
        What ``model.init_continuous_batching`` returns; not started yet. Its configuration has
        ``use_async_batching=False`` and ``use_cuda_graph=False``, and compiles nothing.
    grammars : mapping of str to grammar or Index
        What may be asked for; anything that :func:`cfgguide.compile` takes, or an index.
    tokenizer : tokenizer or Vocabulary
        The model's.

    Raises
    ------
    GenerationError
        If the manager was started, its configuration is another one, or transformers is too old.
    """
    try:
        from transformers.generation.continuous_batching import cb_logits_processors as module
    except ImportError:
        raise GenerationError("continuous batching with grammars needs transformers 5.23") from None
    chosen = manager.continuous_batching_config
    if manager.is_running() or manager.batch_processor is not None:
        raise GenerationError("the manager was started; call guide_requests before that")
    if chosen.use_async_batching is not False or any(chosen.cuda_graph_booleans):
        raise GenerationError(
            "a mask needs the last token, and is made anew for each: give init_continuous_batching "
            "ContinuousBatchingConfig(use_async_batching=False, use_cuda_graph=False)"
        )
    if chosen.varlen_compile_config or chosen.decode_compile_config:
        raise GenerationError("masks are made outside of what torch compiles: compile nothing")
    vocabulary = Vocabulary.of(tokenizer)
    indexes = {
        name: each if isinstance(each, Index) else shared_index(each, vocabulary, is_written=True)
        for name, each in grammars.items()
    }
    masks = RequestMasks(indexes, vocabulary)
    processors = manager.logit_processor
    processors.logits_processor.insert(0, _processor(module, masks))
    processors.tensors_required += 1
    processors.supported_keys["grammar"] = str
    processors.do_processing = True
    check = processors.check_kwargs

    def check_name(kwargs: dict[str, Any]) -> None:
        check(kwargs)
        masks.check_name(kwargs.get("grammar"))

    processors.check_kwargs = check_name  # what it raises is the error of one request


class RequestMasks:
    """Makes the masks of requests.

    Parameters
    ----------
    indexes : mapping of str to Index
        By the names that requests give.
    vocabulary : Vocabulary
        Of all of them.

    Raises
    ------
    GenerationError
        If an index is for another vocabulary.
    """

    def __init__(self, indexes: Mapping[str, Index], vocabulary: Vocabulary) -> None:
        for name, index in indexes.items():
            if index.vocabulary.digest != vocabulary.digest and not index.vocabulary.symbols:
                raise GenerationError(f"the index {shown(name)} is for another vocabulary")
        self._indexes = dict(indexes)
        self._n_words = vocabulary.n_words
        self._guides: dict[str, Guide] = {}

    def check_name(self, name: str | None) -> None:
        """Check that there is a grammar.

        Raises
        ------
        GenerationError
            If there is none of this name.
        """
        if name is not None and name not in self._indexes:
            raise GenerationError(
                f"there is no grammar {shown(name)}; there is {', '.join(self._indexes)}"
            )

    def of(self, states: list[Any]) -> tuple[list[int], Int32Array]:
        """Return which of some requests are guided, and their masks."""
        rows = [row for row, state in enumerate(states) if _name_of(state) is not None]
        guides = {states[row].request_id: self._guide(states[row]) for row in rows}
        self._guides = guides  # those of other requests are made again when they return
        masks = np.empty((len(rows), self._n_words), dtype=np.int32)
        write_rows([_mask(guides[states[row].request_id], states[row]) for row in rows], masks)
        return rows, masks

    def _guide(self, state: Any) -> Guide:
        name, generated = _name_of(state) or "", _generated(state)
        guide = self._guides.get(state.request_id)
        if guide is None or list(guide.token_ids) != generated[: len(guide.token_ids)]:
            guide = Guide(self._indexes[name])
        for token_id in generated[len(guide.token_ids) :]:
            if not guide.is_finished:
                guide.advance(token_id)
        return guide


def _mask(guide: Guide, state: Any) -> Int32Array:
    if guide.is_finished:
        return guide.index.eos_bitmask
    limit = state.max_new_tokens
    n_left = _MOST if limit is None else limit - len(state.generated_tokens)
    if TokenBudget.of(guide.index).fits(guide.step, n_left - RESERVE):
        return guide.bitmask(trailing=False)
    try:
        return guide.bitmask(within=n_left, trailing=False)
    except BudgetError as error:
        warnings.warn(f"a text will be cut before its end: {error}", BudgetWarning, stacklevel=2)
        return guide.bitmask(trailing=False)


def _name_of(state: Any) -> str | None:
    name: str | None = state.logit_processor_kwargs.get("grammar")
    return name


def _generated(state: Any) -> list[int]:
    """Return the tokens of a request; some are part of its prompt, if it was begun again."""
    first = state._true_initial_tokens
    begun = list(state.initial_tokens[first:]) if first else []
    return begun + list(state.generated_tokens)


def _processor(module: Any, masks: RequestMasks) -> Any:
    base: Any = module.ContinuousBatchingLogitsProcessor

    class GrammarProcessor(base):  # type: ignore[misc]
        supported_kwargs: dict[str, type] = {"grammar": str}  # noqa: RUF012
        ignored_kwargs: tuple[str, ...] = ()
        rows: list[int]
        masks: Int32Array

        def fill_defaults(self, int32_tensor: torch.Tensor) -> None:
            int32_tensor.fill_(0)

        def prepare_tensor_args(self, requests_with_new_token: list[Any]) -> torch.Tensor:
            states = [request.state for request in requests_with_new_token]
            self.rows, self.masks = masks.of(states)
            return torch.zeros(len(states), dtype=torch.int32)

        def __call__(self, scores: torch.Tensor, tensor_arg: torch.Tensor) -> torch.Tensor:
            if self.rows:
                guided = scores[self.rows]  # a copy
                apply_bitmask(guided, self.masks)
                scores[self.rows] = guided
            return scores

    return GrammarProcessor()
