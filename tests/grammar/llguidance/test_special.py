"""Tokens in grammars of llguidance's dialect: by name, by id, and sets that overlap."""

from __future__ import annotations

import pytest

import cfgguide
from cfgguide.errors import GrammarError, VocabularyError
from cfgguide.grammar.rules.names import NameAllocator
from cfgguide.grammar.rules.special_tokens import terminals_of, tokens_of

TEXTS = [b"a", b"b", b"<call>", b" "]
NAMES = {"<call>": 4, "<|end|>": 5, "</think>": 6}
VOCABULARY = cfgguide.Vocabulary(
    [*TEXTS, None, None, None, None], eos_token_ids=7, special_tokens=NAMES
)


def guide_of(text: str) -> cfgguide.Guide:
    index = cfgguide.compile(cfgguide.Grammar.llguidance(text), VOCABULARY, use_cache=False)
    return cfgguide.Guide(index)


def takes(text: str, *token_ids: int) -> bool:
    guide = guide_of(text)
    for token_id in token_ids:
        if not guide.accepts(token_id):
            return False
        guide.advance(token_id)
    return guide.is_accepting


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("start: <call> A\nA: /a+/", [(4, 0), (4, 0, 0)], [(2, 0), (0,), (4,)]),
        ('start: "a" <[4,5]> "b"', [(0, 4, 1), (0, 5, 1)], [(0, 6, 1), (0, 1)]),
        ("start: <[4-6]>", [(4,), (5,), (6,)], [(0,), (4, 4)]),
        ("start: <[4-6]> | <[6]> <[6]>", [(4,), (6,), (6, 6)], [(4, 6), (5, 5)]),
        ("start: <|end|> | <[5]>", None, "two terminals"),
        ("start: X </think> X\nX: /(.|\\n)*/", [(6,), (0, 6, 1), (2, 6)], [(0,), (6, 6)]),
        ("start: (X <call>)* <|end|>\nX: /[ab]?/", [(5,), (0, 4, 4, 5)], [(4,), (0, 5)]),
        ('%ignore " "\nstart: <call> "a" "b"', [(4, 0, 1), (4, 3, 0, 3, 1)], [(4, 0)]),
    ],
)
def test_a_token_stands_for_itself_alone(text, right, wrong):
    if right is None:
        with pytest.raises(VocabularyError):
            guide_of(text)
        return
    assert [each for each in right if not takes(text, *each)] == []
    assert [each for each in wrong if takes(text, *each)] == []


def test_a_text_that_looks_like_a_token_is_text():
    assert takes('start: "<call>"', 2)
    assert not takes('start: "<call>"', 4)


def test_a_name_that_no_token_has_is_an_error_of_the_vocabulary():
    with pytest.raises(VocabularyError, match=r"'<\|tool\|>'"):
        guide_of("start: <|tool|>")


def test_thirteen_terminals_are_tokens_and_no_more():
    assert cfgguide.Grammar.llguidance("start: " + " ".join(f"<t{n}>" for n in range(13))).special
    grammar = cfgguide.Grammar.llguidance("start: " + " ".join(f"<t{n}>" for n in range(14)))
    with pytest.raises(GrammarError, match="at most 13 special terminals"):
        cfgguide.compile(grammar, VOCABULARY, use_cache=False)


def test_sets_of_tokens_are_divided_into_those_that_no_set_tells_apart():
    sets = [tokens_of(each) for each in ("<[1-4]>", "<[3-6]>", "<[4]>")]
    terminals, parts = terminals_of(sets, NameAllocator())
    members = {name: set(tokens) for name, tokens in terminals.items()}
    assert sorted(map(sorted, members.values())) == [[1, 2], [3], [4], [5, 6]]
    for tokens in sets:
        assert set().union(*(members[name] for name in parts[tokens])) == tokens
