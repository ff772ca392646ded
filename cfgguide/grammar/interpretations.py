"""How one reading of a text is shown: its symbols, and brackets around the rules in question.

In: the items of an interpretation, from the start rule inwards. Out: a line such as
``IF (s IF s) • ELSE``: what stands before the lookahead, with a bracket for each rule that begins
after a given item. Brackets that are still open at the lookahead end in ``…)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from cfgguide.grammar.lr.items import Item, next_symbol
from cfgguide.grammar.lr.table import Production


class ConflictReading(NamedTuple):
    """An item, and whether the lookahead must come from a rule further out."""

    item: Item
    waits: bool


def is_read(here: ConflictReading, after: ConflictReading) -> bool:
    """Return whether a symbol was read between two items; otherwise a rule began, or nothing."""
    return after.item.dot > 0 and after != here


def last_opened(interpretations: Sequence[ConflictReading]) -> int:
    """Return the index at which the rule of the last item begins."""
    opened = max(index for index, each in enumerate(interpretations) if not each.item.dot)
    while interpretations[opened - 1] == interpretations[opened]:  # the other one began rules
        opened -= 1
    return opened


def show(
    rules: Sequence[Production],
    interpretations: Sequence[ConflictReading],
    parting: int,
    lookahead: str,
) -> str:
    """Return the symbols read, with brackets around the rules that begin after `parting`.

    Parameters
    ----------
    rules : sequence of Production
        The rules that items refer to.
    interpretations : sequence of ConflictReading
        From the start rule inwards: between two of them a symbol was read, or a rule began.
    parting : int
        The last of them that is shown without a bracket of its own.
    lookahead : str
        The terminal that comes next.
    """
    words: list[str] = []
    brackets: list[_Bracket] = []
    for at, (here, after) in enumerate(pairwise(interpretations), start=1):
        if is_read(here, after):
            words.append(str(next_symbol(rules, here.item)))
        elif at > parting and after != here:
            rest = rules[here.item.production][1][here.item.dot + 1 :]
            brackets.append(_Bracket(len(words), here.waits, " ".join(("", *rest))))
            words.append("(" + rules[after.item.production][0])
    last = interpretations[-1]
    if not last.waits:  # it is shifted
        rest = rules[last.item.production][1][last.item.dot :]
        return _joined(words, brackets, 0, ["•", *rest])
    n_done = 1  # brackets that close before the lookahead
    while n_done < len(brackets) and brackets[-n_done].waits:
        n_done += 1
    return _joined(words, brackets, n_done, ["•", lookahead])


class _Bracket(NamedTuple):
    """A rule whose bracket is shown.

    Attributes
    ----------
    word : int
        Where it begins.
    waits : bool
        Whether the item before which it begins waits for the lookahead. If so, nothing is left of
        that item.
    rest : str
        What is left of that item.
    """

    word: int
    waits: bool
    rest: str


def _joined(words: list[str], brackets: list[_Bracket], n_done: int, end: list[str]) -> str:
    """Return the words with their brackets closed, the last `n_done` of them before `end`.

    Of many brackets in a row, only the first and the last two are shown.
    """
    is_shown = [True] * len(brackets)
    for index in range(1, len(brackets) - 2):
        row = [bracket.word for bracket in brackets[index - 1 : index + 3]]
        is_shown[index] = row[-1] - row[0] != 3
    for index, bracket in enumerate(brackets):
        if not is_shown[index]:
            words[bracket.word] = "…" if is_shown[index - 1] else ""
    n_open = len(brackets) - n_done
    text = " ".join(filter(None, words))
    for index in reversed(range(n_open, len(brackets))):
        text += ")" * is_shown[index]
        if brackets[index].waits and is_shown[max(index - 1, 0)]:
            text += brackets[index].rest
    text += " " + " ".join(end)
    if not n_done:  # the last rule goes on to its own end
        return text + ")" + " …)" * sum(is_shown[: n_open - 1])
    return text + " …)" * sum(is_shown[:n_open])
