"""Grammars as the user names them: a bundled name, a file, or a text.

In: where a Lark grammar is to be found. Out: a :class:`Grammar`, a plain value that holds all that
Lark needs to read it. Nothing is parsed here; :mod:`cfgguide.frontend` does that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cfgguide.errors import GrammarError

_PACKAGED = Path(__file__).parent / "grammars"  # in an installed wheel
_CHECKOUT = Path(__file__).parent.parent / "grammars"  # in a source checkout

# Bundled grammars whose insignificant whitespace can be bounded, and how: {n} is the bound.
_WHITESPACE_BOUNDS = {
    "json": {
        "none": "\n%override _ws:\n",
        "some": "\n%override WS: /[ \\t\\n\\r]{{1,{n}}}/\n",
    }
}


@dataclass(frozen=True)
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
    import_paths : tuple of str
        Further folders in which ``%import`` looks for ``.lark`` files.

    Examples
    --------
    >>> Grammar('start: "a" "b"*').start
    'start'
    >>> "json" in Grammar.bundled_names()
    True
    """

    text: str
    start: str = "start"
    source_path: str | None = None
    import_paths: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise GrammarError(
                f"a grammar is a text, not {type(self.text).__name__}; "
                "use Grammar.open(path) for a file or Grammar.bundled(name) for a bundled grammar"
            )

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
            Most characters of insignificant whitespace between two lexemes; 0 forbids it. Small
            models like to write whitespace for ever. Unbounded by default, as the language has it.

        Raises
        ------
        GrammarError
            If there is no such grammar, or it has no bound on whitespace.

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
        grammar = cls.open(_bundled_folder() / f"{name}.lark", start=start)
        if max_whitespace is None:
            return grammar
        bound = _whitespace_bound(name, max_whitespace)
        return cls(grammar.text + bound, start, grammar.source_path)

    @classmethod
    def bundled_names(cls) -> tuple[str, ...]:
        """Return the names of the bundled grammars, sorted."""
        return tuple(sorted(path.stem for path in _bundled_folder().glob("*.lark")))

    @classmethod
    def whitespace_bounded_names(cls) -> tuple[str, ...]:
        """Return the names of the bundled grammars that take `max_whitespace`, sorted."""
        return tuple(sorted(_WHITESPACE_BOUNDS))

    @classmethod
    def open(
        cls, path: str | Path, *, start: str = "start", import_paths: tuple[str, ...] = ()
    ) -> Grammar:
        """Return the grammar in a ``.lark`` file.

        Raises
        ------
        GrammarError
            If the file cannot be read as UTF-8 text.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise GrammarError(f"cannot read the grammar file {str(path)!r}: {error}") from None
        return cls(text, start, str(path), import_paths)


def _bundled_folder() -> Path:
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT


def _whitespace_bound(name: str, most: int) -> str:
    if name not in _WHITESPACE_BOUNDS:
        raise GrammarError(f"the bundled grammar {name!r} has no bound on whitespace")
    if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= 1000:
        raise GrammarError(f"max_whitespace is a number from 0 to 1000, not {most!r}")
    return _WHITESPACE_BOUNDS[name]["some" if most else "none"].format(n=most)
