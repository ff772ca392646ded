"""Raises an exception at a random instruction of a call.

In: a call, and where. Out: whether it was interrupted. In two ways: a timer of the operating
system, whose signal Python looks for where it always does, also inside of other packages; and a
trace function, which reaches every instruction of cfgguide with the same likelihood.

Python looks for signals after a call, at the beginning of a function and when a loop goes back
(`KeyboardInterrupt`, mode `signals`). Any other instruction may fail if memory is short
(`MemoryError`, mode `any`). Only the release of a lock at the end of a `with` block cannot: there,
nothing is allocated and no signal is looked for, so the instructions around it are left out.
"""

from __future__ import annotations

import dis
import functools
import signal
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import cfgguide

PACKAGE = str(Path(cfgguide.__file__).parent)
_CALLS = ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD", "RESUME", "SEND")
_WITH_ENDS = {"WITH_EXCEPT_START", "PUSH_EXC_INFO"}


class Interrupted(KeyboardInterrupt):
    """One of ours."""


class NoMemory(MemoryError):
    """One of ours."""


@functools.cache
def places(code: CodeType, mode: str) -> frozenset[int]:
    """The offsets before which an exception may come."""
    instructions = list(dis.get_instructions(code))
    table = [
        (entry.start, entry.end, entry.target)
        for entry in dis._parse_exception_table(code)  # type: ignore[attr-defined]
    ]

    def handler(offset: int) -> int:
        return next((target for start, end, target in table if start <= offset < end), -1)

    left_out: set[int] = set()
    for at, instruction in enumerate(instructions):
        if instruction.opname in _WITH_ENDS:
            left_out.add(instruction.offset)
        # `None, None, None` and the call of `__exit__`
        if all(
            each.opname == "LOAD_CONST" and each.argval is None
            for each in instructions[at : at + 3]
        ) and any(each.opname == "CALL" for each in instructions[at + 3 : at + 5]):
            before = [each for each in instructions[:at][-1:] if each.opname == "SWAP"]  # `return`
            left_out.update(each.offset for each in [*before, *instructions[at : at + 5]])
    found = set()
    for before, instruction in pairwise(instructions):
        if instruction.offset in left_out:
            continue
        if mode == "any" or (
            before.opname in _CALLS and handler(before.offset) == handler(instruction.offset)
        ):
            found.add(instruction.offset)
    return frozenset(found)


class Tracer:
    """Counts instructions of cfgguide, and raises an exception at one of them."""

    def __init__(self, at: int, error: type[BaseException], mode: str) -> None:
        self.n_seen = 0
        self._at = at
        self._error = error
        self._mode = mode

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode" and frame.f_lasti in places(frame.f_code, self._mode):
            self.n_seen += 1
            if self.n_seen == self._at:
                raise self._error
        return self


def traced(call: Callable[[], object], at: int, *, mode: str = "signals") -> tuple[bool, int]:
    """Interrupt a call at an instruction; return if it was, and how many there were."""
    error: type[BaseException] = Interrupted if mode == "signals" else NoMemory
    tracer = Tracer(at, error, mode)
    sys.settrace(tracer)
    try:
        call()
    except BaseException:  # numpy has others instead of an interruption, sometimes
        if tracer.n_seen < at:
            raise
    finally:
        sys.settrace(None)
    return tracer.n_seen >= at, tracer.n_seen


def timed(call: Callable[[], object], seconds: float) -> bool:
    """Interrupt a call after some time; return if it was."""
    n_raised = 0

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal n_raised
        n_raised += 1
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
            call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException:
        if not n_raised:
            raise
    finally:
        while True:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
                break
            except Interrupted:
                continue
    return n_raised > 0
