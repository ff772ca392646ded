"""The tidy forms of bundled grammars: what a model writes by default (docs/defaults.md).

In: the name of a bundled grammar. Out: options of :class:`~cfgguide.grammar.grammar.Grammar` that
leave out what few would wish for: comments, several spaces or blank lines where one will do,
keywords in another case than the usual one, names in quotes over several lines.
"""

from __future__ import annotations

from typing import Any

from cfgguide.automata.numbers import tidy_number

_SQL_TERMINALS = (("QUOTED", r"[^\x00-\x1f]*"), ("SPACE", r"[ \n]+"))


def _sql(*names: str) -> dict[str, Any]:
    """Return the tidy form of a dialect, in whose names any white space beyond ASCII may stand."""
    visible = ((name, r"\S+") for name in names)
    return {"max_ignored": 1, "keywords": "upper", "restrict": (*_SQL_TERMINALS, *visible)}


_PYTHON = (("_BLANK", " "), ("_NEWLINE", r"\n{1,3} *"))
_SPACE = ("SPACE", r" |\n{1,3} {0,40}")
# Terminals with white space of their own have one space at a time, too.
_ONE_SPACE = r"\S+( \S+)*"
_COMMENT = ("COMMENT", None)
_RUST_TERMINALS = (
    *((name, None) for name in ("COMMENT", "OUTER_DOC", "INNER_DOC", "BEGINNING")),
    *((name, None) for name in ("AUTO", "BOX", "DEFAULT", "MACRO", "TILDE", "TRY")),  # unstable
    *((name, _ONE_SPACE) for name in ("BREAK_LABEL", "PUB_IN", "PUB_RESTRICTED")),
    _SPACE,
)
_VERILOG_TERMINALS = (
    *((name, None) for name in ("COMMENT", "DEFINE", "ESCAPED_NAME", "UNDEF")),
    *((name, _ONE_SPACE) for name in ("BASED_NUMBER", "FULL", "PARALLEL")),
    *((name, _ONE_SPACE) for name in ("DEFAULT_NETTYPE", "ELSIF", "IFDEF", "INCLUDE_FILE")),
    *((name, _ONE_SPACE) for name in ("TIMESCALE", "UNCONNECTED_DRIVE")),
    _SPACE,
)
_JAVASCRIPT_TERMINALS = (
    *((name, None) for name in ("COMMENT", "HASHBANG")),
    *((name, r"\n") for name in ("NEWLINE", "_NEWLINE_ARROW", "_NEWLINE_END")),  # or comments
    ("SPACE", r" {1,40}"),
)
_TIDY: dict[str, dict[str, Any]] = {
    "c": {"restrict": (("PRAGMA", None), _SPACE)},
    "go": {
        "restrict": (
            ("_SHORT_COMMENT", None),
            ("SPACE", " "),
            ("_NL", r"\n{1,3}( {1,40}|\t{1,20})?"),
        )
    },
    "java": {
        "restrict": (
            _COMMENT,
            *((name, _ONE_SPACE) for name in ("AT_INTERFACE", "SMALLEST")),
            _SPACE,
        )
    },
    "json": {"restrict": (("NUMBER", tidy_number(is_typed=False)), ("WS", "[ \\n]"))},
    "javascript": {"restrict": _JAVASCRIPT_TERMINALS},
    "lua": {"restrict": (_COMMENT, ("SHEBANG", None), _SPACE)},
    "pascal": {
        "keywords": "lower",
        "restrict": (_COMMENT, ("CONVENTION", "[a-z_]+"), _SPACE),  # a keyword of several words
    },
    "python": {"max_ignored": 1, "restrict": _PYTHON},
    "python312": {"max_ignored": 1, "restrict": _PYTHON},
    "postgresql": _sql("NAME"),
    "rust2021": {"restrict": _RUST_TERMINALS},
    "rust": {"restrict": _RUST_TERMINALS},
    "sql": _sql("NAME", "VARIABLE", "WORD"),
    "sql_select": _sql("sql__NAME", "sql__VARIABLE"),
    "verilog": {"restrict": _VERILOG_TERMINALS},
}


def tidy_form(name: str) -> dict[str, Any]:
    """Return the options of the tidy form of a bundled grammar."""
    return _TIDY[name]
