"""Who is right about Python: CPython itself.

In: the bytes of a text. Out: whether ``ast.parse`` accepts it, and whether some text that it
accepts starts so. Unlike Lark, CPython has no verdict for the start of a text. But its interactive
prompt can tell a wrong text from an incomplete one, and a backslash at the very end makes any line
incomplete.
"""

from __future__ import annotations

import ast
import contextlib
import keyword
import re
import warnings
from collections.abc import Iterator

_INCOMPLETE = 0x4000  # PyCF_ALLOW_INCOMPLETE_INPUT, with which `codeop` asks
_LAST_WORD = re.compile(r"\w*\Z")
_WORDS = sorted([*keyword.kwlist, *keyword.softkwlist])


class PythonJudge:
    r"""Reads Python files as this interpreter does.

    How a text may go on is tried, with what completes a name, a number, a string or a line. So both
    answers are nearly certain: there may be other ways to go on (`if` and U+E0100 make a name), and
    CPython asks for more after `{} "."`, although nothing can follow.

    Examples
    --------
    >>> judge = PythonJudge()
    >>> texts = (b"de", b"x = ", b"if x:\n  ", b"f(\n", b"x = 'a", b'f"{a', b"x = \xdc", b"x = y n")
    >>> all(judge.is_prefix(text) for text in texts)
    True
    >>> texts = (b"x = 1 1", b"f() = ", b"if x:\n    a\n  b ", b"x = )", b"'a\n", b"print x")
    >>> any(judge.is_prefix(text) for text in texts)
    False
    >>> judge.is_sentence(b"def f(): pass"), judge.is_sentence(b"def f():\n")
    (True, False)
    """

    _TAILS = ("", "\\\n", "\n")
    _STEMS = ("", "x", "0", "=", "=x", " x", "  x", "   x", "    x", "       x", "''", '""')
    _QUOTES = ("'", '"', "'''", '"""')
    _IN_STRINGS = ("", "x", "n", "0", "00", "000", "0000", "0000000", "}", "x}", *_QUOTES)

    def is_prefix(self, data: bytes) -> bool:
        """Return whether some Python file starts with these bytes."""
        texts = list(_completed(data))
        return any(
            _reads(text + ending) for text in texts[:1] for ending in self._endings(text)
        ) or any(_reads(text + ending) for text in texts[1:] for ending in self._TAILS)

    def is_sentence(self, data: bytes) -> bool:
        """Return whether the bytes are a Python file."""
        return _fault(data) is None

    def _endings(self, text: str) -> Iterator[str]:
        yield from self._TAILS
        fault = _fault(text.encode()) or ""
        if "string" in fault or "unicode error" in fault or "value error" in fault:
            for stem in self._IN_STRINGS:
                yield from (stem + quote + "\\\n" for quote in self._QUOTES)
        found = _LAST_WORD.search(text)
        word = found[0] if found else ""
        completed = [each[len(word) :] for each in _WORDS if word and each.startswith(word)]
        for stem in [*self._STEMS, *completed]:
            yield stem + "\\\n"


def _completed(data: bytes) -> Iterator[str]:
    """Yield a text, or if it ends within a character, some texts that complete it."""
    for first in (b"", b"\x80", b"\x90", b"\xa0", b"\xb0", b"\x80\x80", b"\x90\x80", b"\x90\x90"):
        for last in (b"", *(bytes([byte]) for byte in range(0x80, 0xC0))):
            with contextlib.suppress(UnicodeDecodeError):
                yield (data + first + last).decode()
                if not first + last:
                    return


def _reads(text: str) -> bool:
    """Return whether CPython finds nothing wrong with a text, complete or not."""
    fault = _fault(text.encode(), _INCOMPLETE)
    return fault is None or "incomplete input" in fault


def _fault(data: bytes, flags: int = 0) -> str | None:
    """Return what CPython says of a text that it refuses, and None of one that it accepts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(data, "<text>", "exec", ast.PyCF_ONLY_AST | flags)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return str(error)
    return None
