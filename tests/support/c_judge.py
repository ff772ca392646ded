"""The judges of C11: pycparser 3, from PyPI, and gcc, both on preprocessed texts.

A text is right if both read it. pycparser refuses syntax only, and names declared anew as what
they are not in the same scope. gcc refuses much else, so what it says tells the rest: a parser that
did not find what it expected, a name that is no type, or a token that is none.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

try:
    import pycparser
except ImportError:  # a development package
    pycparser = None  # type: ignore[assignment,unused-ignore]

GCC = shutil.which("gcc")

#: Whether both judges are there.
PROGRAM = GCC if pycparser is not None else None

_COMMAND = ["-std=c11", "-fsyntax-only", "-fmax-errors=0", "-x", "c", "-fpreprocessed", "-"]
_ERROR = re.compile(r"^<stdin>:(?:\d+:)* (?:fatal )?error: (.*)$", re.MULTILINE)

#: What gcc says of texts that it cannot read.
SYNTAX = re.compile(
    r"^expected |^stray |^missing terminating |^unterminated |^unknown type name "
    r"|^invalid suffix |^invalid digit |^exponent has no digits|^too many decimal points"
    r"|^hexadecimal floating constants require|^no digits in hexadecimal"
    r"|used with no following hex digits|universal character|^empty character constant"
    r"|^unsupported non-standard concatenation|without a previous .if."
    r"|^character constant too long|^extended character"
    r"|^converting to execution character set"
)

#: What it says of labels that no statement follows: C23 has them, and gcc takes them in C11 too
#: unless it is pedantic.
_LABEL = re.compile(r"^label at end of compound statement|^a label can only be part of")

#: How names of types are spelled in the grammar.
TYPE_NAME = re.compile(r"(?:FILE|bool|jmp_buf|va_list|[A-Za-z0-9_]+_t)", re.ASCII)

_STRINGS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_WORD = re.compile(r"(?<![A-Za-z0-9_.])[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_KEYWORDS = re.compile(
    r"(?:auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|"
    r"inline|int|long|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|"
    r"union|unsigned|void|volatile|while|_Alignas|_Alignof|_Atomic|_Bool|_Complex|_Generic|"
    r"_Noreturn|_Static_assert|_Thread_local|__func__|__builtin_va_arg)"
)


def error(text: str) -> str | None:
    """Return why a text is refused whose names are types if they are spelled as such.

    It is "" if both judges read it, and None if only something else than syntax is refused.
    """
    names = words(text)
    types = {name for name in names if TYPE_NAME.fullmatch(name)}
    return error_after(declarations(types, names - types), text)


def words(text: str) -> set[str]:
    """Return the words of a text that may be names."""
    found = set(_WORD.findall(_STRINGS.sub(" ", text)))
    return {word for word in found if not _KEYWORDS.fullmatch(word)}


def declarations(types: Iterable[str], others: Iterable[str]) -> str:
    """Return a line that makes some names types and others variables.

    Variables too: where gcc does not know x, it takes x * y for a declaration.
    """
    lines = [f"typedef int {name};" for name in sorted(types)]
    return " ".join((*lines, *(f"int {name};" for name in sorted(others))))


def error_after(declared: str, text: str) -> str | None:
    """Return why a text is refused after a line of declarations: see :func:`error`."""
    parsed = parse(f"{declared}\n{text}")
    return parsed if isinstance(parsed, str) else said_by_gcc(f"{declared}\n{text}")


def parse(text: str) -> Any:
    """Return what pycparser makes of a text, why it refuses it, or None if that is too deep."""
    assert pycparser, "install pycparser"
    try:
        return pycparser.c_parser.CParser().parse(text)
    except pycparser.c_parser.ParseError as refusal:
        return f"pycparser: {refusal}"
    except RecursionError:
        return None


def said_by_gcc(text: str) -> str | None:
    """Return why gcc refuses a text: see :func:`error`."""
    assert GCC, "install gcc"
    said = _errors(text, "-w")
    refused = [each for each in said if SYNTAX.search(each)]
    refused = refused or list(filter(_LABEL.search, _errors(text, "-pedantic-errors")))
    if refused:
        return f"gcc: {refused[0]}"
    return None if said else ""


def _errors(text: str, option: str) -> list[str]:
    command = [str(GCC), option, *_COMMAND]
    run = subprocess.run(
        command, input=text.encode(), capture_output=True, check=False, env={"LC_ALL": "C"}
    )
    said = _ERROR.findall(run.stderr.decode(errors="replace"))
    return said or ["no message"] * (run.returncode != 0)
