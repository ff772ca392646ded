"""A live text has an ending that is read off the proof of it: Lark parses the two together."""

from __future__ import annotations

import random

import lark
import pytest

import cfgguide
from cfgguide.engine.liveness.proof import ProvedEndings

_BYTES = cfgguide.Vocabulary.of_bytes([])
GRAMMARS = {
    "json": cfgguide.Grammar.bundled("json"),
    "brackets": cfgguide.Grammar('start: "(" start? ")" | "[" start? "]"'),
    "names side by side": cfgguide.Grammar('start: NAME "of" NAME\nNAME: /[a-z]+/\n%ignore " "'),
    "look-ahead": cfgguide.Grammar(
        'start: (DO NAME)~6\nDO: /do(?![a-z])/\nNAME: /(?![a-z]*q)[a-z]+/\n%ignore " "'
    ),
    "one terminal": cfgguide.Grammar("start: A\nA: /[a-z]+/"),
    "empty rules": cfgguide.Grammar('start: a b a\na: | "x"\nb: | "y" b'),
    "ambiguous": cfgguide.Grammar(
        'start: sum\nsum: sum "+" sum | sum "*" sum | "(" sum ")" | N\nN: /[0-9]+/\n%ignore " "',
        parser="earley",
    ),
    "what swallows all": cfgguide.Grammar('start: A B | "x" "y" "z"\nA: /a(?s:.)*/\nB: "b"'),
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_random_text_ends_as_its_proof_says(name):
    grammar = GRAMMARS[name]
    index = cfgguide.compile(grammar, _BYTES)
    endings = ProvedEndings(index.machine.recognizer, _BYTES.spelling)
    parser = lark.Lark(grammar.text, **grammar.lark_options)
    for seed in range(15):
        rng, guide = random.Random(seed), cfgguide.Guide(index)
        for _ in range(rng.randint(0, 25)):
            guide.advance(int(rng.choice(guide.allowed_token_ids())))
            if guide.is_finished:
                guide.rollback(1)
                break
        here = guide.configuration
        found = [endings.of(hypothesis, here.context) for hypothesis in here.hypotheses]
        texts = [guide.text + ending for ending in found if ending is not None]
        assert texts
        for text in texts:
            parser.parse(text.decode())


def test_tokens_that_hold_several_bytes_spell_the_ending():
    vocabulary = cfgguide.Vocabulary([b"[", b"nu", b"ll]", b"ll,", None], eos_token_ids=4)
    grammar = cfgguide.Grammar('start: "[" WORD ("," WORD)* "]"\nWORD: "null"')
    index = cfgguide.compile(grammar, vocabulary)
    endings = ProvedEndings(index.machine.recognizer, vocabulary.spelling)
    here = index.machine.advance(index.machine.initial, b"[nu")
    assert here is not None
    assert [endings.of(each, here.context) for each in here.hypotheses] == [b"ll]"]
