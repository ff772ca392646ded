"""A matcher that never raises an error of ours in the middle of a text.

An engine ends with the first exception, and all its requests with it. So after an error, such as
that of a schema which takes too long in the middle of a text, only EOS is allowed, and then
refused: the engine ends this request as failed, and the others go on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import bitmask_of
from cfgguide.errors import CfgGuideError
from cfgguide.guide.buffers import write_row
from cfgguide.models.serving.matcher import Matcher

_LOG = logging.getLogger("cfgguide.serving")


class GuardedMatcher:
    """Follows one request as :class:`Matcher` does, and notes an error instead of raising it.

    Attributes
    ----------
    matcher : Matcher
        Follows the request.
    error : CfgGuideError or None
        What went wrong.
    first_seconds : float or None
        What its first mask took.
    slowest_seconds : float
        What its slowest step took, a mask or some tokens.
    """

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.error: CfgGuideError | None = None
        self.first_seconds: float | None = None
        self.slowest_seconds = 0.0

    def _took(self, started: float) -> float:
        seconds = time.perf_counter() - started
        self.slowest_seconds = max(self.slowest_seconds, seconds)
        return seconds

    def _fail(self, error: CfgGuideError) -> None:
        _LOG.error("a request fails after %d tokens: %s", self.matcher.n_tokens, error)
        self.error = error

    @property
    def is_terminated(self) -> bool:
        """Whether a stop token was accepted."""
        return self.matcher.is_terminated

    def accept(self, token_ids: Sequence[int]) -> bool:
        """Consume tokens, all or none; return whether all may come. After an error, none may."""
        started = time.perf_counter()
        try:
            return self.error is None and self.matcher.accept(token_ids)
        except CfgGuideError as error:
            self._fail(error)
            return False
        finally:
            self._took(started)

    def validate(self, token_ids: Sequence[int]) -> list[int]:
        """Return the first of some tokens that may come; none after an error."""
        try:
            return [] if self.error is not None else self.matcher.validate(token_ids)
        except CfgGuideError as error:
            self._fail(error)
            return []

    def rollback(self, n: int) -> None:
        """Take back the last `n` tokens; see :meth:`Matcher.rollback`."""
        self.matcher.rollback(n)

    def fill_bitmask(self, bitmasks: Any, row: int) -> None:
        """Write the mask of the next token into a row: only EOS after an error."""
        write_row(self.bitmask(), bitmasks, row)

    def bitmask(self) -> Int32Array:
        """Return the mask of the next token, to be read only: only EOS after an error."""
        started = time.perf_counter()
        try:
            if self.error is None:
                return self.matcher.bitmask()
        except CfgGuideError as error:
            self._fail(error)
        finally:
            seconds = self._took(started)
            if self.first_seconds is None:
                self.first_seconds = seconds
        vocabulary = self.matcher.index.vocabulary
        return bitmask_of(vocabulary.eos_token_ids[:1], vocabulary.n_words)

    def end_within(self, most: int, n_tokens: int) -> None:
        """Have the text end in time, where an engine has `n_tokens` of it, and will have `most`.

        Tokens that the matcher never saw, such as those of thinking, are among them; drafts, which
        it alone has seen, are not. So of what is asked for in turn the smallest holds.
        """
        matcher = self.matcher
        most -= max(0, n_tokens - matcher.n_tokens)
        if matcher.max_tokens is not None and matcher.max_tokens > most:
            matcher.max_tokens = most

    def reset(self) -> None:
        """Go back to before the first token, and forget the error."""
        self.matcher.reset()
        self.error = None

    def copy(self) -> GuardedMatcher:
        """Return an independent one in the same state."""
        copy = GuardedMatcher(self.matcher.copy())
        copy.error = self.error
        return copy
