"""Generation amid other tasks: the loop in a thread, and the model wherever it is.

In: as for :func:`cfgguide.generate`, or a model that is an async function from token ids to logits.
Out: the same. One step of the loop is one call of a thread, so whoever stops waiting stops it after
the token that is being written; an async model runs in the event loop of who asked.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from cfgguide.models.decoding.model import Ids
from cfgguide.models.transformers.generation import generate, generating, stream

_END = object()

P = ParamSpec("P")
R = TypeVar("R")


def awaited(_: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Tell type checkers what a function returns that does the same amid other tasks.

    They follow all overloads through a `ParamSpec`, as long as nothing else is an argument: so the
    one that is called is defined where they do not look.
    """
    raise NotImplementedError("for type checkers only")


def yielded(_: Callable[P, Iterator[R]]) -> Callable[P, AsyncIterator[R]]:
    """Tell type checkers what a function yields that does the same amid other tasks."""
    raise NotImplementedError("for type checkers only")


if TYPE_CHECKING:
    agenerate = awaited(generate)
    astream = yielded(stream)
else:

    async def agenerate(model: Any, *arguments: Any, **options: Any) -> Any:
        """Return what a model writes after a prompt, within a grammar, while other tasks run.

        Parameters
        ----------
        model : PreTrainedModel, pipeline, pair, or async function
            As for :func:`cfgguide.generate`; or an async function from token ids to the logits of
            the next token, with the option `tokenizer`. No other call may use it at the same time,
            unless it allows that.
        arguments, options :
            The others of :func:`cfgguide.generate`.

        Returns
        -------
        Generation or list of Generation
            As :func:`cfgguide.generate`.

        Raises
        ------
        CfgGuideError
            As :func:`cfgguide.generate`.
        """
        steps = generating(_heard(model), *arguments, **options)
        written = None
        while (step := await asyncio.to_thread(next, steps, _END)) is not _END:
            written = step
        return written

    async def astream(model: Any, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        """Yield what a model writes after a prompt, part by part, while other tasks run.

        Parameters
        ----------
        model :
            As for :func:`agenerate`.
        arguments, options :
            The others of :func:`cfgguide.stream`.

        Yields
        ------
        Part
            As :func:`cfgguide.stream`; of a complete text, the last has the whole value.

        Raises
        ------
        CfgGuideError
            As :func:`cfgguide.generate`.
        """
        heard = _heard(model)
        parts = await asyncio.to_thread(lambda: stream(heard, *arguments, **options))
        while (part := await asyncio.to_thread(next, parts, None)) is not None:
            yield part


def _heard(model: Any) -> Any:
    """Return a model that a thread may call: an async one waits for the event loop."""
    if inspect.iscoroutinefunction(model) or inspect.iscoroutinefunction(
        getattr(model, "__call__", None)  # noqa: B004  # of an object: whether it is async
    ):
        return _waiting(model, asyncio.get_running_loop())
    return model


def _waiting(
    model: Callable[[Ids], Awaitable[Any]], loop: asyncio.AbstractEventLoop
) -> Callable[[Ids], Any]:
    """Return a function for a thread that has the event loop call an async model."""

    async def call(token_ids: Ids) -> Any:
        return await model(token_ids)

    def logits(token_ids: Ids) -> Any:
        return asyncio.run_coroutine_threadsafe(call(token_ids), loop).result()

    return logits
