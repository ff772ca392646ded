"""Draws the pictures of docs/how-a-mask-is-made.md from its grammar, tables and vocabulary trie.

Run ``python docs/pictures/one_mask.py``; `tests/project/test_docs.py` checks that the pictures are
current.
"""

from __future__ import annotations

from html import escape
from itertools import accumulate
from pathlib import Path

import numpy as np

import cfgguide
from cfgguide.liveness.liveness import Liveness

FOLDER = Path(__file__).parent
TEXT = b"(("  # the mask after it is drawn
INDEX = cfgguide.compile(
    cfgguide.Grammar('start: "(" start ")" | A\nA: /a+/'),
    cfgguide.Vocabulary([b"(", b"a", b"a)", b"))", None], eos_token_ids=4),
)
RADIUS = 17
BLACK, LIVE, DEAD_END, UNREAD = "#202124", "#2b7a4b", "#b3541e", "#9aa0a6"
Point = tuple[float, float]


class Drawing:
    """An SVG picture of states, by their names, and arrows between them."""

    def __init__(self, places: dict[object, Point]) -> None:
        self._places = places
        self._parts: list[str] = []

    def state(self, name: object, inside: str, note: str = "", *, colour: str = BLACK) -> None:
        """Draw a state, with a note below it."""
        x, y = self._places[name]
        self._parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS}" fill="white" stroke="{colour}"/>'
        )
        self._text(inside, x, y + 5, colour)
        for row, line in enumerate(note.split("\n")):
            self._text(line, x, y + RADIUS + 15 + 14 * row, colour, size=11)

    def arrow(self, start: object, end: object, label: str) -> None:
        """Draw an arrow, or a loop where both ends are one state."""
        (x1, y1), (x2, y2) = self._places[start], self._places[end]
        if start == end:
            path = f"M{x1 - 10:g},{y1 - 14:g} C{x1 - 26:g},{y1 - 52:g} {x1 + 26:g},{y1 - 52:g} "
            path += f"{x1 + 10:g},{y1 - 14:g}"
            middle = (x1, y1 - 46)
        else:
            length = float(np.hypot(x2 - x1, y2 - y1))
            dx, dy = RADIUS * (x2 - x1) / length, RADIUS * (y2 - y1) / length
            path = f"M{x1 + dx:.0f},{y1 + dy:.0f} L{x2 - dx:.0f},{y2 - dy:.0f}"
            middle = ((x1 + x2) / 2, (y1 + y2) / 2 - 7)
        arrow = f'<path d="{path}" fill="none" stroke="{BLACK}" marker-end="url(#tip)"/>'
        self._parts.append(arrow)
        self._text(label, *middle, BLACK)

    def _text(self, text: str, x: float, y: float, colour: str, *, size: int = 14) -> None:
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}">{escape(text)}</text>'
        )

    def svg(self, width: int, height: int) -> str:
        """Return the picture as text."""
        tip = '<path d="M0,0 L8,4 L0,8 z"/>'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                f'width="{width}" font-family="monospace" text-anchor="middle">',
                '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="8" refY="4" '
                f'orient="auto" markerUnits="userSpaceOnUse">{tip}</marker></defs>',
                f'<rect width="{width}" height="{height}" fill="white"/>',
                *self._parts,
                "</svg>\n",
            ]
        )


def parser() -> str:
    """Return the LALR automaton: shifts, gotos and reductions."""
    table = INDEX.recognizer.parse_table
    drawing = Drawing(
        {0: (70, 70), 1: (145, 190), 2: (220, 70), 3: (50, 190), 4: (370, 70), 5: (520, 70)}
    )
    for state, terminal in np.argwhere(table.action > 0).tolist():
        drawing.arrow(state, int(table.action[state, terminal]) - 1, table.terminals[terminal])
    for state, left in np.argwhere(table.goto >= 0).tolist():
        drawing.arrow(state, int(table.goto[state, left]), table.nonterminals[left])
    for state in range(table.n_states):
        least = int(table.action[state].min())
        left, right = table.productions[-least - 1] if least < 0 else ("", ())
        reduction = f"reduce {left}\n-> {' '.join(right)}" if least < 0 else ""
        drawing.state(state, str(state), "accept" if state == table.end_state else reduction)
    return drawing.svg(610, 250)


def scanner() -> str:
    """Return the union FSMs of the terminal sets, which share their states."""
    table, fsm = INDEX.recognizer.parse_table, INDEX.recognizer.scanner
    places: dict[object, Point] = {
        1: (70, 80), 2: (70, 200), 3: (400, 200), 4: (230, 40), 5: (400, 120), 6: (230, 200),
    }  # fmt: skip
    drawing = Drawing(places)
    sets = {int(start): number for number, start in enumerate(fsm.starts[:, 0])}
    for state in places:
        for byte in b"(a)":
            following = int(fsm.transitions[state, fsm.byte_classes[byte]])
            if following:
                drawing.arrow(state, following, chr(byte))
    for state in places:
        match = int(fsm.match[state])
        note = f"match {table.terminals[match]}" if match >= 0 else f"start of set {sets[state]}"
        drawing.state(state, str(state), note)
    return drawing.svg(480, 250)


def walk() -> str:
    """Return the vocabulary trie, and what each of its nodes leads to."""
    recognizer, vocabulary = INDEX.recognizer, INDEX.vocabulary
    liveness = Liveness(recognizer, vocabulary.spelling)
    before = recognizer.advance(recognizer.initial, TEXT)
    assert before is not None
    places: dict[object, Point] = {b"": (90, 150)}
    tokens = sorted(token for token in vocabulary.tokens if token)
    nodes = sorted({prefix for token in tokens for prefix in accumulate(map(_byte, token))})
    first_bytes = sorted({node[:1] for node in nodes})
    for node in nodes:
        places[node] = (90 + 230 * len(node), 50 + 100 * first_bytes.index(node[:1]))
    drawing = Drawing(places)
    for node in nodes:
        drawing.arrow(node[:-1], node, chr(node[-1]))
    (start,) = before.hypotheses
    drawing.state(
        b"", str(start.scanner_state), f"after {TEXT.decode()}\n{list(start.stack)[::-1]}"
    )
    for node in nodes:
        after = recognizer.advance(before, node)
        if after is None:
            is_first = recognizer.advance(before, node[:-1]) is not None
            note = "cannot be read" if is_first else "not visited"
            drawing.state(node, "0" if is_first else "", note, colour=UNREAD)
            continue
        (hypothesis,) = after.hypotheses
        is_live = liveness.is_live(after)
        verdict = "live: allowed" if is_live else "dead end: masked"
        note = f"{list(hypothesis.stack)[::-1]}\n{verdict}"
        colour = LIVE if is_live else DEAD_END
        drawing.state(node, str(hypothesis.scanner_state), note, colour=colour)
    return drawing.svg(640, 310)


def _byte(value: int) -> bytes:
    return bytes([value])


PICTURES = {"one-mask-parser": parser, "one-mask-scanner": scanner, "one-mask-walk": walk}


def main() -> None:
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
