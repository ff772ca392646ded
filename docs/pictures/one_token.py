"""Draws one token's way through scanner, parser and index, for docs/how-a-mask-is-made.md.

``one-token.svg`` shows all steps side by side. ``one-token.html`` has the same steps one after the
other, for the site: `docs/_static/animation.js` plays them, and without it they are all there. The
steps are read off the tables of the grammar, and compared with what the recogniser says.

Run ``python docs/pictures/one_token.py``; `tests/project/test_docs.py` checks that both are
current.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from textwrap import wrap

import numpy as np

import cfgguide
from cfgguide.engine.liveness.liveness import Liveness

FOLDER = Path(__file__).parent
TEXT, TOKEN = b"((", b"a)"
INDEX = cfgguide.compile(
    cfgguide.Grammar('start: "(" start ")" | A\nA: /a+/'),
    cfgguide.Vocabulary([b"(", b"a", b"a)", b"))", None], eos_token_ids=4),
)
WIDTH, HEIGHT, RADIUS = 720, 330, 16
PLACES = {1: (60, 170), 2: (60, 265), 3: (390, 265), 4: (210, 100), 5: (390, 170), 6: (210, 265)}
STYLE = """
.one-token text{font-family:ui-monospace,Menlo,Consolas,monospace;text-anchor:middle;
fill:var(--color-foreground-primary,#202124);font-size:14px}
.one-token .small{font-size:11px;fill:var(--color-foreground-muted,#5f6368)}
.one-token .head{font-size:12px;font-weight:bold;text-anchor:start}
.one-token .edge{fill:none;stroke:var(--color-foreground-muted,#80868b)}
.one-token .tip{fill:var(--color-foreground-muted,#80868b)}
.one-token .state,.one-token .box{fill:var(--color-background-primary,#fff);
stroke:var(--color-foreground-muted,#80868b)}
.one-token .now{fill:var(--color-brand-primary,#1f5fa8);stroke:var(--color-brand-primary,#1f5fa8)}
.one-token .was{stroke:var(--color-brand-primary,#1f5fa8);stroke-width:2}
.one-token text.on{fill:var(--color-background-primary,#fff);font-weight:bold}
.one-token .live{fill:#2b7a4b;stroke:#2b7a4b}.one-token .dead{fill:#b3541e;stroke:#b3541e}
.one-token text.white{fill:#fff}
"""


@dataclass(frozen=True, slots=True)
class Step:
    """What there is at one moment, and what has just happened."""

    caption: str
    n_read: int  # bytes of the token
    state: int  # of the scanner
    stack: tuple[int, ...]
    before: int | None = None  # the scanner state that the step came from
    is_pushed: bool = False  # whether the parser has just pushed a state
    verdict: str = ""
    mask: tuple[tuple[str, bool], ...] = field(default=())


def steps() -> list[Step]:
    """Return the steps, from the configuration before the token to the entry in the index."""
    recognizer, vocabulary = INDEX.machine.recognizer, INDEX.vocabulary
    table, scanner = recognizer.parse_table, recognizer.scanner
    before = recognizer.advance(recognizer.initial, TEXT)
    assert before is not None
    (start,) = before.hypotheses
    now = Step(
        f"The text so far is `{TEXT.decode()}`. Its last bracket is still with the scanner, in "
        f"state {start.scanner_state}; the parser's stack holds what came before. May the token "
        f"`{TOKEN.decode()}` follow?",
        0,
        start.scanner_state,
        tuple(start.stack)[::-1],
    )
    found = [now]
    for n_read, byte in enumerate(TOKEN, start=1):
        shown = chr(byte)
        column = scanner.byte_classes[byte]
        if not scanner.transitions[now.state, column]:
            terminal = int(scanner.match[now.state])
            name = table.terminals[terminal]
            pushed = int(table.action[now.stack[-1], terminal]) - 1
            assert pushed >= 0, "this text needs no reduction"
            now = Step(
                f"Byte `{shown}`: no arrow leads on from state {now.state}, so the lexeme is over. "
                f"State {now.state} matches {name}; the parser shifts it and pushes {pushed}.",
                n_read - 1,
                now.state,
                (*now.stack, pushed),
                is_pushed=True,
            )
            found.append(now)
            begun = int(scanner.starts[table.set_of_state[pushed], 0])
            following = int(scanner.transitions[begun, column])
            caption = (
                f"Parse state {pushed} says which terminals may come, so the scanner starts anew "
                f"from {begun}, and `{shown}` leads to {following}."
            )
        else:
            begun = now.state
            following = int(scanner.transitions[begun, column])
            caption = f"Byte `{shown}` leads the scanner from {begun} to {following}."
        now = Step(caption, n_read, following, now.stack, before=begun)
        found.append(now)
        terminal = int(scanner.match[following])
        if terminal >= 0 and not scanner.transitions[following].any():
            action = int(table.action[now.stack[-1], terminal])
            if action < 0:  # the lexeme is certain, and so is what it makes the parser do
                left, right = table.productions[-action - 1]
                below = now.stack[: -len(right)]
                pushed = int(table.goto[below[-1], table.nonterminals.index(left)])
                caption = (
                    f"Nothing leads on from state {following}: the lexeme can only be "
                    f"{table.terminals[terminal]}. So the parser reduces at once: "
                    f"{' '.join(right)} has become {left}, and {pushed} stands for it."
                )
                now = replace(
                    now, caption=caption, stack=(*below, pushed), before=None, is_pushed=True
                )
                found.append(now)
    after = recognizer.advance(before, TOKEN)
    assert after is not None
    (end,) = after.hypotheses
    assert (end.scanner_state, tuple(end.stack)[::-1]) == (now.state, now.stack)
    assert not Liveness(recognizer, vocabulary.spelling).is_live(after)
    now = replace(
        now,
        caption="The token can be read. Can a sentence still follow? One bracket is open, and of "
        "the tokens only `))` begins with a closing one: it would close two. This is a dead end.",
        before=None,
        verdict="dead end",
    )
    found.append(now)
    bits = INDEX.mask_of(before).bitmask
    mask = tuple(
        ((token or b"").decode(), bool(bits[number // 32] >> (number % 32) & 1))
        for number, token in enumerate(vocabulary.tokens)
        if token is not None
    )
    caption = (
        "All tokens are judged in one walk. The index keeps the mask under what it depends on: the "
        "scanner's state and the stack from the top. The next guide that comes there looks it up."
    )
    found.append(replace(found[0], caption=caption, mask=mask))
    return found


def picture(step: Step) -> str:
    """Return the drawing of a step, as parts of an SVG."""
    return "\n".join([*_bytes(step), *_scanner(step), *_stack(step), *_index(step)])


def _bytes(step: Step) -> list[str]:
    parts = [_text("text", 20, 26, "head"), _text("token", 190, 26, "head")]
    for number, byte in enumerate(TEXT):
        parts += _box(70 + 34 * number, 8, 28, chr(byte))
    for number, byte in enumerate(TOKEN):
        is_read = number < step.n_read
        parts += _box(245 + 34 * number, 8, 28, chr(byte), "now" if is_read else "")
    if step.verdict:
        parts += _box(340, 8, 100, step.verdict, "dead")
    return parts


def _scanner(step: Step) -> list[str]:
    fsm, table = INDEX.machine.recognizer.scanner, INDEX.machine.recognizer.parse_table
    parts = [_text("scanner", 20, 68, "head")]
    for state in PLACES:
        for byte in b"(a)":
            following = int(fsm.transitions[state, fsm.byte_classes[byte]])
            if following:
                is_taken = step.before == state and step.state == following
                parts += _arrow(state, following, chr(byte), is_taken)
    sets = {int(start): number for number, start in enumerate(fsm.starts[:, 0])}
    for state, (x, y) in PLACES.items():
        kind = "now" if state == step.state else "was" if state == step.before else ""
        parts.append(f'<circle class="state {kind}" cx="{x}" cy="{y}" r="{RADIUS}"/>')
        parts.append(_text(str(state), x, y + 5, "on" if state == step.state else ""))
        match = int(fsm.match[state])
        note = f"match {table.terminals[match]}" if match >= 0 else f"start {sets[state]}"
        parts.append(_text(note, x, y + RADIUS + 14, "small"))
    return parts


def _stack(step: Step) -> list[str]:
    parts = [_text("parser's stack", 470, 68, "head")]
    for number, state in enumerate(step.stack):
        is_new = step.is_pushed and number == len(step.stack) - 1
        parts += _box(490, 250 - 36 * number, 60, str(state), "now" if is_new else "")
    parts.append(_text("bottom", 520, 296, "small"))
    return parts


def _index(step: Step) -> list[str]:
    parts = [_text("index", 600, 68, "head")]
    if step.mask:
        path = [str(step.state), *map(str, reversed(step.stack))]
        for number, name in enumerate(path):
            x = 615 + 34 * number
            parts.append(f'<circle class="state" cx="{x}" cy="110" r="13"/>')
            parts.append(_text(name, x, 115))
            if number:
                parts.append(f'<path class="edge" d="M{x - 21},110 h8"/>')
        for number, (token, is_allowed) in enumerate(step.mask):
            kind = "live" if is_allowed else "dead"
            parts += _box(
                600, 140 + 34 * number, 84, f"{token} {'yes' if is_allowed else 'no'}", kind
            )
        parts.append(_text("may it come?", 642, 296, "small"))
    return parts


def _box(x: float, y: float, width: float, inside: str, kind: str = "") -> list[str]:
    shown = {"": "", "now": "on"}.get(kind, "white")
    return [
        f'<rect class="box {kind}" x="{x}" y="{y}" width="{width}" height="28" rx="4"/>',
        _text(inside, x + width / 2, y + 19, shown),
    ]


def _text(text: str, x: float, y: float, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _arrow(start: int, end: int, label: str, is_taken: bool) -> list[str]:
    (x1, y1), (x2, y2) = PLACES[start], PLACES[end]
    kind = "edge was" if is_taken else "edge"
    if start == end:
        path = f"M{x1 - 9},{y1 - 13} C{x1 - 26},{y1 - 48} {x1 + 26},{y1 - 48} {x1 + 9},{y1 - 14}"
        middle: tuple[float, float] = (x1, y1 - 44)
    else:
        length = float(np.hypot(x2 - x1, y2 - y1))
        dx, dy = RADIUS * (x2 - x1) / length, RADIUS * (y2 - y1) / length
        path = f"M{x1 + dx:.0f},{y1 + dy:.0f} L{x2 - dx:.0f},{y2 - dy:.0f}"
        middle = ((x1 + x2) / 2, (y1 + y2) / 2 - 7)
    arrow = f'<path class="{kind}" d="{path}" marker-end="url(#one-token-tip)"/>'
    return [arrow, _text(label, *middle)]


def _svg_head(width: int, height: int, label: str) -> str:
    return (
        f'<svg class="one-token" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" role="img" aria-label="{escape(label)}">\n<style>{STYLE}</style>\n'
        '<defs><marker id="one-token-tip" markerWidth="8" markerHeight="8" refX="8" refY="4" '
        'orient="auto" markerUnits="userSpaceOnUse"><path class="tip" d="M0,0 L8,4 L0,8 z"/>'
        "</marker></defs>"
    )


LABEL = f"The bytes of the token {TOKEN.decode()} after {TEXT.decode()}"


def storyboard() -> str:
    """Return all steps side by side, as an SVG that needs no script."""
    scale, rows = 0.56, 250
    width, height = 840, rows * ((len(steps()) + 1) // 2) + 10
    parts = [
        _svg_head(width, height, LABEL),
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, step in enumerate(steps()):
        x, y = 10 + 415 * (number % 2), 10 + rows * (number // 2)
        parts.append(f'<g transform="translate({x} {y})">')
        parts.append(f'<rect class="box" width="405" height="{rows - 10}" rx="6"/>')
        parts.append(f'<g transform="scale({scale})">{picture(step)}</g>')
        quoted = step.caption.replace("`", "'")
        for row, line in enumerate(wrap(f"{number + 1}. {quoted}", 58)):
            parts.append(
                f'<text class="small" style="text-anchor:start;font-size:10px" x="12" '
                f'y="{190 + 13 * row}">{escape(line)}</text>'
            )
        parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def _with_code(caption: str) -> str:
    """Return HTML with what stands between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(caption))


def moving() -> str:
    """Return the steps one over the other, with their captions, as a part of a page."""
    found = steps()
    groups = "\n".join(
        f'<g data-step="{number}">{picture(step)}</g>' for number, step in enumerate(found)
    )
    captions = "\n".join(
        f'<li data-step="{number}">{_with_code(step.caption)}</li>'
        for number, step in enumerate(found)
    )
    return f"""\
<figure class="moving" data-moving>
<div class="moving-picture" tabindex="0" role="group" aria-label="{escape(LABEL)}">
{_svg_head(WIDTH, HEIGHT, LABEL)}
{groups}
</svg>
</div>
<ol>
{captions}
</ol>
</figure>
"""


PICTURES = {"one-token.svg": storyboard, "one-token.html": moving}


def main() -> None:
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
