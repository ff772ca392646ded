"""Terminals and pipes: colours, progress, controls in texts, `--quiet`, and interruptions."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.command_line import COMMAND, NUMBERS, environment, process, refused

from cfgguide.errors import VocabularyWarning
from cfgguide.studio.cli.output import harmless, has_colours

pty = pytest.importorskip("pty", reason="needs terminals of Unix")
GREEN, RED = "\x1b[32m", "\x1b[31m"


def on_terminal(words: Sequence[str], cwd: Path, **changes: str) -> tuple[int, str]:
    """The exit status of a process, and all that a terminal gets from it."""
    control, terminal = pty.openpty()
    ran = subprocess.Popen(
        [*COMMAND, *words], stdout=terminal, stderr=terminal, cwd=cwd, env=environment(**changes)
    )
    os.close(terminal)
    shown = b""
    while select.select([control], [], [], 60)[0]:
        try:
            piece = os.read(control, 65536)
        except OSError:  # Linux's way to say that nobody writes to it any more
            break
        if not piece:
            break
        shown += piece
    os.close(control)
    return ran.wait(60), shown.decode().replace("\r\n", "\n")


CHECK = ["check", "json", "--text", "1"]


@pytest.mark.parametrize(("changes", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_gets_colours_unless_told_otherwise(tmp_path, changes, is_coloured):
    status, shown = on_terminal(CHECK, tmp_path, **changes)
    is_sentence = f"{GREEN}is a sentence\x1b[0m" if is_coloured else "is a sentence"
    assert (status, shown) == (0, f"the text: {is_sentence}\n")


#: Variables, whether the stream is a terminal, and whether it gets colours.
RULES = [
    ({}, True, True),
    ({}, False, False),
    ({"NO_COLOR": ""}, True, True),
    ({"NO_COLOR": "1"}, True, False),
    ({"FORCE_COLOR": "1"}, False, True),
    ({"FORCE_COLOR": "0"}, False, False),
    ({"CLICOLOR_FORCE": "1"}, False, True),
    ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False, False),
    ({"CLICOLOR": "0"}, True, False),
    ({"TERM": "dumb"}, True, False),
    ({"TERM": "dumb", "FORCE_COLOR": "1"}, True, True),
]


@pytest.mark.parametrize(("variables", "is_terminal", "is_coloured"), RULES)
def test_when_a_stream_gets_colours(monkeypatch, variables, is_terminal, is_coloured):
    monkeypatch.setattr(os, "environ", {"TERM": "xterm"} | variables)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    assert has_colours(sys.stdout) == is_coloured


def test_standard_output_and_standard_error_are_asked_each_for_itself(
    run, monkeypatch, tokenizer_folder
):
    Path("my.lark").write_text(NUMBERS)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    found = run("--quiet", "trace", "my.lark", "--text", "[x", "--tokenizer", tokenizer_folder)
    assert "\x1b" not in found.out
    assert found.err.startswith(f"cfgguide: {RED}line 1, column 2\x1b[0m: ")


def test_a_pipe_gets_no_colours_unless_they_are_forced():
    plain, forced = process(CHECK), process(CHECK, env={"FORCE_COLOR": "1"})
    assert plain.communicate() == (b"the text: is a sentence\n", b"")
    assert forced.communicate()[0].decode() == f"the text: {GREEN}is a sentence\x1b[0m\n"


@pytest.mark.slow
def test_controls_in_texts_do_not_reach_a_terminal(tmp_path):
    name = "\x1b[2Jtitle\x9b.json"
    (tmp_path / name).write_text('"\x1b[31m')
    (tmp_path / "my.lark").write_text('start: "a"\n  | \x1b[2J')
    for words in ["check", "json", name], ["check", "my.lark"]:
        _, shown = on_terminal(words, tmp_path, NO_COLOR="1")
        assert shown
        assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown) is None


def test_what_is_spelled_out():
    assert harmless("a\n\tb\r\nc é 日") == "a\n\tb\r\nc é 日"
    assert harmless("\x1b[1m\x7f\x9b\r\u202e\udcff") == r"\x1b[1m\x7f\x9b\r\u202e\udcff"


def test_texts_in_pipes_are_exact_and_on_terminals_harmless(run, random_writer, monkeypatch):
    Path("my.lark").write_text('start: "\\x1b[1m"\n')
    arguments = ["generate", "my.lark", "--prompt", "x"]
    assert run(*arguments).out == "\x1b[1m\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(*arguments).out == "\\x1b[1m\n"


@pytest.mark.parametrize("words", [["--quiet", *CHECK], [*CHECK, "-q"]])
def test_quiet_shows_no_progress_and_no_warnings(run, monkeypatch, words):
    monkeypatch.setattr("cfgguide.base.progress._SHOWN_AFTER", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    known = run(*[word for word in words if word not in ("--quiet", "-q")])
    assert "compiling: " in known.err
    assert run(*words).err == ""


@pytest.mark.parametrize(("is_quiet", "said"), [(False, "cfgguide: warning: few\n"), (True, "")])
def test_warnings_are_lines_for_people(run, monkeypatch, is_quiet, said):
    def warn() -> None:
        warnings.warn("few", VocabularyWarning, stacklevel=1)

    monkeypatch.setattr("cfgguide.base.cache.user_cache", warn)
    assert run("cache", *["-q"] * is_quiet).err == said


def test_loading_is_shown_on_a_terminal_if_it_takes_long(run, random_writer, monkeypatch):
    from cfgguide.studio.cli import output

    Path("my.lark").write_text(NUMBERS)
    monkeypatch.setattr(output, "_SHOWN_AFTER", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    found = run("generate", "my.lark", "--prompt", "x", "--json")
    assert "loading the model [1 s]" in found.err
    assert "token" in found.err  # a bar, as the text is not shown while it is written


def test_no_arguments_show_the_help_on_standard_error(run):
    said = refused(run)
    assert "\n    check " in said
    assert said.endswith("cfgguide: error: a COMMAND is missing\n")


def test_version_is_the_packages(run):
    import cfgguide

    for option in "--version", "-V":
        found = run(option)
        assert (found.status, found.out) == (0, f"cfgguide {cfgguide.__version__}\n")


def test_help_of_a_command_is_that_of_its_option(run):
    assert run("help", "trace").out == run("trace", "--help").out
    assert run("help").out == run("--help").out
    assert refused(run, "help", "trcae").endswith("did you mean 'trace'?\n")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["chek"], "check"),
        (["check", "jsonn"], "json"),
        (["check", "json", "--txt", "1"], "--text"),
        (["generate", "json", "--promt", "x"], "--prompt"),
        (["generate", "json", "--promt=x"], "--prompt"),
        (["--jsn", "check", "json"], "--json"),
        (["check", "json", "--keywords", "uper"], "upper"),
        (["model", "smolm2"], "smollm2"),
    ],
)
def test_what_is_mistyped_is_guessed(run, words, meant):
    assert refused(run, *words).endswith(f"did you mean {meant!r}?\n")


def test_grammars_and_texts_may_come_from_standard_input(run, monkeypatch, tokenizer_folder):
    Path("my.lark").write_text(NUMBERS)
    Path("text").write_text("[2]")
    Path("sums.gbnf").write_text("root ::= [0-9]")

    def given(path: str, *words: str):
        with open(path, encoding="utf-8") as file:
            monkeypatch.setattr(sys, "stdin", file)
            return run(*words)

    tokenizer = ["--tokenizer", tokenizer_folder]
    assert given("my.lark", "check", "-", "--text", "[2]").out == "the text: is a sentence\n"
    from_input = given("text", "trace", "my.lark", "-", *tokenizer)
    assert from_input == run("trace", "my.lark", "text", *tokenizer)
    assert from_input == run("trace", "my.lark", "--text", "[2]", *tokenizer)
    converted = given("sums.gbnf", "convert", "-", "--notation", "gbnf").out
    assert converted.startswith("// From standard input, for lark.Lark(")
    found = given("my.lark", "check", "-", "-")
    assert (found.status, found.out) == (2, "")
    assert "standard input (-) can be read only once" in found.err


def test_a_prompt_may_come_from_standard_input(run, random_writer, monkeypatch):
    prompts = []

    def generate(model, prompt, **options):
        prompts.append(prompt)
        raise KeyboardInterrupt

    monkeypatch.setattr("cfgguide.models.transformers.generation.stream", generate)
    Path("my.lark").write_text(NUMBERS)
    Path("prompt").write_text("two\nlines\n")
    with open("prompt", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert run("generate", "my.lark", "--prompt", "-").status == 130
    assert prompts == ["two\nlines"]


def test_an_interruption_in_json_is_a_document(run, monkeypatch):
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cfgguide.base.cache.user_cache", interrupt)
    found = run("cache", "--json")
    said = '{"error": {"code": "interrupted", "message": "interrupted"}}\n'
    assert (found.status, found.out, found.err) == (130, "", said)


def test_a_script_that_nobody_reads_is_no_error():
    ran = process(["completion", "bash"])
    ran.stdout.close()
    assert ran.stderr.read() == b""
    assert ran.wait() == 1
    ran.stderr.close()


@pytest.mark.slow
def test_ctrl_c_on_a_terminal_leaves_no_file_half_written(tmp_path, tokenizer_folder):
    """The grammar is large enough that the build goes on for minutes."""
    words = ["index", "python", "--tokenizer", tokenizer_folder, "--output", "out"]
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    ran = process([*words, "--processes", "1"], cwd=tmp_path, start_new_session=True)
    signal.signal(signal.SIGINT, ignored)
    while not (tmp_path / "out").exists() and ran.poll() is None:
        select.select([], [], [], 0.05)
    os.killpg(ran.pid, signal.SIGINT)
    out, err = ran.communicate(timeout=120)
    assert (ran.returncode, out) == (130, b"")
    assert err.endswith(b"cfgguide: interrupted\n")
    assert not list(tmp_path.glob("*.partial"))
