"""Draws trace.svg: the tokens of a JSON text, their terminals, and how many tokens were allowed.

Run ``python docs/pictures/trace.py``; it needs SmolLM2's tokenizer (``cfgguide model smollm2``).
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import cfgguide
from cfgguide.diagnostics.diagnosis import lexemes
from cfgguide.models import load_tokenizer

TEXT = '{"name": "Ada", "born": 1815, "poet": null}'
COLOURS = {
    "STRING": "#2b7a4b", "NUMBER": "#1f5fa8", "NULL": "#8a3ea1", "WS": "#9aa0a6",
}  # fmt: skip
PUNCTUATION = "#b3541e"
LEFT, CHARACTER, GAP = 16, 9.6, 6
WIDTH, ROW = 760, 125


def main() -> None:
    tokenizer = load_tokenizer()
    index = cfgguide.compile(cfgguide.Grammar.bundled("json"), tokenizer)
    guide = cfgguide.Guide(index)
    read = lexemes(index.recognizer, TEXT.encode())
    parts, x, y, end = [], float(LEFT), 0, 0
    for token_id in tokenizer.encode(TEXT, add_special_tokens=False):
        token = index.vocabulary.tokens[token_id] or b""
        start, end = end, end + len(token)
        terminals = [row.terminal for row in read if row.start < end and start < row.end]
        width = max(len(token), 5) * CHARACTER + 12
        if x + width > WIDTH:
            x, y = float(LEFT), y + ROW
        parts.append(_box(x, y, width, token.decode(), terminals, len(guide.allowed_token_ids())))
        guide.advance(token_id)
        x += width + GAP
    Path(__file__).with_name("trace.svg").write_text(_svg(parts, y + ROW), encoding="utf-8")


def _box(x: float, y: float, width: float, token: str, terminals: list[str], n_allowed: int) -> str:
    centre = x + width / 2
    number = f'<text x="{centre}" y="{y + 28}" font-size="11" fill="#202124">{n_allowed:,}</text>'
    colour = COLOURS.get(terminals[-1], PUNCTUATION)
    shown = escape(token.replace(" ", "\u2423"))
    labels = "".join(
        f'<text x="{centre}" y="{y + 92 + 13 * row}" font-size="9" fill="#5f6368">{name}</text>'
        for row, name in enumerate(terminals)
    )
    return (
        f'<rect x="{x}" y="{y + 40}" width="{width}" height="34" rx="6" fill="{colour}"/>'
        f'<text x="{centre}" y="{y + 62}" font-size="16" fill="#ffffff">{shown}</text>'
        f"{number}{labels}"
    )


def _svg(parts: list[str], height: float) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height + 30:.0f}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" text-anchor="middle">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n'
        f'<text x="{LEFT}" y="{height + 17:.0f}" font-size="11" fill="#5f6368" '
        'text-anchor="start">above: tokens '
        "allowed by the mask, of 49,152 &#183; boxes: SmolLM2's tokens &#183; below: the terminals "
        "that each spells</text>\n</svg>\n"
    )


if __name__ == "__main__":
    main()
