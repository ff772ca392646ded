"""``cfgguide check``: reports on a grammar or, with texts, says whether each is a sentence.

In: the parsed arguments. Out: an exit status; what was found is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cfgguide.errors import CfgGuideError
from cfgguide.studio.cli.arguments import (
    add_files,
    add_grammar,
    add_tokenizer,
    check_standard_input,
    grammar_of,
    read,
    text_argument,
    tokenizer_for,
)
from cfgguide.studio.cli.output import bad, doubtful, good, harmless
from cfgguide.studio.cli.parsing import NO, YES, Commands

if TYPE_CHECKING:
    from cfgguide.grammar.grammar import Grammar


def add_check(commands: Commands) -> None:
    """Add the command ``check``."""
    command = commands.add(
        "check",
        _check,
        about="report on a grammar, or check texts with it",
        examples=(
            ("check my.lark", "is it usable, how large is it, what is probably a mistake?"),
            ("check json settings.json", "is the file a sentence? if not, where is it wrong?"),
            ("check json --text '[1, 2]'", ""),
            ("check json - < settings.json", "standard input"),
        ),
        no="a text is not a sentence",
    )
    add_grammar(command)
    add_tokenizer(command, "report what it can't spell: a folder, or a tokenizer.json")
    command.add_argument(
        "--text",
        type=text_argument,
        action="append",
        default=[],
        dest="texts",
        metavar="TEXT",
        help="a text to check (- is a hyphen here); may be repeated",
    )
    add_files(command, "a text; - for standard input")


def _check(options: argparse.Namespace) -> int:
    """Report on a grammar or, with texts, say whether each is a sentence."""
    check_standard_input([options.grammar, *options.files])
    grammar = grammar_of(options)
    if not options.files and not options.texts:
        return _report(grammar, options)
    if options.tokenizer is not None:
        raise CfgGuideError("--tokenizer is for the report on a grammar; leave out the texts")
    from cfgguide.compiler import compile_machine
    from cfgguide.diagnostics.diagnosis import diagnose

    output = options.output
    machine = compile_machine(grammar, progress=output.progress)
    found = []
    for name, text in _texts(options):
        with output.working(f"reading {harmless(name)}"):
            diagnosis = diagnose(machine, text)
        where, _, said = str(diagnosis).partition(": ")
        if diagnosis.is_sentence:
            output.say(f"{name}: ", good(where))
        else:
            output.say(f"{name}: ", bad(where), f": {said}")
        found.append({"name": name, **vars(diagnosis)})
    output.document({"grammar": options.grammar, "texts": found})
    return YES if all(each["is_sentence"] for each in found) else NO


def _texts(options: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    """Yield what the texts are called, and the texts."""
    for number, text in enumerate(options.texts, 1):
        yield "the text" if len(options.texts) == 1 else f"text {number}", text.encode()
    for name in options.files:
        yield name, read(name)


#: How the sections of a report begin that warn of nothing.
_FINE = ("keywords, which win", "the vocabulary can spell every")


def _report(grammar: Grammar, options: argparse.Namespace) -> int:
    """Print a report on a grammar; what it warns of does not make the grammar unusable."""
    from cfgguide.diagnostics.inspection import inspect

    output = options.output
    tokenizer = None if options.tokenizer is None else tokenizer_for(grammar, options)
    report = inspect(grammar, tokenizer, progress=output.progress)
    output.say(f"{options.grammar} is ", good("usable"))
    sizes, *others = str(report).split("\n\n")
    output.say(f"\n{sizes}")
    for section in others:
        headline, line_break, rest = section.partition("\n")
        is_fine = headline.startswith(_FINE)
        output.say("\n", headline if is_fine else doubtful(headline), line_break + rest)
    output.document({"grammar": options.grammar, "is_usable": True, "report": report})
    return YES
