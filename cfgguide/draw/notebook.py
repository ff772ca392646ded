"""What notebooks show of grammars; :class:`~cfgguide.grammar.grammar.Grammar` asks for it by name.

In: a grammar. Out: a few lines of HTML, escaped. Nothing is compiled: showing a grammar takes no
time.
"""

from __future__ import annotations

from html import escape

from cfgguide.grammar.grammar import Grammar

_MAX_LINES, _MAX_CHARACTERS = 200, 20_000


def grammar_html(grammar: Grammar) -> str:
    """Return what a grammar is, and its text to unfold.

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
