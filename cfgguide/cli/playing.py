"""``cfgguide playground``: the page, until it is interrupted.

In: the parsed arguments. Out: an exit status; the address is printed.
"""

from __future__ import annotations

import argparse
import webbrowser

from cfgguide.cli.arguments import YES
from cfgguide.playground.server import PlaygroundServer


def playground_command(options: argparse.Namespace) -> int:
    """Serve the playground until Ctrl-C."""
    with PlaygroundServer(options.port, options.tokenizer or (), options.model) as server:
        print(server.url, flush=True)
        if not options.no_browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            server.actions.end()
    return YES
