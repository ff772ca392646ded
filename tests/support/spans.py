"""Which parts of a text the rules of a grammar over characters match: slow, and obviously right.

A rule is a set of pairs of places in the text. Those of an expression are put together as its
definition says, and all rules are looked at again until nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import lark

from cfgguide.grammar.rules.tree import (
    Characters,
    Choice,
    Expression,
    Minus,
    Name,
    Repeated,
    Row,
    Rule,
    Special,
    Text,
)
from cfgguide.notations import Converted

#: For each place in the text, the places where a match that begins there may end, as bits.
Spans = tuple[int, ...]
#: Tokens stand in texts as these characters: the one with the id n is the n-th after this one.
FIRST_TOKEN = 0xE000


def lark_parser(converted: Converted) -> lark.Lark:
    """Return Lark's Earley parser for a grammar, in which tokens are characters too."""
    text = re.sub("^%declare.*", "", converted.text, flags=re.MULTILINE)
    for name, tokens in converted.special.items():
        characters = "".join(f"\\u{FIRST_TOKEN + int(token):04x}" for token in tokens)
        text += f"\n{name}: /[{characters}]/"
    return lark.Lark(text, parser="earley", lexer=converted.lexer, start=converted.start)


class Recogniser:
    """Says whether texts match a rule."""

    def __init__(self, rules: Mapping[str, Rule], root: str) -> None:
        self._rules = rules
        self._root = root

    def accepts(self, text: str) -> bool:
        """Return whether the rule with which the grammar starts matches a text."""
        return bool(_Table(self._rules, text).spans(self._root)[0] >> len(text) & 1)


class _Table:
    def __init__(self, rules: Mapping[str, Rule], text: str) -> None:
        self._rules = rules
        self._text = text
        self._known: dict[str, Spans] = {}

    def spans(self, root: str) -> Spans:
        """Return the spans of a rule."""
        used = _used(self._rules, self._rules[root].body) | {root}
        names = [name for name in self._rules if name in used]
        self._known = dict.fromkeys(names, self._nothing)
        is_changed = True
        while is_changed:
            before = dict(self._known)
            for name in names:
                self._known[name] = self._of(self._rules[name].body)
            is_changed = self._known != before
        return self._known[root]

    @property
    def _nothing(self) -> Spans:
        return (0,) * (len(self._text) + 1)

    @property
    def _empty(self) -> Spans:
        return tuple(1 << at for at in range(len(self._text) + 1))

    def _of(self, node: Expression) -> Spans:
        match node:
            case Characters():
                points = [*map(ord, self._text), -1]
                is_in = [any(low <= at <= high for low, high in node.ranges) for at in points]
                return tuple(2 << at if each else 0 for at, each in enumerate(is_in))
            case Special():
                points = [*map(ord, self._text), -1]
                return tuple(
                    2 << at if point - FIRST_TOKEN in node.tokens else 0
                    for at, point in enumerate(points)
                )
            case Text():
                return tuple(
                    1 << at + len(node.text) if self._text.startswith(node.text, at) else 0
                    for at in range(len(self._text) + 1)
                )
            case Name():
                return self._known[node.name]
            case Row():
                found = self._empty
                for part in node.parts:
                    found = _joined(found, self._of(part))
                return found
            case Choice():
                return _either(*(self._of(part) for part in node.parts))
            case Repeated():
                return self._repeated(self._of(node.part), node)
            case Minus():
                return tuple(
                    one & ~other
                    for one, other in zip(
                        self._whole(node.part), self._whole(node.other), strict=True
                    )
                )

    def _repeated(self, part: Spans, node: Repeated) -> Spans:
        found = self._empty
        for _ in range(node.least):
            found = _joined(found, part)
        rounds = 0
        while node.most is None or rounds < node.most - node.least:
            more = _either(found, _joined(found, part))
            if more == found:
                break
            found, rounds = more, rounds + 1
        return found

    def _whole(self, node: Expression) -> Spans:
        """Return the spans of an expression, with the rules that it uses looked at to the end."""
        rules = {**self._rules, "": Rule(0, "", node)}
        return _Table(rules, self._text).spans("")


def _used(rules: Mapping[str, Rule], node: Expression) -> set[str]:
    found: set[str] = set()
    pending = [node]
    while pending:
        here = pending.pop()
        match here:
            case Name():
                if here.name not in found:
                    found.add(here.name)
                    pending.append(rules[here.name].body)
            case Row() | Choice():
                pending.extend(here.parts)
            case Repeated():
                pending.append(here.part)
            case Minus():
                pending += [here.part, here.other]
            case _:
                pass
    return found


def _joined(one: Spans, other: Spans) -> Spans:
    found = []
    for ends in one:
        after = 0
        for at, further in enumerate(other):
            if ends >> at & 1:
                after |= further
        found.append(after)
    return tuple(found)


def _either(*parts: Spans) -> Spans:
    found = [0] * len(parts[0])
    for part in parts:
        found = [one | other for one, other in zip(found, part, strict=True)]
    return tuple(found)
