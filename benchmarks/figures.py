"""From the samples of several runs to the figures that are reported.

A step is measured in every run, and in every warm pass of each. Its time is the median of those:
what the machine did meanwhile falls on other steps each time, what the engine does on the same one.
The percentiles are then over the steps. The spread is that of the same figure between runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from measuring import FloatArray, Run


@dataclass(frozen=True)
class Summary:
    """Times of a call over all steps, in microseconds.

    Attributes
    ----------
    p50, p99, largest, mean : float
        Of the steps' times.
    p50_low, p50_high : float
        The smallest and the largest p50 of one run alone.
    """

    p50: float
    p99: float
    largest: float
    mean: float
    p50_low: float
    p50_high: float


def summary(runs: list[Run], samples: Callable[[Run], FloatArray]) -> Summary:
    """Return the figures of those samples, of shape (n_passes, n_steps) and in nanoseconds."""
    each = [step_times(samples(run)) for run in runs]
    steps = step_times(np.concatenate([samples(run) for run in runs]))
    medians = [float(np.median(times)) for times in each]
    return Summary(
        p50=float(np.median(steps)),
        p99=float(np.percentile(steps, 99)),
        largest=float(steps.max()),
        mean=float(steps.mean()),
        p50_low=min(medians),
        p50_high=max(medians),
    )


def step_times(samples: FloatArray) -> FloatArray:
    """Return the time of each step that was reached, in microseconds.

    Parameters
    ----------
    samples : float64, shape (n_samples, n_steps)
        Nanoseconds; NaN where the step was not reached.
    """
    is_reached = ~np.isnan(samples).any(axis=0)
    times: FloatArray = np.median(samples[:, is_reached], axis=0) / 1000
    return times


def cold_masks(run: Run) -> FloatArray:
    """Return the times of masks in the first pass over the documents."""
    return run.fill[:1]


def warm_masks(run: Run) -> FloatArray:
    """Return the times of masks in the later passes."""
    return run.fill[1:]


def cold_cpu(run: Run) -> FloatArray:
    """Return the processor times of masks in the first pass."""
    return run.fill_cpu.reshape(1, -1)


def cold_advances(run: Run) -> FloatArray:
    """Return the times of ``advance`` in the first pass."""
    return run.advance[:1]


def warm_advances(run: Run) -> FloatArray:
    """Return the times of ``advance`` in the later passes."""
    return run.advance[1:]


def median_of(runs: list[Run], figure: Callable[[Run], float]) -> tuple[float, float, float]:
    """Return the median of a figure over the runs, the smallest and the largest."""
    values = [figure(run) for run in runs]
    return float(np.median(values)), min(values), max(values)


#: What two engines are compared by, round by round: name to figure of one run.
RATIOS: dict[str, Callable[[Run], float]] = {
    "vocabulary": lambda run: run.seconds["prepare"] + run.seconds["letter"],
    "grammar to first mask": lambda run: run.seconds["compile"],
    "cold mask, p50": lambda run: float(np.percentile(step_times(cold_masks(run)), 50)),
    "cold mask, mean": lambda run: float(step_times(cold_masks(run)).mean()),
    "cold mask, p99": lambda run: float(np.percentile(step_times(cold_masks(run)), 99)),
    "warm mask, p50": lambda run: float(np.percentile(step_times(warm_masks(run)), 50)),
    "warm mask, mean": lambda run: float(step_times(warm_masks(run)).mean()),
    "warm mask, p99": lambda run: float(np.percentile(step_times(warm_masks(run)), 99)),
    "advance, p50": lambda run: float(np.percentile(step_times(warm_advances(run)), 50)),
    "advance, p99": lambda run: float(np.percentile(step_times(warm_advances(run)), 99)),
}


def ratios(peer: list[Run], reference: list[Run]) -> dict[str, tuple[float, float, float]]:
    """Return how much longer the peer takes than the reference: median, smallest, largest.

    Each round is compared with itself, so that a busy machine weighs on both sides, and over the
    steps that both got to.
    """
    return {name: ratio(peer, reference, figure) for name, figure in RATIOS.items()}


def ratio(
    ones: list[Run], others: list[Run], figure: Callable[[Run], float]
) -> tuple[float, float, float]:
    """Return a figure of one engine divided by that of another: median, smallest, largest."""
    values = []
    for one, other in zip(ones, others, strict=True):
        is_shared = ~(np.isnan(one.fill[0]) | np.isnan(other.fill[0]))
        values.append(figure(_restricted(one, is_shared)) / figure(_restricted(other, is_shared)))
    return float(np.median(values)), min(values), max(values)


def _restricted(run: Run, is_kept: npt.NDArray[np.bool_]) -> Run:
    """Return a run with some of its steps."""
    return replace(run, fill=run.fill[:, is_kept], advance=run.advance[:, is_kept])
