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

PROGRAM = COMPILER = shutil.which("fpc")
#: The file around a routine.
AROUND_FUNCTION = "program p;\n{}\nbegin\nend.\n"
MISSING = "Debian's packages fp-compiler and fp-units-fcl are not installed"

#: What the compiler says of a text whose syntax it does not take; but of a record's `case a of` it
#: asks for a colon if `a` is no type that it knows.
_SYNTAX = re.compile(
    r'Syntax error, (?!":" expected but "OF" found)|Unexpected end of file|Illegal character'
    r"|exceeds line"
)
_MESSAGE = re.compile(r"^[^ ]*\(\d+(?:,\d+)?\) (?:Error|Fatal): (.*)$", re.MULTILINE)
#: What it says of a unit whose file is called otherwise, and when it gives up.
_NO_ERRORS = ("Illegal unit name", "There were ")
_PASSED_OVER = r"\{(?:[^{}]|\{[^{}]*\})*\}|\(\*.*?\*\)|//[^\n]*|'[^'\n]*'"
_UNIT = re.compile(rf"(?is)\ufeff?(?:\s|{_PASSED_OVER})*unit\s+(\w[\w.]{{0,99}})\b")
_USES = re.compile(rf"(?is){_PASSED_OVER}|&\w+|\buses\b(?:{_PASSED_OVER}|[^;])*;")

#: Routines that the compiler knows, and whose names it takes for nothing else unless declared. One
#: dot before such a name makes it a member, two dots do not.
_KNOWN_ROUTINES = re.compile(
    r"(?i)(?:(?<!\.)|(?<=\.\.))\b(?:abs|addr|arctan|assert|assigned|bitsizeof|concat|copy|cos|dec|default|delete"
    r"|dispose|exclude|exp|fail|finalize|freemem|get_caller_addr|get_caller_frame|get_frame|getmem"
    r"|high|hi|inc|include|initialize|insert|length|ln|lo|low|new|odd|ofs|ord|pi|pred|ptr|readln"
    r"|readstr|round|seg|setlength|settextbuf|sin|sizeof|slice|sqr|sqrt|succ|swap"
    r"|trunc|typeinfo|typeof|val|break|continue|exit|unaligned|aligned)\b(?<!; default(?=;))"
    # An accessor, where a name follows.
    r"|(?:(?<!\.)|(?<=\.\.))\b(?:str|writeln|writestr|(?:read|write)(?!\s+(?!(?:and|as|at|div|do|downto|else|end"
    r"|except|finally|in|is|mod|of|or|shl|shr|then|to|until|xor)\b)[a-z_&]))\b(?!\s*\()"
)


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
        assert written is not None
        assert read is not None
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
    """Return why fcl-passrc refuses a text, "" if it does not, None if not for its syntax."""
    assert is_installed(), MISSING
    said = _PARSER.ask(text.encode())
    return None if "Duplicate identifier" in said else said


def strict_error(text: str) -> str | None:
    """Return why fcl-passrc or the compiler refuses a text, "" if neither does.

    None means that the compiler could not tell: it gave up after another error.
    """
    said = error(text)
    return compiler_error(text) if said == "" else said


def compiler_error(text: str) -> str | None:
    """Return what the compiler says of a text's syntax, "" if nothing, None if it cannot tell."""
    said = compiler_messages(text)
    wrong = next((number for number, each in enumerate(said) if _SYNTAX.match(each)), None)
    if wrong is None:
        return ""
    return said[wrong] if wrong == 0 else None


def compiler_messages(text: str) -> list[str]:
    """Return the errors that the compiler finds, in their order."""
    assert COMPILER, MISSING
    unit = _UNIT.match(text)  # whose file has its name, or the compiler reads its interface only
    path = _folder() / f"{unit[1].lower() if unit else 'text'}.pas"
    given = _USES.sub(_without_units, text)
    path.write_bytes(_KNOWN_ROUTINES.sub("a_name", given).encode())
    command = [COMPILER, "-Mobjfpc", "-Sgic", "-Se9999", "-s", "-Cn", "-v0e", "-l-", str(path)]
    try:
        run = subprocess.run(command, capture_output=True, check=False, cwd=_folder())
    finally:
        path.unlink()
    said = _MESSAGE.findall(run.stdout.decode(errors="replace"))
    return [each.strip() for each in said if not each.startswith(_NO_ERRORS)]


def _without_units(piece: re.Match[str]) -> str:
    """Leave a `uses` clause out: the compiler gives up where there is no such unit."""
    return " " if piece[0][:4].lower() == "uses" else piece[0]
