"""The parser of Go as a judge of texts: go/parser, of Debian's package golang-go.

A program in Go asks it (``go_judge.go``). It is built at the first question, into a temporary
folder, and answers until this process ends.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import IO

PROGRAM = shutil.which("go")

#: A file that has a function.
AROUND_FUNCTION = "package p\n\n{}"


def error(text: str) -> str:
    """Return why Go's parser refuses a text, or "" if it does not."""
    said = text.encode()
    asked, answered = _pipes(os.getpid())
    asked.write(b"%d\n%b" % (len(said), said))
    asked.flush()
    return answered.read(int(answered.readline())).decode(errors="replace")


@functools.cache
def _pipes(process: int) -> tuple[IO[bytes], IO[bytes]]:
    """Return where a process writes texts and reads answers: it has a judge of its own."""
    assert PROGRAM, "install golang-go"
    folder = tempfile.TemporaryDirectory()
    program = Path(folder.name) / "judge"
    subprocess.run(
        [PROGRAM, "build", "-o", program, Path(__file__).with_suffix(".go")],
        env={**os.environ, "GOCACHE": f"{folder.name}/cache", "GO111MODULE": "off"},
        check=True,
    )
    judge = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    folder.cleanup()
    assert judge.stdin
    assert judge.stdout
    return judge.stdin, judge.stdout
