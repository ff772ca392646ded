r"""Tries a stranger's request in a process that may die, before the server touches it.

In: the kind of a request and its text. Out: nothing, or the error that it is refused with. What
crosses is JSON. There is one *nursery* for a backend, a process that has the vocabulary and
everything imported, and one thread. For each request it forks a child, which compiles what is
asked for as the backend would, makes masks (:func:`walk`), and tells how that ended. The system
holds the child to its limits, whatever the child does: its address space may grow by twice
`max_memory`, and it has `max_seconds` of the processor for compiling and as many for masks. If it
overstays, or nobody waits for it any more, it is killed. ::

    backend --- a socket ---> nursery --- fork ---> child
       \------------- another one for each request -------------/

What passes is then compiled by the backend: in milliseconds where the child has put the tables into
the user's cache, else once more, which takes what it took the child. So a child finds what freezes,
crashes or fills a process, and what would fail in the middle of a text; it saves no time.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import logging
import math
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cfgguide.base.async_abort import address_space
from cfgguide.base.limits import Limits
from cfgguide.base.locks import new_lock
from cfgguide.engine.index.index import Index
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.monitors.watched_machine import WatchedMachine
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import CfgGuideError, LimitError
from cfgguide.grammar.grammar import Grammar
from cfgguide.guide.budget import TokenBudget
from cfgguide.guide.guide import Guide

if TYPE_CHECKING:
    from cfgguide.models.serving.backend import Backend

#: New masks that a child makes at most; and where only the names are a stranger's, which come soon.
N_MASKS, _N_MASKS_OF_NAMES = 128, 48
_LENGTH = 32  # tokens of a walk
_MOST_WALKS = 16
#: Seconds of the processor for one mask of a stranger's: all clients of a server wait for it.
MASK_SECONDS = 0.3
_ASKED_EVERY = 0.02  # seconds until who waits is asked whether to go on
_PATIENCE = 8  # as long a child may take as it may compute: others may keep the processors busy
_A_MOMENT = 2  # seconds in which a nursery ends
#: Those whose texts are being written come first. Beside four children on two busy cores, another
#: process had 0.14 of a core by 5, 0.24 by 10, 0.26 by 19; each child had 0.06, 0.04, 0.03.
_NICE = 10
#: Those that take more than a new request mostly does step back further: beside four that take
#: long, one that does not would have a fifth of what is left.
_NICER, _STEPS_BACK_AFTER = 9, 0.15  # seconds of the processor
_MAX_SAID = 4_000  # characters of an error
_MAX_LEFT_OUT, _MAX_WHY = 16, 160  # parts of a request that a client is told of; characters of each
_REMEMBERED = 5_000  # verdicts
_REFUSED_FOR = 60.0  # seconds: on another minute the machine may be less busy
#: Requests that need most of what others share.
_SHARED = (
    ("json", '{"properties": {"a": {"type": "number"}, "b": {"items": {"pattern": "^a+$"}}}}'),
    ("regex", "(?=[a-z]*b)[a-z]+"),
    ("grammar", 'start: "a" /b+/'),
)


#: Parts of a request that are not enforced: the path of each, and why.
LeftOut = tuple[tuple[str, str], ...]


class Passed(NamedTuple):
    """That a request is harmless: the seconds of compiling it, and what its client is to know."""

    seconds: float
    left_out: LeftOut = ()


class Verdicts:
    """What is known of requests, the last ones: thread-safe, and empty in another process.

    A verdict is that of what was tried, or the error with which a request is refused.
    """

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: OrderedDict[bytes, tuple[float, Passed | CfgGuideError]] = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        return Verdicts, ()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, key: bytes) -> Passed | CfgGuideError | None:
        """Return the verdict on a request, by its :func:`key_of`; None if there is none."""
        with self._lock:
            ends, verdict = self._known.get(key, (0.0, None))
            if verdict is None or time.monotonic() > ends:
                return None
            self._known.move_to_end(key)
        return verdict if isinstance(verdict, Passed) else type(verdict)(*verdict.args)

    def note(self, key: bytes, verdict: Passed | CfgGuideError, seconds: float = math.inf) -> None:
        """Remember a verdict for some seconds."""
        with self._lock:
            self._known[key] = time.monotonic() + seconds, verdict
            self._known.move_to_end(key)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)


def left_out_of(grammar: Grammar) -> LeftOut:
    """Return what a client is told of what is not enforced.

    Examples
    --------
    >>> import cfgguide
    >>> left_out_of(cfgguide.json_schema({"x-order": 1}, tidy=True))
    ()
    """
    left_out: LeftOut = getattr(grammar, "left_out", ())
    told = [(path[:_MAX_WHY], why[:_MAX_WHY]) for path, why in left_out[:_MAX_LEFT_OUT]]
    n_more = len(left_out) - len(told)
    return (*told, *([("/", f"and {n_more} more")] if n_more else []))


def key_of(kind: str, text: str) -> bytes:
    """Return under what the verdict on a request is kept."""
    return hashlib.sha256(f"{kind}\n{text}".encode("utf-8", "surrogatepass")).digest()


class Isolation:
    """Asks children whether requests are harmless; thread-safe.

    Parameters
    ----------
    vocabulary : Vocabulary
        That of the backend.
    limits : Limits
        What a child may take.
    verdicts : Verdicts, optional
        Of the backend.
    options : dict
        Of the backend, as :class:`Backend <cfgguide.serving.Backend>` takes them.
    """

    is_possible = hasattr(os, "fork") and hasattr(socket, "send_fds")

    def __init__(
        self,
        vocabulary: Vocabulary,
        limits: Limits,
        *,
        verdicts: Verdicts | None = None,
        **options: Any,
    ) -> None:
        if not self.is_possible:
            raise CfgGuideError("isolate=True needs a system that forks; leave it out")
        self._limits = limits
        self._verdicts = Verdicts() if verdicts is None else verdicts
        self._nursery = _Nursery(vocabulary, {**options, "limits": limits})
        weakref.finalize(self, self._nursery.close)

    def try_request(
        self, kind: str, text: str, cancelled: Callable[[], bool] | None = None
    ) -> Passed:
        """Have a child compile a request and make masks of it; return what it says of it.

        What has passed is not tried again; what was refused is refused at once for a minute.

        Raises
        ------
        CfgGuideError
            What the child has raised; a :class:`LimitError` if it died or had to be killed.
        """
        key = key_of(kind, text)
        verdict = self._verdicts.of(key)
        if verdict is None:
            verdict = self._verdict(kind, text, cancelled)
            if isinstance(verdict, Passed):
                self._verdicts.note(key, verdict)
            elif cancelled is None or not cancelled():
                self._verdicts.note(key, verdict, _REFUSED_FOR)
        if isinstance(verdict, Passed):
            return verdict
        raise verdict

    def has_passed(self, kind: str, text: str) -> bool:
        """Return whether a request was tried and is harmless."""
        return isinstance(self._verdicts.of(key_of(kind, text)), Passed)

    def _verdict(
        self, kind: str, text: str, cancelled: Callable[[], bool] | None
    ) -> Passed | CfgGuideError:
        """Return what a child says of a request, or the error."""
        patience = _PATIENCE * 2 * self._limits.max_seconds
        here, there = socket.socketpair()
        here.settimeout(patience)
        with here:
            with there:
                self._nursery.send(there)
            with contextlib.suppress(OSError):  # a child that died reads nothing
                here.sendall(json.dumps([kind, text]).encode())
                here.shutdown(socket.SHUT_WR)
            said = b"".join(_said(here, time.monotonic() + patience, cancelled))
        pid, _, told = said.partition(b"\n")
        if told:
            seconds, name, *arguments = json.loads(told)
            if name:
                return _classes()[name](*arguments)
            return Passed(seconds, tuple((path, why) for path, why in arguments))
        if pid.isdigit():
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
        if cancelled is not None and cancelled():
            return LimitError("compiling was cancelled, at trying it in a process of its own")
        if not pid:
            raise LimitError("the process in which requests are tried has died; ask again")
        seconds = f"{2 * self._limits.max_seconds:g} seconds of the processor (max_seconds)"
        return LimitError(
            f"compiling and making {N_MASKS} masks takes more than {seconds}, or more memory than "
            "there may be (max_memory); simplify the grammar, or raise the limit"
        )


def _said(here: socket.socket, end: float, cancelled: Callable[[], bool] | None) -> Iterator[bytes]:
    """Yield what a child says until it has ended, or overstays, or nobody waits."""
    here.settimeout(_ASKED_EVERY)
    while time.monotonic() < end and not (cancelled is not None and cancelled()):
        try:
            part = here.recv(65536)
        except TimeoutError:
            continue
        except ConnectionResetError:  # it had not read all
            return
        if not part:
            return
        yield part


class _Nursery:
    """The process that forks children, begun when it is made, and again if somebody kills it.

    Parameters
    ----------
    vocabulary : Vocabulary
        That of the backend.
    options : dict
        Of the backend.
    """

    def __init__(self, vocabulary: Vocabulary, options: dict[str, Any]) -> None:
        self._made_of = vocabulary, options
        self._lock = new_lock()
        self._socket, self._process = self._begun()

    def send(self, there: socket.socket) -> None:
        """Have it fork a child that talks through a socket."""
        with self._lock:
            for _ in range(2):
                try:
                    socket.send_fds(self._socket, [b"."], [there.fileno()])
                    return
                except OSError:
                    self.close()
                    self._socket, self._process = self._begun()
        raise LimitError("the process in which requests are tried dies; ask again")

    def close(self) -> None:
        """End it, unless a fork of this process still has the socket."""
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_A_MOMENT)

    def _begun(self) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        """Begin it, without waiting until it is ready; return the socket to it."""
        here, there = socket.socketpair()
        code = (
            f"import sys; sys.path[:] = {sys.path!r}\n"
            f"from {__name__} import keep_nursery\n"
            f"keep_nursery({there.fileno()})"
        )
        alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        with there, tempfile.TemporaryFile() as file:
            pickle.dump(self._made_of, file)
            file.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", code],
                stdin=file,
                stdout=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                env={**os.environ, **alone},
            )
        return here, process


def keep_nursery(descriptor: int) -> None:
    """Fork a child for each socket that arrives, until nobody can send one any more."""
    from cfgguide.models.serving.backend import Backend

    vocabulary, options = pickle.load(sys.stdin.buffer)  # the server's own
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children
    logging.disable()  # the server logs what it compiles
    os.nice(_NICE)
    backend = Backend(vocabulary, **options)
    for kind, text in _SHARED:  # what all requests share is made, and imported
        walk(backend.index(kind, text), 32)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as asking:
        while True:
            _, descriptors, _, _ = socket.recv_fds(asking, 1, 1)
            if not descriptors:
                return
            if not os.fork():
                asking.close()
                _answer(descriptors[0], backend, options["limits"])
            os.close(descriptors[0])


def _answer(descriptor: int, backend: Backend, limits: Limits) -> None:
    """Read a request, try it, tell how that ended; never return."""
    try:
        _hold_to(limits)
        with socket.socket(fileno=descriptor) as asking:
            asking.sendall(b"%d\n" % os.getpid())
            kind, text = json.loads(b"".join(iter(lambda: asking.recv(65536), b"")))
            asking.sendall(json.dumps(_told(backend, kind, text)).encode())
    finally:
        os._exit(0)


def _hold_to(limits: Limits) -> None:
    """Have the system end this process if it takes more than it may."""
    import resource

    if limits.max_memory is not None and (taken := address_space()):
        most = taken + 2 * limits.max_memory  # of which not all is used
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    seconds = math.ceil(2 * limits.max_seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, lambda *_: os.nice(_NICER))
    signal.setitimer(signal.ITIMER_PROF, _STEPS_BACK_AFTER)


def _told(backend: Backend, kind: str, text: str) -> tuple[Any, ...]:
    """Return the seconds of compiling, the class of an error or "", and what goes with either."""
    try:
        index = backend.index(kind, text)
        seconds = time.process_time()  # of this child, which has done nothing else
        has_names = isinstance(index.machine, WatchedMachine)
        n_masks = _N_MASKS_OF_NAMES if has_names else N_MASKS
        walk(index, n_masks, most_seconds=backend.max_mask_seconds)
        left_out = backend.left_out(kind, text)
    except CfgGuideError as error:
        return 0.0, type(error).__name__, *(str(each)[:_MAX_SAID] for each in error.args)
    except (MemoryError, RecursionError) as error:
        what = "memory (max_memory)" if isinstance(error, MemoryError) else "nesting"
        message = f"the request needs too much {what}; simplify the grammar"
        return 0.0, LimitError.__name__, message
    except Exception as error:  # a defect: not to be told as a limit, which silence stands for
        what = f"{type(error).__name__}: {error}"[:_MAX_SAID]
        return 0.0, CfgGuideError.__name__, f"trying the request failed, please report it: {what}"
    return seconds, "", *left_out


def _classes() -> dict[str, type[CfgGuideError]]:
    """Return our errors by name."""
    found = [CfgGuideError]
    for each in found:
        found += each.__subclasses__()
    return {each.__name__: each for each in found}


def walk(index: Index, n_masks: int = N_MASKS, most_seconds: float = math.inf) -> None:
    """Make masks of an index, as texts would need that mean no good.

    The first text is a short one, from its beginning to its end. Others begin with a part of it,
    so that no word before what costs much can hide that. They go on by a token of an ending, the
    last token again, one of the first, which are mostly single characters, or any; now and then, a
    way to an end is looked for.

    Raises
    ------
    CfgGuideError
        If one of the masks or endings takes more than the limits, or a mask `most_seconds`.
    """
    chance = random.Random(0)
    index.allowed(index.start)  # the first one counts as compiling, and may take as long
    n_masks += index.n_made
    guide = Guide(index)
    short = _ending(guide)[:n_masks]
    for token_id in short:
        _bitmask(guide, most_seconds)
        guide.advance(token_id)
    for number in range(_MOST_WALKS):
        guide = Guide(index)
        for token_id in short[: number * len(short) // _MOST_WALKS]:
            guide.advance(token_id)
        for n in range(_LENGTH):
            bitmask = _bitmask(guide, most_seconds)
            words = np.flatnonzero(bitmask)
            if guide.is_finished or index.n_made > n_masks or not len(words):
                break
            way = number % 4 if n % 8 else number // 4 % 4
            ending = _ending(guide) if way == 0 else ()
            if ending:
                guide.advance(ending[0])
            elif way != 1 or not n or not guide.try_advance(guide.last_token_id):
                few = words[: 1 + len(words) // 100] if way == 2 else words
                word = int(chance.choice(few))
                bits = np.flatnonzero(bitmask[word] >> np.arange(32, dtype=np.int32) & 1)
                guide.advance(32 * word + int(chance.choice(bits)))


def _bitmask(guide: Guide, most_seconds: float) -> Int32Array:
    """Return a mask, unless it takes too long: the limits of a step are those of compiling."""
    begun = time.thread_time()
    bitmask = guide.bitmask()
    if time.thread_time() - begun > most_seconds:
        raise LimitError(takes_long("a mask", most_seconds))
    return bitmask


def takes_long(what: str, seconds: float) -> str:
    """Return the message for what others of a server would wait for too long."""
    return (
        f"{what} takes more than {seconds:.3g} seconds of the processor, and all who are served "
        "wait for it; simplify what is asked for, or raise the limit (max_mask_seconds, or "
        "CFGGUIDE_MASK_SECONDS in the environment of the server)"
    )


def _ending(guide: Guide) -> tuple[int, ...]:
    """Return an ending as a server looks for one: the one that is found first."""
    found = None if guide.is_finished else TokenBudget.of(guide.index).way_out(guide.step)
    return found or ()
