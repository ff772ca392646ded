"""Which call of transformers' ``generate`` a logits processor is called from.

In: nothing but the stack. Out: an object that is one for each call of ``generate``.

transformers tells a processor the ids alone, and they do not tell two calls apart: the second step
after the prompt ``1 2`` and the first after ``1 2 3`` look the same. But each call of ``generate``
makes a list of its processors, a ``LogitsProcessorList``, calls them through it, and drops it at
its end. So the list tells the call.

An assistant model drafts in a call of ``generate`` of its own, with a list of its own. The outer
list is then held by a function that is still running, below the one that asks for drafts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

_LISTS = "transformers.generation.logits_process"
_DRAFTS = "transformers.generation.candidate_generator"


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


def is_draft(processors: object = None) -> bool:
    """Return whether an assistant model's draft is being made.

    Parameters
    ----------
    processors : list, optional
        Of the call of ``generate`` that it is made for; by default any.
    """
    is_asked_for = False
    for frame in _callers():
        module = frame.f_globals.get("__name__", "")
        is_asked_for = is_asked_for or module == _DRAFTS
        if is_asked_for and (processors is None or _has(frame, processors)):
            return True
    return False


def _has(frame: FrameType, processors: object) -> bool:
    is_transformers = frame.f_globals.get("__name__", "").startswith("transformers.")
    return is_transformers and any(value is processors for value in frame.f_locals.values())


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
