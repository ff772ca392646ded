"""A text as a model writes it, and what it has written.

In: the nodes of new tokens, from :mod:`cfgguide.models.decoding.loop`. Out: a :class:`Part` for
each piece of text, and a :class:`Generation` of the whole. :class:`TextSoFar` is one text: it
decodes its tokens, so that no piece ends inside a character, and decides where it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

from cfgguide.base.symbols import SYMBOLS
from cfgguide.engine.index.index import Index
from cfgguide.engine.machine.partial import Partial, Reading, n_kept
from cfgguide.errors import GenerationError
from cfgguide.guide.repetition import Loop
from cfgguide.models.decoding.prefix_tree import PrefixNode

T = TypeVar("T", covariant=True)


@dataclass(frozen=True)
class Generation(Generic[T]):
    """What a model wrote.

    Attributes
    ----------
    text : str
        The text, from `prefix` on and without the prompt. If it was cut inside a character, that
        part is missing.
    token_ids : tuple of int
        Its tokens, with EOS if the model wrote it.
    is_complete : bool
        Whether the text is a sentence of the grammar that the model ended with EOS, or that `until`
        ended. If not, the tokens ran out, and the text is the start of a sentence.
    n_model_calls : int
        How often the model was called.
    n_forced : int
        How many tokens were written without asking it, because nothing else could follow.
    log_probs : tuple of float, or None
        The model's log-probability of each new token among all tokens; NaN for those that it was
        not asked for. None unless `generate` was told to keep them.
    thinking : str
        The thinking before the answer, of :func:`cfgguide.thinking`; empty for all else.
    confidence : object
        How sure the model was: as the JSON of the text, with a
        :class:`~cfgguide.models.decoding.confidence.Confidence` for each value that is no object or
        array; of other texts one. None if the text is not complete, or `generate` was not told to.
    n_confidence_calls : int
        For how many texts the model was asked for that, beyond `n_model_calls`.
    notes : tuple of Loop
        Which loops were closed (:class:`cfgguide.integrations.Loop`), if `generate` was told to.
    usage : object
        What a server has counted of the request, with all of its texts; None without a server.
    """

    text: str
    token_ids: tuple[int, ...]
    is_complete: bool
    n_model_calls: int = 0
    n_forced: int = 0
    log_probs: tuple[float, ...] | None = None
    thinking: str = ""
    confidence: Any = None
    n_confidence_calls: int = 0
    notes: tuple[Loop, ...] = ()
    usage: Any = field(default=None, repr=False, compare=False)
    _parse: Callable[[str], Any] = field(default=str, repr=False, compare=False)

    @property
    def parsed(self) -> T:
        """The value of the text, as the table of :mod:`cfgguide.output_types` says.

        Raises
        ------
        GenerationError
            If the text is not complete.
        """
        if not self.is_complete:
            finish = ", or finish=True" if self.token_ids else ""  # not of a server
            raise GenerationError(
                f"the text was cut, so it has no value: give more max_new_tokens{finish}"
            )
        value: T = self._parse(self.text)
        return value


@dataclass(frozen=True)
class Part(Generic[T]):
    """A piece of a text that is being written.

    Attributes
    ----------
    text : str
        The new text; never half a character. When the text is complete, there is a last part that
        says so, mostly without any.
    """

    text: str
    _partial: Callable[[], Partial[T]] = field(repr=False, compare=False)

    @cached_property
    def partial(self) -> Partial[T]:
        """The value so far, up to the end of this part; made when it is asked for."""
        return self._partial()


class Stream(Generic[T]):
    """The parts of a text, one after the other, each as soon as it is written.

    A loop may be left at any time: then nothing more is written, unless :attr:`result` is asked
    for.

    Parameters
    ----------
    parts : iterator of Part
        The parts.
    result : callable
        Returns what was written, after the last part.
    """

    def __init__(self, parts: Iterator[Part[T]], result: Callable[[], Generation[T]]) -> None:
        self._parts = parts
        self._result = result

    def __iter__(self) -> Iterator[Part[T]]:
        return self

    def __next__(self) -> Part[T]:
        return next(self._parts)

    @property
    def result(self) -> Generation[T]:
        """The whole text and its value; what is left of it is written first."""
        for _ in self._parts:
            pass
        return self._result()


class Pieces:
    """What has been written of a text, piece by piece, for its value so far.

    Parameters
    ----------
    reading : callable
        Begins to read it.
    machine : machine, or None
        What reads it too, and knows more; None only for what is its own value.
    first : str
        What it begins with.
    """

    def __init__(self, reading: Callable[[], Reading], machine: Any, first: str = "") -> None:
        self._begin = reading
        self._reading = reading()
        self._machine = machine
        self._pieces = [first]
        self._n_read = 0

    def add(self, piece: str) -> None:
        """Add a piece."""
        self._pieces.append(piece)

    def partial(self, configuration: Any) -> Callable[[], Partial[Any]]:
        """Return what makes the value so far when it is asked for, given where the machine is."""
        return partial(self._partial, len(self._pieces), configuration)

    def _partial(self, n_pieces: int, configuration: Any) -> Partial[Any]:
        if n_pieces < self._n_read:  # of a part before one that was asked for
            self._reading, self._n_read = self._begin(), 0
        for piece in self._pieces[self._n_read : n_pieces]:
            self._reading.feed(piece)
        self._n_read = n_pieces
        return self._reading.partial(self._machine, configuration)


class TextSoFar:
    """One text: what has been written of it, and whether it ends there.

    Parameters
    ----------
    index : Index
        What it is written with.
    root : PrefixNode
        Where it begins.
    prefix : str
        What it begins with.
    until : callable, optional
        Says of a sentence whether the text ends there.
    stops : sequence of str
        Before the first of these that is written the text ends.
    reading : callable
        Begins to read it for its value so far.

    Attributes
    ----------
    node : PrefixNode
        Where it is.
    text : str
        The text so far.
    is_complete : bool
        Whether it is a sentence that the model or `until` has ended.
    """

    def __init__(
        self,
        index: Index,
        root: PrefixNode,
        prefix: str,
        until: Callable[[str], bool] | None,
        stops: Sequence[str],
        reading: Callable[[], Reading],
    ) -> None:
        self._index = index
        self._until = until
        self._stops = stops
        self._held = ""  # which may begin a stop
        #: Of nodes without half a character: how long the text is, and where the machine is.
        self._marks = [(len(prefix), root.step.configuration)]
        self._decoder = index.vocabulary.text_decoder()
        self.node = self.root = root
        self.text = prefix
        self.piece = ""
        self.is_complete = root.is_finished
        self._pieces = Pieces(reading, index.machine, prefix)

    def add(self, node: PrefixNode) -> bool:
        """Add the last token of a node; return whether the text ends there."""
        assert node.parent is not None, "a root has no new token"
        self.node = node
        token = self._index.vocabulary.tokens[node.token_id] or b""
        # Less what heals the prompt.
        piece = self._decoder.decode(token[len(node.parent.left) :])
        is_stopped = bool(self._stops) and self._is_stopped(piece, token, node)
        if not self._stops:
            self._add(piece)
        if is_stopped:
            return True
        if node.is_finished:
            self.is_complete = True
        elif self._until is not None and not node.left:
            is_sentence = self._index.machine.is_sentence(node.step.configuration)
            self.is_complete = is_sentence and self._until(self.text + self._held)
        if self.is_complete:
            self.flush()
        return self.is_complete

    def _add(self, piece: str) -> None:
        self.piece = piece
        self.text += piece
        self._pieces.add(piece)

    def flush(self) -> str:
        """Add what was held back, as nothing follows any more; return it."""
        held, self._held = self._held, ""
        if held:
            self.piece += held
            self.text += held
            self._pieces.add(held)
        return held

    def _is_stopped(self, piece: str, token: bytes, node: PrefixNode) -> bool:
        """Add a piece as far as it begins no stop; return whether there is one."""
        text = self._held + piece
        places = [place for stop in self._stops if (place := text.find(stop)) >= 0]
        if places:
            self._held = ""
            self._add(text[: min(places)])
            self.is_complete = self._is_sentence()
            return True
        begin = len(text) - n_kept(text, self._stops)
        self._held = text[begin:]
        self._add(text[:begin])
        if piece and (piece.encode().endswith(token) or token[0] in SYMBOLS):
            self._marks.append((len(self.text) + len(self._held), node.step.configuration))
        return False

    def _is_sentence(self) -> bool:
        """Return whether the text, which was cut, is a sentence."""
        machine = self._index.machine
        place, configuration = [mark for mark in self._marks if mark[0] <= len(self.text)][-1]
        after = machine.read(configuration, self.text[place:].encode())
        return after is not None and machine.is_sentence(after)

    def partial(self) -> Callable[[], Partial[Any]]:
        """Return what makes the value so far, when it is asked for."""
        return self._pieces.partial(self.node.step.configuration)
