"""``cfgguide index``: makes the masks of a grammar ahead, into a file.

In: the parsed arguments. Out: an exit status, and the file, which is saved again and again while it
grows.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from cfgguide.cli.arguments import NO, YES, grammar_of
from cfgguide.errors import CfgGuideError, VocabularyError
from cfgguide.index.compiler import compile as compile_index
from cfgguide.index.compiler import compile_recognizer
from cfgguide.index.index import Index
from cfgguide.precompute.masks import DEFAULT_MAX_BYTES, Precomputed, precompute_masks, shown
from cfgguide.vocabulary.vocabulary import Vocabulary

SAVE_SECONDS = 30.0  # between two saves of a long build


def index_command(options: argparse.Namespace) -> int:
    """Make the masks of a grammar ahead, into a file."""
    from cfgguide.models.load import load_tokenizer

    grammar = grammar_of(options)
    # A mistake in the grammar is told before transformers is loaded.
    compile_recognizer(grammar, progress=None)
    tokenizer = load_tokenizer(options.tokenizer)
    eos = None if options.eos is None else [_token_id(tokenizer, name) for name in options.eos]
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=eos)
    index = compile_index(grammar, vocabulary, progress=None)
    file = _IndexFile(index, options.output)
    max_bytes = DEFAULT_MAX_BYTES if options.max_bytes is None else options.max_bytes
    with shown(None) as show, _interruptions() as check:

        def note(precomputed: Precomputed) -> None:
            check()
            show(precomputed)
            file.save_now_and_then()

        try:
            precomputed = precompute_masks(
                index,
                n_processes=options.processes,
                max_bytes=max_bytes,
                max_seconds=options.max_seconds,
                progress=note,
            )
        finally:
            file.save()
    print(precomputed)
    print(f"{options.output}: {os.path.getsize(options.output):,} bytes")
    if index.n_entries:
        return YES
    if index.recognizer.indentation_rules is not None:
        reason = "with an indenter all masks depend on whole texts; they are made when needed"
    elif precomputed.n_left:
        reason = "the bound came first; allow more bytes or seconds"
    else:
        reason = "each depends on more of a stack than is looked at; they are made when needed"
    print(f"cfgguide: no mask was made ahead: {reason}", file=sys.stderr)
    return NO


@contextmanager
def _interruptions() -> Iterator[Callable[[], None]]:
    """Yield a function that raises `KeyboardInterrupt` if the user has interrupted.

    Python raises it at once by itself, but drops it inside a finaliser.
    """
    is_interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        signal.default_int_handler(number, frame)

    def check() -> None:
        if is_interrupted:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


class _IndexFile:
    """The file of an index that is being built."""

    def __init__(self, index: Index, path: str) -> None:
        self._index = index
        self._path = path
        if os.path.exists(path):
            index.add_file(path)
        self.save()  # fails now if it cannot be written

    def save_now_and_then(self) -> None:
        """Save if the last save was long ago, compared with the time it took."""
        if time.monotonic() > self._next:
            self.save()

    def save(self) -> None:
        """Save."""
        started = time.monotonic()
        try:
            self._index.save(self._path)
        except OSError as error:
            raise CfgGuideError(f"cannot write {self._path!r}: {error.strerror}") from None
        ended = time.monotonic()
        self._next = ended + max(SAVE_SECONDS, 20 * (ended - started))


def _token_id(tokenizer: Any, name: str) -> int:
    """Return the id of a token by its name."""
    token_id: int | None = tokenizer.get_vocab().get(name)
    if token_id is None:
        raise VocabularyError(f"the tokenizer has no token {name!r} for --eos")
    return token_id
