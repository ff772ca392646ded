"""Arrays of a file of which nothing is believed.

In: named arrays (:mod:`cfgguide.base.archive`). Out: the same, each of a type and shape that is
asked for, with numbers in a range; or an error that says what cannot be right. Compiled loops read
them without checking bounds, so whoever reads a file asks for all that these need.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cfgguide.base.archive import Arrays
from cfgguide.errors import IndexFormatError


class Checked:
    """Arrays to be checked.

    Parameters
    ----------
    arrays : dict of str to array
        The arrays.
    what : str
        What cannot be said or used if one is wrong, for the message.
    """

    def __init__(self, arrays: Arrays, what: str) -> None:
        self._arrays = arrays
        self._what = what

    def refuse(self, said: str) -> NoReturn:
        """Raise an `IndexFormatError` that says what is wrong."""
        raise IndexFormatError(f"{self._what}: {said}; make it again")

    def check(self, is_right: object, said: str) -> None:
        """Raise an `IndexFormatError` unless something is right."""
        if not is_right:
            self.refuse(said)

    def numbers(
        self,
        name: str,
        shape: tuple[int | None, ...],
        least: float | None = None,
        most: float | None = None,
        *,
        dtypes: tuple[npt.DTypeLike, ...] = (np.int32,),
    ) -> npt.NDArray[Any]:
        """Return an array with numbers from `least` to `most`; None is any length, or no bound."""
        array = self._arrays.get(name)
        if array is None or array.dtype not in dtypes or array.ndim != len(shape):
            self.refuse(f"there is no array {name!r} as it should be")
        lengths = zip(array.shape, shape, strict=True)
        self.check(
            all(wanted in (None, length) for length, wanted in lengths),
            f"the shape of {name!r} cannot be {array.shape}",
        )
        for bound, is_low in ((least, True), (most, False)):
            if array.size and bound is not None:
                is_within = bound <= array.min() if is_low else array.max() <= bound
                self.check(is_within, f"{name!r} has numbers that there are not")
        return array

    def offsets(
        self, name: str, n_parts: int, end: int, *, dtype: npt.DTypeLike = np.int32
    ) -> npt.NDArray[Any]:
        """Return an array of where parts begin, the last number being where all of them end."""
        offsets = self.numbers(name, (n_parts + 1,), 0, end, dtypes=(dtype,))
        are_ascending = (offsets[:-1] <= offsets[1:]).all()
        is_whole = offsets[0] == 0 and offsets[-1] == end
        self.check(are_ascending and is_whole, f"{name!r} does not divide what it should")
        return offsets
