"""The grammar that a command line names: its arguments, and what they mean.

In: a subcommand's parser, and what was given. Out: a :class:`~cfgguide.grammar.grammar.Grammar`,
bundled or from a file, with Lark's options and an indenter of the user's own.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from importlib import import_module

from cfgguide.cli.presets import preset_of
from cfgguide.errors import GrammarError
from cfgguide.grammar.grammar import LEXERS, Grammar

YES, NO, UNUSABLE = 0, 1, 2  # exit statuses


def add_grammar(
    command: argparse.ArgumentParser, *, whitespace: int | None = None, is_written: bool = False
) -> None:
    """Add the arguments that name a grammar.

    Parameters
    ----------
    command : argparse.ArgumentParser
        The subcommand that gets them.
    whitespace : int, optional
        The default of ``--max-whitespace``; any amount if left out.
    is_written : bool
        Whether a model writes sentences of it: then the default start rule comes from the preset.
    """
    default = "any" if whitespace is None else str(whitespace)
    command.set_defaults(default_whitespace=whitespace, is_written=is_written)
    command.add_argument("grammar", metavar="GRAMMAR", help="a bundled name, or a .lark file")
    told = "start, but function for python, statement for sql" if is_written else "start"
    command.add_argument("--start", metavar="RULE", help=f"the start rule (default: {told})")
    command.add_argument(
        "--indenter",
        metavar="MODULE:CLASS",
        help="the postlex of a .lark file with indentation; modules of the current folder count",
    )
    command.add_argument("--lexer", choices=LEXERS, default=LEXERS[0], help="Lark's lexer")
    command.add_argument(
        "--strict",
        action="store_true",
        help="refuse shift/reduce conflicts, colliding terminals",
    )
    command.add_argument(
        "--max-whitespace",
        type=_whitespace,
        metavar="N",
        help="most characters of insignificant whitespace between two lexemes, or 'any'; for "
        f"bundled grammars that have such a bound (default: {default})",
    )


def _whitespace(text: str) -> int | str:
    try:
        return text if text == "any" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor 'any'") from None


def grammar_of(options: argparse.Namespace) -> Grammar:
    """Return the grammar that the user named, with Lark's options.

    Raises
    ------
    GrammarError
        If there is no such grammar, or one of its options is out of its range.
    """
    return replace(_named_grammar(options), lexer=options.lexer, strict=options.strict)


def _named_grammar(options: argparse.Namespace) -> Grammar:
    """Return the grammar that the user named: a bundled one, or a file if it looks like one."""
    name, n_max = options.grammar, options.max_whitespace
    start = options.start or (preset_of(name).start if options.is_written else "start")
    is_file = name.endswith(".lark") or "/" in name or os.path.isfile(name)
    if is_file and name not in Grammar.bundled_names():
        if isinstance(n_max, int):
            raise GrammarError(
                "--max-whitespace is for bundled grammars; write the bound into your own"
            )
        return Grammar.open(name, start=options.start or "start", postlex=_indenter(options))
    if options.indenter is not None:
        raise GrammarError("--indenter is for .lark files; a bundled grammar has its own")
    if isinstance(n_max, int):
        return Grammar.bundled(name, start=start, max_whitespace=n_max)
    if n_max is None and name in Grammar.whitespace_bounded_names():
        return Grammar.bundled(name, start=start, max_whitespace=options.default_whitespace)
    return Grammar.bundled(name, start=start)


def _indenter(options: argparse.Namespace) -> object | None:
    """Return the indenter that the user named, or None."""
    if options.indenter is None:
        return None
    module, _, name = options.indenter.partition(":")
    if not module or not name:
        raise GrammarError(
            f"--indenter names a module and a class, as in my_indenter:MyIndenter, "
            f"not {options.indenter!r}"
        )
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -c` has it; the program's own folder is there instead
    try:
        indenter: object = getattr(import_module(module), name)
    except Exception as error:  # whatever a module does when it is imported
        raise GrammarError(
            f"cannot import the indenter {options.indenter!r}: {type(error).__name__}: {error}"
        ) from error
    return indenter
