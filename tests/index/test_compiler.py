"""What compiling does to the process around it."""

from __future__ import annotations

import gc
import threading

import pytest

from cfgguide import Grammar, Vocabulary, compile
from cfgguide.errors import CfgGuideError
from cfgguide.index import compiler

BYTES = Vocabulary.of_bytes()


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
        with compiler._collector.off():
            first_is_in.set()
            may_leave.wait()

    thread = threading.Thread(target=first)
    thread.start()
    first_is_in.wait()
    with compiler._collector.off():
        may_leave.set()
        thread.join()
        assert not gc.isenabled()
    assert gc.isenabled()
