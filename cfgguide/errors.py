"""Every error that cfgguide raises on purpose.

A user's mistake raises a :class:`CfgGuideError`. Its message says what is wrong, where, what was
expected and what to do. Each class has a ``code``; ``docs/errors.md`` has a section for each code.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar


class CfgGuideError(Exception):
    """Base of all errors raised on purpose.

    Attributes
    ----------
    code : str
        Stable name of the kind of error; a section of ``docs/errors.md`` has the same name.

    Examples
    --------
    >>> str(CfgGuideError("the file is empty"))
    '[error] the file is empty'
    """

    code: ClassVar[str] = "error"

    def __str__(self) -> str:
        # Half a surrogate pair of a user's text could not be printed.
        said = super().__str__().encode("utf-8", "backslashreplace").decode()
        return brief(f"[{self.code}] {said}")


def brief(message: str) -> str:
    """Return a message without what nobody reads: the middle of a long word, or of all of it.

    A name, a path, a pattern or a number of a stranger's text may have thousands of characters.

    Examples
    --------
    >>> len(brief("x" * 1000)), brief("no rule x")
    (123, 'no rule x')
    """
    message = _LONG_WORD.sub(lambda found: f"{found[0][:60]}...{found[0][-60:]}", message)
    if len(message) <= _MOST:
        return message
    return f"{message[: _MOST // 2]} ... {message[-_MOST // 2 :]}"


_LONG_WORD = re.compile(r"\S{180,}+")
_MOST = 3_000  # characters: an example of a conflict, with the readings as trees, has over 1,000


def shown(value: object) -> str:
    """Return a value as a message shows it: in a few words, whatever it is.

    Its own ``repr`` may be long, or raise: of a number with 5,000 digits, of lists in lists.

    Examples
    --------
    >>> shown("yes"), shown("x" * 1000), shown(10**5000)
    ("'yes'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxx'", '<int>')
    """
    try:
        return _SHORT.repr(value)
    except Exception:  # of a class that nobody here knows
        return f"<{type(value).__name__}>"


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
_SHORT.maxlevel = 3


class GrammarError(CfgGuideError):
    """The grammar can't be read or used: unknown name, Lark rejects it, no sentence exists."""

    code = "grammar"


class PatternError(CfgGuideError):
    """A terminal's regular expression uses a feature that no automaton can express."""

    code = "pattern"


class SchemaError(GrammarError):
    """A JSON Schema is broken, allows nothing, or asks for what a grammar can't guarantee."""

    code = "schema"


class LimitError(CfgGuideError):
    """A stated limit (states, depth, ...) was exceeded; the message names the limit."""

    code = "limit"


class VocabularyError(CfgGuideError):
    """The vocabulary cannot be used: no tokens, no EOS, or it cannot spell the grammar."""

    code = "vocabulary"


class TokenizerError(CfgGuideError):
    """The bytes of a tokenizer's tokens cannot be read."""

    code = "tokenizer"


class TokenRejectedError(CfgGuideError):
    """The guide was advanced by a token that the grammar does not allow here.

    What was expected is found out when the message is read, or :attr:`expected` is: what the tables
    name, without a search. :meth:`Guide.explain <cfgguide.Guide.explain>` searches.

    Parameters
    ----------
    message : str
        What is wrong.
    find_expected : callable, optional
        Returns the names of the terminals that were expected.
    """

    code = "token-rejected"

    def __init__(
        self, message: str = "", find_expected: Callable[[], tuple[str, ...]] | None = None
    ) -> None:
        super().__init__(message)
        self._find_expected = find_expected

    @cached_property
    def expected(self) -> tuple[str, ...]:
        """The names of the terminals that were expected, sorted; empty where it is not that."""
        return () if self._find_expected is None else self._find_expected()

    def __str__(self) -> str:
        message = super().__str__()
        if not self.expected:
            return message
        expected = ", ".join(self.expected)
        return brief(f"{message}; expected one of: {expected}; Guide.explain tells more")

    def __reduce__(self) -> tuple[type[TokenRejectedError], tuple[str]]:
        """For `pickle`: the whole message, without what finds it."""
        return type(self), (str(self).removeprefix(f"[{self.code}] "),)


class RollbackError(CfgGuideError):
    """More tokens were rolled back than were consumed."""

    code = "rollback"


class BitmaskError(CfgGuideError):
    """An array given for a bitmask has the wrong dtype, shape or layout."""

    code = "bitmask"


class IndexFormatError(CfgGuideError):
    """A file is damaged, of another kind or version, or made from something else."""

    code = "index-format"


class ModelError(CfgGuideError):
    """A model cannot be found, converted, or does not fit the vocabulary."""

    code = "model"


class GenerationError(CfgGuideError):
    """Generation was called with impossible arguments, such as no new tokens."""

    code = "generation"


class TextError(CfgGuideError):
    """A text is not a sentence as it should be, or its tokens do not spell it."""

    code = "text"


class BudgetError(CfgGuideError):
    """No sentence can be finished within the tokens that are left."""

    code = "budget"


class MonitorError(CfgGuideError):
    """A monitor failed, or leaves a text without a way on."""

    code = "monitor"


class DrawingError(CfgGuideError):
    """A picture cannot be drawn or saved as asked: no such layout, terminal, state or ending."""

    code = "drawing"


class EvaluationError(CfgGuideError):
    """Examples to compare answers with, or a file of answers, are not what they should be."""

    code = "evaluation"


class VocabularyWarning(UserWarning):
    """The vocabulary cannot spell all that the grammar allows; guarantees hold for the rest."""


class BudgetWarning(UserWarning):
    """Warns of a text that will be cut, since no sentence is known to fit."""


class ParticleWarning(UserWarning):
    """Warns of steered texts that all go on from one."""


class SchemaWarning(UserWarning):
    """A part of a JSON Schema was left out, as the caller allowed; it is not guaranteed."""


class CacheWarning(UserWarning):
    """The cache folder belongs to somebody else, or others can write to it: it is not used."""


class UncompiledWarning(UserWarning):
    """The kernels run as Python, slowly; the message says why, and what to do."""
