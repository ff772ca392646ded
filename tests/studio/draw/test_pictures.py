"""Pictures of real objects show what was worked out by hand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from support.scripts import printed

import cfgguide
from cfgguide import Grammar, Vocabulary, draw
from cfgguide.errors import DrawingError, TextError
from cfgguide.studio.draw.notebook import grammar_html
from cfgguide.studio.draw.trace_page import save_trace_page, trace_page
from cfgguide.studio.draw.traced import traced

SVG = "{http://www.w3.org/2000/svg}"
#: Of the bundled grammar's parser; `cfgguide check json` says so.
N_JSON_STATES = 54
BRACKETS = Grammar('start: "(" start ")" | A\nA: /a+/')


def arrows_of(dot: str | None) -> set[tuple[str, str, str]]:
    """The arrows of a graph in Graphviz's language."""
    return {
        (source, target, label)
        for source, target, label in re.findall(r'n(\d+) -> n(\d+) \[label="(.*)"\]', str(dot))
    }


def test_the_fsm_of_a_float_has_the_arrows_of_one_made_by_hand():
    """Before the point and after it; the paper's figure 1 has each of the two twice."""
    picture = draw.fsm(r"([0-9]*)?\.?[0-9]*")
    assert arrows_of(picture.dot) == {("0", "0", "[0-9]"), ("0", "1", "."), ("1", "1", "[0-9]")}
    assert picture.dot.count("peripheries=2") == 2


def test_characters_beyond_ascii_are_drawn_by_their_bytes():
    """The CJK block U+4E00 to U+9FFF by hand: E4 B8..BF, E5..E8, E9 80..BF, then continuations."""
    assert arrows_of(draw.fsm("[\u4e00-\u9fff]").dot) == {
        ("0", "1", r"\\xe4"),
        ("0", "2", r"\\xe5-\\xe9"),
        ("1", "3", r"\\xb8-\\xbf"),
        ("2", "3", "continuation"),
        ("3", "4", "continuation"),
    }


@pytest.mark.parametrize(
    ("pattern", "arrows", "n_final"),
    [
        ("", set(), 1),
        ("a|ab", {("0", "1", "a")}, 1),  # `re` takes the first alternative
        ("(?!)", set(), 0),
        (re.compile("a", re.IGNORECASE), {("0", "1", "[Aa]")}, 1),
    ],
)
def test_small_patterns(pattern, arrows, n_final):
    picture = draw.fsm(pattern, layout="layers")
    assert arrows_of(picture.dot) == arrows
    assert picture.dot.count("peripheries=2") == n_final


def test_look_ahead_is_drawn_as_a_question():
    labels = {label for _, _, label in arrows_of(draw.fsm("if(?!x)", layout="layers").dot)}
    assert {"looks for", "if not"} <= labels


def test_parser_scanner_and_trie_of_a_small_grammar():
    """The tables are worked out in docs/how-a-mask-is-made.md."""
    assert arrows_of(draw.parser(BRACKETS).dot) == {
        ("0", "1", "A"), ("0", "2", "LPAR"), ("0", "3", "start"), ("2", "1", "A"),
        ("2", "2", "LPAR"), ("2", "4", "start"), ("4", "5", "RPAR"),
    }  # fmt: skip
    union = draw.scanner(BRACKETS).dot
    assert {label for _, _, label in arrows_of(union)} == {"(", ")", "a"}
    assert re.findall(r'label="\d+\\n(\w+)"', union) == ["LPAR", "A", "RPAR"]
    one = draw.scanner(BRACKETS, terminals=["RPAR"]).dot
    assert {label for _, _, label in arrows_of(one)} == {")"}
    assert draw.scanner(BRACKETS, parse_state=4).dot == one
    index = cfgguide.compile(BRACKETS, Vocabulary([b"(", b"a", b")", None], eos_token_ids=3))
    assert "0 masks" in draw.trie(index).svg
    cfgguide.Guide(index).allowed_token_ids()
    assert "2 tokens" in draw.trie(index).svg


def test_a_tree_has_the_rules_and_lexemes_of_larks_in_their_order():
    svg = draw.tree(BRACKETS, "(a)", layout="layers").svg
    texts = [each.text for each in ET.fromstring(svg).iter(f"{SVG}text")]
    assert texts == ["parse tree", "start", "start", "A", "a"]


def test_a_text_shows_tokens_terminals_and_counts():
    vocabulary = Vocabulary([b"(", b"a", b"a)", b")", None], eos_token_ids=4)
    index = cfgguide.compile(BRACKETS, vocabulary)
    svg = draw.text(index, "(a)").svg
    rows = [
        [text.text for text in group.iter(f"{SVG}text")]
        for group in ET.fromstring(svg).iter(f"{SVG}g")
        if group.get("class") == "token"
    ]
    # Of `(`, `a`, `a)` the last leads nowhere at first; after `(` all three may come.
    assert rows == [["2", "(", "LPAR"], ["3", "a)", "A", "RPAR"]]
    assert "the text is a sentence" in svg
    refused = draw.text(index, [0, 3]).svg
    assert "refused" in refused


def test_what_users_write_is_escaped():
    picture = draw.fsm("<script>&\"'\\x00")
    assert "<script>" not in picture.svg
    root = ET.fromstring(picture.svg)
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert "prefers-color-scheme" in picture.svg
    vocabulary = Vocabulary.of_bytes([b"<script>alert(1)</script>"])
    index = cfgguide.compile(Grammar("start: /<.*/"), vocabulary)
    trace = traced(index, "<script>alert(1)</script>", explains=True)
    for html in (draw.text(index, [256]).svg, trace_page(trace, name="<script>x")):
        assert "<script>alert" not in html
        assert "<script>x" not in html


def test_the_page_loads_nothing_and_says_what_is_allowed(tmp_path):
    vocabulary = Vocabulary([b"(", b"a", b"a)", b")", None], eos_token_ids=4)
    index = cfgguide.compile(BRACKETS, vocabulary)
    file = tmp_path / "page.html"
    for text, is_sentence in (("(a)", True), ("(a", False), ("a(", False)):
        trace = traced(index, text, explains=True)
        save_trace_page(trace, file, name="brackets")
        assert trace.is_sentence == is_sentence
    page = file.read_text(encoding="utf-8")
    assert os.listdir(tmp_path) == ["page.html"]
    assert re.findall(r"https?:|src=|@import|url\(", page) == []
    assert page.count('<a class="token') == page.count('<section class="step') == 2
    assert "is refused at byte 0" in page
    assert "<b>2</b> of 5 tokens" in page
    with pytest.raises(DrawingError, match="cannot write"):
        save_trace_page(traced(index, "a"), tmp_path / "none" / "page.html")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: draw.fsm("a", layout="circo"), "there are auto, dot, layers"),
        (lambda: draw.fsm("a", max_states=0), "max_states"),
        (lambda: draw.fsm(3), "a regular expression is a str"),
        (lambda: draw.terminal(BRACKETS, "LPER"), "is it LPAR?"),
        (lambda: draw.terminal(BRACKETS, "你好"), "it has A, LPAR, RPAR"),
        (lambda: draw.scanner(BRACKETS, parse_state=6), "there are 0 to 5"),
        (lambda: draw.scanner(BRACKETS, terminals=["A", "RPAR"]), "no terminal set has all of"),
        (lambda: draw.tree(BRACKETS, "(a"), "only a sentence has a parse tree; line 1, column 3"),
        (lambda: draw.tree(BRACKETS, 3), "a text is a str or bytes"),
        (lambda: draw.trie(3), "that of an Index"),
        (lambda: draw.text(3, "a"), "drawn with an Index"),
        (lambda: draw.fsm("a").save("a.png"), r"\.svg or \.dot"),
        (lambda: draw.Picture("<svg/>").save("a.dot"), "shows no graph"),
    ],
)
def test_mistakes_are_told(wrong, said):
    with pytest.raises(DrawingError, match=re.sub(r"([?(])", r"\\\1", said)):
        wrong()


def test_texts_that_cannot_be_cut_into_tokens():
    index = cfgguide.compile(BRACKETS, Vocabulary([b"(", b"a", b")", None], eos_token_ids=3))
    with pytest.raises(TextError, match="no token of the vocabulary spells b'x' at byte 1"):
        draw.text(index, "(x")
    with pytest.raises(TextError, match="token 9 is not in the vocabulary"):
        draw.text(index, [9])
    with pytest.raises(DrawingError, match="max_tokens is 1"):
        draw.text(index, "(a)", max_tokens=1)


@pytest.mark.slow
def test_grammars_for_earley_schemas_and_monitors():
    sums = Grammar('start: e\ne: e "+" e | "a"', parser="earley")
    assert "reduce e → e PLUS e" in draw.parser(sums, layout="layers").svg  # with its conflict
    vocabulary = Vocabulary.of_bytes()
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    written = draw.text(cfgguide.compile(schema, vocabulary), '{"a": 1}').svg
    assert "the text is a sentence" in written
    select = cfgguide.sql.runs_on({"t": ["a"]})
    index = cfgguide.compile(select, vocabulary)
    assert "is refused" in draw.text(index, "SELECT b FROM t;").svg
    trace = traced(index, "SELECT a FROM t", explains=True)
    assert trace.end is not None
    assert trace.end.is_sentence
    assert "parser 0" in draw.trie(index, layout="layers").svg
    messages = cfgguide.compile(cfgguide.thinking({"type": "integer"}), vocabulary)
    message = "<think>\nso\n</think>\n\n12"
    assert "the text is a sentence" in draw.text(messages, message).svg
    assert trace_page(traced(messages, message, explains=True)).count("is allowed") == len(message)
    assert "masks" in draw.trie(messages, layout="layers").svg
    with pytest.raises(DrawingError, match="read byte by byte"):
        draw.parser(messages)
    assert draw.parser(index, layout="layers").dot == draw.parser(select, layout="layers").dot


def test_dot_is_asked_for_and_not_installed(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert draw.fsm("a").svg == draw.fsm("a", layout="layers").svg
    with pytest.raises(DrawingError, match="install Graphviz"):
        draw.fsm("a", layout="dot")


def test_pictures_are_saved(tmp_path):
    picture = draw.fsm("a+")
    picture.save(tmp_path / "a.svg")
    picture.save(tmp_path / "a.dot")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == picture.svg == picture._repr_svg_()
    assert (tmp_path / "a.dot").read_text(encoding="utf-8") == picture.dot


def test_what_notebooks_show_is_escaped():
    html = grammar_html(Grammar('start: "<b>"'))
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    refused = cfgguide.check(BRACKETS, "(<b>")._repr_html_()
    assert "&lt;b&gt;" in refused
    assert "background" in refused


@pytest.mark.slow
def test_ipython_is_told_how_grammars_are_shown():
    pytest.importorskip("IPython", reason="only a notebook has it")
    code = (
        "from IPython.core.interactiveshell import InteractiveShell; "
        "shell = InteractiveShell.instance(); import cfgguide; "
        "found, _ = shell.display_formatter.format(cfgguide.Grammar('start: \"<b>\"')); "
        "print(found['text/html'])"
    )
    root = Path(cfgguide.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True,
        env=os.environ | {"PYTHONPATH": str(root)},
    )  # fmt: skip
    assert run.stdout.strip() == grammar_html(Grammar('start: "<b>"'))


@pytest.mark.slow
def test_the_same_picture_whatever_the_hash_seed():
    code = (
        "from cfgguide import draw, Grammar; g = Grammar.bundled('json'); "
        "print(draw.parser(g, layout='layers').svg, draw.scanner(g, layout='layers').dot)"
    )
    assert printed(code, seeds=("0", "1")).count('class="state"') == N_JSON_STATES
