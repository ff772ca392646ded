"""The command line: what it prints, and its exit status.

Most tests call `main` in this process with a small tokenizer and a random model; some run a process
of its own, for pipes and signals. Those marked `model` use SmolLM2.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import lark
import pytest
from support import sql_judge
from support.command_line import NUMBERS, SENTENCES, printed, process, refused
from support.tiny_models import N_SMALL, random_model, small_tokenizer

import cfgguide
from cfgguide.base.cache import user_cache
from cfgguide.engine.machine.partial import Partial
from cfgguide.models.transformers.streaming import Part, Stream

# --- grammars and check --------------------------------------------------------------------------


def test_grammars_lists_the_bundled_names(run):
    out = printed(run, "grammars")
    assert "json" in out.split()
    assert out.split() == sorted(out.split())


def numbers_hidden(text: str) -> str:
    """What depends on how automata are built, or on the clock, becomes a #."""
    return re.sub(
        r"^(?=parse|term\w+ sets|scan|byte|table|sec)(.*?) +[\d.,]+$", r"\1 #", text, flags=re.M
    )


CHECKED_GRAMMAR = """\
my.lark is usable

read as by Lark with parser='lalr', lexer='contextual'; parser='earley' is Lark's own default
terminals                  2
productions                2
parse states #
terminal sets #
scanner states #
byte classes #
table bytes #
seconds #

no text of this grammar holds a space, a tab or a line break
(`%ignore " "` lets spaces stand between words)
"""


def test_check_says_that_a_grammar_is_usable_and_how_large_it_is(run):
    Path("my.lark").write_text('start: "a" B | B\nB: /b+/\n')
    assert numbers_hidden(printed(run, "check", "my.lark")) == CHECKED_GRAMMAR


def test_warnings_of_check_leave_a_grammar_usable(run):
    Path("my.lark").write_text(
        'start: (A | B)+ C\nA: /[ab]+/\nB: /a+/\nC: "c"\nD: "d"\nunused: D\n%ignore / +/\n'
    )
    out = printed(run, "check", "my.lark")
    assert (
        out.split("\n\n", maxsplit=2)[2]
        == """\
terminals that match the same text, and how Lark reads it
(give the one that should win a priority, as in `NAME.2: ...`):
  A B  'a'  A in 2 terminal sets

terminals that are never read:
  B  always beaten: 'a' is read as A

terminals that no rule uses:
  D

rules that the start rule never asks for (each could be another start):
  unused

text without meaning that may go on for ever, which small models like to write
(max_ignored=n bounds what is ignored; docs/own-grammar.md says how to bound the rest):
  __IGNORE_0 / +/  of any length; ignored, so that one may follow the other
"""
    )


def test_check_takes_a_text(run):
    found = run("check", "json", "--text", '{"a": 1}')
    assert (found.status, found.out) == (0, "the text: is a sentence\n")
    found = run("check", "json", "--text", '{"a" 1}')
    assert found.status == 1
    assert found.out.startswith("the text: line 1, column 6: expected one of: ")


def test_check_looks_at_each_text(run):
    found = run("check", "json", "--text", "[1, 2", "--text", "[3]", "--text", "4")
    assert found.status == 1
    first, *others = [line for line in found.out.splitlines() if line.startswith("text ")]
    assert first.startswith("text 1: line 1, column 6: ")
    assert others == ["text 2: is a sentence", "text 3: is a sentence"]


def test_check_takes_larks_options(run):
    Path("names.lark").write_text('start: "a" NAME\nNAME: /[a-z]+/\n')
    Path("text").write_text("ab")
    assert run("check", "names.lark", "text").status == 0
    said = refused(run, "check", "names.lark", "text", "--lexer", "basic")
    assert "no text at all is a sentence" in said
    Path("else.lark").write_text('start: s\ns: "i" s | "i" s "e" s | "x"\n')
    assert run("check", "else.lark").status == 0
    said = refused(run, "check", "else.lark", "--strict")
    assert "Shift/Reduce conflict for terminal E. [strict-mode]" in said
    assert run("check", "else.lark", "--lexer", "dynamic").status == 0
    said = refused(run, "check", "else.lark", "--parser", "lalr", "--lexer", "dynamic")
    assert "'dynamic' goes with parser='earley'" in said


@pytest.mark.parametrize("ending", ["gbnf", "ebnf"])
def test_a_files_name_says_in_which_notation_it_is(run, ending):
    name = f"sums.{ending}"
    Path(name).write_text('root ::= [0-9]+ ("+" root)?\n')
    assert run("check", name, "--text", "1+23").status == 0
    assert run("check", name, "--text", "1+").status == 1
    assert "sum" in refused(run, "check", name, "--start", "sum")


def test_a_file_may_have_a_json_schema(run, random_writer):
    items = {"enum": ["a", "b"]}
    schema = {"type": "array", "items": items, "uniqueItems": True, "minItems": 2}
    Path("s.json").write_text(json.dumps(schema))
    assert run("check", "s.json").status == 0
    assert run("check", "s.json", "--text", '["b", "a"]').status == 0
    assert run("check", "s.json", "--text", '["b", "b"]').status == 1
    assert run("check", "s.json", "--text", '["b",  "a"]', "--max-ignored", "1").status == 1
    out = printed(run, "generate", "s.json", "--prompt", "x", "--max-new-tokens", "40")
    assert sorted(json.loads(out)) == ["a", "b"]
    said = refused(run, "check", "s.json", "--start", "x")
    assert said == "cfgguide: [grammar] --start is for grammars, and s.json is a JSON Schema\n"
    Path("s.json").write_text('{"type": "text"}')
    assert "[schema] at /type: type is one or more of" in refused(run, "check", "s.json")
    Path("s.json").write_text('{"type": ')
    assert "[schema] the schema is not JSON" in refused(run, "check", "s.json")


def test_a_grammar_that_lalr_does_not_take_is_read_with_earley(run):
    Path("either.lark").write_text('start: a | b\na: "x"\nb: "x"\n')
    Path("text").write_text("x")
    assert run("check", "either.lark", "text").status == 0
    said = refused(run, "check", "either.lark", "text", "--parser", "lalr")
    assert "Reduce/Reduce collision in Terminal('$END')" in said


#: A file's bytes, the exit status, and what is said about it.
CHECKED_JSON = {
    "good": (b'{"a": [1, 2]}\n', 0, "is a sentence"),
    "bad": (
        b'{"a": [1, 2}\n',
        1,
        'line 1, column 12: expected one of: COMMA, NUMBER, RSQB, WS\n{"a": [1, 2}\n           ^',
    ),
    "bad on line 3": (
        b'[\n  1,\n  "\xc3\xa9" 2\n]',
        1,
        'line 3, column 7: expected one of: COMMA, RSQB, WS\n  "é" 2\n      ^',
    ),
    "incomplete": (b'{"a":\n  [tru', 1, "line 2, column 7: expected one of: TRUE\n  [tru\n      ^"),
    "empty": (
        b"",
        1,
        "line 1, column 1: expected one of: FALSE, LBRACE, LSQB, NULL, NUMBER, STRING, TRUE, WS\n"
        "\n^",
    ),
    "a byte that is not UTF-8": (
        b'"a\xffb"',
        1,
        'line 1, column 3: expected one of: STRING\n"a\ufffdb"\n  ^',
    ),
    "an overlong slash": (
        b'"\xc0\xaf"',
        1,
        'line 1, column 2: expected one of: STRING\n"\ufffd\ufffd"\n ^',
    ),
    "an encoded surrogate": (
        b'"\xed\xa0\x80"',
        1,
        'line 1, column 2: expected one of: STRING\n"\ufffd\ufffd\ufffd"\n ^',
    ),
    "a byte order mark": (
        b"\xef\xbb\xbf1",
        1,
        "line 1, column 1: expected one of: FALSE, LBRACE, LSQB, NULL, NUMBER, STRING, TRUE, WS\n"
        # The mark is shown as a space: it has no width of its own.
        " 1\n^",
    ),
}


@pytest.mark.parametrize("name", CHECKED_JSON)
def test_check_says_whether_a_file_is_a_sentence_and_if_not_where(run, name):
    content, status, said = CHECKED_JSON[name]
    Path("text.json").write_bytes(content)
    found = run("check", "json", "text.json")
    assert (found.status, found.out, found.err) == (status, f"text.json: {said}\n", "")


def test_check_reads_all_files_and_fails_if_one_does(run):
    Path("good").write_text("1")
    Path("bad").write_text("x")
    found = run("check", "json", "good", "bad", "good")
    assert found.status == 1
    assert [line for line in found.out.splitlines() if line.startswith(("good", "bad"))] == [
        "good: is a sentence",
        "bad: line 1, column 1: expected one of: "
        "FALSE, LBRACE, LSQB, NULL, NUMBER, STRING, TRUE, WS",
        "good: is a sentence",
    ]
    assert run("check", "json", "good", "good").status == 0


@pytest.mark.parametrize(("text", "status"), [(b"[]", 0), (b"[", 1)])
def test_check_reads_standard_input(run, monkeypatch, tmp_path, text, status):
    path = tmp_path / "given"
    path.write_bytes(text)
    with path.open() as given:
        monkeypatch.setattr(sys, "stdin", given)
        found = run("check", "json", "-")
    assert found.status == status
    assert found.out.startswith("-: is a sentence" if status == 0 else "-: line 1, column 2: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "json", "good", "--max-ignored", "0"],
        ["check", "json", "--max-ignored", "0", "good"],
        ["check", "--max-ignored", "0", "json", "good"],
        ["check", "json", "good", "--max-ignored", "0", "good"],
        ["check", "json", "--start", "start", "good"],
    ],
)
def test_options_may_stand_anywhere(run, arguments):
    Path("good").write_text("1")
    assert set(printed(run, *arguments).splitlines()) == {"good: is a sentence"}


#: The options, a text and the exit status of `check json`.
IGNORED = [
    (["--max-ignored", "0"], '{"a":[1,2]}', 0),
    (["--max-ignored", "0"], '{"a": 1}', 1),
    (["--max-ignored", "5"], '{"a":     1}', 0),
    (["--max-ignored", "5"], '{"a":      1}', 1),
    ([], '{"a":' + " " * 1000 + "1}", 0),
]


@pytest.mark.parametrize(("option", "text", "status"), IGNORED)
def test_max_ignored_bounds_the_white_space_of_json(run, option, text, status):
    Path("text").write_text(text)
    assert run("check", "json", "text", *option).status == status


@pytest.mark.parametrize(
    ("option", "text", "status"),
    [
        (["--max-ignored", "1"], "BEGIN x END", 0),
        (["--max-ignored", "1"], "BEGIN  x END", 1),
        (["--keywords", "upper"], "BEGIN x END", 0),
        (["--keywords", "upper"], "begin x END", 1),
        ([], "begin   x End", 0),
    ],
)
def test_options_that_restrict_a_grammar_of_ones_own(run, option, text, status):
    Path("my.lark").write_text('start: BEGIN "x" END\nBEGIN: "begin"i\nEND: "end"i\n%ignore " "\n')
    Path("text").write_text(text)
    assert run("check", "my.lark", "text", *option).status == status


@pytest.mark.parametrize("command", ["check", "generate", "trace"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("-1", "cfgguide: [grammar] max_ignored is a number from 0 to 1000, not -1"),
        ("1001", "cfgguide: [grammar] max_ignored is a number from 0 to 1000, not 1001"),
        ("few", "argument --max-ignored: 'few' is no number"),
        ("1.5", "argument --max-ignored: '1.5' is no number"),
        ("", "argument --max-ignored: '' is no number"),
    ],
)
def test_other_values_of_max_ignored_are_errors(run, command, value, message):
    required = {"check": [], "generate": ["--prompt", "x"], "trace": ["--text", "1"]}
    assert message in refused(run, command, "json", *required[command], "--max-ignored", value)


# --- Grammars that cannot be used ----------------------------------------------------------------


def test_an_unknown_name_lists_the_bundled_ones(run):
    said = refused(run, "check", "jsn")
    assert said.startswith("cfgguide: [grammar] no bundled grammar is called 'jsn'; there is ")
    listed = said.split("there is ")[1].split(". Use")[0].split(", ")
    assert listed == run("grammars").out.split()


#: A grammar, and what is said of it (beginning).
UNUSABLE = {
    "undefined rule": (
        'start: "a" b\n',
        "cfgguide: [grammar] Lark rejects my.lark:\n"
        "Rule 'b' used but not defined (in rule start)\n",
    ),
    "broken syntax, with the place": (
        'start: "a"\n  | |x(\n',
        "cfgguide: [grammar] Lark rejects my.lark:\n"
        "Expecting a value, at line 2 column 8\n\n  | |x(\n       ^\n",
    ),
    "an empty terminal": (
        "start: A\nA: /x*/\n",
        "cfgguide: [grammar] Lark rejects my.lark:\nLexer does not allow zero-width terminals.",
    ),
    "no start rule": (
        'begin: "a"\n',
        "cfgguide: [grammar] Lark rejects my.lark:\nUsing an undefined rule: ",
    ),
    "no sentence": (
        'start: "a" start\n',
        "cfgguide: [grammar] no text at all is a sentence of the grammar (start rule 'start')",
    ),
    "an atomic group": (
        "start: A\nA: /(?>x)y/\n",
        "cfgguide: [pattern] terminal A uses an atomic group",
    ),
}


@pytest.mark.parametrize("command", ["check", "generate", "trace"])
@pytest.mark.parametrize("name", UNUSABLE)
def test_a_grammar_that_cannot_be_used_is_told_before_a_model_is_loaded(
    run, command, name, monkeypatch
):
    monkeypatch.setattr("cfgguide.models.load.load_model", lambda path: pytest.fail("loaded"))
    monkeypatch.setattr("cfgguide.models.load.load_tokenizer", lambda path: pytest.fail("loaded"))
    grammar, said = UNUSABLE[name]
    Path("my.lark").write_text(grammar)
    required = {"check": [], "generate": ["--prompt", "x"], "trace": ["--text", "a"]}
    assert refused(run, command, "my.lark", *required[command]).startswith(said)


#: Blocks of lines, and the indenter that goes with them.
BLOCKS = """\
start: _NEWLINE? _block
_block: (NAME _NEWLINE [_INDENT _block _DEDENT])+
NAME: /[a-z]+/
_NEWLINE: /(\\n[ ]*)+/
%declare _INDENT _DEDENT
"""
INDENTERS = """\
from lark.indenter import PythonIndenter

class Blocks(PythonIndenter):
    tab_len = 4

class Overridden(PythonIndenter):
    def handle_NL(self, token):
        yield token

number = 1
"""


@pytest.fixture
def indenters(monkeypatch) -> str:
    """The name of a module of the current folder, forgotten again."""
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != ""])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return "indenters_of_tests"


@pytest.mark.parametrize(
    ("text", "status"), [("a\n  b\n  c\nd\n", 0), ("a\n  b\n c\n", 1), ("a\nb\n  c", 1)]
)
def test_a_grammar_file_may_have_an_indenter_of_its_own(run, indenters, text, status):
    Path("my.lark").write_text(BLOCKS)
    Path(f"{indenters}.py").write_text(INDENTERS)
    Path("text").write_text(text)
    assert run("check", "my.lark", "text", "--indenter", f"{indenters}:Blocks").status == status


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check", "generate", "trace", "index"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            ":Blocks",
            "--indenter names a module and what is in it, as in my_indenter:MyIndenter, not ",
        ),
        (
            "blocks",
            "--indenter names a module and what is in it, as in my_indenter:MyIndenter, not ",
        ),
        (
            "{}:Other",
            "cannot import '{}:Other' for --indenter: AttributeError: module '{}' has no ",
        ),
        (
            "no_such:Blocks",
            "cannot import 'no_such:Blocks' for --indenter: ModuleNotFoundError: No ",
        ),
        (
            "{}_broken:Blocks",
            "cannot import '{}_broken:Blocks' for --indenter: ZeroDivisionError: ",
        ),
        ("{}:number", "postlex is a subclass of lark.indenter.Indenter, not 1: "),
        ("{}:Overridden", "the indenter Overridden has its own handle_NL, of which nothing is "),
    ],
)
def test_an_indenter_that_cannot_be_used_is_an_error(run, indenters, command, name, said):
    Path("my.lark").write_text(BLOCKS)
    Path(f"{indenters}.py").write_text(INDENTERS)
    Path(f"{indenters}_broken.py").write_text("1 / 0")
    required = {"generate": ["--prompt", "x"], "trace": ["--text", "a"], "index": ["--output", "o"]}
    option = ["--indenter", name.format(indenters)]
    told = refused(run, command, "my.lark", *required.get(command, []), *option)
    assert told.startswith("cfgguide: [grammar] " + said.format(indenters, indenters))


def test_a_bundled_grammar_has_its_own_indenter(run, indenters):
    Path(f"{indenters}.py").write_text(INDENTERS)
    said = refused(run, "check", "json", "--indenter", f"{indenters}:Blocks")
    assert "--indenter is for .lark files" in said


@pytest.mark.slow
def test_check_python_says_where_a_file_is_wrong(run):
    Path("good.py").write_text("def f(x):\n    return x + 1\n\n\nprint(f(2))\n")
    Path("bad.py").write_text("def f(x):\n    if x:\n        return 1\n  return 2\n")
    found = run("check", "python", "good.py", "bad.py")
    assert (found.status, found.err) == (1, "")
    good, bad = found.out.split("\n", 1)
    assert good == "good.py: is a sentence"
    assert bad.startswith("bad.py: line 4, column 3: expected one of: ")
    assert bad.endswith("\n  return 2\n  ^\n")
    found = run("check", "python", "--start", "function", "good.py")
    assert (found.status, found.out.startswith("good.py: line 5, column 1: ")) == (1, True)


#: Five broken grammars, and all that `check` says of each.
BROKEN = {
    "a syntax error": (
        'start: "a" b\nb = "x"\n',
        "cfgguide: [grammar] Lark rejects my.lark:\n"
        "Unexpected input at line 2 column 3 in my.lark: \n\n"
        'b = "x"\n'
        "  ^\n"
        "Way out: what stands there is not Lark's language: a rule is `name: ...`, a terminal "
        "`NAME: ...`, an alternative begins with `|`, a statement with `%`, a comment with "
        "`//`.\n",
    ),
    "an undefined rule": (
        'start: "a" value\nvalue: "x" | list\n',
        "cfgguide: [grammar] Lark rejects my.lark:\n"
        "Rule 'list' used but not defined (in rule value)\n"
        "Way out: define it, or import it, as in `%import common.INT`; rules have names in lower "
        "case, terminals in upper case.\n",
    ),
    "a reduce/reduce conflict": (
        'start: (name | type) ";"\nname: WORD\ntype: WORD\nWORD: /[a-z]+/\n',
        "cfgguide: [grammar] Lark rejects my.lark:\n"
        "Reduce/Reduce collision in Terminal('SEMICOLON') between the following rules:\n"
        "\t- <name : WORD>\n"
        "\t- <type : WORD>\n"
        "Conflict 1 of 1: after WORD ('a'), before SEMICOLON (';'), there are two readings:\n"
        "    1.  (start (name WORD) • SEMICOLON …)\n"
        "    2.  (start (type WORD) • SEMICOLON …)\n"
        "Way out: LALR(1) sees only the next terminal, and a grammar for it must not be "
        "ambiguous. Write the two rules as one, or let them differ before this place; or give one "
        "of them a priority, as in `rule.2: ...`, and Lark takes that one wherever both fit.\n"
        "Or take parser='earley', which follows all readings.\n",
    ),
    "a backreference": (
        "start: TAG\nTAG: /<([a-z]+)>.*<\\/\\1>/\n",
        "cfgguide: [pattern] terminal TAG uses a backreference, which is not supported, in "
        "/<([a-z]+)>.*<\\/\\1>/; write out the texts that the group can match\n",
    ),
    "a terminal of no width": (
        "start: WORD SPACE WORD\nWORD: /[a-z]+/\nSPACE: / */\n",
        "cfgguide: [grammar] Lark rejects my.lark:\n"
        "Lexer does not allow zero-width terminals. (SPACE: ' *')\n"
        "Way out: a terminal must match one character or more. Take the `?` or `*` out of the "
        "terminal and write it where a rule uses the terminal, as in `[A]` or `A*`; after %ignore "
        "write `+`.\n",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_check_says_of_a_broken_grammar(run, name):
    grammar, said = BROKEN[name]
    Path("my.lark").write_text(grammar)
    found = run("check", "my.lark", *(["--parser", "lalr"] if "conflict" in name else []))
    assert (found.status, found.out, found.err) == (2, "", said)


def test_the_start_rule_can_be_named(run):
    Path("my.lark").write_text('begin: "a" start\nstart: "b"\n')
    Path("text").write_text("ab")
    assert run("check", "my.lark", "--start", "begin", "text").status == 0
    assert run("check", "my.lark", "text").status == 1


def test_a_bundled_name_is_that_grammar_whatever_files_there_are(run):
    Path("json").write_text("1")
    assert run("check", "json", "json").out == "json: is a sentence\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "none.lark"], "cfgguide: [grammar] cannot read the grammar file 'none.lark': "),
        (["check", "./folder"], "cfgguide: [grammar] cannot read the grammar file './folder': "),
        (["check", "bytes.lark"], "cfgguide: [grammar] cannot read the grammar file 'bytes.lark'"),
        (["check", "start: A\n" + "x" * 5000], "cfgguide: [grammar] no bundled grammar is called"),
        (["check", "a\0b"], "cfgguide: [grammar] no bundled grammar is called"),
        (["check", ""], "cfgguide: [grammar] no bundled grammar is called ''"),
        (
            ["check", "json", "none.json"],
            "cfgguide: [error] cannot read 'none.json': No such file or directory\n",
        ),
        (["check", "json", "folder"], "cfgguide: [error] cannot read 'folder': Is a directory\n"),
        (
            ["trace", "json", "--text", "1", "--tokenizer", "folder"],
            "cfgguide: [model] there is no tokenizer.json at 'folder'",
        ),
        (
            ["generate", "json", "--prompt", "x", "--model", "gpt2"],
            "cfgguide: [model] there is no folder 'gpt2'.",
        ),
    ],
)
def test_what_cannot_be_read_is_an_error(run, arguments, said):
    Path("folder").mkdir()
    Path("bytes.lark").write_bytes(b"\xff")
    told = refused(run, *arguments)
    assert told.startswith(said)
    assert "Traceback" not in told


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["chek"], ["check"], ["generate", "json"], ["trace", "json"], ["model"],
        ["model", "gpt2"], ["grammars", "json"], ["check", "json", "--frobnicate"],
        ["generate", "json", "more", "--prompt", "x"],
        ["generate", "json", "--prompt", "x", "--max-new-tokens", "many"],
        ["generate", "json", "--prompt", "x", "--temperature", "hot"],
        ["generate", "json", "--prompt", "x", "--seed", "1.5"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_ends_with_2_and_shows_the_usage(run, arguments):
    assert refused(run, *arguments).startswith("usage: cfgguide")


@pytest.mark.parametrize("command", ["check", "trace"])
def test_files_are_not_required_since_text_may_stand_for_them(run, command):
    assert refused(run, command).endswith("the following arguments are required: GRAMMAR\n")


def test_a_text_is_itself_even_if_it_is_a_hyphen(run):
    Path("my.lark").write_text('start: "-"')
    assert printed(run, "check", "my.lark", "--text", "-") == "the text: is a sentence\n"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-bytes", "-1"),
        ("--max-bytes", "many"),
        ("--max-seconds", "-0.5"),
        ("--max-seconds", "nan"),
    ],
)
def test_bounds_are_numbers_from_0_up(run, option, value):
    said = refused(run, "index", "json", "--output", "file", option, value)
    assert f"argument {option}: {value!r} is not a number from 0 up" in said


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.gbnf", 'root ::= "(" root ")" | [0-9]', []),
        ("a.ebnf", 'root ::= "(" root ")" | [0-9]', []),
        ("a.txt", 'root ::= "(" root ")" | [0-9]', ["--notation", "gbnf"]),
        ("a.ebnf", "root ::= '(' root ')' | [#x30-#x39]", ["--notation", "w3c"]),
    ],
)
def test_convert_writes_a_grammar_that_lark_reads(run, name, text, options):
    Path(name).write_text(text, encoding="utf-8")
    out = printed(run, "convert", name, *options)
    parser = lark.Lark(out, parser="earley", lexer="dynamic_complete")
    parser.parse("((7))")
    with pytest.raises(lark.exceptions.LarkError):
        parser.parse("((7)")


def test_convert_names_the_tokens(run):
    Path("a.gbnf").write_text('root ::= "a" <|end|> <[7]>', encoding="utf-8")
    said = run("convert", "a.gbnf").out
    assert "is a token: '<|end|>'.\n" in said
    assert "is a token: 7.\n" in said


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (["a.gbnf", "--to", "w3c"], '/* From a.gbnf. */\nroot ::= "(" root ")" | [0-9] [0-9]?'),
        (["a.gbnf", "--to", "gbnf"], '# From a.gbnf.\nroot ::= "(" root ")" | [0-9]{1,2}'),
        (["a.lark", "--to", "gbnf", "--lexer", "dynamic_complete"], 'root ::= "a"* "b"\n'),
        (["json", "--to", "w3c"], "start ::= _ws value\n"),
        (["b.lark", "--to", "w3c", "--wider"], "/* May allow more texts than the grammar: Lark's"),
    ],
)
def test_convert_writes_other_notations(run, arguments, written):
    Path("a.gbnf").write_text('root ::= "(" root ")" | [0-9]{1,2}', encoding="utf-8")
    Path("a.lark").write_text('start: "a" start | "b"', encoding="utf-8")
    Path("b.lark").write_text("start: A A\nA: /a+/", encoding="utf-8")
    assert written in printed(run, "convert", *arguments)


def test_convert_asks_before_it_allows_more(run):
    Path("a.lark").write_text("start: A A\nA: /a+/", encoding="utf-8")
    assert "ask for that with --wider" in refused(run, "convert", "a.lark", "--to", "gbnf")
    assert "say with --to what to write" in refused(run, "convert", "a.lark")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", b"root ::= [0-9]", "the ending of a.txt does not say which notation it is in"),
        ("a.gbnf", b"root ::= b", "line 1, column 10: there is no rule called b"),
        ("a.gbnf", b"root ::= \xff", "cannot read 'a.gbnf'"),
    ],
)
def test_what_cannot_be_converted_is_an_error(run, name, text, said):
    Path(name).write_bytes(text)
    assert said in refused(run, "convert", name)


@pytest.mark.parametrize("command", [[], ["check"], ["generate"], ["trace"], ["grammars"]])
def test_help_ends_with_0(run, command):
    assert printed(run, *command, "--help").startswith("usage: cfgguide")


# --- trace ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_check_reports_what_a_tokenizer_cannot_spell(run, tokenizer_folder):
    Path("my.lark").write_text(NUMBERS)
    shown = printed(run, "check", "my.lark", "--tokenizer", tokenizer_folder)
    assert (
        shown.splitlines()[-1] == "the vocabulary can spell every terminal, and every byte of them"
    )
    assert refused(run, "check", "my.lark", "my.lark", "--tokenizer", tokenizer_folder) == (
        "cfgguide: [error] --tokenizer is for the report on a grammar; leave out the texts\n"
    )
    said = refused(run, "check", "my.lark", "--tokenizer", "nowhere")
    assert said.startswith("cfgguide: [model] there is no tokenizer.json at 'nowhere'")


def n_allowed(tokenizer, prefix: bytes) -> int:
    """How many tokens start a rest of a sentence; EOS counts after a sentence.

    All bytes are tokens here, so every start of a rest can be completed.
    """
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

    tokens = Vocabulary.from_tokenizer(tokenizer).tokens
    rests = [text[len(prefix) :] for text in SENTENCES if text.startswith(prefix)]
    n_text = sum(1 for token in tokens if token and any(rest.startswith(token) for rest in rests))
    return n_text + rests.count(b"")


def test_trace_shows_each_token_and_the_terminals_that_it_spells(run, tokenizer_folder):
    tokenizer = small_tokenizer()
    ids = [tokenizer.convert_tokens_to_ids(token) for token in ("[", "1", "0", "]")]
    assert tokenizer.encode("[10]") == ids  # no merges among these
    Path("my.lark").write_text(NUMBERS)
    found = run("trace", "my.lark", "--text", "[10]", "--tokenizer", tokenizer_folder)
    allowed = [n_allowed(tokenizer, b"[10]"[:length]) for length in range(4)]
    assert allowed[1] >= 3  # 1, 2, t, and maybe more of "true"
    assert found.out.splitlines() == [
        "  token  bytes                    allowed  terminals",
        f"{ids[0]:>7}  '['                      {allowed[0]:>7}  LSQB",
        f"{ids[1]:>7}  '1'                      {allowed[1]:>7}  NUMBER",
        f"{ids[2]:>7}  '0'                      {allowed[2]:>7}  NUMBER",
        f"{ids[3]:>7}  ']'                      {allowed[3]:>7}  RSQB",
        "a sentence; expected next: $END",
    ]
    assert (found.status, found.err) == (0, "")


def test_trace_writes_a_page(run, tokenizer_folder):
    Path("my.lark").write_text(NUMBERS)
    arguments = ("trace", "my.lark", "--tokenizer", tokenizer_folder, "--html", "page.html")
    found = run(*arguments, "--text", "[10]")
    assert (found.status, found.err) == (0, "")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "my.lark" in page
    assert "The text is a sentence" in page
    assert run(*arguments, "--text", "[1]").status == 1
    assert "The text is refused" in Path("page.html").read_text(encoding="utf-8")
    found = run(*arguments[:-1], "none/page.html", "--text", "[10]")
    assert found.status == 2
    assert found.err.startswith("cfgguide: [drawing] cannot write 'none/page.html'")


def test_trace_takes_the_file_of_a_tokenizer_too(run, tokenizer_folder):
    Path("my.lark").write_text(NUMBERS)
    arguments = ["trace", "my.lark", "--text", "[2]", "--tokenizer"]
    by_file = run(*arguments, f"{tokenizer_folder}/tokenizer.json")
    assert by_file.status == 0
    assert by_file == run(*arguments, tokenizer_folder)


def terminals(out: str) -> list[str]:
    return [line[43:] for line in out.splitlines()[1:-1]]


#: A text, and the terminals of each of its tokens, which are single bytes with this tokenizer.
TRACED_JSON = [
    ("1", ["NUMBER"]),
    ("[0.5]", ["LSQB", "NUMBER", "NUMBER", "NUMBER", "RSQB"]),
    ('"é"', ["STRING"] * 4),
    ('{"":-1}', ["LBRACE", "STRING", "STRING", "COLON", "NUMBER", "NUMBER", "RBRACE"]),
]


@pytest.mark.parametrize(("text", "expected"), TRACED_JSON)
def test_trace_names_the_terminals_of_every_token(run, tokenizer_folder, text, expected):
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

    tokenizer = small_tokenizer()
    tokens = Vocabulary.from_tokenizer(tokenizer).tokens
    found = run("trace", "json", "--text", text, "--tokenizer", tokenizer_folder)
    # Tokens of several bytes name the terminals of all of them, each once.
    position, names = 0, []
    for token_id in tokenizer.encode(text):
        end = position + len(tokens[token_id])
        names.append(" ".join(dict.fromkeys(expected[position:end])))
        position = end
    assert terminals(found.out) == names
    assert found.out.endswith("a sentence; expected next: " + expected_next(text) + "\n")


def expected_next(text: str) -> str:
    return "$END, NUMBER, WS" if text[-1].isdigit() else "$END, WS"


def test_trace_stops_at_a_token_that_is_refused(run, tokenizer_folder):
    Path("my.lark").write_text(NUMBERS)
    found = run("trace", "my.lark", "--text", "[2x]", "--tokenizer", tokenizer_folder)
    assert found.status == 1
    assert terminals(found.out + "\n") == ["LSQB", "NUMBER", "REFUSED"]
    (token_id,) = small_tokenizer().encode("x")
    assert found.err == (
        f"cfgguide: line 1, column 3: token {token_id} ('x') is refused at byte 0, 'x': "
        "no terminal that may follow NUMBER '2' begins with it\n"
        "  expected there: RSQB ']'\n"
        "[2x]\n"
        "  ^\n"
    )


def test_trace_shows_the_byte_within_a_token_and_its_line(run, tokenizer_folder):
    tokenizer = small_tokenizer()
    token_id = tokenizer.encode("a\n    b")[1]
    assert tokenizer.decode([token_id]) == "\n   "
    Path("my.lark").write_text('start: "a" "\\n" " " "b"\n')
    found = run("trace", "my.lark", "--text", "a\n    b", "--tokenizer", tokenizer_folder)
    assert found.status == 1
    assert found.err.startswith(
        f"cfgguide: line 2, column 2: token {token_id} ('\\n   ') is refused at byte 2, ' ': "
    )
    assert found.err.endswith("\n    b\n ^\n")


def test_trace_explains_every_token_if_asked(run, tokenizer_folder):
    Path("my.lark").write_text(NUMBERS)
    arguments = ["trace", "my.lark", "--text", "[10]", "--tokenizer", tokenizer_folder]
    plain, found = run(*arguments), run(*arguments, "--explain")
    lines = found.out.splitlines()
    assert [line for line in lines if not line.startswith(" " * 9)] == plain.out.splitlines()
    assert [line.strip() for line in lines if line.startswith(" " * 9)] == [
        "it completes LSQB '['",
        "then may follow: NUMBER '2'",
        "it leaves open NUMBER '1'",
        "then may follow: NUMBER '0'",
        "it completes NUMBER '10'",
        "then may follow: RSQB ']'",
        "it completes RSQB ']'",
        "then may follow: $END",
    ]


def test_trace_of_a_start_of_a_sentence_is_not_yet_one(run, tokenizer_folder):
    Path("my.lark").write_text(NUMBERS)
    found = run("trace", "my.lark", "--text", "[1", "--tokenizer", tokenizer_folder)
    assert (found.status, found.err) == (1, "")
    assert terminals(found.out) == ["LSQB", "..."]  # no lexeme has ended here
    assert found.out.endswith("not a sentence yet; expected next: NUMBER\n")


def test_trace_of_nothing_says_what_a_sentence_starts_with(run, tokenizer_folder):
    Path("my.lark").write_text(NUMBERS)
    found = run("trace", "my.lark", "--text", "", "--tokenizer", tokenizer_folder)
    assert found.status == 1
    assert found.out.splitlines()[1:] == ["not a sentence yet; expected next: LSQB"]


def test_trace_reads_the_names_of_special_tokens_as_text(run, tokenizer_folder):
    text = '"<|endoftext|>"'
    found = run("trace", "json", "--text", text, "--tokenizer", tokenizer_folder)
    assert found.status == 0
    assert set(terminals(found.out)) == {"STRING"}


@pytest.mark.parametrize(("command", "option"), [("trace", "--text"), ("generate", "--prompt")])
def test_an_argument_that_is_not_utf8_is_wrong_usage(run, command, option):
    """Python reads such bytes of a command line as lone surrogates."""
    assert "not valid UTF-8" in refused(run, command, "json", option, "a\udcffb")


@pytest.mark.slow
@pytest.mark.model
def test_trace_of_json_with_smollm2(run):
    out = printed(run, "trace", "json", "--text", '{"a": [1.5, true]}')
    rows = out.splitlines()[1:-1]
    assert [(row[9:33].rstrip(), row[43:]) for row in rows] == [
        ("'{\"'", "LBRACE STRING"),
        ("'a'", "STRING"),
        ("'\":'", "STRING COLON"),
        ("' ['", "WS LSQB"),
        ("'1'", "NUMBER"),
        ("'.'", "NUMBER"),
        ("'5'", "NUMBER"),
        ("','", "COMMA"),
        ("' true'", "WS TRUE"),
        ("']}'", "RSQB RBRACE"),
    ]
    assert out.endswith("a sentence; expected next: $END, WS\n")


@pytest.mark.slow
@pytest.mark.model
def test_trace_of_a_finite_language_with_smollm2(run):
    """All counts follow from the three sentences."""
    from cfgguide.models import load_tokenizer

    tokenizer = load_tokenizer()
    Path("my.lark").write_text(NUMBERS)
    found = run("trace", "my.lark", "--text", "[true]")
    ids = tokenizer.encode("[true]")
    prefixes = [tokenizer.decode(ids[:length]).encode() for length in range(len(ids))]
    counts = [int(line[35:42]) for line in found.out.splitlines()[1:-1]]
    assert counts == [n_allowed(tokenizer, prefix) for prefix in prefixes]
    assert [int(line[:7]) for line in found.out.splitlines()[1:-1]] == ids


# --- generate ------------------------------------------------------------------------------------


def test_generate_writes_a_sentence_and_nothing_else_to_standard_output(run, random_writer):
    Path("my.lark").write_text(NUMBERS)
    found = run("generate", "my.lark", "--prompt", "a number")
    assert found.out.encode() in [sentence + b"\n" for sentence in SENTENCES]
    assert (found.status, found.err) == (0, "")


def test_generate_finishes_within_its_tokens(run, random_writer):
    for n in ("2", "3", "7"):
        out = printed(run, "generate", "json", "--prompt", "x", "--max-new-tokens", n)
        json.loads(out)


def test_generate_says_when_no_sentence_fits(run, random_writer):
    assert refused(run, "generate", "json", "--prompt", "x", "--max-new-tokens", "1") == (
        "cfgguide: [budget] no sentence can be finished within 1 token: 2 tokens, EOS included, "
        "finish one; allow more\n"
    )


@pytest.mark.slow
def test_generate_is_reproducible_with_a_seed(run, random_writer):
    arguments = ["generate", "json", "--prompt", "x", "--max-new-tokens", "20"]
    sampled = [
        run(*arguments, "--temperature", "1", "--seed", seed).out for seed in ("1", "1", "2", "-3")
    ]
    assert sampled[0] == sampled[1]
    assert len(set(sampled)) > 1
    assert run(*arguments) == run(*arguments, "--seed", "7")  # greedy


def test_generate_chats_where_the_tokenizer_has_a_template_unless_raw(run, monkeypatch):
    import transformers

    chatty, prompts = small_tokenizer(), []
    chatty.chat_template = "{% for message in messages %}<{{ message['content'] }}>{% endfor %}"
    model = random_model(N_SMALL + 5)
    forward = transformers.LlamaForCausalLM.forward

    @functools.wraps(forward)
    def listening(self, input_ids, **options):
        if input_ids.shape[1] > 1:
            prompts.append(chatty.decode(input_ids[0]))
        return forward(self, input_ids, **options)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "forward", listening)
    monkeypatch.setattr("cfgguide.models.load.prepare_smollm2", lambda progress: Path("smollm2"))
    monkeypatch.setattr("cfgguide.models.load.load_model", lambda path: (model, chatty))
    Path("my.lark").write_text(NUMBERS)
    for option in [], ["--raw"]:
        assert run("generate", "my.lark", "--prompt", "a number", *option).status == 0
    assert prompts == ["<a number>[", "a number["]  # every sentence begins with a bracket


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--temperature", "-1", "temperature is -1.0; it is 0 (greedy) or positive"),
        ("--temperature", "nan", "temperature is nan; it is 0 (greedy) or positive"),
        ("--temperature", "inf", "temperature is inf; it is 0 (greedy) or positive"),
        ("--seed", "-1", "seed is -1; it is a number that is not negative, or a numpy Generator"),
    ],
)
def test_generate_refuses_options_that_make_no_sense(run, random_writer, option, value, message):
    said = refused(run, "generate", "json", "--prompt", "x", option, value)
    assert said == f"cfgguide: [generation] {message}\n"


@pytest.mark.parametrize("n", ["0", "-1", "1.5", "many"])
def test_a_wrong_number_of_tokens_is_told_before_the_model_is_loaded(run, monkeypatch, n):
    monkeypatch.setattr("cfgguide.models.load.load_model", None)  # nobody may call it
    said = refused(run, "generate", "json", "--prompt", "x", f"--max-new-tokens={n}")
    assert f"argument --max-new-tokens: '{n}' is not a number from 1 up" in said


def test_help_imports_nothing_that_it_does_not_need():
    command = [sys.executable, "-X", "importtime", "-m", "cfgguide.studio.cli.main", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "cfgguide.studio.cli.arguments" in imported
    assert not imported & {"numpy", "lark", "torch", "transformers", "cfgguide.engine.index.index"}


@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize(
    "command",
    [
        ("check", "json"),
        ("check", "json", "--text", "[]"),
        ("generate", "json", "--prompt", "x", "--max-new-tokens", "20"),
    ],
)
def test_compiling_is_shown_on_a_terminal(run, random_writer, monkeypatch, command, is_terminal):
    monkeypatch.setattr("cfgguide.base.progress._SHOWN_AFTER", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    found = run(*command)
    assert found.status == 0
    assert ("compiling: " in found.err) == is_terminal


def test_an_interruption_ends_with_130(run, random_writer, monkeypatch):
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cfgguide.models.transformers.generation.stream", interrupt)
    found = run("generate", "json", "--prompt", "x")
    assert (found.status, found.out, found.err) == (130, "", "\ncfgguide: interrupted\n")


@pytest.mark.slow
@pytest.mark.model
def test_generate_with_smollm2(run):
    found = run("generate", "json", "--prompt", "What is 7 times 8? Answer with a number.")
    assert found.status == 0
    json.loads(found.out)
    found = run("generate", "json", "--prompt", "A long story", "--max-new-tokens", "2")
    assert found.status == 0
    json.loads(found.out)


@pytest.fixture
def asked(monkeypatch) -> list[SimpleNamespace]:
    """What `generate` is asked for, with a model that can chat and an index of nothing."""
    calls, chatty = [], small_tokenizer()
    chatty.chat_template = "{{ messages[0]['content'] }}"
    loaded = random_model(N_SMALL + 5), chatty

    def stream(model, prompt, **options):
        calls.append(SimpleNamespace(prompt=prompt, **options))
        return Stream(iter([]), lambda: cfgguide.integrations.Generation("", (), True))

    monkeypatch.setattr("cfgguide.models.load.prepare_smollm2", lambda progress: Path("smollm2"))
    monkeypatch.setattr("cfgguide.models.load.load_model", lambda path: loaded)
    monkeypatch.setattr("cfgguide.compiler.compile_recognizer", lambda grammar, **options: None)
    monkeypatch.setattr("cfgguide.compiler.compile", lambda grammar, vocabulary, **options: grammar)
    monkeypatch.setattr("cfgguide.models.transformers.generation.stream", stream)
    return calls


def test_a_python_function_is_what_is_asked_for_and_its_end_is_the_end(run, asked):
    assert run("generate", "python", "--prompt", "Add {two} numbers.").status == 0
    (call,) = asked
    assert (call.what.start, call.until("def f():\n  pass\n#")) == ("function", True)
    assert call.prompt[0]["content"].startswith("Add {two} numbers.\nAnswer with one function")


@pytest.mark.parametrize(
    ("option", "limits"),
    [
        ([], (1, "upper", "statement")),
        (["--whole"], (None, None, "statement")),
        (["--max-ignored", "5"], (5, "upper", "statement")),
    ],
)
def test_generate_writes_a_tidy_grammar_unless_told_otherwise(run, asked, option, limits):
    assert run("generate", "sql", "--prompt", "x", *option).status == 0
    grammar = asked[0].what
    assert (grammar.max_ignored, grammar.keywords, grammar.start) == limits


@pytest.mark.parametrize(
    ("name", "start", "dialect"),
    [
        ("sql", "statement", "SQLite"),
        ("sql_select", "start", "SQLite"),
        ("postgresql", "statement", "PostgreSQL"),
    ],
)
def test_a_statement_of_sql_is_begun_as_code_and_ends_at_its_semicolon(
    run, asked, name, start, dialect
):
    assert run("generate", name, "--prompt", "Count users.").status == 0
    (call,) = asked
    assert (call.what.start, call.until("SELECT 1;")) == (start, True)
    request, answer = call.prompt
    assert request["content"].startswith("Count users.\n")
    assert dialect in request["content"]
    assert answer == {"role": "assistant", "content": "```sql\n"}


@pytest.mark.parametrize("arguments", [["python", "--start", "start"], ["json"]])
def test_other_texts_end_where_the_model_ends_them(run, asked, arguments):
    assert run("generate", *arguments, "--prompt", "Count.").status == 0
    assert (asked[0].what.start, asked[0].until) == ("start", None)


@pytest.mark.parametrize(
    ("pieces", "is_cut", "shown"),
    [
        (["def f():", "\n  pass", "\n\n", "#"], True, "def f():\n  pass\n"),
        (["def f():", "\n  pass", "\n\n", "#"], False, "def f():\n  pass\n\n#\n"),
        (["#", " c\n", "\n#", "# d\n", "def f(): 1\n"], True, "# c\n\n## d\ndef f(): 1\n"),
    ],
)
def test_the_comment_by_which_a_function_is_known_to_have_ended_is_not_shown(
    run, asked, monkeypatch, pieces, is_cut, shown
):
    def stream(model, prompt, *, what, **options):
        eos = what.vocabulary.eos_token_ids[0]
        token_ids = (1,) if is_cut else (1, eos)
        result = cfgguide.integrations.Generation("".join(pieces), token_ids, True)
        parts = (Part(piece, lambda: Partial(None)) for piece in pieces)
        return Stream(parts, lambda: result)

    monkeypatch.setattr("cfgguide.models.transformers.generation.stream", stream)
    monkeypatch.setattr(
        "cfgguide.compiler.compile",
        lambda grammar, vocabulary, **options: SimpleNamespace(vocabulary=vocabulary),
    )
    found = run("generate", "python", "--prompt", "x")
    assert (found.status, found.out) == (0, shown)


@pytest.mark.slow
@pytest.mark.model
def test_generate_writes_a_python_function_with_smollm2(run):
    prompt = "Write a function that returns the n-th Fibonacci number."
    out = printed(run, "generate", "python", "--max-new-tokens", "60", "--prompt", prompt)
    (function,) = ast.parse(out).body
    assert isinstance(function, ast.FunctionDef)


@pytest.mark.slow
@pytest.mark.model
def test_generate_writes_a_statement_of_sql_with_smollm2(run):
    out = printed(run, "generate", "sql", "--prompt", "Create a table of books and their authors.")
    assert sql_judge.verdict(out) is not False, out


@pytest.mark.slow
@pytest.mark.model
def test_model_prints_the_folder_of_smollm2(run):
    assert (Path(printed(run, "model", "smollm2").rstrip("\n")) / "config.json").is_file()


def test_generate_with_a_local_folder(run, capsys, tokenizer_folder):
    """A folder in transformers' layout, here of a random model."""
    random_model(N_SMALL + 5).save_pretrained(tokenizer_folder)
    capsys.readouterr()  # transformers tells how it saves
    Path("my.lark").write_text(NUMBERS)
    found = run("generate", "my.lark", "--prompt", "a number", "--model", tokenizer_folder)
    assert found.out.encode() in [sentence + b"\n" for sentence in SENTENCES]
    assert (found.status, found.err) == (0, "")


# --- Processes: pipes and signals ----------------------------------------------------------------


def test_the_module_runs_as_a_program():
    ran = process(["grammars"])
    out, err = ran.communicate()
    assert (ran.returncode, err) == (0, b"")
    assert b"json" in out.split()


@pytest.mark.parametrize("n_files", [1, 3000], ids=["a little", "more than a pipe holds"])
def test_output_that_nobody_reads_to_its_end_is_no_error(tmp_path, n_files):
    """As with `| head`: no traceback, and nothing of Python's own when it exits."""
    (tmp_path / "good").write_text("1")
    ran = process(["check", "json", *["good"] * n_files], cwd=tmp_path)
    ran.stdout.close()
    assert ran.stderr.read() == b""
    assert ran.wait() == 1
    ran.stderr.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_ends_with_130_and_no_traceback(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    # Whoever starts the tests in the background may have told its processes to ignore Ctrl-C.
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    ran = process(["check", "json", "pipe"], cwd=tmp_path)
    signal.signal(signal.SIGINT, ignored)
    with (tmp_path / "pipe").open("wb"):  # opens once the process reads from it
        ran.send_signal(signal.SIGINT)
        out, err = ran.communicate(timeout=60)
    assert (ran.returncode, out, err) == (130, b"", b"\ncfgguide: interrupted\n")


def test_characters_that_standard_output_cannot_show_are_an_error_not_a_traceback(tmp_path):
    (tmp_path / "bad").write_text('"日', encoding="utf-8")
    ran = process(["check", "json", "bad"], cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    err = ran.communicate()[1]
    assert ran.returncode == 2
    assert b"PYTHONIOENCODING=utf-8" in err
    assert b"Traceback" not in err


# --- cache ---------------------------------------------------------------------------------------


def test_cache_tells_where_it_is_and_how_full(run, monkeypatch, tmp_path):
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path / "mine"))
    told = run("cache")
    assert told.status == 0
    assert told.out == f"{tmp_path / 'mine' / 'compiled'}: 0 entries, 0 B of 1.0 GB\n"
    user_cache().store("k", "d", {})
    assert "1 entry, 4.1 kB of" in run("cache").out


def test_cache_clear_removes_what_is_kept(run, monkeypatch, tmp_path):
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path / "mine"))
    user_cache().store("k", "d", {})
    assert "1 removed" in run("cache", "--clear").out
    assert "0 entries" in run("cache").out


def test_cache_says_that_it_is_off(run, monkeypatch):
    monkeypatch.setenv("CFGGUIDE_CACHE", "off")
    assert run("cache").out.startswith("off")


def test_index_says_why_nothing_was_made_ahead(run, tokenizer_folder):
    Path("my.lark").write_text(NUMBERS)
    options = ["--tokenizer", tokenizer_folder, "--output", "index", "--max-seconds"]
    found = run("index", "my.lark", *options, "0")
    assert found.status == 1
    assert found.err.endswith(
        "cfgguide: no mask was made ahead: the bound came first; allow more bytes or seconds\n"
    )
    assert run("index", "my.lark", *options, "60").status == 0


def test_compare_prints_a_table_and_writes_answers_and_a_picture(run, random_writer):
    Path("data.jsonl").write_text(
        '{"prompt": "a", "reference": "no"}\n{"prompt": "b", "reference": "yes"}'
    )
    Path("words_of_tests.py").write_text(
        "words = ['yes', 'no']\ndef score(one, other): return True"
    )
    words = ["compare", "data.jsonl", "--what", "words_of_tests:words", "--max-new-tokens", "9"]
    options = ["--way", "masked", "--way", "free", "--output", "answers", "--picture", "a.svg"]
    out = printed(run, *words, *options, "--score", "words_of_tests:score")
    assert out.splitlines()[0] == "| n = 2 | masked | free |"
    assert "| right answer | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) |" in out
    assert len(Path("answers").read_text().splitlines()) == 5
    assert Path("a.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--what", "none_such:words"], "[error] cannot import 'none_such:words' for --what: "),
        (["--what", "json", "--match", "a"], "[evaluation] --match is FIELD=HOW, where HOW is "),
        (["--what", "json", "--match", "b=set"], "[evaluation] no reference has the field 'b'; "),
        (["--what", "json", "--score", "x"], "[error] --score names a module and what is in it, "),
    ],
)
def test_what_cannot_be_compared(run, random_writer, options, said):
    Path("data.jsonl").write_text('{"prompt": "a", "reference": {"a": 1}}')
    assert refused(run, "compare", "data.jsonl", *options).startswith(f"cfgguide: {said}")


def test_compare_names_the_line_before_a_model_is_loaded(run):
    Path("data.jsonl").write_text('{"prompt": "a", "reference": 1}\n{"prompt": "a"}')
    assert "line 2: it is an object" in refused(run, "compare", "data.jsonl", "--what", "json")
