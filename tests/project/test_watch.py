"""Work that does not look at its limits is stopped, and nothing else is."""

import _thread
import sys
import threading
import time

import pytest
from torture.interrupts import traced

from cfgguide.errors import LimitError
from cfgguide.limits import Budget, Limits
from cfgguide.watch import resident_bytes, watched


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_a_loop_that_nobody_can_ask_is_stopped():
    with pytest.raises(LimitError, match="because"), watched(lambda: "because", LimitError):
        spin(60)


def test_what_swallows_exceptions_is_stopped_too():
    def stubborn():
        while True:
            try:
                spin(60)
            except Exception:
                continue

    with pytest.raises(LimitError), watched(lambda: "because", LimitError):
        stubborn()


def test_what_swallows_everything_once_is_stopped_the_next_time():
    def stubborn():
        try:
            spin(60)
        except BaseException:
            spin(60)

    with pytest.raises(LimitError), watched(lambda: "because", LimitError):
        stubborn()


def test_an_error_of_the_block_is_its_own():
    with pytest.raises(ZeroDivisionError), watched(lambda: None, LimitError):
        raise ZeroDivisionError


@pytest.mark.slow
def test_no_exception_comes_after_the_block():
    is_late = threading.Event()
    n_stopped = 0
    for _ in range(200):
        is_late.clear()
        try:
            with watched(lambda: "because" if is_late.is_set() else None, LimitError):
                is_late.set()
                spin(0.0199)  # until about the first question
        except LimitError:
            n_stopped += 1
        spin(0.0005)
    assert n_stopped <= 200  # and no other exception has come


def test_a_lock_keeps_a_part_of_the_block_whole():
    parts = []

    def work():
        with watched(lambda: "because", LimitError) as lock:
            with lock:
                parts.append("begun")
                spin(0.1)
                parts.append("ended")
            spin(60)

    with pytest.raises(LimitError):
        work()
    assert parts == ["begun", "ended"]


def test_a_watch_ends_with_its_frame():
    before = _thread._count()

    def interrupted():
        block = watched(lambda: None, LimitError)
        block.__enter__()  # and never left

    interrupted()
    end = time.monotonic() + 60
    while _thread._count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert _thread._count() == before


@pytest.mark.parametrize("mode", ["signals", pytest.param("any", marks=pytest.mark.slow)])
def test_a_block_that_is_interrupted_anywhere_leaves_no_watch(mode):
    before = _thread._count()
    is_late = threading.Event()

    def block():
        with watched(lambda: "because" if is_late.is_set() else None, LimitError):
            pass

    _, n_instructions = traced(block, sys.maxsize, mode=mode)
    for at in range(1, n_instructions + 1):
        is_late.clear()
        traced(block, at, mode=mode)
        is_late.set()
        spin(0.05)  # a watch that were left would raise its exception here
        end = time.monotonic() + 60
        while _thread._count() > before and time.monotonic() < end:
            time.sleep(0.01)
        assert _thread._count() <= before, at
    assert n_instructions > 10


def test_a_block_inside_a_block_lets_the_outer_one_end():
    def work():
        with (
            watched(lambda: "the outer one", LimitError),
            watched(lambda: None, LimitError),
        ):
            spin(60)

    with pytest.raises(LimitError, match="the outer one"):
        work()


def test_other_threads_are_left_alone():
    is_over, stopped = threading.Event(), []

    def other():
        try:
            while not is_over.is_set():
                pass
        except BaseException as error:
            stopped.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    with pytest.raises(LimitError), watched(lambda: "because", LimitError):
        spin(60)
    is_over.set()
    thread.join()
    assert not stopped


@pytest.mark.skipif(not resident_bytes(), reason="the system does not tell the memory of a process")
def test_memory_is_bounded():
    budget = Budget(Limits(max_memory=50_000_000))

    def fill():
        kept = []
        with budget.watched():
            while True:
                kept.append(bytearray(100_000))

    with pytest.raises(LimitError, match="max_memory"):
        fill()


def test_another_thread_may_cancel():
    wanted = threading.Event()
    threading.Timer(0.05, wanted.set).start()
    budget = Budget(cancelled=wanted.is_set)
    with pytest.raises(LimitError, match="cancelled"), budget.watched():
        spin(60)


def test_bytecode_runs_as_quickly_after_a_block_that_was_stopped():
    """CPython looks for an exception at every call if one is taken back: see `watch._raise_in`."""
    with pytest.raises(LimitError), watched(lambda: "because", LimitError):
        spin(60)
    calls = []
    sys.setprofile(lambda *_: calls.append(None))  # hangs then, in CPython 3.11
    try:
        spin(0.001)
    finally:
        sys.setprofile(None)
    assert calls
