"""JSON texts made from seeds.

In: a random generator. Out: ``json.dumps`` of random records, some compact and some indented, some
with their non-ASCII characters escaped and some with them as they are.
"""

from __future__ import annotations

import json
import random

SHORTEST, LONGEST = 300, 3000  # characters

_WORDS = """
    the quick brown fox jumps over a lazy dog and then some more text follows in this field
    order customer invoice measurement temperature location error request response message
    please see page of our report for details before you send it to another department again
"""
_UNUSUAL = "naïve Zürich señor crème façade Ελλάδα Москва 東京 日本語 한국어 🙂 — … € ½"
_KEYS = "id name type tags items created value unit note position meta größe label"
WORDS, UNUSUAL, KEYS = _WORDS.split(), _UNUSUAL.split(), _KEYS.split()
ESCAPED = ('say "yes"', "two\nlines", "a\ttab", "back\\slash", "C:\\temp", "bell\u0007", "a/b")
Value = dict[str, "Value"] | list["Value"] | str | int | float | bool | None


def document(rng: random.Random) -> str:
    """Return a list of records as a JSON text."""
    style: dict[str, object] = rng.choice(
        [{"separators": (",", ":")}, {}, {"indent": 2}, {"indent": 4}, {"indent": 2}]
    )
    is_ascii = rng.random() < 0.3
    length = SHORTEST * (LONGEST / SHORTEST) ** (rng.random() ** 4)
    records: list[Value] = []
    while True:
        records.append(_record(rng, 0))
        text = json.dumps(records, ensure_ascii=is_ascii, **style)  # type: ignore[arg-type]
        if len(text) >= length:
            return text


def _record(rng: random.Random, depth: int) -> Value:
    n_fields = rng.randrange(2, 6)
    return {rng.choice(KEYS): _value(rng, depth + 1) for _ in range(n_fields)}


def _value(rng: random.Random, depth: int) -> Value:
    kind = rng.random()
    if depth < 4 and kind < 0.15:
        return _record(rng, depth)
    if depth < 4 and kind < 0.3:
        return [_value(rng, depth + 1) for _ in range(rng.randrange(5))]
    if kind < 0.65:
        return _text(rng)
    return _scalar(rng)


def _text(rng: random.Random) -> str:
    words = [rng.choice(WORDS) for _ in range(rng.randrange(1, 12))]
    if rng.random() < 0.25:
        words.append(rng.choice(UNUSUAL))
    if rng.random() < 0.15:
        words.append(rng.choice(ESCAPED))
    return " ".join(words)


def _scalar(rng: random.Random) -> Value:
    return rng.choice(
        [
            rng.randrange(10),
            rng.randrange(-100_000, 10_000_000),
            round(rng.random() * 1000, 3),
            -rng.randrange(1, 1000) * 1e-9,
            rng.randrange(1, 10) * 1e25,
            True,
            False,
            None,
        ]
    )
