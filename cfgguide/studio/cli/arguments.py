"""The grammar that a command line names: its arguments, and what they mean.

In: a subcommand's parser, and what was given. Out: a :class:`~cfgguide.grammar.grammar.Grammar`,
bundled or from a file, with Lark's options and an indenter of the user's own.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from cfgguide.errors import CfgGuideError, GrammarError
from cfgguide.grammar.grammar import AUTO, LEXERS, NOTATIONS, PARSERS, Grammar
from cfgguide.languages.presets import preset_of
from cfgguide.studio.cli.parsing import FILES, FOLDERS, GRAMMARS, completes, did_you_mean

STANDARD_INPUT = "-"
SCHEMA = ".json"


def add_grammar(command: argparse.ArgumentParser, *, is_written: bool = False) -> None:
    """Add the arguments that name a grammar.

    Parameters
    ----------
    command : argparse.ArgumentParser
        The subcommand that gets them.
    is_written : bool
        Whether a model writes sentences of it: then the default start rule comes from the preset,
        and a bundled grammar is tidy.
    """
    command.set_defaults(is_written=is_written, whole=False)
    grammar = command.add_argument(
        "grammar",
        metavar="GRAMMAR",
        help="a bundled name, or a file: a grammar, or .json with a JSON Schema; - for a grammar "
        "in Lark's language on standard input",
    )
    completes(grammar, GRAMMARS)
    told = "start, but function for python, statement for sql" if is_written else "start"
    command.add_argument("--start", metavar="RULE", help=f"the start rule (default: {told})")
    command.add_argument(
        "--indenter",
        metavar="MODULE:CLASS",
        help="the postlex of a .lark file with indentation; modules of the current folder count",
    )
    command.add_argument(
        "--parser",
        choices=PARSERS,
        help="Lark's parser (default: lalr if Lark takes the grammar so, else earley)",
    )
    lexers = sorted({name for known in LEXERS.values() for name in known} - {AUTO})
    command.add_argument("--lexer", choices=lexers, help="Lark's lexer (default: the parser's own)")
    command.add_argument(
        "--strict",
        action="store_true",
        help="refuse shift/reduce conflicts, colliding terminals",
    )
    command.add_argument(
        "--max-ignored",
        type=_number,
        metavar="N",
        help="most characters of ignored text, such as white space, in a row (default: any)",
    )
    command.add_argument("--keywords", choices=("upper", "lower"), help="the case of keywords")
    if is_written:
        command.add_argument(
            "--whole",
            action="store_true",
            help="the whole of a bundled grammar, with comments and any white space",
        )


def add_tokenizer(command: argparse.ArgumentParser, about: str) -> None:
    """Add the option that names a tokenizer."""
    completes(command.add_argument("--tokenizer", metavar="PATH", help=about), FOLDERS)


def tokenizer_for(grammar: Grammar, options: argparse.Namespace) -> Any:
    """Return the tokenizer that the user named; a mistake in the grammar is told before."""
    from cfgguide.compiler import compile_recognizer
    from cfgguide.models.load import load_tokenizer

    compile_recognizer(grammar, progress=options.output.progress)
    with options.output.working("loading the tokenizer"):
        return load_tokenizer(options.tokenizer)


def text_argument(text: str) -> str:
    """Return the text of an argument, which has to be UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("the text is not valid UTF-8") from None
    return text


def add_files(command: argparse.ArgumentParser, about: str) -> None:
    """Add the arguments that name texts."""
    # Without a default, argparse takes them for required.
    files = command.add_argument("files", nargs="*", default=[], metavar="FILE", help=about)
    completes(files, FILES)


def read(path: str) -> bytes:
    """Return what is in a file, or on standard input.

    Raises
    ------
    CfgGuideError
        If it cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    except OSError as error:
        raise CfgGuideError(f"cannot read {path!r}: {error.strerror}") from None


def read_text(path: str) -> str:
    """Return the text in a file, or on standard input.

    Raises
    ------
    CfgGuideError
        If it cannot be read, or is not UTF-8.
    """
    try:
        return read(path).decode()
    except UnicodeDecodeError as error:
        raise CfgGuideError(
            f"cannot read {path!r}: it is not UTF-8, {error.reason} at byte {error.start}"
        ) from None


def read_grammar(path: str) -> str:
    """Return the text of a grammar, with line breaks as Python's text files have them.

    Raises
    ------
    GrammarError
        If it cannot be read.
    """
    try:
        return io.StringIO(read_text(path), newline=None).read()
    except CfgGuideError as error:
        raise GrammarError(*error.args) from None


def check_standard_input(paths: Sequence[str]) -> None:
    """Raise if standard input is named twice: it can be read once.

    Raises
    ------
    CfgGuideError
        In that case.
    """
    if list(paths).count(STANDARD_INPUT) > 1:
        raise CfgGuideError("standard input (-) can be read only once; name a file instead")


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None


def grammar_of(options: argparse.Namespace) -> Grammar:
    """Return the grammar that the user named, with Lark's options.

    Raises
    ------
    GrammarError, SchemaError
        If there is no such grammar, or one of its options is out of its range.
    """
    if options.grammar.endswith(SCHEMA):
        return _schema(options)
    grammar = _named_grammar(options)
    parser = options.parser or grammar.parser
    is_same = parser == grammar.parser and options.lexer is None
    lexer = grammar.lexer if is_same else options.lexer
    grammar = replace(grammar, parser=parser, lexer=lexer, strict=options.strict)
    return replace(grammar, keywords=options.keywords) if options.keywords else grammar


def _named_grammar(options: argparse.Namespace) -> Grammar:
    """Return the grammar that the user named: a bundled one, or a file if it looks like one."""
    name = options.grammar
    start = options.start or (preset_of(name).start if options.is_written else "start")
    if name == STANDARD_INPUT:
        grammar = Grammar(read_grammar(name), options.start or "start", postlex=_indenter(options))
        return replace(grammar, max_ignored=options.max_ignored)
    is_file = name.endswith((".lark", *NOTATIONS)) or "/" in name or os.path.isfile(name)
    if is_file and name not in Grammar.bundled_names():
        grammar = Grammar.open(name, start=options.start or "start", postlex=_indenter(options))
        return replace(grammar, max_ignored=options.max_ignored)
    if options.indenter is not None:
        raise GrammarError("--indenter is for .lark files; a bundled grammar has its own")
    if name not in Grammar.bundled_names():
        raise GrammarError(
            f"no bundled grammar is called {name!r}; there is "
            f"{', '.join(Grammar.bundled_names())}. Use the path of a file for a grammar of your "
            f"own{did_you_mean(name, Grammar.bundled_names())}"
        )
    is_tidy = options.is_written and not options.whole
    return Grammar.bundled(name, start=start, tidy=is_tidy, max_ignored=options.max_ignored)


def _schema(options: argparse.Namespace) -> Grammar:
    """Return the grammar of the JSON Schema in a file."""
    from cfgguide.schema.json_schema import json_schema

    for name in ("start", "indenter", "parser", "lexer", "strict", "keywords"):
        if getattr(options, name):
            raise GrammarError(f"--{name} is for grammars, and {options.grammar} is a JSON Schema")
    is_tidy = options.is_written and not options.whole
    schema = read_text(options.grammar)
    return json_schema(schema, tidy=is_tidy, max_whitespace=options.max_ignored)


def _indenter(options: argparse.Namespace) -> object | None:
    """Return the indenter that the user named, or None."""
    if options.indenter is None:
        return None
    try:
        return imported(options.indenter, "--indenter", "my_indenter:MyIndenter")
    except CfgGuideError as error:
        raise GrammarError(*error.args) from error.__cause__


def imported(given: str, option: str, example: str) -> object:
    """Return what an option names in a module; modules of the current folder count.

    Raises
    ------
    CfgGuideError
        If it cannot be imported.
    """
    module, _, name = given.partition(":")
    if not module or not name:
        raise CfgGuideError(
            f"{option} names a module and what is in it, as in {example}, not {given!r}"
        )
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -c` has it; the program's own folder is there instead
    try:
        found: object = getattr(import_module(module), name)
    except Exception as error:  # whatever a module does when it is imported
        raise CfgGuideError(
            f"cannot import {given!r} for {option}: {type(error).__name__}: {error}"
        ) from error
    return found
