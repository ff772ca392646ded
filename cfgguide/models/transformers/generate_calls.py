"""Which call of transformers' ``generate`` a logits processor is called from.

In: the Python stack. Out: an object that is a different one for each call of ``generate``.

transformers gives a processor only the ids, which do not tell two calls apart: the second step
after the prompt ``1 2`` and the first after ``1 2 3`` look the same. But each call of ``generate``
makes a list of its processors, a ``LogitsProcessorList``, calls them through it, and drops it at
its end. So the list identifies the call.

The functions that call it know when they will stop: `generation_config.max_length`.

An assistant model drafts in a call of ``generate`` of its own, with a list of its own. The outer
list is then held by a function that is still running, below the one that requests drafts.
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
                processors: list[object] = caller
                return processors
    return None


def max_length() -> int | None:
    """Return the length, prompt included, at which the innermost ``generate`` cuts its rows."""
    for frame in _callers():
        if frame.f_globals.get("__name__", "").startswith("transformers.generation."):
            length = getattr(frame.f_locals.get("generation_config"), "max_length", None)
            if isinstance(length, int):
                return length
    return None


def is_draft(processors: object = None) -> bool:
    """Return whether an assistant model's draft is being made.

    Parameters
    ----------
    processors : list, optional
        The list of the call of ``generate`` that the draft is for; by default any call.
    """
    is_drafting = False
    for frame in _callers():
        module = frame.f_globals.get("__name__", "")
        is_drafting = is_drafting or module == _DRAFTS
        if is_drafting and (processors is None or _has(frame, processors)):
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
