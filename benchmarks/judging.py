"""Who is right where engines disagree: a slow and separate reading of the language itself.

In: the bytes of a text. Out: whether a sentence can follow them. JSON is read from its definition
(RFC 8259), not from any engine's grammar; Python is what CPython reads (:mod:`judging_python`), and
the other languages are what Lark says. Used only on tokens that the engines disagree about.
"""

from __future__ import annotations

import codecs
import re
from typing import Any, Protocol

import lark.lexer
from engines import lark_grammar, lark_options
from judging_python import PythonJudge
from lark import Lark
from lark.exceptions import UnexpectedInput
from lark.lexer import PatternStr

_CHARACTER = r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))'
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_LEXEME = re.compile(
    rf'(?P<space>[ \t\n\r]+)|(?P<string>"{_CHARACTER}*")|(?P<scalar>{_NUMBER}|true|false|null)'
    r"|(?P<mark>[\[\]{}:,])"
)
_STARTED = re.compile(  # a lexeme that needs more characters
    rf'(?P<string>"{_CHARACTER}*(?:\\(?:u[0-9A-Fa-f]{{0,3}})?)?)'
    r"|(?P<scalar>-|-?(?:0|[1-9][0-9]*)(?:\.|(?:\.[0-9]+)?[eE][-+]?)"
    r"|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?)"
)


class Judge(Protocol):
    """Reads a language."""

    def is_prefix(self, data: bytes) -> bool:
        """Return whether some sentence starts with these bytes."""

    def is_sentence(self, data: bytes) -> bool:
        """Return whether the bytes are a sentence."""


class JsonJudge:
    r"""Reads JSON texts.

    Examples
    --------
    >>> judge = JsonJudge()
    >>> [judge.is_prefix(data) for data in (b'{"a":-', b'[1,]', b'[01', b'"\xc3')]
    [True, False, False, True]
    >>> judge.is_sentence(b'[1, {"a": null}] '), judge.is_sentence(b'[1')
    (True, False)
    """

    def is_prefix(self, data: bytes) -> bool:
        """Return whether some JSON text starts with these bytes."""
        return self._read(data) is not None

    def is_sentence(self, data: bytes) -> bool:
        """Return whether the bytes are a JSON text."""
        return self._read(data) == "end"

    def _read(self, data: bytes) -> str | None:
        """Return what is expected next at the end of the bytes; None if they are no prefix."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            text = decoder.decode(data)
        except UnicodeDecodeError:
            return None
        cut = decoder.getstate()[0]  # the first bytes of a character
        if cut[:1] == b"\xed" and cut[1:2] >= b"\xa0":  # a surrogate: Python tells later
            return None
        position, expected, opened = 0, "value", ""
        while position < len(text):
            if started := _STARTED.fullmatch(text, position):
                is_string = started.lastgroup == "string"
                fits = _after(expected, started.lastgroup or "", "", opened) is not None
                return "more" if fits and (is_string or not cut) else None
            found = _LEXEME.match(text, position)
            after = found and _after(expected, found.lastgroup or "", found[0], opened)
            if not found or not after:
                return None
            expected, opened = after
            position = found.end()
        return None if cut else expected


def _after(expected: str, kind: str, lexeme: str, opened: str) -> tuple[str, str] | None:
    """Return what is expected after a lexeme and the brackets then open; None if it is wrong."""
    if kind == "space":
        return expected, opened
    if kind == "string" and expected in ("key", "key or }"):
        return ":", opened
    if kind in ("string", "scalar") and expected in ("value", "value or ]"):
        return _after_value(opened)
    if lexeme in ("{", "[") and expected in ("value", "value or ]"):
        return ("key or }" if lexeme == "{" else "value or ]"), opened + lexeme
    if lexeme == ":" and expected == ":":
        return "value", opened
    if lexeme == "," and expected == ", or close":
        return ("key" if opened[-1] == "{" else "value"), opened
    is_close = lexeme == "}" and opened[-1:] == "{" and expected in ("key or }", ", or close")
    is_close |= lexeme == "]" and opened[-1:] == "[" and expected in ("value or ]", ", or close")
    return _after_value(opened[:-1]) if is_close else None


def _after_value(opened: str) -> tuple[str, str]:
    return (", or close" if opened else "end"), opened


class LarkJudge:
    r"""Reads what a Lark grammar says that ignores whitespace, or has just one terminal.

    Whether a sentence can follow is asked of LALR grammars only: Earley's parser takes minutes.
    Lark's LALR parser shifts a token only if some sentence goes on with it. So a text can be
    continued if, with its last lexeme completed and whitespace after it, Lark reads all of it
    without an error. How lexemes may be completed is tried: with what is left of a literal or of a
    keyword, as `(?ai:select)` writes them, and with a few endings for names, numbers and strings.

    Examples
    --------
    >>> judge = LarkJudge("start: \"do\" /'[^']*'/ \n %ignore \" \"")
    >>> [judge.is_prefix(data) for data in (b"d", b"do 'x", b"do do", b"do '\xc3")]
    [True, True, False, True]
    >>> judge.is_sentence(b"do 'x' "), judge.is_sentence(b"do")
    (True, False)
    """

    _ENDINGS = (
        *("", "x", "0", "1.1.1", ".1.1", ".1", "=", "|", ">", "-"),
        *("'", '"', "n'", 'n"', "x'", 'x"', "]", "`", "*/"),
    )
    _CUT = ("", "\x80", "\x80\x80", "\xa0\x80", "\x90\x80\x80")  # what completes a character

    def __init__(self, grammar: str, **options: Any) -> None:
        lark.lexer.has_interegular = False  # its search for overlaps takes minutes for SQL
        options = {"parser": "lalr", "lexer": "contextual", **options}
        if options["parser"] == "earley":
            options["ambiguity"] = "forest"  # whether there is a reading, not which is the best
        self._lark = Lark(grammar, **options)
        self._whitespace = " " if self._lark.ignore_tokens else ""
        self._literals = [
            terminal.pattern.value
            for terminal in self._lark.terminals
            if isinstance(terminal.pattern, PatternStr)
        ]
        self._keywords = [
            word
            for terminal in self._lark.terminals
            for words in re.findall(r"\(\?ai:([a-z_|]+)\)", terminal.pattern.value)
            for word in words.split("|")
        ]

    def is_prefix(self, data: bytes) -> bool:
        """Return whether some sentence starts with these bytes."""
        for cut in self._CUT:
            try:
                text = (data + cut.encode("latin-1")).decode()
            except UnicodeDecodeError:
                continue
            return any(
                self._reads(text + ending + self._whitespace) for ending in self._endings(text)
            )
        return False

    def is_sentence(self, data: bytes) -> bool:
        """Return whether the bytes are a sentence."""
        try:
            self._lark.parse(data.decode())
        except (UnexpectedInput, UnicodeDecodeError):
            return False
        return True

    def _endings(self, text: str) -> list[str]:
        begun = {
            literal[length:]
            for literal in self._literals
            for length in range(1, len(literal))
            if text.endswith(literal[:length])
        }
        begun |= {
            keyword[length:]
            for keyword in self._keywords
            for length in range(1, len(keyword))
            if text.lower().endswith(keyword[:length])
        }
        return [*self._ENDINGS, *sorted(begun)]

    def _reads(self, text: str) -> bool:
        """Return whether Lark reads the text without an error, complete or not."""
        try:
            self._lark.parse_interactive(text).exhaust_lexer()
        except UnexpectedInput:
            return False
        return True


def judge_of(grammar: str) -> Judge:
    """Return what decides about a language."""
    if grammar == "json":
        return JsonJudge()
    if grammar == "python":
        return PythonJudge()
    return LarkJudge(lark_grammar(grammar), **lark_options(grammar))
