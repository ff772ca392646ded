"""Algorithms 3 and 4 of Willard & Louf 2023 beside the engine's masks, with a real vocabulary.

The algorithms are written out in `algorithms.py`, over FSMs of `interegular`. For each state of
each FSM a shortest text leads a guide there, and its mask is compared with the state's subset of
the vocabulary. Run ``python examples/paper/example_1.py``, with ``--tokenizer FOLDER`` for another
vocabulary than SmolLM2's.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from algorithms import fsm_of, map_states_to_vocab, shortest_texts
from verdicts import Claims

import cfgguide
from cfgguide.models.load import load_tokenizer

# Of the paper: Example 1, section 3.1, section 3.2. In interegular the classes are ASCII's.
OCTET = r"(25[0-5]|2[0-4]\d|[01]?\d\d?)"
PATTERNS = {
    "number": r"([0-9]*)?\.?[0-9]*",
    "answer": r"\s*([Yy]es|[Nn]o|[Nn]ever|[Aa]lways)",
    "year": r"\s*19[0-9]{2}",
    "address": rf"({OCTET}\.){{3}}{OCTET}",
    "name": r"[^\W\d]\w*",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", help="a folder with a tokenizer.json; default: SmolLM2's")
    parser.add_argument("--quick", action="store_true", help="leave out the largest pattern")
    options = parser.parse_args()
    claims = Claims("Algorithms 3 and 4, and the cost of a mask")
    vocabulary = cfgguide.Vocabulary.of(load_tokenizer(options.tokenizer))
    # One character a byte, so that parts of characters have a text too. These patterns are ASCII.
    texts = {i: each.decode("latin-1") for i, each in enumerate(vocabulary.tokens) if each}
    token_of_byte = {text: token_id for token_id, text in texts.items() if len(text) == 1}

    n_states = n_different = n_ends = n_misprinted = n_members = 0
    nbytes = 0
    for name, pattern in PATTERNS.items():
        if options.quick and name == "name":
            continue
        fsm = fsm_of(pattern)
        sigma = map_states_to_vocab(fsm, set(texts.values()))
        printed = map_states_to_vocab(fsm, set(texts.values()), as_printed=True)
        index = cfgguide.compile(cfgguide.regex(pattern, flags=re.ASCII), vocabulary)
        for state, text in shortest_texts(fsm).items():
            guide = cfgguide.Guide(index)
            for character in text:
                guide.advance(token_of_byte[character])
            allowed = set(guide.allowed_token_ids().tolist())
            ends = not allowed.isdisjoint(vocabulary.eos_token_ids)
            subset = {i for i, each in texts.items() if each in sigma[state]}
            n_states += 1
            n_different += allowed - set(vocabulary.eos_token_ids) != subset
            n_ends += ends == (state in fsm.finals)
            n_misprinted += sigma[state] != printed[state]
            n_members += len(subset)
        nbytes += index.nbytes
        print(
            f"          {name:8} {len(sigma):3} states, {sum(map(len, sigma.values())):7,} members"
        )
    claims.judge(
        "Algorithm 4: sigma(q) holds the strings that the FSM accepts in state q",
        f"{n_states} states, {vocabulary.size:,} tokens: {n_different} masks of the engine differ; "
        f"EOS is allowed where the state is final, in {n_ends} of {n_states}",
        "held",
        "for characters of one byte; EOS is not in sigma and has to be added",
        shown=n_different == 0 and n_ends == n_states,
    )
    claims.judge(
        "Algorithm 3 as printed: line 6 counts from 1",
        f"{n_misprinted} of {n_states} states get another subset than with a count from 0",
        "did not hold",
        "the step over the first character is left out; section 4's example has it",
        shown=n_misprinted > 0,
    )
    claims.judge(
        "Section 3: sigma 'theoretically requires memory equal to the number of states'",
        f"{n_states} states, but {n_members:,} members in all; the engine's indexes take "
        f"{nbytes / 1e3:,.0f} kB",
        "held in part",
        "it has that many sets, each of up to N strings",
        shown=n_members > n_states,
    )
    return _cost(claims, vocabulary, options.quick)


def _cost(claims: Claims, vocabulary: cfgguide.Vocabulary, quick: bool) -> int:
    """Time the parts of a mask's way to the logits for growing vocabularies."""
    rows = []
    n_words = []
    for n in (1 << 12, 1 << 14, vocabulary.size):
        tokens = [*vocabulary.tokens[: n - 1], None]
        part = cfgguide.Vocabulary(tokens, eos_token_ids=n - 1)
        index = cfgguide.compile(cfgguide.regex(PATTERNS["name"]), part)
        guide = cfgguide.Guide(index)
        out = np.zeros(part.n_words, dtype=np.int32)
        logits = np.zeros(n, dtype=np.float32)
        guide.fill_bitmask(out)  # made now, found from here on
        n_words.append(len(out))
        fill = _microseconds(partial(guide.fill_bitmask, out), 200 if quick else 2000)
        bits = np.unpackbits(out.view(np.uint8), bitorder="little")[:n].astype(bool)
        apply = _microseconds(partial(np.where, bits, logits, -np.inf), 200)
        rows.append(f"N = {n:,}: found and written {fill:.1f} us, applied {apply:.0f} us")
    claims.judge(
        "Section 3: a hash map makes line 5 of Algorithm 2, the mask, 'cost only O(1) on average'",
        "; ".join(rows),
        "held in part",
        "finding it does; writing it into a row takes N/8 bytes, and line 6 multiplies N logits",
        shown=n_words == [-(-n // 32) for n in (1 << 12, 1 << 14, vocabulary.size)],
    )
    return claims.status()


def _microseconds(call: Callable[[], object], n: int) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(n):
        started = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - started)
    return statistics.median(times) / 1e3


if __name__ == "__main__":
    sys.exit(main())
