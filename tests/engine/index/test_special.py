"""Special terminals: tokens that are no text, against Lark with a lexer that knows them."""

from __future__ import annotations

import pickle
import random
import re

import lark
import numpy as np
import pytest
from lark.lexer import LexerThread, Token

import cfgguide
from cfgguide.errors import GrammarError, VocabularyError
from cfgguide.models.serving.matcher import Matcher
from cfgguide.output_types import TreeParser

CALLS = r"""
start: TEXT? (CALL NAME END TEXT?)* DONE?
NAME: /[a-z]+$/
TEXT: /(?s:.)+/
%declare CALL END DONE
"""
SPECIAL = {"CALL": "<call>", "END": ["</call>", "<stop>"], "DONE": "<eos>"}
TERMINAL_OF = {"<call>": "CALL", "<eos>": "DONE", "</call>": "END", "<stop>": "END"}
NAMES = {"<call>": 8, "</call>": 9, "<stop>": 10, "<eos>": 11, "<pad>": 12}
TEXTS = [b"a", b"bc", b"<call>", b"\xf5", b"\xc3", b"\xa9", b" ", b"\xf7a"]
VOCABULARY = cfgguide.Vocabulary([*TEXTS, *[None] * 5], eos_token_ids=11, special_tokens=NAMES)


class Symbol(str):
    """The name of a special token, which a text may have too."""


class Segments:
    """Feeds Lark's parser: its lexer reads each text alone, and a special token is a token."""

    def __init__(self, lexer, pieces):
        self.lexer, self.pieces, self.state = lexer, pieces, None

    def lex(self, parser_state):
        for piece in self.pieces:
            if isinstance(piece, Symbol):
                yield Token(TERMINAL_OF[piece], piece)
            else:
                yield from LexerThread.from_text(self.lexer, piece).lex(parser_state)


def judged(parser, pieces):
    try:
        parser.parser.parser.parse(Segments(parser.parser.lexer, pieces), "start")
    except lark.exceptions.LarkError:
        return False
    return True


def pieces_of(token_ids):
    """Return texts and names of special tokens; None if the text is not UTF-8, or has padding."""
    if NAMES["<pad>"] in token_ids:
        return None
    names = {token_id: name for name, token_id in NAMES.items()}
    pieces, data = [], b""
    for token_id in [*token_ids, None]:
        if token_id is not None and token_id < len(TEXTS):
            data += TEXTS[token_id]
            continue
        try:
            pieces += [data.decode()] if data else []
        except UnicodeDecodeError:
            return None
        data = b""
        pieces += [] if token_id is None else [Symbol(names[token_id])]
    return pieces


@pytest.mark.parametrize("lexer", ["contextual", "basic"])
def test_masks_are_those_of_lark_with_special_tokens(lexer):
    grammar = cfgguide.Grammar(CALLS, special=SPECIAL, lexer=lexer)
    index = cfgguide.compile(grammar, VOCABULARY, use_cache=False)
    parser = lark.Lark(CALLS, parser="lalr", lexer=lexer)
    rng = random.Random(5)
    n_sentences = 0
    for _ in range(400):
        token_ids = [rng.choice([0, 1, 2, 4, 5, 8, 9, 10, 11, 12]) for _ in range(rng.randrange(7))]
        guide, is_read = cfgguide.Guide(index), True
        for token_id in token_ids:
            is_read = is_read and guide.accepts(token_id)
            if is_read:
                guide.advance(token_id)
        pieces = pieces_of(token_ids)
        before = (pieces or [])[:-1]
        if any(isinstance(piece, Symbol) and piece == "<eos>" for piece in before):
            continue  # the text was over
        is_sentence = pieces is not None and judged(parser, pieces)
        if pieces and token_ids[-1] == NAMES["<eos>"]:  # which also ends any other sentence
            is_sentence = is_sentence or judged(parser, before)
        n_sentences += is_sentence
        assert (is_read and (guide.is_accepting or guide.is_finished)) == is_sentence, token_ids
    assert n_sentences > 20


def test_text_never_spells_a_special_token():
    index = cfgguide.compile(cfgguide.Grammar(CALLS, special=SPECIAL), VOCABULARY, use_cache=False)
    guide = cfgguide.Guide(index)
    assert guide.allowed_token_ids().tolist() == [0, 1, 2, 4, 6, 8, 11]  # no byte of a symbol
    guide.advance(2)  # the text `<call>`
    assert guide.expected() == ("$END", "CALL", "DONE", "TEXT")
    guide.advance(8)
    assert guide.expected() == ("NAME",)
    assert guide.text == b"<call>\xf5"


def test_no_lexeme_goes_on_across_a_special_token_and_a_tree_has_it():
    grammar = cfgguide.Grammar(CALLS, special=SPECIAL)
    tree = TreeParser(grammar)(b"ab\xf5cd\xf7")
    assert [(token.type, str(token)) for token in tree.children] == [
        ("TEXT", "ab"), ("CALL", "CALL"), ("NAME", "cd"), ("END", "END"),
    ]  # fmt: skip
    with pytest.raises(lark.exceptions.LarkError):
        TreeParser(grammar)(b"ab\xf5cd")


def test_an_eos_that_is_a_special_token_ends_what_is_complete_with_it():
    text = "start: A DONE B?\nA: /a/\nB: /a/\n%declare DONE"
    grammar = cfgguide.Grammar(text, special={"DONE": "<eos>"})
    index = cfgguide.compile(grammar, VOCABULARY, use_cache=False)
    guide = cfgguide.Guide(index)
    guide.advance(0)
    assert guide.allowed_token_ids().tolist() == [11]
    assert guide.shortest_completion() == (11,)
    guide.advance(11)
    assert guide.is_finished
    assert guide.is_accepting
    matcher = Matcher(index)
    assert matcher.accept([0, 11])
    assert matcher.is_terminated
    rows = np.zeros((1, 1), dtype=np.int32)
    matcher.fill_bitmask(rows, 0)
    assert rows.tolist() == [[1 << 11]]
    matcher.rollback(1)
    assert not matcher.is_terminated
    sample = cfgguide.sample(lambda ids: np.zeros(13), [0], index=index, max_new_tokens=5, seed=1)
    assert (sample.text, sample.is_complete) == ("a<eos>", True)


def test_a_stop_token_of_a_request_may_be_a_special_terminal():
    index = cfgguide.compile(cfgguide.Grammar(CALLS, special=SPECIAL), VOCABULARY, use_cache=False)
    matcher = Matcher(index, stop_token_ids=[10])
    assert matcher.accept([8, 0])
    rows = np.zeros((1, 1), dtype=np.int32)
    matcher.fill_bitmask(rows, 0)
    assert rows[0, 0] >> 10 & 1
    assert rows[0, 0] >> 9 & 1
    assert matcher.accept([10])
    assert matcher.is_terminated


def test_a_saved_index_keeps_its_special_terminals(tmp_path):
    grammar = cfgguide.Grammar(CALLS, special=SPECIAL)
    index = cfgguide.compile(grammar, VOCABULARY, use_cache=False)
    first = cfgguide.Guide(index).allowed_token_ids().tolist()
    index.save(tmp_path / "calls.index")
    loaded = cfgguide.Index.load(tmp_path / "calls.index", VOCABULARY)
    assert cfgguide.Guide(loaded).allowed_token_ids().tolist() == first
    assert loaded.vocabulary.symbols == dict(grammar.special)


@pytest.mark.parametrize(
    ("text", "special", "error", "said"),
    [
        ('start: "a"', {"CALL": "<call>"}, GrammarError, "%declare CALL"),
        ('start: CALL\nCALL: "a"', {"CALL": "<call>"}, GrammarError, "%declare CALL"),
        ("start: CALL\n%declare CALL", {"CALL": "<cal>"}, VocabularyError, "<call>, </call>"),
        ("start: CALL\n%declare CALL", {"CALL": 99}, VocabularyError, "99"),
        ("start: CALL\n%declare CALL", {"CALL": []}, GrammarError, "maps names"),
        ("start: CALL\n%declare CALL", {"CALL": True}, GrammarError, "maps names"),
        ("start: CALL\n%declare CALL", "<call>", GrammarError, "maps names"),
        ("start: A B\n%declare A B", {"A": 8, "B": [8]}, VocabularyError, "both stand for"),
        (
            f"start: {' '.join(f'A{n}' for n in range(14))}\n"
            f"%declare {' '.join(f'A{n}' for n in range(14))}",
            {f"A{n}": n for n in range(14)},
            GrammarError,
            "at most 13",
        ),
    ],
)
def test_errors_say_what_to_do(text, special, error, said):
    with pytest.raises(error, match=re.escape(said)):
        cfgguide.compile(cfgguide.Grammar(text, special=special), VOCABULARY, use_cache=False)


def test_an_index_with_special_terminals_can_be_pickled():
    index = cfgguide.compile(cfgguide.Grammar(CALLS, special=SPECIAL), VOCABULARY, use_cache=False)
    again = pickle.loads(pickle.dumps(index))
    assert again.digest == index.digest
    assert again.vocabulary.text_decoder().decode(b"a\xf5\xc3") == "a<call>"


@pytest.mark.slow  # converts the model first
def test_the_tokens_of_a_real_tokenizer_have_names():
    vocabulary = cfgguide.Vocabulary.from_tokenizer(cfgguide.models.load_tokenizer())
    assert "<|im_start|>" in vocabulary.special_tokens
    grammar = cfgguide.Grammar('start: "hi" END\n%declare END', special={"END": "<|im_end|>"})
    guide = cfgguide.Guide(cfgguide.compile(grammar, vocabulary))
    *text, end = guide.shortest_completion()
    assert vocabulary.spell(text) == b"hi"
    assert end == vocabulary.special_tokens["<|im_end|>"]


def test_special_tokens_are_explained_by_name():
    grammar = cfgguide.Grammar(
        "start: CALL WORD END\nWORD: /[a-z]+/\n%declare CALL END",
        special={"CALL": "<c>", "END": "</c>"},
    )
    tokens = [*(bytes([byte]) for byte in range(256)), None, None, None]
    named = {"<c>": 256, "</c>": 257}
    vocabulary = cfgguide.Vocabulary(tokens, eos_token_ids=258, special_tokens=named)
    guide = cfgguide.Guide(cfgguide.compile(grammar, vocabulary))
    guide.advance(256)
    guide.advance(ord("a"))
    assert str(guide.explain(256)) == (
        "token 256 (<c>) is refused: it would be read as CALL, which may not stand there\n"
        "  expected there: END, WORD 'a'"
    )
    assert str(guide.explain(257)) == (
        "token 257 (</c>) is allowed\n  it completes WORD 'a', END\n  then may follow: $END"
    )
