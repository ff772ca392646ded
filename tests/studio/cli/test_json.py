"""`--json`: one document on standard output, one on standard error if there is an error."""

from __future__ import annotations

import json
import re
from pathlib import Path

import lark
import pytest
from support.command_line import NUMBERS, SENTENCES, printed, process, refused
from support.tiny_models import small_tokenizer

import cfgguide
from cfgguide.grammar.grammar import bundled_folder
from cfgguide.studio.cli.main import COMMANDS, _parser

#: A command, and the keys of its document, as docs/command-line.md lists them.
DOCUMENTS = {
    "grammars": (["grammars"], "grammars"),
    "check a text": (["check", "my.lark", "--text", "[2]"], "grammar texts"),
    "check a grammar": (["check", "my.lark"], "grammar is_usable report"),
    "describe": (["describe", "json"], "style lead text"),
    "compare": (
        ["compare", "a.jsonl", "--what", "my.lark", "--max-new-tokens", "20"],
        "what ways measures",
    ),
    "convert": (["convert", "a.gbnf"], "notation lark start parser lexer special"),
    "trace": (
        ["trace", "my.lark", "--text", "[2]", "--tokenizer", "tokenizer"],
        "grammar tokens is_sentence refused expected",
    ),
    "index": (
        ["index", "my.lark", "--tokenizer", "tokenizer", "--output", "o", "--processes", "1"],
        "grammar file n_file_bytes reason precomputed",
    ),
    "generate": (
        ["generate", "my.lark", "--prompt", "x"],
        "grammar text token_ids is_complete n_model_calls n_forced",
    ),
    "model": (["model", "smollm2"], "name folder"),
    "cache off": (["cache"], "is_on"),
    "doctor": (["doctor"], "status checks"),
    "completion": (["completion", "fish"], "shell script"),
    "help": (["help", "check"], "command help"),
}


def test_the_table_has_all_commands():
    served = {"playground"}  # ends with Ctrl-C: tests/studio/playground
    assert {words[0] for words, _ in DOCUMENTS.values()} | served == set(_commands())
    assert len(_commands()) == len(COMMANDS)


def _commands() -> list[str]:
    (added,) = (each for each in _parser()._actions if each.dest == "command")
    return list(added.choices)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_command_has_one_document(run, random_writer, tokenizer_folder, name):
    words, keys = DOCUMENTS[name]
    Path("my.lark").write_text(NUMBERS)
    Path("a.gbnf").write_text("root ::= [0-9]")
    Path("a.jsonl").write_text('{"prompt": "a", "reference": "[2]"}')
    out = printed(run, *words, "--json")
    assert list(json.loads(out)) == keys.split()
    assert out.isascii()


def test_the_documents_are_documented():
    page = Path(__file__).resolve().parents[3] / "docs" / "command-line.md"
    section = page.read_text(encoding="utf-8").split("\n## JSON\n")[1].split("\n## ")[0]
    for _, keys in DOCUMENTS.values():
        assert set(keys.split()) <= set(re.findall(r"`(\w+)`", section))


def test_the_option_may_stand_before_the_command(run):
    for words in ["check", "json", "--text", "1"], ["chek"]:
        assert run("--json", *words) == run(*words, "--json")


def test_grammars_names_the_files(run):
    listed = json.loads(run("grammars", "--json").out)["grammars"]
    assert {"name": "json", "file": str(bundled_folder() / "json.lark")} in listed


def test_check_has_all_that_a_diagnosis_has(run):
    found = run("check", "json", "--text", "[1,", "--json")
    (text,) = json.loads(found.out)["texts"]
    assert found.status == 1
    assert (text["name"], text["is_sentence"]) == ("the text", False)
    assert (text["offset"], text["line"], text["column"]) == (3, 1, 4)
    assert set(text["expected"]) >= {"NUMBER", "STRING", "WS"}


def test_a_report_has_its_parts(run):
    Path("my.lark").write_text('start: A | B\nA: /a+/\nB: /[ab]/\nC: "c"\n')
    report = json.loads(run("check", "my.lark", "--json").out)["report"]
    assert report["unused_terminals"] == ["C"]
    assert report["sizes"]["productions"] == 2
    assert report["overlaps"]["shown"][0]["terminals"] == ["A", "B"]


def test_convert_gives_a_grammar_that_lark_reads(run):
    Path("a.gbnf").write_text('root ::= "(" root ")" | [0-9]')
    found = json.loads(run("convert", "a.gbnf", "--json").out)
    options = {key: found[key] for key in ("start", "parser", "lexer")}
    assert lark.Lark(found["lark"], **options).parse("((7))")


def test_bytes_that_are_not_utf8_are_base64(run, tokenizer_folder):
    """A character of two bytes, each of which is a token: C3 and A9."""
    assert len(small_tokenizer().encode("é")) == 2
    found = run("trace", "json", "--text", '"é"', "--tokenizer", tokenizer_folder, "--json")
    tokens = json.loads(found.out)["tokens"]
    assert [each["bytes"] for each in tokens] == [
        {"text": '"'},
        {"bytes": "ww=="},
        {"bytes": "qQ=="},
        {"text": '"'},
    ]


def test_a_refused_token_is_explained(run, tokenizer_folder):
    Path("my.lark").write_text(NUMBERS)
    arguments = ["my.lark", "--text", "[2x]", "--tokenizer", tokenizer_folder, "--json"]
    found = run("trace", *arguments)
    document = json.loads(found.out)
    assert (found.status, found.err) == (1, "")
    assert document["refused"] == {"offset": 2, "line": 1, "column": 3}
    last = document["tokens"][-1]
    assert (last["is_allowed"], last["terminals"]) == (False, [])
    assert last["explanation"]["expected"] == [{"terminal": "RSQB", "example": {"text": "]"}}]


def test_generate_gives_the_text_and_its_tokens(run, random_writer):
    Path("my.lark").write_text(NUMBERS)
    found = json.loads(run("generate", "my.lark", "--prompt", "x", "--json").out)
    assert found["text"].encode() in SENTENCES
    vocabulary = cfgguide.Vocabulary.from_tokenizer(small_tokenizer())
    assert vocabulary.spell(found["token_ids"][:-1]) == found["text"].encode()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check", "jsn"], "grammar"),
        (["check", "json", "nowhere"], "error"),
        (["chek"], "usage"),
        (["trace", "json"], "usage"),
        (["trace", "json", "--text", "1", "--tokenizer", "nowhere"], "model"),
    ],
)
def test_errors_are_one_document_on_standard_error(run, words, code):
    said = refused(run, *words, "--json")
    error = json.loads(said)["error"]
    assert error["code"] == code
    assert error["message"]
    assert not error["message"].startswith("[")


def test_names_that_are_not_utf8_are_no_error(tmp_path):
    (tmp_path / "my.json").write_text("1")
    ran = process(["check", "json", "my.json", b"\xff.json", "--json"], cwd=tmp_path)
    assert json.loads(ran.communicate()[1])["error"]["code"] == "error"
