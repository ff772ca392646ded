"""node as a judge of regular expressions: with the flag u, or where it refuses that, without."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence

PROGRAM = shutil.which("node")
REASON = "node is not installed"
_SCRIPT = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(([pattern, texts]) => {
  for (const flags of ["u", ""]) {
    try { const found = new RegExp(pattern, flags); return [flags, texts.map(t => found.test(t))]; }
    catch (error) {}
  }
  return null;
})));
"""

Case = tuple[str, list[str]]


def judged(cases: Sequence[Case]) -> list[tuple[str, list[bool]] | None]:
    """Return for each pattern its flags, and whether it is found in each text; None if refused."""
    assert PROGRAM, REASON
    said = subprocess.run(
        [PROGRAM, "-e", _SCRIPT],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    return [case and (case[0], case[1]) for case in json.loads(said.stdout)]
