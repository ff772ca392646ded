"""Free Pascal's own parser of sources as a judge of texts, and its compiler as a second one.

``error`` asks fcl-passrc, by ``pascal_judge.pas`` beside this file. It knows no types, so all that
it says is about syntax. It lets some texts pass that the compiler would not, so ``strict_error``
asks the compiler too. The compiler's parser knows types, and its messages of wrong syntax follow
from other errors too: they count only where no other error came before them. Both are of Debian's
packages fp-compiler, fp-units-base and fp-units-fcl.
"""

from __future__ import annotations

import atexit
import functools
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

COMPILER = shutil.which("fpc")
MISSING = "Debian's packages fp-compiler and fp-units-fcl are not installed"

#: What the compiler says of a text whose syntax it does not take.
_SYNTAX = re.compile(r"Syntax error, |Unexpected end of file|Illegal character|exceeds line")
_MESSAGE = re.compile(r"^[^ ]*\(\d+(?:,\d+)?\) (?:Error|Fatal): (.*)$", re.MULTILINE)
_USES = re.compile(r"(?i)\buses\b[^;]*;")


@functools.cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Path(folder.name)


def is_installed() -> bool:
    """Return whether the judge can be built."""
    return COMPILER is not None and _built() is not None


@functools.cache
def _built() -> Path | None:
    program = _folder() / "judge"
    source = Path(__file__).with_suffix(".pas")
    command = [str(COMPILER), "-v0", f"-FE{_folder()}", f"-o{program}", str(source)]
    run = subprocess.run(command, capture_output=True, check=False)
    return program if run.returncode == 0 else None


class _Parser:
    """The parser in a process of its own, which is begun again should it die of a text."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, text: bytes) -> str:
        if self._process is None:
            self._process = subprocess.Popen(
                [str(_built())], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            atexit.register(self._process.kill)
        written, read = self._process.stdin, self._process.stdout
        assert written and read
        written.write(b"%d\n" % len(text) + text)
        written.flush()
        answer = read.readline()
        if not answer:
            self._process.wait()
            self._process = None
            return "the parser died"
        return answer.decode(errors="replace").strip()


_PARSER = _Parser()


def error(text: str) -> str | None:
    """Return why fcl-passrc refuses a text, or "" if it does not."""
    assert is_installed(), MISSING
    return _PARSER.ask(text.encode())


def strict_error(text: str) -> str | None:
    """Return why fcl-passrc or the compiler refuses a text, "" if neither does.

    None means that the compiler could not tell: it gave up after another error.
    """
    return error(text) or compiler_error(text)


def compiler_error(text: str) -> str | None:
    """Return what the compiler says of a text's syntax, "" if nothing, None if it cannot tell."""
    assert COMPILER, MISSING
    path = _folder() / "text.pas"
    path.write_bytes(_USES.sub(lambda used: "\n" * used[0].count("\n"), text).encode())
    command = [COMPILER, "-Mobjfpc", "-Sgic", "-Se9999", "-s", "-Cn", "-v0e", "-l-", str(path)]
    run = subprocess.run(command, capture_output=True, check=False, cwd=_folder())
    said = [each.strip() for each in _MESSAGE.findall(run.stdout.decode(errors="replace"))]
    wrong = next((number for number, each in enumerate(said) if _SYNTAX.match(each)), None)
    if wrong is None:
        return ""
    return said[wrong] if wrong == 0 else None
