"""Texts and tokens as HTML, for notebooks.

In: texts of models and users. Out: HTML for ``_repr_html_``, in which every text is escaped: a
token may be a piece of HTML.

>>> coloured([("<b>", GOOD)])
'<code><span style="background:#d7f0d7;color:#202124">&lt;b&gt;</span></code>'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import cycle, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

GOOD, BAD, PLAIN = "#d7f0d7", "#f7d4d4", "transparent"
_INK = ";color:#202124"  # on these colours, also where a notebook is dark
_ALTERNATING = ("#dde8f8", "#f8ecd4")  # of neighbouring tokens
_MAX_ROWS = 50


def text_of(token: bytes | None) -> str:
    r"""Return a token as people read it: its characters, or its bytes if they are not UTF-8.

    >>> text_of("é\n".encode()), text_of(b"\xc3"), text_of(None)
    ('é\\n', '\\xc3', '')
    """
    try:
        return repr((token or b"").decode())[1:-1]
    except UnicodeDecodeError:
        return repr(token)[2:-1]


def coloured(parts: Iterable[tuple[str, str]]) -> str:
    """Return a line of HTML: texts, each with the colour of its background."""
    spans = (
        f'<span style="background:{colour}{_INK * (colour != PLAIN)}">{escape(text)}</span>'
        for text, colour in parts
        if text
    )
    return f"<code>{''.join(spans)}</code>"


def tokens_in_turn(tokens: Iterable[bytes | None]) -> str:
    """Return a line of HTML: tokens in two colours by turns, so that their limits can be seen."""
    return coloured(zip(map(text_of, tokens), cycle(_ALTERNATING), strict=False))


def token_table(vocabulary: Vocabulary, token_ids: Sequence[int]) -> str:
    """Return a table of HTML: the ids and texts of some tokens, at most 50 of them."""
    rows = (
        f"<tr><td>{token_id}</td><td>{_cell(vocabulary, token_id)}</td></tr>"
        for token_id in islice(token_ids, _MAX_ROWS)
    )
    more = len(token_ids) - _MAX_ROWS
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    return f"<table><tr><th>id</th><th>token</th></tr>{''.join(rows)}</table>{rest}"


def _cell(vocabulary: Vocabulary, token_id: int) -> str:
    if token_id in vocabulary.eos_token_ids:
        return "EOS"
    return coloured([(text_of(vocabulary.tokens[token_id]), PLAIN)])
