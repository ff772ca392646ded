"""``cfgguide describe``: what a model can be told of what it is to write."""

from __future__ import annotations

import argparse

from cfgguide.studio.cli.arguments import add_grammar, grammar_of
from cfgguide.studio.cli.parsing import YES, Commands

#: Those of `cfgguide.description`, which needs numpy.
STYLES = ("typescript", "json_schema", "example")


def add_describe(commands: Commands) -> None:
    """Add the command ``describe``."""
    command = commands.add(
        "describe",
        _describe,
        about="write what a prompt can say of a schema or a grammar",
        examples=(
            ("describe person.json", "a JSON Schema, as a type of TypeScript"),
            ("describe person.json --style example", "values of it"),
            ("describe sql", "a bundled grammar"),
        ),
    )
    add_grammar(command, is_written=True)
    command.add_argument(
        "--style", choices=STYLES, default=STYLES[0], help="how JSON is described (%(default)s)"
    )


def _describe(options: argparse.Namespace) -> int:
    from cfgguide.description import describe

    found = describe(grammar_of(options), options.style)
    options.output.data(found)
    options.output.document({"style": options.style, "lead": found.lead, "text": found})
    return YES
