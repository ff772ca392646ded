"""Golden folders: grammars, each with texts whose verdict is known.

``tests/golden/README.md`` says how a folder is written.
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import NamedTuple

import lark

import cfgguide

ROOT = Path(__file__).parents[1] / "golden"
INSTALLED = Path(lark.__file__).parent / "grammars"
MARK = "¦"


class Start(NamedTuple):
    """A text, how many of its bytes are the start of a sentence, and such a sentence."""

    text: str
    n_good: int
    sentence: str


class Folder(NamedTuple):
    """A golden folder, read."""

    name: str
    grammar: cfgguide.Grammar
    sentences: dict[str, str]  # by a name to show
    rejects: list[Start]
    incompletes: list[Start]

    @property
    def starts(self) -> list[Start]:
        return self.rejects + self.incompletes


@functools.cache
def folder_of(name: str) -> Folder:
    path = ROOT / name
    cases = tomllib.loads((path / "cases.toml").read_text(encoding="utf-8"))
    unknown = cases.keys() - {"installed", "start", "accept", "reject", "incomplete"}
    assert not unknown, unknown
    source = INSTALLED / cases["installed"] if "installed" in cases else path / "grammar.lark"
    sentences = {repr(text): text for text in cases["accept"]}
    for file in sorted(path.glob("accept/*.txt")):
        sentences[file.name] = file.read_bytes().decode()
    return Folder(
        name,
        cfgguide.Grammar.open(source, start=cases.get("start", "start")),
        sentences,
        [reject_of(*case) for case in cases["reject"]],
        [Start(text, len(text.encode()), text + rest) for text, rest in cases["incomplete"]],
    )


def reject_of(marked: str, completion: str, n_shared: int = 0) -> Start:
    """Return a case of ``reject``; `n_shared` bytes of the letter at the mark are good."""
    good, bad = marked.split(MARK)
    assert bad, f"nothing stands after the mark of {marked!r}"
    return Start(good + bad, len(good.encode()) + n_shared, good + completion)


FOLDERS = sorted(path.parent.name for path in ROOT.glob("*/cases.toml"))
