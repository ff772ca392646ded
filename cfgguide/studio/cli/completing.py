"""``cfgguide completion``: scripts by which shells complete commands, options and arguments.

In: the parser, with the choices of its options and what the others complete. Out: a script for
bash, zsh or fish that knows all of it, and starts no Python when it completes. ::

    --keywords    upper lower              choices of the parser
    GRAMMAR       json ... and files       what `completes` noted
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from cfgguide.studio.cli.parsing import FILES, FOLDERS, GRAMMARS, YES, Commands, Parser

SHELLS = ("bash", "zsh", "fish")

_INSTALLED = {
    "bash": "completion bash > ~/.local/share/bash-completion/completions/cfgguide",
    "zsh": "completion zsh > ~/.zfunc/_cfgguide",
    "fish": "completion fish > ~/.config/fish/completions/cfgguide.fish",
}


def add_completion(commands: Commands) -> None:
    """Add the command ``completion``."""
    command = commands.add(
        "completion",
        _completion,
        about="print a script by which a shell completes commands",
        examples=tuple((words, "") for words in _INSTALLED.values()),
    )
    command.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def _completion(options: argparse.Namespace) -> int:
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](options.commands)
    options.output.data(script, end="")
    options.output.document({"shell": options.shell, "script": script})
    return YES


class _Argument(NamedTuple):
    """An option, or a positional argument: its names, and what may follow or stand there."""

    names: tuple[str, ...]
    about: str
    takes_value: bool
    is_many: bool
    words: tuple[str, ...] = ()
    files: str = ""


def _arguments(parser: Parser, commands: Commands) -> Iterator[_Argument]:
    """Yield what a parser takes; of the whole program without its commands."""
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):
            continue
        files = getattr(action, "completes", "")
        words = tuple(map(str, action.choices or ()))
        if files == GRAMMARS:
            from cfgguide.grammar.grammar import Grammar

            files, words = FILES, Grammar.bundled_names()
        if action.metavar == "COMMAND":
            words = tuple(commands.parsers)
        about = (action.help or "").partition(";")[0]
        names = tuple(action.option_strings)
        yield _Argument(names, about, action.nargs != 0, action.nargs == "*", words, files)


def _positional(parser: Parser, commands: Commands) -> list[_Argument]:
    return [each for each in _arguments(parser, commands) if not each.names]


def _optional(parser: Parser, commands: Commands) -> list[_Argument]:
    return [each for each in _arguments(parser, commands) if each.names]


# --- bash ----------------------------------------------------------------------------------------

_BASH_FILES = {FILES: "-f", FOLDERS: "-d", "": ""}
_BASH = """\
# cfgguide's completion for bash, made by `cfgguide completion bash`.
_cfgguide() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local command= place=0 i=1 options= values= kind=
    if [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    if [[ $word == = ]]; then before=${{COMP_WORDS[COMP_CWORD-1]}} word=; fi
    while (( i < COMP_CWORD )); do
        case "$command ${{COMP_WORDS[i]}}" in
{skipped}
            *" -"?*|*" =") ;;
            " "*) command=${{COMP_WORDS[i]}} ;;
            *) (( place++ )) ;;
        esac
        (( i++ ))
    done
    case "$command" in
{commands}
        *) return ;;
    esac
    if [[ $word == -* ]]; then values=$options kind=; fi
    COMPREPLY=( $(compgen -W "$values" -- "$word") )
    if [[ -n $kind ]]; then
        compopt -o filenames 2>/dev/null
        local IFS=$'\\n'
        COMPREPLY+=( $(compgen $kind -- "$word") )
    fi
}}
complete -F _cfgguide cfgguide
"""


def _bash(commands: Commands) -> str:
    skipped, cases = [], []
    for command, parser in {"": commands.program, **commands.parsers}.items():
        optional = _optional(parser, commands)
        with_values = [name for each in optional if each.takes_value for name in each.names]
        if with_values:
            patterns = "|".join(f'"{command} {name}"' for name in with_values)
            skipped.append(
                f"            {patterns}) (( i++ )); [[ ${{COMP_WORDS[i]}} == = ]] && (( i++ )) ;;"
            )
        options = " ".join(name for each in optional for name in each.names)
        cases.append(f"        {command or chr(34) * 2}) options={shlex.quote(options)}")
        cases.append('            case "$before" in')
        for each in optional:
            if each.takes_value:
                cases.append(f"                {'|'.join(each.names)}) {_bash_value(each)} ;;")
        cases.append("                *)")
        positional = _positional(parser, commands)
        if command == "":
            words = shlex.quote(" ".join(commands.parsers))
            cases.append(f"                    values={words} ;;")
        else:
            cases.append("                    case $place in")
            for place, each in enumerate(positional):
                pattern = "*" if each.is_many else str(place)
                cases.append(f"                        {pattern}) {_bash_value(each)} ;;")
            cases.append("                    esac ;;")
        cases.append("            esac ;;")
    return _BASH.format(skipped="\n".join(skipped), commands="\n".join(cases))


def _bash_value(argument: _Argument) -> str:
    return f"values={shlex.quote(' '.join(argument.words))} kind={_BASH_FILES[argument.files]}"


# --- zsh -----------------------------------------------------------------------------------------

_ZSH = """\
#compdef cfgguide
# cfgguide's completion for zsh, made by `cfgguide completion zsh`.
_cfgguide() {{
    local curcontext="$curcontext" state line
    local -a commands
    commands=(
{names}
    )
    _arguments -C {program} '1:command:->command' '*::argument:->argument'
    case $state in
        command) _describe command commands ;;
        argument)
            case $words[1] in
{commands}
            esac ;;
    esac
}}
if [[ $funcstack[1] == _cfgguide ]]; then _cfgguide "$@"; else compdef _cfgguide cfgguide; fi
"""


def _zsh(commands: Commands) -> str:
    names = [
        f"        {shlex.quote(f'{command}:{commands.abouts[command]}')}"
        for command in commands.parsers
    ]
    cases = []
    for command, parser in commands.parsers.items():
        specifications = [*_zsh_options(parser, commands)]
        positional = _positional(parser, commands)
        for place, each in enumerate(positional):
            where = "*" if each.is_many else str(place + 1)
            specifications.append(shlex.quote(f"{where}:argument:{_zsh_value(each)}"))
        cases.append(f"                {command}) _arguments {' '.join(specifications)} ;;")
    program = " ".join(_zsh_options(commands.program, commands))
    return _ZSH.format(names="\n".join(names), program=program, commands="\n".join(cases))


def _zsh_options(parser: Parser, commands: Commands) -> Iterator[str]:
    for each in _optional(parser, commands):
        about = each.about.replace("[", "(").replace("]", ")").replace(":", " ")
        for name in each.names:
            is_long = name.startswith("--") and each.takes_value
            value = f":value:{_zsh_value(each)}" if each.takes_value else ""
            yield shlex.quote(f"*{name}{'=' * is_long}[{about}]{value}")


def _zsh_value(argument: _Argument) -> str:
    words = f"({' '.join(argument.words)})"
    files = {FILES: "_files", FOLDERS: "_files -/"}.get(argument.files, "")
    if argument.words and files:
        return f'_alternative "names:name:{words}" "files:file:{files}"'
    return words if argument.words else files or " "


# --- fish ----------------------------------------------------------------------------------------

_FISH = """\
# cfgguide's completion for fish, made by `cfgguide completion fish`.
complete -c cfgguide -f
"""


def _fish(commands: Commands) -> str:
    names = " ".join(commands.parsers)
    lines = [_FISH]
    none = f"not __fish_seen_subcommand_from {names}"
    for command in commands.parsers:
        about = shlex.quote(commands.abouts[command])
        lines.append(f"complete -c cfgguide -n {shlex.quote(none)} -a {command} -d {about}\n")
    for command, parser in {"": commands.program, **commands.parsers}.items():
        when = none if command == "" else f"__fish_seen_subcommand_from {command}"
        for each in _arguments(parser, commands):
            if not each.names and command == "":
                continue
            parts = [f"complete -c cfgguide -n {shlex.quote(when)}"]
            for name in each.names:
                parts.append(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}")
            if each.names and each.takes_value:
                parts.append("-r")
            if each.files == FILES:
                parts.append("-F")
            words = " ".join(each.words)
            if each.files == FOLDERS:
                words = "(__fish_complete_directories)"
            if words:
                parts.append(f"-a {shlex.quote(words)}")
            if each.names:
                parts.append(f"-d {shlex.quote(each.about)}")
            lines.append(" ".join(parts) + "\n")
    return "".join(lines)
