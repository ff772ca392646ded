"""The examples that Outlines was announced with in 2023, and those of the paper's section 3.1.

Choices, numbers, answers, years, addresses, dates, and JSON by a Pydantic model: the same prompts
and patterns, written by SmolLM2-135M instead of GPT-2, each judged by something other than
cfgguide. What the model says is often wrong; its form never is. Run
``python examples/paper/blog.py``.

The language model made of zlib is `examples/zip_model.py`.
"""

from __future__ import annotations

import argparse
import datetime
import ipaddress
import re
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import pydantic
from verdicts import Claims

import cfgguide
from cfgguide.models import load_model


class Weapon(StrEnum):
    """As in Outlines' README."""

    sword = "sword"
    axe = "axe"
    mace = "mace"
    spear = "spear"
    bow = "bow"
    crossbow = "crossbow"


class Armor(StrEnum):
    """As in Outlines' README."""

    leather = "leather"
    chainmail = "chainmail"
    plate = "plate"


class Character(pydantic.BaseModel):
    """As in Outlines' README."""

    name: str = pydantic.Field(max_length=10)
    age: int
    armor: Armor
    weapon: Weapon
    strength: int


class Example(NamedTuple):
    """A prompt, what to write, and a judge that raises or returns False if it is not that."""

    name: str
    prompt: str
    what: object
    judge: Callable[[str], object]
    max_new_tokens: int = 30


REVIEW = (
    "You are a sentiment-labelling assistant.\nIs the following review positive or negative?\n\n"
    "Review: This restaurant is just awesome!\n"
)
ANSWER = r"\s*([Yy]es|[Nn]o|[Nn]ever|[Aa]lways)"
YEAR = r"\s*19[0-9]{2}"
ASCII = re.ASCII  # \d is Unicode's in Python, so that ۱.۱.۱.۱ would be an address too
OCTET = r"(25[0-5]|2[0-4]\d|[01]?\d\d?)"
ADDRESS = rf"({OCTET}\.){{3}}{OCTET}"


def matches(pattern: str) -> Callable[[str], object]:
    """Return a judge of a pattern."""
    return lambda text: re.fullmatch(pattern, text) is not None


def is_address(text: str) -> bool:
    """Return whether a text is an IPv4 address; the pattern allows leading zeros, Python none."""
    digits = ".".join(part.lstrip("0") or "0" for part in text.split("."))
    return bool(ipaddress.IPv4Address(digits))


EXAMPLES = [
    Example("choice", REVIEW, ["Positive", "Negative"], {"Positive", "Negative"}.__contains__),
    Example("integer", "1+1=", cfgguide.values.integer(), lambda text: str(int(text)) == text, 10),
    Example("float", "sqrt(2)=", cfgguide.values.number(), lambda text: float(text) is not None),
    Example("answer", "Is 1+1=2? ", cfgguide.regex(ANSWER, flags=ASCII), matches(ANSWER)),
    Example(
        "year",
        "In what year was Noam Chomsky born?\n",
        cfgguide.regex(YEAR, flags=ASCII),
        matches(YEAR),
    ),
    Example(
        "address",
        "What is the IP address of the Google DNS servers? ",
        cfgguide.regex(ADDRESS, flags=ASCII),
        is_address,
    ),
    Example(
        "date",
        "On what date did people first walk on the Moon? ",
        cfgguide.values.date(),
        datetime.date.fromisoformat,
    ),
    Example(
        "character",
        "Give me a character description",
        Character,
        Character.model_validate_json,
        100,
    ),
]
QUICK = ("choice", "integer", "date")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the shortest examples")
    quick = parser.parse_args().quick
    claims = Claims("Outlines' first examples")
    pair = load_model()
    examples = [each for each in EXAMPLES if not quick or each.name in QUICK]
    fit = []
    for name, prompt, what, judge, max_new_tokens in examples:
        result = cfgguide.generate(pair, prompt, what, max_new_tokens=max_new_tokens)
        try:
            is_right = bool(judge(result.text)) and result.is_complete
        except ValueError as error:
            print(error)
            is_right = False
        fit.append(is_right)
        print(f"          {name:10} {result.text!r}")
    claims.judge(
        "README: the output is 'guaranteed' to follow an expression, a schema, a model",
        f"{sum(fit)} of {len(fit)} texts taken by re, int, float, datetime, ipaddress and Pydantic",
        "held",
        "and within max_tokens, which the paper's masks alone do not ensure (next)",
        shown=all(fit),
    )

    cut = cfgguide.generate(pair, EXAMPLES[1].prompt, _LONG, max_new_tokens=4, finish=False)
    whole = cfgguide.generate(pair, EXAMPLES[1].prompt, _LONG, max_new_tokens=14)
    claims.judge(
        "section 2.2: Algorithm 2 masks, and ends after L tokens at the latest",
        f"12 digits within 4 tokens, as there: {cut.text!r}; within 14: {whole.text!r}",
        "held in part",
        "a text that is cut does not match. cfgguide finishes in time, or raises an error at once",
        shown=re.fullmatch(_DIGITS, cut.text) is None
        and re.fullmatch(_DIGITS, whole.text) is not None
        and _raises(pair),
    )
    return claims.status()


_DIGITS = "[0-9]{12}"
_LONG = cfgguide.regex(_DIGITS)


def _raises(pair: object) -> bool:
    """Return whether too few tokens are an error before anything is written."""
    try:
        cfgguide.generate(pair, EXAMPLES[1].prompt, _LONG, max_new_tokens=2)
    except cfgguide.CfgGuideError as error:
        return error.code == "budget"
    return False


if __name__ == "__main__":
    sys.exit(main())
