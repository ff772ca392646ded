r"""Rules that repeat something by calling themselves at their ends.

In: a rule such as ``ws ::= ([ \t] ws)?``, as grammars without counts have it. Out: the same
language as a repetition, ``[ \t]*``, which can be a terminal, and which has one reading where the
rule may have many::

    r = D r | r C | A             ->   D* A C*
    r = D r | r C | A | r B r     ->   u (B u)*     where u = D* A C*

Source: Arden 1961, "Delayed-logic and finite-state machines". The smallest solution is this one
whether or not these parts may be empty. With ``r B r``: what stands on the right is a solution, and
each of its texts is one of the rule's, B being what was derived last.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfgguide.grammar.rules.tree import (
    Choice,
    Expression,
    Name,
    Repeated,
    Row,
    Rule,
    Text,
    names_in,
)

Options = tuple[Expression, ...]

_MAX_DEPTH = 50


@dataclass(frozen=True)
class _Split:
    """An expression as ``D r | r C | r B r | A``, and perhaps ``r``: the alternatives of each."""

    before: Options = ()
    after: Options = ()
    between: Options = ()
    without: Options = ()
    is_itself: bool = False

    def __add__(self, other: _Split) -> _Split:
        return _Split(
            self.before + other.before,
            self.after + other.after,
            self.between + other.between,
            self.without + other.without,
            self.is_itself or other.is_itself,
        )


def without_itself(rule: Rule) -> Rule:
    """Return a rule that does not call itself, if it does so at its ends only; or the same rule.

    Examples
    --------
    >>> at = 0
    >>> rule = Rule(at, "r", Choice(at, (Row(at, (Text(at, "a"), Name(at, "r"))), Text(at, "b"))))
    >>> names_in(without_itself(rule).body)
    []
    """
    if not _is_in(rule.body, rule.name):
        return rule
    split = _split(rule.body, rule.name, 0)
    if split is None or not split.without:
        return rule
    at = rule.body.at
    parts = [
        *_repeated(at, split.before),
        _one_of(at, split.without),
        *_repeated(at, split.after),
    ]
    body = parts[0] if len(parts) == 1 else Row(at, tuple(parts))
    if split.between:
        again = Row(at, (_one_of(at, split.between), body))
        body = Row(at, (body, Repeated(at, again, 0, None)))
    return Rule(rule.at, rule.name, body)


def _split(expression: Expression, name: str, depth: int) -> _Split | None:
    """Return an expression split at a rule's name; None if that stands inside of it, too."""
    if depth > _MAX_DEPTH:
        return None
    if not _is_in(expression, name):
        return _Split(without=(expression,))
    match expression:
        case Name():
            return _Split(is_itself=True)
        case Choice():
            found = _Split()
            for part in expression.parts:
                split = _split(part, name, depth + 1)
                if split is None:
                    return None
                found += split
            return found
        case Row():
            return _split_row(expression, name, depth)
        case Repeated(least=0, most=1):
            split = _split(expression.part, name, depth + 1)
            return split and split + _Split(without=(Text(expression.at, ""),))
        case _:
            return None


def _split_row(row: Row, name: str, depth: int) -> _Split | None:
    """Return a row split at a rule's name, which stands in its first or last part or in both."""
    at, (*start, last) = row.at, row.parts
    middle = start[1:]
    if any(_is_in(part, name) for part in middle):
        return None
    if not start:
        return _split(last, name, depth + 1)
    first, final = _split(start[0], name, depth + 1), _split(last, name, depth + 1)
    if first is None or final is None or first.before or final.after:
        return None
    if first.between or final.between:
        return None
    nothing = (Text(at, ""),)
    after = first.after + nothing * first.is_itself
    before = final.before + nothing * final.is_itself

    def joined(left: Options, right: Options) -> Options:
        if not left or not right:
            return ()
        return (Row(at, (_one_of(at, left), *middle, _one_of(at, right))),)

    return _Split(
        before=joined(first.without, before),
        after=joined(after, final.without),
        between=joined(after, before),
        without=joined(first.without, final.without),
    )


def _is_in(expression: Expression, name: str) -> bool:
    return any(each.name == name for each in names_in(expression))


def _repeated(at: int, options: Options) -> list[Expression]:
    return [Repeated(at, _one_of(at, options), 0, None)] if options else []


def _one_of(at: int, options: Options) -> Expression:
    return options[0] if len(options) == 1 else Choice(at, options)
