"""Algorithms 3 and 4 of Willard & Louf 2023, line by line, over the FSMs of `interegular`.

Slow and obvious: what the other scripts compare the engine with. They know nothing of cfgguide.
"""

from __future__ import annotations

from collections.abc import Iterable

import interegular
from interegular.fsm import FSM, anything_else

Sequences = list[list[int]]


def fsm_of(pattern: str) -> FSM:
    """Return the FSM of a pattern, not reduced: the states that the paper's figures have."""
    return interegular.parse_pattern(pattern).to_fsm()


def step(fsm: FSM, state: int, character: str) -> int | None:
    """Return delta(state, character), or None where the FSM does not read it."""
    symbol = fsm.alphabet[character if character in fsm.alphabet else anything_else]
    return fsm.map.get(state, {}).get(symbol)


def find_sub_sequences(fsm: FSM, text: str, *, as_printed: bool = False) -> Sequences:
    """Algorithm 3: the states that the FSM goes through, from each state that reads the text.

    Parameters
    ----------
    as_printed : bool
        Line 6 counts from 1 as the paper prints it, so that the step over the first character is
        never taken. Section 4's own example needs it to count from 0.
    """
    found = []
    for state in sorted(fsm.states):
        if step(fsm, state, text[0]) is None:  # line 4: only states that read the first character
            continue
        path = [state]
        for character in text[as_printed:]:
            following = step(fsm, path[-1], character)
            if following is None:
                path = []
                break
            path.append(following)
        found.append(path)
    return found


def map_states_to_vocab(
    fsm: FSM, vocabulary: Iterable[str], *, as_printed: bool = False
) -> dict[int, set[str]]:
    """Algorithm 4: from each state of the FSM to the strings of the vocabulary that it reads."""
    sigma: dict[int, set[str]] = {state: set() for state in fsm.states}
    for text in vocabulary:
        for path in find_sub_sequences(fsm, text, as_printed=as_printed):
            if path:  # line 8 leaves empty sequences, which start nowhere
                sigma[path[0]].add(text)
    return sigma


def shortest_texts(fsm: FSM) -> dict[int, str]:
    """Return a shortest text that leads from the start to each state."""
    characters = sorted(each for each in fsm.alphabet if isinstance(each, str))
    texts = {fsm.initial: ""}
    queue = list(texts.items())
    for state, text in queue:  # which grows
        for character in characters:
            following = step(fsm, state, character)
            if following is not None and following not in texts:
                texts[following] = text + character
                queue.append((following, texts[following]))
    return texts
