r"""Regular expressions over characters, with what decides whether ``re`` reads them exactly.

In: sets of characters, put together. Out: a :class:`Pattern`, which knows how it is written for
``re``, how large it is, and whether it is *deterministic*: wherever a text is in it, the next
character says how to go on, and going on is preferred to stopping. Then the match that ``re``
prefers is the longest one::

    [0-9]+(?:\.[0-9]+)?     deterministic
    a|ab                    not: both alternatives begin with a
    a?ab                    not: an a may be either

Source: Brüggemann-Klein and Wood 1998, "One-unambiguous regular languages", with counts as
Kilpeläinen and Tuhkanen 2007, "One-unambiguity of regular expressions with numeric occurrence
indicators"; the strong form here looks at a count as if it could always go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from cfgguide.automata.charset import MAX_CODE_POINT, CharacterClass
from cfgguide.automata.rewrite import escaped, quantifier
from cfgguide.grammar.rules.tree import Ranges

_IN_CLASS = {each: f"\\{each}" for each in "\\]^-[&~|"}
#: Larger than any limit.
_HUGE = 10**9
_ATOM, _ROW, _CHOICE = range(3)  # how tightly a written pattern holds together


@dataclass(frozen=True, eq=False)
class Pattern:
    """A regular expression.

    Attributes
    ----------
    kind : {"set", "row", "choice", "repeat"}
        What it is made of.
    ranges : tuple of (int, int)
        Of a set: its characters.
    parts : tuple of Pattern
        Of the others. Those of a choice and of a repetition are never empty texts.
    least, most : int, int or None
        Of a repetition.
    is_optional : bool
        Whether the empty text matches.
    first, following : tuple of (int, int)
        The characters that a match begins with, and those with which one that may stop goes on.
    is_deterministic : bool
        Whether ``re`` prefers the longest match, for the reason above.
    n_characters, n_positions, depth : int
        How long it is when it is written, how many sets it has once counts are written out, and how
        many groups stand inside each other.
    """

    kind: str
    ranges: Ranges
    parts: tuple[Pattern, ...]
    least: int
    most: int | None
    is_optional: bool
    first: Ranges
    following: Ranges
    is_deterministic: bool
    n_characters: int
    n_positions: int
    depth: int

    @cached_property
    def text(self) -> str | None:
        """The one text that matches, if there is only one and it is plain to see."""
        if self.kind == "set":
            (first, last), *others = self.ranges
            return chr(first) if first == last and not others else None
        texts = [part.text for part in self.parts] if self.kind == "row" else [None]
        return None if None in texts else "".join(filter(None, texts))

    @cached_property
    def written(self) -> str:
        """The pattern for ``re``."""
        return _written(self, _CHOICE)


def _level(pattern: Pattern) -> int:
    if pattern.kind == "choice":
        return _CHOICE
    return _ATOM if pattern.kind == "set" else _ROW


def _written(pattern: Pattern, level: int) -> str:
    """Return a pattern as it is written where it may hold together no more loosely than `level`."""
    match pattern.kind:
        case "set":
            return written_set(pattern.ranges)
        case "row":
            inner = "".join(_written(part, _ROW) for part in pattern.parts)
        case "choice":
            inner = "|".join(_written(part, _ROW) for part in pattern.parts)
        case _:
            inner = _written(pattern.parts[0], _ATOM) + quantifier(pattern.least, pattern.most)
    return f"(?:{inner})" if _level(pattern) > level else inner


def written_set(ranges: Ranges) -> str:
    r"""Return a set of characters as ``re`` reads it.

    >>> print(written_set(((97, 122),)), written_set(((0, 96), (98, 0xD7FF), (0xE000, 0x10FFFF))))
    [a-z] [^a]
    """
    if ranges[0][0] == ranges[-1][1]:
        return escaped(chr(ranges[0][0])) if _is_shown(ranges[0][0]) else _number(ranges[0][0])
    others = CharacterClass(ranges).complement().ranges
    if not others:
        return "(?s:.)"
    is_negated = ranges[-1][1] == MAX_CODE_POINT
    members = "".join(_written_range(*each) for each in (others if is_negated else ranges))
    return f"[{'^' * is_negated}{members}]"


def _written_range(first: int, last: int) -> str:
    ends = [
        _IN_CLASS.get(chr(point), chr(point)) if _is_shown(point) else _number(point)
        for point in (first, last)
    ]
    if last - first < 2:
        return "".join(ends[: last - first + 1])
    return "-".join(ends)


def _is_shown(point: int) -> bool:
    """Return whether a character can be written as itself; ASCII is escaped later, for Lark."""
    return point < 127 or chr(point).isprintable()


def _number(point: int) -> str:
    """Return the escape of a character."""
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def _joined(*ranges: Ranges) -> Ranges:
    found = [each for each in ranges if each]
    if len(found) < 2:
        return found[0] if found else ()
    return CharacterClass.of(pair for each in found for pair in each).ranges


def _meet(ranges: Ranges, others: Ranges) -> bool:
    """Return whether two sets have a character in common."""
    at = 0
    for first, last in ranges:
        while at < len(others) and others[at][1] < first:
            at += 1
        if at < len(others) and others[at][0] <= last:
            return True
    return False


# --- How they are made ---------------------------------------------------------------------------


@lru_cache(maxsize=1_000)  # most are letters
def one_of_characters(ranges: Ranges) -> Pattern:
    """Return the pattern of one character."""
    length = len(written_set(ranges))
    return Pattern("set", ranges, (), 1, 1, False, ranges, (), True, length, 1, 0)


EMPTY = Pattern("row", (), (), 1, 1, True, (), (), True, 0, 0, 0)


def of_text(text: str) -> Pattern:
    r"""Return the pattern of a text.

    >>> print(of_text("1+1").written)
    1\+1
    """
    return in_row([one_of_characters(((ord(each), ord(each)),)) for each in text])


def in_row(parts: Sequence[Pattern]) -> Pattern:
    """Return the pattern of texts one after the other."""
    flat: list[Pattern] = []
    for part in parts:
        flat.extend(part.parts if part.kind == "row" else [part])
    if len(flat) < 2:
        return flat[0] if flat else EMPTY
    # What a row begins with is known already, if it is a row: joining it part by part is linear.
    begun = parts[0] if parts[0].kind == "row" else EMPTY
    first, following = begun.first, begun.following
    is_optional, is_deterministic = begun.is_optional, begun.is_deterministic
    others = flat[len(begun.parts) :]
    for part in others:
        is_deterministic &= part.is_deterministic and not _meet(following, part.first)
        if is_optional:
            is_deterministic &= not _meet(first, part.first)
            first = _joined(first, part.first)
        following = (
            _joined(part.following, part.first, following) if part.is_optional else (part.following)
        )
        is_optional &= part.is_optional
    return Pattern(
        "row",
        (),
        tuple(flat),
        1,
        1,
        is_optional,
        first,
        following,
        is_deterministic,
        min(
            _HUGE,
            sum(
                (part.n_characters + 4 * (part.kind == "choice") for part in others),
                begun.n_characters,
            ),
        ),
        min(_HUGE, sum((part.n_positions for part in others), begun.n_positions)),
        max(begun.depth, 1, *(part.depth + 1 for part in others)),
    )


def either(parts: Sequence[Pattern]) -> Pattern:
    """Return the pattern of alternatives, none of which may be empty texts.

    >>> print(either([of_text("a"), of_text("c"), of_text("bc")]).written)
    [ac]|bc
    """
    flat: list[Pattern] = []
    sets: list[Ranges] = []
    place = 0
    for part in parts:
        for each in part.parts if part.kind == "choice" else [part]:
            if each.kind == "set":
                place = place if sets else len(flat)
                sets.append(each.ranges)
            else:
                flat.append(each)
    if sets:
        flat.insert(place, one_of_characters(_joined(*sets)))
    if len(flat) == 1:
        return flat[0]
    first: Ranges = ()
    is_deterministic = True
    for part in flat:
        is_deterministic &= part.is_deterministic and not _meet(first, part.first)
        first = _joined(first, part.first)
    return Pattern(
        "choice",
        (),
        tuple(flat),
        1,
        1,
        False,
        first,
        _joined(*(part.following for part in flat)),
        is_deterministic,
        min(_HUGE, sum(part.n_characters + 1 for part in flat)),
        min(_HUGE, sum(part.n_positions for part in flat)),
        max(part.depth for part in flat) + 1,
    )


def times(part: Pattern, least: int, most: int | None) -> Pattern:
    """Return the pattern of a part, not the empty text, several times.

    >>> print(times(of_text("ab"), 2, None).written, times(of_text("a"), 0, 1).written)
    (?:ab){2,} a?
    """
    if (least, most) == (1, 1):
        return part
    goes_on = most is None or most > max(least, 1)
    is_deterministic = part.is_deterministic and (
        most == 1 or not _meet(part.following, part.first)
    )
    n_times = max(1, least) if most is None else most
    return Pattern(
        "repeat",
        (),
        (part,),
        least,
        most,
        least == 0,
        part.first,
        _joined(part.following, part.first) if goes_on else part.following,
        is_deterministic,
        min(_HUGE, part.n_characters + 4 + len(quantifier(least, most))),
        min(_HUGE, part.n_positions * n_times),
        part.depth + 1,
    )
