"""The tokens that begin with some bytes.

In: a vocabulary. Out: a :class:`BeginningTokens`, which remembers its answers: where lexemes end,
the same bytes are asked about again and again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cfgguide.base.bounded import BoundedDict
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

_MAX_KNOWN = 500  # bitmasks


class BeginningTokens:
    """Finds the tokens that begin with some bytes.

    Parameters
    ----------
    vocabulary : Vocabulary
        The tokens.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._known: BoundedDict[bytes, Int32Array] = BoundedDict(_MAX_KNOWN)

    def with_any(self, is_first: npt.NDArray[np.bool_]) -> Int32Array:
        """Return the tokens that begin with any of some bytes.

        Parameters
        ----------
        is_first : bool, shape (256,)
            Which bytes.

        Returns
        -------
        int32, shape (n_words,)
            A bitmask, not to be written to.
        """
        key = is_first.tobytes()
        known = self._known.get(key)
        if known is None:
            rows = self.vocabulary.tokens_by_first_byte[is_first]
            known = self._known[key] = np.bitwise_or.reduce(rows, axis=0, initial=0)
        return known
