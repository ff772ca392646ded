"""Token healing: which tokens are taken back, and the masks while they are written again.

The twin of the masks is the definition: a token is allowed if what is left begins with it, or if it
begins with what is left and a sentence begins with the rest.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass

import numpy as np
import pytest
from support.small_tokenizers import standard_library_tokenizer, standard_library_vocabulary

import cfgguide
from cfgguide.guide.healing import Healing
from cfgguide.monitors import Monitor, OneOf


@functools.cache
def index() -> cfgguide.Index:
    return cfgguide.compile(cfgguide.Grammar.bundled("json"), standard_library_vocabulary())


def ids_of(words: np.ndarray) -> list[int]:
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()


def by_definition(left: bytes, begun: bytes) -> list[int]:
    """The tokens that may come where `left` is to be spelled before what follows on `begun`."""
    whole = index()
    start = whole.machine.advance(whole.machine.initial, begun)
    found = []
    for token_id, token in enumerate(whole.vocabulary.tokens):
        if token and len(token) > len(left) and token.startswith(left):
            after = whole.machine.advance(start, token[len(left) :])
            if after is not None and whole.subset(after).n_tokens:
                found.append(token_id)
        elif token and left.startswith(token):
            found.append(token_id)
    return found


@pytest.mark.parametrize("left", [b"", b":", b" ", b'= "', b"#", b"zzz"])
@pytest.mark.parametrize("begun", [b"", b'{"a"'])
def test_masks_are_those_of_the_definition(left, begun):
    guide = cfgguide.Guide(index())
    for byte in begun:
        guide.advance(index().vocabulary.tokens.index(bytes([byte])))
    found = ids_of(Healing(index()).allowed(left, guide.step))
    assert found == (by_definition(left, begun) if left else guide.allowed_token_ids().tolist())


def test_what_is_taken_back_might_have_been_part_of_a_longer_token():
    tokenizer, vocabulary = standard_library_tokenizer(), standard_library_vocabulary()
    rng, healing = random.Random(0), Healing(index())
    text = 'if x == "return": print(self.__dict__, end=" ")\n    import os'
    for _ in range(50):
        ids = tokenizer.encode(text[: rng.randrange(2, len(text))], add_special_tokens=False).ids
        for most in (0, 1, 2, 4):
            healed = healing.taken_back(ids, most)
            n_back = len(ids) - len(healed.token_ids)
            assert n_back <= most
            assert healed.token_ids == tuple(ids[: len(ids) - n_back])
            assert vocabulary.spell(ids[len(ids) - n_back :]) == healed.bytes_left
            if n_back:
                longer = [t for t in vocabulary.tokens if t and t.startswith(healed.bytes_left)]
                assert any(len(token) > len(healed.bytes_left) for token in longer)


def test_a_prompt_keeps_its_first_token_and_tokens_without_text():
    healing = Healing(index())
    a, eos = index().vocabulary.tokens.index(b"a"), index().vocabulary.eos_token_ids[0]
    assert healing.taken_back([a]).token_ids == (a,)
    assert healing.taken_back([a, eos]).token_ids == (a, eos)
    assert healing.taken_back([eos, a]).token_ids == (eos,)


@pytest.mark.slow
def test_healed_tokens_lead_where_their_bytes_do():
    healing, vocabulary = Healing(index()), index().vocabulary
    rng = random.Random(0)
    for _ in range(30):
        left, step, spelled = b'x = "', index().start, b""
        while left:
            token_id = rng.choice(ids_of(healing.allowed(left, step)))
            spelled += vocabulary.tokens[token_id] or b""
            left, step = healing.advance(left, step, token_id)
        assert spelled.startswith(b'x = "')
        after = index().machine.advance(index().machine.initial, spelled[5:])
        assert step.configuration == after


def test_healing_knows_a_monitor() -> None:
    """Where the rest of a token begins a lexeme of which the monitor allows few texts."""

    @dataclass(frozen=True)
    class OnlyTwo(Monitor):
        terminals = frozenset({"NAME"})
        can_finish = True

        def texts(self, terminal: str) -> OneOf:
            return OneOf(["abba", "abcd"])

        def shifted(self, terminal: str, text: str) -> Monitor:
            return self

    vocabulary = cfgguide.Vocabulary.of_bytes([b" ab", b" abb", b"abc", b" xa", b" abcd."])
    grammar = cfgguide.Grammar('start: NAME "."\nNAME: /[a-z]+/').watched_by(OnlyTwo())
    watched = cfgguide.compile(grammar, vocabulary)
    words = Healing(watched).allowed(b" ", watched.start)
    allowed = {each for each in range(vocabulary.size) if words[each >> 5] >> (each & 31) & 1}
    texts = {vocabulary.tokens[each] for each in allowed}
    assert texts == {b" ", b" ab", b" abb", b" abcd."}
