"""Right-hand sides of rules on their way to Lark's language, none of which is empty.

Lark's terminals match at least one character, and LALR(1) needs no rules that may be empty if each
use of them says ``?`` instead. So whatever may be empty in the dialect is here a part that is not,
wherever it stands with ``?`` around it (:func:`optional`), or is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Leaf:
    """A symbol: of which kind, and which.

    Attributes
    ----------
    kind : {"literal", "lexeme", "tokens", "rule", "grammar"}
        A text in quotes, a terminal, special tokens, a rule, or the start of another grammar.
    key : hashable
        Which one.
    """

    kind: str
    key: Hashable


@dataclass(frozen=True)
class Sequence:
    """Parts one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Alternatives:
    """One of some parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Times:
    """A part several times; no times at all only inside a sequence."""

    part: Part
    least: int
    most: int | None


Part = Leaf | Sequence | Alternatives | Times


def optional(part: Part) -> Part:
    """Return a part that may be left out."""
    if isinstance(part, Times) and part.least <= 1:
        return Times(part.part, 0, part.most)
    return Times(part, 0, 1)


def times(part: Part, least: int, most: int | None) -> Part:
    """Return a part at least once, and repeated; repetitions in repetitions are one."""
    if (least, most) == (1, 1):
        return part
    if isinstance(part, Times) and (part.least, part.most, least) == (1, None, 1):
        return part
    return Times(part, least, most)


def alternatives(parts: Iterable[Part]) -> Part:
    """Return one of some parts, each once."""
    found: dict[Part, None] = {}
    for part in parts:
        found |= dict.fromkeys(part.parts if isinstance(part, Alternatives) else (part,))
    return next(iter(found)) if len(found) == 1 else Alternatives(tuple(found))


def sequence(parts: Iterable[tuple[Part | None, bool]]) -> Part | None:
    """Return parts one after the other, not all empty; None if there is no such text.

    Parameters
    ----------
    parts : iterable of (Part or None, bool)
        What is not empty of each, and whether it may be empty.
    """
    given = list(parts)
    kept = [(part, is_optional) for part, is_optional in given if part is not None]
    rows = [optional(part) if is_optional else part for part, is_optional in kept]
    if not kept or (None, False) in given:
        return None
    if not all(is_optional for _, is_optional in kept):
        return _row(rows)
    return alternatives(_row([part, *rows[index + 1 :]]) for index, (part, _) in enumerate(kept))


def _row(parts: list[Part]) -> Part:
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def may_miss(part: Part) -> bool:
    """Return whether a part of a sequence may be left out."""
    if isinstance(part, Sequence):
        return all(map(may_miss, part.parts))
    return isinstance(part, Times) and part.least == 0


def written(part: Part, name_of: Callable[[Leaf], str]) -> str:
    """Return a part in Lark's language.

    Examples
    --------
    >>> a, b = Leaf("literal", '"a"'), Leaf("lexeme", "B")
    >>> part = sequence([(a, True), (times(alternatives([a, b]), 2, None), False)])
    >>> written(part, lambda leaf: leaf.key)
    '"a"? ("a" | B)~2 ("a" | B)*'
    """
    match part:
        case Leaf():
            return name_of(part)
        case Alternatives():
            return " | ".join(written(each, name_of) for each in part.parts)
        case Sequence():
            return " ".join(_grouped(each, name_of, Alternatives) for each in part.parts)
        case Times():
            inside = _grouped(part.part, name_of, Alternatives, Sequence, Times)
            return _counted(inside, part.least, part.most)


def _grouped(part: Part, name_of: Callable[[Leaf], str], *kinds: type) -> str:
    """Return a part, in brackets if it is one of some kinds."""
    inside = written(part, name_of)
    return f"({inside})" if isinstance(part, kinds) else inside


def _counted(inside: str, least: int, most: int | None) -> str:
    if most is None:
        return {0: f"{inside}*", 1: f"{inside}+"}.get(least, f"{inside}~{least} {inside}*")
    if (least, most) == (0, 1):
        return f"{inside}?"
    return f"{inside}~{least}" if least == most else f"{inside}~{least}..{most}"
