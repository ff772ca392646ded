"""Which notation a grammar is in that is not in the one as which it was given.

In: a text that could not be read, and its supposed notation. Out: what the error adds, such as
"this looks like W3C's EBNF: try Grammar.w3c". A notation is named if its reader takes the whole
text, or if the text has marks that only this notation has.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cfgguide.errors import CfgGuideError
from cfgguide.grammar.notations.ebnf_reader import read_ebnf
from cfgguide.grammar.notations.gbnf_reader import read_gbnf
from cfgguide.grammar.notations.w3c_reader import read_w3c
from cfgguide.grammar.rules.facts import needed
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import Rule

_READERS: dict[str, Callable[[Source], dict[str, Rule]]] = {
    "gbnf": read_gbnf,
    "ebnf": read_ebnf,
    "w3c": read_w3c,
}
_ADVICE = {
    "gbnf": "llama.cpp's GBNF: try Grammar.gbnf",
    "ebnf": "XGrammar's EBNF: try Grammar.ebnf",
    "w3c": "W3C's EBNF: try Grammar.w3c",
    "lark": "Lark's language: try Grammar(text)",
    "llguidance": "llguidance's dialect of Lark's language: try Grammar.llguidance",
    "iso": "ISO's EBNF, which is not read here: write a rule as name ::= ..., without ; and ,",
}
# No pattern has two parts next to each other that match the same characters.
_DEFINITION = re.compile(r"^[ \t]*+(?:\[[0-9]++\][ \t]*+)?[\w.-]++[ \t]*+::=", re.MULTILINE)
_MARKS = [
    ("ebnf", re.compile(r"\b(?:TagDispatch|TokenTagDispatch|ExcludeToken|Token|Regex)\(|\(=")),
    ("w3c", re.compile(r"#x[0-9A-Fa-f]|^\[[0-9]++\][ \t]*+\w|/\*", re.MULTILINE)),
    ("gbnf", re.compile(r"<\[[0-9]|![ \t]*+<|\\x[0-9A-Fa-f]{2}|\{[0-9]")),
]
_LARK = re.compile(
    r"^[ \t]*+[?!]?_?[A-Za-z]\w*+(?:\[[^\]\n]*+\])?(?:\.[0-9]++)?[ \t]*+:(?![:=])", re.MULTILINE
)
_LLGUIDANCE = re.compile(
    r"%llguidance\b|%json\b|%lark\b|%regex\b|<\[[0-9]|<\|\w|\[(?:lazy|capture)"
)
_ISO = re.compile(r"^[ \t]*+\w++[ \t]*+=[^=\n][^;\n]*+;", re.MULTILINE)


def advice(text: str, notation: str) -> str:
    """Return what a text looks like that is not in a notation; empty if nothing tells.

    Parameters
    ----------
    text : str
        The text.
    notation : {"gbnf", "ebnf", "w3c", "lark", "llguidance"}
        The notation in which it could not be read.

    Examples
    --------
    >>> advice("root ::= 'a' #x41", "gbnf")
    "this looks like W3C's EBNF: try Grammar.w3c"
    >>> advice('start: "a"', "ebnf")
    "this looks like Lark's language: try Grammar(text)"
    """
    found = _looks_like(text, notation)
    return f"this looks like {_ADVICE[found]}" if found not in (None, notation) else ""


def _looks_like(text: str, notation: str) -> str | None:
    if not _DEFINITION.search(text):
        if notation == "llguidance":
            return None  # it is much like Lark's language
        if _LARK.search(text):
            return "llguidance" if _LLGUIDANCE.search(text) else "lark"
        return "iso" if _ISO.search(text) else None
    for name, read in _READERS.items():
        if name != notation and _is_read(text, read):
            return name
    return next((name for name, marks in _MARKS if marks.search(text)), None) or (
        None if notation in _READERS else "gbnf"
    )


def _is_read(text: str, read: Callable[[Source], dict[str, Rule]]) -> bool:
    source = Source(text, "the grammar")
    try:
        rules = read(source)
        if rules:
            needed(source, rules, next(iter(rules)))
    except CfgGuideError:
        return False
    return bool(rules)
