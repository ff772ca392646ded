"""Pictures of texts: tokens as boxes, their terminals, and how many tokens each mask allows."""

from __future__ import annotations

from collections.abc import Sequence

from cfgguide.engine.index.index import Index
from cfgguide.errors import DrawingError, shown
from cfgguide.studio.draw.byte_labels import shown_token
from cfgguide.studio.draw.graph import FONT, width_of
from cfgguide.studio.draw.picture import Picture
from cfgguide.studio.draw.svg import escaped, framed, number
from cfgguide.studio.draw.traced import Step, Trace, tones, traced

_WIDTH, _GAP, _PADDING = 900.0, 6.0, 9.0
_TOP, _BOX, _LINE = 26.0, 30.0, 13.0
_MOST_CHARACTERS = 40  # of a token
_DEFAULT_MAX_TOKENS = 400

#: Colours of the terminals: light fill, light text, dark fill, dark text.
PALETTE = (
    ("#d9efe0", "#0d4f2a", "#17452c", "#b9f0cf"), ("#dbe7fb", "#143f80", "#1b3560", "#c6dcff"),
    ("#fbe3d3", "#7a3608", "#552a10", "#ffd6bb"), ("#eadcf7", "#55217f", "#40235a", "#e6ccff"),
    ("#fdf0c4", "#5f4a00", "#4a3d0d", "#fbe9a3"), ("#d3f1f1", "#0a4d50", "#10444a", "#b5eff2"),
    ("#f9dbe7", "#7d1746", "#551e38", "#ffcbe0"), ("#e4ead2", "#3f4d12", "#35400f", "#dcebab"),
)  # fmt: skip
PLAIN = ("#ececee", "#4a4e54", "#33373e", "#c9cdd3")
REFUSED = ("#ffd9d6", "#8c1107", "#6b1a14", "#ffcfca")


def text(
    index: Index,
    text_or_token_ids: str | bytes | Sequence[int],
    *,
    tokenizer: object = None,
    max_tokens: int = _DEFAULT_MAX_TOKENS,
) -> Picture:
    """Return the picture of a text under its masks.

    Each token is a box in the colour of the terminal that it ends in. Above it stands how many
    tokens were allowed there, below it the terminals that it spells. The picture ends at the first
    token that is refused, which is red.

    Parameters
    ----------
    index : Index
        Of a grammar and a vocabulary.
    text_or_token_ids : str, bytes, or sequence of int
        A text, or its tokens.
    tokenizer : tokenizer, optional
        Cuts a text into tokens. Without one, the longest token of the vocabulary comes at each
        place.
    max_tokens : int
        Most tokens that are drawn.

    Raises
    ------
    DrawingError
        If this is no index, or there are more tokens.
    TextError
        If the vocabulary cannot spell the text.

    Examples
    --------
    >>> import cfgguide
    >>> index = cfgguide.compile("json", cfgguide.Vocabulary.of_bytes([b"[1", b", "]))
    >>> picture = cfgguide.draw.text(index, "[1, 2]")
    >>> "NUMBER" in picture.svg, picture.dot
    (True, None)
    """
    if not isinstance(index, Index):
        raise DrawingError(f"a text is drawn with an Index, not with {shown(index)}")
    trace = traced(index, text_or_token_ids, tokenizer=tokenizer)
    if len(trace.steps) > max_tokens:
        raise DrawingError(
            f"the text has {len(trace.steps):,} tokens, and max_tokens is {max_tokens:,}; draw a "
            "shorter text, or give max_tokens="
        )
    return Picture(_svg(trace))


def _svg(trace: Trace) -> str:
    colours = tones(trace.steps, len(PALETTE))
    parts: list[str] = []
    y = widest = 0.0
    for row in _rows(trace.steps):
        deepest = max(len(step.terminals) + (not step.is_allowed) for step in row)
        x = 14.0
        for step in row:
            width = _width(step)
            parts.append(_box(step, x, y, width, colours))
            x += width + _GAP
        widest = max(widest, x)
        y += _TOP + _BOX + _LINE * deepest + 14
    return framed(
        "tokens, the terminals that they spell, and how many tokens their masks allow",
        parts,
        width=widest + 8,
        height=y,
        notes=_notes(trace),
        rules=list(style_rules()),
    )


def style_rules() -> list[tuple[str, str, str]]:
    """Return the rules of the style sheet for terminals, on light and on dark pages."""
    named = [(f"k{place}", colours) for place, colours in enumerate(PALETTE)]
    rules = []
    for name, (fill, ink, dark_fill, dark_ink) in [*named, ("kx", PLAIN), ("kr", REFUSED)]:
        rules.append((f"rect.{name}", f"fill:{fill}", f"fill:{dark_fill}"))
        rules.append((f"text.{name}", f"fill:{ink}", f"fill:{dark_ink}"))
    rules.append((".small", "font-size:11px;fill:#5f6368", "fill:#a2a9b1"))
    return rules


def tone_of(step: Step, colours: dict[str, int]) -> str:
    """Return the class of a token's colour."""
    if not step.is_allowed:
        return "kr"
    return f"k{colours[step.terminals[-1]]}" if step.terminals else "kx"


def _rows(steps: Sequence[Step]) -> list[list[Step]]:
    """Return the tokens in lines that are not too wide."""
    rows: list[list[Step]] = []
    room = 0.0
    for step in steps:
        width = _width(step) + _GAP
        if width > room or not rows:
            rows.append([])
            room = _WIDTH
        rows[-1].append(step)
        room -= width
    return rows


def _width(step: Step) -> float:
    lines = (_short(step), f"{len(step.before.allowed):,}")
    small = width_of(tuple(step.terminals)) * 9.5 / FONT
    return max(width_of(lines), small) + 2 * _PADDING


def _short(step: Step) -> str:
    written = shown_token(step.token, is_eos=not step.token)
    return written if len(written) <= _MOST_CHARACTERS else f"{written[: _MOST_CHARACTERS - 1]}…"


def _box(step: Step, x: float, y: float, width: float, colours: dict[str, int]) -> str:
    centre, tone = number(x + width / 2), tone_of(step, colours)
    names = "".join(
        f'<text class="small" style="font-size:9.5px" x="{centre}" '
        f'y="{number(y + _TOP + _BOX + 12 + _LINE * row)}">{escaped(name)}</text>'
        for row, name in enumerate((*step.terminals, *["refused"] * (not step.is_allowed)))
    )
    n_allowed = len(step.before.allowed)
    tip = escaped(f"token {step.token_id}; {n_allowed:,} tokens may stand here")
    return (
        f'<g class="token"><title>{tip}</title>'
        f'<text class="small" x="{centre}" y="{number(y + _TOP - 8)}">{n_allowed:,}</text>'
        f'<rect class="{tone}" x="{number(x)}" y="{number(y + _TOP)}" width="{number(width)}" '
        f'height="{_BOX:g}" rx="6"/><text class="{tone}" x="{centre}" '
        f'y="{number(y + _TOP + 20)}">{escaped(_short(step))}</text>{names}</g>'
    )


def _notes(trace: Trace) -> list[str]:
    said = [f"above: tokens that may stand there, of {trace.vocabulary.size:,}; below: terminals"]
    if trace.end is None:
        said += str(trace.steps[-1].explanation).splitlines()[:1]
    elif trace.end.is_sentence:
        said.append("the text is a sentence")
    else:
        said.append("the text is not a sentence yet")
    return said
