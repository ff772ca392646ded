"""Masks inside llama-cpp-python, and the vocabulary of its models.

In: an index, and at each step the ids and the logits that ``llama_cpp.Llama`` gives to a logits
processor. Out: the logits with minus infinity for every token that the grammar does not allow.

llama-cpp-python calls a processor from C, where an error is printed and forgotten: the token would
be chosen without a mask. So the processor keeps the error, allows only EOS, and raises the error
from its stopping criterion (:meth:`LlamaCppProcessor.stop`), which is called from Python. The
criterion also notices tokens that were chosen without the processor.

Written against llama-cpp-python 0.3.36.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.engine.index.index import Index
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import GenerationError, ModelError
from cfgguide.guide.guide import Guide
from cfgguide.models.bitmask import apply_bitmask, apply_last, check_columns

_PIECE_BYTES = 256  # a longer token needs a second call
_NOT_ASKED = (
    "a token was chosen without the mask: llama-cpp-python drops logits processors if logit_bias "
    "is given, and draft models choose by themselves; leave them out"
)


def vocabulary_of(llama: Any) -> Vocabulary:
    """Return the vocabulary of a model of llama-cpp-python.

    The bytes of each token are those that llama.cpp writes for it. Special tokens spell no text;
    all tokens with which llama.cpp ends a generation, such as ``<|im_end|>``, are EOS.

    Parameters
    ----------
    llama : llama_cpp.Llama
        A model; `vocab_only=True` is enough.

    Raises
    ------
    ModelError
        If llama-cpp-python is not installed.
    VocabularyError
        If the model has no token that ends a text.
    """
    api = _api()
    vocab = api.llama_model_get_vocab(llama.model)
    size = int(api.llama_vocab_n_tokens(vocab))
    tokens = [_piece(api, vocab, token_id) for token_id in range(size)]
    ends = [token_id for token_id in range(size) if api.llama_vocab_is_eog(vocab, token_id)]
    vocabulary = Vocabulary(tokens, eos_token_ids=ends)
    # Compute these now, so that compiling a grammar need not wait for them.
    vocabulary.trie.packed, vocabulary.spelling, vocabulary.digest  # noqa: B018
    return vocabulary


def _api() -> Any:
    try:
        return importlib.import_module("llama_cpp")
    except ImportError as error:
        raise ModelError(
            f"llama-cpp-python cannot be imported: {error}. Install it with\n"
            '  pip install "cfgguide[llama]"'
        ) from error


def _piece(api: Any, vocab: Any, token_id: int) -> bytes:
    """Return the bytes that llama.cpp writes for a token; none for a special one."""
    import ctypes

    size = _PIECE_BYTES
    while True:
        buffer = ctypes.create_string_buffer(size)
        written = int(api.llama_token_to_piece(vocab, token_id, buffer, size, 0, False))
        if written >= 0:
            return buffer.raw[:written]
        size = -written  # the number of bytes needed


class LlamaCppProcessor:
    """Masks logits of llama-cpp-python so that it writes a sentence of the grammar.

    Give a call both the processor and its stopping criterion, which :meth:`arguments` makes::

        llama = llama_cpp.Llama("model.gguf")
        index = cfgguide.compile(grammar, vocabulary_of(llama))
        process = LlamaCppProcessor(index)
        llama("A number: ", max_tokens=20, **process.arguments())

    One object serves one call after another, but not two at a time. A step continues the last one
    if it has the same ids and one token more; otherwise it begins a new text. If a prompt happens
    to be one token longer than the last text, call :meth:`reset` before. Do not use `logit_bias` as
    well (llama-cpp-python then drops all processors), nor a draft model, which chooses tokens
    without the processor: both are noticed.

    Parameters
    ----------
    index : Index
        What may be written.

    Examples
    --------
    >>> import numpy as np, cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "ab"'), vocabulary)
    >>> process = LlamaCppProcessor(index)
    >>> process(np.array([1, 1]), np.zeros(3, dtype=np.float32)).tolist()
    [0.0, -inf, -inf]
    >>> process(np.array([1, 1, 0]), np.zeros(3, dtype=np.float32)).tolist()
    [-inf, 0.0, -inf]
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self.reset()

    def __reduce__(self) -> tuple[Any, ...]:
        """For `copy` and `pickle`: one that has seen no text."""
        return LlamaCppProcessor, (self._index,)

    def reset(self) -> None:
        """Forget the text so far: the next call begins a sentence."""
        self._ids: list[int] = []  # of the last step, the prompt included
        self._guide: Guide | None = None  # of the sentence; None once it has ended
        self._error: BaseException | None = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for a ``Llama``, or its ``create_completion`` or ``generate``.

        Its ``create_chat_completion`` takes no stopping criteria: give it the `logits_processor`
        alone, and call :meth:`check` afterwards.

        Returns
        -------
        dict of str to object
            `logits_processor` and `stopping_criteria`.

        Raises
        ------
        ModelError
            If llama-cpp-python is not installed.
        """
        api = _api()
        criterion: Callable[..., bool] = self.stop
        return {
            "logits_processor": api.LogitsProcessorList([self]),
            "stopping_criteria": api.StoppingCriteriaList([criterion]),
        }

    def __call__(
        self, input_ids: npt.NDArray[np.intc], scores: npt.NDArray[np.single]
    ) -> npt.NDArray[np.single]:
        """Return the scores with minus infinity for the tokens that are not allowed.

        Parameters
        ----------
        input_ids : integer, shape (length,)
            Prompt and generated ids.
        scores : float32, shape (n_columns,)
            Logits of the next token; they may lie apart in memory.

        Returns
        -------
        float32, shape (n_columns,)
            A new array. After an error only EOS is allowed, and :meth:`stop` raises the error.
        """
        masked = np.array(scores, dtype=np.float32)
        ids = input_ids.tolist()
        if self._error is None or not self._is_continued(ids):
            self._error = None
            try:
                self._follow(ids)
                self._mask(masked)
            except BaseException as error:
                self._error = error
        self._ids = ids
        if self._error is not None:
            masked[:] = -np.inf
            masked[list(self._index.vocabulary.eos_token_ids)] = 0.0
        return masked

    def stop(self, input_ids: npt.NDArray[np.intc], logits: npt.NDArray[np.single]) -> bool:
        """Return False, as a stopping criterion, or raise the error of the last step.

        Parameters
        ----------
        input_ids : integer, shape (length,)
            Prompt and generated ids before the token that was chosen.
        logits : float32, shape (n_columns,)
            Not used.

        Raises
        ------
        ModelError
            If the model has fewer columns than the vocabulary has ids.
        GenerationError
            If a token was chosen without the mask, or something else has already ruled out
            everything that the grammar allows.
        LimitError
            If the grammar has too many ways to read the text.
        """
        self.check()
        if self._ids != input_ids.tolist():
            raise GenerationError(_NOT_ASKED)
        return False

    def check(self) -> None:
        """Raise the error of the last step, or an error if there was no step; see :meth:`stop`."""
        if self._error is not None:
            raise self._error
        if not self._ids:
            raise GenerationError(_NOT_ASKED)

    def _is_continued(self, ids: list[int]) -> bool:
        """Return whether these are the ids of the last step and one token more."""
        return bool(self._ids) and ids[:-1] == self._ids

    def _follow(self, ids: list[int]) -> None:
        """Go to where the sentence is after the ids."""
        if not self._is_continued(ids):
            self._guide = Guide(self._index)
            return
        if self._guide is None:
            return
        token_id = ids[-1]
        vocabulary = self._index.vocabulary
        if token_id in vocabulary.eos_token_ids and vocabulary.tokens[token_id] is None:
            self._guide = None
            return
        if not self._guide.try_advance(token_id):
            raise GenerationError(
                f"token {token_id} was chosen, which the grammar does not allow: something changes "
                "the logits after the mask; leave that out"
            )
        if self._guide.is_finished:
            self._guide = None

    def _mask(self, scores: npt.NDArray[np.single]) -> None:
        """Mask scores in place; after the end of a sentence only EOS is left."""
        check_columns(len(scores), self._index.vocabulary.size)
        if self._guide is None:
            apply_bitmask(scores, self._index.eos_bitmask)
        else:
            apply_last(scores, self._guide.bitmask())
