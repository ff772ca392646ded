"""Special tokens as parts, against a judge that divides a text in all ways.

A text is written with one letter for each special token. What is a sentence comes from a
definition: each piece is judged by itself, a token by being that letter, and no other part has such
letters.
"""

from __future__ import annotations

import functools
import itertools
import pickle
import random
import re

import lark
import pytest
from support.judges import parses

import cfgguide
from cfgguide import concat, free_text, regex, repeat
from cfgguide.combinators import either, optional, special
from cfgguide.errors import GrammarError, VocabularyError
from cfgguide.output_types import TreeParser

JSON = cfgguide.Grammar.bundled("json")
WORDS = cfgguide.Grammar('start: /[ab]+/+\n%ignore "("')
PAIRS = cfgguide.Grammar('start: "(" start "a" | "b"')
OWN = cfgguide.Grammar('start: "(" X Y* "a"\n%declare X Y', special={"X": ["<x>", 3], "Y": "<y>"})

#: The letters of the special tokens, and their names or ids.
LETTERS = {"X": "<x>", "Y": "<y>", "Z": 3}
TEXTS = [b"a", b"b", b"(", None, b"ab", b"<x>", None, None, None]
VOCABULARY = cfgguide.Vocabulary(
    TEXTS, eos_token_ids=8, special_tokens={"<x>": 6, "<y>": 7, "<z>": 3}
)
ID_OF = {"X": 6, "Y": 7, "Z": 3, "a": 0, "b": 1, "(": 2}


def is_text(text):
    return not set(text) & set(LETTERS)


def only(tokens):
    return lambda text: text in LETTERS and LETTERS[text] in tokens


def lark_of(grammar):
    says = functools.cache(parses(grammar))
    return lambda text: is_text(text) and says(text)


def own(text):
    """Sentences of `OWN`, by hand."""
    return re.fullmatch(r"\([XZ]Y*a", text) is not None


def ends_with(stop):
    return lambda text: is_text(text) and text.find(stop) == len(text) - len(stop) >= 0


PARTS = {
    "<x>": (special("<x>"), only({"<x>"})),
    "<x> or <y>": (special("<x>", "<y>"), only({"<x>", "<y>"})),
    "<z>": (special(3), only({3})),
    "free text": (free_text(), is_text),
    "until a": (free_text(until="a"), ends_with("a")),
    "without ab": (free_text(without="ab"), lambda text: is_text(text) and "ab" not in text),
    "ab": ("ab", "ab".__eq__),
    "pattern": (regex("a|ab|b*"), lambda text: re.fullmatch("a|ab|b*", text) is not None),
    "pairs": (PAIRS, lark_of(PAIRS)),
    "words": (WORDS, lark_of(WORDS)),
    "own": (OWN, own),
}
TOKENS = ("<x>", "<x> or <y>", "<z>", "<y>")
#: Parts side by side where it is clear, reading from the left, where the first one ends.
CLEAR_PAIRS = {
    *((first, second) for first in [*PARTS, "a", "b"] for second in TOKENS),
    *((first, second) for first in TOKENS for second in [*PARTS, "a", "b"]),
    *((first, second) for first in ("ab", "a", "b") for second in [*PARTS, "a", "b"]),
}


def one_after_the_other(judges):
    def judge(text):
        ends = {0}
        for each in judges:
            ends = {b for a in ends for b in range(a, len(text) + 1) if each(text[a:b])}
        return len(text) in ends

    return judge


def repeated(judge, least, most):
    def judge_all(text):
        ends, count = {0}, 0
        while ends and (most is None or count <= most):
            if count >= least and len(text) in ends:
                return True
            ends = {b for a in ends for b in range(a, len(text) + 1) if judge(text[a:b]) and a < b}
            count += 1
        return False

    return judge_all


def engine_says(index, text):
    guide = cfgguide.Guide(index)
    for letter in text:
        if not guide.accepts(ID_OF[letter]):
            return False
        guide.advance(ID_OF[letter])
    return guide.is_accepting


def lark_says(grammar, text):
    """What Lark's parser says, if its lexer reads each text between two tokens alone."""
    symbols = cfgguide.base.symbols.symbols_of(dict(grammar.special))
    byte_of = {token: symbols[name] for name, tokens in grammar.special for token in tokens}
    try:
        data = b"".join(
            bytes([byte_of[LETTERS[each]]]) if each in LETTERS else each.encode() for each in text
        )
        TreeParser(grammar)(data)
    except (KeyError, lark.exceptions.LarkError):
        return False
    return True


def texts_of(rng, count):
    return ["", *("".join(rng.choices("ab(XYZ", k=rng.randrange(1, 9))) for _ in range(count))]


def check(grammar, judge, rng, *, is_exact, name):
    index = cfgguide.compile(grammar, VOCABULARY, use_cache=False)
    n_sentences = 0
    for text in [*texts_of(rng, 300), *sampled(index, rng, 40)]:
        verdict = engine_says(index, text)
        assert verdict == lark_says(grammar, text), (name, text)
        assert judge(text) == verdict or (not verdict and not is_exact), (name, text, grammar.text)
        n_sentences += verdict
    return n_sentences


def sampled(index, rng, count):
    """Sentences of the masks, as texts with a letter for each special token."""
    letters = {token_id: letter for letter, token_id in ID_OF.items()} | {4: "ab"}
    for _ in range(count):
        guide, text = cfgguide.Guide(index), ""
        for _ in range(20):
            if guide.is_accepting and rng.random() < 0.3:
                break
            token_ids = [each for each in guide.allowed_token_ids().tolist() if each in letters]
            if not token_ids:
                break
            token_id = rng.choice(token_ids)
            guide.advance(token_id)
            text += letters[token_id]
        if guide.is_accepting:
            yield text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cfgguide.errors.VocabularyWarning")
@pytest.mark.parametrize("seed", range(30))
def test_masks_allow_what_can_be_divided_into_the_parts(seed):
    rng = random.Random(seed)
    n_judged = n_sentences = 0
    while n_judged < 12:
        names = [rng.choice(sorted(PARTS)) for _ in range(rng.randint(2, 4))]
        parts, judges = zip(*(PARTS[name] for name in names), strict=True)
        grammar, judge = concat(*parts), one_after_the_other(judges)
        if not grammar.special:
            continue
        if rng.random() < 0.4:
            least, most = rng.choice([(0, None), (1, 2), (0, 1)])
            grammar, judge = repeat(grammar, least, most), repeated(judge, least, most)
            names.append(f"{least}-{most}")
        try:
            cfgguide.index.compile_recognizer(grammar, use_cache=False)
        except GrammarError:
            continue
        n_judged += 1
        n_sentences += check(grammar, judge, rng, is_exact=False, name=names)
    assert n_sentences > 50


@pytest.mark.few(5)
@pytest.mark.filterwarnings("ignore::cfgguide.errors.VocabularyWarning")
@pytest.mark.parametrize(
    "names",
    [
        ["free text", "<x>"],
        ["<x>", "free text"],
        ["free text", "<x>", "free text", "<x> or <y>", "free text"],
        ["<x>", "pairs", "<x> or <y>"],
        ["<x>", "words", "<z>"],
        ["<x>", "<z>", "words", "<x>", "<z>"],
        ["free text", "<x>", "words", "<x> or <y>", "free text"],
        ["ab", "<x>", "ab", "words", "<x>"],
        ["<z>", "own", "<x> or <y>"],
        ["own", "<z>", "own"],
        ["until a", "<x>", "ab"],
        ["<x>", "pattern", "<x> or <y>", "pattern"],
        ["without ab", "<x>", "without ab", "ab", "<z>"],
    ],
    ids=", ".join,
)
def test_where_tokens_stand_between_parts_all_that_can_be_divided_is_allowed(names):
    parts, judges = zip(*(PARTS[name] for name in names), strict=True)
    rng = random.Random(3)
    judge = one_after_the_other(judges)
    grammar = concat(*parts)
    assert check(grammar, judge, rng, is_exact=True, name=names) > 5
    some = repeat(concat(special("<y>"), grammar, special("<y>")))
    judge = repeated(one_after_the_other([only({"<y>"}), judge, only({"<y>"})]), 0, None)
    assert check(some, judge, rng, is_exact=True, name=[*names, "again"]) > 5


def test_text_never_spells_a_token_and_a_token_is_no_text():
    grammar = concat(free_text(), special("<x>"), JSON, special("<x>", "<y>"), free_text())
    assert grammar.special == (("SPECIAL0_X", ("<x>",)), ("SPECIAL1_Y", ("<y>",)))
    texts = [*(bytes([byte]) for byte in range(256)), b"<x>", None, None, None]
    vocabulary = cfgguide.Vocabulary(
        texts, eos_token_ids=259, special_tokens={"<x>": 257, "<y>": 258}
    )
    guide = cfgguide.Guide(cfgguide.compile(grammar, vocabulary, use_cache=False))
    for token_id in (256, *b"<x>[]"):
        guide.advance(token_id)
    assert not guide.is_accepting
    assert guide.expected() == ("PART0", "SPECIAL0_X")
    for token_id in (257, *b"[1, 2"):
        guide.advance(token_id)
    assert not {257, 258} & set(guide.allowed_token_ids().tolist())
    guide.advance(ord("]"))
    assert {257, 258} <= set(guide.allowed_token_ids().tolist())
    assert 259 not in guide.allowed_token_ids()
    guide.advance(258)
    assert guide.is_accepting


def test_an_eos_may_be_the_last_part():
    text = concat(optional("ab"), special("<end>"))
    vocabulary = cfgguide.Vocabulary(
        [b"a", b"b", None], eos_token_ids=2, special_tokens={"<end>": 2}
    )
    guide = cfgguide.Guide(cfgguide.compile(text, vocabulary, use_cache=False))
    assert guide.allowed_token_ids().tolist() == [0, 2]
    guide.advance(2)
    assert guide.is_finished


def test_a_token_alone_is_a_grammar():
    vocabulary = cfgguide.Vocabulary([b"a", None, None], eos_token_ids=2)
    guide = cfgguide.Guide(cfgguide.compile(special(1), vocabulary, use_cache=False))
    assert guide.allowed_token_ids().tolist() == [1]


def test_grammars_with_tokens_are_values():
    grammar = concat(free_text(), special("<x>", 3), OWN)
    again = pickle.loads(pickle.dumps(grammar))
    assert again == grammar == concat(free_text(), special("<x>", 3), OWN)
    assert again.special == grammar.special
    assert hash(again) == hash(grammar)
    assert grammar != concat(free_text(), special("<x>", 4), OWN)


def either_of(*judges):
    return lambda text: any(judge(text) for judge in judges)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cfgguide.errors.VocabularyWarning")
@pytest.mark.parametrize("seed", range(20))
def test_of_several_parts_that_tokens_tell_apart_each_can_be_written(seed):
    """What is not refused is exact, if tokens or texts end all parts of each alternative."""
    rng = random.Random(seed)
    names = ["<x>", "<x> or <y>", "<z>", "ab", "free text", "own", "pairs", "a", "b"]
    more = {**PARTS, "a": ("a", "a".__eq__), "b": ("b", "b".__eq__)}
    n_judged = n_sentences = 0
    while n_judged < 10:
        grammars, judges, said = [], [], []
        for _ in range(rng.randint(2, 3)):
            chosen = [rng.choice(names) for _ in range(rng.randint(1, 3))]
            parts, said_of = zip(*(more[name] for name in chosen), strict=True)
            grammars.append(concat(*parts, special("<y>")))
            judges.append(one_after_the_other([*said_of, only({"<y>"})]))
            said.append(chosen)
        grammar, judge = either(*grammars), either_of(*judges)
        if rng.random() < 0.4:
            grammar, judge = repeat(grammar), repeated(judge, 0, None)
        try:
            cfgguide.index.compile_recognizer(grammar, use_cache=False)
        except GrammarError:
            continue
        n_judged += 1
        n_sentences += check(grammar, judge, rng, is_exact=False, name=said)
        missed = [text for text in texts_of(rng, 300) if judge(text) != lark_says(grammar, text)]
        assert not missed or is_ambiguous(said), (said, missed[:3], grammar.text)
    assert n_sentences > 50


def is_ambiguous(said):
    """Whether a part may end in two places, so that a lexer takes the first one it can."""
    return any(
        (first, second) not in CLEAR_PAIRS
        for chosen in said
        for first, second in itertools.pairwise([*chosen, "<y>"])
    )


@pytest.mark.filterwarnings("ignore::cfgguide.errors.VocabularyWarning")
@pytest.mark.parametrize(
    ("grammar", "judge"),
    [
        (repeat(optional(special(3))), repeated(only({3}), 0, None)),
        (
            optional(concat(special(3), WORDS)),
            repeated(one_after_the_other([only({3}), PARTS["words"][1]]), 0, 1),
        ),
        (
            optional(concat("ab", WORDS, "b", special(3))),
            repeated(
                one_after_the_other(["ab".__eq__, PARTS["words"][1], "b".__eq__, only({3})]), 0, 1
            ),
        ),
    ],
)
def test_what_may_be_missing_may_hold_tokens(grammar, judge):
    check(grammar, judge, random.Random(4), is_exact=False, name=grammar.text)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: special(), GrammarError, "special takes names and ids of tokens"),
        (lambda: special(""), GrammarError, "special takes names and ids of tokens"),
        (lambda: special(["<x>"]), GrammarError, "special takes names and ids of tokens"),
        (lambda: special(True), GrammarError, "special takes names and ids of tokens"),
        (lambda: special(-1), GrammarError, "special takes names and ids of tokens"),
        (lambda: special("<q>"), VocabularyError, "'<q>'"),
        (lambda: special(99), VocabularyError, "99"),
        (lambda: concat(special("<x>"), special(6)), VocabularyError, "both stand for"),
        (lambda: concat(*map(special, range(14))), GrammarError, "at most 13"),
        (lambda: concat(free_text(), optional("a"), special(3)), GrammarError, "nothing can"),
        (
            lambda: concat(WORDS, optional(free_text(until="a")), special(3)),
            GrammarError,
            "a part has an %ignore",
        ),
        (
            lambda: concat(special(3), cfgguide.Grammar('start: "a"*\n%ignore "b"')),
            GrammarError,
            "a part has an %ignore",
        ),
        (
            lambda: concat("a", cfgguide.Grammar('start: X\nX: "a"', special={"X": 3})),
            GrammarError,
            "%declare X",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::cfgguide.errors.VocabularyWarning")
def test_tokens_that_cannot_stand_where_they_are_are_refused(make, error, message):
    with pytest.raises(error, match=re.escape(message)):
        cfgguide.compile(make(), VOCABULARY, use_cache=False)
