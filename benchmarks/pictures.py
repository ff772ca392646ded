"""Draws the pictures of `docs/performance.md` from the figures of the sections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Figures = dict[str, Any]
LEAST = 0.1  # microseconds, where the axis begins
_COLOURS = {
    "cfgguide": "#0b6e4f",
    "xgrammar": "#c8553d",
    "xgrammar builtin": "#e9a17c",
    "llguidance": "#588fc4",
    "glrmask": "#8e6bb0",
    "outlines-core": "#a0a037",
    "syncode": "#777777",
    "numpy copy": "#bbbbbb",
}


def draw(sections: dict[str, Figures], folder: Path) -> list[str]:
    """Draw what there are figures for, and return the names of the pictures."""
    import matplotlib as mpl

    mpl.use("svg")
    # Text as text, and the same file for the same figures.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "cfgguide", "font.size": 9})
    shown = []
    masks = {
        name.removeprefix("masks-"): figures
        for name, figures in sections.items()
        if name.startswith("masks-")
    }
    if masks:
        _draw_masks(masks, folder / "masks.svg")
        shown.append("masks")
    if "scaling" in sections:
        _draw_scaling(sections["scaling"], folder / "scaling.svg")
        shown.append("scaling")
    return shown


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    # matplotlib leaves spaces at the ends of lines
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


def _draw_masks(masks: dict[str, Figures], path: Path) -> None:
    """Draw a mask's time for each engine: a bar to the p50, a line to the p99, a dot at the max."""
    from matplotlib import pyplot

    panels = [
        (grammar, tokenizer)
        for grammar, figures in masks.items()
        for tokenizer in figures["tokenizers"][-1:]  # the largest vocabulary says it best
    ]
    largest = max(
        times["largest"]
        for _, tokenizer in panels
        for engine in tokenizer["engines"].values()
        for times in engine["microseconds"].values()
    )
    figure, axes = pyplot.subplots(
        len(panels), 2, figsize=(9, 1.5 * len(panels) + 0.6), sharex=True, squeeze=False
    )
    for row, (grammar, tokenizer) in zip(axes, panels, strict=True):
        for axis, call in zip(row, ("warm mask", "cold mask"), strict=True):
            names = list(tokenizer["engines"])[::-1]
            for place, name in enumerate(names):
                times = tokenizer["engines"][name]["microseconds"][call]
                colour = _COLOURS.get(name, "#777777")
                axis.barh(place, times["p50"] - LEAST, left=LEAST, color=colour)
                axis.plot([times["p50"], times["p99"]], [place, place], color=colour)
                axis.plot(times["largest"], place, ".", color=colour)
            axis.set_yticks(range(len(names)), names)
            axis.set_xscale("log")
            axis.minorticks_off()
            axis.set_xlim(LEAST, 2 * largest)
            axis.set_title(f"{grammar}, {tokenizer['size']:,} tokens: {call}", fontsize=9)
            axis.grid(axis="x", alpha=0.3)
    for axis in axes[-1]:
        axis.set_xlabel("microseconds: bar p50, line p99, dot the worst")
    figure.tight_layout()
    _save(figure, path)


def _draw_scaling(figures: Figures, path: Path) -> None:
    """Draw a mask's time against each size, warm and cold."""
    from matplotlib import pyplot

    series = figures["series"]
    n_columns = 3
    n_rows = -(-len(series) // n_columns)
    figure, axes = pyplot.subplots(
        n_rows, n_columns, figsize=(9, 2.6 * n_rows), sharey=True, squeeze=False
    )
    for axis in axes.flat[len(series) :]:
        axis.remove()
    for axis, each in zip(axes.flat, series, strict=False):
        for call, colour in (
            ("cold", "#c8553d"),
            ("new", "#588fc4"),
            ("warm", "#0b6e4f"),
            ("copy", "#999999"),
        ):
            if each[call]:
                axis.plot(each["sizes"], each[call], ".-", color=colour, label=call)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.minorticks_off()
        axis.set_title(each["name"], fontsize=9)
        axis.grid(alpha=0.3)
    for row in axes:
        row[0].set_ylabel("microseconds")
    axes[0][0].legend()
    figure.tight_layout()
    _save(figure, path)
