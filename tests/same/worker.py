"""Writes texts with the package of one tree, and says at each place what may follow.

``python -I worker.py TREE TESTS`` imports `cfgguide` from the first folder, and a few classes that
are no part of it from the second. It is asked, and answers, in pickles (:mod:`same.process`).
Nothing of the package is used but public names, so that it runs with every revision.

A *tape* is what was written, for the other process to write it again: a tree of places, each with
the place before it and the token that leads there. So texts part, and one text is spelled in
several ways. A *note* is what is known of a place: :data:`FIELDS`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import random
import re
import resource
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

if __name__ == "__main__":  # -I leaves out the folder of the script and PYTHONPATH
    sys.path[:0] = [sys.argv[1]]
    sys.path.append(sys.argv[2])

import numpy as np
from support.indenters import BracketIndenter
from support.monitors import MONITORS

import cfgguide

#: What is said of a place, in turn.
FIELDS = ("mask", "accepts", "is_accepting", "expected", "within")
WITHIN = 8  # tokens of the budget
N_ASKED = 10  # tokens that are asked about at each place
NOT_ASKED = "not asked"
#: Of compiling what is drawn, and of each step.
LIMITS = cfgguide.Limits(max_seconds=5.0, max_memory=2_000_000_000)
#: What the package has itself is large, and compiled once for each vocabulary.
OWN = ("bundled", "python_names")
OWN_LIMITS = cfgguide.Limits(max_seconds=60.0, max_memory=2_000_000_000)
_N_KEPT = 8
MOST_SECONDS = 120  # of the processor, for all of an input: then even this process is too slow
N_END = 20  # tokens of an ending that are written
LIMIT, RAW, GONE = "limit: ", "raw: ", "gone"  # how what goes wrong is told
Job = dict[str, Any]
Source = dict[str, Any]


# --- Grammars -------------------------------------------------------------------------------------


def grammar_of(source: Source) -> Any:
    """Return the grammar of a source, as :class:`support.inputs.Input` describes it."""
    form, text, options = source["form"], source["text"], source.get("options", {})
    limits = LIMITS
    make: Callable[[], Any] = {
        "schema": lambda: cfgguide.json_schema(json.loads(text), limits=limits, **options),
        "regex": lambda: cfgguide.regex(text, **options),
        "choice": lambda: cfgguide.choice(json.loads(text)),
        "lark": lambda: cfgguide.Grammar(text, **options),
        "indented": lambda: cfgguide.Grammar(text, postlex=BracketIndenter),
        "watched": lambda: cfgguide.Grammar(text).watched_by(MONITORS[options["monitor"]]()),
        "gbnf": lambda: cfgguide.Grammar.gbnf(text, limits=limits),
        "ebnf": lambda: cfgguide.Grammar.ebnf(text, limits=limits),
        "w3c": lambda: cfgguide.Grammar.w3c(text, limits=limits),
        "llguidance": lambda: cfgguide.Grammar.llguidance(text, limits=limits),
        "bundled": lambda: cfgguide.Grammar.bundled(text, **options),
        "tag": lambda: cfgguide.structural_tag(json.loads(text), limits=limits),
        "tools": lambda: cfgguide.tools(json.loads(text), limits=limits, **options),
        "thinking": lambda: cfgguide.thinking(json.loads(text), **options),
        "parts": lambda: _of_parts(json.loads(text)),
        "runs_on": lambda: cfgguide.sql.runs_on(text, **options),
        "with_schema": lambda: cfgguide.sql.with_schema(cfgguide.Grammar.bundled("sql"), text),
        "python_names": lambda: cfgguide.monitors.python_names(json.loads(text)),
    }[form]
    return make()


def _of_parts(part: Any) -> Any:
    """Return a grammar of parts: a text, or a list of how they are put together and these."""
    if isinstance(part, str):
        return part
    how, *given = part
    if how == "source":
        return grammar_of(given[0])
    if how == "free":
        return cfgguide.free_text(**given[0])
    parts = [_of_parts(each) for each in given if not isinstance(each, int | None)]
    numbers = [each for each in given if isinstance(each, int | None)]
    return getattr(cfgguide.combinators, how)(*parts, *numbers)


# --- What is said of a place ----------------------------------------------------------------------


class TooSlowError(BaseException):
    """An input has taken too long; not an Exception, which something might catch."""


def told(error: BaseException) -> str:
    """Return what an error is: a limit, what the package says, or what it should not raise."""
    if isinstance(error, TooSlowError | MemoryError):
        return LIMIT + type(error).__name__
    if isinstance(error, cfgguide.errors.LimitError) or re.search(r"max_(seconds|mem)", str(error)):
        return LIMIT + type(error).__name__
    if isinstance(error, cfgguide.CfgGuideError):
        return type(error).__name__
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return f"{RAW}{type(error).__name__}: {str(error)[:100]} ({where})"


def asked(function: Callable[..., Any], *given: Any) -> Any:
    """Return what a function returns, or which error it raises."""
    try:
        return function(*given)
    except Exception as error:
        return told(error)


def digest(words: Any) -> str:
    return hashlib.blake2b(words.tobytes(), digest_size=8).hexdigest()


class Place:
    """A place of a tape, with the guide that is there; None if the token is refused."""

    def __init__(self, guide: Any, parent: int, token: int) -> None:
        self.guide, self.parent, self.token = guide, parent, token
        self.asked: list[int] = []
        self.asks_within = True
        self.note: tuple[Any, ...] | str | None = None  # a text: why it is not there


class Pen:
    """Writes the texts of one input.

    Parameters
    ----------
    grammar, index
        What is compiled.
    wants : str
        ``digests`` of masks, or the ``tokens`` in them.
    """

    def __init__(self, grammar: Any, index: Any, wants: str = "digests") -> None:
        self.vocabulary, self.wants = index.vocabulary, wants
        self._grammar = grammar
        self.places = [Place(cfgguide.Guide(index), -1, -1)]
        self.checked: list[tuple[bytes, Any]] = []
        self.seconds_within = 0.0

    def go(self, parent: int, token: int, rng: random.Random) -> int:
        """Write a token after a place, and return the new place."""
        place = Place(None, parent, token)
        if self.places[parent].guide is None:
            place.note = GONE
        else:
            guide = self._back(parent) if rng.random() < 0.2 else None
            guide = guide or self.places[parent].guide.copy()
            place.note = asked(guide.advance, token)
            place.guide = guide if place.note is None else None
        self.places.append(place)
        return len(self.places) - 1

    def _back(self, parent: int) -> Any:
        """Return a guide that has gone back to a place from the last one, if it is on the way."""
        here, n = len(self.places) - 1, 0
        while here > parent:
            here, n = self.places[here].parent, n + 1
        guide = self.places[-1].guide
        if here != parent or guide is None:
            return None
        guide = guide.copy()
        guide.rollback(n)
        return guide

    def tokens_to(self, number: int) -> list[int]:
        """Return the tokens that lead to a place."""
        found = []
        while number > 0:
            found.append(self.places[number].token)
            number = self.places[number].parent
        return found[::-1]

    def mask(self, number: int) -> Any:
        """Return the words of a mask, or the error."""
        out = np.empty(self.vocabulary.n_words, dtype=np.int32)
        error = asked(self.places[number].guide.fill_bitmask, out)
        return out if error is None else error

    def note(self, number: int) -> None:
        """Say of a place what may follow it."""
        place = self.places[number]
        guide = place.guide
        if guide is None:
            return
        mask = self.mask(number)
        started = time.process_time()
        within = asked(guide.allowed_within, WITHIN) if place.asks_within else NOT_ASKED
        self.seconds_within += time.process_time() - started
        accepts = [asked(guide.accepts, token) for token in place.asked]
        if self.wants == "digests":
            mask = mask if isinstance(mask, str) else digest(mask)
            within = within if isinstance(within, str) else digest(np.asarray(within, np.int64))
        else:
            mask = mask if isinstance(mask, str) else token_ids(mask).tolist()
            within = within if isinstance(within, str) else np.asarray(within).tolist()
        accepting = asked(lambda: bool(guide.is_accepting))
        place.note = (mask, accepts, accepting, asked(guide.expected), within)

    def check(self, text: bytes) -> None:
        """Say of a text whether it is a sentence."""

        def checked() -> tuple[bool, int, tuple[str, ...]]:
            found = cfgguide.check(self._grammar, text, limits=LIMITS)
            return found.is_sentence, found.offset, tuple(found.expected)

        self.checked.append((text, asked(checked)))

    def answer(self) -> dict[str, Any]:
        """Return the tape and what is said of it."""
        return {
            "tape": [(p.parent, p.token, p.asked, p.asks_within) for p in self.places],
            "notes": [place.note for place in self.places],
            "checked": self.checked,
        }


def token_ids(words: Any) -> Any:
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    return np.flatnonzero(bits)


def _sorts() -> Any:
    """Return the sort of each byte: a walk that chooses among sorts leaves strings and comments."""
    sorts = np.full(257, 8, dtype=np.int16)  # control characters, and beyond ASCII
    sorts[33:127] = 7
    for sort, members in enumerate((b"\n\r", b" \t", b"0123456789", b"([{<", b")]}>", b"\"'`")):
        sorts[list(members)] = sort
    sorts[ord("A") : ord("Z") + 1] = sorts[ord("a") : ord("z") + 1] = 6
    sorts[256] = 9  # the end
    return sorts


class Alphabet:
    """What walks know of a vocabulary: first bytes, and tokens by their bytes."""

    def __init__(self, vocabulary: Any) -> None:
        tokens = vocabulary.tokens
        self.sorts = _sorts()
        self.first = np.array([token[0] if token else 256 for token in tokens], dtype=np.int16)
        self.by_bytes = {token: number for number, token in enumerate(tokens) if token}
        self.longest = 12
        self.ends = np.array(vocabulary.eos_token_ids)

    def spelled(self, text: bytes, rng: random.Random) -> list[int]:
        """Return tokens that spell a text, in one of the many ways; no more than there are."""
        found = []
        while text:
            known = [text[:n] for n in range(1, self.longest) if text[:n] in self.by_bytes]
            if not known:
                break
            token = rng.choice(known)
            found.append(self.by_bytes[token])
            text = text[len(token) :]
        return found


class Walker:
    """Chooses what is written; its tape is what others write again."""

    def __init__(
        self, pen: Pen, alphabet: Alphabet, rng: random.Random, compiled_again: Callable[[], Any]
    ) -> None:
        self._pen, self._alphabet, self._rng = pen, alphabet, rng
        self._compiled_again = compiled_again
        self._endings: Any = None

    def walk(self, seconds: float, n_places: int, n_tokens: int) -> None:
        """Write texts until the time or the number of places is used up."""
        self._started = time.process_time()
        end = self._started + seconds
        pen, rng = self._pen, self._rng
        self._look(0)
        number = 0
        while len(pen.places) < n_places and (not number or time.process_time() < end):
            before = rng.randrange(len(pen.places)) if number and rng.random() < 0.4 else 0
            if pen.places[before].guide is not None:
                last = self._text(before, rng.randrange(2, n_tokens), end + seconds)
                if last is None:
                    break
                for _ in range(rng.choice((0, 0, 1, 3))):
                    last = self._echo(last)
                last = self._ending(last) if rng.random() < 0.5 else last
                if not number or rng.random() < 0.15:
                    self._check(last)
                if rng.random() < 0.5:
                    self._again(last)
            number += 1

    def _look(self, number: int) -> Any:
        """Say what may follow a place; return the tokens that may, or None."""
        pen, rng = self._pen, self._rng
        if pen.places[number].guide is None:
            return None
        mask = pen.mask(number)
        if isinstance(mask, str):
            pen.note(number)
            return None
        allowed = token_ids(mask)
        some = [int(rng.choice(allowed)) for _ in range(N_ASKED // 2)] if len(allowed) else []
        some += [rng.randrange(pen.vocabulary.size) for _ in range(N_ASKED - len(some))]
        pen.places[number].asked = some
        used = time.process_time() - self._started  # half of it is enough for budgets
        pen.places[number].asks_within = 2 * pen.seconds_within <= used + 0.2
        pen.note(number)
        return None if pen.places[number].guide.is_finished else allowed

    def _text(self, here: int, n: int, end: float) -> int | None:
        """Write up to so many tokens after a place; return where they end, None if they fail."""
        pen, rng = self._pen, self._rng
        manner = rng.choice((self._uniform, self._by_first_byte, self._by_sort, self._single))
        mask = pen.mask(here)
        allowed = None if isinstance(mask, str) else token_ids(mask)
        for _ in range(n):
            if allowed is None or not len(allowed) or time.process_time() > end:
                break
            if rng.random() < 0.95:  # not at its end
                going_on = allowed[~np.isin(allowed, self._alphabet.ends)]
                allowed = going_on if len(going_on) else allowed
            here = pen.go(here, int(manner(allowed)), rng)
            allowed = self._look(here)
        return here if pen.places[here].guide is not None else None

    def _echo(self, here: int) -> int:
        """Write a part of the text again, as far as it may come: names and items are remembered."""
        pen, rng = self._pen, self._rng
        tokens = pen.tokens_to(here)
        for _ in range(6 if tokens else 0):
            start = rng.randrange(len(tokens))
            if asked(pen.places[here].guide.accepts, tokens[start]) is True:
                break
        else:
            return here
        for token in tokens[start : start + rng.randrange(1, 12)]:
            if asked(pen.places[here].guide.accepts, token) is not True:
                break
            here = pen.go(here, token, rng)
            if self._look(here) is None:
                break
        return here if pen.places[here].guide is not None else pen.places[here].parent

    def _uniform(self, allowed: Any) -> int:
        return self._rng.choice(allowed)

    def _by_first_byte(self, allowed: Any) -> int:
        first = self._alphabet.first[allowed]
        byte = self._rng.choice(np.unique(first))
        return self._rng.choice(allowed[first == byte])

    def _by_sort(self, allowed: Any) -> int:
        """Choose what sort of byte comes, then the byte, then the token."""
        sorts = self._alphabet.sorts[self._alphabet.first[allowed]]
        return self._by_first_byte(allowed[sorts == self._rng.choice(np.unique(sorts))])

    def _single(self, allowed: Any) -> int:
        """Choose a token of one byte, if there is one."""
        token = self._by_sort(allowed)
        first = int(self._alphabet.first[token])
        single = self._alphabet.by_bytes.get(bytes([first])) if first < 256 else None
        return single if single is not None and single in set(allowed.tolist()) else token

    def _ending(self, number: int) -> int:
        """Write the shortest ending, if it is short; return where it ends.

        Another index is asked: what it remembers of endings may change what budgets allow, and the
        other side asks for none.
        """
        pen = self._pen
        if self._endings is None:
            self._endings = self._compiled_again()
        guide = cfgguide.Guide(self._endings)
        for token in pen.tokens_to(number):
            if asked(guide.advance, token) is not None:
                return number
        ending = asked(guide.shortest_completion)
        if isinstance(ending, str) or len(ending) > N_END:
            return number
        for token in ending:
            after = pen.go(number, token, self._rng)
            self._look(after)
            if pen.places[after].guide is None:
                break
            number = after
        return number

    def _check(self, number: int) -> None:
        """Have the text so far checked, and one that is near it."""
        text, rng = self._pen.places[number].guide.text, self._rng
        self._pen.check(text)
        place = rng.randrange(len(text) + 1)
        other = rng.choice((b"", b"a", b" ", b'"', b"\n", b"0", b"}", text[place : place + 1]))
        self._pen.check(text[:place] + other + text[place + rng.randrange(2) :])

    def _again(self, number: int) -> None:
        """Write the text of a place again, by other tokens."""
        pen, here = self._pen, 0
        for token in self._alphabet.spelled(pen.places[number].guide.text, self._rng):
            if asked(pen.places[here].guide.accepts, token) is not True:
                break
            here = pen.go(here, token, self._rng)
            self._look(here)
            if pen.places[here].guide is None:
                break


def follow(pen: Pen, job: Job) -> None:
    """Write what is on a tape, and say the same of it, in some order."""
    rng = random.Random(job["seed"])
    order = job["order"]
    for parent, token, tokens, asks_within in job["tape"]:
        number = pen.go(parent, token, rng) if parent >= 0 else 0
        pen.places[number].asked, pen.places[number].asks_within = tokens, asks_within
        if order == "visited":
            pen.note(number)
    numbers = list(range(len(pen.places)))
    if order == "backward":
        numbers.reverse()
    elif order == "shuffled":
        rng.shuffle(numbers)
    for number in numbers if order != "visited" else ():
        pen.note(number)


# --- The process ----------------------------------------------------------------------------------


class Worker:
    """Does what it is asked to."""

    def __init__(self) -> None:
        self._vocabularies: dict[str, Any] = {}
        self._alphabets: dict[str, Alphabet] = {}
        self._kept: dict[str, tuple[Any, Any]] = {}

    def vocabulary(self, given: Any) -> tuple[Any, Alphabet]:
        """Return a vocabulary, which is made once: of a file, or of what is sent."""
        name = given if isinstance(given, str) else hashlib.sha256(repr(given).encode()).hexdigest()
        if name not in self._vocabularies:
            if isinstance(given, str):
                given = pickle.loads(Path(given).read_bytes())
            self._vocabularies[name] = cfgguide.Vocabulary(
                given["tokens"],
                eos_token_ids=given["eos_token_ids"],
                special_tokens=given["special_tokens"],
            )
            self._alphabets[name] = Alphabet(self._vocabularies[name])
        return self._vocabularies[name], self._alphabets[name]

    def answer(self, job: Job) -> dict[str, Any]:
        """Do a job; whatever happens is told."""
        started = time.process_time()
        found: dict[str, Any] = {}
        try:
            with _at_most(MOST_SECONDS), warnings.catch_warnings(action="ignore"):
                found = getattr(self, f"_{job['do']}")(job)
        except (Exception, TooSlowError) as error:
            found = {"error": told(error), "message": str(error)[:300]}
            if found["error"].startswith(RAW):
                found["trace"] = traceback.format_exc()[-3000:]
        found["seconds"] = time.process_time() - started
        # Not the most that it ever had: that counts from the process that has started this one.
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        found["n_bytes"] = pages * resource.getpagesize()
        return found

    def _compiled(self, job: Job, use: str = "masks") -> tuple[Any, Any]:
        """Return a grammar and its index, which is kept if the package itself has the grammar."""
        vocabulary, _ = self.vocabulary(job["vocabulary"])
        source = job["source"]
        key = json.dumps([source, job["vocabulary"], use], default=str)
        found = self._kept.pop(key, None)
        if found is None:
            limits = OWN_LIMITS if source["form"] in OWN else LIMITS
            grammar = grammar_of(source)
            found = grammar, cfgguide.compile(grammar, vocabulary, limits=limits)
        if source["form"] in OWN:
            self._kept[key] = found
            if len(self._kept) > _N_KEPT:
                del self._kept[next(iter(self._kept))]
        return found

    def _pen(self, job: Job) -> Pen:
        return Pen(*self._compiled(job), job.get("wants", "digests"))

    def _walk(self, job: Job) -> dict[str, Any]:
        started = time.process_time()
        pen = self._pen(job)
        compiled = time.process_time() - started
        seconds = min(max(2 * compiled, job["seconds"]), 6 * job["seconds"])
        walker = Walker(
            pen,
            self.vocabulary(job["vocabulary"])[1],
            random.Random(job["seed"]),
            lambda: self._compiled(job, "endings")[1],
        )
        walker.walk(seconds, job["n_places"], job["n_tokens"])
        return pen.answer()

    def _follow(self, job: Job) -> dict[str, Any]:
        pen = self._pen(job)
        follow(pen, job)
        for text in job["texts"]:
            pen.check(text)
        return pen.answer()

    def _complete(self, job: Job) -> dict[str, Any]:
        """Return a whole text that begins with some tokens, and the tokens that it has after them.

        For the judge: it says what this side takes to be a sentence.
        """
        pen = self._pen(job)
        guide = pen.places[0].guide
        for token in job["tokens"]:
            guide.advance(token)
        text = guide.text
        if guide.is_finished:
            return {"text": text, "n": 0}
        ending = guide.shortest_completion()
        for token in ending:
            guide.advance(token)
        return {"text": guide.text, "n": len(ending)}

    def _spell(self, job: Job) -> dict[str, Any]:
        """Return the text of some tokens."""
        vocabulary, _ = self.vocabulary(job["vocabulary"])
        return {"text": b"".join(vocabulary.tokens[token] or b"" for token in job["tokens"])}


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise TooSlowError after so many seconds of the processor."""

    def stop(signal_number: int, frame: object) -> None:
        raise TooSlowError

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def receive(stream: BinaryIO) -> Any:
    """Return what is sent next; None at the end."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    (length,) = struct.unpack("<Q", head)
    body = stream.read(length)
    return pickle.loads(body) if len(body) == length else None


def send(stream: BinaryIO, what: Any) -> None:
    body = pickle.dumps(what)
    stream.write(struct.pack("<Q", len(body)) + body)
    stream.flush()


def main() -> None:
    tree = Path(sys.argv[1]).resolve()
    assert Path(cfgguide.__file__).resolve().is_relative_to(tree), cfgguide.__file__
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the keyboard: the parent ends this
    with os.fdopen(os.dup(0), "rb") as reading, os.fdopen(os.dup(1), "wb") as writing:
        silent = os.open(os.devnull, os.O_RDWR)
        os.dup2(silent, 0)
        os.dup2(silent, 1)
        worker = Worker()
        while (job := receive(reading)) is not None:
            send(writing, worker.answer(job))


if __name__ == "__main__":
    main()
