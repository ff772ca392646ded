"""``cfgguide convert``: a grammar in another notation."""

from __future__ import annotations

import argparse
from pathlib import Path

from cfgguide.errors import GrammarError
from cfgguide.grammar.grammar import AUTO, LEXERS, Grammar
from cfgguide.studio.cli.arguments import STANDARD_INPUT, read_grammar
from cfgguide.studio.cli.parsing import FILES, YES, Commands, completes

#: The notations; a file's ending says which it is.
NOTATIONS = ("gbnf", "ebnf", "w3c", "lark")
TARGETS = ("lark", "gbnf", "w3c")


def add_convert(commands: Commands) -> None:
    """Add the command ``convert``."""
    command = commands.add(
        "convert",
        _convert,
        about="write a grammar in another notation",
        examples=(
            ("convert sums.gbnf > sums.lark", ""),
            ("convert --notation w3c xpath.txt", "if the ending does not say the notation"),
            ("convert sums.gbnf --to w3c", ""),
            ("convert json --to gbnf --wider", "a bundled grammar"),
        ),
    )
    file = command.add_argument(
        "file", metavar="FILE", help="a grammar, or a bundled name; - for standard input"
    )
    completes(file, FILES)
    command.add_argument(
        "--notation",
        choices=NOTATIONS,
        help="llama.cpp's, XGrammar's EBNF, W3C's or Lark's; by default the ending of FILE says so",
    )
    command.add_argument(
        "--to", choices=TARGETS, default="lark", help="what is written; by default Lark's language"
    )
    lexers = sorted({name for known in LEXERS.values() for name in known} - {AUTO})
    command.add_argument("--lexer", choices=lexers, help="Lark's lexer, of a grammar of Lark's")
    command.add_argument(
        "--wider",
        action="store_true",
        help="with a grammar of Lark's: write it even if rules alone allow more texts",
    )


def _convert(options: argparse.Namespace) -> int:
    notation, text = _given(options)
    name = "standard input" if options.file == STANDARD_INPUT else Path(options.file).name
    if options.to == "lark":
        return _to_lark(options, notation, name, text)
    from cfgguide.grammar.notations import transcription

    if notation == "lark":
        written = transcription.from_lark(_of_lark(options, text), options.to, wider=options.wider)
    else:
        written = transcription.translate(text, notation, options.to)
    options.output.data(f"{_COMMENTS[options.to].format(f'From {name}.')}\n{written}")
    options.output.document({"notation": notation, "to": options.to, "text": written})
    return YES


_COMMENTS = {"gbnf": "# {}", "w3c": "/* {} */"}


def _given(options: argparse.Namespace) -> tuple[str, str]:
    """Return the notation of the grammar, and its text; the text is empty for a bundled one."""
    path = Path(options.file)
    is_named = not options.notation and options.file in Grammar.bundled_names()
    notation = "lark" if is_named else options.notation or path.suffix.removeprefix(".")
    if notation not in NOTATIONS:
        raise GrammarError(
            f"the ending of {path} does not say which notation it is in; say it with --notation, "
            f"which may be {', '.join(NOTATIONS)}"
        )
    if notation == "lark" and options.to == "lark":
        raise GrammarError("this grammar is in Lark's language; say with --to what to write")
    return notation, "" if is_named else read_grammar(options.file)


def _of_lark(options: argparse.Namespace, text: str) -> Grammar:
    if not text:
        return Grammar.bundled(options.file)
    path = None if options.file == STANDARD_INPUT else options.file
    return Grammar(text, source_path=path, parser=AUTO, lexer=options.lexer)


def _to_lark(options: argparse.Namespace, notation: str, name: str, text: str) -> int:
    from cfgguide.grammar.notations import converted as notations

    converted = getattr(notations, notation)(text)
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
