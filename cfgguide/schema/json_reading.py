r"""The value of a JSON text that is being written.

In: the text, piece by piece. Out: at any time what it means so far. It is read as a machine reads
it, from left to right and once: a stack of the objects and arrays that are open, and what is being
read in the topmost. ::

    {"name": "Ada", "tags": ["first", "sec    {"name": "Ada", "tags": ["first", "sec"]}
    {"name": "A\ud83d                         {"name": "A"}, half of a pair is no character
    {"age": 4                                 {}, it may become 42

A string of a schema's `enum` is shown when it is whole; the machine knows that it is reading one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from io import StringIO
from itertools import accumulate
from typing import Any

from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.engine.machine.partial import Partial, Path
from cfgguide.engine.machine.protocol import AnyMachine
from cfgguide.schema.automaton import SchemaAutomaton
from cfgguide.schema.equality import DEEP, hashable, loaded

_SPACES = " \t\n\r"
_PLAIN = re.compile(r'[^"\\]+')
_SCALAR = re.compile(r"[-+.0-9A-Za-z]+")  # a number, or a word such as `true`
_WORDS = frozenset(["true", "false", "null"])
# What may still become a character: an escape without its end, or one half of a pair.
_ESCAPE = re.compile(r"\\(?:[^u]|u[0-9a-fA-F]{4})")
_HIGH = re.compile(r"\\u[dD][89abAB]")
_LOW = re.compile(r"\\u[dD][c-fC-F]")
_N_ESCAPE = 6  # characters of `\u0041`
NOTHING: Any = object()  # in place of a value that is not certain yet


class Container:
    """An object or an array that is open.

    Attributes
    ----------
    value : dict or list
        The members or items that are whole.
    name : str or None
        Of the member whose value comes next, or is being read.
    start : int
        Where it begins in the text.
    spans : dict of (str or int) to (int, int)
        Where those that are whole stand in the text.
    typed : dict
        What whoever asks has made of those.
    """

    __slots__ = ("name", "spans", "start", "typed", "value")

    def __init__(self, value: dict[str, Any] | list[Any], start: int) -> None:
        self.value = value
        self.start = start
        self.name: str | None = None
        self.spans: dict[str | int, tuple[int, int]] = {}
        self.typed: dict[str | int, Any] = {}

    @property
    def step(self) -> str | int | None:
        """Which member or item is being read; None between members."""
        return len(self.value) if isinstance(self.value, list) else self.name


class JsonReading:
    """Reads a JSON text as it is written.

    Attributes
    ----------
    value : object
        That of the whole text; `NOTHING` until it is whole.
    containers : list of Container
        Those that are open, the outermost first.
    """

    def __init__(self) -> None:
        self.value: Any = NOTHING
        self.containers: list[Container] = []
        self._text = StringIO()
        self._start = 0  # of the string or scalar that is being read
        self._kind = ""  # of that: "string", "name", "scalar"; empty if there is none
        self._parts: list[str] = []  # of it: characters, or what a scalar is written with
        self._escape = ""  # that is not whole
        self._is_item_next = False  # after the bracket of an array, or a comma in one

    def feed(self, piece: str) -> None:
        """Read a piece."""
        self.read(piece)

    def read(self, piece: str, *, is_member: bool = False) -> int:
        """Read a piece up to the end of the value; return how many characters that were.

        Or up to the end of a member of the outermost object, of which the name has come.
        """
        n_before = self._text.seek(0, 2)
        self._text.write(piece)
        place = 0
        while place < len(piece) and self.value is NOTHING:
            if self._kind in ("string", "name"):
                place = self._read_string(piece, place, n_before)
            elif self._kind == "scalar":
                found = _SCALAR.match(piece, place)
                if found:
                    self._parts.append(found[0])
                    place = found.end()
                if place < len(piece) or "".join(self._parts) in _WORDS:
                    self._end_scalar(n_before + place)
            else:
                place = self._read_mark(piece, place, n_before)
            if is_member and not self.growing:
                break
        return place

    def _read_mark(self, piece: str, place: int, n_before: int) -> int:
        mark, start = piece[place], n_before + place
        if mark in "{[":
            self.containers.append(Container({} if mark == "{" else [], start))
            self._is_item_next = mark == "["
        elif mark in "}]":
            container = self.containers.pop()
            self._is_item_next = False
            self._add(container.value, container.start, start + 1)
        elif mark == ",":
            self._is_item_next = isinstance(self.containers[-1].value, list)
        elif mark == '"':
            top = self.containers[-1] if self.containers else None
            is_name = top is not None and isinstance(top.value, dict) and top.name is None
            self._begin("name" if is_name else "string", start)
        elif mark != ":" and mark not in _SPACES:
            self._begin("scalar", start)
            return place  # it is the first of its characters
        return place + 1

    def _begin(self, kind: str, start: int) -> None:
        self._kind, self._start, self._parts, self._escape = kind, start, [], ""

    def _read_string(self, piece: str, place: int, n_before: int) -> int:
        """Read more of a string; return where that ends."""
        if self._escape or piece[place] == "\\":
            return self._read_escape(piece, place)
        if piece[place] != '"':
            found = _PLAIN.match(piece, place)
            assert found is not None, "a character that is neither a quote nor a backslash"
            self._parts.append(found[0])
            return found.end()
        text, kind = "".join(self._parts), self._kind
        self._kind = ""
        if kind == "name":
            self.containers[-1].name = text
        else:
            self._add(text, self._start, n_before + place + 1)
        return place + 1

    def _read_escape(self, piece: str, place: int) -> int:
        """Read one more character of an escape, or of the low half that follows a high one."""
        mark = piece[place]
        if _HIGH.match(self._escape) and len(self._escape) >= _N_ESCAPE:
            rest = self._escape[_N_ESCAPE:] + mark
            if not _is_prefix_of_low(rest):  # then the high half stands alone, as `json` has it
                self._parts.append(json.loads(f'"{self._escape[:_N_ESCAPE]}"'))
                self._escape = self._escape[_N_ESCAPE:]
                return place
        self._escape += mark
        if len(self._escape) == _N_ESCAPE and _HIGH.match(self._escape):
            return place + 1
        if _ESCAPE.fullmatch(self._escape) or len(self._escape) == 2 * _N_ESCAPE:
            self._parts.append(json.loads(f'"{self._escape}"'))
            self._escape = ""
        return place + 1

    def _end_scalar(self, end: int) -> None:
        self._kind = ""
        self._add(json.loads("".join(self._parts)), self._start, end)

    def _add(self, value: Any, start: int, end: int) -> None:
        """Add a whole value to what it is in."""
        if not self.containers:
            self.value = value
            return
        top = self.containers[-1]
        step = top.step
        assert step is not None, "a value has a place"
        top.spans[step] = start, end
        if isinstance(top.value, list):
            top.value.append(value)
        else:
            top.value[str(step)] = value
            top.name = None
        self._is_item_next = False

    # -- what it means so far ---------------------------------------------------------------

    @property
    def string(self) -> str | None:
        """The string that is being read, as far as its characters are certain; None if none is."""
        if self._kind != "string":
            return None
        self._parts = ["".join(self._parts)]
        return self._parts[0]

    @property
    def growing(self) -> Path | None:
        """The way to what is being read; None if the text is whole."""
        if self.value is not NOTHING:
            return None
        steps = [container.step for container in self.containers]
        if steps and not self._is_read(self.containers[-1]):
            steps.pop()
        return tuple(step for step in steps if step is not None)

    def _is_read(self, top: Container) -> bool:
        """Return whether a value in the topmost container is next, or has begun."""
        if isinstance(top.value, dict):
            return top.name is not None
        return self._is_item_next or self._kind != ""

    def raw(self, start: int, end: int) -> str:
        """Return a piece of the text."""
        self._text.seek(start)
        return self._text.read(end - start)

    def so_far(self, *, is_listed: bool = False) -> Any:
        """Return the value so far, or `NOTHING`; of a listed string nothing until it is whole."""
        if self.value is not NOTHING:
            return self.value
        string = self.string
        inner = NOTHING if string is None or is_listed else string
        for container in reversed(self.containers):
            value = container.value.copy()
            if inner is not NOTHING:
                if isinstance(value, list):
                    value.append(inner)
                else:
                    value[str(container.name)] = inner
            inner = value
        return inner

    def partial(self, machine: AnyMachine, configuration: Any) -> Partial[Any]:
        """Return the value so far."""
        value = self.so_far(is_listed=is_listed(machine, configuration))
        return Partial(None if value is NOTHING else value, self.growing)


class Leaves(JsonReading):
    """Reads a JSON text, with what is made of each leaf and its place in its stead.

    Parameters
    ----------
    text : str
        A whole JSON text.
    make : callable
        Called with each value that is no object or array, and where its bytes begin and end.

    Examples
    --------
    >>> Leaves('{"a": [1, "é"]}', lambda *leaf: leaf).value
    {'a': [(1, 7, 8), ('é', 10, 14)]}
    """

    def __init__(self, text: str, make: Callable[[Any, int, int], Any]) -> None:
        super().__init__()
        self._make = make
        self._n_bytes = list(accumulate((len(each.encode()) for each in text), initial=0))
        self.read(text + "\n")  # by which a number ends

    def _add(self, value: Any, start: int, end: int) -> None:
        if not isinstance(value, dict | list):
            value = self._make(value, self._n_bytes[start], self._n_bytes[end])
        super()._add(value, start, end)


class BegunValue(JsonReading):
    """Reads a text that has begun, and says which values it may become.

    What is whole in an array comes first in the value; what is whole in an object is a part of it.

    Parameters
    ----------
    text : bytes
        What has come.

    Examples
    --------
    >>> from cfgguide.schema.equality import value_of
    >>> value = value_of(b'{"a": [12, "x"]}')
    >>> texts = (b"{", b'{"a":[1', b'{"a": [12, "x"', b'{"b')
    >>> [BegunValue(text).may_become(value) for text in texts]
    [True, True, True, False]
    """

    def __init__(self, text: bytes) -> None:
        super().__init__()
        self.read(text.decode(errors="ignore"))
        self._whole: list[Any] = [hashable(each.value) for each in self.containers]
        self._begun = "".join(self._parts) if self._kind else ""

    def _end_scalar(self, end: int) -> None:
        self._kind = ""
        self._add(loaded("".join(self._parts)), self._start, end)

    def may_become(self, value: Any) -> bool:
        """Return whether it may become a value; sometimes if it may not."""
        for container, whole in zip(self.containers, self._whole, strict=True):
            kind = whole[0]
            if not isinstance(value, tuple) or value[0] not in (kind, DEEP):
                return False
            if value[0] == DEEP:
                return True
            is_last = container is self.containers[-1]
            is_inside = not is_last or self._is_read(container)
            if kind == "[":
                n = len(whole)
                if value[:n] != whole:
                    return False
                if not is_inside or (is_last and n == 1 and not self._kind):
                    return True
                left: dict[Any, Any] = dict(enumerate(value[n:], n))
                step: Any = n
            else:
                if not whole[1] <= value[1]:
                    return False
                left = dict(value[1] - whole[1])
                step = container.name
                if not is_inside:
                    is_name = self._kind == "name"
                    return not is_name or any(name.startswith(self._begun) for name in left)
            if step not in left:
                return False
            value = left[step]
        return self._is_begun(value)

    def _is_begun(self, value: Any) -> bool:
        """Return whether what is being read may become a value that is no array or object."""
        if self._kind == "string":
            return isinstance(value, str) and value.startswith(self._begun)
        if self._kind != "scalar":
            return True
        if isinstance(value, tuple) and value[0] == "#":
            return self._begun[0] in "-0123456789"
        word = "null" if value == ("null",) else json.dumps(value) if value in (True, False) else ""
        return word.startswith(self._begun)


def _is_prefix_of_low(text: str) -> bool:
    """Return whether a text may become the low half of a pair."""
    if not "\\u".startswith(text[:2]):
        return False
    return len(text) <= 2 or bool(_LOW.match((text + "dc")[: max(len(text), 4)]))


def is_listed(machine: AnyMachine, configuration: Any) -> bool:
    """Return whether a machine of JSON is reading a string of a list of texts."""
    if not isinstance(machine, ByteMachine):
        return False
    pushdown = machine.pushdown
    return isinstance(pushdown, SchemaAutomaton) and pushdown.is_listed(configuration.state)
