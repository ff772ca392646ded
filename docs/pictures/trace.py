"""Draws trace.svg: the tokens of a JSON text, their terminals, and how many tokens were allowed.

Run ``python docs/pictures/trace.py``; it needs SmolLM2's tokenizer (``cfgguide model smollm2``).
"""

from __future__ import annotations

from pathlib import Path

import cfgguide
from cfgguide.models import load_tokenizer

TEXT = '{"name": "Ada", "born": 1815, "poet": null}'


def picture() -> str:
    """Return the picture."""
    tokenizer = load_tokenizer()
    index = cfgguide.compile(cfgguide.Grammar.bundled("json"), tokenizer)
    return cfgguide.draw.text(index, TEXT, tokenizer=tokenizer).svg


def main() -> None:
    Path(__file__).with_name("trace.svg").write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
