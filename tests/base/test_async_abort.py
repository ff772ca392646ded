"""Work that does not look at its limits is stopped, and nothing else is."""

import _thread
import contextlib
import sys
import threading
import time

import pytest
from torture.interrupts import traced

from cfgguide.base.async_abort import resident_bytes, run_watched
from cfgguide.base.collector import collector_off
from cfgguide.base.limits import Budget, Limits, Steps, check_step, within_work
from cfgguide.errors import LimitError, SchemaError


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def stopped(work, reason=lambda: "because"):
    return run_watched(lambda lock: work(), reason, LimitError)


def test_a_loop_that_nobody_can_ask_is_stopped():
    with pytest.raises(LimitError, match="because"):
        stopped(lambda: spin(60))


def test_without_a_reason_the_result_is_returned():
    assert stopped(lambda: 7, reason=lambda: None) == 7


def test_what_swallows_exceptions_is_stopped_too():
    def stubborn():
        while True:
            try:
                spin(60)
            except Exception:
                continue

    with pytest.raises(LimitError):
        stopped(stubborn)


def test_what_swallows_everything_once_is_stopped_the_next_time():
    def stubborn():
        try:
            spin(60)
        except BaseException:
            spin(60)

    with pytest.raises(LimitError):
        stopped(stubborn)


def test_an_error_of_the_work_is_its_own():
    with pytest.raises(ZeroDivisionError):
        stopped(lambda: 1 / 0, reason=lambda: None)


@pytest.mark.slow
def test_no_exception_comes_after_the_work():
    is_late = threading.Event()
    n_stopped = 0

    def work():
        is_late.set()
        spin(0.0199)  # until about the first question

    for _ in range(200):
        is_late.clear()
        try:
            stopped(work, reason=lambda: "because" if is_late.is_set() else None)
        except LimitError:
            n_stopped += 1
        spin(0.0005)
    assert n_stopped <= 200  # and no other exception has come


def test_no_exception_comes_after_a_last_step_that_takes_long():
    """A thread that asks while the step runs in C is heard at the first bytecode after it."""

    def work():
        spin(0.01)  # the other thread has begun
        del held[0]  # takes longer than until the first question

    for _ in range(3):
        with collector_off():
            held = [[[number] for number in range(1_500_000)]]
        with contextlib.suppress(LimitError):
            stopped(work)
        spin(0.001)


def test_a_lock_keeps_a_part_of_the_work_whole():
    parts = []

    def work(lock):
        with lock:
            parts.append("begun")
            spin(0.1)
            parts.append("ended")
        spin(60)

    with pytest.raises(LimitError):
        run_watched(work, lambda: "because", LimitError)
    assert parts == ["begun", "ended"]


@pytest.mark.parametrize("mode", ["signals", pytest.param("any", marks=pytest.mark.slow)])
def test_work_that_is_interrupted_anywhere_leaves_no_watch(mode):
    before = _thread._count()
    is_late = threading.Event()

    def block():
        stopped(lambda: None, reason=lambda: "because" if is_late.is_set() else None)

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


def test_a_watch_inside_a_watch_lets_the_outer_one_end():
    with pytest.raises(LimitError, match="the outer one"):
        stopped(
            lambda: stopped(lambda: spin(60), reason=lambda: None), reason=lambda: "the outer one"
        )


def test_other_threads_are_left_alone():
    is_over, errors = threading.Event(), []

    def other():
        try:
            while not is_over.is_set():
                pass
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    with pytest.raises(LimitError):
        stopped(lambda: spin(60))
    is_over.set()
    thread.join()
    assert not errors


@pytest.mark.skipif(not resident_bytes(), reason="the system does not tell the memory of a process")
def test_memory_is_bounded():
    budget = Budget(Limits(max_memory=50_000_000))

    def fill():
        kept = []
        while True:
            kept.append(bytearray(100_000))

    with pytest.raises(LimitError, match="max_memory"):
        budget.run(fill)


def test_another_thread_may_cancel():
    wanted = threading.Event()
    threading.Timer(0.05, wanted.set).start()
    budget = Budget(cancelled=wanted.is_set)
    with pytest.raises(LimitError, match="cancelled"):
        budget.run(lambda: spin(60))


def test_bytecode_runs_as_quickly_after_work_that_was_stopped():
    """CPython looks for an exception at every call if one is taken back: see `watch._raise_in`."""
    with pytest.raises(LimitError):
        stopped(lambda: spin(60))
    calls = []
    sys.setprofile(lambda *_: calls.append(None))  # hangs then, in CPython 3.11
    try:
        spin(0.001)
    finally:
        sys.setprofile(None)
    assert calls


# --- What a budget counts ------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="the system does not tell")
def test_a_thread_that_only_waits_spends_none_of_its_seconds():
    few = Limits(max_seconds=0.05)
    Budget(few).run(lambda: time.sleep(0.3))
    with pytest.raises(LimitError, match="max_seconds"):
        Budget(few).run(lambda: spin(60))


def test_a_step_that_is_over_stays_so_for_those_who_go_on():
    steps = Steps(Limits(max_seconds=0.01))

    def swallows() -> int:
        n = 0
        for _ in range(5):
            try:
                check_step()
            except SchemaError:
                n += 1
        return n

    with steps.begun():
        check_step()
        end = time.thread_time() + 0.1  # which others on the machine do not use up
        while time.thread_time() < end:
            pass
        assert swallows() == 5
    check_step()  # outside of a step, never


def test_a_part_of_a_step_that_takes_too_much_work_is_given_up():
    """That of which it is a part goes on, unless it has done its own work, too."""

    def takes(n: int) -> int:
        for _ in range(n):
            check_step()
        return n

    with Steps().begun():
        assert within_work(10, lambda: takes(10), -1) == 10
        assert within_work(10, lambda: takes(11), -1) == -1
        assert within_work(30, lambda: within_work(10, lambda: takes(20), -1) + takes(15), -2) == 14
        assert within_work(10, lambda: within_work(30, lambda: takes(20), -1), -2) == -2
        assert takes(100) == 100
