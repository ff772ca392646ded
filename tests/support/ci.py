"""CI tries less of what the slow tests try elsewhere: it has half an hour for all of them."""

from __future__ import annotations

import os

IN_CI = "CI" in os.environ


def or_in_ci(number: int, in_ci: int) -> int:
    """Return how many to try: ``number``, or in CI the other one."""
    return in_ci if IN_CI else number
