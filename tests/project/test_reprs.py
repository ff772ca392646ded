"""One line says what an object is; in a notebook, texts of tokens are escaped."""

from __future__ import annotations

import re
import warnings

import pytest
from lark.indenter import PythonIndenter

import cfgguide
from cfgguide.engine.vocabulary.notebook import token_table

HTML = [b"<b>", b"&amp;", b"<script>alert(1)</script>", b"\xff<"]


@pytest.fixture
def guide() -> cfgguide.Guide:
    with warnings.catch_warnings(action="ignore"):  # `\xff<` is of no use
        return cfgguide.Guide(
            cfgguide.compile(
                cfgguide.Grammar(
                    'start: "<b>" (AND | SCRIPT)\nAND: "&amp;"\nSCRIPT: "<script>alert(1)</script>"'
                ),
                cfgguide.Vocabulary([*HTML, None], eos_token_ids=4),
            )
        )


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (cfgguide.Grammar('start: "a"'), "Grammar(n_characters=10, start='start')"),
        (
            cfgguide.Grammar('a: "a"', "a", "my.lark", strict=True, postlex=PythonIndenter),
            "Grammar(source_path='my.lark', n_characters=6, start='a', strict=True, "
            "postlex=<class 'lark.indenter.PythonIndenter'>)",
        ),
        (
            cfgguide.Vocabulary.of_bytes(),
            "Vocabulary(size=257, n_text_tokens=256, eos_token_ids=(256,))",
        ),
        (cfgguide.Limits(), "Limits()"),
        (cfgguide.Limits(max_seconds=5, max_pairs=7), "Limits(max_pairs=7, max_seconds=5)"),
    ],
)
def test_one_line_says_what_a_value_is(value, line):
    assert repr(value) == line


def test_a_guide_and_its_index_say_how_far_they_are_and_make_no_mask(guide):
    assert repr(guide) == "Guide(n_tokens=0, text=b'', is_accepting=False, is_finished=False)"
    assert repr(guide.index).startswith("Index(n_entries=0, n_subsets=0, nbytes=")
    assert "<table>" not in guide.index._repr_html_()
    assert guide.index.n_made == 0
    guide.advance(0)
    guide.advance(1)
    guide.advance(4)
    assert repr(guide) == (
        "Guide(n_tokens=3, text=b'<b>&amp;', is_accepting=True, is_finished=True)"
    )


def test_explanations(guide):
    assert repr(guide.explain(0)) == "Explanation(token_id=0, token=b'<b>', is_allowed=True)"
    refused = guide.explain(b"<c")
    assert repr(refused) == (
        f"Explanation(token=b'<c', is_allowed=False, offset=1, reason={refused.reason!r})"
    )


def texts_of(html: str) -> list[str]:
    """Return the texts between the tags, which are the few that `cfgguide` writes."""
    parts = re.split(r"</?(?:p|pre|code|table|t[rhd])>|<span style=\"[^\"]*\">|</span>", html)
    return [part for part in parts if part]


def test_html_shows_the_mask_and_escapes_the_tokens(guide):
    guide.advance(0)
    assert texts_of(guide._repr_html_()) == [
        *("&lt;b&gt;", "expected: AND, SCRIPT"),
        *("id", "token", "1", "&amp;amp;", "2", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ]
    cfgguide.Guide(guide.index).allowed_token_ids()
    start = guide.index._repr_html_()
    assert texts_of(start)[1:] == ["id", "token", "0", "&lt;b&gt;"]


def test_html_of_an_explanation_shows_what_is_refused_in_another_colour(guide):
    html = guide.explain(b"<!")._repr_html_()
    assert texts_of(html)[:2] == ["&lt;", "!"]
    assert len(set(re.findall("background:#[0-9a-f]+", html))) == 2
    assert "<!" not in html
    assert texts_of(guide.explain(0)._repr_html_())[0] == "&lt;b&gt;"


def test_a_long_mask_is_cut():
    table = token_table(cfgguide.Vocabulary.of_bytes(), [*range(250), 256])
    assert table.count("<tr>") == 51
    assert table.endswith("<p>and 201 more</p>")
    assert "EOS" in token_table(cfgguide.Vocabulary.of_bytes(), [256])
