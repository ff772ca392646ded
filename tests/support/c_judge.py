"""The judges of C11: pycparser 3, from PyPI, and gcc, both on preprocessed texts.

A text is right if both read it. pycparser refuses syntax only, and names declared anew as what
they are not in the same scope. gcc refuses much else, so what it says tells the rest: a parser that
did not find what it expected, a name that is no type, or a token that is none.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

try:
    import pycparser
except ImportError:  # a development package
    pycparser = None  # type: ignore[assignment,unused-ignore]

GCC = shutil.which("gcc")

#: Whether both judges are there.
IS_INSTALLED = GCC is not None and pycparser is not None

_COMMAND = ["-std=c11", "-fsyntax-only", "-w", "-fmax-errors=0", "-x", "c", "-fpreprocessed", "-"]
_ERROR = re.compile(r"^<stdin>:(?:\d+:)* (?:fatal )?error: (.*)$", re.MULTILINE)

#: What gcc says of texts that it cannot read.
SYNTAX = re.compile(
    r"^expected |^stray |^missing terminating |^unterminated |^unknown type name "
    r"|^invalid suffix |^invalid digit |^exponent has no digits|^too many decimal points"
    r"|^hexadecimal floating constants require|^no digits in hexadecimal"
    r"|used with no following hex digits|universal character|^empty character constant"
    r"|^unsupported non-standard concatenation|without a previous .if.|^a label can only be part of"
    r"|^ISO C forbids|^character constant too long|^converting to execution character set"
    r"|^extended character|^_Atomic-qualified|^cannot use|must be (?:simple|bare)|^wide string literal"
)

#: How names of types are spelled in the grammar.
TYPE_NAME = re.compile(r"\b(?:FILE|bool|jmp_buf|va_list|[A-Za-z_][A-Za-z0-9_]*_t)\b", re.ASCII)


def error(text: str) -> str | None:
    """Return why a text is refused after typedefs of its names that are spelled as types are.

    It is "" if both judges read it, and None if only something else than syntax is refused.
    """
    return error_after(typedefs(TYPE_NAME.findall(text)), text)


def typedefs(names: Any) -> str:
    """Return a line that makes names types."""
    return " ".join(f"typedef int {name};" for name in sorted(set(names)))


def error_after(prelude: str, text: str) -> str | None:
    """Return why a text is refused after a line of others: see :func:`error`."""
    assert GCC and pycparser, "install gcc and pycparser"
    text = f"{prelude}\n{text}"
    try:
        pycparser.c_parser.CParser().parse(text)
    except pycparser.c_parser.ParseError as refusal:
        return f"pycparser: {refusal}"
    except RecursionError:
        return None
    run = subprocess.run(
        [GCC, *_COMMAND], input=text.encode(), capture_output=True, check=False, env={"LC_ALL": "C"}
    )
    said = _ERROR.findall(run.stderr.decode(errors="replace"))
    refused = [each for each in said if SYNTAX.search(each)]
    if refused:
        return f"gcc: {refused[0]}"
    return None if said or run.returncode else ""
