"""States of texts, as values: what the monitors of bundled languages have in common.

In: what a text has so far. Out: values that are equal if what they say is, of whom a copy, a pickle
or the same text by other tokens is the same again. ::

    KeyedValue         equal by its key
    LanguageMonitor    keyed; it always leaves a way on
    FramedMonitor      with frames: what is open at a place, the outermost first
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, Generic, Self, TypeVar, cast

from cfgguide.engine.monitors.monitor import Monitor
from cfgguide.engine.monitors.text_sets import Texts

FrameT = TypeVar("FrameT")


class KeyedValue:
    """A value that equals another of its class by its key, whose hash is made once."""

    __slots__ = ("_hash", "_key")

    def __init__(self, *key: Hashable) -> None:
        self._key = key
        self._hash = hash(key)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, KeyedValue)
            and self._hash == other._hash
            and type(self) is type(other)
            and self._key == other._key
        )

    def __hash__(self) -> int:
        return self._hash

    def __setstate__(self, state: Any) -> None:
        attributes, slots = state if isinstance(state, tuple) else (state, None)
        for name, value in {**(attributes or {}), **(slots or {})}.items():
            setattr(self, name, value)
        self._hash = hash(self._key)  # hashes of texts differ from process to process


class LanguageMonitor(KeyedValue, Monitor):
    """A monitor whose key are its parameters, and that refuses what would leave no way on."""

    __slots__ = ("_answers",)

    def __init__(self, *key: Hashable) -> None:
        super().__init__(*key)
        self._answers: dict[str, Texts | None] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key

    @property
    def can_finish(self) -> bool:
        """True: what would leave no way on is refused."""
        return True

    def texts(self, terminal: str) -> Texts | None:
        """Return which texts of a terminal may stand here; None if all may."""
        if terminal not in self._answers:
            self._answers[terminal] = self._texts(terminal)
        return self._answers[terminal]

    @abstractmethod
    def _texts(self, terminal: str) -> Texts | None:
        """Return what :meth:`texts` returns; it is asked once."""


class FramedMonitor(LanguageMonitor, Generic[FrameT]):
    """A monitor with frames, which are named tuples: what is open, the outermost first."""

    __slots__ = ("frames",)
    frames: tuple[FrameT, ...]

    @abstractmethod
    def _with(self, frames: tuple[FrameT, ...], **changes: Any) -> Self:
        """Return the monitor with other frames, and changes to its other parameters."""

    @property
    def _top(self) -> FrameT:
        return cast(FrameT, self.frames[-1] if self.frames else None)

    def _pushed(self, frame: FrameT) -> Self:
        return self._with((*self.frames, frame))

    def _popped(self) -> Self:
        return self._with(self.frames[:-1])

    def _changed(self, **changes: Any) -> Self:
        """Return the monitor with a change to the frame on top."""
        top: Any = self._top
        return self._with((*self.frames[:-1], top._replace(**changes)))

    def _changed_at(self, place: int, **changes: Any) -> Self:
        frame: Any = self.frames[place]
        return self._replaced(place, frame._replace(**changes))

    def _replaced(self, place: int, frame: FrameT) -> Self:
        """Return the monitor with another frame at a place, which is counted from the outermost."""
        return self._with((*self.frames[:place], frame, *self.frames[place + 1 :]))
