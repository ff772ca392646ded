"""Grammars as the page sends them, and where in them an error is.

In: a text with a start rule, a parser and whether blocks are indented. Out: a
:class:`~cfgguide.grammar.grammar.Grammar`. A text that is one of the bundled grammars is that one,
so it comes compiled. No grammar of the page imports files, except those that ship with cfgguide.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from cfgguide.base.limits import Limits
from cfgguide.errors import GrammarError, shown
from cfgguide.grammar.grammar import PARSERS, Grammar, bundled_folder

MAX_GRAMMAR = 200_000  # characters
#: What compiling a grammar of the page may cost.
LIMITS = Limits(max_seconds=120.0, max_memory=2_000_000_000, allows_imports=False)

_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
_LINE = re.compile(r"\bline (\d+)(?:,? col(?:umn)? (\d+))?")
_QUOTED = re.compile(rf"(?:terminal|token|rule|[Rr]ule '|Terminal '|Terminal\('|<)[ ']*({_NAME})")
_USED = re.compile(
    rf"(?:Rule|Token|Terminal) '({_NAME})' used but not defined(?: \(in rule ({_NAME})\))?"
)

EXAMPLES: tuple[dict[str, str], ...] = (
    {
        "name": "sums",
        "grammar": "// Sums and products; the parser knows which bracket is open.\n"
        'start: sum\nsum: product (("+" | "-") product)*\n'
        'product: factor (("*" | "/") factor)*\nfactor: NUMBER | "(" sum ")" | "-" factor\n'
        'NUMBER: /[0-9]+(\\.[0-9]+)?/\n%ignore " "\n',
        "text": "(12 + 3) * 4",
    },
    {
        "name": "greetings",
        "grammar": "// Which words may follow depends on those before.\n"
        'start: ("Hello" | "Hi") ", " NAME mark\nmark: "!" | "." | "..."\nNAME: /[A-Z][a-z]+/\n',
        "text": "Hello, Ada..",
    },
    {
        "name": "dates",
        "grammar": "// A date as ISO 8601 has it; a terminal is a regular expression.\n"
        'start: DATE ("T" TIME)?\n'
        "DATE: /[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])/\n"
        "TIME: /([01][0-9]|2[0-3]):[0-5][0-9]/\n",
        "text": "2026-11-2",
    },
    {
        "name": "ambiguous sums",
        "grammar": "// Two ways to read 1+2+3: Lark's Earley parser takes both.\n"
        'start: sum\nsum: sum "+" sum | NUMBER\nNUMBER: /[0-9]+/\n',
        "text": "1+2+3",
        "parser": "earley",
    },
    {
        "name": "records",
        "grammar": '// Lines of names and values, such as "width = 12".\n'
        'start: (NAME "=" value "\\n")+\nvalue: NUMBER | STRING | "yes" | "no"\n'
        'NAME: /[a-z_]+/\nNUMBER: /-?[0-9]+/\nSTRING: /"[^"\\n]*"/\n%ignore " "\n',
        "text": "width = 12\nopen = ye",
    },
)


class Place(NamedTuple):
    """A place in a text: a line and a column, counted from 1, and how many characters it has."""

    line: int
    column: int
    length: int


@cache
def bundled_names() -> dict[str, str]:
    """Return the name of each bundled grammar by its text."""
    return {Grammar.bundled(name).text: name for name in Grammar.bundled_names()}


def grammar_of(given: dict[str, Any]) -> tuple[Grammar, bool]:
    """Return the grammar that the page asks for, and whether it is a bundled one.

    Raises
    ------
    GrammarError
        If it is too long, or says what a grammar cannot have.

    Examples
    --------
    >>> grammar_of({"text": Grammar.bundled("json").text, "start": "start"})[1]
    True
    >>> grammar_of({"text": 'start: "a"', "start": "start", "parser": "earley"})
    (Grammar(n_characters=10, start='start', parser='earley'), False)
    """
    text = str(given.get("text", ""))
    start = str(given.get("start") or "start").strip()
    parser = str(given.get("parser") or "auto")
    if len(text) > MAX_GRAMMAR:
        raise GrammarError(
            f"the grammar has {len(text):,} characters; the playground takes {MAX_GRAMMAR:,}"
        )
    if not re.fullmatch(_NAME, start):
        raise GrammarError(f"{shown(start)} is no name of a rule")
    if parser not in PARSERS:
        raise GrammarError(f"there is no parser {shown(parser)}; there is {', '.join(PARSERS)}")
    name = bundled_names().get(text)
    if name is not None and parser in ("auto", "lalr"):
        return Grammar.bundled(name, start=start), True
    if re.fullmatch(r"[^\s:%]*", text):
        raise GrammarError('the grammar has no rule; the least is one line, such as `start: "a"`')
    # What is imported relatively comes from the bundled grammars, as if this were one of them.
    is_relative = re.search(r"^%import\s+\.", text, re.MULTILINE) is not None
    path = str(bundled_folder() / "playground.lark") if is_relative else None
    postlex = _indenter() if given.get("indented") else None
    return Grammar(text, start=start, parser=parser, source_path=path, postlex=postlex), False


def _indenter() -> object:
    from cfgguide.grammar.indenters import PythonIndenter  # loads Lark

    return PythonIndenter


def place_of(message: str, text: str) -> Place | None:
    r"""Return where in a grammar an error is, as far as its message says.

    Examples
    --------
    >>> place_of("Unexpected input at line 2 column 7 in <string>:", 'start: a\na: "x')
    Place(line=2, column=7, length=1)
    >>> place_of("terminal A uses a backreference", "start: A\nA: /(a)\\1/")
    Place(line=2, column=1, length=1)
    >>> place_of("Rule 'b' used but not defined (in rule start)", "start: a b")
    Place(line=1, column=10, length=1)
    """
    lines = text.split("\n")
    if found := _LINE.search(message):
        line = min(int(found[1]), len(lines))
        column = int(found[2] or 1)
        return Place(line, column, 1)
    if found := _USED.search(message):
        used = re.compile(rf"\b{found[1]}\b")
        for number, line_text in enumerate(lines, 1):
            if not line_text.lstrip().startswith("//") and (at := used.search(line_text)):
                return Place(number, at.start() + 1, len(found[1]))
    for found in _QUOTED.finditer(message):
        definition = re.compile(
            rf"^\s*+[?!]?({found[1]})\b\s*+(?:\.-?\d+\s*+)?(?:\{{[^}}]*\}}\s*+)?:"
        )
        for number, line_text in enumerate(lines, 1):
            if at := definition.search(line_text):
                return Place(number, at.start(1) + 1, len(found[1]))
    return None
