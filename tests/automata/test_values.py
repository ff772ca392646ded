"""Numbers in a range, dates, times and the like: as texts, and nothing else.

Expected values come from `decimal`, `datetime`, `ipaddress` and `uuid`.
"""

from __future__ import annotations

import datetime
import ipaddress
import itertools
import random
import re
import uuid
from decimal import Decimal, localcontext

import pytest
from support.judges import accepts, parses

import cfgguide
from cfgguide.automata import numbers, packaged_formats
from cfgguide.automata import string_formats as formats
from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.pattern_automaton import anywhere, language_of
from cfgguide.automata.pattern_notations import read
from cfgguide.errors import GrammarError

DIGITS = ["".join(each) for n in range(1, 6) for each in itertools.product("-0159.", repeat=n)]
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
#: Texts that write a number as the documentation has it.
NUMBERS = [
    text
    for text in DIGITS
    if _DECIMAL.fullmatch(text) and not (text[0] == "-" and Decimal(text) == 0)
]


def matching(grammar: cfgguide.Grammar, texts: list[str]) -> set[str]:
    """The texts that the one terminal of a grammar matches as a whole, as Lark would read it."""
    (pattern,) = re.findall("^TEXT: /(.*)/$", grammar.text, re.MULTILINE)
    compiled = re.compile(pattern)
    return {text for text in texts if (found := compiled.match(text)) and found[0] == text}


@pytest.mark.parametrize(
    ("minimum", "maximum"),
    [
        (None, None), (0, None), (None, 0), (1, None), (None, -1), (-1, None), (None, 1), (5, 5),
        (0, 0), (-5, -5), (-5, 5), (0, 100), (9, 10), (-100, 99), (-15, -1), (95, 1059), (10, 19),
        (-1001, 1001), (150, 159), (1, 9999), (11, None), (None, 15), (None, -15), (105, 501),
    ],
)  # fmt: skip
def test_integers_in_a_range(minimum, maximum):
    grammar = cfgguide.values.integer(minimum, maximum)
    texts = [*DIGITS, *map(str, range(-1200, 1200)), "9999", "10000", "-9999", "00", "-0", "+1"]
    expected = {
        text
        for text in texts
        if re.fullmatch("0|-?[1-9][0-9]*", text)
        and (minimum is None or int(text) >= minimum)
        and (maximum is None or int(text) <= maximum)
    }
    assert matching(grammar, texts) == expected


def test_random_ranges_of_integers():
    rng = random.Random(0)
    for _ in range(40):
        low, high = sorted(rng.randint(-(10 ** rng.randint(1, 6)), 10**6) for _ in range(2))
        near = [place + each for place in (low, high, 0) for each in range(-12, 13)]
        numbers = near + [rng.randint(-(10**7), 10**7) for _ in range(50)]
        found = matching(cfgguide.values.integer(low, high), list(map(str, numbers)))
        assert found == {str(each) for each in numbers if low <= each <= high}, (low, high)


BOUNDS = [
    None, 0, 1, -1, 0.5, -0.5, 0.05, 1.5, -1.5, 9.9, 10, 0.15, 0.1, 10.01, 99, -100,
    Decimal("0.50"),
]  # fmt: skip


@pytest.mark.parametrize("minimum", BOUNDS)
def test_decimal_numbers_in_a_range(minimum):
    for maximum in BOUNDS:
        low, high = (None if each is None else Decimal(str(each)) for each in (minimum, maximum))
        if low is not None and high is not None and low > high:
            continue
        expected = {
            text
            for text in NUMBERS
            if (low is None or Decimal(text) >= low) and (high is None or Decimal(text) <= high)
        }
        assert matching(cfgguide.values.number(minimum, maximum), DIGITS) == expected, maximum


def test_a_bound_with_an_exponent_counts_as_its_digits():
    assert cfgguide.values.number(1e3) == cfgguide.values.number(1000)
    assert cfgguide.values.number(1e-3, 1) == cfgguide.values.number(Decimal("0.001"), 1)


@pytest.mark.parametrize("bound", ["-1." + "3" * 30, "1" * 36, "0." + "0" * 30 + "1"])
def test_a_bound_of_many_digits_is_not_rounded(bound):
    """`decimal` rounds what it computes to 28 digits."""
    exact = Decimal(bound)
    with localcontext(prec=100):
        above, below = (f"{exact + step:f}" for step in (Decimal("1e-40"), Decimal("-1e-40")))
    texts = [bound, above, below]
    assert matching(cfgguide.values.number(exact), texts) == {bound, above}
    assert matching(cfgguide.values.number(None, exact), texts) == {bound, below}
    for language, accepted in (
        (numbers.at_least(exact, is_strict=False), {bound, above}),
        (numbers.at_least(exact, is_strict=True), {above}),
        (numbers.at_most(exact, is_strict=True), {below}),
        (numbers.any_of([exact]), {bound}),
    ):
        assert {text for text in texts if language.accepts(text)} == accepted


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cfgguide.values.integer(2, 1), "no number is at least 2 and at most 1"),
        (lambda: cfgguide.values.number(0.2, 0.1), "no number is at least 0.2 and at most 0.1"),
        (lambda: cfgguide.values.integer(1.5), "minimum is a whole number, not 1.5"),
        (lambda: cfgguide.values.integer(maximum=True), "maximum is a whole number, not True"),
        (lambda: cfgguide.values.number("1"), "minimum is a number, not '1'"),
        (lambda: cfgguide.values.number(float("inf")), "minimum is a finite number, not inf"),
        (
            lambda: cfgguide.values.number(maximum=float("nan")),
            "maximum is a finite number, not nan",
        ),
        (lambda: cfgguide.values.number(Decimal("1e999")), "minimum has more than 400 digits"),
        (lambda: cfgguide.values.time(digits=10), "digits is a number from 0 to 9, not 10"),
        (
            lambda: cfgguide.values.date_time(digits=True),
            "digits is a number from 0 to 9, not True",
        ),
    ],
)
def test_bounds_that_are_none_are_refused(make, message):
    with pytest.raises(GrammarError, match=re.escape(message)):
        make()


# --- Dates and times -----------------------------------------------------------------------------


def is_iso(kind: type, text: str) -> bool:
    try:
        kind.fromisoformat(text)
    except ValueError:
        return False
    return True


def test_dates_are_the_days_that_there_are():
    dates = [
        f"{year:04}-{month:02}-{day:02}"
        for year in (0, 1, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 9999)
        for month in range(20)
        for day in range(40)
    ]
    dates += [f"{year:04}-02-{day}" for year in range(10_000) for day in (28, 29, 30)]
    found = matching(cfgguide.values.date(), dates)
    assert found == {text for text in dates if is_iso(datetime.date, text)}
    assert not matching(
        cfgguide.values.date(), ["2024-2-9", "20240229", "2024-02-29 ", "+2024-02-29"]
    )


def test_times_are_those_of_a_day():
    times = [
        f"{hour:02}:{minute:02}:{second:02}"
        for hour in range(30)
        for minute in range(0, 70, 9)
        for second in range(0, 70, 7)
    ]
    expected = {text for text in times if is_iso(datetime.time, text)}
    assert matching(cfgguide.values.time(), times) == expected
    parts = ["", ".", ".1", ".123", ".1234"]
    fractions = [f"12:30:05{part}" for part in parts]
    assert matching(cfgguide.values.time(), fractions) == {"12:30:05"}
    assert matching(cfgguide.values.time(digits=3), fractions) == {
        f"12:30:05{part}" for part in ("", ".1", ".123")
    }


@pytest.mark.parametrize(
    ("offset", "text", "expected"),
    [
        (True, "2024-02-29T12:30:05Z", True),
        (True, "2024-02-29T12:30:05+05:30", True),
        (True, "2024-02-29T12:30:05-23:59", True),
        (True, "2024-02-29T12:30:05", False),
        (True, "2024-02-29T12:30:05+24:00", False),
        (True, "2024-02-29 12:30:05Z", False),
        (True, "2023-02-29T12:30:05Z", False),
        (False, "2024-02-29T12:30:05", True),
        (False, "2024-02-29T12:30:05Z", False),
    ],
)
def test_moments_have_an_offset_or_none(offset, text, expected):
    assert bool(matching(cfgguide.values.date_time(offset=offset), [text])) == expected
    assert is_iso(datetime.datetime, text) or not expected


# --- Others --------------------------------------------------------------------------------------


def test_ipv4_addresses():
    texts = [f"{a}.{b}.0.1" for a in range(300) for b in (0, 9, 99, 255, 256)]
    texts += ["1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4 ", "::1", "1.2.3.-4"]

    def is_address(text: str) -> bool:
        try:
            ipaddress.IPv4Address(text)
        except ValueError:
            return False
        return True

    assert matching(cfgguide.values.ipv4(), texts) == {text for text in texts if is_address(text)}


def test_uuids():
    rng = random.Random(0)
    texts = [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(20)]
    grammar = cfgguide.values.uuid()
    assert matching(grammar, texts) == set(texts)
    others = [text.upper() for text in texts if text.upper() != text]
    others += [texts[0].replace("-", ""), f"{{{texts[0]}}}"]
    assert not matching(grammar, others)


VALUES = {
    "integer": (cfgguide.values.integer(), "-12"),
    "small": (cfgguide.values.integer(0, 365), "365"),
    "number": (cfgguide.values.number(-0.5, 10.25), "10.2"),
    "boolean": (cfgguide.values.boolean(), "true"),
    "date": (cfgguide.values.date(), "2024-02-29"),
    "time": (cfgguide.values.time(), "23:59:59"),
    "date_time": (cfgguide.values.date_time(), "2024-02-29T23:59:59Z"),
    "uuid": (cfgguide.values.uuid(), str(uuid.UUID(int=0))),
    "ipv4": (cfgguide.values.ipv4(), "10.0.0.255"),
}


@pytest.mark.parametrize("name", VALUES)
def test_lark_and_the_engine_agree(name):
    grammar, text = VALUES[name]
    lark_says, engine_says = parses(grammar), accepts(grammar)
    for each in (text, text[:-1], text + "9", "-" + text, text.replace("2", "3"), "", f" {text}"):
        assert lark_says(each) == engine_says(each), each
    assert lark_says(text)


@pytest.mark.parametrize("name", VALUES)
def test_no_value_needs_to_look_at_the_end_of_the_text(name):
    """Then masks need not either; see `cfgguide.grammar.combinators.patterns`."""
    assert r"\Z" not in VALUES[name][0].text


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern",
    [
        *map(formats.format_pattern, sorted(formats.FORMATS)),
        *(f"^(?:{numbers.tidy_number(is_typed=is_typed)})$" for is_typed in (False, True)),
    ],
)
def test_the_package_has_the_automata_of_formats_and_numbers(pattern: str) -> None:
    made = language_of(anywhere(read(pattern)))
    assert packaged_formats.language_of(pattern) == pattern_language(pattern) == made
    assert packaged_formats.language_of(pattern + "x") is None
