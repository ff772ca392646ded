"""Shares with their intervals, as a picture: a row for each, one below the other.

In: names, means and bounds from 0 to 1. Out: a :class:`~cfgguide.studio.draw.picture.Picture`. ::

    valid       free      0 |--o--------------| 1
                masked    0 |----------------o| 1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cfgguide.studio.draw.graph import FONT, width_of
from cfgguide.studio.draw.layers import MARGIN
from cfgguide.studio.draw.picture import Picture
from cfgguide.studio.draw.svg import escaped, framed, number

_ROW, _GAP, _LENGTH, _RADIUS = 20.0, 10.0, 300.0, 4.0


class Share(NamedTuple):
    """A share and its interval, with the group that it is in."""

    group: str
    name: str
    mean: float
    low: float
    high: float


def shares_picture(title: str, shares: Sequence[Share], notes: Sequence[str] = ()) -> Picture:
    """Return a picture of shares; those of a group stand together.

    Examples
    --------
    >>> shares_picture("A", [Share("valid", "free", 0.5, 0.4, 0.6)]).svg.count("<circle")
    1
    """
    groups = max(width_of((each.group,)) for each in shares)
    left = MARGIN + groups + _GAP + max(width_of((each.name,)) for each in shares) + _GAP
    body, y, before = [], _ROW, None
    for each in shares:
        if each.group != before:
            y += _GAP * (before is not None)
            body.append(_text(each.group, MARGIN, y, "title"))
        before = each.group
        body.append(_text(each.name, MARGIN + groups + _GAP, y, "label"))
        low, mean, high = (left + _LENGTH * share for share in (each.low, each.mean, each.high))
        body += [
            _line(left, left + _LENGTH, y, "faint"),
            _line(low, high, y, "line"),
            f'<circle class="live" cx="{number(mean)}" cy="{number(y)}" r="{_RADIUS:g}"/>',
            _text(f"{each.mean:.2f}", left + _LENGTH + _GAP, y, "label"),
        ]
        y += _ROW
    width = left + _LENGTH + _GAP + width_of(("0.00",)) + MARGIN
    return Picture(framed(title, body, width=width, height=y, notes=notes))


def _text(text: str, x: float, y: float, kind: str) -> str:
    place = f'x="{number(x)}" y="{number(y + FONT * 0.35)}"'
    return f'<text class="{kind}" text-anchor="start" {place}>{escaped(text)}</text>'


def _line(begin: float, end: float, y: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{number(begin)},{number(y)} H{number(end)}"/>'
