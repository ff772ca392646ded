"""Types as :func:`cfgguide.describe` writes them, read back: which values they allow.

A reader of its own, by TypeScript's meaning: objects are open, `?` marks what may be missing, `|`
is one of several and `&` all of them. Comments say nothing here. `...` stands for values that were
left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>-?\d[\d.eE+-]*)
    |(?P<name>[A-Za-z_$][\w$]*)|(?P<index>\[name:\s(?:string|/.*?/)\](?=:))
    |(?P<mark>\.\.\.|[{}()\[\],:?|&=])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_KINDS: dict[str, Check] = {
    "any": lambda _: True,
    "never": lambda _: False,
    "string": lambda value: isinstance(value, str),
    "number": lambda value: _is_number(value),
    "integer": lambda value: _is_number(value) and value == int(value),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def type_of(text: str) -> Check:
    """Return what says whether a type allows a value."""
    return _Reader(text).whole()


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            assert found is not None, f"no type goes on with {text[place : place + 40]!r}"
            place = found.end()
            if found.lastgroup is not None:
                self.tokens.append((found.lastgroup, found[0]))
        self.place = 0
        self.named: dict[str, Check] = {}

    def whole(self) -> Check:
        first: Check | None = None
        while self.place < len(self.tokens):
            name = None
            if self.next() == "type" and self.next(1) not in ("", "|", "&", "["):
                self.take("type")
                name = self.take()
                self.take("=")
            made = self.union()
            if name is not None:
                assert name not in {**self.named, **_KINDS}, f"{name} is there twice"
                self.named[name] = made
            assert first is None or name is not None, "only the first type has no name"
            first = first or made
        assert first is not None
        return first

    def next(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.tokens[place][1] if place < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        found = self.next()
        assert found in (wanted or [found or None]), f"{found!r} instead of {wanted}"
        self.place += 1
        return found

    def skip(self, mark: str) -> bool:
        is_there = self.next() == mark
        self.place += is_there
        return is_there

    def union(self) -> Check:
        parts = [self.both()]
        while self.skip("|"):
            parts.append(self.both())
        return lambda value: any(part(value) for part in parts)

    def both(self) -> Check:
        parts = [self.arrays()]
        while self.skip("&"):
            parts.append(self.arrays())
        return lambda value: all(part(value) for part in parts)

    def arrays(self) -> Check:
        made = self.one()
        while self.next() == "[" and self.next(1) == "]":
            self.take()
            self.take()
            made = _array_of(made)
        return made

    def one(self) -> Check:
        if self.skip("("):
            made = self.union()
            self.take(")")
            return made
        if self.skip("{"):
            return self.object()
        if self.skip("["):
            return self.tuple()
        if self.skip("..."):
            return _KINDS["any"]
        kind, text = self.tokens[self.place]
        self.take()
        if kind == "name" and text in ("true", "false", "null"):
            kind = "literal"
        if kind == "name":
            return _KINDS.get(text) or (lambda value: self.named[text](value))
        assert kind in ("string", "number", "literal"), f"{text!r} is no type"
        wanted = json.loads(text)
        return lambda value: value == wanted and isinstance(value, bool) == isinstance(wanted, bool)

    def object(self) -> Check:
        members: dict[str, tuple[bool, Check]] = {}
        while not self.skip("}"):
            kind, name = self.tokens[self.place]
            self.take()
            is_optional = self.skip("?")
            self.take(":")
            made = self.union()
            if kind != "index":
                members[json.loads(name) if kind == "string" else name] = is_optional, made
            if not self.skip(","):
                assert self.next() == "}"
        return lambda value: (
            isinstance(value, Mapping)
            and all(
                part(value[name]) if name in value else is_optional
                for name, (is_optional, part) in members.items()
            )
        )

    def tuple(self) -> Check:
        first: list[Check] = []
        rest: Check | None = None
        while not self.skip("]"):
            if self.next() == "..." and self.next(1) not in (",", "]"):
                self.take()
                rest = self.arrays()
            else:
                first.append(self.union())
            if not self.skip(","):
                assert self.next() == "]"
        return lambda value: (
            isinstance(value, list)
            and all(part(each) for part, each in zip(first, value, strict=False))
            and (rest is None or rest(value[len(first) :]))
        )


def _array_of(item: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(item, value))
