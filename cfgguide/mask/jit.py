"""How kernels are compiled, and the one module that knows numba.

A kernel takes and returns arrays and also runs, slowly, under ``NUMBA_DISABLE_JIT=1``. numba keeps
what it has compiled on disk, by the file of the function that is called from Python: a kernel and
all that it calls stand in one module, or the kept result would outlive a change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


#: A whole number as 64 bits. A function is compiled for each combination of types that it is called
#: with, of 32 or 64 bits and literals: arguments of one type kept that from taking twice as long.
wide = cast(Callable[[int], int], np.int64)


def kernel(function: Function) -> Function:
    """Compile a function that makes no arrays with numba, keeping the result on disk.

    Without numba's runtime no references are counted. Counting those of all arrays of a workspace
    at every call made the walk five times slower where it takes many calls.
    """
    options: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
    compiled: Any = numba.njit(**options)(function)
    return cast(Function, compiled)


def allocating_kernel(function: Function) -> Function:
    """Compile a function that makes arrays with numba, keeping the result on disk."""
    compiled: Any = numba.njit(cache=True, nogil=True)(function)
    return cast(Function, compiled)


def load(function: Callable[..., Any], *examples: object) -> None:
    """Have a kernel compiled, or read from where it is kept, for arguments like some examples.

    Otherwise that happens at the first call, and takes a fifth of a second there.
    """
    compile_for = getattr(function, "compile", None)  # none under NUMBA_DISABLE_JIT
    if compile_for is not None:
        typeof: Callable[[object], object] = numba.typeof
        compile_for(tuple(map(typeof, examples)))
