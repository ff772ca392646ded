"""Draws the pictures of docs/drawing.md.

Run ``python docs/pictures/drawing.py``; `tests/project/test_docs.py` checks that the pictures are
current.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cfgguide
from cfgguide import draw

FOLDER = Path(__file__).parent
JSON = cfgguide.Grammar.bundled("json")
BRACKETS = cfgguide.Grammar('start: "(" start ")" | A\nA: /a+/')


def trie() -> str:
    """Return the configuration trie of an index after one text was read."""
    vocabulary = cfgguide.Vocabulary([b"(", b"a", b"a)", b"))", b")", None], eos_token_ids=5)
    index = cfgguide.compile(BRACKETS, vocabulary)
    draw.text(index, "((a))")  # asks for the masks on the way
    return draw.trie(index, layout="layers").svg


PICTURES: dict[str, Callable[[], str]] = {
    "draw-number": lambda: draw.terminal(JSON, "NUMBER", layout="layers").svg,
    "draw-string": lambda: draw.terminal(JSON, "STRING", layout="layers").svg,
    "draw-scanner": lambda: draw.scanner(JSON, parse_state=15, layout="layers").svg,
    "draw-parser": lambda: draw.parser(BRACKETS, layout="layers").svg,
    "draw-trie": trie,
    "draw-tree": lambda: draw.tree(JSON, '{"a": [1, true]}', layout="layers").svg,
}


def main() -> None:
    for name, drawn in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    main()
