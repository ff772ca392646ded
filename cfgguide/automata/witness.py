"""Example texts of terminals, found in their FSMs.

In: the FSMs of one or two terminals. Out: a shortest text that they match. Among texts of the same
length, readable ones go first: letters before digits before signs. Every search visits a bounded
number of states, so that a message never waits long for its example.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import product

import numpy as np

from cfgguide.automata.dfa import DEAD, N_BYTES, Fsm

DEFAULT_MAX_PAIRS = 20_000  # of states, in the search for a text of two FSMs

_LETTERS = range(ord("a"), ord("z") + 1)
_CAPITALS = range(ord("A"), ord("Z") + 1)
_DIGITS = range(ord("0"), ord("9") + 1)
_SIGNS = [byte for byte in range(0x21, 0x7F) if not chr(byte).isalnum()]
_READABLE = [*_LETTERS, *_CAPITALS, *_DIGITS, *_SIGNS, ord(" "), ord("\n"), ord("\t")]
PREFERRED = [*_READABLE, *(byte for byte in range(N_BYTES) if byte not in _READABLE)]


def shortest_text(fsm: Fsm) -> str | None:
    """Return a shortest text of one or more characters that an FSM matches as a whole.

    >>> from cfgguide.automata.determinize import fsm_of_pattern
    >>> shortest_text(fsm_of_pattern("[0-9a-f]{2}|x{3}", name="HEX"))
    'aa'
    """
    return shared_text(fsm, fsm)


def shared_text(first: Fsm, second: Fsm, *, max_pairs: int = DEFAULT_MAX_PAIRS) -> str | None:
    r"""Return a shortest text that both FSMs match as a whole, or None if none was found.

    Both outcomes of assertions are followed, and the FSMs check what is found.

    >>> from cfgguide.automata.determinize import fsm_of_pattern
    >>> shared_text(fsm_of_pattern("[a-z]+", name="A"), fsm_of_pattern("..y", name="B"))
    'aay'
    >>> shared_text(fsm_of_pattern("[a-z]+", name="A"), fsm_of_pattern(r"\bif\b|x+z", name="B"))
    'if'
    """
    steps = _joint_steps(first, second)
    is_plain = not (first.questions or second.questions)
    starts = product(first.resolved(int(first.starts[0])), second.resolved(int(second.starts[0])))
    paths: dict[tuple[int, int], bytes] = dict.fromkeys(starts, b"")
    pending = deque(paths)
    while pending and len(paths) <= max_pairs:
        here = pending.popleft()
        for byte, moved in steps:
            path = paths[here] + bytes([byte])
            for following in product(
                first.resolved(moved[0][here[0]]), second.resolved(moved[1][here[1]])
            ):
                if DEAD in following or following in paths:
                    continue
                paths[following] = path
                is_final = first.is_final[following[0]] and second.is_final[following[1]]
                if is_final and (is_plain or first.match(path) == second.match(path) == len(path)):
                    return path.decode("utf-8", errors="replace")
                pending.append(following)
    return None


def is_part_of(part: Fsm, whole: Fsm) -> bool:
    """Return whether every text that `part` matches as a whole is matched so by `whole`.

    The assertions of `part` may have any outcome; `whole` must have none.

    >>> from cfgguide.automata.determinize import fsm_of_pattern
    >>> is_part_of(fsm_of_pattern("a+", name="A"), fsm_of_pattern("[ab]+", name="B"))
    True
    """
    steps = _joint_steps(part, whole)
    (start,) = whole.starts.tolist()
    seen = {(resolved, start) for each in part.starts.tolist() for resolved in part.resolved(each)}
    pending = list(seen)
    while pending:
        here = pending.pop()
        for _, moved in steps:
            for resolved in part.resolved(moved[0][here[0]]):
                following = resolved, moved[1][here[1]]
                if resolved == DEAD or following in seen:
                    continue
                if part.is_final[resolved] and not whole.is_final[following[1]]:
                    return False
                seen.add(following)
                pending.append(following)
    return True


def is_unbounded(fsm: Fsm) -> bool:
    """Return whether an FSM matches texts of any length.

    >>> from cfgguide.automata.determinize import fsm_of_pattern
    >>> is_unbounded(fsm_of_pattern("a{3,9}(?=b*c)", name="A"))
    False
    >>> is_unbounded(fsm_of_pattern("a{3,}", name="A"))
    True
    """
    following: dict[int, set[int]] = {}
    pending = [resolved for start in fsm.starts.tolist() for resolved in fsm.resolved(start)]
    while pending:
        state = pending.pop()
        if state not in following and state != DEAD:
            moved = set(fsm.transitions[state].tolist())
            following[state] = {each for target in moved for each in fsm.resolved(target)} - {DEAD}
            pending.extend(following[state])
    # Every state can still match, so any loop makes the language infinite. States are removed once
    # all states before them are; the states that remain are on a loop or after one.
    n_before = Counter(target for targets in following.values() for target in targets)
    free = [state for state in following if not n_before[state]]
    for state in free:  # grows while it is walked
        for target in following[state]:
            n_before[target] -= 1
            if not n_before[target]:
                free.append(target)
    return len(free) < len(following)


def _joint_steps(first: Fsm, second: Fsm) -> list[tuple[int, tuple[list[int], list[int]]]]:
    """Return one byte of each joint byte class, most readable first, and where it leads."""
    classes = np.stack([first.byte_classes, second.byte_classes])[:, PREFERRED]
    kept = np.sort(np.unique(classes, axis=1, return_index=True)[1])
    return [
        (
            PREFERRED[index],
            (first.transitions[:, mine].tolist(), second.transitions[:, its].tolist()),
        )
        for index, (mine, its) in zip(kept.tolist(), classes[:, kept].T.tolist(), strict=True)
    ]
