r"""Loops in what a model writes freely: found, and closed by the grammar's own ending.

In: the text of a sequence as it grows. Out: a narrower mask while a loop is closed, and the
:class:`Loop` that was; and for free tokens, what :class:`Repetition` takes off their probability.

A text *loops* if its end has a period, so often and so long as the thresholds say. The machine
tells what repeats: bytes of one lexeme, or more. A loop in a lexeme is closed by what leaves the
lexeme; any other one by what leaves the innermost part that all of it stands in: the array whose
items repeat, the object whose members do. So does a loop in an item if there was one in another
item of the same array. Where no byte leaves the part at once, what repeats goes on up to where one
does, or else the tokens of the shortest ending come; from there on the text goes on. ::

    {"a": [7, 7, 7, 7, 7     loops with the period `, 7`, in an array: only `]` may follow
    {"a": [7, 7, 7, 7, 7]    closed: `}`, or `, "b": ...`

Of the end of a text, `rfind` gives the last place where its last bytes stood before, and so the
smallest distance that may be a period; a comparison decides. Nothing is kept from token to token,
so a text may part, go back, or be read again.

A position is *free* inside of a lexeme that at least ten bytes may go on: a string, a number, a
comment, a name. All else is structure, or forced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.base.bounded import BoundedDict
from cfgguide.engine.index.index import Index
from cfgguide.engine.index.memo import Step
from cfgguide.engine.machine.partial import Path, Reading, TextReading
from cfgguide.engine.machine.protocol import ShowsParts
from cfgguide.engine.masks.subset import Int32Array, bitmask_of, token_ids_in
from cfgguide.errors import GenerationError, LimitError, shown
from cfgguide.guide.budget import TokenBudget

_FREE = 10  # bytes that may go on a lexeme: as many as there are digits
_STRUCTURE = -1  # in place of a token that was not free
_LESS = 4  # times as short as the first one are loops in a text where one was closed
_FEW = 2  # characters, at least
_MAX_REMEMBERED = 1_000  # configurations
_MAX_SETS = 64  # of bytes that go on a lexeme
_BYTES = [bytes([byte]) for byte in range(256)]

Float64Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Repetition:
    """What is done about repetition in strings, numbers, comments, names and arrays.

    Attributes
    ----------
    repeats : int or None
        How often a text has to stand there, one after the other, to be a loop that is closed; at
        least 2. None closes none.
    characters : int
        How long all of it has to be, too; at least 2. In a text where a loop was closed, a quarter
        of that is enough for the next ones.
    penalty : float
        What the probability of a free token is divided by that stands in free text already; at
        least 1.
    no_repeat_ngram : int
        No so many free tokens in a row come twice; 0 is without this.
    min_p : float
        A free token has at least this share of the probability of the likeliest one.

    Raises
    ------
    GenerationError
        If one of them is out of its range.

    Examples
    --------
    >>> Repetition(characters=100)
    Repetition(repeats=3, characters=100, penalty=1.0, no_repeat_ngram=0, min_p=0.0)
    """

    repeats: int | None = 3
    characters: int = 160
    penalty: float = 1.0
    no_repeat_ngram: int = 0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        for name, kind, least, most in (
            ("repeats", Integral, 2, np.inf),
            ("characters", Integral, 2, np.inf),
            ("penalty", Real, 1, np.inf),
            ("no_repeat_ngram", Integral, 0, np.inf),
            ("min_p", Real, 0, 1),
        ):
            value: Any = getattr(self, name)
            if name == "repeats" and value is None:
                continue
            is_number = isinstance(value, kind) and not isinstance(value, bool)
            if not (is_number and least <= float(value) <= most):
                what = "a whole number" if kind is Integral else "a number"
                bounds = f"from {least} up" if most == np.inf else f"from {least} to {most}"
                raise GenerationError(f"{name} is {shown(value)}; it is {what} {bounds}")

    @property
    def weighs(self) -> bool:
        """Whether the probabilities of free tokens change."""
        return self.penalty > 1 or self.no_repeat_ngram > 0 or self.min_p > 0

    @classmethod
    def of(cls, option: object) -> Repetition | None:
        """Return what an option says: True is the default, False and None are nothing.

        Raises
        ------
        GenerationError
            If it is something else.
        """
        if isinstance(option, Repetition):
            return option
        if option is None or isinstance(option, bool):
            return cls() if option else None
        raise GenerationError(
            f"repetition is {shown(option)}; it is True, False, or cfgguide.Repetition(...)"
        )


@dataclass(frozen=True)
class Loop:
    """A loop that was closed.

    Attributes
    ----------
    path : tuple of (str or int)
        The names and numbers that lead to what looped, in JSON and in the arguments of a call;
        empty of other texts, and of a value that is all there is.
    character : int
        Where the repetition begins in the text.
    period : str
        What is repeated.
    repeats : int
        How often it stood there.

    Examples
    --------
    >>> print(Loop(("tags", 0), 12, "ha", 100))
    a loop in tags[0] was closed: from character 12 on, 'ha' stood there 100 times
    """

    path: Path
    character: int
    period: str
    repeats: int

    def __str__(self) -> str:
        steps = [f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.path]
        name = "".join(steps).removeprefix(".") or "the text"
        return (
            f"a loop in {name} was closed: from character {self.character} on, {self.period!r} "
            f"stood there {self.repeats} times"
        )


class Open(NamedTuple):
    """A part that is to be left, and the period of what repeats in it.

    `floor` is the height below which it has been left; None of a lexeme, which has been left when
    no byte goes on with it.
    """

    floor: int | None
    period: int


class Written(NamedTuple):
    """What has been written of a text, as far as repetition is asked about.

    Attributes
    ----------
    data : bytes
        The text.
    begin : int
        Where a loop may begin: behind the one before.
    part : Open or None
        What is being left.
    loops : tuple of Loop
        Those found so far.
    tokens : tuple of int
        The free tokens in turn, and `_STRUCTURE` for others; empty unless they are weighed.
    """

    data: bytes
    begin: int = 0
    part: Open | None = None
    loops: tuple[Loop, ...] = ()
    tokens: tuple[int, ...] = ()


def looping(data: bytes, repeats: int, characters: int) -> tuple[int, int] | None:
    """Return the period of the end of a text, and where the end begins that has it; or None.

    Examples
    --------
    >>> looping(b"so ha ha ha ha", repeats=3, characters=9)
    (3, 2)
    >>> looping(b"so ha ha ha ha", repeats=5, characters=9) is None
    True
    """
    n = len(data)
    # Each of these repetitions has its last bytes twice, the period apart.
    probe = data[n - characters // 2 :]
    place = data.rfind(probe, 0, n - 1) if characters <= n else -1
    while place >= 0:
        period = n - len(probe) - place
        begin = n - max(repeats * period, characters)
        if begin < 0:
            return None  # and a longer period needs more
        if data[begin + period :] == data[begin : n - period]:
            while begin and data[begin - 1] == data[begin - 1 + period]:
                begin -= 1
            if sum(byte & 0xC0 != 0x80 for byte in data[begin:]) >= characters:
                return period, begin
        place = data.rfind(probe, 0, place + len(probe) - 1)
    return None


def _is_next_item(loop: Loop, others: tuple[Loop, ...]) -> bool:
    """Return whether a loop is in an item of an array in another item of which there was one."""
    *array, last = loop.path or ("",)
    items = (each.path[-1] for each in others if [*each.path[:-1]] == array and each.path)
    return isinstance(last, int) and any(isinstance(item, int) for item in items)


class Loops:
    """Finds and closes loops, and weighs free tokens, in texts of one index.

    Parameters
    ----------
    index : Index
        What is written.
    repetition : Repetition
        What is done.
    reading : callable
        Begins to read a text for its value so far, which tells the way to what loops.

    Raises
    ------
    GenerationError
        If the machine does not show its parts.
    """

    def __init__(
        self, index: Index, repetition: Repetition, reading: Callable[[], Reading] | None = None
    ) -> None:
        machine: object = index.machine
        if not isinstance(machine, ShowsParts):
            raise GenerationError(
                f"the machine {type(machine).__name__} does not tell what is free text: it has no "
                "methods height() and goes_on(); generate without repetition"
            )
        self._parts: ShowsParts = machine
        self._machine = index.machine
        self._index = index
        self._repetition = repetition
        output = index.output_type
        self._begin_reading = reading or (output.reading if output else TextReading)
        self._inside: BoundedDict[Any, bytes] = BoundedDict(_MAX_REMEMBERED)
        self._free: BoundedDict[bytes, npt.NDArray[np.bool_]] = BoundedDict(_MAX_SETS)

    # -- the text ---------------------------------------------------------------------------

    def after(self, written: Written, before: Step, token_id: int, piece: bytes) -> Written:
        """Return what has been written after one more token.

        Parameters
        ----------
        written : Written
            Before it.
        before : Step
            Where the index was before it.
        token_id : int
            The token.
        piece : bytes
            What it adds to the text.
        """
        if self._repetition.weighs:
            free = self._free_tokens(before.configuration)
            is_free = free is not None and bool(free[token_id])
            tokens = (*written.tokens, token_id if is_free else _STRUCTURE)
            written = written._replace(tokens=tokens)
        if self._repetition.repeats is None or not piece:
            return written
        begun, written = written.data, written._replace(data=written.data + piece)
        if written.part is not None:
            if self._n_to_leave(before.configuration, piece, written.part) is None:
                return written
            return written._replace(part=None, begin=len(begun))
        characters = self._repetition.characters
        if written.loops:  # then there is less room for doubt, and for the rest
            characters = max(_FEW, characters // _LESS)
        found = looping(written.data[written.begin :], self._repetition.repeats, characters)
        if found is None:
            return written
        period, begin = found[0], found[1] + written.begin
        part = self._part(written.data, begin + period, period)
        if part is None:  # nothing that could be closed: looked at again when it has come anew
            return written._replace(begin=len(written.data))
        loop = self._loop(written.data, begin, period)
        if part.floor is None and _is_next_item(loop, written.loops):
            whole = self._machine.read(self._machine.initial, written.data)
            part = part._replace(floor=self._parts.height(whole) - 1)
        return written._replace(part=part, loops=(*written.loops, loop))

    def _part(self, data: bytes, begin: int, period: int) -> Open | None:
        """Return what the bytes from a place on stand in; None if that is the whole text."""
        try:
            configuration = self._machine.read(self._machine.initial, data[:begin])
            is_lexeme, floor, heights = True, self._parts.height(configuration), {}
            for byte in data[begin:]:
                is_lexeme = is_lexeme and self._parts.goes_on(configuration, byte)
                configuration = self._machine.read(configuration, _BYTES[byte])
                if configuration not in heights:
                    heights[configuration] = self._parts.height(configuration)
                    floor = min(floor, heights[configuration])
        except LimitError:  # of a grammar that leaves open how the text is read
            return None
        if is_lexeme:
            return Open(None, period)
        is_inside = floor > self._parts.height(self._machine.initial)
        return Open(floor, period) if is_inside else None

    def _loop(self, data: bytes, begin: int, period: int) -> Loop:
        first, repeated = data[:begin].decode(errors="ignore"), data[begin:]
        # A period may begin amid a character, and then all of them do.
        shift = next((n for n in range(period) if repeated[n] & 0xC0 != 0x80), 0)
        reading = self._begin_reading()
        ways = []
        for piece, end in ((first, begin), (data[len(first.encode()) :], len(data))):
            text = piece if isinstance(piece, str) else piece.decode(errors="ignore")
            reading.feed(text)
            configuration = self._machine.read(self._machine.initial, data[:end])
            ways.append(reading.partial(self._machine, configuration).growing or ())
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(*ways, strict=False))
        text = repeated[shift : shift + period].decode(errors="replace")
        path = tuple(step for step, _ in alike)
        place = len(data[: begin + shift].decode(errors="replace"))
        return Loop(path, place, text, len(repeated) // period)

    # -- the ending -------------------------------------------------------------------------

    def _read(self, configuration: Any, byte: int) -> Any:
        """Return the configuration after a byte; None if there is none, or too many ways to it."""
        try:
            return self._machine.read(configuration, _BYTES[byte])
        except LimitError:
            return None

    def _has_left(self, configuration: Any, byte: int, after: Any, part: Open) -> bool:
        """Return whether a byte, after which a machine is there, has left a part."""
        if part.floor is not None:
            return self._parts.height(after) < part.floor
        if not self._parts.goes_on(configuration, byte):
            return True
        return not any(self._parts.goes_on(after, each) for each in range(256))

    def _n_to_leave(self, configuration: Any, data: bytes, part: Open) -> int | None:
        """Return how many bytes of a text leave a part; None if they do not."""
        for n, byte in enumerate(data, 1):
            after = self._read(configuration, byte)
            if after is None or self._has_left(configuration, byte, after, part):
                return n
            configuration = after
        return None

    def narrowed(self, written: Written, step: Step, mask: Int32Array) -> Int32Array:
        """Return a mask with what leaves the part that loops, soonest; or the mask as it is.

        Parameters
        ----------
        written : Written
            What has been written.
        step : Step
            Where the index is.
        mask : int32, shape (n_words,)
            What may come next.
        """
        if written.part is None:
            return mask
        configuration, vocabulary = step.configuration, self._index.vocabulary
        rows = vocabulary.tokens_by_first_byte
        narrow = np.zeros_like(mask)
        if not self._is_amid(written.part, configuration, written.data[-written.part.period]):
            if self._machine.is_sentence(configuration):
                narrow |= self._index.eos_bitmask
            for byte in self._leaving(configuration, written.part):
                narrow |= rows[byte]
        ending = TokenBudget.of(self._index).shortest(step) or ()
        if not (narrow & mask).any():
            text = self._once_more(written, configuration)
            if not text:
                text = vocabulary.spell(ending)
                text = text[: self._n_to_leave(configuration, text, written.part)]
            begun = token_ids_in(rows[text[0]] & mask).tolist() if text else []
            on_the_way = [each for each in begun if self._is_on(text, each)]
            narrow |= bitmask_of(on_the_way, vocabulary.n_words)
        # Its first token fits into every budget that allows any.
        narrow |= bitmask_of(ending[:1], vocabulary.n_words)
        narrow &= mask
        return narrow if narrow.any() else mask

    def _leaving(self, configuration: Any, part: Open) -> list[int]:
        """Return the bytes that leave a part at once."""
        reached = ((byte, self._read(configuration, byte)) for byte in range(256))
        return [
            byte
            for byte, after in reached
            if after is not None and self._has_left(configuration, byte, after, part)
        ]

    def _is_amid(self, part: Open, configuration: Any, byte: int) -> bool:
        """Return whether a byte goes on with an item of a part: with a number, mostly."""
        if part.floor is None or self._parts.height(configuration) <= part.floor:
            return False
        return self._parts.goes_on(configuration, byte)

    def _once_more(self, written: Written, configuration: Any) -> bytes:
        """Return how the period goes on up to where a byte leaves the part; empty if none does.

        So the item that has begun becomes what the ones before are, and not a piece of that.
        """
        part = written.part
        assert part is not None, "there is something to leave"
        period = written.data[-part.period :] if part.floor is not None else b""
        for n, byte in enumerate(period, 1):
            configuration = self._read(configuration, byte)
            if configuration is None:
                break
            if self._is_amid(part, configuration, period[n % len(period)]):
                continue
            if leaving := self._leaving(configuration, part):
                return period[:n] + bytes(leaving[:1])
        return b""

    def _is_on(self, text: bytes, token_id: int) -> bool:
        """Return whether a token spells a text, or the beginning of it."""
        token = self._index.vocabulary.tokens[token_id] or b""
        return text.startswith(token) or token.startswith(text)

    # -- free tokens ------------------------------------------------------------------------

    def _free_tokens(self, configuration: Any) -> npt.NDArray[np.bool_] | None:
        """Return which tokens go on with free text; None where there is none."""
        inside = self._inside.get(configuration)
        if inside is None:
            inside = bytes(each for each in range(256) if self._parts.goes_on(configuration, each))
            self._inside[configuration] = inside
        if len(inside) < _FREE:
            return None
        free = self._free.get(inside)
        if free is None:
            rows = self._index.vocabulary.tokens_by_first_byte[list(inside)]
            bits = np.unpackbits(np.bitwise_or.reduce(rows).view(np.uint8), bitorder="little")
            self._free[inside] = free = bits.astype(bool)
        return free

    def weighed(
        self, written: Written, step: Step, token_ids: npt.NDArray[np.int64], logits: Float64Array
    ) -> Float64Array:
        """Return logits with what the free tokens among some have lost.

        If that leaves none, as where a string needs more characters, they are returned as they are.

        Parameters
        ----------
        written : Written
            What has been written.
        step : Step
            Where the index is.
        token_ids : int64, shape (n_allowed,)
            The allowed tokens.
        logits : float64, shape (n_allowed,)
            What the model gives to them, up to a constant.
        """
        options = self._repetition
        free = self._free_tokens(step.configuration) if options.weighs else None
        if free is None:
            return logits
        is_free, changed = free[token_ids], logits.copy()
        if options.min_p:
            changed[is_free & (logits < logits.max() + np.log(options.min_p))] = -np.inf
        changed[is_free & np.isin(token_ids, written.tokens)] -= np.log(options.penalty)
        n = options.no_repeat_ngram - 1
        if n >= 0:
            last = written.tokens[len(written.tokens) - n :]
            ends = [
                written.tokens[place + n]
                for place in range(len(written.tokens) - n)
                if written.tokens[place : place + n] == last and _STRUCTURE not in last
            ]
            changed[is_free & np.isin(token_ids, ends)] = -np.inf
        return changed if changed.max() > -np.inf else logits
