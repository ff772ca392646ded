"""``cfgguide index``: makes the masks of a grammar ahead, into a file.

In: the parsed arguments. Out: an exit status, and the file, which is saved again and again while it
grows.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from cfgguide.errors import CfgGuideError, VocabularyError
from cfgguide.studio.cli.arguments import add_grammar, add_tokenizer, grammar_of, tokenizer_for
from cfgguide.studio.cli.parsing import FILES, NO, YES, Commands, completes

if TYPE_CHECKING:
    from cfgguide.engine.index.index import Index
    from cfgguide.engine.precompute.ahead import Precomputed

SAVE_SECONDS = 30.0  # between two saves of a long build


def add_index(commands: Commands) -> None:
    """Add the command ``index``."""
    command = commands.add(
        "index",
        _index,
        about="make the masks of a grammar ahead, into a file",
        examples=(
            ("index my.lark --output my.index", ""),
            ("index sql --output sql.index --max-seconds 600", "go on later with the same command"),
            ("generate sql --prompt '...' --index sql.index", "use them"),
        ),
        no="no mask could be made ahead",
    )
    add_grammar(command, is_written=True)
    add_tokenizer(command, "a folder or tokenizer.json; SmolLM2's by default")
    command.add_argument(
        "--eos",
        action="append",
        metavar="TOKEN",
        help="a token that ends a text, if the tokenizer does not say; may be given several times",
    )
    file = command.add_argument(
        "--output",
        dest="file",
        required=True,
        metavar="FILE",
        help="where to; a build that was interrupted goes on from what is there",
    )
    completes(file, FILES)
    number, seconds = partial(_bound, int), partial(_bound, float)
    most = "most memory (default: 500 MB)"
    command.add_argument("--max-bytes", type=number, metavar="N", help=most)
    command.add_argument("--max-seconds", type=seconds, metavar="S", help="most time")
    command.add_argument("--processes", type=int, metavar="N", help="default: one for each core")


def _bound(kind: type[int] | type[float], text: str) -> float:
    with suppress(ValueError):
        if (number := kind(text)) >= 0:
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")


def _index(options: argparse.Namespace) -> int:
    from cfgguide.compiler import compile
    from cfgguide.engine.precompute.ahead import DEFAULT_MAX_BYTES, precompute_masks, shown
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

    output = options.output
    grammar = grammar_of(options)
    tokenizer = tokenizer_for(grammar, options)
    eos = None if options.eos is None else [_token_id(tokenizer, name) for name in options.eos]
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=eos)
    index = compile(grammar, vocabulary, progress=output.progress)
    file = _IndexFile(index, options.file)
    max_bytes = DEFAULT_MAX_BYTES if options.max_bytes is None else options.max_bytes
    with shown(output.progress) as show, _interruptions() as check:

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
    n_bytes, reason = os.path.getsize(options.file), None
    output.say(str(precomputed))
    output.say(f"{options.file}: {n_bytes:,} bytes")
    if not index.n_entries:
        reason = _why_nothing(index, precomputed)
        output.note(f"cfgguide: no mask was made ahead: {reason}")
    made = {"grammar": options.grammar, "file": options.file, "n_file_bytes": n_bytes}
    output.document(made | {"reason": reason, "precomputed": precomputed})
    return YES if reason is None else NO


def _why_nothing(index: Index, precomputed: Precomputed) -> str:
    from cfgguide.engine.machine.lr_machine import LrMachine

    machine = index.machine
    if isinstance(machine, LrMachine) and machine.recognizer.indentation_rules is not None:
        return "with an indenter all masks depend on whole texts; they are made when needed"
    if precomputed.n_left:
        return "the bound came first; allow more bytes or seconds"
    return "each depends on more of a stack than is looked at; they are made when needed"


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
    token_id: int | None = tokenizer.get_vocab().get(name)
    if token_id is None:
        raise VocabularyError(f"the tokenizer has no token {name!r} for --eos")
    return token_id
