"""What compiling does to the process around it, and what it shows."""

from __future__ import annotations

import gc
import sys
import threading
import time
from typing import Any

import pytest

from cfgguide import Grammar, Vocabulary, compile, compiler
from cfgguide.base import progress
from cfgguide.base.collector import collector_off
from cfgguide.base.limits import Limits
from cfgguide.diagnostics import inspect
from cfgguide.engine.lexer import scanner
from cfgguide.errors import CfgGuideError, LimitError

BYTES = Vocabulary.of_bytes()
ABC = Grammar('start: "a" /b+/ "c"')


@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("text", ['start: "a"', "start: nothing"])
def test_the_garbage_collector_is_afterwards_as_it_was(text, is_enabled):
    (gc.enable if is_enabled else gc.disable)()
    try:
        try:
            compile(Grammar(text), BYTES)
        except CfgGuideError:
            assert "nothing" in text
        assert gc.isenabled() is is_enabled
    finally:
        gc.enable()


def test_the_first_of_two_threads_to_finish_leaves_the_collector_off():
    first_is_in, may_leave = threading.Event(), threading.Event()

    def first() -> None:
        with collector_off():
            first_is_in.set()
            may_leave.wait()

    thread = threading.Thread(target=first)
    thread.start()
    first_is_in.wait()
    with collector_off():
        may_leave.set()
        thread.join()
        assert not gc.isenabled()
    assert gc.isenabled()


# --- Progress ------------------------------------------------------------------------------------


@pytest.fixture
def slow_automata(monkeypatch):
    """Compiling shows what it does after 0.1 s, and building automata takes 0.2 s."""
    build = scanner.build

    def slow(*arguments: Any, **options: Any) -> Any:
        time.sleep(0.2)
        return build(*arguments, **options)

    monkeypatch.setattr(scanner, "build", slow)
    monkeypatch.setattr(progress, "_SHOWN_AFTER", 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize(
    ("options", "is_asked"),
    [({}, "never"), ({"progress": None}, "terminal"), ({"progress": True}, "always")],
)
def test_a_slow_stage_is_named_if_asked_for(
    options, is_asked, is_terminal, slow_automata, capsys, monkeypatch
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    for compiling in (
        lambda: compile(ABC, BYTES, use_cache=False, **options),
        lambda: compiler.compile_recognizer(ABC, use_cache=False, **options),
        lambda: inspect(ABC, **options),
    ):
        compiling()
        captured = capsys.readouterr()
        assert captured.out == ""
        if is_asked == "always" or (is_asked == "terminal" and is_terminal):
            assert "compiling: automata [00:00]" in captured.err
            *_, blank, end = captured.err.split("\r")
            assert (blank.strip(), end) == ("", "")  # the line goes when all is done
        else:
            assert captured.err == ""


def test_nothing_is_shown_of_quick_compiling(capsys):
    compile(ABC, BYTES, use_cache=False, progress=True)
    assert capsys.readouterr().err == ""


def test_the_line_goes_when_compiling_fails(slow_automata, capsys):
    with pytest.raises(LimitError):
        compile(ABC, BYTES, limits=Limits(max_scanner_states=1), use_cache=False, progress=True)
    assert capsys.readouterr().err.endswith("\r")
