"""Wrong calls, as users make them, and what each is told: what is wrong, and what to pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cfgguide
from cfgguide import Grammar, Guide, Index, IndexPool, Limits, LogitsProcessor, Vocabulary
from cfgguide.errors import CfgGuideError

GRAMMAR = Grammar('start: "a" "b"')
VOCABULARY = Vocabulary.of_bytes()
INDEX = cfgguide.compile(GRAMMAR, VOCABULARY)
BITMASKS = np.zeros(3)


def guide() -> Guide:
    return Guide(INDEX)


WRONG_CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    # A grammar
    "a file's name as a grammar": (
        lambda: Grammar("json.lark"), "'json.lark' is no grammar, but perhaps a name: Grammar.open"
    ),
    "a language's name as a grammar": (lambda: Grammar("json"), "Grammar.bundled('json')"),
    "bytes as a grammar": (lambda: Grammar(b'start: "a"'), "a grammar is a text, not bytes"),
    "a number as a grammar": (lambda: Grammar(5), "a grammar is a text, not int"),
    "a file that is not there": (lambda: Grammar.open("/no.lark"), "cannot read the grammar file"),
    "a bundled grammar that is not there": (
        lambda: Grammar.bundled("yaml"), "no bundled grammar is called 'yaml'; there is c, "
    ),
    "a start rule that is not there": (
        lambda: cfgguide.compile(Grammar('start: "a"\nword: "b"', start="words"), VOCABULARY),
        "there is no rule 'words' to start from; its rules are start, word",
    ),
    "a start rule that a bundled grammar lacks": (
        lambda: cfgguide.compile(Grammar.bundled("json", start="file"), VOCABULARY),
        "there is no rule 'file' to start from; its rules are start, value",
    ),
    "no rule at all": (
        lambda: cfgguide.compile(Grammar(""), VOCABULARY), "there is no rule 'start' to start from"
    ),
    "a rule without an end": (
        lambda: cfgguide.compile(Grammar('start: "a'), VOCABULARY), "Lark rejects the grammar"
    ),
    "Lark's dynamic lexer": (
        lambda: Grammar('start: "a"', lexer="dynamic"), "lexer is 'contextual' or 'basic'"
    ),
    "a postlex that is none": (
        lambda: Grammar('start: "a"', postlex=5), "postlex is a subclass of lark.indenter.Indenter"
    ),
    # What to write
    "a wrong name of what to write": (
        lambda: cfgguide.compile("yaml", VOCABULARY), "there is no bundled grammar 'yaml'"
    ),
    "a grammar's text as what to write": (
        lambda: cfgguide.compile('start: "a"', VOCABULARY), "cfgguide.Grammar(text) takes the text"
    ),
    "a number as what to write": (
        lambda: cfgguide.compile(5, VOCABULARY), "5 does not say what to write; give a type"
    ),
    "arguments in the wrong order": (
        lambda: cfgguide.compile(VOCABULARY, GRAMMAR), "does not say what to write; give a type"
    ),
    "no choices": (lambda: cfgguide.compile([], VOCABULARY), "a list is a choice among texts"),
    "choices that are numbers": (
        lambda: cfgguide.compile([1, 2], VOCABULARY), "a list is a choice among texts"
    ),
    "a schema that is a number": (lambda: cfgguide.json_schema(5), "a schema is an object"),
    "a schema that is no JSON": (lambda: cfgguide.json_schema("{"), "the schema is not JSON"),
    "a pattern that is none": (lambda: cfgguide.regex("("), "is not a regular expression"),
    "a number as a pattern": (lambda: cfgguide.regex(5), "a pattern is a text, not int"),
    "a text as choices": (lambda: cfgguide.choice("abc"), "choice takes a list of texts"),
    "an empty choice": (lambda: cfgguide.choice([]), "choice needs at least one text"),
    "a stop string that is a number": (
        lambda: cfgguide.free_text(until=5), "until is a stop string or several"
    ),
    "repeated less than never": (
        lambda: cfgguide.repeat("a", -1), "minimum is a number from 0 up, not -1"
    ),
    "a part that is a number": (lambda: cfgguide.concat(5), "a part is a text or a Grammar"),
    # A vocabulary
    "a tokenizer's name": (
        lambda: cfgguide.compile(GRAMMAR, "gpt2"), "expected a fast tokenizer of transformers"
    ),
    "no tokenizer": (
        lambda: cfgguide.compile(GRAMMAR, None), "expected a fast tokenizer of transformers"
    ),
    "a grammar as a tokenizer": (lambda: IndexPool(GRAMMAR), "expected a fast tokenizer"),
    "texts as tokens": (
        lambda: Vocabulary(["a"], eos_token_ids=0), "token 0 is 'a', a str: give its bytes"
    ),
    "EOS that is no id": (
        lambda: Vocabulary([b"a"], eos_token_ids=5), "EOS id 5 (int) is not one of the ids 0 to 0"
    ),
    "limits that are a number": (
        lambda: cfgguide.compile(GRAMMAR, VOCABULARY, limits=5), "limits is a cfgguide.Limits"
    ),
    "a limit that is a text": (
        lambda: Limits(max_seconds="a"), "max_seconds must be a number above 0"
    ),
    # A guide
    "a guide on a grammar": (lambda: Guide(GRAMMAR), "give the tokenizer too, or an index"),
    "a fraction as a token": (lambda: guide().advance(1.5), "a token id is an integer, not 1.5"),
    "a list as a token": (lambda: guide().advance([97]), "pass the tokens of a text one by one"),
    "a text as a token": (lambda: guide().advance("a"), "a token id is an integer, not 'a'"),
    "nothing as a token": (lambda: guide().advance(None), "a token id is an integer, not None"),
    "tokens in an array": (
        lambda: guide().advance(np.array([97, 98])), "a token id is an integer, not array([97, 98])"
    ),
    "an id below 0": (lambda: guide().advance(-1), "token -1 is not in the vocabulary of 257 ids"),
    "an id too high": (lambda: guide().advance(10**9), "is not in the vocabulary of 257 ids"),
    "a text, asked whether it may come": (
        lambda: guide().accepts("a"), "a token id is an integer, not 'a'"
    ),
    "more taken back than there is": (
        lambda: guide().rollback(1), "cannot roll back 1 tokens: 0 were consumed"
    ),
    "taken back to a text": (lambda: guide().rollback("a"), "rollback takes a number of tokens"),
    "a mask into a list": (lambda: guide().fill_bitmask([0]), "is a writeable int32 array"),
    "a mask into doubles": (lambda: guide().fill_bitmask(BITMASKS), "is a writeable int32 array"),
    "masks into too few rows": (
        lambda: cfgguide.fill_bitmasks([guide()], BITMASKS), "are a writeable int32 array of shape"
    ),
    "a budget that is a text": (
        lambda: guide().allowed_within("x"), "a budget is a number of tokens, not 'x'"
    ),
    "logits that are a number": (
        lambda: cfgguide.apply_bitmask(5, 5), "the logits must be a numpy array or a torch tensor"
    ),
    # A processor
    "a processor of a grammar": (
        lambda: LogitsProcessor(GRAMMAR), "give the tokenizer too, or an index"
    ),
    "a processor of nothing": (lambda: LogitsProcessor([]), "there is no index"),
    "a processor for no tokens": (
        lambda: LogitsProcessor(INDEX, max_new_tokens=0), "max_new_tokens is 0; at least 1"
    ),
    "a processor for a text of tokens": (
        lambda: LogitsProcessor(INDEX, max_new_tokens="9"), "max_new_tokens is a number of tokens"
    ),
    # Files and texts
    "an index that is not there": (
        lambda: Index.load("/no", VOCABULARY), "it cannot be opened"
    ),
    "a file of something else": (
        lambda: Index.load(Path(__file__), VOCABULARY), "is not a usable file of kind 'index'"
    ),
    "a number, checked": (lambda: cfgguide.check(GRAMMAR, 5), "a text is a str or bytes, not int"),
    "checked against a wrong name": (
        lambda: cfgguide.check("yaml", "a: 1"), "there is no bundled grammar 'yaml'"
    ),
    "a pool of one name": (
        lambda: IndexPool(VOCABULARY).index("yaml"), "there is no bundled grammar 'yaml'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_is_told_what_to_pass(name: str) -> None:
    call, message = WRONG_CALLS[name]
    with pytest.raises(CfgGuideError, match=re.escape(message)):
        call()


def test_any_integer_is_a_token_and_leaves_nothing_behind() -> None:
    torch = pytest.importorskip("torch")
    index = cfgguide.compile(GRAMMAR, VOCABULARY)
    for _ in range(5):
        for token in (97, np.int64(97), torch.tensor(97)):
            one = Guide(index)
            one.advance(token)
            assert one.token_ids == (97,)
            assert all(type(token_id) is int for token_id in one.token_ids)
    assert list(index.start.following) == [97]
