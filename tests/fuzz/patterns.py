r"""Random regular expressions over a few letters, as the text of a pattern for Python's ``re``.

A :class:`Writer` draws from Hypothesis. What is simple comes first in every choice, since
Hypothesis shrinks towards it. ``re`` may refuse what is written, and the engine some of it: that is
judged elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from hypothesis import strategies as st

_parser: Any = __import__("re._parser", fromlist=["parse"])

ROOM = 14
ESCAPED = {"\n": r"\n", " ": r"\ ", "/": r"\/"}
NOT_SUPPORTED = [r"({0})\1", "(?>{0}*)", "{0}*+", "({0})?(?(1){1}|{0})", "(?P<q>{0})(?P=q)"]


class Writer:
    """Draws, with the features of one grammar at hand.

    Parameters
    ----------
    draw : callable
        Hypothesis's.
    features : collection of str
        Of `fuzz.features`.
    letters : str
        The characters that texts are made of.

    Attributes
    ----------
    room : int
        How many more times something may be added to the simplest; set it anew where wanted.
    """

    def __init__(
        self, draw: Callable[[st.SearchStrategy[Any]], Any], features: Collection[str], letters: str
    ) -> None:
        self._draw = draw
        self.features = features
        self.letters = letters
        self.room = ROOM

    def has(self, feature: str) -> bool:
        return feature in self.features

    def one_of(self, options: Sequence[Any]) -> Any:
        return self._draw(st.sampled_from(options))

    def number(self, least: int, most: int) -> int:
        return self._draw(st.integers(least, most))

    def sometimes(self, one_in: int = 3) -> bool:
        """Draw yes once in so many times while there is room; the simple answer is no."""
        if self.room <= 0 or self.number(0, one_in - 1) != one_in - 1:
            return False
        self.room -= 1
        return True

    def letter(self) -> str:
        return self.one_of(self.letters)

    def word(self, most: int = 3) -> str:
        return "".join(self.letter() for _ in range(self.number(1, most)))


def pattern(w: Writer, depth: int = 2) -> str:
    """Write a pattern: a sequence of quantified atoms, or a choice of such."""
    sides = [_sequence(w, depth)]
    while w.has("choice") and len(sides) < 3 and w.sometimes(4):
        sides.append("" if w.sometimes(6) else _sequence(w, depth))
    return "|".join(sides)


def _sequence(w: Writer, depth: int) -> str:
    return "".join(_quantified(w, depth) for _ in range(w.one_of([1, 1, 2, 2, 3])))


def _quantified(w: Writer, depth: int) -> str:
    if w.sometimes(4):
        assertion = _assertion(w, depth)
        if assertion:
            return assertion
    atom = _group(w, depth) if depth and w.sometimes() else _atom(w)
    if w.has("not supported") and w.sometimes(8):
        return w.one_of(NOT_SUPPORTED).format(escaped(w.letter()), escaped(w.letter()))
    return atom + (_quantifier(w) if w.sometimes(2) else "")


def _quantifier(w: Writer) -> str:
    options = ["*", "+", "?"] * w.has("quantifiers")
    options += ["{2}", "{1,2}", "{,2}", "{2,}"] * w.has("counted")
    if not options:
        return ""
    return w.one_of(options) + ("?" if w.has("lazy") and w.sometimes(2) else "")


def _group(w: Writer, depth: int) -> str:
    opening = ["(?:"]
    if w.has("scoped flags"):
        opening += ["(?i:", "(?s:", "(?-i:", "(?m:", "(?x: ", "(?a:", "(?u:"]
    if w.has("groups"):
        opening += ["(", "("] + ["(?P<g>"] * w.sometimes(3)
    return f"{w.one_of(opening)}{pattern(w, depth - 1)})"


def escaped(letter: str) -> str:
    """Return what matches one character."""
    return ESCAPED.get(letter, letter)


def _atom(w: Writer) -> str:
    if not w.has("classes") or not w.sometimes():
        return escaped(w.letter())
    first, second = escaped(w.letter()), escaped(w.letter())
    return w.one_of(
        [f"[{first}{second}]", f"[^{first}]", ".", r"\w", r"\W", r"\d", r"\s", r"[^\W\d]",
         f"[{second}-{second}{first}]", f"[^{first}{second}]", r"(?a:\w)", rf"[\s{first}]", r"\S"]
    )  # fmt: skip


# --- What consumes nothing ------------------------------------------------------------------------


def _assertion(w: Writer, depth: int) -> str:
    """Write a look-around, an anchor or a word boundary; nothing if none is switched on."""
    options = [r"\b", r"\b", r"\B"] * w.has("word boundaries")
    options += ["^", "$", r"\A", r"\Z"] * w.has("anchors")
    options += ["(?<=", "(?<!"] * 2 * w.has("look-behind")
    options += ["(?=", "(?!"] * 2 * w.has("look-ahead")
    if not options:
        return ""
    chosen = w.one_of(options)
    if chosen.startswith("(?<"):
        return f"{chosen}{_fixed(w)})"
    if chosen.startswith("(?"):
        return f"{chosen}{_ahead(w, depth)})"
    return chosen


def _ahead(w: Writer, depth: int) -> str:
    """Write what a look-ahead looks for, itself with a look-around only if these may nest."""
    if depth and w.has("nested look-around"):
        return pattern(w, depth - 1)
    plain = Writer(
        w._draw, {"quantifiers", "choice", "classes", "lazy"} & set(w.features), w.letters
    )
    return pattern(plain, 0)


def _fixed(w: Writer) -> str:
    """Write what a look-behind looks for: sides of one width, as `re` wants it."""
    width = w.number(1, 2)
    sides = [_fixed_side(w, width)]
    if w.has("choice") and w.sometimes():
        sides.append(_fixed_side(w, width))
    return "|".join(sides)


def _fixed_side(w: Writer, width: int) -> str:
    parts = [_atom(w) for _ in range(width)]
    if w.has("nested look-around") and w.sometimes():
        kinds = ["(?<=", "(?<!"] + ["(?=", "(?!"] * w.has("look-ahead")
        parts.insert(w.number(0, width), f"{w.one_of(kinds)}{_atom(w)})")
    if w.has("word boundaries") and w.sometimes(5):
        parts.insert(w.number(0, width), w.one_of([r"\b", r"\B"]))
    if w.has("anchors") and w.sometimes(5):
        parts.insert(w.number(0, width), w.one_of(["^", "$", r"\A", r"\Z"]))
    return "".join(parts)


def _may_be_empty(text: str) -> bool:
    try:
        return _parser.parse(text).getwidth()[0] == 0
    except re.error:
        return False


def literal(w: Writer, depth: int = 2) -> str:
    """Write a pattern as Lark has it, between slashes and with flags.

    Lark takes no pattern that may be empty, so one more letter mostly helps.
    """
    text, flags = pattern(w, depth), ""
    if _may_be_empty(text) and not w.sometimes(8):
        text = w.one_of(["{1}{0}", "{0}{1}"]).format(f"(?:{text})", escaped(w.letter()))
    if w.has("inline flags") and w.sometimes(6):
        text = w.one_of(["(?i)", "(?s)", "(?m)"]) + text
    if w.has("flags") and w.sometimes():
        flags = w.one_of(["i", "s", "m", "x", "is", "im", "sm"])
    return f"/{text}/{flags}"
