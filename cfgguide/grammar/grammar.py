"""Grammars as the user gives them: a bundled name, a file, or a text.

In: where to find a Lark grammar. Out: a :class:`Grammar`, a plain value that holds all that Lark
needs to read it. Nothing is parsed here; :mod:`cfgguide.grammar.lark_frontend` does that.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from cfgguide.errors import GrammarError, shown

if TYPE_CHECKING:
    from cfgguide.base.limits import Limits
    from cfgguide.engine.index.index import Index
    from cfgguide.engine.machine.protocol import AnyMachine
    from cfgguide.engine.monitors.monitor import Monitor
    from cfgguide.engine.monitors.monitored_grammar import MonitoredGrammar
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary
    from cfgguide.grammar.llguidance.llguidance_grammar import LlguidanceGrammar

_PACKAGED = Path(__file__).parents[1] / "grammars"  # in an installed wheel
_CHECKOUT = Path(__file__).parents[2] / "grammars"  # in a source checkout

# The indenters of bundled grammars.
_INDENTERS = {"python": "PythonIndenter", "python312": "Python312Indenter"}

# Files that the bundled grammars import, and that are no grammars themselves.
_PARTS = ("postgresql_schema", "python_names", "sql_runs", "sql_runs_writing", "sql_schema")

#: A folder, or a loader such as ``lark.load_grammar.FromPackageLoader``: Lark calls it with the
#: path of the importing grammar and a relative path, and gets a path and a text.
ImportPath = str | Callable[[Any, str], tuple[Any, str]]

#: What a file's name ends with if it is in another notation: the method that reads it.
NOTATIONS = {".gbnf": "gbnf", ".ebnf": "ebnf"}

MAX_IGNORED = 1000  # for `max_ignored`
AUTO = "auto"
#: The lexers of each of Lark's parsers, its own choice first.
LEXERS = {
    "lalr": ("contextual", "basic"),
    "earley": ("dynamic", "dynamic_complete", "basic"),
    AUTO: (AUTO, "basic"),
}
PARSERS = tuple(LEXERS)

_REGEX_FLAGS = int(re.ASCII | re.IGNORECASE | re.MULTILINE | re.DOTALL | re.UNICODE | re.VERBOSE)


@dataclass(frozen=True, repr=False)
class Grammar:
    r"""A grammar in Lark's language, not yet compiled.

    Parameters
    ----------
    text : str
        The grammar, as one would give it to ``lark.Lark``; a byte order mark before it is dropped.
    start : str
        The start rule; or, as Lark has it, a list of this one name.
    source_path : str, optional
        The file that `text` came from; relative ``%import`` statements start from its folder.
    import_paths : tuple of str or callable
        Where ``%import`` also looks for ``.lark`` files: folders, or loaders as Lark takes them.
        Two grammars with loaders are equal only if the loaders are the same objects.
    parser : {"lalr", "earley", "auto"}
        Lark's `parser`. Its LALR parser does not take all grammars, and resolves some conflicts in
        favour of one reading; its Earley parser takes every grammar, with all readings. With "auto"
        it is LALR if Lark takes the grammar so, and else Earley; a lexer that goes with one of them
        decides.
    lexer : {"contextual", "basic", "dynamic", "dynamic_complete"}, optional
        Lark's `lexer`; by default that which Lark itself takes for the parser. The basic lexer
        tries all terminals everywhere; the contextual one, with LALR, only those that the parse
        table has in the state on top of the stack. The dynamic one, with Earley, asks each terminal
        that the parser expects by itself, for its longest match; the complete one for all matches.
    strict : bool
        Lark's `strict`: shift/reduce conflicts and terminals that collide are errors.
    regex_flags : int
        Lark's `g_regex_flags`: flags of ``re`` for all terminals, such as ``re.IGNORECASE``.
    postlex : lark.indenter.Indenter, optional
        Lark's `postlex`, or its class: an indenter, which feeds the parser with INDENT and DEDENT.
        With Earley's parser it needs the basic lexer, and a grammar without conflicts.
        Only the names and the `tab_len` of Lark's own may be changed, or the names and limits of
        :class:`~cfgguide.grammar.indenters.CPythonIndenter`.
    max_ignored : int, optional
        How many characters an ignored lexeme may have, with the white space directly before it; 0
        forbids ignored text. What an indenter drops inside a line counts as ignored.
    keywords : {"upper", "lower"}, optional
        The case of keywords: terminals, of any name, that match one word in upper and in lower case
        and nothing else, such as ``"select"i``; or several words in a row, as ``/group\s+by/i``.
    restrict : mapping of str to str or None, optional
        What the lexemes of some terminals may be: a pattern that they match whole, or None for no
        lexeme. Its longer matches come first, and it does not look around.
    special : mapping of str to str, int or sequence of these, optional
        Terminals that are tokens and no text, each with the names or ids of its tokens; the grammar
        has them as ``%declare``. Text never spells one, and no lexeme goes on across one.

    `max_ignored`, `keywords` and `restrict` make the language smaller. Lark lexes and parses a text
    as it would without them; then a lexeme that they do not allow is refused, and with it the text.

    Raises
    ------
    GrammarError
        If Lark's LALR parser could not take one of these, or an option is wrong.

    Examples
    --------
    >>> Grammar('start: "a" "b"*')
    Grammar(n_characters=15, start='start')
    >>> "json" in Grammar.bundled_names()
    True
    """

    #: Whether Lark's tables read its texts; otherwise it has a machine of its own.
    has_tables: ClassVar[bool] = True

    text: str
    start: str = "start"
    source_path: str | None = None
    import_paths: tuple[ImportPath, ...] = ()
    parser: str = field(default="lalr", kw_only=True)
    lexer: str | None = field(default=None, kw_only=True)
    strict: bool = field(default=False, kw_only=True)
    regex_flags: int = field(default=0, kw_only=True)
    postlex: object | None = field(default=None, kw_only=True)
    max_ignored: int | None = field(default=None, kw_only=True)
    keywords: str | None = field(default=None, kw_only=True)
    restrict: tuple[tuple[str, str | None], ...] | Mapping[str, str | None] = field(
        default=(), kw_only=True
    )
    special: tuple[tuple[str, tuple[str | int, ...]], ...] | Mapping[str, Any] = field(
        default=(), kw_only=True
    )

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise GrammarError(
                f"a grammar is a text, not {type(self.text).__name__}; "
                "use Grammar.open(path) for a file or Grammar.bundled(name) for a bundled grammar"
            )
        object.__setattr__(self, "text", self.text.removeprefix("\ufeff"))  # a byte order mark
        if re.fullmatch(r"[^\s:%]+", self.text):
            raise GrammarError(
                f"{self.text!r} is no grammar, but perhaps a name: Grammar.open({self.text!r}) "
                f"reads a file, Grammar.bundled({self.text!r}) a bundled grammar "
                f"({', '.join(self.bundled_names())})"
            )
        object.__setattr__(self, "start", _only_start(self.start))
        object.__setattr__(self, "import_paths", _checked_import_paths(self.import_paths))
        parser, lexer = _checked_lexer(self.parser, self.lexer, self.postlex is not None)
        object.__setattr__(self, "parser", parser)
        object.__setattr__(self, "lexer", lexer)
        if not isinstance(self.strict, bool):
            raise GrammarError(f"strict is True or False, not {self.strict!r}")
        object.__setattr__(self, "regex_flags", _checked_flags(self.regex_flags))
        if self.postlex is not None:
            from cfgguide.grammar.indenters import indentation_names  # which loads Lark

            indentation_names(self.postlex)  # raises if it is not an indenter
        n = self.max_ignored
        if n is not None and (type(n) is not int or not 0 <= n <= MAX_IGNORED):  # True is none
            raise GrammarError(f"max_ignored is a number from 0 to {MAX_IGNORED}, not {n!r}")
        if self.keywords not in (None, "upper", "lower"):
            raise GrammarError(f"keywords is 'upper' or 'lower', not {self.keywords!r}")
        object.__setattr__(self, "restrict", _checked_restrictions(self.restrict))
        object.__setattr__(self, "special", _checked_special(self.special))

    def __repr__(self) -> str:
        source = [f"source_path={self.source_path!r}"] if self.source_path is not None else []
        changed = [
            f"{option.name}={value!r}"
            for option in fields(self)
            if option.kw_only
            and option.repr
            and (value := getattr(self, option.name)) != option.default
            and not (option.name == "lexer" and value == LEXERS[self.parser][0])
        ]
        named = [*source, f"n_characters={len(self.text)}", f"start={self.start!r}", *changed]
        return f"Grammar({', '.join(named)})"

    @property
    def lark_options(self) -> dict[str, Any]:
        r"""The options with which Lark judges: ``lark.Lark(grammar.text, **grammar.lark_options)``.

        With `parser` "auto", Lark is asked first.

        >>> Grammar('start: "a"').lark_options["parser"]
        'lalr'
        >>> Grammar('start: x | y\nx: "a"\ny: "a"', parser="auto").lark_options["parser"]
        'earley'
        """
        if self.parser == AUTO:
            return self.chosen().lark_options
        return {
            "start": self.start,
            "parser": self.parser,
            "lexer": self.lexer,
            "strict": self.strict,
            "g_regex_flags": self.regex_flags,
            "source_path": self.source_path,
            "import_paths": list(self.import_paths),
            "postlex": self.postlex() if isinstance(self.postlex, type) else self.postlex,
        }

    def chosen(self) -> Grammar:
        """Return the grammar with the parser that takes it; it is another one only with "auto".

        Raises
        ------
        GrammarError
            If Lark takes it neither way.
        """
        if self.parser != AUTO:
            return self
        from cfgguide.grammar.lark_frontend import chosen

        return chosen(self)

    def watched_by(self, monitor: Monitor) -> MonitoredGrammar:
        """Return this grammar with a monitor, which says what the grammar cannot.

        Parameters
        ----------
        monitor : Monitor
            Before any text; see :class:`cfgguide.monitors.Monitor`.

        Raises
        ------
        GrammarError
            If it is no monitor.
        """
        from cfgguide.engine.monitors.monitored_grammar import MonitoredGrammar

        options = {each.name: getattr(self, each.name) for each in fields(Grammar)}
        return MonitoredGrammar(**options, monitor=monitor)

    def for_tokens(self, special_tokens: Mapping[str, int]) -> Grammar:
        """Return the grammar for a vocabulary with some special tokens; mostly it is the same."""
        return self

    def own_machine(
        self, vocabulary: Vocabulary, compile: Callable[[Grammar, Vocabulary], Index]
    ) -> AnyMachine | None:
        """Return the machine of a grammar that goes through no tables of Lark's; None of others.

        Parameters
        ----------
        vocabulary : Vocabulary
            With the symbols of the grammar.
        compile : callable
            Returns the index of a grammar that this one is made of.
        """
        return None

    @property
    def whole_pattern(self) -> str | None:
        """The regular expression that all texts match as a whole; None if there may be none."""
        return None

    def tidied(self) -> Grammar:
        """Return the grammar of what a model writes by default, where it is asked for this one.

        That is what was chosen for this grammar when it was made, and else less than all of it
        (docs/defaults.md): a grammar in Lark's language is as it was written.
        """
        return self

    def symbols_in(self, special_tokens: Mapping[str, int]) -> dict[str, tuple[str | int, ...]]:
        """Return the tokens of a vocabulary that are terminals, by the names of these."""
        return dict(self.special)

    @classmethod
    def bundled(
        cls,
        name: str,
        *,
        start: str = "start",
        tidy: bool = False,
        max_ignored: int | None = None,
    ) -> Grammar:
        """Return a grammar that ships with cfgguide.

        Parameters
        ----------
        name : str
            One of :meth:`bundled_names`.
        start : str
            The start rule.
        tidy : bool
            Whether to leave out what few would wish for: several spaces where one will do,
            comments, and keywords in lower case. :func:`cfgguide.generate` writes so.
        max_ignored : int, optional
            As for :class:`Grammar`; of `json`, whose white space stands in its rules, how many
            characters of it stand between two lexemes. Small models like to write it for ever.

        Raises
        ------
        GrammarError
            If there is no such grammar, or an option is wrong.

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
        postlex = None
        if name in _INDENTERS:
            from cfgguide.grammar import indenters

            postlex = getattr(indenters, _INDENTERS[name])
        grammar = cls.open(path, start=start, postlex=postlex, parser="lalr")
        if tidy:
            from cfgguide.languages.tidy_forms import tidy_form

            grammar = replace(grammar, **tidy_form(name))
        if max_ignored is None:
            return grammar
        grammar = replace(grammar, max_ignored=max_ignored)  # checks it
        if name != "json":
            return grammar
        pattern = rf"[ \t\n\r]{{1,{max_ignored}}}" if max_ignored else None
        return replace(grammar, max_ignored=None, restrict={"WS": pattern})

    @classmethod
    def llguidance(
        cls,
        text: str,
        *,
        grammars: Mapping[str, Grammar | str] | None = None,
        tidy: bool | None = None,
        limits: Limits | None = None,
    ) -> LlguidanceGrammar:
        """Return a grammar from a text in llguidance's dialect of Lark's language.

        Parameters
        ----------
        text : str
            The grammar; docs/llguidance.md says what it may have.
        grammars : mapping of str to Grammar or str, optional
            The grammars that the text calls ``@name``; a text is in the dialect too.
        tidy : bool, optional
            Whether values of ``%json`` are tidy, as for :func:`cfgguide.json_schema`; by default
            they are where a model writes, as for :func:`cfgguide.structural_tag`.
        limits : Limits, optional
            What reading it may cost.

        Returns
        -------
        LlguidanceGrammar
            A :class:`Grammar` in Lark's own language. Its `left_out` says what the text asks for
            and has no effect, such as captures.

        Raises
        ------
        GrammarError, PatternError
            If the text is not in the dialect, or has what a grammar here cannot guarantee. The
            message points to the place.
        LimitError
            If reading it would exceed a limit.

        Examples
        --------
        >>> print(Grammar.llguidance('start: <|call|> "a"{2,}').text)
        start: CALL "a"~2 "a"*
        %declare CALL
        """
        from cfgguide.grammar.llguidance.llguidance_grammar import read_grammar
        from cfgguide.schema.embedded_rules import rules_of_schema

        return read_grammar(
            text, grammars=grammars, tidy=tidy, limits=limits, rules_of_schema=rules_of_schema
        )

    @classmethod
    def gbnf(cls, text: str, *, root: str = "root", limits: Limits | None = None) -> Grammar:
        r"""Return a grammar from a text in GBNF, llama.cpp's notation.

        It becomes a grammar in Lark's language with the same texts, for Lark's Earley parser.

        Parameters
        ----------
        text : str
            The grammar. Rules may call themselves at their left end.
        root : str
            The rule with which it starts.
        limits : Limits, optional
            What reading it may cost.

        Raises
        ------
        GrammarError, LimitError
            As :func:`cfgguide.notations.gbnf`.

        Examples
        --------
        >>> Grammar.gbnf('root ::= root "+" root | [0-9]+').lark_options["parser"]
        'earley'
        """
        from cfgguide.grammar.notations.converted import gbnf

        return gbnf(text, root=root, limits=limits).grammar

    @classmethod
    def ebnf(cls, text: str, *, root: str = "root", limits: Limits | None = None) -> Grammar:
        """Return a grammar from a text in XGrammar's EBNF; otherwise as :meth:`gbnf`.

        >>> print(Grammar.ebnf('root ::= "a" root | "b"').text)
        start: ROOT
        ROOT: /a*b/
        """
        from cfgguide.grammar.notations.converted import ebnf

        return ebnf(text, root=root, limits=limits).grammar

    @classmethod
    def w3c(cls, text: str, *, root: str | None = None, limits: Limits | None = None) -> Grammar:
        """Return a grammar from a text in the EBNF of W3C's specifications.

        It starts with the first rule, if `root` names no other; otherwise as :meth:`gbnf`.

        >>> print(Grammar.w3c("letter ::= [a-z] - [aeiou]").text)
        start: LETTER
        LETTER: /[b-df-hj-np-tv-z]/
        """
        from cfgguide.grammar.notations.converted import w3c

        return w3c(text, root=root, limits=limits).grammar

    @classmethod
    def bundled_names(cls) -> tuple[str, ...]:
        """Return the names of the bundled grammars, sorted."""
        names = (path.stem for path in bundled_folder().glob("*.lark"))
        return tuple(sorted(name for name in names if name not in _PARTS))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        start: str = "start",
        import_paths: Sequence[ImportPath] = (),
        parser: str = AUTO,
        lexer: str | None = None,
        strict: bool = False,
        regex_flags: int = 0,
        postlex: object | None = None,
        special: Mapping[str, Any] | None = None,
    ) -> Grammar:
        """Return the grammar in a ``.lark`` file; the options are those of :class:`Grammar`.

        By default it is read with LALR if Lark takes it so, and else with Earley; with an indenter
        always with LALR. A file called ``.gbnf`` or ``.ebnf`` is in that notation, and has no
        options but the rule to start from (:meth:`gbnf`, :meth:`ebnf`).

        Raises
        ------
        GrammarError
            If the file cannot be read as UTF-8 text, or an option is wrong.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise GrammarError(f"cannot read the grammar file {str(path)!r}: {error}") from None
        notation = NOTATIONS.get(Path(path).suffix)
        if notation is not None:
            root = "root" if start == "start" else start
            read: Grammar = getattr(cls, notation)(text, root=root)
            return read
        return cls(
            text,
            start,
            str(path),
            _checked_import_paths(import_paths),
            parser=parser,
            lexer=lexer,
            strict=strict,
            regex_flags=regex_flags,
            postlex=postlex,
            special=special or {},
        )

    from_file = open  # what others call it


class GrammarOnRequest(Grammar):
    """A grammar that was made of something else than a text, which is written on request."""

    lexer: str | None = LEXERS["lalr"][0]

    @abstractmethod
    def _written(self) -> str:
        """Return its text in Lark's language."""

    @abstractmethod
    def _key(self) -> Hashable:
        """Return what it was made of: texts may take long to write."""

    def __getattr__(self, name: str) -> Any:
        if name != "text":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        text = vars(self)["text"] = self._written()
        return text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GrammarOnRequest):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _only_start(start: str | list[str] | tuple[str, ...]) -> str:
    """Return the name of the start rule, which may stand in a list, as for Lark."""
    if not isinstance(start, list | tuple):
        return start
    if len(start) != 1 or not isinstance(start[0], str):
        raise GrammarError(
            f"start is the name of one rule, not {shown(start)}; write a rule of alternatives for "
            "several, or make a grammar for each"
        )
    return start[0]


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


def _checked_restrictions(restrict: object) -> tuple[tuple[str, str | None], ...]:
    if isinstance(restrict, tuple):
        restrict = dict(restrict)
    if not isinstance(restrict, Mapping) or not all(
        isinstance(name, str) and (pattern is None or isinstance(pattern, str))
        for name, pattern in restrict.items()
    ):
        raise GrammarError(
            f"restrict maps names of terminals to patterns, or to None, not {shown(restrict)}"
        )
    return tuple(sorted(restrict.items()))


def _checked_special(special: object) -> tuple[tuple[str, tuple[str | int, ...]], ...]:
    if isinstance(special, tuple):
        special = dict(special)
    found: dict[str, tuple[str | int, ...]] = {}
    for name, given in special.items() if isinstance(special, Mapping) else [("", None)]:
        tokens = tuple(given) if isinstance(given, list | tuple) else (given,)
        is_right = isinstance(name, str) and tokens and all(map(is_token, tokens))
        if not is_right:
            raise GrammarError(
                "special maps names of terminals to tokens, each by its name or its id, "
                f"not {shown(special)}"
            )
        found[name] = tokens
    return tuple(sorted(found.items()))


def is_token(given: object) -> bool:
    """Return whether something is the name or the id of a token."""
    is_id = isinstance(given, int) and not isinstance(given, bool) and given >= 0
    return is_id or (isinstance(given, str) and given != "")


def _checked_lexer(parser: object, lexer: object, has_postlex: bool) -> tuple[str, str]:
    if parser not in PARSERS:
        raise GrammarError(f"parser is {_listed(PARSERS)}, not {parser!r}")
    lexers = LEXERS[str(parser)]
    if has_postlex and parser == "earley":
        if lexer not in (None, "basic"):
            raise GrammarError(f"an indenter (postlex) needs lexer='basic', not {lexer!r}")
        return "earley", "basic"
    if lexer is None:
        return str(parser), lexers[0]
    if lexer in lexers:
        return str(parser), str(lexer)
    others = [each for each, known in LEXERS.items() if lexer in known and lexer != AUTO]
    if parser == AUTO and others:
        return others[0], str(lexer)
    way_out = f"; {lexer!r} goes with parser={others[0]!r}" if others else ""
    raise GrammarError(f"lexer is {_listed(lexers)} with parser={parser!r}, not {lexer!r}{way_out}")


def _listed(names: Sequence[str]) -> str:
    return " or ".join([", ".join(map(repr, names[:-1])), repr(names[-1])])


def _checked_flags(flags: object) -> int:
    if isinstance(flags, bool) or not isinstance(flags, int):
        raise GrammarError(f"regex_flags is a number, such as re.IGNORECASE, not {flags!r}")
    if flags & ~_REGEX_FLAGS:
        raise GrammarError(
            f"regex_flags may hold re.ASCII, re.IGNORECASE, re.MULTILINE, re.DOTALL, re.UNICODE "
            f"and re.VERBOSE, not {flags & ~_REGEX_FLAGS}"
        )
    return int(flags)


def bundled_folder() -> Path:
    """Return the folder of the bundled grammars."""
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
