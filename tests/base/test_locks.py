"""Python's lock changes hands often as long as somebody wants that."""

from __future__ import annotations

import sys
import threading

import pytest

from cfgguide.base.locks import switching_often


@pytest.fixture
def interval():
    """Have Python's own interval, whatever other tests did."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.005)
    yield 0.005
    sys.setswitchinterval(before)


def test_the_interval_is_short_until_the_last_has_left(interval):
    is_in, may_leave = threading.Event(), threading.Event()

    def stay() -> None:
        with switching_often():
            is_in.set()
            may_leave.wait(60)

    other = threading.Thread(target=stay)
    with switching_often(), switching_often():
        assert sys.getswitchinterval() < interval
        other.start()
        assert is_in.wait(60)
    assert sys.getswitchinterval() < interval
    may_leave.set()
    other.join()
    assert sys.getswitchinterval() == interval


def test_a_shorter_interval_stays_and_an_error_leaves_it_as_it_was(interval):
    sys.setswitchinterval(0.0001)
    shorter = sys.getswitchinterval()

    def fail() -> None:
        with switching_often():
            assert sys.getswitchinterval() == shorter
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert sys.getswitchinterval() == shorter
