"""``cfgguide grammars``, ``model``, ``cache`` and ``help``: what there is, and where.

In: the parsed arguments. Out: an exit status; what was found is printed.
"""

from __future__ import annotations

import argparse
import sys

from cfgguide.studio.cli.parsing import YES, Commands, UsageError, did_you_mean


def add_grammars(commands: Commands) -> None:
    """Add the command ``grammars``."""
    commands.add(
        "grammars",
        _grammars,
        about="list the bundled grammars",
        examples=(("grammars", ""), ("grammars --json", "with their files")),
    )


def _grammars(options: argparse.Namespace) -> int:
    from cfgguide.grammar.grammar import Grammar, bundled_folder

    names = Grammar.bundled_names()
    for each in names:
        options.output.say(each)
    found = [{"name": each, "file": str(bundled_folder() / f"{each}.lark")} for each in names]
    options.output.document({"grammars": found})
    return YES


def add_model(commands: Commands) -> None:
    """Add the command ``model``."""
    command = commands.add(
        "model",
        _model,
        about="prepare the default model",
        examples=(("model smollm2", "convert it if need be; print its folder"),),
    )
    command.add_argument("name", metavar="NAME", choices=["smollm2"], help="smollm2")


def _model(options: argparse.Namespace) -> int:
    from cfgguide.models.load import prepare_smollm2

    folder = str(prepare_smollm2(progress=options.output.progress))
    options.output.say(folder)
    options.output.document({"name": options.name, "folder": folder})
    return YES


def add_cache(commands: Commands) -> None:
    """Add the command ``cache``."""
    command = commands.add(
        "cache",
        _cache,
        about="what is kept between runs, and where",
        examples=(("cache", "its folder and its size"), ("cache --clear", "empty it")),
    )
    command.add_argument("--clear", action="store_true", help="remove it")


def _cache(options: argparse.Namespace) -> int:
    from cfgguide.base.cache import user_cache

    output, cache = options.output, user_cache()
    if cache is None:
        output.say("off (the environment variable CFGGUIDE_CACHE)")
        output.document({"is_on": False})
        return YES
    n_removed = cache.clear() if options.clear else 0
    if options.clear:
        output.say(f"{n_removed} removed")
    entries = cache.entries()
    n_bytes = sum(entry.n_bytes for entry in entries)
    counted = "1 entry" if len(entries) == 1 else f"{len(entries):,} entries"
    output.say(f"{cache.folder}: {counted}, {size(n_bytes)} of {size(cache.max_bytes)}")
    output.document(
        {
            "is_on": True,
            "folder": str(cache.folder),
            "n_entries": len(entries),
            "n_bytes": n_bytes,
            "max_entries": cache.max_entries,
            "max_bytes": cache.max_bytes,
            "n_removed": n_removed,
        }
    )
    return YES


def size(n_bytes: int) -> str:
    """Return a number of bytes as people read it.

    >>> size(512), size(4096), size(1_000_000_000), size(123_456_789)
    ('512 B', '4.1 kB', '1.0 GB', '123.5 MB')
    """
    number, units = float(n_bytes), ["B", "kB", "MB", "GB", "TB"]
    while number >= 999.95 and len(units) > 1:
        number /= 1000
        units.pop(0)
    return f"{n_bytes} B" if units[0] == "B" else f"{number:,.1f} {units[0]}"


def add_help(commands: Commands) -> None:
    """Add the command ``help``."""
    command = commands.add(
        "help",
        _help,
        about="show the options of a command, with examples",
        examples=(("help", "all commands"), ("help check", "as `cfgguide check --help`")),
    )
    command.add_argument("about", metavar="COMMAND", nargs="?", help="a command")


def _help(options: argparse.Namespace) -> int:
    commands: Commands = options.commands
    if options.about is None:
        parser = commands.program
    elif options.about in commands.parsers:
        parser = commands.parsers[options.about]
    else:
        near = did_you_mean(options.about, commands.parsers)
        message = f"cfgguide: error: there is no command {options.about!r}{near}"
        raise UsageError(message, commands.program.format_usage())
    if not options.output.is_json:
        parser.print_help(sys.stdout)
    options.output.document({"command": options.about, "help": parser.format_help()})
    return YES
