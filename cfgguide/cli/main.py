"""The command line, ``cfgguide COMMAND``.

The commands are ``grammars``, ``check``, ``convert``, ``generate``, ``trace``, ``index``,
``playground``, ``model`` and ``cache``.

``check`` without files reports on a grammar; a grammar with warnings is still usable.
Exit status: 0 yes, 1 no (a text is not a sentence), 2 wrong usage, or a grammar, tokenizer or model
that cannot be used, or too few tokens for any sentence.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from cfgguide.cli.arguments import NO, UNUSABLE, YES, add_grammar
from cfgguide.errors import CfgGuideError
from cfgguide.grammar.grammar import Grammar
from cfgguide.storage.cache import user_cache

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = _options(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()  # notice a closed pipe here, not when Python exits
    except CfgGuideError as error:
        print(f"cfgguide: {error}", file=sys.stderr)
        return UNUSABLE
    except UnicodeEncodeError as error:
        print(
            f"\ncfgguide: standard output, in {error.encoding}, cannot show "
            f"{error.object[error.start]!r}; set PYTHONIOENCODING=utf-8",
            file=sys.stderr,
        )
        return UNUSABLE
    except KeyboardInterrupt:
        print("\ncfgguide: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has stopped. Python flushes once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO
    return status


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the parsed arguments; files may also come after an option."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if rest:
        is_option = any(word.startswith("-") and word != "-" for word in rest)
        if is_option or not hasattr(options, "files"):
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        options.files += rest
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cfgguide", description="Make a language model write only sentences of a grammar."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("grammars", help="list the bundled grammars")
    command.set_defaults(run=_grammars)

    command = commands.add_parser(
        "check", help="a report on a grammar; or, with texts, is each a sentence?"
    )
    add_grammar(command)
    command.add_argument(
        "--tokenizer",
        metavar="PATH",
        help="report what it can't spell: a folder, or a tokenizer.json",
    )
    command.add_argument("--text", type=_text, metavar="TEXT", help="a text to check")
    command.add_argument("files", nargs="*", metavar="FILE", help="a text; - for standard input")
    command.set_defaults(run=_check)

    command = commands.add_parser("convert", help="write a grammar in Lark's language")
    command.add_argument("file", metavar="FILE", help="a grammar in another notation")
    command.add_argument(
        "--notation",
        choices=["gbnf", "ebnf", "w3c"],
        help="llama.cpp's, XGrammar's EBNF or W3C's; by default the ending of FILE says so",
    )
    command.set_defaults(run=_convert)

    command = commands.add_parser("generate", help="let a model write a sentence")
    add_grammar(command, is_written=True)
    command.add_argument(
        "--prompt", type=_text, required=True, metavar="TEXT", help="what to write about"
    )
    command.add_argument("--model", metavar="PATH", help="a local model; SmolLM2 by default")
    command.add_argument("--index", metavar="FILE", help="use the masks that `index` made")
    command.add_argument(
        "--max-new-tokens",
        type=_positive,
        default=256,
        metavar="N",
        help="within these the sentence is finished",
    )
    command.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 is greedy")
    command.add_argument("--seed", type=int, metavar="N", help="makes sampling reproducible")
    command.add_argument(
        "--raw", action="store_true", help="continue the prompt even if the model can chat"
    )
    command.set_defaults(run=_generate)

    command = commands.add_parser("trace", help="show a text token by token")
    add_grammar(command)
    command.add_argument("--text", type=_text, required=True)
    command.add_argument(
        "--tokenizer", metavar="PATH", help="a folder or tokenizer.json; SmolLM2's by default"
    )
    command.add_argument(
        "--explain", action="store_true", help="say of each token how it is read, and what follows"
    )
    command.add_argument(
        "--html", metavar="FILE", help="write a page instead, with all that is allowed and why"
    )
    command.set_defaults(run=_trace)

    command = commands.add_parser("index", help="make the masks of a grammar ahead, into a file")
    add_grammar(command, is_written=True)
    command.add_argument(
        "--tokenizer", metavar="PATH", help="a folder or tokenizer.json; SmolLM2's by default"
    )
    command.add_argument(
        "--eos",
        action="append",
        metavar="TOKEN",
        help="a token that ends a text, if the tokenizer does not say; may be given several times",
    )
    command.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="where to; a build that was interrupted goes on from what is there",
    )
    command.add_argument("--max-bytes", type=int, metavar="N", help="most memory (default: 500 MB)")
    command.add_argument("--max-seconds", type=float, metavar="S", help="most time")
    command.add_argument("--processes", type=int, metavar="N", help="default: one for each core")
    command.set_defaults(run=_index)

    command = commands.add_parser("playground", help="a page that shows what a mask does")
    command.add_argument("--port", type=_port, default=8321, metavar="N", help="0: any free one")
    command.add_argument(
        "--tokenizer",
        action="append",
        metavar="PATH",
        help="a folder or tokenizer.json to choose from, or smollm2; may be given several times",
    )
    command.add_argument("--model", metavar="PATH", help="a local model, or smollm2, that writes")
    command.add_argument("--no-browser", action="store_true", help="print the address only")
    command.set_defaults(run=_playground)

    command = commands.add_parser("model", help="prepare the default model")
    command.add_argument("name", choices=["smollm2"])
    command.set_defaults(run=_model)

    command = commands.add_parser("cache", help="what is kept between runs, and where")
    command.add_argument("--clear", action="store_true", help="remove it")
    command.set_defaults(run=_cache)
    return parser


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("the text is not valid UTF-8") from None
    return text


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, a number from 0 to 65535")
    return int(text)


# What a command needs is imported when it runs: `cfgguide --help` needs none of it.


def _check(options: argparse.Namespace) -> int:
    from cfgguide.cli.checking import check_command

    return check_command(options)


def _convert(options: argparse.Namespace) -> int:
    from cfgguide.cli.converting import convert_command

    return convert_command(options)


def _trace(options: argparse.Namespace) -> int:
    from cfgguide.cli.checking import trace_command

    return trace_command(options)


def _generate(options: argparse.Namespace) -> int:
    from cfgguide.cli.generating import generate_command

    return generate_command(options)


def _index(options: argparse.Namespace) -> int:
    from cfgguide.cli.indexing import index_command

    return index_command(options)


def _playground(options: argparse.Namespace) -> int:
    from cfgguide.cli.playing import playground_command

    return playground_command(options)


def _grammars(options: argparse.Namespace) -> int:
    for name in Grammar.bundled_names():
        print(name)
    return YES


def _model(options: argparse.Namespace) -> int:
    from cfgguide.models.load import prepare_smollm2

    print(prepare_smollm2())
    return YES


def _cache(options: argparse.Namespace) -> int:
    cache = user_cache()
    if cache is None:
        print("off (the environment variable CFGGUIDE_CACHE)")
        return YES
    if options.clear:
        n_removed = cache.clear()
        print(f"{n_removed} removed")
    entries = cache.entries()
    n_bytes = sum(entry.n_bytes for entry in entries)
    print(f"{cache.folder}: {len(entries)} entries, {n_bytes:,} of {cache.max_bytes:,} bytes")
    return YES


if __name__ == "__main__":
    sys.exit(main())
