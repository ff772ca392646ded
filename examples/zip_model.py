"""A language model made of zlib: a token that compresses well after a text is likely to follow it.

The model has read a page. If a token makes the compressed page and text n bits longer, its weight
is 2 to the power of -n. There are no weights and no framework: `cfgguide.sample` takes any
function from token ids to logits. The grammar leaves the choice between two names. Run
``python examples/zip_model.py``.
"""

from __future__ import annotations

import math
import sys
import zlib
from collections.abc import Sequence

import numpy as np

import cfgguide

# Herman Melville, Moby-Dick; or, The Whale (1851), from chapter 1, 36, 41 and 133.
PAGE = b"""
call me ishmael. some years ago never mind how long precisely having little or no money in my
purse, and nothing particular to interest me on shore, i thought i would sail about a little and
see the watery part of the world. captain ahab, i have heard of moby dick but it was not moby dick
that took off thy leg? i, ishmael, was one of that crew; my shouts had gone up with the rest.
there she blows! a hump like a snow-hill! it is moby dick!
"""
WORDS = [b"ishmael", b"moby dick", b"captain ahab", b"call me ", b"it is ", b"."]
LETTERS = [bytes([letter]) for letter in b" abcdefghijklmnopqrstuvwxyz"]
TOKENS = [*WORDS, *LETTERS, None]
EOS = len(TOKENS) - 1
TAILS = [b"0123456789"[:n] for n in range(8)]
VOCABULARY = cfgguide.Vocabulary(TOKENS, eos_token_ids=EOS)

GRAMMAR = """
start: ("call me " | "it is ") name "."
name: "ishmael" | "moby dick"
"""


def model(token_ids: Sequence[int]) -> np.ndarray:
    """Return the logits of the next token, shape (n_tokens,): -ln 2 times the bits that it costs.

    zlib pads its last byte, so each length is a mean over tails that end at different bits. EOS
    counts as a line break.
    """
    compressor = zlib.compressobj(9)
    head = compressor.compress(PAGE + VOCABULARY.spell(token_ids))

    def n_bits(token: bytes) -> float:
        total = 0
        for tail in TAILS:
            branch = compressor.copy()
            total += len(head) + len(branch.compress(token + tail)) + len(branch.flush())
        return 8 * total / len(TAILS)

    costs = [n_bits(token or b"\n") for token in TOKENS]
    return -math.log(2) * (np.array(costs) - n_bits(b""))


def main() -> int:
    index = cfgguide.compile(cfgguide.Grammar(GRAMMAR), VOCABULARY)
    texts = []
    for prefix in (b"call me ", b"it is "):
        prefix_ids = [WORDS.index(prefix)]
        result = cfgguide.sample(
            model, index=index, prefix_ids=prefix_ids, max_new_tokens=20, temperature=0
        )
        texts.append(result.text)
        print(f"{result.text}  (the most likely token at each step)")
        steered = cfgguide.decoding.steer(
            model,
            index=index,
            prefix_ids=prefix_ids,
            n_particles=1000,
            max_new_tokens=20,
            temperature=4.0,
            seed=0,
        )
        for text, share in steered.probabilities().items():
            print(f"  {share:6.1%}  {text}")
        n = math.exp(-steered.log_evidence)
        print(f"  Without the mask, at temperature 4, one text in {n:,.0f} is one of these two.")
    return 0 if texts[0] == "call me ishmael." else 1


if __name__ == "__main__":
    sys.exit(main())
