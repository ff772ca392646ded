"""What ``%llguidance {...}`` says, or ``%grammar_options {...}``, as XGrammar calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import Document

_FORCED = "whether text that must come next is written at once is the engine's choice"
_ONCE = (
    "Lark ignores one text after the other; leave this out, and bound the ignored text with "
    "max_ignored, an option of Grammar"
)


@dataclass(frozen=True)
class DialectOptions:
    """The options of a grammar.

    Attributes
    ----------
    allows_initial_skip : bool
        Whether ignored text may come first.
    left_out : tuple of (str, str)
        Options without effect, and why.
    """

    allows_initial_skip: bool = False
    left_out: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, source: Source, document: Document) -> DialectOptions:
        """Return the options of a document.

        Raises
        ------
        GrammarError
            If one is not known, or not supported; the message points to the place.
        """
        left_out = []
        for name, (at, value) in document.options.items():
            if name == "skip_repetition":
                _check_repetition(source, at, value)
                continue
            if name not in (
                "allow_initial_skip",
                "no_forcing",
                "allow_invalid_utf8",
                "ignore_once",
            ):
                raise source.error(at, f"there is no option {name!r:.40}")
            if not isinstance(value, bool):
                raise source.error(at, f"the option {name} is true or false")
            if name == "allow_invalid_utf8" and value:
                raise source.error(at, "allow_invalid_utf8 is not supported: texts are UTF-8")
            if name == "ignore_once" and value:
                raise source.error(at, f"ignore_once is not supported: {_ONCE}")
            if name == "no_forcing":
                left_out.append(("no_forcing", _FORCED))
        skip = document.options.get("allow_initial_skip", (0, False))[1]
        return cls(skip, tuple(left_out))

    def differs(self, other: DialectOptions) -> bool:
        """Return whether what is written differs from that with other options."""
        return self.allows_initial_skip and not other.allows_initial_skip


def _check_repetition(source: Source, at: int, value: Any) -> None:
    if value == "once":
        raise source.error(at, f'skip_repetition "once" is not supported: {_ONCE}')
    if value != "unbounded":
        raise source.error(at, 'skip_repetition is "unbounded"')
