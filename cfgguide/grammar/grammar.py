"""Grammars as the user gives them: a bundled name, a file, or a text.

In: where to find a Lark grammar. Out: a :class:`Grammar`, a plain value that holds all that Lark
needs to read it. Nothing is parsed here; :mod:`cfgguide.grammar.lark_frontend` does that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from cfgguide.errors import GrammarError

_PACKAGED = Path(__file__).parents[1] / "grammars"  # in an installed wheel
_CHECKOUT = Path(__file__).parents[2] / "grammars"  # in a source checkout

# What to add to a bundled grammar to bound its insignificant whitespace; {n} is the bound.
_WHITESPACE_BOUNDS = {
    "json": {
        "none": "\n%override _ws:\n",
        "some": "\n%override WS: /[ \\t\\n\\r]{{1,{n}}}/\n",
    }
}

# The indenters of bundled grammars.
_INDENTERS = {"python": "PythonIndenter", "python312": "Python312Indenter"}

# Files that the bundled grammars import, and that are no grammars themselves.
_PARTS = ("python_names", "sql_schema")

#: A folder, or a loader such as ``lark.load_grammar.FromPackageLoader``: Lark calls it with the
#: path of the importing grammar and a relative path, and gets a path and a text.
ImportPath = str | Callable[[Any, str], tuple[Any, str]]

LEXERS = ("contextual", "basic")
_EARLEY_LEXERS = ("dynamic", "dynamic_complete")
_REGEX_FLAGS = int(re.ASCII | re.IGNORECASE | re.MULTILINE | re.DOTALL | re.UNICODE | re.VERBOSE)


@dataclass(frozen=True, repr=False)
class Grammar:
    """A grammar in Lark's language, not yet compiled.

    Parameters
    ----------
    text : str
        The grammar, as one would give it to ``lark.Lark``.
    start : str
        The start rule.
    source_path : str, optional
        The file that `text` came from; relative ``%import`` statements start from its folder.
    import_paths : tuple of str or callable
        Where ``%import`` also looks for ``.lark`` files: folders, or loaders as Lark takes them.
        Two grammars with loaders are equal only if the loaders are the same objects.
    lexer : {"contextual", "basic"}
        Lark's `lexer`. The basic lexer tries all terminals everywhere, the contextual one only
        those that the parse table has in the state on top of the stack.
    strict : bool
        Lark's `strict`: shift/reduce conflicts and terminals that collide are errors.
    regex_flags : int
        Lark's `g_regex_flags`: flags of ``re`` for all terminals, such as ``re.IGNORECASE``.
    postlex : lark.indenter.Indenter, optional
        Lark's `postlex`, or its class: an indenter, which feeds the parser with INDENT and DEDENT.
        Only the names and the `tab_len` of Lark's own may be changed, or the names and limits of
        :class:`~cfgguide.grammar.indenters.CPythonIndenter`.

    Raises
    ------
    GrammarError
        If Lark's LALR parser could not take one of these.

    Examples
    --------
    >>> Grammar('start: "a" "b"*')
    Grammar(n_characters=15, start='start')
    >>> "json" in Grammar.bundled_names()
    True
    """

    text: str
    start: str = "start"
    source_path: str | None = None
    import_paths: tuple[ImportPath, ...] = ()
    lexer: str = field(default="contextual", kw_only=True)
    strict: bool = field(default=False, kw_only=True)
    regex_flags: int = field(default=0, kw_only=True)
    postlex: object | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise GrammarError(
                f"a grammar is a text, not {type(self.text).__name__}; "
                "use Grammar.open(path) for a file or Grammar.bundled(name) for a bundled grammar"
            )
        if re.fullmatch(r"[^\s:%]+", self.text):
            raise GrammarError(
                f"{self.text!r} is no grammar, but perhaps a name: Grammar.open({self.text!r}) "
                f"reads a file, Grammar.bundled({self.text!r}) a bundled grammar "
                f"({', '.join(self.bundled_names())})"
            )
        object.__setattr__(self, "import_paths", _checked_import_paths(self.import_paths))
        _check_lexer(self.lexer)
        if not isinstance(self.strict, bool):
            raise GrammarError(f"strict is True or False, not {self.strict!r}")
        object.__setattr__(self, "regex_flags", _checked_flags(self.regex_flags))
        if self.postlex is not None:
            _indenters().indentation_names(self.postlex)  # raises if it is not an indenter

    def __repr__(self) -> str:
        source = [f"source_path={self.source_path!r}"] if self.source_path is not None else []
        changed = [
            f"{option.name}={value!r}"
            for option in fields(self)
            if option.kw_only and (value := getattr(self, option.name)) != option.default
        ]
        named = [*source, f"n_characters={len(self.text)}", f"start={self.start!r}", *changed]
        return f"Grammar({', '.join(named)})"

    @property
    def lark_options(self) -> dict[str, Any]:
        """The options with which Lark judges: ``lark.Lark(grammar.text, **grammar.lark_options)``.

        >>> Grammar('start: "a"').lark_options["parser"]
        'lalr'
        """
        return {
            "start": self.start,
            "parser": "lalr",
            "lexer": self.lexer,
            "strict": self.strict,
            "g_regex_flags": self.regex_flags,
            "source_path": self.source_path,
            "import_paths": list(self.import_paths),
            "postlex": self.postlex() if isinstance(self.postlex, type) else self.postlex,
        }

    @classmethod
    def bundled(
        cls, name: str, *, start: str = "start", max_whitespace: int | None = None
    ) -> Grammar:
        """Return a grammar that ships with cfgguide.

        Parameters
        ----------
        name : str
            One of :meth:`bundled_names`.
        start : str
            The start rule.
        max_whitespace : int, optional
            How many characters of insignificant whitespace may stand between two lexemes; 0 forbids
            it. Small models like to write whitespace for ever. Unbounded by default, as in the
            language.

        Raises
        ------
        GrammarError
            If there is no such grammar, or its whitespace cannot be bounded.

        Examples
        --------
        >>> Grammar.bundled("yaml")
        Traceback (most recent call last):
        cfgguide.errors.GrammarError: [grammar] no bundled grammar is called 'yaml'; there is ...
        """
        if name not in cls.bundled_names():
            raise GrammarError(
                f"no bundled grammar is called {name!r}; there is "
                f"{', '.join(cls.bundled_names())}. Use Grammar.open(path) for a file of your own"
            )
        path = bundled_folder() / f"{name}.lark"
        postlex = getattr(_indenters(), _INDENTERS[name]) if name in _INDENTERS else None
        grammar = cls.open(path, start=start, postlex=postlex)
        if max_whitespace is None:
            return grammar
        bound = _whitespace_bound(name, max_whitespace)
        return replace(grammar, text=grammar.text + bound)

    @classmethod
    def bundled_names(cls) -> tuple[str, ...]:
        """Return the names of the bundled grammars, sorted."""
        names = (path.stem for path in bundled_folder().glob("*.lark"))
        return tuple(sorted(name for name in names if name not in _PARTS))

    @classmethod
    def whitespace_bounded_names(cls) -> tuple[str, ...]:
        """Return the names of the bundled grammars that take `max_whitespace`, sorted."""
        return tuple(sorted(_WHITESPACE_BOUNDS))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        start: str = "start",
        import_paths: Sequence[ImportPath] = (),
        lexer: str = "contextual",
        strict: bool = False,
        regex_flags: int = 0,
        postlex: object | None = None,
    ) -> Grammar:
        """Return the grammar in a ``.lark`` file; the options are those of :class:`Grammar`.

        Raises
        ------
        GrammarError
            If the file cannot be read as UTF-8 text, or an option is wrong.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise GrammarError(f"cannot read the grammar file {str(path)!r}: {error}") from None
        return cls(
            text,
            start,
            str(path),
            _checked_import_paths(import_paths),
            lexer=lexer,
            strict=strict,
            regex_flags=regex_flags,
            postlex=postlex,
        )


def _checked_import_paths(paths: object) -> tuple[ImportPath, ...]:
    if not isinstance(paths, list | tuple):
        raise GrammarError(
            f"import_paths is a tuple of folders and loaders, not {paths!r}; write ({paths!r},)"
        )
    found: list[ImportPath] = []
    for path in paths:
        if isinstance(path, str | os.PathLike):
            found.append(os.fsdecode(path))
        elif callable(path) and getattr(type(path), "__hash__", None) is not None:
            found.append(path)
        else:
            raise GrammarError(
                f"import_paths holds folders, and loaders that Lark can call, not {path!r}"
            )
    return tuple(found)


def _check_lexer(lexer: object) -> None:
    if lexer in LEXERS:
        return
    way_out = (
        "; Lark's dynamic lexers need its Earley parser, which has no table that a mask could be "
        "made from: write the grammar for lark.Lark(..., parser='lalr')"
    )
    raise GrammarError(
        f"lexer is 'contextual' or 'basic', not {lexer!r}"
        + (way_out if lexer in _EARLEY_LEXERS else "")
    )


def _checked_flags(flags: object) -> int:
    if isinstance(flags, bool) or not isinstance(flags, int):
        raise GrammarError(f"regex_flags is a number, such as re.IGNORECASE, not {flags!r}")
    if flags & ~_REGEX_FLAGS:
        raise GrammarError(
            f"regex_flags may hold re.ASCII, re.IGNORECASE, re.MULTILINE, re.DOTALL, re.UNICODE "
            f"and re.VERBOSE, not {flags & ~_REGEX_FLAGS}"
        )
    return int(flags)


def _indenters() -> Any:
    """Return the module that reads indenters; it loads Lark, which nothing else needs here."""
    return import_module("cfgguide.grammar.indenters")


def bundled_folder() -> Path:
    """Return the folder of the bundled grammars."""
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT


def _whitespace_bound(name: str, n: int) -> str:
    if name not in _WHITESPACE_BOUNDS:
        raise GrammarError(f"the bundled grammar {name!r} has no bound on whitespace")
    if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= 1000:
        raise GrammarError(f"max_whitespace is a number from 0 to 1000, not {n!r}")
    return _WHITESPACE_BOUNDS[name]["some" if n else "none"].format(n=n)
