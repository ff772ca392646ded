"""Tokens of one class lead everywhere to the same; the recogniser, byte by byte, is the judge."""

from __future__ import annotations

import functools
import random
from itertools import pairwise

import numpy as np
import pytest
from support.indenters import TreeIndenter
from support.threads import in_threads
from support.walked_grammars import GRAMMARS

import cfgguide
from cfgguide.compiler import compile, compile_recognizer
from cfgguide.engine.machine.recognizer import Configuration, Recognizer
from cfgguide.engine.masks import effects
from cfgguide.engine.masks.effects import NOTHING, Effects
from cfgguide.engine.masks.token_classes import ClassTrie, TokenClasses
from cfgguide.engine.vocabulary.trie import FIRST_CHILD, FIRST_TOKEN, VocabularyTrie
from cfgguide.grammar.grammar import Grammar

TREE = r"""
    start: tree
    tree: NAME _NL [_INDENT tree+ _DEDENT]
    NAME: /[a-z]+/
    _NL: /(\r?\n[\t ]*(#[^\n]*)?)+/
    %declare _INDENT _DEDENT
    %ignore "."
"""

WORDS = cfgguide.Vocabulary([b"a", b"\n", b" ", b"ab", b".", None], eos_token_ids=5)


def classes_of(token_classes: TokenClasses, vocabulary: cfgguide.Vocabulary) -> list[list[int]]:
    """Return the tokens of each class."""
    token_classes.work()
    trie = token_classes.trie
    assert isinstance(trie, ClassTrie)
    nodes = trie.packed.nodes
    starts = sorted({*nodes[:, FIRST_TOKEN].tolist(), len(trie.packed.token_ids)})
    classes = [trie.packed.token_ids[start:end].tolist() for start, end in pairwise(starts)]
    assert trie.n_classes == len(classes)
    assert (np.diff(nodes[:, FIRST_CHILD]) >= 0).all()
    return classes


@functools.cache
def recognizer_of(grammar: str) -> Recognizer:
    return compile_recognizer(Grammar(grammar))


def reached(recognizer: Recognizer, texts: list[bytes], n: int) -> list[Configuration]:
    rng = random.Random(5)
    found = [recognizer.initial]
    for _ in range(10 * n):
        led = recognizer.advance(rng.choice(found), rng.choice(texts))
        if led is not None:
            found.append(led)
    return found[:n]


def after(recognizer: Recognizer, configuration: Configuration, token: bytes) -> object:
    led = recognizer.advance(configuration, token)
    return None if led is None else (frozenset(led.hypotheses), led.context)


CASES = {
    **GRAMMARS,
    # `xdab` is Z and then an error, `xdcb` is X and W; both may go on as Y.
    "a longer lexeme on the way": (
        'start: X W | Y | Z\nX: "x"\nW: /d[ac]b/\nZ: "xda"\nY: /xd[ac]bc/',
        [b"x", b"dab", b"dcb", b"xdab", b"xdcb", b"a", b"b", b"c", b"d"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("grammar", "tokens"), CASES.values(), ids=CASES.keys())
def test_tokens_of_a_class_lead_to_the_same_from_everywhere(grammar, tokens):
    recognizer = recognizer_of(grammar)
    vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    classes = classes_of(TokenClasses(recognizer, vocabulary.trie), vocabulary)
    left_out = set(range(len(tokens))) - {token for members in classes for token in members}
    for configuration in reached(recognizer, tokens, 60):
        for members in classes:
            ends = {after(recognizer, configuration, tokens[token]) for token in members}
            assert len(ends) == 1
        assert all(after(recognizer, configuration, tokens[t]) is None for t in left_out)


LANGUAGES = {
    "sql": "SELECT a.b, 'x''y' FROM t -- c\nWHERE x <> 1.5e3 AND NOT y IN (1, 0x1f) /* d */;",
    "go": 'package p\nfunc f(a ...int) (b string) {\n\tx := a[0:1] // c\n\treturn "\\n" + `r`\n}',
    "rust": "fn f<'a>(x: &'a str) -> u8 { let c = 'a'; r#\"s\"#; 1..2; x.0 /* /* */ */ }",
    "javascript": "const f = (a, ...b) => `x${a?.b ?? 1}`; if (/[/]\\//g.test(x)) y++ // c\n",
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), LANGUAGES.items(), ids=LANGUAGES)
def test_tokens_of_a_class_lead_to_the_same_in_languages(name, text):
    """Inside lexemes too, with what they look ahead for still open; pieces of a text are tokens."""
    recognizer = compile_recognizer(Grammar.bundled(name)).with_whole_stacks()
    data, rng = text.encode(), random.Random(7)
    tokens = sorted({data[n : n + size] for n in range(len(data)) for size in range(1, 6)})
    tokens += sorted({b"".join(rng.choices(tokens, k=2)) for _ in range(300)} - {*tokens})
    classes = classes_of(TokenClasses(recognizer, VocabularyTrie.of(tokens)), None)
    assert len(classes) > 50
    left_out = set(range(len(tokens))) - {token for members in classes for token in members}
    letters = [bytes([byte]) for byte in sorted({*data})]
    places = [recognizer.advance(recognizer.initial, data[:n]) for n in range(len(data))]
    configurations = [each for each in places if each is not None]
    configurations += [
        led
        for each in configurations
        if (led := recognizer.advance(each, rng.choice(letters))) is not None
    ]
    assert len(configurations) > 40
    for configuration in configurations:
        for members in classes:
            ends = {after(recognizer, configuration, tokens[token]) for token in members}
            assert len(ends) == 1
        assert all(after(recognizer, configuration, tokens[t]) is None for t in left_out)


def indented() -> list[tuple[Grammar, str]]:
    """Return grammars with Lark's columns and with CPython's, and a line that opens a block."""
    return [(Grammar(TREE, postlex=TreeIndenter()), "x"), (Grammar.bundled("python"), "if x:")]


@pytest.mark.slow
@pytest.mark.parametrize(("grammar", "line"), indented(), ids=["tree", "python"])
def test_columns_tell_tokens_apart(grammar, line):
    recognizer = compile_recognizer(grammar)
    texts = ["\n" + n * " " for n in range(6)] + [n * " " for n in range(1, 6)]
    texts += ["\n\t", "\t", " \t", "\t ", "\n \t", "\n\t ", "\n# x", "# x", "x", "\n \n", "7", "42"]
    texts += [line + text for text in texts] + [text + line for text in texts]
    tokens = [text.encode() for text in texts]
    classes = classes_of(TokenClasses(recognizer, VocabularyTrie.of(tokens)), None)
    class_of = {token: number for number, members in enumerate(classes) for token in members}
    assert len({class_of[texts.index("\n" + n * " ")] for n in range(6)}) == 6
    for configuration in reached(recognizer, [*tokens, line.encode(), b"\n", b"\n "], 200):
        for members in classes:
            assert len({after(recognizer, configuration, tokens[t]) for t in members}) == 1


@pytest.mark.parametrize("name", ["json", "sql"])
def test_masks_do_not_depend_on_when_the_classes_are_made(name):
    rng = random.Random(1)
    letters = ["select", "1", '"', " ", "{", "a", ",", ":", "(", "*", "from", "é", "\n", "]"]
    tokens = ["".join(rng.choices(letters, k=rng.randint(1, 4))).encode() for _ in range(300)]
    tokens += [bytes([byte]) for byte in range(256)]
    vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    made = compile(Grammar.bundled(name), vocabulary)
    unmade = cfgguide.Index(made.machine, vocabulary)
    unmade.masks.token_classes.work = lambda n_steps: None
    for configuration in reached(
        made.machine.recognizer, [token.encode() for token in letters], 60
    ):
        masks = [index.subset(configuration).bitmask for index in (made, unmade)]
        assert (masks[0] == masks[1]).all()
    assert made.masks.token_classes.are_made
    assert not unmade.masks.token_classes.are_made


def test_classes_are_the_same_however_the_work_is_cut():
    recognizer = recognizer_of(Grammar.bundled("json").text)
    tokens = GRAMMARS["json"][1]
    at_once, in_pieces = (TokenClasses(recognizer, VocabularyTrie.of(tokens)) for _ in range(2))
    at_once.work()
    while not in_pieces.are_made:
        in_pieces.work(1)
    for one, other in zip(at_once.trie.packed, in_pieces.trie.packed, strict=True):
        assert np.array_equal(one, other)


def test_classes_are_the_same_however_often_the_items_need_more_room(monkeypatch):
    recognizer = recognizer_of(Grammar.bundled("json").text)
    tokens = GRAMMARS["json"][1]
    with_room, without = (TokenClasses(recognizer, VocabularyTrie.of(tokens)) for _ in range(2))
    with_room.work()
    monkeypatch.setitem(effects._SIZES, "items", 64)
    monkeypatch.setattr(effects, "_MORE_ITEMS", 64)
    without.work()
    for one, other in zip(with_room.trie.packed, without.trie.packed, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("use_cache", [True, False])
def test_classes_are_made_when_an_index_is_compiled(use_cache):
    index = compile(Grammar(TREE, postlex=TreeIndenter()), WORDS, use_cache=use_cache)
    assert index.masks.token_classes.are_made


def test_an_interrupted_search_begins_anew(monkeypatch):
    recognizer = recognizer_of(Grammar.bundled("json").text)
    token_classes = TokenClasses(recognizer, VocabularyTrie.of(GRAMMARS["json"][1]))
    token_classes.work(1)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Effects, "work", interrupted)
        with pytest.raises(KeyboardInterrupt):
            token_classes.work()
    assert not token_classes.are_made
    token_classes.work()
    assert token_classes.are_made


def test_threads_share_the_work():
    recognizer = recognizer_of(Grammar.bundled("json").text)
    token_classes = TokenClasses(recognizer, VocabularyTrie.of(GRAMMARS["json"][1]))
    in_threads(lambda _: token_classes.work(), range(4))
    assert token_classes.are_made


def test_a_string_that_no_state_reads_has_no_effect():
    trie = VocabularyTrie.of([b"a", b"ab", b"abz"]).packed
    effects = Effects(recognizer_of('start: "ab"'), trie)
    while not effects.work(1):
        pass
    assert [effect != NOTHING for effect in effects.of_tokens.tolist()] == [True, True, False]
