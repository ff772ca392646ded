"""Automata of patterns that come with the package, since some take a tenth of a second to make.

In: a pattern. Out: its language, if the build has made it: ``tools/compile_grammars.py`` writes an
entry for each format and for tidy numbers (:mod:`cfgguide.base.cache`), with these arrays. ::

    cuts        int32, shape (n_intervals,)
    rows        int16, shape (n_states, n_intervals)
    accepting   int16, shape (n_accepting,)

Without them, automata are made when they are needed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from cfgguide.automata.language import Language
from cfgguide.base import archive
from cfgguide.base.cache import packaged

KIND = "format"
_START = 1  # of every minimal automaton that accepts something


def language_of(pattern: str) -> Language | None:
    """Return the language of a pattern; None if the package has none."""
    content = packaged(KIND, _digest(pattern))
    if content is None:
        return None
    arrays, _ = content
    rows = tuple(map(tuple, arrays["rows"].tolist()))
    accepting = frozenset(arrays["accepting"].tolist())
    return Language(tuple(arrays["cuts"].tolist()), rows, _START, accepting)


def path(folder: Path, pattern: str) -> Path:
    """Return where the language of a pattern is in a folder of the package."""
    return folder / f"{KIND}-{_digest(pattern)}"


def write(path: Path, pattern: str, language: Language) -> None:
    """Write the language of a pattern to a file of the package."""
    assert language.start == _START, "it accepts something"
    arrays: archive.Arrays = {
        "cuts": np.array(language.cuts, dtype=np.int32),
        "rows": np.array(language.rows, dtype=np.int16),
        "accepting": np.array(sorted(language.accepting), dtype=np.int16),
    }
    archive.write(path, arrays, kind=KIND, digest=_digest(pattern), is_compressed=True)


def _digest(pattern: str) -> str:
    return hashlib.sha256(pattern.encode("utf-8", "surrogatepass")).hexdigest()
