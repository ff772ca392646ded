"""Random sentences of a grammar, and random changes to texts: food for judges.

``Deriver(parser, samples)`` expands Lark's own rules from the start symbol at random; once a
sentence is long enough it takes the cheapest way to the end. ``mutated`` deletes, doubles, swaps,
replaces and inserts tokens of a text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lark

#: What a terminal may look like: some texts, or a function that makes one.
Samples = Mapping[str, Sequence[str] | Callable[[random.Random], str]]

_DEAR = 10**9
_TOKENS = re.compile(
    r"\s+|--[^\n]*|/\*(?s:.*?)\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[A-Za-z_][\w$]*|[\d.]+|->>|->|"
    r"\|\||<<|>>|[<>!=]=|<>|::|."
)


class Deriver:
    """Sentences of a grammar, at random.

    Parameters
    ----------
    parser : lark.Lark
        The grammar, as Lark has read it.
    samples : mapping of str to texts
        For each terminal that is a regular expression, by name, what may be written for it. Those
        with other letters than lower-case ones are left out if they have no samples.
    """

    def __init__(self, parser: lark.Lark, samples: Samples) -> None:
        self._rules: dict[str, list[list[Any]]] = {}
        for rule in parser.rules:
            self._rules.setdefault(rule.origin.name, []).append(list(rule.expansion))
        self._samples = dict(samples)
        for terminal in parser.terminals:
            if terminal.name not in self._samples and terminal.pattern is not None:
                found = re.match(r"[a-z_]+|\W+$", re.sub(r"^\(\?a?i:", "", terminal.pattern.value))
                if terminal.pattern.type == "str":
                    self._samples[terminal.name] = [terminal.pattern.value]
                elif found and found[0].isidentifier():
                    self._samples[terminal.name] = [found[0], found[0].upper()]
        self._costs: dict[str, int] = {}
        self._find_costs()

    def sentence(self, rng: random.Random, start: str, n_symbols: int) -> list[str]:
        """Return the lexemes of a sentence that chooses freely for `n_symbols` steps."""
        words: list[str] = []
        stack: list[Any] = [start]
        while stack:
            symbol = stack.pop()
            name = getattr(symbol, "name", symbol)
            if name not in self._rules:
                words.append(self._word(rng, name))
                continue
            ways = [way for way in self._rules[name] if self._cost_of(way) < _DEAR]
            if n_symbols > 0:
                way = rng.choice(ways)
            else:
                least = min(map(self._cost_of, ways))
                way = rng.choice([way for way in ways if self._cost_of(way) == least])
            n_symbols -= 1
            stack.extend(reversed(way))
        return words

    def _word(self, rng: random.Random, name: str) -> str:
        samples = self._samples[name]
        return samples(rng) if callable(samples) else rng.choice(samples)

    def _cost_of(self, way: list[Any]) -> int:
        return 1 + sum(self._costs.get(symbol.name, _DEAR) for symbol in way)

    def _find_costs(self) -> None:
        for name in self._samples:
            self._costs[name] = 1
        is_open = True
        while is_open:
            is_open = False
            for name, ways in self._rules.items():
                least = min(map(self._cost_of, ways))
                if least < self._costs.get(name, _DEAR):
                    self._costs[name] = least
                    is_open = True


def tokens(text: str) -> list[str]:
    """Return a text in pieces, roughly those that a lexer of SQL sees."""
    return _TOKENS.findall(text)


def mutated(rng: random.Random, text: str, words: Sequence[str], n_changes: int = 1) -> str:
    """Return a text with so many changes; `words` is what may be put into it."""
    parts = tokens(text)
    for _ in range(n_changes):
        at = rng.randrange(len(parts) + 1)
        here = slice(at, at + 1)
        match rng.randrange(6):
            case 0:
                parts[here] = []
            case 1:
                parts[here] = [*parts[here], *parts[here]]
            case 2:
                other = rng.randrange(len(parts) + 1)
                parts[here], parts[slice(other, other + 1)] = (
                    parts[slice(other, other + 1)],
                    parts[here],
                )
            case 3:
                parts[here] = [rng.choice(words)]
            case 4:
                parts[here] = [" ", rng.choice(words), " ", *parts[here]]
            case _:
                parts[here] = [rng.choice(parts)] if parts else []
    return "".join(parts)
