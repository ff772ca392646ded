"""Generation: a model of transformers, a prompt and what to write in; a sentence out.

The loop is :mod:`cfgguide.models.decoding.loop`, and a text as it grows is in
:mod:`cfgguide.models.transformers.streaming`; this module compiles what is to be written, and makes
tokens of the prompt. Only the mask and the arguments change the model's distribution; the settings
in the model's own generation config have no effect.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload
from weakref import WeakKeyDictionary

from tqdm import tqdm

from cfgguide.description import Style
from cfgguide.description import describe as description_of
from cfgguide.engine.index.index import Index
from cfgguide.engine.machine.partial import Partial, TextReading
from cfgguide.errors import GenerationError, shown
from cfgguide.grammar.rules.facts import not_known
from cfgguide.guide.budget import check_max_new_tokens
from cfgguide.guide.forced import encoder_of
from cfgguide.guide.repetition import Loops, Repetition
from cfgguide.models.decoding.confidence import Confidences
from cfgguide.models.decoding.loop import Seed, decode, generator
from cfgguide.models.decoding.model import AnyModel
from cfgguide.models.decoding.prefix_tree import PrefixNode, PrefixTree
from cfgguide.models.decoding.warpers import Warper
from cfgguide.models.prompts import check_encodable, prompt_ids, tool_format, with_description
from cfgguide.models.transformers.causal_model import SingleText, TransformersModel
from cfgguide.models.transformers.streaming import Generation, Part, Stream, TextSoFar
from cfgguide.output_types import output_type
from cfgguide.schema.functions import described_tool
from cfgguide.schema.messages.message import Message as ToolMessage
from cfgguide.schema.messages.message import ToolCall
from cfgguide.schema.messages.message_grammar import MessageGrammar
from cfgguide.schema.messages.tools import tools as tool_grammar
from cfgguide.shared_indexes import check_same_tokens, shared_index, shared_vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Message = Mapping[str, Any]  # "role" and "content", as in transformers' chat templates

Prompt = str | Sequence[Message]
T = TypeVar("T")
#: What has values of a type that type checkers know.
Typed = type[T] | MessageGrammar[T]
ToolChoice = str | Mapping[str, Any]
Texts = re.Pattern[str] | list[str] | tuple[str, ...]


class GenerateOptions(TypedDict, total=False):
    """The options of :func:`generate`, which says what they mean and what they are by default."""

    tokenizer: PreTrainedTokenizerBase | None
    max_new_tokens: int
    prefix: str
    until: Callable[[str], bool] | None
    stop: str | Sequence[str]
    temperature: float
    top_k: int | None
    top_p: float
    min_p: float
    seed: Seed
    progress: bool | None
    finish: bool
    force: bool
    heal: bool
    trailing: bool
    log_probs: bool
    confidence: bool
    describe: bool | Style
    repetition: bool | Repetition


class _RetryOptions(GenerateOptions, total=False):
    """Those of :func:`generate` that :func:`stream` has not, too."""

    retries: int


_OPTIONS = (*GenerateOptions.__annotations__, "tools", "tool_choice")


@overload
def generate(
    model: Any, prompt: Prompt, what: Typed[T], **options: Unpack[_RetryOptions]
) -> Generation[T]: ...


@overload
def generate(
    model: Any, prompt: Prompt, what: Callable[..., T], **options: Unpack[_RetryOptions]
) -> Generation[ToolCall[T]]: ...


@overload
def generate(
    model: Any, prompt: Prompt, what: Texts, **options: Unpack[_RetryOptions]
) -> Generation[str]: ...


@overload
def generate(
    model: Any, prompt: Prompt, what: object, **options: Unpack[_RetryOptions]
) -> Generation[Any]: ...


@overload
def generate(
    model: Any,
    prompt: Prompt,
    *,
    tools: Sequence[object],
    tool_choice: ToolChoice = "auto",
    **options: Unpack[_RetryOptions],
) -> Generation[ToolMessage]: ...


@overload
def generate(
    model: Any, prompt: Prompt, what: Typed[T], *, n: int, **options: Unpack[_RetryOptions]
) -> list[Generation[T]]: ...


@overload
def generate(
    model: Any, prompt: Prompt, what: Texts, *, n: int, **options: Unpack[_RetryOptions]
) -> list[Generation[str]]: ...


@overload
def generate(
    model: Any, prompt: Prompt, what: object, *, n: int, **options: Unpack[_RetryOptions]
) -> list[Generation[Any]]: ...


@overload
def generate(
    model: Any, prompt: Sequence[Prompt], what: Typed[T], **options: Unpack[_RetryOptions]
) -> list[Generation[T]]: ...


@overload
def generate(
    model: Any, prompt: Sequence[Prompt], what: Texts, **options: Unpack[_RetryOptions]
) -> list[Generation[str]]: ...


@overload
def generate(
    model: Any, prompt: Sequence[Prompt], what: object, **options: Unpack[_RetryOptions]
) -> list[Generation[Any]]: ...


def generate(
    model: Any,
    prompt: Prompt | Sequence[Prompt],
    what: object = None,
    *,
    n: int | None = None,
    retries: int = 0,
    tools: Sequence[object] = (),
    tool_choice: ToolChoice = "auto",
    **options: Unpack[GenerateOptions],
) -> Generation[Any] | list[Generation[Any]]:
    """Return what a model writes after a prompt, within a grammar.

    Parameters
    ----------
    model : PreTrainedModel, or a pipeline
        A causal language model of transformers; or a model and its tokenizer, as a pair or a
        pipeline of transformers. With a tokenizer, a function from token ids to logits, as
        :func:`cfgguide.sample` takes it.
    prompt : str or sequence of messages, or a list of those
        A text to continue, or a chat, which goes through the tokenizer's chat template. If its last
        message is the assistant's, the model goes on with that; no part of it is in the sentence.
        A list of prompts is a batch.
    what : type, mapping, Grammar, Index, ...
        What to write: anything that :func:`cfgguide.output_types.output_type` takes, or an index of
        it and this tokenizer. The same grammar is compiled once, with all tokens that the model's
        generation config lets end a text.
    n : int, optional
        How many texts to write of one prompt, each with its own random numbers; they are a list.
    retries : int
        How often a text is written again whose type refuses it: validators in Python decide what
        no mask can. The model is shown the text, and what the validator says.
    tokenizer : PreTrainedTokenizerBase, optional
        The model's tokenizer. By default that beside the model: in the pair, the pipeline, or the
        folder that the model was loaded from.
    max_new_tokens : int
        Maximum number of new tokens of each text, EOS included; at least 1.
    prefix : str
        How the sentence begins: it comes after the prompt, and the model goes on from there.
    until : callable, optional
        Called with the text, `prefix` included, wherever it is a sentence: True ends it there,
        without EOS.
    stop : str or sequence of str
        The text ends before the first of these that is written, and has none of it. It is complete
        if it is a sentence so far, as of free text it always is.
    temperature, top_k, top_p, min_p
        How a token is chosen among the allowed ones, see
        :class:`~cfgguide.models.decoding.warpers.Warper`; they are applied in this order, after the
        mask. By default the most probable token is taken at each step.
    seed : int or numpy Generator, optional
        Makes sampling reproducible; the global random states stay as they were. Without it, a seed
        is drawn from torch's global random state.
    progress : bool, optional
        Whether to show what is being compiled, if that takes more than a second, and a bar of
        tokens; by default on a terminal.
    finish : bool
        Whether to finish a sentence within `max_new_tokens`: a token is allowed only if a sentence
        still fits after it. If not, the text is cut when the tokens run out.
    force : bool
        Whether text that must come next is written without asking the model, in the tokenizer's own
        tokens (:mod:`cfgguide.guide.forced`). If not, the model chooses each token of it.
    heal : bool
        Whether the last tokens of prompt and prefix are taken back, so that the model writes their
        bytes again and may go on in the same token (:mod:`cfgguide.guide.healing`). These tokens
        count in `max_new_tokens`, and those of the prompt are in `token_ids`, but not in `text`.
    trailing : bool
        Whether ignored text, such as white space and comments, may stand behind a sentence where
        nothing else could follow. By default the model ends the text there.
    log_probs : bool
        Whether to keep the log-probabilities of the tokens.
    confidence : bool
        Whether to find how sure the model was of each value of a JSON answer, or of the text
        (:class:`cfgguide.integrations.Confidence`). It may be asked more for that. A model of
        transformers must keep keys and values of all its layers.
    describe : bool or {"typescript", "json_schema", "example"}
        Whether the prompt says what is to be written, and how (:func:`cfgguide.describe`): in the
        system text of a chat, or before the user's if its template has none; before a plain prompt.
        Names of special tokens in it are broken by a space.
    repetition : bool or Repetition
        What is done about text that repeats itself in strings, numbers, comments, names and arrays
        (:class:`cfgguide.Repetition`); True closes loops. Those that were closed are in the
        result's `notes`.
    tools : sequence of callable, mapping or type
        Instead of `what`: the model may call these, in the format of its own chat template, which
        is told of them. The value is a :class:`~cfgguide.schema.messages.message.Message`; its
        calls have the arguments with their types, and those of functions can be run.
    tool_choice : str or mapping
        As `choice` of :func:`cfgguide.tools`.

    Returns
    -------
    Generation or list of Generation
        The text, its value, and whether it is complete; for a batch one for each prompt.

    Raises
    ------
    GrammarError, SchemaError
        If `what` does not say what to write, or not what can be guaranteed.
    GenerationError
        If a setting is out of its range, no tokenizer is known, a chat has no template, or the
        model excludes all tokens that the grammar allows.
    BudgetError
        If no sentence can be finished within `max_new_tokens`.
    ModelError
        If the model's logits do not fit the vocabulary, or are not numbers; or if it cannot read a
        batch.
    TokenRejectedError
        If no sentence begins with `prefix`.
    """
    steps = generating(
        model,
        prompt,
        what,
        n=n,
        retries=retries,
        tools=tools,
        tool_choice=tool_choice,
        **options,
    )
    written: Any = deque(steps, maxlen=1).pop()
    return written  # type: ignore[no-any-return]


def generating(
    model: Any,
    prompt: Prompt | Sequence[Prompt],
    what: object = None,
    *,
    n: int | None = None,
    retries: int = 0,
    **options: Any,
) -> Iterator[object]:
    """Do what :func:`generate` does, step by step: yield after each, and at last what it returns.

    Parameters
    ----------
    model, prompt, what, n, retries, options :
        As for :func:`generate`.

    Raises
    ------
    CfgGuideError
        As :func:`generate`.
    """
    prompts, is_batch = prompts_of(prompt)
    check_options(options, _OPTIONS)
    check_n(n, is_batch=is_batch)
    if n is not None:
        prompts, is_batch = prompts * n, True
    if not isinstance(retries, int) or retries < 0:
        raise GenerationError(f"retries is {shown(retries)}; it is a number from 0 up")
    written: list[Any] = [None] * len(prompts)
    left = list(range(len(prompts)))
    for n_left in range(retries, -1, -1):
        chosen = [prompts[number] for number in left]
        writing = _Writing(model, chosen, what, is_batch=is_batch, **options)
        yield from writing.parts()
        for number, each in zip(left, writing.results(), strict=True):
            written[number] = each
        refused = {k: why for k in left if n_left and (why := _refusal(written[k]))}
        for number, why in refused.items():
            prompts[number] = _with_refusal(prompts[number], written[number].text, why)
        if not refused:
            break
        left = list(refused)
    yield written if is_batch else written[0]


def _refusal(written: Generation[Any]) -> str | None:
    """Return why the type of a text refuses it, or None."""
    if not written.is_complete:
        return None
    try:
        _ = written.parsed
    except GenerationError as error:
        return str(error.__cause__ or error)
    return None


def _with_refusal(prompt: Prompt, text: str, why: str) -> Prompt:
    """Return a prompt that goes on with a text and with why it was refused."""
    said = f"That was refused: {why}\nWrite it again."
    if isinstance(prompt, str):
        return f"{prompt}{text}\n\n{said}\n\n"
    last = prompt[-1]
    begun = [] if last.get("role") != "assistant" else [last]
    answer = {"role": "assistant", "content": "".join(each["content"] for each in begun) + text}
    return [*prompt[: len(prompt) - len(begun)], answer, {"role": "user", "content": said}]


@overload
def stream(
    model: Any, prompt: Prompt, what: Typed[T], **options: Unpack[GenerateOptions]
) -> Stream[T]: ...


@overload
def stream(
    model: Any, prompt: Prompt, what: Callable[..., T], **options: Unpack[GenerateOptions]
) -> Stream[ToolCall[T]]: ...


@overload
def stream(
    model: Any, prompt: Prompt, what: Texts, **options: Unpack[GenerateOptions]
) -> Stream[str]: ...


@overload
def stream(
    model: Any, prompt: Prompt, what: object, **options: Unpack[GenerateOptions]
) -> Stream[Any]: ...


@overload
def stream(
    model: Any,
    prompt: Prompt,
    *,
    tools: Sequence[object],
    tool_choice: ToolChoice = "auto",
    **options: Unpack[GenerateOptions],
) -> Stream[ToolMessage]: ...


def stream(
    model: Any,
    prompt: Prompt,
    what: object = None,
    *,
    tools: Sequence[object] = (),
    tool_choice: ToolChoice = "auto",
    **options: Unpack[GenerateOptions],
) -> Stream[Any]:
    """Return what a model writes after a prompt, part by part as it is written.

    Parameters
    ----------
    model, prompt, what, tools, tool_choice, options :
        As for :func:`generate`; one prompt, and no bar of tokens unless `progress` is True.

    Returns
    -------
    Stream
        An iterator of the parts; afterwards :attr:`Stream.result` is what :func:`generate` returns.
        A loop that is left early leaves nothing that goes on.

    Raises
    ------
    CfgGuideError
        As :func:`generate`: what is wrong with the arguments is told here, before the first part.
    """
    prompts, is_batch = prompts_of(prompt)
    check_options(options, _OPTIONS)
    if is_batch:
        raise GenerationError(
            "a stream is of one prompt, and a batch writes several texts at once: call generate, "
            "or stream for each prompt"
        )
    called: dict[str, Any] = {"tools": tools, "tool_choice": tool_choice, **options}
    writing = _Writing(model, prompts, what, is_batch=False, is_shown=True, **called)
    return Stream(writing.parts(), lambda: writing.results()[0])


class _Writing:
    """Texts that are being written: all of a batch together."""

    def __init__(
        self,
        model: Any,
        prompts: Sequence[Prompt],
        what: object,
        *,
        is_batch: bool,
        is_shown: bool = False,
        tokenizer: PreTrainedTokenizerBase | None = None,
        max_new_tokens: int = 256,
        prefix: str = "",
        until: Callable[[str], bool] | None = None,
        stop: str | Sequence[str] = (),
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        min_p: float = 0.0,
        seed: Seed = None,
        progress: bool | None = None,
        finish: bool = True,
        force: bool = True,
        heal: bool = False,
        trailing: bool = False,
        log_probs: bool = False,
        confidence: bool = False,
        describe: bool | Style = False,
        repetition: bool | Repetition = False,
        tools: Sequence[object] = (),
        tool_choice: ToolChoice = "auto",
    ) -> None:
        check_max_new_tokens(max_new_tokens)
        if not isinstance(prefix, str):
            raise GenerationError(f"prefix is {shown(prefix)}; it is how the text begins")
        if until is not None and not callable(until):
            raise GenerationError(
                f"until is {shown(until)}; it is a function of the text, and stop takes texts"
            )
        self._warper = Warper(temperature, top_k, top_p, min_p)
        random = generator(_torch_seed() if seed is None and temperature else seed)
        # What a text of a batch draws does not depend on how long the others are.
        self._randoms = random.spawn(len(prompts)) if is_batch else [random]
        model, tokenizer = model_and_tokenizer(model, tokenizer)
        if what is not None and tools:
            raise GenerationError(
                "say what to write, or which tools may be called; cfgguide.tools(...) is a grammar "
                "that can be a part of what to write"
            )
        if isinstance(what, Index):
            check_same_tokens(what, tokenizer)
            self._index, self._known = what, what.output_type
        else:
            if tools:
                what = tool_grammar(tools, format=tool_format(tokenizer), choice=tool_choice)
            self._known = output_type(what)
            eos_token_ids = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
            vocabulary = shared_vocabulary(tokenizer, eos_token_ids)
            self._index = shared_index(
                self._known.grammar, vocabulary, progress=progress, is_written=True
            )
        reading = self._known.reading if self._known else TextReading
        avoided = Repetition.of(repetition)
        self._tree = PrefixTree(
            _logits_of(model, is_batch=is_batch or confidence),
            self._index,
            max_new_tokens=max_new_tokens,
            prefix_ids=_prefix_ids(prefix, tokenizer),
            finish=finish,
            heal=heal,
            trailing=trailing,
            loops=Loops(self._index, avoided, reading) if avoided else None,
            measure=log_probs or confidence,
        )
        self._has_log_probs = log_probs
        if describe:
            style: Style = "typescript" if describe is True else describe
            told = description_of(what, style).instruction
            prompts = [with_description(each, told, tokenizer) for each in prompts]
        described = [described_tool(each) for each in tools]
        self._starts = [prompt_ids(each, tokenizer, tools=described) for each in prompts]
        stops = stops_of(stop)
        self._texts = [
            TextSoFar(self._index, self._tree.root(token_ids), prefix, until, stops, reading)
            for token_ids in self._starts
        ]
        self._confidences = [
            Confidences(self._tree, text.root, prefix) for text in self._texts if confidence
        ]
        self._encode = encoder_of(tokenizer) if force else None
        # A bar would stand amid a text that is shown as it is written.
        is_bar_seen = not is_shown and sys.stderr.isatty()
        self._has_bar = is_bar_seen if progress is None else progress

    def parts(self) -> Iterator[Part[Any]]:
        """Yield the pieces of the texts as they are written."""
        texts = self._texts
        steps = decode(
            self._tree,
            [text.node for text in texts],
            warper=self._warper,
            randoms=self._randoms,
            encode=self._encode,
            has_ended=self._add,
        )
        total = self._tree.max_new_tokens * len(texts)
        with tqdm(total=total, unit="token", disable=not self._has_bar, leave=False) as bar:
            for number, _ in steps:
                bar.update()
                text = texts[number]
                if text.piece:
                    yield Part(text.piece, text.partial())
                if text.is_complete:
                    yield Part("", partial(self._whole, text))
        for text in texts:  # the tokens ran out where a stop might have begun
            if held := text.flush():
                yield Part(held, text.partial())

    def _add(self, number: int, node: PrefixNode) -> bool:
        """Add the last token of a node to a text; return whether the text ends there."""
        if self._confidences:
            self._confidences[number].add(node)
        return self._texts[number].add(node)

    def _whole(self, text: TextSoFar) -> Partial[Any]:
        """Return the value of a text that is complete."""
        result = self._result((), text)
        return Partial(result.parsed, None, thinking=result.thinking)

    def results(self) -> list[Generation[Any]]:
        """Return what was written, in the order of the prompts."""
        confidences: Sequence[Confidences | None] = self._confidences or [None] * len(self._texts)
        return [
            self._result(token_ids, text, confidence)
            for token_ids, text, confidence in zip(
                self._starts, self._texts, confidences, strict=True
            )
        ]

    def _result(
        self, prompt_ids: Sequence[int], text: TextSoFar, confidence: Confidences | None = None
    ) -> Generation[Any]:
        path = text.node.path()
        n_forced = sum(step.is_forced for step in path)
        return Generation(
            text.text,
            (*text.root.read_ids[len(prompt_ids) :], *text.node.token_ids),
            text.is_complete,
            len(path) - n_forced,  # one call for each token that was not forced
            n_forced,
            tuple(step.log_prob for step in path) if self._has_log_probs else None,
            self._known.thinking_of(text.text) if self._known else "",
            confidence.of(text.text) if confidence and text.is_complete else None,
            confidence.n_calls if confidence else 0,
            notes=text.node.written.loops,
            _parse=self._parse_of(text.node),
        )

    def _parse_of(self, node: PrefixNode) -> Callable[[str], Any]:
        """Return what makes a value of a text."""
        if self._known is None:
            return str
        vocabulary = self._index.vocabulary
        token_ids = (*self._tree.prefix_ids, *node.token_ids)
        data = vocabulary.spell(token_ids) if vocabulary.symbols else None
        return partial(self._known.value, data=data)


def model_and_tokenizer(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """Return a model and its tokenizer.

    Parameters
    ----------
    model : PreTrainedModel, pair, or pipeline
        As :func:`generate` takes it.
    tokenizer : PreTrainedTokenizerBase or None
        The tokenizer, if it was given.

    Raises
    ------
    GenerationError
        If none was given and none lies beside the model.
    """
    if isinstance(model, tuple) and len(model) == 2:
        model, beside = model
    else:
        beside = getattr(model, "tokenizer", None)
        model = getattr(model, "model", model) if beside is not None else model
    is_function = callable(model) and not isinstance(model, type) and callable(tokenizer)
    if not callable(getattr(model, "forward", None)) and not is_function:
        raise GenerationError(
            f"a model of transformers is needed, not {shown(model)}: load one with "
            "transformers.AutoModelForCausalLM.from_pretrained or cfgguide.models.load_model; "
            "a function from token ids to logits needs a tokenizer beside it"
        )
    tokenizer = tokenizer or beside
    if tokenizer is None:
        tokenizer = _loaded_beside(model)
    if not callable(tokenizer):
        raise GenerationError(
            f"a tokenizer of transformers is needed, not {shown(tokenizer)}: load it with "
            "transformers.AutoTokenizer.from_pretrained"
        )
    return model, tokenizer


_TOKENIZERS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _loaded_beside(model: Any) -> Any:
    """Return the tokenizer in the folder that a model was loaded from."""
    if model not in _TOKENIZERS:
        from transformers import AutoTokenizer

        name = getattr(getattr(model, "config", None), "_name_or_path", "")
        load: Any = AutoTokenizer.from_pretrained
        try:
            if not name:
                raise OSError
            _TOKENIZERS[model] = load(name)
        except (OSError, ValueError):
            raise GenerationError(
                f"no tokenizer lies beside the model ({name or 'it has no name'}): give it as "
                "generate(..., tokenizer=tokenizer)"
            ) from None
    return _TOKENIZERS[model]


def prompts_of(prompt: Any) -> tuple[list[Any], bool]:
    """Return the prompts, and whether they are a batch."""
    if isinstance(prompt, str):
        return [prompt], False
    if not isinstance(prompt, Sequence) or isinstance(prompt, bytes):
        raise GenerationError(
            f"a prompt is a text or a list of messages, not {type(prompt).__name__}; a list of "
            "prompts is a batch"
        )
    is_chat = bool(prompt) and isinstance(prompt[0], Mapping)
    return ([prompt], False) if is_chat else (list(prompt), True)


def _logits_of(model: Any, *, is_batch: bool) -> AnyModel:
    """Return a model as a function from token ids to logits."""
    if not callable(getattr(model, "forward", None)):
        found: AnyModel = model
        return found
    return TransformersModel(model) if is_batch else SingleText(model)


def check_options(options: Iterable[str], known: Iterable[str], hint: str = "") -> None:
    """Raise a `GenerationError` if an option is not known; `hint` says what to do then."""
    for name in options:
        if name not in known:
            raise GenerationError(not_known(f"there is no option {name}", name, known) + hint)


def check_n(n: object, *, is_batch: bool) -> None:
    """Raise a `GenerationError` if that is no number of texts of one prompt, or None."""
    if n is not None and (is_batch or not isinstance(n, int) or n < 1):
        raise GenerationError(
            f"n is {shown(n)}; it is a number from 1 up, of one prompt: in a batch, give a prompt "
            "as often as you want texts of it"
        )


def stops_of(stop: object) -> tuple[str, ...]:
    """Return the texts at which a text is to end."""
    stops = (stop,) if isinstance(stop, str) else stop
    if not isinstance(stops, Sequence) or not all(isinstance(each, str) and each for each in stops):
        raise GenerationError(f"stop is {shown(stop)}; it is a text, or a list of texts")
    return tuple(stops)


def _torch_seed() -> int:
    import torch

    return int(torch.randint(2**63 - 1, ()))


def _prefix_ids(prefix: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the tokens of plain text, without special tokens."""
    if not prefix:
        return []
    check_encodable(prefix, "prefix")
    encode: Any = tokenizer.encode
    ids: list[int] = encode(prefix, add_special_tokens=False, split_special_tokens=True)
    return ids
