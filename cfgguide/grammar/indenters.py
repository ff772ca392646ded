"""CPython's rules of indentation, as a postlex for Lark.

In: the tokens of a contextual lexer. Out: those that the parser is fed: without white space and
without line breaks in brackets, and with an INDENT or DEDENTs after the line breaks that change the
column.

Lark's own ``Indenter`` has one number for a column, drops line breaks in all brackets and wants a
line break at the end. CPython's tokenizer counts tabs in two ways and refuses lines that differ in
only one of them, limits the levels, and ends the last line itself.
:mod:`cfgguide.engine.machine.indentation_reader` does the same on configurations.
"""

from __future__ import annotations

from collections.abc import Iterator
from keyword import kwlist
from typing import Any, ClassVar

from lark import Token
from lark.indenter import DedentError, Indenter

from cfgguide.errors import GrammarError
from cfgguide.grammar.lr.indentation_names import (
    CLOSES,
    COUNTED,
    CPYTHON_TAB,
    INLINE,
    JOIN,
    OPENS,
    IndentationNames,
)

_TAB = 8  # CPython's TABSIZE; its ALTTABSIZE is 1


class CPythonIndenter(Indenter):
    """Feeds INDENT and DEDENT as CPython's tokenizer does; subclass it to name the terminals.

    A line break is fed where nothing is open, dropped inside brackets, and refused inside strings
    made of several terminals, such as f-strings. Brackets in such strings that may hold line breaks
    have names of their own (`OPEN_FIELD_types`).

    Attributes
    ----------
    NL_type : str
        The terminal of line breaks. It also takes blank lines, comments and the white space that
        starts the next line. If its last line holds a comment, the text ends there.
    INLINE_types : list of str
        Terminals that are dropped within a line, such as white space. They are refused where a line
        starts: CPython finds the column of such a line in another way.
    JOIN_types : list of str
        Terminals that join a line with the next. They are treated likewise, and refused inside
        strings and at the end of the text.
    ALWAYS_types : list of str
        Terminals that the lexer tries in every state, such as names and keywords, so that a keyword
        is not read from the first letters of a name.
    OPEN_PAREN_types, CLOSE_PAREN_types : list of str
        Brackets.
    OPEN_STRING_types, CLOSE_STRING_types : list of str
        The first and last terminals of strings that are made of several terminals.
    OPEN_FIELD_types, CLOSE_FIELD_types : list of str
        Brackets of fields in such strings, inside which line breaks are dropped.
    SPEC_types : list of str
        Terminals directly in such a field and in the same rule, after which line breaks are refused
        up to the end of the field.
    DECIMAL_types : list of str
        Terminals that may have at most `max_digits` digits.
    max_brackets, max_indents, max_digits : int
        How many brackets and levels may be open, and how many digits a decimal integer may have.
    """

    NL_type = "_NEWLINE"
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    OPEN_PAREN_types: ClassVar[list[str]] = ["LPAR", "LSQB", "LBRACE"]
    CLOSE_PAREN_types: ClassVar[list[str]] = ["RPAR", "RSQB", "RBRACE"]
    OPEN_STRING_types: ClassVar[list[str]] = []
    CLOSE_STRING_types: ClassVar[list[str]] = []
    OPEN_FIELD_types: ClassVar[list[str]] = []
    CLOSE_FIELD_types: ClassVar[list[str]] = []
    SPEC_types: ClassVar[list[str]] = []
    INLINE_types: ClassVar[list[str]] = []
    JOIN_types: ClassVar[list[str]] = []
    ALWAYS_types: ClassVar[list[str]] = []
    DECIMAL_types: ClassVar[list[str]] = []
    tab_len = _TAB
    max_brackets = 200
    max_indents = 99  # and the level of the file
    max_digits = 4300  # CPython's sys.int_info.default_max_str_digits

    @property
    def always_accept(self) -> tuple[str, ...]:  # type: ignore[override]
        """The terminals that the lexer tries in every state."""
        return (self.NL_type, *self.INLINE_types, *self.JOIN_types, *self.ALWAYS_types)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Yield the tokens that the parser is fed."""
        self.paren_level = 0
        self.indent_level = [0]
        self._alternative = [0]  # the columns if a tab counts as one space
        # For all that is open: whether it is a field, and whether line breaks are refused in it.
        self._open = [(False, False)]
        return self._process(stream)

    def _process(self, stream: Iterator[Token]) -> Iterator[Token]:
        last: Token | None = None
        token: Token | None = None
        for token in stream:
            if token.type in (*self.INLINE_types, *self.JOIN_types):
                if self._open[-1][1] and token.type in self.JOIN_types:
                    raise DedentError(f"a line is joined inside a string: {token!r}")
                if last is None or last.type == self.NL_type:
                    raise DedentError(f"a line starts with {token!r}")
                continue
            if token.type == self.NL_type:
                if self._open[-1][1]:
                    raise DedentError("a line ends inside a string")
                if self.paren_level:
                    continue
                if _is_at_the_end(stream):
                    yield token
                else:
                    yield from self.handle_NL(token)
            else:
                n_digits = sum(map(str.isdigit, token)) if token.type in self.DECIMAL_types else 0
                if n_digits > self.max_digits:
                    raise DedentError(f"a number has {n_digits} digits")
                yield token
                self._open_or_close(token)
            last = token
        if token is not None and token.type in self.JOIN_types:
            raise DedentError("the text ends where a line is joined with the next")
        if last is not None and last.type != self.NL_type:
            yield Token.new_borrow_pos(self.NL_type, "", last)
        while last is not None and len(self.indent_level) > 1:
            self.indent_level.pop()
            yield Token.new_borrow_pos(self.DEDENT_type, "", last)

    def handle_NL(self, token: Token) -> Iterator[Token]:  # noqa: N802 - Lark's name
        """Yield a line break, and the INDENT or DEDENTs that its last line requires."""
        yield token
        indentation = token.replace("\r", "\n").rpartition("\n")[2]
        if "#" in indentation:  # nothing comes after it
            return
        column, alternative = columns(indentation)
        if column > self.indent_level[-1]:
            if alternative <= self._alternative[-1]:
                raise DedentError("tabs and spaces are mixed, so that the column is not clear")
            if len(self.indent_level) > self.max_indents:
                raise DedentError("too many levels of indentation")
            self.indent_level.append(column)
            self._alternative.append(alternative)
            yield Token.new_borrow_pos(self.INDENT_type, indentation, token)
            return
        while column < self.indent_level[-1]:
            self.indent_level.pop()
            self._alternative.pop()
            yield Token.new_borrow_pos(self.DEDENT_type, indentation, token)
        if column != self.indent_level[-1] or alternative != self._alternative[-1]:
            raise DedentError(f"no block starts in column {column}")

    def _open_or_close(self, token: Token) -> None:
        kind, (is_in_field, is_quoted) = token.type, self._open[-1]
        if kind in self.OPEN_PAREN_types or kind in self.OPEN_FIELD_types:
            self.paren_level += 1
            if self.paren_level > self.max_brackets:
                raise DedentError("too many brackets are open")
            is_field = kind in self.OPEN_FIELD_types
            self._open.append((is_field, is_quoted and not is_field))
        elif kind in self.OPEN_STRING_types:
            self._open.append((False, True))
        elif kind in self.CLOSE_PAREN_types or kind in self.CLOSE_FIELD_types:
            self.paren_level -= 1
            self._open.pop()
        elif kind in self.CLOSE_STRING_types:
            self._open.pop()
        elif kind in self.SPEC_types and is_in_field:
            self._open[-1] = (True, True)


class PythonIndenter(CPythonIndenter):
    """The postlex of the bundled grammar of Python 3.11."""

    OPEN_PAREN_types: ClassVar[list[str]] = ["LPAR", "LSQB", "LBRACE", "FIELD"]
    CLOSE_PAREN_types: ClassVar[list[str]] = [
        "RPAR",
        "RSQB",
        "RBRACE",
        "CONVERSION_END",
        "SPEC_END",
    ]
    OPEN_STRING_types: ClassVar[list[str]] = [
        f"{kind}{quote}_START"
        for kind in ("", "RAW_", "F_", "RF_", "B_", "RB_")
        for quote in ("DQ", "SQ", "TDQ", "TSQ")
    ] + [
        f"IN_{kind}{quote}_START"
        for kind in ("", "F_", "B_")
        for quote in ("DQ", "SQ", "TDQ", "TSQ")
    ]
    CLOSE_STRING_types: ClassVar[list[str]] = ["DQ_END", "SQ_END", "TDQ_END", "TSQ_END"]
    DECIMAL_types: ClassVar[list[str]] = ["DECIMAL"]
    INLINE_types: ClassVar[list[str]] = ["_BLANK"]
    JOIN_types: ClassVar[list[str]] = ["_JOIN"]
    ALWAYS_types: ClassVar[list[str]] = ["NAME", "BAD_NUMBER", *(word.upper() for word in kwlist)]


class Python312Indenter(PythonIndenter):
    """The postlex of the bundled grammar of Python 3.12 and later.

    Lines may end in the fields of f-strings. CPython allows at most 200 open brackets and 149 open
    f-strings; fields are brackets too, and only brackets are counted here.
    """

    OPEN_PAREN_types: ClassVar[list[str]] = ["LPAR", "LSQB", "LBRACE"]
    OPEN_FIELD_types: ClassVar[list[str]] = ["FIELD"]
    CLOSE_PAREN_types: ClassVar[list[str]] = ["RPAR", "RSQB", "RBRACE", "SPEC_END"]
    SPEC_types: ClassVar[list[str]] = ["COLON"]
    # Lark gives such names to what the grammar imports without naming it.
    OPEN_STRING_types: ClassVar[list[str]] = [
        f"python__{name}" for name in PythonIndenter.OPEN_STRING_types
    ]
    CLOSE_STRING_types: ClassVar[list[str]] = [
        f"python__{name}" for name in PythonIndenter.CLOSE_STRING_types
    ]
    max_brackets = 149


def _is_at_the_end(stream: Any) -> bool:
    """Return whether the lexer has read all of the text.

    Asking for the next token would make the lexer read on as if nothing came after the line break.
    """
    frame = getattr(stream, "gi_frame", None)
    state = frame.f_locals.get("lexer_state") if frame is not None else None
    if state is None:
        return False
    end = getattr(state.text, "end", None)  # of a slice, since Lark 1.3
    return bool(state.line_ctr.char_pos == (len(state.text) if end is None else end))


def columns(indentation: str) -> tuple[int, int]:
    r"""Return the column after white space, and that with tabs as one space each.

    A tab leads to the next multiple of 8, a form feed to column 0.

    >>> columns("\t  "), columns("  \t"), columns("    \f ")
    ((10, 3), (8, 3), (1, 1))
    """
    column = alternative = 0
    for character in indentation:
        if character == "\t":
            column = (column // _TAB + 1) * _TAB
            alternative += 1
        elif character == "\f":
            column = alternative = 0
        else:
            column += 1
            alternative += 1
    return column, alternative


def indentation_names(postlex: object) -> IndentationNames:
    """Return the names and limits of an indenter.

    Raises
    ------
    GrammarError
        If `postlex` is not an Indenter of Lark, or overrides what Lark's and ours do.
    """
    indenter = postlex() if isinstance(postlex, type) else postlex
    if not isinstance(indenter, Indenter):
        raise GrammarError(
            f"postlex is a subclass of lark.indenter.Indenter, not {postlex!r}: what another one "
            "makes of lexemes cannot be known"
        )
    is_cpython = isinstance(indenter, CPythonIndenter)
    known = CPythonIndenter if is_cpython else Indenter
    for name in ("process", "_process", "handle_NL", "_open_or_close", "always_accept"):
        if getattr(type(indenter), name, None) is not getattr(known, name, None):
            raise GrammarError(
                f"the indenter {type(indenter).__name__} has its own {name}, of which nothing is "
                "known; change only names and tab_len, or subclass cfgguide.grammar.CPythonIndenter"
            )
    roles = dict.fromkeys(indenter.OPEN_PAREN_types, OPENS)
    roles |= dict.fromkeys(indenter.CLOSE_PAREN_types, CLOSES)
    if not isinstance(indenter, CPythonIndenter):
        return IndentationNames(
            indenter.NL_type,
            indenter.INDENT_type,
            indenter.DEDENT_type,
            tuple(roles.items()),
            tab=_tab(indenter.tab_len),
        )
    roles |= dict.fromkeys(indenter.OPEN_FIELD_types, OPENS)
    roles |= dict.fromkeys(indenter.CLOSE_FIELD_types, CLOSES)
    roles |= dict.fromkeys(indenter.INLINE_types, INLINE)
    roles |= dict.fromkeys(indenter.JOIN_types, JOIN)
    roles |= dict.fromkeys(indenter.DECIMAL_types, COUNTED)
    return IndentationNames(
        indenter.NL_type,
        indenter.INDENT_type,
        indenter.DEDENT_type,
        tuple(roles.items()),
        strings=frozenset(indenter.OPEN_STRING_types),
        string_ends=frozenset(indenter.CLOSE_STRING_types),
        fields=frozenset(indenter.OPEN_FIELD_types),
        specs=frozenset(indenter.SPEC_types),
        always=tuple(indenter.ALWAYS_types),
        tab=CPYTHON_TAB,
        ends_last_line=True,
        max_brackets=indenter.max_brackets,
        max_indents=indenter.max_indents,
        max_digits=indenter.max_digits,
    )


def _tab(width: Any) -> int:
    if isinstance(width, bool) or not isinstance(width, int) or not 1 <= width <= 100:
        raise GrammarError(f"the indenter's tab_len is a number from 1 to 100, not {width!r}")
    return width
