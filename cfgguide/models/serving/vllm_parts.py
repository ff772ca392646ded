"""What is wrapped of vLLM, and its interface for a request, over a matcher.

Imported by :mod:`cfgguide.models.serving.vllm` only, where vLLM is installed.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any

import torch
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.exceptions import GracefulHTTPError, VLLMValidationError
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
)
from vllm.v1.structured_output.request import get_structured_output_key

from cfgguide.base.locks import new_lock
from cfgguide.engine.index.index import Index
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import CfgGuideError
from cfgguide.models.serving.backend import KINDS, PREFIX, Backend, compact, unmarked
from cfgguide.models.serving.client_errors import for_client
from cfgguide.models.serving.guarded import GuardedMatcher
from cfgguide.models.serving.http_calls import current
from cfgguide.models.serving.lanes import BusyError, Result, run_now
from cfgguide.models.serving.matcher import Matcher
from cfgguide.models.serving.sql_requests import refuse_description
from cfgguide.models.serving.vllm_metrics import ENGINE, FRONT_END, REFERRED, Exported, observe
from cfgguide.schema.messages.parts import UnsupportedTagError

#: What is wrapped: a class, a method, and the first of its arguments.
WRAPPED: tuple[tuple[Any, str, list[str]], ...] = (
    (
        SamplingParams,
        "_validate_structured_outputs",
        ["self", "model_config", "structured_outputs_config", "tokenizer"],
    ),
    (AsyncLLM, "add_request", ["self", "request_id", "prompt", "params"]),
    (StructuredOutputManager, "grammar_init", ["self", "request"]),
    (AsyncLLM, "__init__", ["self", "vllm_config"]),
    (StructuredOutputManager, "__init__", ["self", "vllm_config"]),
    (ChatCompletionRequest, "extract_structured_outputs", ["self"]),
    (CompletionRequest, "extract_structured_outputs", ["self"]),
)

_MAX_REFERRED = 1_000  # structural tags that are remembered as vLLM's own
_OPTIONS = ("disable_any_whitespace", "disable_additional_properties")  # of vLLM, for JSON
_OURS = "cfgguide"  # where vLLM notes the backend of a request
_LOG = logging.getLogger("cfgguide.serving")

#: What was checked for this task just now, beside the event loop: validation comes next.
_CHECKED: ContextVar[Any] = ContextVar("checked", default=None)

Asked = tuple[str, str]  # a kind and a text, as Backend takes them


def wrap(*, takes_all: bool, said: str, warms: bool) -> None:
    """Wrap the methods; more than once does no harm.

    Parameters
    ----------
    takes_all : bool
        Whether requests are ours that are not marked, too.
    said : str
        What the log says when a server starts. vLLM's log is not there before.
    warms : bool
        Whether something is compiled then.
    """
    if hasattr(SamplingParams._validate_structured_outputs, "__wrapped__"):
        return
    _LOG.parent = logging.getLogger("vllm")  # our lines come where vLLM's do
    backends = _Backends()
    _wrap_validation(takes_all, backends)
    _wrap_front_end(takes_all, backends)
    _wrap_engine(backends)
    for each in (ChatCompletionRequest, CompletionRequest):
        _wrap_body(each)
    for owner in (AsyncLLM, StructuredOutputManager):
        _wrap_start(owner, backends, said, warms=warms)


class BusyServerError(GracefulHTTPError):  # type: ignore[misc]
    """HTTP 429: other requests have to be compiled first."""

    def __init__(self, error: BusyError) -> None:
        super().__init__(f"cfgguide: {error}", HTTPStatus.TOO_MANY_REQUESTS)
        self.retry_after = error.retry_after


def asked(params: Any, takes_all: bool) -> Asked | None:
    """Return what a request asks of us; None if it asks nothing, or not us."""
    if params is None or params.all_constraints_none():
        return None
    option, text = get_structured_output_key(params)
    kind = option.name.lower()
    if kind not in KINDS or not isinstance(text, str):
        return None
    if not takes_all and not (text.startswith(PREFIX) and kind == "grammar"):
        return None
    kind, text = unmarked(kind, text)
    if getattr(params, "whitespace_pattern", None) is not None:
        raise VLLMValidationError(
            "cfgguide: whitespace_pattern is not followed: of a schema, "
            '"x-cfgguide": {"max_whitespace": 1}, {"separators": [",", ":"]} or {"tidy": false} at '
            "its top says what white space there may be",
            parameter="whitespace_pattern",
        )
    is_compact, is_closed = (bool(getattr(params, name, False)) for name in _OPTIONS)
    return compact(kind, text, is_compact=is_compact, is_closed=is_closed)


def _note_options(params: Any, config: Any) -> None:
    """Have a request carry what the server was told of JSON, to the engine too."""
    for name in _OPTIONS:
        if params is not None and getattr(config, name, False):
            setattr(params, name, True)


class _Backends:
    """The backend of each tokenizer and number of logits: mostly one."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._made: dict[tuple[int, int], tuple[Any, Backend]] = {}
        self._referred: dict[Asked, None] = {}
        self._counted = {True: Exported(ENGINE), False: Exported(FRONT_END)}

    def of(self, tokenizer: Any, model_config: Any, *, isolate: bool = True) -> Backend:
        """Return the backend of an engine; the engine itself gets what the front end has tried."""
        n_logits = model_config.get_vocab_size()
        with self._lock:
            if (id(tokenizer), n_logits) not in self._made:
                backend = Backend.from_environment(
                    _vocabulary_of(tokenizer, n_logits),
                    isolate=isolate,
                    observe=functools.partial(observe, in_engine=not isolate),
                )
                self._made[id(tokenizer), n_logits] = tokenizer, backend
            return self._made[id(tokenizer), n_logits][1]

    def made(self, tokenizer: Any, model_config: Any) -> Backend | None:
        """Return the backend of an engine if its vocabulary has been read."""
        made = self._made.get((id(tokenizer), model_config.get_vocab_size()))
        return None if made is None else made[1]

    def takes(self, request: Asked, tokenizer: Any, model_config: Any) -> bool:
        """Check what a request asks for; False if that is for vLLM's own backend.

        Raises
        ------
        VLLMValidationError
            If there is an error of ours: vLLM makes an HTTP status of it.
        """
        if request not in self._referred:
            backend = self.of(tokenizer, model_config)
            with self._told(request, backend):
                backend.check(*request)
        return request not in self._referred

    async def takes_beside(
        self,
        request: Asked,
        tokenizer: Any,
        model_config: Any,
        cancelled: Callable[[], bool],
    ) -> bool:
        """Do as :meth:`takes` beside the event loop; `cancelled`: as for :meth:`Backend.check`."""
        if request not in self._referred:
            backend = self.made(tokenizer, model_config)
            if backend is None:
                backend = await asyncio.to_thread(self.of, tokenizer, model_config)
            with self._told(request, backend):
                call = current()
                checked = backend.checked(*request, cancelled=cancelled, client=call.client)
                if checked.done():
                    checked.result()
                else:
                    await asyncio.wrap_future(checked)
                call.left_out = backend.left_out(*request)
        return request not in self._referred

    @contextmanager
    def _told(self, request: Asked, backend: Backend) -> Iterator[None]:
        """Note what vLLM's own backend is to take, and tell vLLM of other errors of ours."""
        try:
            yield
        except UnsupportedTagError:
            self._refer(request)
        except BusyError as error:
            raise BusyServerError(error) from error
        except CfgGuideError as error:
            raise VLLMValidationError(f"cfgguide: {for_client(error, backend.folder)}") from error
        finally:
            self.count(in_engine=False)

    def count(self, *, in_engine: bool) -> None:
        """Show in `/metrics` what was done so far."""
        backends = [backend for _, backend in list(self._made.values())]
        self._counted[in_engine].show(backend.metrics for backend in backends)

    def _refer(self, request: Asked) -> None:
        with self._lock:
            if request in self._referred:
                return
            self._referred[request] = None
            while len(self._referred) > _MAX_REFERRED:
                self._referred.pop(next(iter(self._referred)))
        REFERRED.inc()
        _LOG.warning("vLLM's own backend takes this structural tag, now and later: %.200r", request)


def _vocabulary_of(tokenizer: Any, n_logits: int) -> Vocabulary:
    """Return the tokens that have logits, which may be fewer than the tokenizer has, or more."""
    vocabulary = Vocabulary.from_tokenizer(tokenizer, size=max(n_logits, len(tokenizer)))
    if vocabulary.size == n_logits:
        return vocabulary
    eos = [token_id for token_id in vocabulary.eos_token_ids if token_id < n_logits]
    named = {
        name: token_id
        for name, token_id in vocabulary.special_tokens.items()
        if token_id < n_logits
    }
    return Vocabulary(vocabulary.tokens[:n_logits], eos_token_ids=eos, special_tokens=named)


def _wrap_validation(takes_all: bool, backends: _Backends) -> None:
    before = SamplingParams._validate_structured_outputs

    @functools.wraps(before)
    def validate(
        self: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any
    ) -> None:
        params = self.structured_outputs
        _note_options(params, structured_outputs_config)
        request = asked(params, takes_all)
        if request is None or structured_outputs_config is None:
            before(self, model_config, structured_outputs_config, tokenizer)
            return
        if tokenizer is None or getattr(model_config, "is_diffusion", False):
            raise VLLMValidationError(
                "cfgguide: structured outputs need a tokenizer, and tokens that come in turn"
            )
        is_checked = _CHECKED.get() is params
        if not is_checked and not backends.takes(request, tokenizer, model_config):
            before(self, model_config, structured_outputs_config, tokenizer)
            return
        params._backend = _OURS
        params.__post_init__()

    SamplingParams._validate_structured_outputs = validate


def _wrap_body(body: Any) -> None:
    """Have a request's `cfgguide`, an object beside its `messages` or `prompt`, ask for a text."""
    before = body.extract_structured_outputs

    @functools.wraps(before)
    def extract_structured_outputs(self: Any) -> Any:
        ours = (self.model_extra or {}).get(_OURS)
        if ours is None:
            found = before(self)
            current().is_guided = found is not None
            return found
        current().is_guided = True
        if not isinstance(ours, dict):
            raise VLLMValidationError(
                'cfgguide: at /cfgguide: it is an object such as {"sql": "sqlite", "schema": '
                '"CREATE TABLE ..."}; a name goes into structured_outputs, as '
                '{"grammar": "cfgguide:json"}',
                parameter=_OURS,
            )
        try:
            refuse_description(ours)
        except CfgGuideError as error:
            raise VLLMValidationError(f"cfgguide: {error}", parameter=_OURS) from error
        if before(self) is not None:
            raise VLLMValidationError(
                "cfgguide: a request has either cfgguide, or structured_outputs or response_format",
                parameter=_OURS,
            )
        return StructuredOutputsParams(grammar=f"{PREFIX}{json.dumps(ours)}")

    body.extract_structured_outputs = extract_structured_outputs


def _wrap_front_end(takes_all: bool, backends: _Backends) -> None:
    before = AsyncLLM.add_request

    @functools.wraps(before)
    async def add_request(
        self: Any, request_id: str, prompt: Any, params: Any, *rest: Any, **options: Any
    ) -> Any:
        config = getattr(self.vllm_config, "structured_outputs_config", None)
        _note_options(getattr(params, "structured_outputs", None), config)
        request = asked(getattr(params, "structured_outputs", None), takes_all)
        tokenizer = self.input_processor.tokenizer
        if request is not None and tokenizer is not None:
            has_left = threading.Event()
            try:
                if await backends.takes_beside(
                    request, tokenizer, self.model_config, has_left.is_set
                ):
                    _CHECKED.set(params.structured_outputs)
            finally:
                has_left.set()  # when vLLM ends this task, since the client has
        return await before(self, request_id, prompt, params, *rest, **options)

    AsyncLLM.add_request = add_request


def _wrap_start(owner: Any, backends: _Backends, said: str, *, warms: bool) -> None:
    """Have a server say that we are there when it starts, and begin to compile."""
    before = owner.__init__
    is_first = owner is AsyncLLM

    @functools.wraps(before)
    def start(self: Any, vllm_config: Any, *rest: Any, **options: Any) -> None:
        before(self, vllm_config, *rest, **options)
        if is_first:
            _LOG.info("%s", said)
        tokenizer = getattr(self.input_processor if is_first else self, "tokenizer", None)
        if warms and tokenizer is not None:
            made = functools.partial(backends.of, tokenizer, vllm_config.model_config)
            threading.Thread(target=made, kwargs={"isolate": is_first}, daemon=True).start()

    owner.__init__ = start


def _wrap_engine(backends: _Backends) -> None:
    before = StructuredOutputManager.grammar_init

    @functools.wraps(before)
    def grammar_init(self: Any, request: Any) -> None:
        asking = request.structured_output_request
        if asking is None or asking.params._backend != _OURS:
            if asking is not None and isinstance(self.backend, VllmBackend):
                self.backend = None  # vLLM makes the one that this request needs
            before(self, request)
            return
        if self.backend is None:
            self.backend = VllmBackend(
                self.vllm_config, self.tokenizer, self.vllm_config.model_config.get_vocab_size()
            )
        wanted = asked(asking.params, takes_all=True)
        assert wanted is not None, "the front end has found it to be ours"
        stops = request.sampling_params.all_stop_token_ids
        engine = self.tokenizer, self.vllm_config.model_config
        backend = backends.made(*engine)
        if not self._use_async_grammar_compilation:
            requested = run_now(lambda: backends.of(*engine, isolate=False).index(*wanted))
        elif backend is None:
            requested = self.executor.submit(
                lambda: backends.of(*engine, isolate=False).index(*wanted)
            )
        else:
            requested = backend.requested(*wanted)

        room = self.vllm_config.model_config.max_model_len - request.num_prompt_tokens
        most = min(request.max_tokens, room)

        def begun(index: Index) -> VllmGrammar:
            backends.count(in_engine=True)
            backend = backends.of(*engine, isolate=False)
            matcher = backend.matcher_of(index, *wanted, stop_token_ids=stops, max_tokens=most)
            return VllmGrammar(matcher, request, functools.partial(backend.ended, *wanted))

        asking.grammar = _after(requested, begun)

    StructuredOutputManager.grammar_init = grammar_init


def _after(first: Future[Index], then: Callable[[Index], Result]) -> Future[Result]:
    """Return a future of what a function makes of the result of another one."""
    future: Future[Result] = Future()

    def go_on(first: Future[Index]) -> None:
        done = run_now(lambda: then(first.result()))
        if error := done.exception():
            future.set_exception(error)
        else:
            future.set_result(done.result())

    first.add_done_callback(go_on)
    return future


class VllmBackend(StructuredOutputBackend):  # type: ignore[misc]
    """Has the bitmasks of an engine all of whose requests are ours."""

    def compile_grammar(
        self, request_type: Any, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> Any:
        """Refuse: our requests are compiled elsewhere."""
        raise VLLMValidationError(f"cfgguide does not take {request_type}: {grammar_spec!r:.60}")

    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:
        """Return bitmasks in which everything is allowed."""
        return torch.full((max_num_seqs, (self.vocab_size + 31) // 32), -1, dtype=torch.int32)

    def destroy(self) -> None:
        """Nothing is to be done."""


def _tell_steps(guarded: GuardedMatcher, ended: Callable[..., object]) -> None:
    ended(first_seconds=guarded.first_seconds, slowest_seconds=guarded.slowest_seconds)


class VllmGrammar(StructuredOutputGrammar):  # type: ignore[misc]
    """A request as vLLM sees it.

    Parameters
    ----------
    matcher : Matcher
        Follows the request, and has all tokens that it may have.
    request : Request, optional
        vLLM's: it has the tokens of the thinking, too, which no matcher sees.
    ended : callable, optional
        Called with what its steps took, when it is no longer needed.
    """

    def __init__(
        self, matcher: Matcher, request: Any = None, ended: Callable[..., object] | None = None
    ) -> None:
        self.guarded = GuardedMatcher(matcher)
        # Which has this grammar: in a circle, both would wait for Python's collector.
        self._request = None if request is None else weakref.ref(request)
        self._n_tokens = matcher.max_tokens
        if ended is not None:
            weakref.finalize(self, _tell_steps, self.guarded, ended).atexit = False

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Consume tokens."""
        return self.guarded.accept(tokens)

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """Return the first tokens that may come."""
        return self.guarded.validate(tokens)

    def rollback(self, num_tokens: int) -> None:
        """Take tokens back."""
        self.guarded.rollback(num_tokens)

    def fill_bitmask(self, bitmask: Any, batch_index: int) -> None:
        """Write the mask into a row."""
        request = None if self._request is None else self._request()
        if self._n_tokens is not None and request is not None:
            self.guarded.end_within(self._n_tokens, request.num_output_tokens)
        self.guarded.fill_bitmask(bitmask, batch_index)

    def is_terminated(self) -> bool:
        """Return whether a stop token came."""
        return self.guarded.is_terminated

    def reset(self) -> None:
        """Go back to the beginning."""
        self.guarded.reset()
