"""Which call of transformers' ``generate`` a logits processor is called from.

In: nothing but the stack. Out: an object that is one for each call of ``generate``.

transformers tells a processor the ids alone, and they do not tell two calls apart: the second step
after the prompt ``1 2`` and the first after ``1 2 3`` look the same. But each call of ``generate``
makes a list of its processors, a ``LogitsProcessorList``, calls them through it, and drops it at
its end. So the list tells the call.

An assistant model drafts in a call of ``generate`` of its own, with a list of its own. The outer
list is then held by functions that are still running.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

_LISTS = "transformers.generation.logits_process"


def calling_list() -> list[object] | None:
    """Return the list of processors through which transformers calls, or None if it does not."""
    if (module := sys.modules.get(_LISTS)) is None:
        return None
    for frame in _callers():
        if frame.f_code.co_name == "__call__":
            caller = frame.f_locals.get("self")
            if isinstance(caller, module.LogitsProcessorList):
                found: list[object] = caller
                return found
    return None


def is_held_by_callers(processors: object) -> bool:
    """Return whether a function of transformers further up the stack has this list."""
    return any(
        any(value is processors for value in frame.f_locals.values())
        for frame in _callers()
        if frame.f_globals.get("__name__", "").startswith("transformers.")
    )


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
