"""The parser of the command line, to which each command's module adds its part.

In: words. Out: options, or :class:`UsageError`. A command is added so, in its own module, and named
in the table of :mod:`cfgguide.studio.cli.main`::

    def add_greet(commands: Commands) -> None:
        command = commands.add("greet", _greet, about="say hello", examples=(("greet Ann", ""),))
        command.add_argument("name")

    def _greet(options: argparse.Namespace) -> int:
        from ... import ...                        # what is heavy is imported here
        options.output.say(f"Hello {options.name}")              # for people
        options.output.document({"name": options.name})          # for `--json`
        return YES
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

YES, NO, UNUSABLE, INTERRUPTED = 0, 1, 2, 130  # exit statuses

#: What completion offers for an argument, as its attribute `completes`; choices need none.
FILES, FOLDERS, GRAMMARS = "files", "folders", "grammars"

#: Each example: the words after ``cfgguide``, and what they do.
Examples = Sequence[tuple[str, str]]


class UsageError(Exception):
    """The words are not a command: what is wrong, and the usage."""

    def __init__(self, message: str, usage: str) -> None:
        super().__init__(message)
        self.usage = usage


class Parser(argparse.ArgumentParser):
    """A parser that raises :class:`UsageError`, and says what was probably meant."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of leaving the program."""
        raise UsageError(f"{self.prog}: error: {message}", self.format_usage())

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = action.choices
        if choices is None or value in choices:
            return
        known = [str(each) for each in choices]
        message = f"invalid choice: {value!r} (choose from {', '.join(known)})"
        raise argparse.ArgumentError(action, message + did_you_mean(str(value), known))

    def unknown_option(self, words: Iterable[str]) -> None:
        """Raise if one of the words is a long option that there is not.

        argparse would first complain of what is missing.
        """
        known = sorted(option for action in self._actions for option in action.option_strings)
        for word in words:
            if word == "--":
                return
            option = word.split("=")[0]
            is_option = option.startswith("--") and " " not in option
            if is_option and not any(each.startswith(option) for each in known):
                self.error(f"unrecognized arguments: {word}{did_you_mean(option, known)}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return what to add to a message about a word that is not known.

    >>> did_you_mean("chek", ["check", "trace"]), did_you_mean("x", ["check"])
    ("; did you mean 'check'?", '')
    """
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


class Commands:
    """The commands of a program.

    Parameters
    ----------
    program : Parser
        The parser of the whole program.
    """

    def __init__(self, program: Parser) -> None:
        self.program = program
        self.parsers: dict[str, Parser] = {}
        self.abouts: dict[str, str] = {}
        self._added = program.add_subparsers(
            required=True, metavar="COMMAND", dest="command", parser_class=Parser
        )

    def add(
        self,
        name: str,
        run: Callable[[argparse.Namespace], int],
        *,
        about: str,
        examples: Examples,
        no: str = "",
    ) -> Parser:
        """Add a command and return its parser.

        Parameters
        ----------
        name : str
            Its name.
        run : callable
            Called with the options; returns the exit status. Beside what is parsed, they have
            `output` (:class:`~cfgguide.studio.cli.output.Output`) and `commands`, this object.
        about : str
            What it does, in a few words.
        examples : sequence of (str, str)
            Words after ``cfgguide``, and what they do.
        no : str
            When the exit status is 1; if it never is, the empty text.
        """
        command: Parser = self._added.add_parser(
            name,
            help=about,
            description=f"{about[0].upper()}{about[1:]}.",
            epilog=_epilogue(examples, no),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_common(command, default=argparse.SUPPRESS)
        command.set_defaults(run=run)
        self.parsers[name] = command
        self.abouts[name] = about
        return command


def add_common(parser: Parser, *, default: object) -> None:
    """Add the options that stand before or after the name of any command."""
    parser.add_argument(
        *("-q", "--quiet"), action="store_true", default=default, help="no progress, no warnings"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        default=default,
        help="one JSON document on standard output; errors as one on standard error",
    )


def completes(action: argparse.Action, what: str) -> None:
    """Note what completion is to offer for an argument."""
    action.completes = what  # type: ignore[attr-defined]


def _epilogue(examples: Examples, no: str) -> str:
    width = max(len(words) for words, _ in examples)
    lines = ["examples:"]
    lines += [f"  cfgguide {words:<{width}}  {about}".rstrip() for words, about in examples]
    statuses = ["0 done"] + [f"1 {no}"] * bool(no)
    statuses += ["2 wrong usage, or something that cannot be used", "130 interrupted"]
    lines += ["", "exit status (docs/command-line.md):", *(f"  {status}" for status in statuses)]
    return "\n".join(lines)
