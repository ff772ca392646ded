"""Failing allocations: one of Python's own allocations finds no memory.

In: a call, and which allocation. Out: whether it failed. CPython's own test module has a hook for
that; where there is none, an exception of the same type comes before a random instruction
(:mod:`torture.interrupts`).
"""

from __future__ import annotations

from collections.abc import Callable

from torture.interrupts import traced

try:
    import _testcapi
except ImportError:  # a build of Python without its tests
    _testcapi = None


def failing(call: Callable[[], object], at: int) -> tuple[bool, bool]:
    """Call with the allocation of a number failing; return if an error came, and if all ended."""
    if _testcapi is None:
        has_failed, _ = traced(call, at, mode="any")
        return has_failed, not has_failed
    try:
        _testcapi.set_nomemory(at, at + 1)
        try:
            call()
        finally:
            _testcapi.remove_mem_hooks()
    except MemoryError:
        return True, False
    except Exception as error:  # what hides one
        return isinstance(error.__context__ or error.__cause__, MemoryError), False
    return False, True
