"""What the scripts of this folder print: a claim, what was measured, and a verdict.

A verdict rests on a fact that the script has just found out. If the fact is not so, the script says
so and ends with status 1, whether the claim was said to hold or not.
"""

from __future__ import annotations

from typing import Literal

Verdict = Literal["held", "held in part", "did not hold"]


class Claims:
    """The claims of one script, printed as they are judged.

    Parameters
    ----------
    title : str
        What is reproduced.
    """

    def __init__(self, title: str) -> None:
        self._n_failed = 0
        print(f"# {title}\n")

    def judge(
        self, claim: str, measured: str, verdict: Verdict, why: str = "", *, shown: bool
    ) -> None:
        """Print a claim with its verdict.

        Parameters
        ----------
        claim : str
            What is claimed, and where.
        measured : str
            What the script found.
        verdict : str
            Ours, as `docs/paper.md` has it.
        why : str
            Why, unless the claim simply held.
        shown : bool
            Whether what was found supports the verdict.
        """
        self._n_failed += not shown
        said = verdict if shown else f"NOT SHOWN: {verdict}"
        print(f"claim     {claim}")
        print(f"measured  {measured}")
        print(f"verdict   {said}{f': {why}' if why else ''}\n", flush=True)

    def status(self) -> int:
        """Return the exit status: 0 if every verdict was supported."""
        return 1 if self._n_failed else 0
