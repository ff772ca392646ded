"""Languages of numbers hold just the spellings whose values meet the condition."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pytest

from cfgguide.automata.numbers import multiples
from cfgguide.errors import SchemaError

SCALES = ("1", "0.1", "0.05", "0.01", "1000", "1e18")


def spelling(rng: random.Random, number: Decimal) -> str:
    text = f"{number:f}"
    sign, zero = rng.choice(["", "", "", "-"]), rng.choice(["", "", "0"])
    return sign + text + ("." + zero + "0" if zero and "." not in text else zero)


@pytest.mark.parametrize(
    "divisor",
    [
        *("1", "7", "10", "20", "100", "1200", "3600", "86400", "100000", "1e20", "4096", "997"),
        *("2.5", "0.05", "0.3", "12.5", "0.333", "0.00025", "6.02e23", "1e-300", "5e-324"),
    ],
)
def test_multiples_are_what_fractions_say(divisor):
    rng, language, n_found = random.Random(0), multiples(Decimal(divisor)), 0
    for _ in range(1000):
        below = rng.randrange(10 ** rng.randrange(1, 9))
        by = Decimal(divisor) if rng.random() < 0.5 else Decimal(rng.choice(SCALES))
        text = spelling(rng, by * below)
        is_multiple = (Fraction(text) / Fraction(Decimal(divisor))).denominator == 1
        assert language.accepts(text) == is_multiple, text
        n_found += is_multiple
    assert n_found > 400


@pytest.mark.parametrize("divisor", ["0.3333", "12345", "0.123456789", "31536000"])
def test_too_many_remainders_are_refused_at_once(divisor):
    with pytest.raises(SchemaError, match="tells all remainders apart"):
        multiples(Decimal(divisor))


@pytest.mark.parametrize("divisor", ["8999", "599.5", "0.2999", "0.0000997", "6.02e23"])
def test_what_is_not_refused_at_once_is_not_refused_later(divisor):
    assert multiples(Decimal(divisor)).accepts(f"{Decimal(divisor):f}")
