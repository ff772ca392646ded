"""Texts of one construction each, with a judge's verdict as a mark: lines such as ``+ 'x = 1'``."""

from __future__ import annotations

import ast
from pathlib import Path


def texts_of(name: str, mark: str) -> list[str]:
    """Return the texts of a file of `tests/languages` that have a mark, such as `+`, `-` or `~`.

    ``@ 'x = {}'`` says what surrounds the texts below it, up to the next line of its kind or title.
    """
    path = Path(__file__).parents[1] / "languages" / name
    lines = path.read_text(encoding="utf-8").splitlines()
    around, texts = "{}", []
    for kind, _, written in (line.partition(" ") for line in lines):
        if kind in ("#", "@"):
            around = "{}" if kind == "#" else ast.literal_eval(written)
        elif kind == mark:
            texts.append(around.replace("{}", ast.literal_eval(written)))
    return texts
