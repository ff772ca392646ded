"""``cfgguide convert``: a grammar in another notation, in Lark's language."""

from __future__ import annotations

import argparse
from pathlib import Path

from cfgguide.errors import GrammarError
from cfgguide.studio.cli.arguments import STANDARD_INPUT, read_grammar
from cfgguide.studio.cli.parsing import FILES, YES, Commands, completes

#: The notations; a file's ending says which it is.
NOTATIONS = ("gbnf", "ebnf", "w3c")


def add_convert(commands: Commands) -> None:
    """Add the command ``convert``."""
    command = commands.add(
        "convert",
        _convert,
        about="write a grammar in Lark's language",
        examples=(
            ("convert sums.gbnf > sums.lark", ""),
            ("convert --notation w3c xpath.txt", "if the ending does not say the notation"),
        ),
    )
    file = command.add_argument(
        "file", metavar="FILE", help="a grammar in another notation; - for standard input"
    )
    completes(file, FILES)
    command.add_argument(
        "--notation",
        choices=NOTATIONS,
        help="llama.cpp's, XGrammar's EBNF or W3C's; by default the ending of FILE says so",
    )


def _convert(options: argparse.Namespace) -> int:
    from cfgguide.grammar.notations import converted as notations

    path = Path(options.file)
    notation = options.notation or path.suffix.removeprefix(".")
    if notation not in NOTATIONS:
        raise GrammarError(
            f"the ending of {path} does not say which notation it is in; say it with --notation, "
            f"which may be {', '.join(NOTATIONS)}"
        )
    converted = getattr(notations, notation)(read_grammar(options.file))
    name = "standard input" if options.file == STANDARD_INPUT else path.name
    lines = [f'// From {name}, for lark.Lark(..., parser="earley", lexer="{converted.lexer}").']
    for terminal, tokens in converted.special.items():
        lines.append(f"// {terminal} is a token: {', '.join(map(repr, tokens))}.")
    options.output.data("\n".join([*lines, converted.text]))
    options.output.document(
        {
            "notation": notation,
            "lark": converted.text,
            "start": converted.start,
            "parser": "earley",
            "lexer": converted.lexer,
            "special": converted.special,
        }
    )
    return YES
