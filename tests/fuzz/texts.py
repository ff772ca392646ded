"""Random texts near the language of a grammar, and vocabularies that are cut from them.

Sentences are derived from Lark's own rules and terminals. What a derivation makes need not be a
sentence, since the lexer has a say, and assertions are left out of it; Lark judges every text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import lark

_parser: Any = __import__("re._parser", fromlist=["parse"])

_CATEGORIES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
LONGEST = {"lalr": 24, "earley": 14}  # characters of a text, by Lark's parser
MAX_CHOICES = 500  # of sides for a text, before the flattest is taken


class Sampler:
    """Derives texts from the rules of a Lark object.

    Parameters
    ----------
    parser : lark.Lark
        Its rules and terminals.
    letters : str
        Characters that classes are filled from.
    rng : random.Random
        All choices.
    start : str
        The rule to derive.
    longest : int
        Characters of a text.
    """

    def __init__(
        self,
        parser: lark.Lark,
        letters: str,
        rng: random.Random,
        start: str = "start",
        longest: int = LONGEST["lalr"],
    ) -> None:
        self._rng = rng
        self._start = start
        self._longest = longest
        self._letters = letters
        self._patterns = {t.name: t.pattern.to_regexp() for t in parser.terminals if t.pattern}
        self._ignored = [name for name in parser.ignore_tokens if name in self._patterns]
        self._rules: dict[str, list[list[str]]] = {}
        for rule in parser.rules:
            names = [symbol.name for symbol in rule.expansion]
            self._rules.setdefault(str(rule.origin.name), []).append(names)
        self._heights = self._least_heights()
        self._n_choices = MAX_CHOICES

    def _least_heights(self) -> dict[str, int]:
        """Return how many levels of rules each rule needs at least; none for those without end."""
        heights: dict[str, int] = {}
        for _ in self._rules:
            for rule, sides in self._rules.items():
                for side in sides:
                    if all(name in heights or name not in self._rules for name in side):
                        height = 1 + max((heights.get(name, 0) for name in side), default=0)
                        heights[rule] = min(height, heights.get(rule, height))
        return heights

    def text(self) -> str:
        """Return a text that is derived from the start rule, mostly."""
        self._n_choices = MAX_CHOICES
        lexemes = [
            self._lexeme(name) for name in self._derive(self._start, self._rng.randint(2, 9))
        ]
        if self._ignored:
            for place in range(len(lexemes), -1, -1):
                if self._rng.random() < 0.25:
                    lexemes.insert(place, self._lexeme(self._rng.choice(self._ignored)))
        return "".join(lexemes)[: self._longest]

    def mutated(self, text: str) -> str:
        """Return a text with one character left out, doubled, replaced or moved."""
        if not text:
            return self._rng.choice(self._letters)
        place = self._rng.randrange(len(text))
        one, letter = text[place], self._rng.choice(self._letters)
        changed = self._rng.choice(["", one * 2, letter, one + letter, letter + one])
        return text[:place] + changed + text[place + 1 :]

    def _derive(self, symbol: str, room: int) -> list[str]:
        """Return terminals; the flattest side is taken where no room is left."""
        if symbol not in self._rules:
            return [symbol]
        sides = [side for side in self._rules[symbol] if self._height(side) is not None]
        if not sides:
            return []
        self._n_choices -= 1
        if room <= 0 or self._n_choices <= 0:
            sides = [min(sides, key=lambda side: self._height(side) or 0)]
        side = self._rng.choice(sides)
        names: list[str] = []
        for part in side:
            if len(names) < self._longest:
                names += self._derive(part, room - 1)
        return names[: self._longest]

    def _height(self, side: list[str]) -> int | None:
        if any(name in self._rules and name not in self._heights for name in side):
            return None
        return max((self._heights.get(name, 0) for name in side), default=0)

    def _lexeme(self, terminal: str) -> str:
        pattern = self._patterns.get(terminal, "")  # nothing for what is only declared
        try:
            return self._sequence(_parser.parse(pattern))
        except re.error:
            return self._rng.choice(self._letters)

    # --- A match of a pattern, its assertions left aside ------------------------------------------

    def _sequence(self, items: Any) -> str:
        return "".join(self._item(str(operator), argument) for operator, argument in items)

    def _item(self, kind: str, argument: Any) -> str:
        match kind:
            case "LITERAL":
                return chr(argument)
            case "BRANCH":
                return self._sequence(self._rng.choice(argument[1]))
            case "SUBPATTERN":
                return self._sequence(argument[-1])
            case "ATOMIC_GROUP":
                return self._sequence(argument)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, body = argument
                rounds = self._rng.randint(least, min(most, least + 2))
                return "".join(self._sequence(body) for _ in range(rounds))
            case "ANY" | "IN" | "NOT_LITERAL":
                fitting = [c for c in self._letters if _fits(kind, argument, c)]
                return self._rng.choice(fitting or ["a", "1", "\n"])
        return ""


def _fits(kind: str, argument: Any, character: str) -> bool:
    if kind == "ANY":
        return character != "\n"
    if kind == "NOT_LITERAL":
        return ord(character) != argument
    is_member = is_negated = False
    for operator, value in argument:
        match str(operator):
            case "NEGATE":
                is_negated = True
            case "LITERAL":
                is_member |= ord(character) == value
            case "RANGE":
                is_member |= value[0] <= ord(character) <= value[1]
            case "CATEGORY":
                name = str(value).removeprefix("CATEGORY_")
                found = re.match(_CATEGORIES[name.removeprefix("NOT_")], character)
                is_member |= (found is None) == name.startswith("NOT_")
    return is_member != is_negated


def texts_near(
    parser: lark.Lark, letters: str, rng: random.Random, most: int, longest: int = LONGEST["lalr"]
) -> list[str]:
    """Return texts of which many are sentences and many are nearly so, each once."""
    sampler = Sampler(parser, letters, rng, longest=longest)
    found = []
    for _ in range(most):
        text = sampler.text()
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
            text = sampler.mutated(text)
        found.append(text)
    return list(dict.fromkeys(found))


def vocabulary(texts: Sequence[bytes], letters: str, rng: random.Random) -> tuple[bytes, ...]:
    """Return tokens cut from the texts and at random, mostly with all single bytes of the letters.

    Cuts are made between bytes, so some fall inside a character.
    """
    single = [bytes([byte]) for byte in sorted(set(letters.encode()))]
    if rng.random() < 0.3:
        single = rng.sample(single, rng.randint(0, len(single) - 1))
    tokens = single
    for _ in range(rng.randint(1, 5)):
        source = rng.choice([b"".join(rng.choices(list(texts), k=2)), *map(str.encode, letters)])
        if rng.random() < 0.25:
            source = "".join(rng.choices(letters, k=4)).encode()
        start = rng.randrange(len(source)) if source else 0
        tokens.append(source[start : start + rng.randint(1, 5)])
    kept = [token for token in dict.fromkeys(tokens) if token]
    if kept and rng.random() < 0.2:
        kept.append(rng.choice(kept))  # one token twice
    return tuple(kept) or (b"a",)
