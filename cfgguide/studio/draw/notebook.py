"""What notebooks show of grammars.

In: a grammar. Out: a few lines of HTML, escaped. Nothing is compiled: showing a grammar takes no
time. The running IPython is told of it when cfgguide is imported: grammars know nothing of HTML.
"""

from __future__ import annotations

import sys
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfgguide.grammar.grammar import Grammar

_MAX_LINES, _MAX_CHARACTERS = 200, 20_000


def grammar_html(grammar: Grammar) -> str:
    """Return what a grammar is, and its text to unfold.

    >>> from cfgguide import Grammar
    >>> print(grammar_html(Grammar('start: "<"')))  # doctest: +ELLIPSIS
    <p><code>Grammar(...)</code></p><details><summary>1 line</summary><pre>start: &quot;...
    """
    lines = grammar.text[:_MAX_CHARACTERS].splitlines()[:_MAX_LINES]
    n_lines = grammar.text.count("\n") + (not grammar.text.endswith("\n"))
    shown = escape("\n".join(lines))
    more = "\n…" if sum(map(len, lines)) + len(lines) < len(grammar.text) else ""
    noun = "line" if n_lines == 1 else "lines"
    return (
        f"<p><code>{escape(repr(grammar))}</code></p><details><summary>{n_lines:,} {noun}</summary>"
        f"<pre>{shown}{more}</pre></details>"
    )


def register() -> None:
    """Tell the running IPython, if there is one, how grammars are shown."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    if shell is not None:
        html = shell.display_formatter.formatters["text/html"]
        html.for_type_by_name("cfgguide.grammar.grammar", "Grammar", grammar_html)
