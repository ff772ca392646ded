"""Pictures of shares: each dot and interval stands where its numbers say."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from cfgguide.studio.draw.shares import Share, shares_picture

SVG = "{http://www.w3.org/2000/svg}"
SHARES = [
    Share("valid", "free", 0.0, 0.0, 0.0),
    Share("valid", "masked <&>", 1.0, 1.0, 1.0),
    Share("right a", "free", 0.25, 0.1, 0.5),
]


def test_dots_and_intervals_stand_where_their_numbers_say() -> None:
    root = ElementTree.fromstring(shares_picture("A & B", SHARES).svg)
    lines = {
        kind: [
            [float(each) for each in path.attrib["d"][1:].replace(" H", ",").split(",")]
            for path in root.iter(f"{SVG}path")
            if path.attrib["class"] == kind
        ]
        for kind in ("faint", "line")
    }
    dots = [(float(d.attrib["cx"]), float(d.attrib["cy"])) for d in root.iter(f"{SVG}circle")]
    assert len(dots) == len(lines["faint"]) == len(lines["line"]) == len(SHARES)
    for share, (x, y), (left, at, right), (low, _, high) in zip(
        SHARES, dots, lines["faint"], lines["line"], strict=True
    ):
        for place, value in ((x, share.mean), (low, share.low), (high, share.high)):
            assert (place - left) / (right - left) == pytest.approx(value, abs=1e-3)
        assert y == at
    heights = [y for _, y in dots]
    assert heights == sorted(set(heights))
    assert float(root.attrib["width"]) > max(right for _, _, right in lines["faint"])


def test_texts_are_said_once_for_each_group() -> None:
    root = ElementTree.fromstring(shares_picture("A & B", SHARES).svg)
    said = [each.text for each in root.iter(f"{SVG}text")]
    assert said == [
        "A & B",
        "valid",
        "free",
        "0.00",
        "masked <&>",
        "1.00",
        "right a",
        "free",
        "0.25",
    ]
