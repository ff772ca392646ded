"""Masks within a budget: sound, live, and complete where all can be looked at.

The oracle is brute force: :class:`Distances` tries every sequence of tokens. On the grammars of
this table every mask must be exactly its own; on the bundled ones with a real vocabulary random
walks must finish in time, whatever they take.
"""

from __future__ import annotations

import functools
import random
import warnings
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from support.small_tokenizers import standard_library_vocabulary

import cfgguide
from cfgguide.base.limits import work_of_thread
from cfgguide.engine.index.memo import Step
from cfgguide.errors import BudgetError
from cfgguide.guide.budget import TokenBudget, allowed_within


class Case(NamedTuple):
    """A grammar, the tokens but EOS, and how many may be written."""

    grammar: str
    tokens: tuple[bytes, ...]
    n: int


CASES = {
    "brackets": Case(
        'start: "(" start? ")" | "[" start? "]"', (b"(", b")", b"))", b"[", b"]])"), 8
    ),
    "a long way": Case('start: "a" | "b" "x"~9', (b"a", b"b", b"bb", b"x", b"xx", b"xxxx"), 8),
    "only a long text has few tokens": Case(
        'start: "a" "bc" | "a" "defghi"', (b"a", b"b", b"c", b"defghi"), 4
    ),
    "names": Case(
        'start: NAME ("," NAME)* ";"\nNAME: /[ab]+/\n%ignore " "',
        (b"a", b"b", b"ab", b",", b" ", b";", b"a;", b",a", b", "),
        5,
    ),
    "a keyword and a name": Case(
        'start: "if" NAME "fi" | NAME "=" NAME\nNAME: /[a-z]+/\n%ignore " "',
        (b"i", b"f", b"if", b"fi", b" ", b"=", b" fi", b"x", b"=x"),
        5,
    ),
    "what matches falls back": Case(
        'start: (DOT | ELLIPSIS | X)+ "!"\nDOT: "."\nELLIPSIS: "..."\nX: "x"',
        (b".", b"..", b"x", b"!", b"x!", b".!"),
        5,
    ),
    "look-ahead": Case("start: A B\nA: /a+(?=b)/\nB: /b+/", (b"a", b"b", b"ab", b"aa", b"bb"), 6),
    "a vocabulary without single bytes": Case(
        'start: "[" (WORD ("," WORD)*)? "]"\nWORD: "null"',
        (b"[nu", b"ll", b"ll]", b"[]", b",null", b"]"),
        7,
    ),
    "two EOS": Case('start: "a"+', (b"a", b"aa"), 4),
    "token classes in another order": Case(
        'start: R "x" "x" "x" | Q "!"\nR: /[ab]*r/\nQ: /[ab]*q/',
        (b"aar", b"aq", b"br", b"a", b"x", b"!"),
        6,
    ),
    "one terminal without an end": Case("start: A\nA: /[ab]+/", (b"a", b"b", b"ab", b"aba"), 4),
    "one terminal that may be missing": Case("start: A?\nA: /(?s:.)+/", (b"a", b"ab", b"\n"), 4),
    "a prefix of another choice": Case("start: A\nA: /aaaa|aa/", (b"a", b"aaa"), 5),
    "a comment that nothing ends": Case(
        'start: "x" A?\nA: /#.*/s\n%ignore " "', (b"x", b"#", b" ", b"x#"), 4
    ),
    "endless white space": Case('start: "a" "b"\n%ignore " "', (b" ", b"a", b"b", b"  b"), 5),
}


@functools.cache
def index_of(name: str) -> cfgguide.Index:
    case = CASES[name]
    n_eos = 2 if name == "two EOS" else 1
    tokens = [*case.tokens, *[None] * n_eos]
    ends = range(len(case.tokens), len(tokens))
    vocabulary = cfgguide.Vocabulary(tokens, eos_token_ids=ends)
    with warnings.catch_warnings(action="ignore"):
        return cfgguide.compile(cfgguide.Grammar(case.grammar), vocabulary)


class Distances:
    """Whether a sentence can be finished within so many tokens: by trying all of them."""

    def __init__(self, index: cfgguide.Index) -> None:
        self._index = index
        self._known: dict[tuple[object, int], bool] = {}

    def fits(self, step: Step, n: int) -> bool:
        key = (step.configuration, n)
        if key not in self._known:
            self._known[key] = bool(self.allowed(step, n))
        return self._known[key]

    def allowed(self, step: Step, n: int) -> list[int]:
        """The tokens after which a sentence fits into what is left of `n`."""
        if n < 1:
            return []
        eos = self._index.vocabulary.eos_token_ids
        return [
            token_id
            for token_id in self._index.allowed(step).token_ids().tolist()
            if token_id in eos or self.fits(self._index.advance(step, token_id), n - 1)
        ]


def ids_of(words: np.ndarray) -> list[int]:
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()


@pytest.mark.parametrize("name", CASES)
def test_masks_within_a_budget_are_those_of_brute_force(name):
    """After every sequence of tokens that fits, for every number of tokens that are left."""
    index = index_of(name)
    distances, token_budget = Distances(index), TokenBudget(index)
    n_compared = 0
    for most in range(1, CASES[name].n + 1):
        if not distances.fits(index.start, most):
            with pytest.raises(BudgetError):
                token_budget.check(index.start, most)
            continue
        token_budget.check(index.start, most)
        pending, seen = [(index.start, most)], set()
        while pending:
            step, n = pending.pop()
            if (step.configuration, n) in seen:
                continue
            seen.add((step.configuration, n))
            expected = distances.allowed(step, n)
            assert ids_of(token_budget.within(step, n)) == expected, (
                n,
                step.configuration,
            )
            n_compared += 1
            following = set(expected) - set(index.vocabulary.eos_token_ids)
            pending += [(index.advance(step, token_id), n - 1) for token_id in following]
    assert n_compared > 3


@pytest.mark.parametrize("name", CASES)
def test_the_shortest_completion_is_one_and_none_is_shorter(name):
    index = index_of(name)
    distances = Distances(index)
    for tokens in walks(index, n_walks=10, n_tokens=4):
        guide = cfgguide.Guide(index)
        for token_id in tokens:
            guide.advance(token_id)
        found = guide.shortest_completion()
        step = functools.reduce(index.advance, tokens, index.start)
        assert distances.fits(step, len(found))
        assert not distances.fits(step, len(found) - 1)
        for token_id in found:
            guide.advance(token_id)
        assert guide.is_finished


def walks(index: cfgguide.Index, *, n_walks: int, n_tokens: int) -> list[list[int]]:
    rng, found = random.Random(0), []
    for _ in range(n_walks):
        guide = cfgguide.Guide(index)
        for _ in range(rng.randrange(n_tokens + 1)):
            ids = set(guide.allowed_token_ids().tolist()) - set(index.vocabulary.eos_token_ids)
            if not ids:
                break
            guide.advance(rng.choice(sorted(ids)))
        found.append(list(guide.token_ids))
    return found


def test_a_grammar_that_goes_a_long_way_is_refused_what_it_cannot_finish():
    index = index_of("a long way")
    with pytest.raises(BudgetError) as error:
        TokenBudget(index).check(index.start, 1)
    assert str(error.value) == (
        "[budget] no sentence can be finished within 1 token: 2 tokens, EOS included, finish one; "
        "allow more"
    )
    b = index.advance(index.start, 1)
    assert ids_of(allowed_within(index, b, 4)) == [3, 5]  # two of four, one of one, EOS
    assert ids_of(allowed_within(index, b, 5)) == [3, 4, 5]
    with pytest.raises(BudgetError):
        allowed_within(index, b, 3)


def test_a_guide_gives_the_mask_within_a_budget():
    index = index_of("brackets")
    guide = cfgguide.Guide(index)
    guide.advance(0)
    assert guide.allowed_within(2).tolist() == [1]
    out = np.zeros(1, dtype=np.int32)
    guide.fill_bitmask(out, within=2)
    assert ids_of(out) == [1]
    guide.fill_bitmask(out)
    assert ids_of(out) == [0, 1, 3]
    for token_id in (1, 5):
        guide.advance(token_id)
    assert guide.allowed_within(5).tolist() == []
    assert guide.shortest_completion() == ()


# --- Real grammars -------------------------------------------------------------------------------

BUNDLED = {"json": {"max_ignored": 16}, "sql": {}, "python": {"start": "function"}}


@functools.cache
def bundled(name: str) -> cfgguide.Index:
    grammar = cfgguide.Grammar.bundled(name, **BUNDLED[name])
    return cfgguide.compile(grammar, standard_library_vocabulary())


def finished_within(index: cfgguide.Index, n: int, rng: random.Random) -> list[int]:
    """Tokens taken at random from the masks within a budget, until EOS."""
    guide = cfgguide.Guide(index)
    while not guide.is_finished:
        ids = guide.allowed_within(n - len(guide.token_ids)).tolist()
        short = [each for each in ids if len(index.vocabulary.tokens[each] or b"") == 1]
        guide.advance(rng.choice(short if short and rng.random() < 0.5 else ids))
    return list(guide.token_ids)


def within_each(token_budget: TokenBudget, step: Step, most: int) -> list[list[int]]:
    """The masks within so many tokens and fewer; none where no sentence is known to fit."""
    masks = []
    for n in range(most, 0, -1):
        try:
            masks.append(ids_of(token_budget.within(step, n)))
        except BudgetError:
            masks.append([])
    return masks


@pytest.mark.slow
@pytest.mark.parametrize("name", ["json", pytest.param("sql", marks=pytest.mark.slow), *CASES])
def test_masks_within_a_budget_do_not_depend_on_when_the_token_classes_are_made(name, monkeypatch):
    """Made between two masks of the same configuration, they number its outcomes anew."""
    grammar = cfgguide.Grammar.bundled(name, **BUNDLED[name]) if name in BUNDLED else None
    vocabulary = standard_library_vocabulary() if grammar else index_of(name).vocabulary
    rng, n_restricted = random.Random(2), 0
    for n_tokens in range(6):
        with warnings.catch_warnings(action="ignore"):
            early = cfgguide.compile(
                grammar or cfgguide.Grammar(CASES[name].grammar), vocabulary, use_cache=False
            )
        late = cfgguide.Index(early.machine, early.vocabulary)  # its classes are not made
        early.masks.token_classes.work()
        make = late.masks.token_classes.work
        monkeypatch.setattr(late.masks.token_classes, "work", lambda n_steps: None)
        guide = cfgguide.Guide(late)
        for _ in range(n_tokens):
            ids = set(guide.allowed_token_ids().tolist()) - set(vocabulary.eos_token_ids)
            if not ids:
                break
            guide.advance(rng.choice(sorted(ids)))
        here = functools.reduce(early.advance, guide.token_ids, early.start)
        one, other = TokenBudget(late, effort=0), TokenBudget(early, effort=0)
        least = len(guide.shortest_completion())
        within_each(one, guide.step, least + 4)
        one._reaches = {c: replace(reach, masks={}) for c, reach in one._reaches.items()}
        assert not late.masks.token_classes.are_made
        make()
        masks = within_each(one, guide.step, least + 3)
        assert masks == within_each(other, here, least + 3)
        n_restricted += len({tuple(mask) for mask in masks}) > 1
    assert n_restricted > 0


@pytest.mark.parametrize("name", ["json", pytest.param("sql", marks=pytest.mark.slow)])
def test_what_was_promised_of_a_whole_stack_is_kept_for_a_shortened_one(name):
    """As if no ending of a shortened stack were known."""
    index, rng, n_shortened = bundled(name), random.Random(3), 0
    walking = index.machine.recognizer.with_whole_stacks()
    for _ in range(20):
        token_budget = TokenBudget(index)
        n = len(token_budget.shortest(index.start)) + rng.randrange(2, 12)
        step = index.start
        while True:
            words = token_budget.within(step, n)
            assert len(token_budget.shortest(step)) <= n
            token_id = rng.choice(ids_of(words))
            if token_id in index.vocabulary.eos_token_ids:
                break
            before, step, n = step, index.advance(step, token_id), n - 1
            after, whole = step.configuration, before.configuration
            if after != walking.advance(whole, index.vocabulary.tokens[token_id]):
                token_budget._shorter.pop(after, None)
                token_budget._reaches.pop(after, None)
                token_budget._paths[after] = None
                n_shortened += 1
    assert n_shortened > 10


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_walks"), [("json", 100), ("sql", 20), ("python", 3)])
def test_random_walks_within_a_budget_finish_within_it(name, n_walks):
    index, rng = bundled(name), random.Random(0)
    least = len(TokenBudget.of(index).shortest(index.start))
    for walk in range(n_walks):
        n = least + walk % 12
        tokens = finished_within(index, n, rng)
        assert len(tokens) <= n
        guide = cfgguide.Guide(index)
        for token_id in tokens:
            guide.advance(token_id)
        assert guide.is_finished


def test_a_small_grammar_is_searched_where_no_short_ending_is_known():
    """After `(`, the shortest lexeme of B, `b`, would be read as a part of A."""
    grammar = cfgguide.Grammar("start: A B\nA.2: /\\((?:b+|ab|a)?/\nB.1: /(?s:.*?)b/")
    index = cfgguide.compile(
        grammar, cfgguide.Vocabulary([b"a", b"b", b"(", None], eos_token_ids=3)
    )
    for seed in range(20):
        rng, guide = random.Random(seed), cfgguide.Guide(index)
        for left in range(20, 0, -1):
            guide.advance(rng.choice(guide.allowed_within(left).tolist()))
            if guide.is_finished:
                break
        assert guide.is_finished


def test_however_little_may_be_done_one_token_is_looked_ahead(monkeypatch):
    """`ab` has the fewest lexemes, `cdd` the fewest tokens."""
    monkeypatch.setattr("cfgguide.guide.budget._MOST_WORK", 1)
    vocabulary = cfgguide.Vocabulary([b"a", b"b", b"cdd", None], eos_token_ids=3)
    index = cfgguide.compile(cfgguide.Grammar('start: "a" "b" | "c" "d" "d"'), vocabulary)
    assert cfgguide.Guide(index).shortest_completion() == (2, 3)
    assert cfgguide.Guide(index).allowed_within(2).tolist() == [2]


def test_random_walks_in_json_finish_within_three_tokens():
    index, rng = bundled("json"), random.Random(0)
    for n in (2, 3, 3, 3):
        assert len(finished_within(index, n, rng)) <= n


@pytest.mark.parametrize(
    ("name", "n_walks"), [("json", 5), pytest.param("sql", 20, marks=pytest.mark.slow)]
)
def test_a_large_budget_rules_nothing_out(name, n_walks):
    """An ending is found behind every token: in comments, strings and half of a keyword, too."""
    index, rng = bundled(name), random.Random(1)
    for _ in range(n_walks):
        guide = cfgguide.Guide(index)
        while len(guide.token_ids) < 12 and not guide.is_finished:
            ids = guide.allowed_token_ids()
            assert np.array_equal(guide.allowed_within(10**6), ids), guide.text
            guide.advance(int(rng.choice(ids)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grammar", "opening"),
    [
        ('start: "[" start? "]"', b"["),
        ('start: "[" (start ("," start)*)? "]" | /[a-z]+/\n%ignore " "', b"["),
        ('start: t ("+" t)*\nt: /[0-9]+/ | "(" start ")"', b"("),
        (None, b"["),
    ],
)
def test_a_model_that_likes_to_open_brackets_finishes_within_its_budget(grammar, opening):
    """Each step once took as long as the text was deep, squared; this test would not have ended."""
    found = cfgguide.Grammar.bundled("json") if grammar is None else cfgguide.Grammar(grammar)
    index = cfgguide.compile(found, cfgguide.Vocabulary.of_bytes([b"]]", b"]]]]", b"[]", b"[["]))
    guide, n = cfgguide.Guide(index), 500
    opening_id = index.vocabulary.tokens.index(opening)
    while not guide.is_finished:
        ids = guide.allowed_within(n)
        n -= 1
        guide.advance(opening_id if opening_id in ids else int(ids[-1]))
        if n == 300:
            assert len(guide.shortest_completion()) <= n
    assert n >= 0
    assert guide.text.count(opening) > 100


#: Searches that take over 5 s without a bound: 350,000 calls of `check_step` and more.
HARD = {
    "endings that look-aheads make a search": cfgguide.Grammar(
        r"""
        start: a
        a: b | a /a+/ b
        b: "=" | start start B
        B: /\w+(?=\b)/
        %ignore /\s+(?!\b)/
        """,
        parser="earley",
    ),
    "distances that are too small": cfgguide.regex(r"(?:a|b|ab){101}\B.*"),
}


@pytest.mark.parametrize("name", HARD)
def test_a_search_for_shorter_endings_has_a_bound(name):
    vocabulary = standard_library_vocabulary()
    guide = cfgguide.Guide(cfgguide.compile(HARD[name], vocabulary, use_cache=False))
    before = work_of_thread()
    assert len(guide.allowed_within(len(guide.shortest_completion()) + 3))
    assert work_of_thread() - before < 100_000


def _in_a_member(schema):
    return {"type": "object", "properties": {"a": schema}}


#: Schemas with long endings, what has come, and the most work.
LONG_ENDINGS = {
    "an object of 1,000 listed numbers": (
        {"const": {f"member{n}": n for n in range(1000)}},
        "",
        100_000,
    ),
    "500 names after some of one": (
        {"type": "object", "required": [f"p{n}" for n in range(500)]},
        '{"p',
        500_000,
    ),
    "a string of a million letters": (_in_a_member({"const": "x" * 1_000_000}), '{"a":', 500),
    "200,000 properties": (
        _in_a_member({"type": "object", "minProperties": 200_000}),
        '{"a":',
        200_000,
    ),
    "200,000 fractions": (
        {"items": {"multipleOf": 0.37, "minimum": 10}, "minItems": 200_000},
        "[",
        200_000,
    ),
}


@pytest.mark.parametrize("name", LONG_ENDINGS)
def test_that_an_ending_is_long_is_found_out_with_little_work(name):
    schema, text, most = LONG_ENDINGS[name]
    vocabulary = standard_library_vocabulary()
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.json_schema(schema, tidy=True), vocabulary))
    for character in text:
        guide.advance(vocabulary.tokens.index(character.encode()))
    before = work_of_thread()
    with pytest.raises(BudgetError):
        guide.allowed_within(50)
    assert work_of_thread() - before < most


#: Schemas, texts whose endings need another item than the shortest that comes to mind, and tokens.
REMEMBERING = {
    "different items that have to be contained": (
        {"contains": {"uniqueItems": True, "minItems": 2, "type": "array"}},
        '[{"#":""},[0,1]]',
        8,
    ),
    "what may not contain": (
        {"items": {"not": {"contains": {"type": "number"}}, "type": "array"}, "minItems": 2},
        '[["",[]],[""]]',
        8,
    ),
}


@pytest.mark.parametrize("name", REMEMBERING)
def test_what_was_asked_before_changes_no_mask_of_a_schema(name):
    schema, text, n = REMEMBERING[name]
    vocabulary = standard_library_vocabulary()
    masks = []
    for order in (iter, reversed):
        guides = [cfgguide.Guide(cfgguide.compile(cfgguide.json_schema(schema), vocabulary))]
        for byte in text.encode():
            guides.append(guides[-1].copy())
            guides[-1].advance(vocabulary.tokens.index(bytes([byte])))
        found = {}
        for guide in order(guides):
            with suppress(BudgetError):
                found[guide.text] = guide.allowed_within(n).tolist()
        masks.append(found)
    assert masks[0] == masks[1]


def test_steps_of_a_long_text_are_freed():
    index = cfgguide.compile(
        cfgguide.regex("a*"), cfgguide.Vocabulary([b"a", None], eos_token_ids=1)
    )
    step = index.start
    for _ in range(100_000):
        step = index.advance(step, 0)
    assert step.before.before.before.token_id == 0
    del step
