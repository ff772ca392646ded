"""The engines that are compared, with one small interface.

One module knows one engine. This one imports none of them: an engine is loaded only in the process
that measures it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from vocabularies import Tokenizer

GRAMMARS = Path(__file__).parent.parent / "grammars"
_BUNDLED = Path(__file__).parent.parent.parent / "grammars"


class Sequence(NamedTuple):
    """One text that is being written, as calls that can be timed without a detour.

    Attributes
    ----------
    fill : callable
        Writes the mask of the next token into the engine's ``mask``.
    advance : callable
        Consumes a token. Returns False, or raises one of the engine's ``refusals``, if the engine
        does not take it.
    """

    fill: Callable[[], object]
    advance: Callable[[int], object]


class Batch(NamedTuple):
    """Texts that are written side by side, as calls that can be timed without a detour.

    Attributes
    ----------
    fill : callable
        Writes the masks of all into the rows of one array.
    step : callable
        Has each text consume its token, and then does the same.
    """

    fill: Callable[[], object]
    step: Callable[[list[int]], object]


class Engine(Protocol):
    """What is measured.

    Attributes
    ----------
    mask : int32, shape (ceil(vocabulary size / 32),)
        Allocated by `prepare`, filled by a sequence's ``fill``.
    refusals : tuple of exception types
        What ``advance`` may raise for a token that is refused.
    """

    mask: npt.NDArray[np.int32]
    refusals: tuple[type[Exception], ...]

    def prepare(self, tokenizer: Tokenizer) -> None:
        """Take in the vocabulary: all that no grammar is needed for."""

    def compile(self, grammar: str) -> None:
        """Compile the grammar of that name, with nothing kept from an earlier compilation."""

    def start(self) -> Sequence:
        """Start a text with the grammar that was compiled last."""

    def sizes(self) -> dict[str, int]:
        """Return what the engine itself says about the size of what it holds."""


class SchemaEngine(Protocol):
    """What reads JSON Schemas; the rest is as of :class:`Engine`."""

    mask: npt.NDArray[np.int32]
    refusals: tuple[type[Exception], ...]

    def prepare(self, tokenizer: Tokenizer) -> None:
        """Take in the vocabulary: all that no schema is needed for."""

    def compile_schema(self, schema: Any) -> None:
        """Compile a schema as ``json.load`` returns it; any exception says that it cannot."""

    def start(self) -> Sequence:
        """Start a text with the schema that was compiled last."""


@dataclass(frozen=True)
class Entry:
    """Where an engine is found.

    Attributes
    ----------
    module, class_name : str
        Its adapter.
    distribution : str or None
        The installed package that it needs; None for none.
    pip : str
        What to install.
    grammars : tuple of str or None
        The grammars that it has; None for all.
    cache : str or None
        Environment variable that names the folder where compiled grammars are kept.
    cannot : dict of str to str
        Grammars that it cannot read, and why.
    most_ids : int or None
        Largest vocabulary with which it is measured; larger ones take it too long.
    is_optional : bool
        Whether it is left out unless asked for.
    """

    module: str
    class_name: str
    distribution: str | None = None
    pip: str = ""
    grammars: tuple[str, ...] | None = None
    cache: str | None = None
    cannot: Mapping[str, str] = field(default_factory=dict)
    most_ids: int | None = None
    is_optional: bool = False

    @property
    def version(self) -> str | None:
        """The installed version; None if it is not installed; empty if nothing needs to be."""
        if self.distribution is None:
            return ""
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None

    def absence(self, grammar: str, n_ids: int) -> str | None:
        """Return why it is not measured with a grammar and a vocabulary; None if it is."""
        if grammar in self.cannot:
            return self.cannot[grammar]
        if self.most_ids is not None and n_ids > self.most_ids:
            return f"left out: it takes too long with more than {self.most_ids:,} ids"
        return f"not installed: `{self.pip}`" if self.version is None else None

    def load(self) -> Engine:
        """Import the adapter, and with it the engine."""
        engine: Engine = getattr(importlib.import_module(self.module), self.class_name)()
        return engine


LETTER = "letter"  # the grammar of one letter
REFERENCE = "cfgguide"
BEFORE = "before"  # cfgguide as another checkout has it
FLOOR = "numpy copy"
_REQUIREMENTS = "pip install -c constraints.txt -r benchmarks/requirements.txt"
_XGRAMMAR = f"{_REQUIREMENTS} && pip install --no-deps xgrammar==0.2.9"
_NO_LINES = {"python": "left out: its grammars know no indentation"}
BUNDLED = {"json": "json", "python": "python", "sqlite": "sql"}  # names of bundled grammars
_PLAIN = {"sqlite": "left out: it reads neither `%declare` nor look-ahead"}
_WRITTEN_AS = {"sqlite": "sql"}  # what the other engines run: a part of the language
AMBIGUOUS = ("formulas", "statements", "queries")  # for Lark's Earley parser
TWINS = tuple(f"{name}_lalr" for name in AMBIGUOUS)  # the same languages, for its LALR parser
#: Lark's `parser` and `lexer`, where they are not those of LALR.
_LARK_OPTIONS = {
    **{name: {"parser": "earley", "lexer": "dynamic"} for name in AMBIGUOUS},
    "statements_lalr": {"parser": "lalr", "lexer": "basic"},
}
_TWIN = dict.fromkeys(TWINS, "left out: a twin, to compare cfgguide with itself")
ENGINES = {
    REFERENCE: Entry(
        "engines.cfgguide_engine",
        "CfgGuide",
        "cfgguide",
        "pip install -c constraints.txt -e .",
        cache="CFGGUIDE_CACHE",
    ),
    BEFORE: Entry(
        "engines.cfgguide_engine",
        "CfgGuide",
        cache="CFGGUIDE_CACHE",
        is_optional=True,
    ),
    "xgrammar": Entry(
        "engines.xgrammar_engine", "XGrammar", "xgrammar", _XGRAMMAR, cannot=_NO_LINES | _TWIN
    ),
    "xgrammar builtin": Entry(
        "engines.xgrammar_engine", "XGrammarBuiltin", "xgrammar", _XGRAMMAR, ("json",)
    ),
    "llguidance": Entry(
        "engines.llguidance_engine",
        "LLGuidance",
        "llguidance",
        _REQUIREMENTS,
        cannot=_NO_LINES | _TWIN,
    ),
    "glrmask": Entry(
        "engines.glrmask_engine",
        "GLRMask",
        "glrmask",
        _REQUIREMENTS,
        cannot=_NO_LINES | _PLAIN | _TWIN,
    ),
    "outlines-core": Entry(
        "engines.outlines_engine",
        "OutlinesCore",
        "outlines_core",
        _REQUIREMENTS,
        ("ipv4", "float"),
    ),
    "syncode": Entry(
        "engines.syncode_engine",
        "SynCode",
        grammars=("json", "python", "sqlite"),
        cache="SYNCODE_CACHE",
        most_ids=100_000,
        is_optional=True,
    ),
    FLOOR: Entry("engines.copy_engine", "Copy"),
}
#: Those that read JSON Schemas.
SCHEMA_ENGINES = {
    REFERENCE: replace(ENGINES[REFERENCE], distribution=None),  # PYTHONPATH may say where it is
    **{
        name: ENGINES[name]
        for name in (BEFORE, "llguidance", "xgrammar", "glrmask", "outlines-core")
    },
    "grid": Entry(
        "engines.grid_engine",
        "Grid",
        "grid-guardrail",
        "pip install --no-deps grid-guardrail==0.4.2 grid-core==0.2.0 && pip install pyyaml",
    ),
}


def lark_grammar(grammar: str) -> str:
    """Return the text that defines a grammar: Lark's reading of it is the language."""
    ours = GRAMMARS / f"{grammar}.cfgguide.lark"
    path = _BUNDLED / f"{BUNDLED[grammar]}.lark" if grammar in BUNDLED else ours
    return path.read_text(encoding="utf-8")


def lark_options(grammar: str) -> dict[str, Any]:
    """Return the parser and the lexer with which Lark reads a grammar."""
    return _LARK_OPTIONS.get(grammar, {"parser": "lalr", "lexer": "contextual"})


def is_written_for(grammar: str, engine: str) -> bool:
    """Return whether a grammar has a file of an engine's own."""
    return any(GRAMMARS.glob(f"{grammar}.{engine}.*"))


def grammar_text(grammar: str, engine: str) -> str:
    """Return the grammar as written for an engine."""
    (path,) = GRAMMARS.glob(f"{_WRITTEN_AS.get(grammar, grammar)}.{engine}.*")
    return path.read_text(encoding="utf-8")


def new_mask(tokenizer: Tokenizer) -> npt.NDArray[np.int32]:
    """Return a mask row of a vocabulary's width."""
    return np.zeros(-(-tokenizer.size // 32), dtype=np.int32)
