r"""Draws the pictures of Willard & Louf 2023 anew, from real objects.

* ``paper-figure-1.svg``: the FSM of ``([0-9]*)?\.?[0-9]*``. The paper's has four states, ours is
  minimal: two of the paper's states accept the same texts, and so do the other two.
* ``paper-masks.svg``: the masks of the paper's example vocabulary in each state, and where its
  tokens lead; the map of section 3 from states to subsets of the vocabulary.
* ``paper-section-4.svg``: a Python function, token by token, as in section 4; what its masks allow
  is the same map for parser and scanner together.

Run ``python docs/pictures/paper.py``; `tests/project/test_docs.py` checks that the pictures are
current.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import cfgguide
from cfgguide import draw
from cfgguide.studio.draw.graph import Arrow, Graph, State
from cfgguide.studio.draw.picture import picture_of

FOLDER = Path(__file__).parent
PATTERN = r"([0-9]*)?\.?[0-9]*"
TOKENS = ["A", ".", "42", ".2", "1"]
FUNCTION = ["d", "ef", " f", "oo(", "):", " ", "pass"]
OTHERS = ["f", "def", "(", ")", ":", "x", "\n", "\n  ", "if", "-> int", "*", ", ", "=", "@"]


def figure_1() -> str:
    """Return the FSM of the regular expression."""
    return draw.fsm(PATTERN, layout="layers").svg


def masks() -> str:
    """Return the masks of the vocabulary in each state that its tokens lead to."""
    vocabulary = cfgguide.Vocabulary(
        [token.encode() for token in TOKENS] + [None], eos_token_ids=len(TOKENS)
    )
    index = cfgguide.compile(re.compile(PATTERN), vocabulary)
    numbers = {cfgguide.Guide(index).configuration: 0}
    guides, arrows, states = [cfgguide.Guide(index)], [], []
    for here, guide in enumerate(guides):  # grows while it is walked
        allowed = guide.allowed_token_ids().tolist()
        words = [*TOKENS, "EOS"]
        masked = [word for token_id, word in enumerate(words) if token_id not in allowed]
        lines = (
            f"may follow: {' '.join(words[each] for each in allowed)}",
            f"masked: {' '.join(masked)}",
        )
        states.append(State(lines, is_start=here == 0, is_final=guide.is_accepting))
        reached: dict[int, list[str]] = {}
        for token_id in (each for each in allowed if each < len(TOKENS)):
            following = guide.copy()
            following.advance(token_id)
            if following.configuration not in numbers:
                numbers[following.configuration] = len(guides)
                guides.append(following)
            number = numbers[following.configuration]
            reached.setdefault(number, []).append(TOKENS[token_id])
        arrows += [Arrow(here, number, (" ".join(names),)) for number, names in reached.items()]
    title = f"masks for the tokens {' '.join(TOKENS)}"
    graph = Graph(title, tuple(states), tuple(arrows))
    return picture_of(graph, layout="layers", max_states=len(states)).svg


def section_4() -> str:
    """Return a Python function under its masks."""
    words = FUNCTION + OTHERS
    vocabulary = cfgguide.Vocabulary(
        [word.encode() for word in words] + [None], eos_token_ids=len(words)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most of Python can't be spelled with these
        index = cfgguide.compile(cfgguide.Grammar.bundled("python", start="function"), vocabulary)
    return draw.text(index, range(len(FUNCTION))).svg


PICTURES: dict[str, Callable[[], str]] = {"paper-figure-1": figure_1, "paper-masks": masks}
SLOW_PICTURES: dict[str, Callable[[], str]] = {"paper-section-4": section_4}


def main() -> None:
    for name, drawn in (PICTURES | SLOW_PICTURES).items():
        (FOLDER / f"{name}.svg").write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    main()
