r"""Texts in a row as one text, where LALR(1) needs to see more than the first of them.

In: rules as :mod:`cfgguide.grammar.llguidance.nonempty_parts`. Out: the same with adjacent texts
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

from cfgguide.grammar.llguidance.nonempty_parts import Alternatives, Leaf, Part, Sequence, Times

TextOf = Callable[[Leaf], str | None]


def fused(rules: Mapping[str, Part], text_of: TextOf) -> dict[str, Part] | None:
    """Return rules with adjacent texts joined; None if no two rows begin with the same text.

    Parameters
    ----------
    rules : mapping of str to Part
        The rules.
    text_of : callable
        Returns the text that a leaf stands for, or None if it is none.

    Examples
    --------
    >>> a, b, c = (Leaf("literal", (letter, False)) for letter in "abc")
    >>> rules = {"start": Alternatives((Sequence((a, b)), Sequence((a, c))))}
    >>> found = fused(rules, lambda leaf: leaf.key[0])
    >>> [part.key[0] for part in found["start"].parts]
    ['ab', 'ac']
    """
    runs: Counter[str] = Counter()
    found = {name: _joined(part, text_of, runs) for name, part in rules.items()}
    return found if any(count > 1 for count in runs.values()) else None


def _joined(part: Part, text_of: TextOf, runs: Counter[str]) -> Part:
    """Return a part with adjacent texts joined; `runs` counts the first of each row."""
    match part:
        case Leaf():
            return part
        case Alternatives():
            return Alternatives(tuple([_joined(each, text_of, runs) for each in part.parts]))
        case Times():
            return Times(_joined(part.part, text_of, runs), part.least, part.most)
        case Sequence():
            return _row(part, text_of, runs)


def _row(sequence: Sequence, text_of: TextOf, runs: Counter[str]) -> Part:
    found: list[Part] = []
    texts: list[str] = []  # of the leaves at the end of `found` that are texts
    for part in (_joined(each, text_of, runs) for each in sequence.parts):
        text = text_of(part) if isinstance(part, Leaf) else None
        if text is None:
            texts = []
            found.append(part)
            continue
        texts.append(text)
        if len(texts) == 1:
            found.append(part)
        else:
            runs[texts[0]] += len(texts) == 2
            found[-1] = Leaf("literal", ("".join(texts), False))
    return found[0] if len(found) == 1 else Sequence(tuple(found))
