r"""Patterns of schemas in whatever notation they are: a head says which one.

JSON Schema's patterns are ECMA-262's. Pydantic's are Rust's or Python's, and a schema that is made
of a type has to say so for each, where it has nothing but a text: the names of
``patternProperties`` are patterns, too. So the text begins with a head, which no notation can read
and nobody writes by chance::

    ^\W$   (?rust)^\W$   (?python)^\W$   (?ecma-tidy)^\s*$
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from cfgguide.automata import ecma_notation, python_notation, rust_patterns
from cfgguide.automata.pattern_tree import Nodes
from cfgguide.errors import LimitError, PatternError, SchemaError

_KEPT = 16  # patterns: each is asked for up to four times while its schema is read
_HEAD = re.compile(r"\(\?(ecma|python|rust)(-tidy)?\)")


@lru_cache(maxsize=_KEPT)
def read(pattern: str) -> Nodes:
    r"""Return the tree of a pattern, by its head.

    Raises
    ------
    SchemaError
        If it is not a regular expression in that notation, or has what no automaton can express.

    Examples
    --------
    >>> [len(read(f"{head}[a-c&&b]")[0].characters.ranges) for head in ("", "(?rust)")]
    [2, 1]
    """
    notation, is_tidy, bare = _parts(pattern)
    if notation == "python":
        try:
            return python_notation.read(bare, tidy=is_tidy)
        except (PatternError, LimitError) as error:
            raise SchemaError(str(error.args[0])) from None
    read_bare = rust_patterns.read if notation == "rust" else ecma_notation.read
    return read_bare(bare, tidy=is_tidy)


def headed(pattern: str, notation: Literal["python", "rust"]) -> str:
    """Return a pattern with a head that says its notation."""
    return f"(?{notation}){pattern}"


def without_head(pattern: str) -> str:
    """Return a pattern as it was written."""
    return _parts(pattern)[2]


def as_whole(pattern: str) -> str:
    """Return a pattern that is found in the texts which a pattern matches as a whole.

    One of Python's has its flags inside, as :func:`cfgguide.automata.rewrite.rewritten` writes it.
    """
    notation, _, bare = _parts(pattern)
    end = r"\Z" if notation == "python" else "$"
    return f"{pattern.removesuffix(bare)}^(?:{bare}){end}"


def with_common_spaces(pattern: str) -> str:
    r"""Return a pattern whose ``\s`` is a space, a tab or a line break, and nothing else.

    It matches no more texts. What looks around is left as it is, and so are sets of all other
    characters, and those that have ``\S`` too, which stand for any character.
    """
    notation, _, bare = _parts(pattern)
    return f"(?{notation}-tidy){bare}" if r"\s" in bare else pattern


def _parts(pattern: str) -> tuple[str, bool, str]:
    """Return the notation of a pattern, whether it is tidy, and what stands after its head."""
    head = _HEAD.match(pattern)
    if head is None:
        return "ecma", False, pattern
    return head[1], head[2] is not None, pattern[head.end() :]
