"""``cfgguide doctor``: whether all is well with this installation.

In: the parsed arguments. Out: an exit status, and a line for each part. They can be pasted into an
issue: the home folder is shown as ``~``, and the user's name not at all.
"""

from __future__ import annotations

import argparse
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cfgguide.studio.cli.arguments import add_tokenizer
from cfgguide.studio.cli.output import bad, doubtful, good
from cfgguide.studio.cli.parsing import NO, YES, Commands

if TYPE_CHECKING:
    from cfgguide.studio.cli.health import Check

_WIDTH = 36  # of the names


def add_doctor(commands: Commands) -> None:
    """Add the command ``doctor``."""
    command = commands.add(
        "doctor",
        _doctor,
        about="check this installation, to paste into an issue",
        examples=(("doctor", ""), ("doctor --tokenizer DIR", "is its tokenizer read rightly?")),
        no="there is an error",
    )
    add_tokenizer(command, "check this tokenizer too: a folder, or a tokenizer.json")


def _doctor(options: argparse.Namespace) -> int:
    from cfgguide.studio.cli.health import Check, Status

    output = options.output
    marks = {
        Status.OK: good("ok     "),
        Status.WARNING: doubtful("warning"),
        Status.ERROR: bad("error  "),
    }
    found: list[Check] = []
    for check in _checks(options):
        found.append(
            Check(
                anonymous(check.name), check.status, anonymous(check.seen), anonymous(check.advice)
            )
        )
        name, status, seen, advice = found[-1]
        output.say(marks[status], f" {name:<{_WIDTH}} {seen}")
        if advice:
            output.say(f"        {'':<{_WIDTH}} -> {advice}")
    worst = max((check.status for check in found), key=list(Status).index)
    counts = {status: sum(each.status is status for each in found) for status in Status}
    n_errors, n_warnings = counts[Status.ERROR], counts[Status.WARNING]
    output.say(f"{_counted(n_errors, 'error')}, {_counted(n_warnings, 'warning')}")
    output.document({"status": worst, "checks": found})
    return NO if worst is Status.ERROR else YES


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _checks(options: argparse.Namespace) -> Iterator[Check]:
    from cfgguide.studio.cli.health import PARTS, looked_at, tokenizer_checks

    yield from looked_at(*PARTS)
    if options.tokenizer is not None:
        with options.output.working("checking the tokenizer"):
            found = list(looked_at(functools.partial(tokenizer_checks, options.tokenizer)))
        yield from found


def anonymous(text: str) -> str:
    """Return a text in which the home folder is ``~`` and no folder has the user's name."""
    import getpass

    try:
        home, user = Path.home(), getpass.getuser()
    except (RuntimeError, KeyError, OSError):  # there is none
        return text
    for path in {str(home), str(home.resolve())} - {"/"}:
        text = re.sub(rf"{re.escape(path)}(?![\w.-])", "~", text)
    return re.sub(rf"(?<=[/\\]){re.escape(user)}(?![\w.-])", "USER", text)
