"""The entries of the gallery: public grammars, how their projects read them, and texts.

In: `gallery/gallery.toml` and the texts in `gallery/grammars`. Out: an :class:`Entry` for each
grammar, its :class:`cfgguide.Grammar`, and Lark's verdicts (:func:`judge_of`).
`gallery/README.md` says what the keys of the file mean.
"""

from __future__ import annotations

import functools
import importlib
import re
import runpy
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lark
import lark.lexer
from lark.exceptions import UnexpectedInput
from lark.indenter import Indenter

import cfgguide
from cfgguide import notations

FOLDER = Path(__file__).parent / "gallery"
GRAMMARS = FOLDER / "grammars"
#: What Lark takes if its user says nothing, by the parser.
LEXERS = {"earley": "dynamic", "lalr": "contextual"}
OWN, AUTO = "own", "auto"


@dataclass(frozen=True)
class Entry:
    """A grammar of the gallery.

    Attributes
    ----------
    name, file, source, licence : str
        Its name, its file in `gallery/grammars`, where that is from, and on which terms.
    notation : {"lark", "gbnf", "ebnf"}
        What the text is written in.
    parser, lexer, start : str
        Lark's options, as the grammar's own project gives them.
    postlex : str or dict, optional
        A class: ``module:name``, ``file.py:name`` beside the grammar, or the attributes of an
        :class:`~lark.indenter.Indenter`.
    regex_flags : tuple of str
        Names of flags of ``re``.
    import_paths : tuple of str
        Folders in `gallery/grammars`.
    regex_module : bool
        Whether the project reads patterns with the package `regex` (Lark's `regex=True`).
    is_string : bool
        Whether the source has the text in a string instead of a file of its own.
    left_out : str
        What else the project gives to Lark, and is not given here.
    sentences, others : tuple of str
        Texts that Lark parses, and texts that it refuses.
    refused_by_lark : str
        A part of Lark's message if it does not load the grammar; else empty.
    refused : str
        The code of cfgguide's error if it is known to refuse what Lark loads; else empty.
    """

    name: str
    file: str
    source: str
    licence: str
    notation: str = "lark"
    parser: str = "earley"
    lexer: str = ""
    start: str = ""
    postlex: str | dict[str, Any] | None = None
    regex_flags: tuple[str, ...] = ()
    import_paths: tuple[str, ...] = ()
    regex_module: bool = False
    is_string: bool = False
    left_out: str = ""
    sentences: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    refused_by_lark: str = ""
    refused: str = ""

    @property
    def path(self) -> Path:
        """The file with its text."""
        return GRAMMARS / self.file

    @property
    def text(self) -> str:
        """The text, as its project wrote it."""
        return self.path.read_text(encoding="utf-8")

    def grammar(self, parser: str = OWN) -> cfgguide.Grammar:
        """Return the grammar.

        Parameters
        ----------
        parser : {"own", "auto"}
            Whether parser and lexer are those that the project chose, or cfgguide chooses them.
        """
        if self.notation != "lark":
            read: Callable[..., cfgguide.Grammar] = getattr(cfgguide.Grammar, self.notation)
            return read(self.text, root=self.start or "root")
        chosen: dict[str, Any] = {"parser": AUTO}
        if parser == OWN:
            chosen = {"parser": self.parser, "lexer": self.lexer or LEXERS[self.parser]}
        return cfgguide.Grammar(
            self.text,
            self.start or "start",
            str(self.path),
            tuple(str(GRAMMARS / folder) for folder in self.import_paths),
            regex_flags=self._flags(),
            postlex=self._postlex(),
            **chosen,
        )

    def lark(self) -> lark.Lark:
        """Return Lark's parser for the text, with the project's own options."""
        if self.notation != "lark":
            converted = self._converted()
            return lark.Lark(
                converted.text, parser="earley", lexer=converted.lexer, start=converted.start
            )
        with _no_search_for_overlaps():
            return lark.Lark(
                self.text,
                parser=self.parser,
                lexer=self.lexer or LEXERS[self.parser],
                start=self.start or "start",
                source_path=str(self.path),
                import_paths=[str(GRAMMARS / folder) for folder in self.import_paths],
                g_regex_flags=self._flags(),
                postlex=self._postlex(),
                regex=self.regex_module,
            )

    def _converted(self) -> notations.Converted:
        read: Callable[..., notations.Converted] = getattr(notations, self.notation)
        return read(self.text, root=self.start or "root")

    def _flags(self) -> int:
        return functools.reduce(
            int.__or__, (int(re.RegexFlag[name]) for name in self.regex_flags), 0
        )

    def _postlex(self) -> Any:
        if self.postlex is None:
            return None
        if isinstance(self.postlex, dict):
            names = {"OPEN_PAREN_types": [], "CLOSE_PAREN_types": [], **self.postlex}
            return type("GalleryIndenter", (Indenter,), names)()
        place, _, name = self.postlex.partition(":")
        if place.endswith(".py"):
            return runpy.run_path(str(self.path.with_name(place)))[name]()
        return getattr(importlib.import_module(place), name)()


@contextmanager
def _no_search_for_overlaps() -> Iterator[None]:
    """Keep Lark from its search for overlapping terminals: it takes minutes and changes nothing."""
    kept, lark.lexer.has_interegular = lark.lexer.has_interegular, False
    try:
        yield
    finally:
        lark.lexer.has_interegular = kept


@functools.cache
def entries() -> dict[str, Entry]:
    """Return the entries by name, in the order of the file."""
    plain = tomllib.loads((FOLDER / "gallery.toml").read_text(encoding="utf-8"))
    lists = ("sentences", "others", "regex_flags", "import_paths")
    found: dict[str, Entry] = {}
    for row in plain["grammar"]:
        entry = Entry(**{key: tuple(row[key]) if key in lists else row[key] for key in row})
        if entry.name in found:
            raise ValueError(f"two entries are called {entry.name}")
        found[entry.name] = entry
    return found


def judge_of(entry: Entry) -> Callable[[str], bool]:
    """Return what Lark says of a text, with the project's own options."""
    parser = entry.lark()

    def judge(text: str) -> bool:
        try:
            parser.parse(text)
        except (UnexpectedInput, lark.indenter.DedentError):
            return False
        return True

    return judge


def disagreements(entry: Entry) -> list[str]:
    """Return where Lark says something else than the entry does."""
    try:
        judge = judge_of(entry)
    except lark.exceptions.LarkError as error:
        said = str(error)
        if entry.refused_by_lark and entry.refused_by_lark in said:
            return []
        return [f"Lark does not load it: {said}"]
    if entry.refused_by_lark:
        return ["Lark loads it"]
    wrong = [f"refused by Lark: {text!r}" for text in entry.sentences if not judge(text)]
    return wrong + [f"parsed by Lark: {text!r}" for text in entry.others if judge(text)]
