"""`Index.is_at_end` is quick, and says what the terminals that may come next say."""

from __future__ import annotations

import random
import warnings

import pytest
from support.walked_grammars import GRAMMARS

import cfgguide
from cfgguide import Grammar, Vocabulary

SQL = ["SELECT", " ", "a", "1", ";", "FROM", ",", "\n", "--", "x;", "1;", " ;"]
ENDING = 'start: A (";" NEVER?)?\nA: /a+/\n%declare NEVER\n%ignore " "\n%ignore /#a*/'
CASES = {
    **{name: (Grammar(text), tokens) for name, (text, tokens) in GRAMMARS.items()},
    "what can never follow": (Grammar(ENDING), [b"a", b";", b" ", b"#", b"a;", b"aa", b"a "]),
    "one statement": (Grammar.bundled("sql", start="statement"), [text.encode() for text in SQL]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_it_is_the_end_if_no_terminal_may_come(name):
    grammar, tokens = CASES[name]
    vocabulary = Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    with warnings.catch_warnings(action="ignore"):
        index = cfgguide.compile(grammar, vocabulary)
    rng = random.Random(7)
    for _ in range(15):
        step = index.start
        for _ in range(20):
            is_sentence = index.machine.is_sentence(step.configuration)
            expected = set(index.machine.expected(step.configuration)) == {"$END"}
            assert index.is_at_end(step) == (is_sentence and expected)
            ids = [each for each in index.allowed(step).token_ids() if each < len(tokens)]
            if not ids:
                break
            step = index.advance(step, int(rng.choice(ids)))


def test_it_is_not_the_end_if_only_a_long_lexeme_may_come():
    """Of hundreds of allowed tokens one goes on, and its terminal is far away."""
    grammar = Grammar('start: A | LONG\nA: "a"\nLONG: /ax{150}y/\n%ignore " "')
    vocabulary = Vocabulary(
        [b"a", *(b" " * n for n in range(1, 300)), b"x", b"y", None], eos_token_ids=302
    )
    index = cfgguide.compile(grammar, vocabulary)
    after_a = index.advance(index.start, 0)
    assert not index.is_at_end(after_a)
    assert index.is_at_end(index.advance(after_a, 1))
