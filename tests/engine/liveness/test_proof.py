"""A live text has an ending that is read off the proof of it: Lark parses the two together."""

from __future__ import annotations

import random

import lark
import pytest

import cfgguide
from cfgguide.engine.liveness import proof
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
    "many items": cfgguide.Grammar(
        'start: item~300\nitem: A ";" | "(" item ("," item)~0..4 ")"\nA: /[a-z]+/'
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


def test_endings_that_share_their_rests_are_as_right_when_these_are_forgotten(monkeypatch):
    grammar = GRAMMARS["many items"]
    index = cfgguide.compile(grammar, _BYTES)
    parser = lark.Lark(grammar.text, **grammar.lark_options)
    rng, guide = random.Random(1), cfgguide.Guide(index)
    remembers, forgets = (
        ProvedEndings(index.machine.recognizer, _BYTES.spelling) for _ in range(2)
    )
    for _ in range(40):
        here = guide.configuration
        monkeypatch.setattr(proof, "_MAX_REST", 500_000)
        found = [remembers.of(each, here.context) for each in here.hypotheses]
        monkeypatch.setattr(proof, "_MAX_REST", 0)
        assert [forgets.of(each, here.context) for each in here.hypotheses] == found
        for ending in found:
            parser.parse((guide.text + ending).decode())
        guide.advance(int(rng.choice(guide.allowed_token_ids())))


def test_tokens_that_hold_several_bytes_spell_the_ending():
    vocabulary = cfgguide.Vocabulary([b"[", b"nu", b"ll]", b"ll,", None], eos_token_ids=4)
    grammar = cfgguide.Grammar('start: "[" WORD ("," WORD)* "]"\nWORD: "null"')
    index = cfgguide.compile(grammar, vocabulary)
    endings = ProvedEndings(index.machine.recognizer, vocabulary.spelling)
    here = index.machine.advance(index.machine.initial, b"[nu")
    assert here is not None
    assert [endings.of(each, here.context) for each in here.hypotheses] == [b"ll]"]
