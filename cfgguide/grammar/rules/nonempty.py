"""Right-hand sides of rules on their way to Lark's language, none of which is empty.

Lark's terminals match at least one character, and LALR(1) needs no rules that may be empty if each
use of them says ``?`` instead. So whatever may be empty is here an expression that is not, wherever
it stands with ``?`` around it (:func:`optional`), or is left out. Names are rules and terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cfgguide.grammar.rules.tree import Choice, Expression, Repeated, Row, folded

_MADE = (Row, Choice, Repeated)


def optional(part: Expression) -> Expression:
    """Return a part that may be left out."""
    if isinstance(part, Repeated) and part.least <= 1:
        return Repeated(part.at, part.part, 0, part.most)
    return Repeated(part.at, part, 0, 1)


def times(part: Expression, least: int, most: int | None) -> Expression:
    """Return a part at least once, and repeated; repetitions in repetitions are one."""
    if (least, most) == (1, 1):
        return part
    if isinstance(part, Repeated) and (part.least, part.most, least) == (1, None, 1):
        return part
    return Repeated(part.at, part, least, most)


def alternatives(parts: Iterable[Expression]) -> Expression:
    """Return one of some parts, each once."""
    found: dict[Expression, None] = {}
    for part in parts:
        found |= dict.fromkeys(part.parts if isinstance(part, Choice) else (part,))
    return next(iter(found)) if len(found) == 1 else Choice(0, tuple(found))


def sequence(parts: Iterable[tuple[Expression | None, bool]]) -> Expression | None:
    """Return parts one after the other, not all empty; None if there is no such text.

    Parameters
    ----------
    parts : iterable of (Expression or None, bool)
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


def _row(parts: list[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else Row(0, tuple(parts))


def may_miss(part: Expression) -> bool:
    """Return whether a part of a sequence may be left out."""
    if isinstance(part, Row):
        return all(map(may_miss, part.parts))
    return isinstance(part, Repeated) and part.least == 0


def in_lark(part: Expression, leaf_in_lark: Callable[[Expression], str]) -> str:
    """Return an expression in Lark's language.

    Examples
    --------
    >>> from cfgguide.grammar.rules.tree import Name
    >>> a, b = Name(0, "a"), Name(0, "B")
    >>> part = sequence([(a, True), (times(alternatives([a, b]), 2, None), False)])
    >>> in_lark(part, lambda leaf: leaf.name)
    'a? (a | B)~2 (a | B)*'
    """

    def written(node: Expression, parts: list[tuple[str, Expression]]) -> tuple[str, Expression]:
        match node:
            case Choice():
                return " | ".join(text for text, _ in parts), node
            case Row():
                return " ".join(_grouped(*each, Choice) for each in parts), node
            case Repeated():
                return _counted(_grouped(*parts[0], *_MADE), node.least, node.most), node
            case _:
                return leaf_in_lark(node), node

    return folded(part, written)[0]


def _grouped(text: str, node: Expression, *kinds: type) -> str:
    """Return what is written for an expression, in brackets if it is one of some kinds."""
    return f"({text})" if isinstance(node, kinds) else text


def _counted(inside: str, least: int, most: int | None) -> str:
    if most is None:
        return {0: f"{inside}*", 1: f"{inside}+"}.get(least, f"{inside}~{least} {inside}*")
    if (least, most) == (0, 1):
        return f"{inside}?"
    return f"{inside}~{least}" if least == most else f"{inside}~{least}..{most}"
