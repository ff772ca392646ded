"""A grammar of two words with several spellings, and models of it as arrays."""

from __future__ import annotations

import numpy as np

import cfgguide
from support.table_models import spellings, table_model

# Texts of two or three letters, most of which can be spelled in several ways.
TOKENS = [b"a", b"b", b"c", b"ab", b"bc", None]


EOS = 5


SENTENCES = ["ac", "bc", "aac", "abc", "bac", "bbc"]


INDEX = cfgguide.compile(
    cfgguide.Grammar('start: ("a" | "b")~1..2 "c"'), cfgguide.Vocabulary(TOKENS, eos_token_ids=EOS)
)


SPELLINGS = spellings(TOKENS, EOS, SENTENCES, 5)


YES_NO = cfgguide.compile(
    cfgguide.Grammar('start: "yes" | "no"'),
    cfgguide.Vocabulary([b"yes", b"no", None], eos_token_ids=2),
)


class Batched:
    """A table model that takes many sequences at once, and notes what it was asked."""

    def __init__(self, seed):
        self.model, self.asked = table_model(6, seed), []

    def logits(self, sequences):
        self.asked.append(list(sequences))
        return np.array([self.model(each) for each in sequences])


def packed(*token_ids):
    return np.array([sum(1 << token_id for token_id in token_ids)], dtype=np.int32)
