"""The decoding loop that is measured: forward pass, masks, sampling, and the tokens back.

In: a decoder, and how to guide it. Out: the time of each step, and of the masks in it. What a step
does, in order, on the device (D) and on the processor (P):

========= =====================================================================================
unguided  D: forward, sample. P: launches both, then reads the tokens of the step *before*
in step   P: reads the tokens of the step before. D: forward, sample
serial    P: reads those tokens, guides consume them, masks are filled.
          D: forward, copy of the masks, masking, sample
hidden    D: forward. P, meanwhile: the same as in serial; the copy has a stream of its own.
          D: masking, sample
========= =====================================================================================

Sampling is that of servers: the largest of the probabilities divided by exponential noise. Tokens
come back to the processor through pinned memory. On the CPU all of this works, one after another.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from gpu_masking import Masking
from gpu_model import Decoder

from cfgguide import Guide, Index, fill_bitmasks

N_CALLS = 16  # of one part; the first ones are not timed
_N_TIMED = 12


@dataclass
class Passed:
    """What a pass over the steps took.

    Attributes
    ----------
    steps : list of float
        Seconds of each step; the last waits for the device.
    masks : list of float
        Of them, seconds in which guides consumed tokens and masks were filled.
    n_new : int
        Masks that were made.
    n_ended : int
        Texts that came to their end, and began again.
    """

    steps: list[float] = field(default_factory=list)
    masks: list[float] = field(default_factory=list)
    n_new: int = 0
    n_ended: int = 0


class Rows:
    """The guides of a batch, one for each row; a text that has ended begins again."""

    def __init__(self, index: Index, n_rows: int) -> None:
        self._index = index
        self._ends = frozenset(index.vocabulary.eos_token_ids)
        self._guides = [Guide(index) for _ in range(n_rows)]
        self._n_made = index.n_made
        self.n_ended = 0

    @property
    def n_new(self) -> int:
        """Masks that were made since these rows began."""
        return self._index.n_made - self._n_made

    def fill(self, tokens: list[int] | None, out: torch.Tensor) -> None:
        """Consume a token in each row, and fill the masks of the next ones."""
        if tokens is not None:
            for row, token in enumerate(tokens):
                if token in self._ends:
                    self._guides[row] = Guide(self._index)
                    tokens[row] = -1
                    self.n_ended += 1
        fill_bitmasks(self._guides, out, token_ids=tokens)


class Loop:
    """A decoder with all that a step needs beside it, allocated once.

    Attributes
    ----------
    words : int32, shape (n_rows, n_words)
        The masks on the device.
    """

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        n_rows, n_columns = decoder.logits.shape
        device = decoder.logits.device
        self._is_cuda = device.type == "cuda"
        size = (n_rows, -(-n_columns // 32))
        self._host = torch.full(size, -1, dtype=torch.int32, pin_memory=self._is_cuda)
        self._tokens = torch.zeros((n_rows, 1), dtype=torch.int64, pin_memory=self._is_cuda)
        self.words = torch.full(size, -1, dtype=torch.int32, device=device)
        self._random = torch.Generator(device)
        self._copies = torch.cuda.Stream() if self._is_cuda else None
        self._sent = torch.cuda.Event() if self._is_cuda else None
        self._taken = torch.cuda.Event() if self._is_cuda else None

    def run(
        self,
        n_steps: int,
        *,
        is_ahead: bool,
        rows: Rows | None = None,
        masking: Masking | None = None,
        until: float = float("inf"),
    ) -> Passed:
        """Decode from the beginning, with the same random numbers each time.

        Parameters
        ----------
        is_ahead : bool
            Whether the forward pass is launched before the tokens of the step before are read.
        rows, masking : optional
            The guides, and how their masks are applied; without them nothing is masked.
        until : float
            When no further step begins, by `time.perf_counter`.
        """
        self._decoder.restart()
        self._random.manual_seed(0)
        passed, moments = Passed(), []
        gc.disable()
        try:
            self.synchronize()
            for step in range(n_steps):
                moments.append(time.perf_counter())
                if step and moments[-1] > until:
                    break
                seconds = self._step(
                    is_first=not step, is_ahead=is_ahead, rows=rows, masking=masking
                )
                passed.masks += [] if rows is None else [seconds]
            else:
                self.synchronize()
                moments.append(time.perf_counter())
        finally:
            gc.enable()
            self.synchronize()
        passed.steps = np.diff(moments).tolist()
        if rows is not None:
            passed.n_new, passed.n_ended = rows.n_new, rows.n_ended
        return passed

    def _step(
        self, *, is_first: bool, is_ahead: bool, rows: Rows | None, masking: Masking | None
    ) -> float:
        """Do one step, and return how many seconds the guides and their masks took."""
        if is_ahead:
            self._decoder.forward()
        tokens = None if is_first else self._read()
        started = time.perf_counter()
        if rows is not None:
            rows.fill(tokens, self._host)
        seconds = time.perf_counter() - started
        if not is_ahead:
            self._decoder.forward()
        if masking is not None:
            self._send(masking, is_beside=is_ahead)
            masking.apply(self._decoder.logits)
        self.sample()
        return seconds

    def sample(self) -> None:
        """Draw a token for each row on the device, and send them to the processor."""
        chances = torch.softmax(self._decoder.logits, dim=-1, dtype=torch.float32)
        noise = torch.empty_like(chances).exponential_(generator=self._random)
        torch.argmax(chances.div_(noise), dim=-1, keepdim=True, out=self._decoder.ids)
        self._tokens.copy_(self._decoder.ids, non_blocking=True)
        if self._sent is not None:
            self._sent.record()

    def copy(self) -> None:
        """Copy the masks to the device, and wait for nothing."""
        self.words.copy_(self._host, non_blocking=True)

    def synchronize(self) -> None:
        """Wait until the device has done everything."""
        if self._is_cuda:
            torch.cuda.synchronize()

    def microseconds(self, call: Callable[[], object]) -> float:
        """Return how long a call takes on the device when several follow each other."""
        for _ in range(N_CALLS - _N_TIMED):
            call()
        self.synchronize()
        if not self._is_cuda:
            started = time.perf_counter()
            for _ in range(_N_TIMED):
                call()
            return 1e6 * (time.perf_counter() - started) / _N_TIMED
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(_N_TIMED):
            call()
        last.record()
        self.synchronize()
        return 1e3 * float(first.elapsed_time(last)) / _N_TIMED

    def _read(self) -> list[int]:
        """Wait for the tokens that were sampled last."""
        if self._sent is not None:
            self._sent.synchronize()
        found: list[int] = self._tokens.view(-1).tolist()
        return found

    def _send(self, masking: Masking, *, is_beside: bool) -> None:
        """Copy the masks to the device, beside the forward pass or after it.

        Nothing reads the masks of the step before any more, for its tokens have been read.
        """
        beside: Any = contextlib.nullcontext()
        if is_beside and self._copies is not None:
            beside = torch.cuda.stream(self._copies)
        with beside:
            self.copy()
            masking.take(self.words)
            if self._taken is not None:
                self._taken.record()
        if self._taken is not None:
            self._taken.wait()
