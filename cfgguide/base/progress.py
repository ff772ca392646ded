"""Work that is held to limits, and says on a terminal what it is doing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from cfgguide.base.collector import collector_off
from cfgguide.base.limits import Budget, Limits

Result = TypeVar("Result")

_SHOWN_AFTER = 1.0  # seconds


def run_within_limits(
    work: Callable[[Budget], Result],
    limits: Limits | None,
    progress: bool | None,
    cancelled: Callable[[], bool] | None = None,
    *,
    started: float | None = None,
) -> Result:
    """Return what a function that compiles returns; it gets a budget, and is held to it.

    The budget's clock stops at its end. It began to count when the work `started`, by
    `time.thread_time`; by default now.

    Raises
    ------
    LimitError
        If the function takes too long or too much memory, or is cancelled.
    """
    with stages_shown(progress) as show, collector_off():
        budget = Budget(limits, show=show, cancelled=cancelled, started=started)
        found = budget.run(lambda: work(budget))
        budget.stop_clock()
        return found


@contextmanager
def stages_shown(progress: bool | None) -> Iterator[Callable[[str], None] | None]:
    """Yield what a budget calls to show the stages; `progress` is as for :func:`compile`."""
    if progress is False:
        yield None
        return
    from tqdm import tqdm

    with tqdm(
        bar_format="compiling: {desc} [{elapsed}]",
        delay=_SHOWN_AFTER,
        disable=None if progress is None else False,
        leave=False,
    ) as line:

        def show(stage: str) -> None:
            line.set_description_str(stage, refresh=False)
            line.update(0)  # draws the line, if it is time to

        yield show
