"""``cfgguide convert``: a grammar in another notation, in Lark's language."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from cfgguide.cli.arguments import YES
from cfgguide.errors import GrammarError
from cfgguide.notations import Converted, ebnf, gbnf, w3c

#: The notations; a file's ending says which it is.
NOTATIONS: dict[str, Callable[[str], Converted]] = {"gbnf": gbnf, "ebnf": ebnf, "w3c": w3c}


def convert_command(options: argparse.Namespace) -> int:
    """Print the grammar of a file in Lark's language."""
    path = Path(options.file)
    notation = options.notation or path.suffix.removeprefix(".")
    if notation not in NOTATIONS:
        raise GrammarError(
            f"the ending of {path} does not say which notation it is in; say it with --notation, "
            f"which may be {', '.join(NOTATIONS)}"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GrammarError(f"cannot read {path}: {error}") from error
    converted = NOTATIONS[notation](text)
    print(f'// From {path.name}, for lark.Lark(..., parser="earley", lexer="{converted.lexer}").')
    for name, tokens in converted.special.items():
        print(f"// {name} is a token: {', '.join(map(repr, tokens))}.")
    print(converted.text)
    return YES
