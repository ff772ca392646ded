"""Completion, asked of the shells themselves."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import COMMAND, environment

from cfgguide.grammar.grammar import Grammar
from cfgguide.studio.cli.completing import SHELLS
from cfgguide.studio.cli.main import _parser

#: What is typed, and what the last word may become; files and folders are those below.
COMPLETED = {
    "gra": {"grammars"}, "co": {"compare", "convert", "completion"}, "check jso": {"json"},
    "check sql_s": {"sql_select"}, "check json --keyw": {"--keywords"},
    "check json --keywords ": {"upper", "lower"},
    "check --keywords upper po": {"postgresql"}, "check --text x json my": {"my.lark"},
    "check my": {"my.lark"}, "check json my": {"my.lark"},
    "generate json --index my": {"my.lark"}, "generate json --model fol": {"folder/"},
    "convert --notation ": {"gbnf", "ebnf", "w3c", "lark"},
    "convert --to ": {"lark", "gbnf", "w3c"}, "completion ": set(SHELLS),
    "help tra": {"trace"}, "--quiet mod": {"model"}, "model ": {"smollm2"},
}  # fmt: skip


@pytest.fixture
def scripts(run, tmp_path) -> Path:
    for shell in SHELLS:
        (tmp_path / f"{shell}.script").write_text(run("completion", shell).out)
    (tmp_path / "my.lark").write_text("")
    (tmp_path / "folder").mkdir()
    return tmp_path


def asked(shell: str, program: str, folder: Path) -> str:
    path = shutil.which(shell) or pytest.skip(f"{shell} is not installed")
    options = ["--norc"] if shell == "bash" else []
    return subprocess.run(
        [path, *options, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=os.environ | {"HOME": str(folder), "LC_ALL": "C"},
    ).stdout


def words_of(typed: str) -> list[str]:
    words = ["cfgguide", *shlex.split(typed)]
    return [*words, ""] if typed.endswith(" ") else words


def test_bash_completes(scripts):
    lines = ["source bash.script"]
    for typed in COMPLETED:
        words = words_of(typed)
        lines.append(f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=()")
        lines.append('_cfgguide; echo "${COMPREPLY[@]}"')
    found = asked("bash", "\n".join(lines), scripts).splitlines()
    seen = {typed: set(words.split()) for typed, words in zip(COMPLETED, found, strict=True)}
    # bash adds the stroke behind a folder itself, when it shows the words
    assert seen == {key: {each.rstrip("/") for each in known} for key, known in COMPLETED.items()}


def test_bash_completes_options_with_an_equals_sign(scripts):
    """bash makes three words of `--keywords=up`."""
    words = "COMP_WORDS=(cfgguide check json --keywords = up); COMP_CWORD=5"
    program = f'source bash.script; {words}; _cfgguide; echo "${{COMPREPLY[@]}}"'
    assert asked("bash", program, scripts) == "upper\n"


def test_fish_completes(scripts):
    lines = ["source fish.script"]
    for typed in COMPLETED:
        lines.append(f"complete -C {shlex.quote(f'cfgguide {typed}')}; echo END")
    found = asked("fish", "\n".join(lines), scripts).split("END\n")[:-1]
    seen = {
        typed: {line.split("\t")[0] for line in lines.splitlines()}
        for typed, lines in zip(COMPLETED, found, strict=True)
    }
    for typed, known in COMPLETED.items():
        assert known <= seen[typed], typed
        assert all(word.startswith(typed.split(" ")[-1]) for word in seen[typed])


#: What is typed before the tabulator, and what must then stand there.
TYPED = {"cfgguide gramm": "cfgguide grammars", "cfgguide check jso": "cfgguide check json"} | {
    "cfgguide check json --keyw": "cfgguide check json --keywords",
    "cfgguide check json --text x --keywords=up": "--keywords=upper",
    "cfgguide generate sql_s": "cfgguide generate sql_select",
    "cfgguide trace json m": "cfgguide trace json my.lark",
}
START = {
    "bash": (["--norc", "-i"], "source bash.script; PS1=REA''DY; bind 'set bell-style none'\n"),
    "zsh": (["-f", "-i"], "PS1=REA''DY; autoload -U compinit; compinit -u; source zsh.script\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", START)
def test_the_tabulator_completes_on_a_terminal(scripts, shell):
    pty = pytest.importorskip("pty", reason="needs terminals of Unix")
    path = shutil.which(shell) or pytest.skip(f"{shell} is not installed")
    options, program = START[shell]
    control, terminal = pty.openpty()
    known = os.environ | {"HOME": str(scripts), "TERM": "dumb", "LC_ALL": "C", "COLUMNS": "200"}
    ran = subprocess.Popen(
        [path, *options],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=scripts,
        env=known,
        start_new_session=True,
    )
    os.close(terminal)

    def read_until(wanted: str) -> str:
        shown = ""
        while wanted not in shown:
            assert select.select([control], [], [], 30)[0], shown
            shown += os.read(control, 65536).decode()
        return shown

    try:
        os.write(control, program.encode())
        read_until("READY")
        for typed, wanted in TYPED.items():
            os.write(control, f"{typed}\t".encode())
            read_until(wanted)
            os.write(control, b"\x15\n")  # a new line
            read_until("READY")
    finally:
        ran.kill()
        ran.wait()
        os.close(control)


def test_every_option_is_in_every_script(scripts):
    (commands,) = (each for each in _parser()._actions if each.dest == "command")
    options = {
        option
        for parser in commands.choices.values()
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--")
    }
    for shell in SHELLS:
        script = (scripts / f"{shell}.script").read_text()
        prefix = "-l " if shell == "fish" else "--"
        assert all(f"{prefix}{option[2:]}" in script for option in options)
        assert all(name in script for name in Grammar.bundled_names())


def test_completion_imports_nothing_heavy():
    command = [sys.executable, "-X", "importtime", *COMMAND[1:], "completion", "bash"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not imported & {"numpy", "lark", "torch", "transformers", "cfgguide.engine.index.index"}
