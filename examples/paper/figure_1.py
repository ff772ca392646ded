"""Figure 1 and Example 1 of Willard & Louf 2023: an FSM for numbers, and its masks.

The states, the arcs and the masks below are copied by hand from the paper; an FSM library and the
engine are held against them. Run ``python examples/paper/figure_1.py``.
"""

from __future__ import annotations

import argparse
import itertools
import sys

from algorithms import fsm_of, step
from interegular.fsm import FSM
from verdicts import Claims

import cfgguide
from cfgguide.automata.determinize import fsm_of_pattern

PATTERN = r"([0-9]*)?\.?[0-9]*"
VOCABULARY = ["A", ".", "42", ".2", "1"]
# Figure 1: from each state over "." and over a digit.
ARCS = {0: {".": 2, "9": 1}, 1: {".": 2, "9": 1}, 2: {"9": 3}, 3: {"9": 3}}
# Example 1, and state 2 by hand. In state 1 the paper prints ".42" for "42": its vocabulary has no
# such string, and the figure shows the second.
MASKS = {0: {".", "42", ".2", "1"}, 1: {".", "42", ".2", "1"}, 2: {"42", "1"}, 3: {"42", "1"}}
SAID = {"": 0, ".2": 3, "1": 1}  # "the FSM is in state 0", "we advance the FSM to state 3", ...


def state_after(text: str) -> int | None:
    """Return the state of Figure 1 after a text."""
    state: int | None = 0
    for character in text:
        state = (
            ARCS[state].get("9" if character.isdigit() else character)
            if state is not None
            else None
        )
    return state


def arcs_of(fsm: FSM) -> dict[int, dict[str, int]]:
    """Return the arcs over a digit and a point, with states numbered as they are reached.

    The library numbers them in the order of a set, which differs from run to run.
    """
    states = [fsm.initial]
    arcs: dict[int, dict[str, int]] = {}
    for number, state in enumerate(states):  # which grows
        arcs[number] = {}
        for character in "9.":
            following = step(fsm, state, character)
            if following is not None:
                if following not in states:
                    states.append(following)
                arcs[number][character] = states.index(following)
    return arcs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter texts")
    n_tokens = 4 if parser.parse_args().quick else 6
    claims = Claims("Figure 1 and Example 1: ([0-9]*)?\\.?[0-9]*")

    fsm = fsm_of(PATTERN)
    arcs = arcs_of(fsm)
    claims.judge(
        "Figure 1: the FSM has the states 0 to 3 with these arcs",
        f"interegular, which the authors used, makes {arcs}",
        "held",
        shown=arcs == ARCS and {text: state_after(text) for text in SAID} == SAID,
    )

    vocabulary = cfgguide.Vocabulary([*map(str.encode, VOCABULARY), None], eos_token_ids=5)
    index = cfgguide.compile(cfgguide.regex(PATTERN), vocabulary)
    n_texts, wrong = 0, []
    for n in range(n_tokens + 1):
        for token_ids in itertools.product(range(len(VOCABULARY)), repeat=n):
            text = "".join(VOCABULARY[i] for i in token_ids)
            state = state_after(text)
            if state is None:
                continue
            guide = cfgguide.Guide(index)
            for token_id in token_ids:
                guide.advance(token_id)
            allowed = set(guide.allowed_token_ids().tolist())
            n_texts += 1
            # Each state of this FSM accepts, so the text may end everywhere.
            if allowed != {VOCABULARY.index(each) for each in MASKS[state]} | {5}:
                wrong.append(text)
    for text, state in SAID.items():
        print(f"          after {text!r:5} state {state}: {' '.join(sorted(MASKS[state]))}")
    claims.judge(
        "Example 1: the masks in states 0, 3 and 1",
        f"the engine's masks after {n_texts} texts of up to {n_tokens} tokens, {len(wrong)} others",
        "held",
        "with '42' where the paper prints '.42', a string that is not in its vocabulary",
        shown=not wrong and n_texts > 50,
    )

    reduced = fsm_of_pattern(PATTERN, name="NUMBER")
    n_live = len(reduced.transitions) - 1  # state 0 is dead
    no_numbers = [
        text for text in ("", ".") if cfgguide.check(cfgguide.regex(PATTERN), text).is_sentence
    ]
    refused = []
    for text in no_numbers:
        try:
            float(text)
        except ValueError:
            refused.append(text)
    number = cfgguide.values.number()
    claims.judge(
        "Example 1: the expression 'can be used to generate floating-point numbers'",
        f"it also matches {no_numbers}; Python's float refuses {refused}",
        "held in part",
        "cfgguide.values.number() is numbers only",
        shown=refused == ["", "."]
        and not any(cfgguide.check(number, each).is_sentence for each in refused),
    )
    claims.judge(
        "Section 5: FSMs that are not reduced have redundant states",
        f"the paper's FSM has {len(fsm.states)} states, the engine's, reduced, {n_live}",
        "held",
        shown=n_live < len(fsm.states),
    )
    return claims.status()


if __name__ == "__main__":
    sys.exit(main())
