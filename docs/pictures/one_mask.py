"""Draws the pictures of docs/how-a-mask-is-made.md from its grammar, tables and vocabulary trie.

Run ``python docs/pictures/one_mask.py``; `tests/project/test_docs.py` checks that the pictures are
current.
"""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import cfgguide
from cfgguide import draw
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.studio.draw.graph import Arrow, Graph, State
from cfgguide.studio.draw.picture import picture_of

FOLDER = Path(__file__).parent
TEXT = b"(("  # the mask after it is drawn
INDEX = cfgguide.compile(
    cfgguide.Grammar('start: "(" start ")" | A\nA: /a+/'),
    cfgguide.Vocabulary([b"(", b"a", b"a)", b"))", None], eos_token_ids=4),
)


def parser() -> str:
    """Return the LALR automaton: shifts, gotos and reductions."""
    return draw.parser(INDEX, layout="layers").svg


def scanner() -> str:
    """Return the union FSMs of the terminal sets, which share their states."""
    return draw.scanner(INDEX, layout="layers").svg


def walk() -> str:
    """Return the vocabulary trie, and what each of its nodes leads to."""
    recognizer, vocabulary = INDEX.machine.recognizer, INDEX.vocabulary
    liveness = Liveness(recognizer, vocabulary.spelling)
    before = recognizer.advance(recognizer.initial, TEXT)
    assert before is not None
    tokens = sorted(token for token in vocabulary.tokens if token)
    nodes = [b"", *sorted({part for token in tokens for part in accumulate(map(_byte, token))})]
    arrows = [
        Arrow(nodes.index(node[:-1]), number, (chr(node[-1]),))
        for number, node in enumerate(nodes)
        if node
    ]
    (start,) = before.hypotheses
    first = State((f"state {start.scanner_state}", f"stack {_stack(start)}"), is_start=True)
    states = [first, *(_reached(before, node, recognizer, liveness) for node in nodes[1:])]
    graph = Graph(f"one walk: the mask after {TEXT.decode()}", tuple(states), tuple(arrows))
    return picture_of(graph, layout="layers", max_states=len(states)).svg


def _reached(
    before: Configuration, node: bytes, recognizer: Recognizer, liveness: Liveness
) -> State:
    """Return what a node of the vocabulary trie leads to."""
    after = recognizer.advance(before, node)
    if after is None:
        is_first = recognizer.advance(before, node[:-1]) is not None
        return State(("cannot be read" if is_first else "not visited",), tone="faint")
    (hypothesis,) = after.hypotheses
    lines = f"state {hypothesis.scanner_state}", f"stack {_stack(hypothesis)}"
    if liveness.is_live(after):
        return State((*lines, "live: allowed"), tone="live")
    return State((*lines, "dead end: masked"), tone="question")


def _stack(hypothesis: Hypothesis) -> list[int]:
    return list(hypothesis.stack)[::-1]


def _byte(value: int) -> bytes:
    return bytes([value])


PICTURES = {"one-mask-parser": parser, "one-mask-scanner": scanner, "one-mask-walk": walk}


def main() -> None:
    for name, drawn in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    main()
