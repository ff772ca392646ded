"""How far a model disagrees with a grammar.

In: a causal model, an index, and sentences with their prompts. Out: an :class:`Evaluation`. The
model reads each sentence as it stands (teacher forcing), and every one of its predictions is
compared with the mask: how much probability it gave to what the grammar forbids, how probable the
sentence is with and without the mask, and where the two disagree most.

Texts of similar length are read together. The number of tokens in a batch is bounded, since the
logits of a batch take the most memory by far: 4 bytes x tokens x vocabulary.

Source: Willard & Louf 2023, section 5.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from cfgguide.compiler import compile as compile_index
from cfgguide.diagnostics.explainers import explainer_of
from cfgguide.engine.index.index import Index
from cfgguide.errors import ModelError, TextError
from cfgguide.grammar.grammar import Grammar
from cfgguide.models.dense_mask import bool_mask
from cfgguide.models.prompts import prompt_ids
from cfgguide.studio.evaluation.disagreement import Disagreement, Evaluation, TextEvaluation
from cfgguide.studio.evaluation.mass import measured
from cfgguide.studio.evaluation.teacher_forcing import SentenceMasks, Text, masks_for

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

DEFAULT_MAX_TOKENS = 1024  # of a batch: 200 MB of logits for 50,000 ids
DEFAULT_N_DISAGREEMENTS = 10

Message = Mapping[str, str]
Prompt = str | Sequence[Message]


def evaluate(
    model: PreTrainedModel,
    grammar_or_index: Grammar | Index,
    texts: Iterable[Text | tuple[Prompt, Text]],
    *,
    tokenizer: PreTrainedTokenizerBase,
    eos_token_id: int | None = None,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    n_disagreements: int = DEFAULT_N_DISAGREEMENTS,
    progress: bool | None = None,
) -> Evaluation:
    """Return how far a model disagrees with a grammar, over some sentences of it.

    Parameters
    ----------
    model : PreTrainedModel
        A causal language model of transformers.
    grammar_or_index : Grammar or Index
        Of the sentences; a grammar is compiled for the tokenizer and all ids with which the model
        ends a text.
    texts : iterable of (str, or sequence of int, or pair of a prompt and such a one)
        Sentences, or their tokens, each with an optional prompt: a text, or a chat, which goes
        through the tokenizer's chat template. Prompts are read but not measured.
    tokenizer : PreTrainedTokenizerBase
        The model's tokenizer.
    eos_token_id : int, optional
        The EOS that ends each sentence; see :func:`cfgguide.evaluation.masks_for`.
    max_tokens : int
        Maximum number of tokens read at once, padding included; a longer text is read alone.
    n_disagreements : int
        How many of the largest disagreements are explained.
    progress : bool, optional
        Whether to show a bar of texts on standard error; by default on a terminal.

    Returns
    -------
    Evaluation
        It prints as a table, and has all the numbers as values.

    Raises
    ------
    TextError
        If a text is not a sentence, or there are none.
    GenerationError
        If a prompt is a chat, and the tokenizer has no chat template.
    ModelError
        If the model's logits do not fit the vocabulary, or are not numbers.
    """
    if isinstance(grammar_or_index, Grammar):
        index = compile_index(grammar_or_index, _vocabulary(tokenizer, model), progress=progress)
    else:
        index = grammar_or_index
    pairs = [_pair(text) for text in texts]
    if not pairs:
        raise TextError("there are no texts to evaluate")
    sentences = masks_for([text for _, text in pairs], index, tokenizer, eos_token_id=eos_token_id)
    prompts = [prompt_ids(prompt, tokenizer) for prompt, _ in pairs]
    by_number: dict[int, TextEvaluation] = {}
    shows = sys.stderr.isatty() if progress is None else progress
    with tqdm(total=len(pairs), unit="text", disable=not shows, leave=False) as bar:
        lengths = [len(ids) + len(text) for ids, text in zip(prompts, sentences, strict=True)]
        for batch in _batches(lengths, max_tokens):
            rows = [(prompts[number], sentences[number]) for number in batch]
            for number, logits in zip(batch, _logits(model, rows), strict=True):
                by_number[number] = _measured(number, logits, sentences[number], index)
                bar.update()
    results = tuple(by_number[number] for number in range(len(pairs)))
    return Evaluation(results, _largest(results, index, n_disagreements))


def _pair(text: Any) -> tuple[Prompt, Text]:
    """Return a prompt and a sentence; a pair of ids is a sentence."""
    is_pair = isinstance(text, tuple) and len(text) == 2 and not isinstance(text[0], int)
    return text if is_pair else ("", text)


def _vocabulary(tokenizer: Any, model: Any) -> Any:
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

    settings = getattr(model, "generation_config", None)
    return Vocabulary.from_tokenizer(
        tokenizer, eos_token_ids=getattr(settings, "eos_token_id", None)
    )


def _batches(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Yield the numbers of texts that are read at once, the longest first."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda text: (-lengths[text], text)):
        if batch and lengths[batch[0]] * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(number)
    yield batch


def _logits(model: Any, rows: Sequence[tuple[list[int], SentenceMasks]]) -> Iterator[Any]:
    """Yield for each row what the model predicts for the tokens of its sentence.

    Texts are padded at the right, which a causal model does not see.
    """
    import torch

    texts = [[*prompt, *sentence.token_ids[:-1].tolist()] for prompt, sentence in rows]
    longest = max(map(len, texts))
    input_ids = torch.zeros((len(texts), longest), dtype=torch.long)
    is_text = torch.zeros_like(input_ids)
    for row, text in enumerate(texts):
        input_ids[row, : len(text)] = torch.tensor(text)
        is_text[row, : len(text)] = 1
    with torch.inference_mode():
        logits = model(
            input_ids=input_ids.to(model.device),
            attention_mask=is_text.to(model.device),
            use_cache=False,
        ).logits
    for row, (prompt, sentence) in enumerate(rows):
        yield logits[row, len(prompt) - 1 : len(prompt) - 1 + len(sentence)]


def _measured(number: int, logits: Any, sentence: SentenceMasks, index: Index) -> TextEvaluation:
    """Return the numbers of one sentence from its logits, shape (n_tokens, n_columns)."""
    import torch

    size = index.vocabulary.size
    if logits.shape[-1] < size:
        raise ModelError(
            f"the model's logits have {logits.shape[-1]} columns, the vocabulary {size} ids: the "
            "tokenizer is of another model"
        )
    bitmask = torch.from_numpy(sentence.bitmasks).to(logits.device)
    allowed = bool_mask(bitmask, logits.shape[-1])
    forbidden = logits.masked_fill(allowed, float("-inf"))
    best, worst = logits.argmax(dim=-1), forbidden.argmax(dim=-1)
    mass, of_tokens, of_worst = measured(logits, allowed, sentence.token_ids, worst)
    has_forbidden = torch.isfinite(forbidden.amax(dim=-1))
    if not torch.isfinite(of_tokens.raw).all():
        raise ModelError(f"the model's logits for text {number} are not all numbers")

    def array(values: Any) -> npt.NDArray[Any]:
        kept: npt.NDArray[Any] = values.cpu().numpy()
        return kept.astype(np.float64) if values.is_floating_point() else kept

    return TextEvaluation(
        number=number,
        text=index.vocabulary.spell(sentence.token_ids.tolist()),
        token_ids=sentence.token_ids,
        raw=array(of_tokens.raw),
        masked=array(of_tokens.masked),
        log_kept=array(mass.log_kept),
        log_removed=array(mass.log_removed),
        best_token_ids=array(best),
        is_best_forbidden=array((best == worst) & has_forbidden),
        forbidden_token_ids=array(worst),
        forbidden=array(of_worst.raw),
    )


def _largest(
    results: Sequence[TextEvaluation], index: Index, n_disagreements: int
) -> tuple[Disagreement, ...]:
    """Return the steps at which most of the probability was removed, with explanations."""
    steps = [
        (-float(log_removed), result.number, step)
        for result in results
        for step, log_removed in enumerate(result.log_removed)
        if np.isfinite(result.forbidden[step])
    ]
    disagreements = []
    for minus, number, step in sorted(steps)[: max(0, n_disagreements)]:
        result = results[number]
        written = [int(token_id) for token_id in result.token_ids[:step]]
        before = index.vocabulary.spell(written)
        forbidden = int(result.forbidden_token_ids[step])
        disagreements.append(
            Disagreement(
                number=number,
                step=step,
                before=before,
                token_id=int(result.token_ids[step]),
                token=index.vocabulary.tokens[int(result.token_ids[step])],
                log_removed=-minus,
                forbidden_log_probability=float(result.forbidden[step]),
                explanation=explainer_of(index, before).explain_token(forbidden, is_allowed=False),
            )
        )
    return tuple(disagreements)
