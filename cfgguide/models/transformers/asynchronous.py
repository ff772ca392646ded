"""Generation amid other tasks: the loop in a thread, and the model wherever it is.

In: as for :func:`cfgguide.generate`, or a model that is an async function from token ids to logits.
Out: the same. One step of the loop is one call of a thread, so whoever stops waiting stops it after
the token that is being written; an async model runs in the event loop of who asked.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Unpack

from cfgguide.models.decoding.model import Ids
from cfgguide.models.transformers.generation import GenerateOptions, Prompt, stream
from cfgguide.models.transformers.streaming import Generation, Part, Stream


async def agenerate(
    model: Any, prompt: Prompt, what: object, **options: Unpack[GenerateOptions]
) -> Generation[Any]:
    """Return what a model writes after a prompt, within a grammar, while other tasks run.

    Parameters
    ----------
    model : PreTrainedModel, pipeline, pair, or async function
        As for :func:`cfgguide.generate`; or an async function from token ids to the logits of the
        next token, with the option `tokenizer`. No other call may use it at the same time, unless
        it allows that.
    prompt, what, options :
        As for :func:`cfgguide.stream`.

    Raises
    ------
    CfgGuideError
        As :func:`cfgguide.generate`.
    """
    written = await _begun(model, prompt, what, options)
    while await asyncio.to_thread(next, written, None) is not None:
        pass
    return written.result


async def astream(
    model: Any, prompt: Prompt, what: object, **options: Unpack[GenerateOptions]
) -> AsyncIterator[Part[Any]]:
    """Yield what a model writes after a prompt, part by part, while other tasks run.

    Parameters
    ----------
    model, prompt, what, options :
        As for :func:`agenerate`.

    Yields
    ------
    Part
        As :func:`cfgguide.stream`; of a complete text, the last has the whole value.

    Raises
    ------
    CfgGuideError
        As :func:`cfgguide.generate`.
    """
    written = await _begun(model, prompt, what, options)
    while (part := await asyncio.to_thread(next, written, None)) is not None:
        yield part


async def _begun(model: Any, prompt: Prompt, what: object, options: GenerateOptions) -> Stream[Any]:
    """Return a stream whose model may wait for the event loop."""
    if inspect.iscoroutinefunction(model) or inspect.iscoroutinefunction(
        getattr(model, "__call__", None)  # noqa: B004  # of an object: whether it is async
    ):
        model = _waiting(model, asyncio.get_running_loop())
    return await asyncio.to_thread(lambda: stream(model, prompt, what, **options))


def _waiting(
    model: Callable[[Ids], Awaitable[Any]], loop: asyncio.AbstractEventLoop
) -> Callable[[Ids], Any]:
    """Return a function for a thread that has the event loop call an async model."""

    async def call(token_ids: Ids) -> Any:
        return await model(token_ids)

    def logits(token_ids: Ids) -> Any:
        return asyncio.run_coroutine_threadsafe(call(token_ids), loop).result()

    return logits
