"""A language model made of zlib: what compresses well behind a text is likely to follow it.

It has read a page, and a token's share is 2 to the minus the bits by which the compressed page and
text grow if the token is put behind them. No weights, no framework: a function from token ids to
logits, as `cfgguide.sample` takes any. The grammar leaves it the choice between two names.
Run it with ``python examples/zip_model.py``.
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
    """Return the logits of the next token, shape (n_tokens,): minus the bits it costs, times ln 2.

    zlib fills up its last byte. So each length is a mean over tails, which end at different bits.
    EOS is a line break.
    """
    read = zlib.compressobj(9)
    begun = read.compress(PAGE + VOCABULARY.spell(token_ids))

    def n_bits(token: bytes) -> float:
        total = 0
        for tail in TAILS:
            end = read.copy()
            total += len(begun) + len(end.compress(token + tail)) + len(end.flush())
        return 8 * total / len(TAILS)

    costs = [n_bits(token or b"\n") for token in TOKENS]
    return -math.log(2) * (np.array(costs) - n_bits(b""))


def main() -> int:
    index = cfgguide.compile(cfgguide.Grammar(GRAMMAR), VOCABULARY)
    texts = []
    for beginning in (b"call me ", b"it is "):
        begun = [WORDS.index(beginning)]
        written = cfgguide.sample(
            model, index=index, prefix_ids=begun, max_new_tokens=20, temperature=0
        )
        texts.append(written.text)
        print(f"{written.text}  (the likeliest token each time)")
        steered = cfgguide.decoding.steer(
            model,
            index=index,
            prefix_ids=begun,
            n_particles=1000,
            max_new_tokens=20,
            temperature=4.0,
            seed=0,
        )
        for text, share in steered.probabilities().items():
            print(f"  {share:6.1%}  {text}")
        n = math.exp(-steered.log_evidence)
        print(f"  By itself the model, at temperature 4, writes one of the two once in {n:,.0f}.")
    return 0 if texts[0] == "call me ishmael." else 1


if __name__ == "__main__":
    sys.exit(main())
