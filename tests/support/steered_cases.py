"""Small grammars and models on which steering can be compared with exact enumeration."""

from __future__ import annotations

import cfgguide
from support.table_models import spellings
from support.yes_no import INDEX, SPELLINGS

# Brackets: sentences of any length, so that many particles are still open when the tokens run out.
BRACKETS = [b"(", b")", b"()", None]


OF_BRACKETS = ["()", "()()", "(())", "()()()", "(())()", "()(())", "(()())", "((()))"]


MOST = 6


OPEN_INDEX = cfgguide.compile(
    cfgguide.Grammar('start: pair+\npair: "(" pair* ")"'),
    cfgguide.Vocabulary(BRACKETS, eos_token_ids=3),
)


def bracket_spellings(most):
    """All spellings of at most so many ids; five tokens and EOS spell texts of up to 10 bytes."""

    def sentences(n_pairs):  # by Dyck's definition
        if n_pairs == 0:
            return [""]
        return [
            f"({inner}){rest}"
            for inside in range(n_pairs)
            for inner in sentences(inside)
            for rest in sentences(n_pairs - 1 - inside)
        ]

    texts = [text for n_pairs in range(1, most) for text in sentences(n_pairs)]
    assert set(OF_BRACKETS) <= set(texts)
    return spellings(BRACKETS, 3, texts, most)


CASES = {"letters": (INDEX, SPELLINGS, 5), "brackets": (OPEN_INDEX, bracket_spellings(MOST), MOST)}
