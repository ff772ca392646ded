"""slang as a judge of Verilog-2005: the errors of its parser, twice.

It reads a text as SystemVerilog, and once more with the keywords of Verilog-2005; both have to
succeed. It is pyslang on PyPI. A file that is included is not there, and a generate loop may set
another name than the one it began with: neither is an error of syntax.
"""

from __future__ import annotations

import re

try:
    import pyslang
    from pyslang.parsing import LexerOptions, ParserOptions, PreprocessorOptions
    from pyslang.syntax import SyntaxTree
except ImportError:
    PROGRAM = None
else:
    PROGRAM = pyslang.__name__

_CONDITION = re.compile(r"`(?:ifdef|ifndef|elsif)[ \t]+(\w+)")
_NO_SYNTAX = {"CouldNotOpenIncludeFile", "ExpectedGenvarIterVar"}


def error(text: str) -> str | None:
    """Return why slang refuses a text, "" if it does not."""
    return _error(text, [])


def strict_error(text: str) -> str | None:
    """Return why slang refuses a text, with none or all of what it asks for by `ifdef defined."""
    names = sorted(set(_CONDITION.findall(text)))
    return error(text) or (_error(text, names) if names else "")


def _error(text: str, defined: list[str]) -> str:
    for version in (pyslang.LanguageVersion.v1800_2017, pyslang.LanguageVersion.v1364_2005):
        options = pyslang.Bag()
        options.lexerOptions = LexerOptions()
        options.preprocessorOptions = PreprocessorOptions()
        options.parserOptions = ParserOptions()
        for each in (options.lexerOptions, options.preprocessorOptions, options.parserOptions):
            each.languageVersion = version
        options.preprocessorOptions.predefines = defined
        tree = SyntaxTree.fromText(text, pyslang.SourceManager(), options=options)
        for diagnostic in tree.diagnostics:
            said = str(diagnostic.code)[len("DiagCode(") : -1]
            if diagnostic.isError() and said not in _NO_SYNTAX:
                return f"{said} at {diagnostic.location.offset}"
    return ""
