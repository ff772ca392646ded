"""The command line, ``cfgguide COMMAND``.

In: words. Out: an exit status, the same for all commands: 0 yes or done, 1 no (a text is not a
sentence), 2 wrong usage, or a grammar, tokenizer or model that cannot be used, or too few tokens
for any sentence, 130 interrupted. Each command's module adds its part to the parser, and imports
what is heavy when it runs: `cfgguide --help` needs none of it.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from cfgguide import __version__
from cfgguide.errors import CfgGuideError
from cfgguide.studio.cli.checking import add_check
from cfgguide.studio.cli.comparing import add_compare
from cfgguide.studio.cli.completing import add_completion
from cfgguide.studio.cli.converting import add_convert
from cfgguide.studio.cli.describing import add_describe
from cfgguide.studio.cli.doctor import add_doctor
from cfgguide.studio.cli.generating import add_generate
from cfgguide.studio.cli.indexing import add_index
from cfgguide.studio.cli.listing import add_cache, add_grammars, add_help, add_model
from cfgguide.studio.cli.output import Output, doubtful, rendered
from cfgguide.studio.cli.parsing import (
    INTERRUPTED,
    NO,
    UNUSABLE,
    Commands,
    Parser,
    UsageError,
    add_common,
)
from cfgguide.studio.cli.playing import add_playground
from cfgguide.studio.cli.tracing import add_trace

#: The commands, in the order in which `--help` shows them.
COMMANDS: tuple[Callable[[Commands], None], ...] = (
    *(add_grammars, add_check, add_convert, add_describe, add_generate, add_trace, add_index),
    *(add_compare, add_model, add_playground, add_cache, add_doctor, add_completion, add_help),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    output = Output(is_json="--json" in words)
    try:
        options = _options(words)
        output = options.output
        with _warnings_shown(output):
            status: int = options.run(options)
        sys.stdout.flush()  # notice a closed pipe here, not when Python exits
    except UsageError as error:
        if not output.is_json:
            print(rendered((error.usage,), sys.stderr), end="", file=sys.stderr)
        output.error("usage", str(error), prefix="")
        return UNUSABLE
    except CfgGuideError as error:
        output.error(error.code, Exception.__str__(error) if output.is_json else str(error))
        return UNUSABLE
    except UnicodeEncodeError as error:
        output.error(
            "encoding",
            f"standard output, in {error.encoding}, cannot show {error.object[error.start]!r}; "
            "set PYTHONIOENCODING=utf-8",
            prefix="\ncfgguide: ",
        )
        return UNUSABLE
    except KeyboardInterrupt:
        output.error("interrupted", "interrupted", prefix="\ncfgguide: ")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has stopped. Python flushes once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO
    return status


def _options(words: Sequence[str]) -> argparse.Namespace:
    """Return the parsed arguments; files may also come after an option.

    Raises
    ------
    UsageError
        If they are not a command.
    """
    program = Parser(
        prog="cfgguide",
        description="Make a language model write only sentences of a grammar.",
        epilog="`cfgguide help COMMAND` shows the options of a command, with examples.",
    )
    commands = _commands(program)
    if not words:
        raise UsageError("cfgguide: error: a COMMAND is missing", program.format_help())
    named = next((word for word in words if not word.startswith("-")), "")
    parser = commands.parsers.get(named, program)
    parser.unknown_option(words)
    options, rest = program.parse_known_args(words)
    if rest:
        is_option = any(word.startswith("-") and word != "-" for word in rest)
        if is_option or not hasattr(options, "files"):
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        options.files += rest
    options.output = Output(is_json=options.json, is_quiet=options.quiet)
    options.commands = commands
    return options


def _parser() -> Parser:
    program = Parser(prog="cfgguide")
    _commands(program)
    return program


def _commands(program: Parser) -> Commands:
    """Give a parser all options and commands."""
    program.add_argument("-V", "--version", action="version", version=f"cfgguide {__version__}")
    add_common(program, default=False)
    commands = Commands(program)
    for add in COMMANDS:
        add(commands)
    return commands


@contextmanager
def _warnings_shown(output: Output) -> Iterator[None]:
    """Show our own warnings as lines for people, or none at all."""
    with warnings.catch_warnings():
        if output.is_quiet:
            warnings.simplefilter("ignore")
        before = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if category.__module__ == "cfgguide.errors":
                line_shown = rendered(
                    ("cfgguide: ", doubtful("warning"), f": {message}"), sys.stderr
                )
                print(line_shown, file=sys.stderr)
            else:
                before(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


if __name__ == "__main__":
    sys.exit(main())
