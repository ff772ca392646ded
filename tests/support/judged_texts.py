"""Texts of one construction each, with a judge's verdict as a mark: lines such as ``+ 'x = 1'``."""

from __future__ import annotations

import ast
from pathlib import Path


def texts_of(name: str, mark: str) -> list[str]:
    """Return the texts of a file in this folder that have a mark: `+`, `-` or `~`."""
    lines = (Path(__file__).parents[1] / "bundled" / name).read_text(encoding="utf-8").splitlines()
    return [ast.literal_eval(line[2:]) for line in lines if line.startswith(f"{mark} ")]
