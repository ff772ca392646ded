"""Which notation a grammar is in that is not in the one as which it was given.

In: a text that could not be read, and its supposed notation. Out: what the error adds, such as
"this looks like W3C's EBNF: try Grammar.w3c". A notation is named if the text has marks of it that
the supposed one has not.
"""

from __future__ import annotations

import re

_ADVICE = {
    "gbnf": "llama.cpp's GBNF: try Grammar.gbnf",
    "ebnf": "XGrammar's EBNF: try Grammar.ebnf",
    "w3c": "W3C's EBNF: try Grammar.w3c",
    "lark": "Lark's language: try Grammar(text)",
    "llguidance": "llguidance's dialect of Lark's language: try Grammar.llguidance",
    "json": "JSON: try cfgguide.json_schema",
    "antlr": "ANTLR's language, which is not read here: write it in Lark's, without ; and actions",
    "peg": "a PEG, which is not read here: write it in Lark's language, with : and |",
    "yacc": "Yacc's language, which is not read here: write the rules after %% in Lark's language",
    "iso": "ISO's EBNF, which is not read here: write a rule as name ::= ..., without ; and ,",
}
# No pattern has two parts next to each other that match the same characters.
_DEFINITION = re.compile(r"^[ \t]*+(?:\[[0-9]++\][ \t]*+)?[\w.-]++[ \t]*+::=", re.MULTILINE)
_MARKS = {
    "ebnf": r"\b(?:TagDispatch|TokenTagDispatch|ExcludeToken|Token|Regex)\(|\(=|\[\^\]",
    "w3c": r"(?:::=|[|(])[ \t]*+'|#x[0-9A-Fa-f]|^\[[0-9]++\][ \t]*+\w|/\*",
    "gbnf": r"<\[[0-9]|![ \t]*+<|[ \t]\.(?:\s|\Z)",
}
_BOTH = r"\\[nrtx\"]|\{[0-9]|^[ \t]*+#[^x]"  # marks of GBNF and XGrammar's EBNF
_LARK = re.compile(
    r"^[ \t]*+[?!]?_?[A-Za-z]\w*+(?:\[[^\]\n]*+\])?(?:\.[0-9]++)?[ \t]*+:(?![:=])", re.MULTILINE
)
_LLGUIDANCE = re.compile(
    r"%llguidance\b|%json\b|%lark\b|%regex\b|<\[[0-9]|<\|\w|\[(?:lazy|capture)"
)
#: Of languages that are not read here, by what nothing else has.
_OTHERS = {
    "json": r"\A\s*+\{",
    "antlr": r"^(?:lexer |parser )?grammar \w++[ \t]*+;|->[ \t]*+(?:skip|channel|pushMode)\b",
    "yacc": r"^%%|^%token\b|^%union\b",
    "peg": r"^[ \t]*+\w++[ \t]*+(?:<-|←|=[ \t]*+[_@$!]?\{)|^[ \t]*+\w++[ \t]*+=[^;\n/\"']*+ / ",
}
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
    for name, marks in _OTHERS.items():
        if re.search(marks, text, re.MULTILINE):
            return name
    if not _DEFINITION.search(text):
        if notation == "llguidance":
            return None  # it is much like Lark's language
        if _LARK.search(text):
            return "llguidance" if _LLGUIDANCE.search(text) else "lark"
        return "iso" if _ISO.search(text) else None
    for name, marks in _MARKS.items():
        if name != notation and re.search(marks, text, re.MULTILINE):
            return name
    is_plain = notation in ("gbnf", "ebnf") or not re.search(_BOTH, text, re.MULTILINE)
    return None if is_plain and notation in _MARKS else "gbnf"
