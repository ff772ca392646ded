"""The parser of javac, and nothing behind it, as a judge of texts (openjdk-17-jdk-headless).

One process of Java is asked of all texts, over pipes. javac's parser checks a little that the
specification does not have in its syntax; what of it a grammar cannot say is told from the rest.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import struct
import subprocess
from pathlib import Path

PROGRAM = shutil.which("java") if shutil.which("javac") else None

#: The file around a method.
AROUND_FUNCTION = "class A {{ {} }}"

#: Errors of the parser that are none of the specification's syntax: a constructor that is not
#: named as its class, and nesting that is too deep for the stack of Java's machine.
NO_SYNTAX = ("compiler.err.invalid.meth.decl.ret.type.req", "crash java.lang.StackOverflowError")

#: The same of an enum, whose constructor javac takes for a constant then.
ENUM_CONSTRUCTOR = "compiler.err.enum.constant.not.expected.constructor"


def error(text: str) -> str | None:
    """Return why javac refuses a text, "" if it does not, None if it refuses no syntax of it."""
    process = _process()
    assert process.stdin
    assert process.stdout
    data = text.encode()
    process.stdin.write(struct.pack(">i", len(data)) + data)
    process.stdin.flush()
    (length,) = struct.unpack(">i", process.stdout.read(4))
    said = process.stdout.read(length).decode().strip().splitlines()
    if not said:
        return ""
    if said[0].startswith(ENUM_CONSTRUCTOR):  # what javac says after it is of no use
        return None
    grave = [line for line in said if not line.startswith(NO_SYNTAX)]
    return grave[0] if grave else None


@functools.cache
def _process() -> subprocess.Popen[bytes]:
    assert PROGRAM, "install openjdk-17-jdk-headless"
    process = subprocess.Popen(
        [PROGRAM, "-Xss16m", str(Path(__file__).parent / "JavaJudge.java")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(process.kill)
    return process
