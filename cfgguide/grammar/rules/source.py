"""The text of a grammar, and errors that point to a place in it.

In: a text as its author wrote it. Out: errors with line, column and an excerpt. Whatever is made of
the text, a mistake in it is shown where the author finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfgguide.errors import CfgGuideError, GrammarError, LimitError

MAX_TEXT = 1_000_000  # characters of a grammar
_SHOWN = 80  # characters of a line


@dataclass(frozen=True)
class Source:
    r"""A text in one of the notations that are read here.

    Attributes
    ----------
    text : str
        The text, without a byte order mark.
    name : str
        How messages call it.

    Examples
    --------
    >>> raise Source('start: "a"\nb: [', "the grammar").error(14, "this bracket is never closed")
    Traceback (most recent call last):
    cfgguide.errors.GrammarError: [grammar] the grammar, line 2, column 4: this bracket is never ...
    b: [
       ^
    """

    text: str
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.text.removeprefix("\ufeff"))

    def error(self, at: int, said: str, kind: type[CfgGuideError] = GrammarError) -> CfgGuideError:
        """Return an error about a place in the text, given as an offset."""
        at = min(at, len(self.text))
        begin = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        line, column = self.text.count("\n", 0, at) + 1, at - begin + 1
        shown = self.text[begin : end if end >= 0 else len(self.text)]
        first = max(0, min(column - _SHOWN // 2, len(shown) - _SHOWN))
        excerpt = shown[first : first + _SHOWN].replace("\t", " ").rstrip("\r")
        caret = " " * (column - 1 - first) + "^"
        return kind(f"{self.name}, line {line}, column {column}: {said}\n{excerpt}\n{caret}")


def checked_text(text: Any) -> str:
    """Return the text of a grammar.

    Raises
    ------
    GrammarError
        If it is no text.
    LimitError
        If it is longer than any grammar.
    """
    if not isinstance(text, str):
        raise GrammarError(f"a grammar is a text, not {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise LimitError(f"the grammar has {len(text)} characters, and at most {MAX_TEXT} fit")
    return text


def with_advice(error: CfgGuideError, advice: str) -> CfgGuideError:
    """Return an error about a place that also says what to do, if that is known.

    >>> print(with_advice(Source("a", "x").error(0, "this is wrong"), "try b").args[0])
    x, line 1, column 1: this is wrong; try b
    a
    ^
    """
    said, *place = str(error.args[0]).split("\n")
    return type(error)("\n".join([f"{said}; {advice}", *place])) if advice else error
