"""The words of Python that a monitor of names follows, as terminals of ``grammars/python.lark``."""

from __future__ import annotations

WORDS = {
    "LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "LBRACE": "{", "RBRACE": "}",
    "COMMA": ",", "COLON": ":", "EQUAL": "=", "DOT": ".", "SEMICOLON": ";", "STAR": "*",
    "__ANON_0": "...", "__ANON_1": ":=", "__ANON_2": "**", "__ANON_3": "->",
    "FIELD": "{", "CONVERSION_END": "}", "SPEC_END": "}", "CONVERSION_COLON": ":",
}  # fmt: skip
ATOMS = (
    *("DECIMAL", "REAL", "IMAGINARY", "NONE", "TRUE", "FALSE", "...", "UNDERSCORE"),
    *("DQ_EMPTY", "SQ_EMPTY"),
)
OPERATORS = (
    *("AMPERSAND", "AND", "AT", "CIRCUMFLEX", "ELSE", "IS", "LESSTHAN", "MINUS", "MORETHAN"),
    *("NOT", "OR", "PERCENT", "PLUS", "SLASH", "TILDE", "VBAR", "FROM", "->", "FINALLY"),
    *(f"__ANON_{number}" for number in range(4, 11)),
)
STRINGS = tuple(
    f"{prefix}{quotes}_START"
    for prefix in ("", "RAW_", "F_", "RF_", "B_", "RB_", "IN_", "IN_B_", "IN_F_")
    for quotes in ("DQ", "SQ", "TDQ", "TSQ")
)
STRING_ENDS = ("DQ_END", "SQ_END", "TDQ_END", "TSQ_END")
LINES = ("_NEWLINE", "_INDENT", "_DEDENT")
KEYWORDS = {
    "IF": "if", "ELIF": "if", "WHILE": "if", "AT": "decorator", "FOR": "for", "WITH": "with",
    "DEF": "def", "CLASS": "class", "IMPORT": "import", "FROM": "from", "GLOBAL": "global",
    "NONLOCAL": "nonlocal", "DEL": "del", "RETURN": "value", "RAISE": "value", "ASSERT": "value",
    "TRY": "try", "ELSE": "if", "FINALLY": "if", "EXCEPT": "except", "ASYNC": "async",
    "YIELD": "value", "PASS": "value", "BREAK": "value", "CONTINUE": "value",
}  # fmt: skip
BLOCKS = ("if", "for", "with", "try", "except")
NAMES = ("NAME", "CAPTURE")
LAMBDAS = frozenset(
    f"lambdef{{{literals}}}"
    for literals in (
        *("literal", "_dq_literal", "_sq_literal", "_tdq_literal", "_tsq_literal"),
        "_both_literal",
    )
)
NEVER_BOUND = frozenset({"__debug__"})
