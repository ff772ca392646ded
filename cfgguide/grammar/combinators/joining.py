"""Parts beside each other that are one part.

In: a part. Out: a part with the same sentences, in which adjacent texts and values are one, and
alternatives that are texts and values too. Repetitions inside of each other are multiplied out, and
what several alternatives begin with is taken out of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from cfgguide.automata.rewrite import rewritten
from cfgguide.grammar.combinators.parts import Either, Part, Regular, Repeated, Sequence, Special
from cfgguide.grammar.combinators.patterns import literal, regular


def joined(part: Part) -> Part:
    """Return a part with its regular parts joined where possible."""
    if isinstance(part, Sequence):
        return _sequence(part.parts)
    if isinstance(part, Either):
        return _either(part.parts)
    if not isinstance(part, Repeated):
        return part
    body = joined(part.part)
    if isinstance(body, Regular) and _is_one_pattern(body):
        times = f"{{{part.least},{'' if part.most is None else part.most}}}"
        return regular(rewritten(f"(?:{body.pattern}){times}")[0])
    return _repeated(body, part.least, part.most)


def _repeated(body: Part, least: int, most: int | None) -> Part:
    """Return a repeated part; a repetition inside it is multiplied out where that is exact.

    Up to `a` times up to `b` times is up to `ab` times. But two repetitions, once or twice, are two
    or four, not three.
    """
    if not isinstance(body, Repeated) or body.least > 1:
        return Repeated(body, least, most)
    most_of_all = None if most is None or body.most is None else most * body.most
    return Repeated(body.part, least * body.least, most_of_all)


def _sequence(parts: Iterable[Part]) -> Part:
    found: list[Part] = []
    for each in map(joined, parts):
        for inner in each.parts if isinstance(each, Sequence) else (each,):
            before = found[-1] if found else None
            if isinstance(inner, Regular) and inner.text == "":
                continue
            if isinstance(before, Regular) and isinstance(inner, Regular) and _fit(before, inner):
                found[-1] = _two(before, inner)
            else:
                found.append(inner)
    if not found:
        return literal("")
    return found[0] if len(found) == 1 else Sequence(tuple(found))


def _either(parts: Iterable[Part]) -> Part:
    """Return one of some parts; regular ones are one."""
    found: list[Part] = []
    patterns: list[Regular] = []
    for each in map(joined, parts):
        for inner in each.parts if isinstance(each, Either) else (each,):
            if isinstance(inner, Regular) and not inner.looks:
                patterns.append(inner)
            else:
                found.append(inner)
    if len(patterns) == 1:
        found.append(patterns[0])
    elif patterns:
        pattern = "|".join(f"(?:{each.pattern})" for each in patterns)
        found.append(regular(rewritten(pattern)[0]))
    return _with_common_begin(found)


def _with_common_begin(parts: list[Part]) -> Part:
    """Return one of some parts; those that begin with the same text or token go on after it."""
    begun: dict[Part, list[Part]] = {}
    for each in dict.fromkeys(parts):
        first = each.parts[0] if isinstance(each, Sequence) else each
        begun.setdefault(first if _is_begin(first) else each, []).append(each)
    found = [
        of_one[0] if len(of_one) == 1 else _sequence((first, _either(map(_rest, of_one))))
        for first, of_one in begun.items()
    ]
    return found[0] if len(found) == 1 else Either(tuple(found))


def _rest(part: Part) -> Part:
    """Return a part without the first one in it."""
    return _sequence(part.parts[1:] if isinstance(part, Sequence) else ())


def _is_begin(part: Part) -> bool:
    """Return whether several parts may begin with this one."""
    return isinstance(part, Special) or (isinstance(part, Regular) and part.text is not None)


def _is_one_pattern(part: Regular) -> bool:
    return len(part.patterns) <= 1 and not part.looks


def _fit(first: Regular, second: Regular) -> bool:
    return _is_one_pattern(first) and _is_one_pattern(second)


def _two(first: Regular, second: Regular) -> Regular:
    if first.text is not None and second.text is not None:
        return literal(first.text + second.text)
    return regular(rewritten(f"(?:{first.pattern})(?:{second.pattern})")[0])
