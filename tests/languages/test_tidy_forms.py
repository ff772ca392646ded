"""Whatever a tidy form writes keeps what docs/defaults.md promises: found in samples, by Lark."""

from __future__ import annotations

import json
import random
import re
import sys
import warnings
from pathlib import Path

import pytest
from support.tidy_forms import FORMS, broken, starts_of, texts

import cfgguide
from cfgguide.languages.tidy_forms import _TIDY
from cfgguide.output_types import output_type

FLOATS = [sys.float_info.max, sys.float_info.min, -sys.float_info.max, sys.float_info.epsilon]

CASES = [(name, start) for name in FORMS for start in starts_of(name)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), CASES)
def test_samples_of_a_tidy_form_keep_what_is_promised(name, start):
    """`python tests/support/tidy_forms.py` looks at a thousand of each."""
    found = [(text, why) for text in texts(name, start, 30) if (why := broken(name, start, text))]
    assert found == []


def test_samples_of_a_small_tidy_form_keep_what_is_promised():
    assert not any(broken("c", "start", text) for text in texts("c", "start", 5))


def test_every_tidy_form_is_looked_at_and_documented():
    page = Path(__file__).parents[2].joinpath("docs/defaults.md").read_text(encoding="utf-8")
    assert {*FORMS, "json"} == _TIDY.keys()
    assert [name for name in _TIDY if f'`"{name}"`' not in page] == []


@pytest.mark.parametrize(
    "number",
    [
        0,
        10,
        -7,
        2**63 - 1,
        -(2**63),
        -0.0,
        0.1,
        1e16,
        1e22,
        1e299,
        3e300,
        -2.5e307,
        5e-324,
        *FLOATS,
    ],
)
def test_the_tidy_form_of_json_has_every_number_that_python_writes(number):
    grammar = cfgguide.Grammar.bundled("json", tidy=True)
    assert cfgguide.check(grammar, json.dumps([number])).is_sentence


@pytest.mark.parametrize("number", ["1e309", "1.8e308", "-0", "01", "1" * 20, "0." + "1" * 18])
def test_the_tidy_form_of_json_has_no_number_that_goes_on_or_is_no_float(number):
    grammar = cfgguide.Grammar.bundled("json", tidy=True)
    assert not cfgguide.check(grammar, f"[{number}]").is_sentence


@pytest.mark.parametrize(
    ("name", "start", "text", "why"),
    [
        ("c", "start", "int  x;", "stands before"),
        ("c", "start", "int x;\n\n\n\nint y;", "stands before"),
        ("c", "start", "int x; ", ""),
        ("c", "start", "int x;\t", "stands at the end"),
        ("c", "start", "int x;\n\n\n    int y;", ""),
        ("c", "start", 'char *x = "//  \\t";', ""),
    ],
)
def test_what_breaks_a_promise_is_found(name, start, text, why):
    found = broken(name, start, text)
    assert why in found
    assert bool(why) == bool(found)


@pytest.mark.parametrize(
    "what", ["json", {"type": "array", "items": {"properties": {"a": {}, "b": {"type": "array"}}}}]
)
def test_json_has_the_white_space_of_dumps(what):
    with warnings.catch_warnings(action="ignore"):
        index = cfgguide.compile(output_type(what).grammar, cfgguide.Vocabulary.of_bytes())
    likely = [*b' \t\n{}[]:,"a1']
    for seed in range(100):
        rng, guide = random.Random(seed), cfgguide.Guide(index)
        for _ in range(30):
            ids = guide.allowed_token_ids().tolist()
            some = [each for each in likely if each in ids]
            guide.advance(rng.choice(some or ids))
            if guide.is_finished:
                break
        for token_id in () if guide.is_finished else guide.shortest_completion():
            guide.advance(token_id)
        text = re.sub(r'"(?:[^"\\]|\\.)*"', "s", guide.text.decode())
        assert not re.search(r"\s", re.sub(r"([,:]) (?=\S)", r"\1", text)), text
        assert not re.search(r"[,:]\S", text), text
