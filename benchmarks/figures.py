"""From the samples of several runs to the figures that are reported.

A step is measured in every run, and in every warm pass of each. Its time is the median of those:
what the machine did meanwhile falls on other steps each time, what the engine does on the same one.
The percentiles are then over the steps. The spread is that of the same figure between runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
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
    "vocabulary": lambda run: run.seconds["prepare"],
    "grammar to first mask": lambda run: run.seconds["compile"],
    "grammar to first mask, again": lambda run: run.seconds["compile again"],
    "cold mask, p50": lambda run: float(np.percentile(step_times(cold_masks(run)), 50)),
    "cold mask, mean": lambda run: float(step_times(cold_masks(run)).mean()),
    "cold mask, p99": lambda run: float(np.percentile(step_times(cold_masks(run)), 99)),
    "warm mask, p50": lambda run: float(np.percentile(step_times(warm_masks(run)), 50)),
    "warm mask, mean": lambda run: float(step_times(warm_masks(run)).mean()),
    "warm mask, p99": lambda run: float(np.percentile(step_times(warm_masks(run)), 99)),
    "advance, p50": lambda run: float(np.percentile(step_times(warm_advances(run)), 50)),
}


def ratios(peer: list[Run], reference: list[Run]) -> dict[str, tuple[float, float, float]]:
    """Return how much longer the peer takes than the reference: median, smallest, largest.

    Each round is compared with itself, so that a busy machine weighs on both sides.
    """
    found = {}
    for name, figure in RATIOS.items():
        values = [
            figure(theirs) / figure(ours) for theirs, ours in zip(peer, reference, strict=True)
        ]
        found[name] = (float(np.median(values)), min(values), max(values))
    return found
