"""Quotes: all pieces of a text and nothing else, against slices of the text itself."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.schema_cases import big_vocabulary, small_vocabulary, spelled

import cfgguide
from cfgguide import quote_of
from cfgguide.automata.language import IN_UTF8, accepts
from cfgguide.automata.pieces import PieceAutomaton
from cfgguide.engine.byte_machine.byte_machine import ByteMasks
from cfgguide.engine.masks.subset import token_ids_in
from cfgguide.errors import GrammarError, LimitError, VocabularyError

ALICE = (
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
    "nothing to do. “Well!” thought Alice; she said: 'I don't know.'  \n\nÉlan vital, naïve café?"
)


def texts(n: int, seed: int = 0) -> list[str]:
    """Short texts with much that comes again, of characters of one to four bytes."""
    rng = random.Random(seed)
    letters = ("ab", "ab ", "abé€😀", "a.b! \n", "aA-'b ")
    return ["".join(rng.choices(letters[n % 5], k=rng.randrange(1, 26))) for n in range(n)]


def pieces(text: str) -> set[str]:
    return {text[i:j] for i, j in itertools.combinations(range(len(text) + 1), 2)}


def words(text: str) -> list[tuple[int, int]]:
    return [each.span() for each in re.finditer(r"\w+(?:[-'.\u2019]\w+)*", text)]


def cut(data: bytes, how: str, rng: random.Random) -> list[int]:
    """Return the tokens of some bytes: one by one, the longest each time, or at random."""
    vocabulary = small_vocabulary()
    if how == "random":
        return spelled(data, vocabulary, rng)
    ids = {token: number for number, token in enumerate(vocabulary.tokens) if token}
    found = []
    while data:
        lengths = range(1, 2) if how == "bytes" else range(min(16, len(data)), 0, -1)
        n = next(n for n in lengths if data[:n] in ids)
        found.append(ids[data[:n]])
        data = data[n:]
    return found


@pytest.mark.parametrize("text", texts(20))
def test_every_piece_can_be_written_in_three_ways(text: str) -> None:
    index = cfgguide.compile(quote_of(text), small_vocabulary())
    rng = random.Random(1)
    for piece, how in itertools.product(sorted(pieces(text)), ("bytes", "longest", "random")):
        guide = cfgguide.Guide(index)
        for token_id in cut(piece.encode(), how, rng):
            assert guide.accepts(token_id), (piece, how)
            guide.advance(token_id)
        assert guide.is_accepting


def test_a_thousand_walks_write_pieces() -> None:
    rng, n_walks = random.Random(2), 0
    for text in [*texts(9, seed=3), ALICE]:
        index = cfgguide.compile(quote_of(text), big_vocabulary())
        for _ in range(100):
            guide = cfgguide.Guide(index)
            for _ in range(40):
                allowed = guide.allowed_token_ids().tolist()
                assert allowed, "a dead end"
                guide.advance(rng.choice(allowed))
                if guide.is_finished:
                    break
            else:
                continue
            n_walks += 1
            assert guide.text.decode() in pieces(text)
    assert n_walks > 900


@pytest.mark.parametrize("max_length", [None, 1, 3])
def test_automata_accept_pieces_and_nothing_else(max_length: int | None) -> None:
    rng = random.Random(4)
    for text in texts(40, seed=5):
        automaton = PieceAutomaton(text, "characters", max_length)
        known = {each for each in pieces(text) if max_length is None or len(each) <= max_length}
        others = {"".join(rng.choices("ab é.€", k=rng.randrange(5))) for _ in range(100)}
        for each in known | others:
            assert accepts(automaton, each) == (each in known), (text, each)


def test_masks_are_those_of_a_walk_over_the_vocabulary() -> None:
    """Looked up by places, in texts of long tokens, and of bytes that no token has."""
    rng, n_masks = random.Random(8), 0
    for number, text in enumerate([*texts(30, seed=9), ALICE]):
        data = text.encode()
        cuts = [rng.randrange(len(data)) for _ in range(40)]
        longer = {data[first : first + rng.randrange(2, 9)] for first in cuts}
        missing = data[:1] if number % 3 == 0 else b""
        tokens = [bytes([each]) for each in range(256) if each not in missing]
        tokens += [each for each in [*longer, *sorted(longer)[:3]] if len(each) > 1]
        vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=len(tokens))
        unit = ("characters", "words")[number % 2]
        try:
            quotes = quote_of(text, unit, max_length=(None, 1, 3)[number % 3])  # type: ignore[arg-type]
            machine: Any = cfgguide.compile(quotes, vocabulary).machine
        except (GrammarError, VocabularyError):
            continue
        looked_up, walked = machine.masks(vocabulary), ByteMasks(machine, vocabulary)
        configuration = machine.initial
        for _ in range(12):
            key = walked.key(configuration)
            mask: Any = looked_up.mask(key, None).bitmask
            assert np.array_equal(mask, walked.mask(key, None).bitmask), text  # type: ignore[arg-type]
            n_masks += 1
            allowed = [each for each in token_ids_in(mask).tolist() if each < len(tokens)]
            if not allowed:
                break
            configuration = machine.advance(configuration, tokens[rng.choice(allowed)])
    assert n_masks > 80


@pytest.mark.parametrize("max_length", [None, 1, 2])
def test_words_are_whole(max_length: int | None) -> None:
    for text in [*texts(60, seed=6), ALICE[:90]]:
        spans = words(text)
        known = {
            text[first[0] : last[1]]
            for number, first in enumerate(spans)
            for last in spans[number : None if max_length is None else number + max_length]
        }
        automaton = PieceAutomaton(text, "words", max_length)
        assert automaton.is_empty == (not known)
        for each in pieces(text):
            assert accepts(automaton, each) == (each in known), (text, each)


def test_sentences_are_whole() -> None:
    quotes = quote_of(ALICE, unit="sentences", max_length=2)
    sentences = [
        ALICE[: ALICE.index(" “Well")],
        "“Well!”",
        "thought Alice; she said: 'I don't know.'",
        "Élan vital, naïve café?",
    ]
    for first, last in itertools.product(range(4), repeat=2):
        begin = ALICE.index(sentences[first])
        piece = ALICE[begin : ALICE.index(sentences[last]) + len(sentences[last])]
        is_known = first <= last <= first + 1
        assert cfgguide.check(quotes, piece or "x").is_sentence == is_known
    for part in ("nothing to do.", "thought Alice;", sentences[0][:-1]):
        assert not cfgguide.check(quotes, part).is_sentence


def test_the_way_to_an_end_is_known() -> None:
    """Of each state: the fewest characters and bytes to an end, and with how many it can end."""
    for text in [*texts(15, seed=7), ALICE[:70]]:
        for unit in ("characters", "words"):
            automaton = PieceAutomaton(text, unit, 2)  # type: ignore[arg-type]
            spans = words(text) if unit == "words" else [(n, n + 1) for n in range(len(text))]
            known = {text[a[0] : b[1]] for n, a in enumerate(spans) for b in spans[n : n + 2]}
            for begun in {each[:n] for each in known for n in range(len(each) + 1)}:
                state = automaton.start
                for character in begun:
                    state = automaton.row(state)[automaton.alphabet.letter(ord(character))]
                rests = [each[len(begun) :] for each in known if each.startswith(begun)]
                assert automaton.shortest(state) == min(map(len, rests))
                assert automaton.longest(state) == max(map(len, rests))
                assert automaton.fewest(state, IN_UTF8) == min(len(each.encode()) for each in rests)
                for least, most in ((0, 1), (2, 3), (4, None)):
                    lengths = automaton.within(least, most)
                    for n in range(3):
                        may_end = any(least <= n + len(each) <= (most or 99) for each in rests)
                        assert lengths.may_end(state, n) == may_end, (text, begun, least, n)


def test_the_shortest_completion_ends_a_piece() -> None:
    index = cfgguide.compile(quote_of(ALICE, unit="words"), small_vocabulary())
    guide = cfgguide.Guide(index)
    for token_id in cut(b"beginning to g", "bytes", random.Random(0)):
        guide.advance(token_id)
    for token_id in guide.shortest_completion():
        guide.advance(token_id)
    assert guide.is_finished
    assert guide.text.decode() == "beginning to get"


def test_bytes_that_no_token_has_are_not_quoted() -> None:
    letters = [*map(str.encode, "abc "), None]
    vocabulary = cfgguide.Vocabulary(letters, eos_token_ids=4)
    index = cfgguide.compile(quote_of("abé cab"), vocabulary)
    guide = cfgguide.Guide(index)
    for token_id in (0, 1):
        guide.advance(token_id)
    assert guide.allowed_token_ids().tolist() == [4]
    with pytest.raises(VocabularyError, match="no piece"):
        cfgguide.compile(quote_of("éé"), vocabulary)


def test_an_index_of_quotes_is_saved(tmp_path: Path) -> None:
    index = cfgguide.compile(quote_of(ALICE, "words", max_length=3), small_vocabulary())
    index.save(tmp_path / "index")
    again = cfgguide.Index.load(tmp_path / "index", small_vocabulary())
    guides = [cfgguide.Guide(each) for each in (index, again)]
    for token_id in cut(b"tired of sitting", "bytes", random.Random(0)):
        masks = [each.allowed_token_ids().tolist() for each in guides]
        assert masks[0] == masks[1]
        for each in guides:
            each.advance(token_id)
    assert all(each.is_accepting for each in guides)


def test_a_quote_is_no_part_of_another_grammar() -> None:
    with pytest.raises(GrammarError, match="let the whole answer be a quote"):
        cfgguide.compile(cfgguide.concat("A: ", quote_of(ALICE)), small_vocabulary())


@pytest.mark.parametrize(
    ("text", "options", "error", "said"),
    [
        ("", {}, GrammarError, "nothing to quote"),
        ("...", {"unit": "words"}, GrammarError, "has no words"),
        (" \n", {"unit": "sentences"}, GrammarError, "has no sentences"),
        (b"a", {}, GrammarError, "what is quoted is a text"),
        ("a", {"unit": "letters"}, GrammarError, "unit is 'letters'"),
        ("a", {"max_length": 0}, GrammarError, "max_length is 0"),
        ("a", {"max_length": True}, GrammarError, "max_length is True"),
        ("\ud800", {}, GrammarError, "surrogate"),
        ("a" * 1_000_001, {}, LimitError, "at most 1000000"),
    ],
)
def test_what_cannot_be_quoted(text: Any, options: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        quote_of(text, **options)
