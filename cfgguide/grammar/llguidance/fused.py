r"""Texts in a row as one text, where LALR(1) needs to see more than the first of them.

In: rules as :mod:`cfgguide.grammar.rules.nonempty`. Out: the same with adjacent texts
joined. The parser of llguidance follows all readings; LALR(1) decides by the next terminal alone,
which may be a blank::

    sum: product (SP "+" SP product)*            sum: product (" + " product)*
    product: N (SP "*" SP N)*             ->     product: N (" * " N)*

The characters that can be written are the same. But a keyword that has become a part of a text no
longer wins over names, so texts are joined only if that removes conflicts, and never where text may
be ignored between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from cfgguide.grammar.rules.tree import Choice, Expression, Repeated, Row, Text, folded

TextOf = Callable[[Expression], str | None]


def fused(rules: Mapping[str, Expression], text_of: TextOf) -> dict[str, Expression] | None:
    """Return rules with adjacent texts joined; None if no two rows begin with the same text.

    Parameters
    ----------
    rules : mapping of str to Part
        The rules.
    text_of : callable
        Returns the text that a leaf stands for, or None if it is none.

    Examples
    --------
    >>> a, b, c = (Text(0, letter) for letter in "abc")
    >>> rules = {"start": Choice(0, (Row(0, (a, b)), Row(0, (a, c))))}
    >>> found = fused(rules, lambda leaf: leaf.text)
    >>> [part.text for part in found["start"].parts]
    ['ab', 'ac']
    """
    runs: Counter[str] = Counter()
    found = {name: _joined(part, text_of, runs) for name, part in rules.items()}
    return found if any(count > 1 for count in runs.values()) else None


def _joined(part: Expression, text_of: TextOf, runs: Counter[str]) -> Expression:
    """Return a part with adjacent texts joined; `runs` counts the first of each row."""

    def rebuilt(node: Expression, parts: list[Expression]) -> Expression:
        match node:
            case Choice():
                return Choice(node.at, tuple(parts))
            case Repeated():
                return Repeated(node.at, parts[0], node.least, node.most)
            case Row():
                return _row(parts, text_of, runs)
            case _:
                return node

    return folded(part, rebuilt)


def _row(parts: list[Expression], text_of: TextOf, runs: Counter[str]) -> Expression:
    found: list[Expression] = []
    texts: list[str] = []  # of the leaves at the end of `found` that are texts
    for part in parts:
        text = text_of(part)
        if text is None:
            texts = []
            found.append(part)
            continue
        texts.append(text)
        if len(texts) == 1:
            found.append(part)
        else:
            runs[texts[0]] += len(texts) == 2
            found[-1] = Text(0, "".join(texts))
    return found[0] if len(found) == 1 else Row(0, tuple(found))
