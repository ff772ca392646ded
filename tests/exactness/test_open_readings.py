"""Grammars that leave ever more ways to read a text open: texts go on, end, and are sentences.

The judges are Python's: none knows of readings.
"""

from __future__ import annotations

import functools
import random
import re
from contextlib import suppress

import pytest
from support.small_tokenizers import standard_library_vocabulary

import cfgguide
from cfgguide.diagnostics.diagnosis import diagnose
from cfgguide.errors import LimitError

PALINDROMES = cfgguide.Grammar(
    'start: "a" start "a" | "b" start "b" | "a" | "b" |', parser="earley"
)
COUNTED = cfgguide.Grammar.ebnf("""
root ::= item{1,30}
item ::= word{2,20} | "(" root ")"
word ::= [a-z]+ " "?
""")
REPEATED = cfgguide.Grammar.ebnf('root ::= "if" | root{2,20} | root* root "!"?')
MARKED = cfgguide.Grammar(
    r"""
start: (bold | italic | code | plain)+
bold: "**" (italic | code | plain)+ "**"
italic: "_" (bold | code | plain)+ "_"
code: "`" /[^`\n]+/ "`"
plain: /[^\n]/
""",
    parser="earley",
)


def is_counted(text: str) -> bool:
    """Replace the innermost brackets by what stands for an item until there are none."""
    words = r"(?:[a-z]+ ?)+"
    item = rf"(?:{words}|#)"
    while (inner := re.search(r"\(([^()]*)\)", text)) is not None:
        if not is_counted(inner[1]):
            return False
        text = f"{text[: inner.start()]}#{text[inner.end() :]}"
    runs = re.findall(r"[a-z ]+", text)
    return re.fullmatch(f"{item}+", text) is not None and all(
        sum(map(str.isalpha, run)) >= 2 for run in runs
    )


def is_nested(text: str) -> bool:
    """Try each number of rounds of the first alternative."""
    b = "(?:aa|(?:b *){9})"
    rounds = range(len(text) // 3 + 1)
    return any(re.fullmatch(f" {{{3 * n}}}(?: +{b}|1){b}{{{5 * n}}}", text) for n in rounds)


#: Each lexeme is long, so that many readings are as many lexemes from the end.
LONG = cfgguide.Grammar.gbnf("""
root ::= b+ c{100} | "ab"
b ::= [ab] | root{100} [^a-zA-Z]+
c ::= "ab"
""")
NESTED = cfgguide.Grammar.gbnf("""
root ::= [ -~] | a
a ::= ")" | b [^a-zA-Z]{40}
b ::= a | b* root{1,61} root | "a"
""")
#: Its parser has no conflicts: where one lexeme ends and the next one begins is what is open.
LEXEMES = cfgguide.Grammar.gbnf("""
root ::= c{3} root b{5} | c+ b | "1"
b ::= "aa" | ("b" c*){9}
c ::= " "
""")
GRAMMARS = {
    "palindromes": (PALINDROMES, lambda text: text == text[::-1] and {*text} <= {*"ab"}),
    "counts of what has no fixed end": (COUNTED, is_counted),
    "itself": (REPEATED, lambda text: re.fullmatch("(if!*)+", text) is not None),
    "long lexemes": (LONG, lambda text: re.fullmatch("[ab]+(ab){100}|ab", text) is not None),
    "lexemes": (LEXEMES, is_nested),
    "nested": (
        NESTED,
        lambda text: len(text) == 1 or re.search("[^a-zA-Z]{40}$", text) is not None,
    ),
    "marks": (MARKED, lambda text: re.fullmatch(r"[^\n]+", text) is not None),
}
NAMES = pytest.mark.parametrize("name", GRAMMARS)


@functools.cache
def index_of(name: str) -> cfgguide.Index:
    return cfgguide.compile(GRAMMARS[name][0], standard_library_vocabulary(), use_cache=False)


@pytest.mark.few(3)
@NAMES
@pytest.mark.parametrize("seed", range(3))
def test_texts_go_on_and_end_as_sentences(name, seed):
    """One token is any, the next one the first that is allowed: mostly a single character."""
    guide, rng = cfgguide.Guide(index_of(name)), random.Random(seed)
    eos = guide.index.vocabulary.eos_token_ids
    for n in range(20 + 20 * seed):
        allowed = [each for each in guide.allowed_token_ids().tolist() if each not in eos]
        if not allowed:
            break  # of some grammars, a text has an end after which nothing may come
        guide.advance(rng.choice(allowed) if n % 2 else allowed[0])
    for token_id in guide.allowed_token_ids()[:1].tolist():
        assert guide.explain(token_id).is_allowed
    for token_id in guide.shortest_completion():
        guide.advance(token_id)
    assert GRAMMARS[name][1](guide.text.decode()), guide.text
    assert diagnose(guide.index.machine, guide.text).is_sentence


@pytest.mark.few(3)
@NAMES
@pytest.mark.parametrize("n_tokens", [7, 40])
def test_budgets_hold(name, n_tokens):
    guide, rng = cfgguide.Guide(index_of(name)), random.Random(n_tokens)
    for n_left in range(n_tokens, 0, -1):
        if not guide.is_finished:
            guide.advance(rng.choice(guide.allowed_within(n_left).tolist()))
    assert guide.is_finished
    assert GRAMMARS[name][1](guide.text.decode()), guide.text


def test_a_lexer_leaves_more_and_more_open():
    """Each three spaces may be lexemes of a new round, or of the last one."""
    index = index_of("lexemes")
    guide, space = cfgguide.Guide(index), index.vocabulary.tokens.index(b" ")
    for _ in range(800):
        guide.advance(space)
    for token_id in guide.shortest_completion():
        guide.advance(token_id)
    assert is_nested(guide.text.decode())


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(1, 7))
def test_what_is_not_followed_is_not_said_to_be_wrong(seed):
    """Each text begins a palindrome: it is read with all readings, or there are too many."""
    recognizer, rng = index_of("palindromes").machine.recognizer, random.Random(seed)
    text = bytes(rng.choices(b"ab", [1, seed], k=150))
    with suppress(LimitError):
        assert recognizer.read(recognizer.initial, text) is not None
    after = recognizer.advance(recognizer.initial, text)
    assert after is None or len(after.hypotheses) <= recognizer.n_followed


def test_a_text_is_checked_with_all_readings():
    """With some of them, the middle of the palindrome is lost."""
    limits = cfgguide.Limits(max_hypotheses=40)
    vocabulary = cfgguide.Vocabulary.of_bytes()
    machine = cfgguide.compile(PALINDROMES, vocabulary, limits=limits, use_cache=False).machine
    for text in (b"a" * 34, b"a" * 35, b"a" * 30 + b"b"):
        assert diagnose(machine, text).is_sentence == (text == text[::-1])
        assert len(machine.advance(machine.initial, text).hypotheses) <= 16
    assert not machine.is_sentence(machine.advance(machine.initial, b"a" * 35))
    with pytest.raises(LimitError, match="max_hypotheses"):
        diagnose(machine, b"a" * 200)


@pytest.mark.few(2)
@NAMES
def test_masks_are_what_reading_says(name):
    """Longer tokens may be left out of a mask; none is in it that may not follow."""
    index, rng = index_of(name), random.Random(0)
    vocabulary, machine, guide = index.vocabulary, index.machine, cfgguide.Guide(index)
    eos = vocabulary.eos_token_ids
    for _ in range(6):
        allowed = {*guide.allowed_token_ids().tolist()} - {*eos}
        chosen = [*rng.sample(range(len(vocabulary)), 100), *rng.choices(sorted(allowed), k=5)]
        for token_id in chosen:
            token = vocabulary.tokens[token_id]
            if not token or token_id in eos:
                continue
            after = machine.advance(guide.configuration, token)
            is_live = after is not None and machine.is_live(after)
            assert is_live if token_id in allowed else not (is_live and len(token) == 1), token
        guide.advance(rng.choice(sorted(allowed)))
