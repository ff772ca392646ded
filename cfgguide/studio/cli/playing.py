"""``cfgguide playground``: the page, until it is interrupted.

In: the parsed arguments. Out: an exit status; the address is printed.
"""

from __future__ import annotations

import argparse
import sys
import webbrowser

from cfgguide.studio.cli.parsing import FOLDERS, YES, Commands, completes

_PORT = 8321


def add_playground(commands: Commands) -> None:
    """Add the command ``playground``."""
    command = commands.add(
        "playground",
        _playground,
        about="serve a page on this machine that shows what a mask does",
        examples=(
            ("playground", "open it in the browser"),
            ("playground --model smollm2", "with a model, which writes and has probabilities"),
            ("playground --tokenizer DIR --no-browser", "print the address only"),
        ),
    )
    command.add_argument(
        "--port", type=_port, default=_PORT, metavar="N", help=f"0: any free one (default: {_PORT})"
    )
    tokenizer = command.add_argument(
        "--tokenizer",
        action="append",
        metavar="PATH",
        help="a folder or tokenizer.json to choose from, or smollm2; may be given several times",
    )
    completes(tokenizer, FOLDERS)
    model = command.add_argument("--model", metavar="PATH", help="a local model, or smollm2")
    completes(model, FOLDERS)
    command.add_argument("--no-browser", action="store_true", help="print the address only")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, a number from 0 to 65535")
    return int(text)


def _playground(options: argparse.Namespace) -> int:
    """Serve the playground until Ctrl-C."""
    from cfgguide.studio.playground.server import PlaygroundServer

    with PlaygroundServer(options.port, options.tokenizer or (), options.model) as server:
        try:  # from the address on: whoever reads it may interrupt at once
            options.output.say(server.url)
            options.output.document({"url": server.url})
            sys.stdout.flush()  # whoever reads the address through a pipe waits for it
            if not options.no_browser:
                webbrowser.open(server.url)
            server.serve_forever()
        except KeyboardInterrupt:
            server.actions.end()
    return YES
