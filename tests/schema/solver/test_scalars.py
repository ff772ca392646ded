"""Strings sorted by conditions, together or with their lengths counted apart."""

from __future__ import annotations

import itertools
import json
import random
import re

import pytest
from support.schemas import is_accepted

from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.errors import SchemaError
from cfgguide.schema.solver import scalars
from cfgguide.schema.solver.nodes import Condition
from cfgguide.schema.solver.scalars import by_class, of_lengths

TEXTS = ["".join(text) for n in range(7) for text in itertools.product("ab", repeat=n)]
PATTERNS = ("^(ab)*$", "a", "^b", "^a{3,5}$", "^[^]{2}$", "bb", "^$")


def is_met(condition: Condition, text: str) -> bool:
    """Whether a text meets a condition; the two ways to say that must agree."""
    said = condition.language.accepts(text)
    if not (condition.parts or condition.without):
        return said
    is_in = all(is_met(part, text) for part in condition.parts)
    is_in = is_in and not any(is_met(part, text) for part in condition.without)
    assert said if is_in else condition.is_wider or not said, (text, condition)
    return is_in


@pytest.mark.parametrize("most", [0, 10**9])
@pytest.mark.parametrize("seed", range(20))
def test_each_text_is_in_one_class_the_right_one(seed, most, monkeypatch):
    """By `re.search` and `len`; the class of a text is which conditions it meets, or how many."""
    monkeypatch.setattr(scalars, "MAX_TOGETHER", most)
    rng = random.Random(seed)
    patterns = rng.sample(PATTERNS, rng.randrange(1, 4))
    bounds = {
        (rng.randrange(4), rng.choice((None, 1, 3, 5, 6))) for _ in range(rng.randrange(1, 4))
    }
    asked = [Condition(pattern_language(pattern)) for pattern in patterns]
    asked += [of_lengths(*each) for each in bounds]
    for key_of in (lambda found: found, sum, lambda found: sum(found) > 1 or None):
        classes = by_class(asked, key_of)
        for text in TEXTS:
            met = [re.search(each.replace("[^]", "."), text) is not None for each in patterns]
            met += [least <= len(text) <= (99 if end is None else end) for least, end in bounds]
            found = [key for key, each in classes.items() for one in each if is_met(one, text)]
            key = key_of(tuple(met))
            assert found == ([] if key is None else [key]), (text, patterns, bounds)


@pytest.mark.slow
def test_a_format_with_a_bound_on_the_length():
    for schema, texts in (
        ({"format": "email", "maxLength": 254}, ["a@b.example", f"{'a' * 60}@{'b' * 60}.example"]),
        ({"format": "uri", "maxLength": 2048}, ["https://example.com/" + "a" * 2000]),
    ):
        schema["type"] = "string"
        for text in texts:
            assert is_accepted(schema, json.dumps(text))
            assert not is_accepted(schema | {"maxLength": len(text) - 1}, json.dumps(text))
            assert is_accepted(schema | {"minLength": len(text)}, json.dumps(text))
            assert not is_accepted(schema | {"minLength": len(text) + 1}, json.dumps(text))
        assert not is_accepted(schema, json.dumps("no"))


def test_lengths_that_no_text_has_make_no_class():
    schema = {"type": "string", "format": "ipv4", "minLength": 16, "maxLength": 4000}
    with pytest.raises(SchemaError, match="no value is allowed"):
        is_accepted(schema, '""')
