"""Figure 2 of Willard & Louf 2023: seconds of generation against the number of tokens.

The paper generates a name with GPT-2 on a GPU, and plots the seconds of Guidance, which then
matched each token of the vocabulary anew, beside those of Outlines. Here SmolLM2-135M writes on the
processor with the prompt and the pattern of the paper, each way to find a mask after another: that
of 2023, rewritten in four lines; cfgguide; outlines-core, XGrammar and llguidance; Guidance as it
is today, with its own loop; and no mask at all. Then the masks are timed alone, without the model.

The most probable token is taken at each step, and the end of the text is never allowed, so that
each writes as many tokens. With the model the seconds are those of the processor, with one thread,
so that others on the machine matter little. Run ``python examples/paper/figure_2.py``;
`requirements.txt` has what to install. It draws `docs/pictures/paper-figure-2.svg`.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from maskers import MASKERS, PATTERN
from verdicts import Claims

import cfgguide
from cfgguide.models import load_model

PROMPT = "What is a good Python variable name? "
PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "paper-figure-2.svg"
COLOURS = {
    "partial matching, 2023": "#777777",
    "Guidance, today": "#8e6bb0",
    "outlines-core": "#a0a037",
    "llguidance": "#588fc4",
    "xgrammar": "#c8553d",
    "cfgguide": "#0b6e4f",
    "no mask": "#bbbbbb",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=100, help="the longest text")
    parser.add_argument("--quick", action="store_true", help="8 tokens, and no picture")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    options = parser.parse_args()
    n = 8 if options.quick else options.tokens
    claims = Claims("Figure 2: time against the number of tokens")
    model, tokenizer = load_model()
    importlib.import_module("torch").set_num_threads(1)
    vocabulary = cfgguide.Vocabulary.of(tokenizer)
    model.register_forward_hook(_never(vocabulary.eos_token_ids))

    maskers, missing = {}, []
    for name, kind in MASKERS.items():
        try:
            maskers[name] = kind(tokenizer, vocabulary)
        except ImportError as error:
            missing.append(f"{name} ({error.name})")
    write(model, tokenizer, None, 2)  # the first call takes longer
    ids: dict[str, list[int]] = {}
    seconds: dict[str, list[float]] = {}
    alone: dict[str, list[float]] = {}
    seconds["no mask"], _, _ = write(model, tokenizer, None, n)
    for name, masker in maskers.items():
        seconds[name], ids[name], alone[name] = write(model, tokenizer, masker, n)
        if name != "partial matching, 2023":  # the others are too quick for the processor's clock
            alone[name] = masks_alone(masker, ids[name])
    lengths = list(range(1, n + 1))
    points = {name: (lengths, each) for name, each in seconds.items()}
    try:
        points["Guidance, today"] = guidance_today(model, tokenizer, n)
    except ImportError as error:
        missing.append(f"Guidance ({error.name})")

    for name, (at, values) in points.items():
        line = f"          {name:23} {values[-1]:7.2f} s for {at[-1]} tokens"
        if name in alone:
            slope = float(np.polyfit(range(n), alone[name], 1)[0])
            line += f"; a mask alone {statistics.median(alone[name]):11,.1f} us, "
            line += f"{slope:+8.2f} us a token"
        print(line)
    if missing:
        print(f"          not installed: {', '.join(missing)}")
    print(f"          written: {tokenizer.decode(ids['cfgguide'])[:70]!r}")

    matched = maskers["partial matching, 2023"].n_matches
    made = maskers["cfgguide"].index.n_made
    both = "partial matching, 2023", "cfgguide"
    ratio = statistics.median(alone[both[0]]) / statistics.median(alone[both[1]])
    share = sum(alone["cfgguide"]) / 1e6 / seconds["cfgguide"][-1]
    claims.judge(
        "section 3.2: matching N tokens from the start of the text grows with it; an index not",
        f"{n} tokens: {seconds[both[0]][-1]:.1f} s and {seconds[both[1]][-1]:.1f} s, of them the "
        f"model {seconds['no mask'][-1]:.1f} s; a mask alone takes {ratio:,.0f} times as long; "
        f"{matched:,} matches, {made} masks made",
        "held in part",
        "the way of 2023 matches N texts a token, the index makes a mask for each state. But the "
        "matching alone does not take as long as the figure shows",
        shown=matched == n * vocabulary.size and made <= 3,
    )
    claims.judge(
        "README of Outlines: 'almost as fast as non-guided generation'",
        f"masks are {100 * share:.4f} % of the time of generation here",
        "held",
        "as in docs/performance.md, which measures it in rounds",
        shown=ids[both[0]] == ids[both[1]] and (options.quick or share < 0.05),
    )
    if len(points) > 3:
        named = sorted(
            (statistics.median(each), name) for name, each in alone.items() if name != both[0]
        )
        claims.judge(
            "today: Guidance has taken over the idea, and so have others",
            ", ".join(f"{name} {each:.1f} us" for each, name in named) + " for a mask",
            "held",
            "the gap of figure 2 is gone: the model's step takes thousands of times as long",
            shown=all(each == ids[both[0]] for each in ids.values()),
        )
    if not options.quick:
        draw(points, alone, options.picture)
    return claims.status()


def _never(token_ids: tuple[int, ...]) -> Any:
    """Return a hook that takes some tokens out of a model's logits."""

    def hook(_module: Any, _inputs: Any, output: Any) -> Any:
        output.logits[..., list(token_ids)] = float("-inf")
        return output

    return hook


def write(
    model: Any, tokenizer: Any, masker: Any, n: int
) -> tuple[list[float], list[int], list[float]]:
    """Return the seconds until each token was written, the tokens, and masks' microseconds."""
    torch = importlib.import_module("torch")
    inputs = tokenizer(PROMPT, return_tensors="pt")["input_ids"]
    seconds, ids, masks, past = [], [], [], None
    started = time.process_time()
    if masker is not None:
        masker.start()
    with torch.inference_mode():
        for _ in range(n):
            out = model(input_ids=inputs, past_key_values=past, use_cache=True)
            past, logits = out.past_key_values, out.logits[0, -1]
            if masker is not None:
                before = time.process_time()
                masker.fill()
                masks.append(1e6 * (time.process_time() - before))
                bits = np.unpackbits(masker.mask.view(np.uint8), bitorder="little")
                allowed = torch.from_numpy(bits[: len(logits)]).bool()
                logits = logits.masked_fill(~allowed, float("-inf"))
            token_id = int(logits.argmax())
            if masker is not None:
                masker.advance(token_id)
            inputs = torch.tensor([[token_id]])
            ids.append(token_id)
            seconds.append(time.process_time() - started)
    return seconds, ids, masks


def guidance_today(model: Any, tokenizer: Any, n: int) -> tuple[list[int], list[float]]:
    r"""Return numbers of tokens that Guidance writes in its own loop, and the seconds for each.

    Where its pattern may end, Guidance ends it if the model's choice does not fit, so here it may
    not end that early: ``[^\W\d]\w{800}``.
    """
    guidance = importlib.import_module("guidance")
    _crop_as_before()
    pattern = PATTERN.removesuffix("*") + f"{{{8 * n}}}"
    with warnings.catch_warnings(action="ignore"):  # of a chat template, which is not used
        start = guidance.models.Transformers(model, tokenizer, echo=False)
    lengths = [n] if n < 25 else [n // 4, n // 2, n]
    seconds, written = [], []
    for length in lengths:
        started = time.process_time()
        lm = (
            start + PROMPT + guidance.gen("name", regex=pattern, max_tokens=length, temperature=0.0)
        )
        seconds.append(time.process_time() - started)
        written.append(len(tokenizer.encode(lm["name"], add_special_tokens=False)))
    return written, seconds


def _crop_as_before() -> None:
    """Let caches be cropped to a length, as Guidance 0.3.1 asks of transformers 4."""
    cache = importlib.import_module("transformers.cache_utils").DynamicCache
    crop = cache.crop

    def crop_to(self: Any, length: int) -> None:
        n_removed = self.get_seq_length() - length if length > 0 else -length
        if n_removed:
            crop(self, -n_removed)

    cache.crop = crop_to


def masks_alone(masker: Any, ids: list[int]) -> list[float]:
    """Return the microseconds of fill and advance for each of these tokens; the median of 20."""
    times = np.zeros((20, len(ids)))
    for row in times:
        masker.start()
        for step, token_id in enumerate(ids):
            started = time.perf_counter_ns()
            masker.fill()
            masker.advance(token_id)
            row[step] = time.perf_counter_ns() - started
    return list(np.median(times, axis=0) / 1e3)


def draw(points: dict[str, Any], alone: dict[str, list[float]], path: Path) -> None:
    """Draw the paper's figure, and beside it the masks alone."""
    try:
        mpl = importlib.import_module("matplotlib")
    except ImportError:
        print("matplotlib is not installed: no picture")
        return
    mpl.use("svg")
    # Text as text, and the same file for the same figures.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "cfgguide", "font.size": 9})
    figure, (left, right) = importlib.import_module("matplotlib.pyplot").subplots(
        1, 2, figsize=(9, 3.4)
    )
    for name, colour in COLOURS.items():
        if name in points:
            style = "o-" if name == "Guidance, today" else "-"
            left.plot(*points[name], style, color=colour, label=name, markersize=4)
        if name in alone:
            right.plot(range(1, len(alone[name]) + 1), alone[name], color=colour, label=name)
    left.set_xlabel("generated tokens")
    left.set_ylabel("seconds of the processor")
    left.set_title("generation, model included", fontsize=9)
    left.legend(fontsize=8)
    right.set_yscale("log")
    right.minorticks_off()
    right.set_xlabel("generated tokens")
    right.set_ylabel("microseconds")
    right.set_title("a mask and a step, without the model", fontsize=9)
    for axis in (left, right):
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
