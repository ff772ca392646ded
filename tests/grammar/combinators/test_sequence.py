"""Parts in sequence: free text, texts, values, grammars, and these repeated.

The expected values come from a definition: a text is divided in all ways, and each piece is judged
by itself, by `str.find`, `re.fullmatch`, or Lark with the grammar of that part alone. Lark with the
whole grammar, and the engine, must agree with that.
"""

from __future__ import annotations

import copy
import functools
import itertools
import pickle
import random
import re
from collections.abc import Callable

import pytest
from support.judges import accepts, parses

import cfgguide
from cfgguide import concat, free_text, regex, repeat
from cfgguide.combinators import either, optional
from cfgguide.errors import GrammarError, VocabularyWarning
from cfgguide.grammar.fragments import ended, rules_of

Judge = Callable[[str], bool]
TEXTS = ["".join(letters) for n in range(8) for letters in itertools.product("ab(", repeat=n)]
SPACED = ["".join(letters) for n in range(7) for letters in itertools.product("ab( ", repeat=n)]
JSON = cfgguide.Grammar.bundled("json")
json_says = parses(JSON)


def both_accept(grammar: cfgguide.Grammar, text: str) -> bool:
    """What Lark says; the engine must say the same."""
    return _both(grammar)(text)


@functools.cache
def _both(grammar: cfgguide.Grammar) -> Judge:
    lark_says, engine_says = parses(grammar), accepts(grammar)

    def judge(text: str) -> bool:
        verdict = lark_says(text)
        assert engine_says(text) == verdict, text
        return verdict

    return judge


# --- Free text -----------------------------------------------------------------------------------


def ends_at_the_first(stops: list[str]) -> Judge:
    """The definition: as soon as a stop string is complete, the text is over."""

    def judge(text: str) -> bool:
        ends = [text.find(stop) + len(stop) for stop in stops if stop in text]
        return bool(ends) and min(ends) == len(text)

    return judge


@pytest.mark.few(5)
@pytest.mark.parametrize(
    "stops",
    [
        ["a"], ["ab"], ["aab"], ["abab"], ["aba"], ["((("], ["abaab"], ["a", "b"], ["ab", "b"],
        ["ab", "ba"], ["aab", "ab"], ["abb", "bba"], ["a(b", "("], ["ab", "aba"],
        ["bab", "aa", "b("], ["ab", "ab"],
    ],
)  # fmt: skip
def test_free_text_ends_with_the_first_stop_string(stops):
    grammar, expected = free_text(until=stops), ends_at_the_first(stops)
    for text in TEXTS:
        assert both_accept(grammar, text) == expected(text), text


def test_free_text_takes_all_characters_before_a_stop_string():
    grammar = free_text(until="</a>")
    for text in ("</a>", "\n\r\t\x00</a>", 'é日\U0001f600"\\</a>', "<</a>", "</</a>", "</A></a>"):
        assert both_accept(grammar, text)
    for text in ("", "</a", "</a></a>", "</a> ", "x</a>\n"):
        assert not both_accept(grammar, text)


def test_free_text_without_a_stop_string_is_any_text():
    assert all(both_accept(free_text(), text) for text in ("", "a", "\n", "é\x00 日"))


def test_a_stop_string_ends_a_guide_whatever_tokens_spell_it():
    words = [b"a", b"<", b"/s>", b"</s>", b"a</s", b">", b"s>a", None]
    vocabulary = cfgguide.Vocabulary(words, eos_token_ids=7)
    index = cfgguide.compile(free_text(until="</s>"), vocabulary)
    for token_ids in ([3], [1, 2], [0, 4, 5], [1, 1, 2], [1, 6, 3]):
        guide = cfgguide.Guide(index)
        for token_id in token_ids:
            assert 7 not in guide.allowed_token_ids()
            guide.advance(token_id)
        assert guide.allowed_token_ids().tolist() == [7]


# --- Calls in a text -----------------------------------------------------------------------------

CALL = concat(free_text(until="<call>"), JSON, "</call>")
CALLS = {
    "one": concat(CALL, free_text()),
    "some": concat(repeat(CALL), free_text()),
    "only": repeat(CALL, 1, 2),
    "many": concat(repeat(CALL, 2), free_text()),
    "few": repeat(CALL, 0, 2),
}


def is_calls(text: str, least: int, most: int | None, *, with_rest: bool) -> bool:
    """Calls, cut at each `<call>`: JSON holds no `</call>` but in strings, which are cut later."""
    count = 0
    while "<call>" in text and (most is None or count < most):
        _, text = text.split("<call>", 1)
        ends = [found.start() for found in re.finditer("</call>", text)]
        end = next((place for place in ends if json_says(text[:place])), None)
        if end is None:
            return False
        text = text[end + len("</call>") :]
        count += 1
    return count >= least and (with_rest or not text)


TEXTS_WITH_CALLS = [
    "", "no call", "<call>1</call>", " a\n<call>{}</call>", "<call>[1, 2]</call> and so on",
    '<call>{"a": "</call>"}</call>', '<call>"<call>"</call>', "<call>1</call><call>2</call>",
    "a <call>1 </call> b <call> [2]\n</call> c", "<call>1</call> <call>", "<call></call>",
    "<call>1<call>", "<call>[1</call>", "<call>1</call", "<ca<call>true</call>.", "<call>01</call>",
    "<call>1</call></call>", "<call>1</call>" * 3, "<call>1</call>2</call>", "call>1</call>",
    "<call>1.5e3</call>\n\n", '<call>"\\u00e9"</call>é', "<call>nul</call>", "<call>1,</call>",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS_WITH_CALLS)
def test_calls_in_a_text(text):
    assert both_accept(CALLS["one"], text) == is_calls(text, 1, 1, with_rest=True)
    assert both_accept(CALLS["some"], text) == is_calls(text, 0, None, with_rest=True)
    assert both_accept(CALLS["only"], text) == is_calls(text, 1, 2, with_rest=False)
    assert both_accept(CALLS["many"], text) == is_calls(text, 2, None, with_rest=True)
    assert both_accept(CALLS["few"], text) == is_calls(text, 0, 2, with_rest=False)


def test_a_token_may_span_parts():
    words = [b"<call>", b"<call>[", b"1]</", b"call>", b" x", b"1", None]
    vocabulary = cfgguide.Vocabulary(words, eos_token_ids=6)
    with pytest.warns(VocabularyWarning):
        guide = cfgguide.Guide(cfgguide.compile(CALLS["some"], vocabulary))
    masks = []
    for token_id in (4, 1, 2, 3):
        guide.advance(token_id)
        masks.append(guide.allowed_token_ids().tolist())
    # No token goes on behind a mere `<call>`, which JSON must follow.
    assert masks == [[1, 2, 3, 4, 5, 6], [2, 5], [3], [1, 2, 3, 4, 5, 6]]


# --- Any sequence --------------------------------------------------------------------------------

GRAMMARS = {
    "pairs": 'start: "(" start "a" | "b"',
    "right": 'start: "a" start? | "("',
    "items": 'start: x+\nx: "(" x "b" | /a+/',
    "empty": 'start: [x]\nx: "b" x "b" | "a"',
}
PATTERNS = ["a|ab", "a*", "(?:a|b)b?", "b+?", "[ab]", "(ab)*a?", "a?"]


class Random:
    """Random parts with their definitions."""

    def __init__(self, seed: int, grammars: dict[str, str], *, is_exact: bool) -> None:
        self._rng = random.Random(seed)
        self._grammars = grammars
        self._judges = {name: functools.cache(parses(cfgguide.Grammar(text)))
                        for name, text in grammars.items()}  # fmt: skip
        self._kinds = ["text", "free", "grammar"] + ["pattern"] * (not is_exact)

    def leaf(self) -> tuple[str | cfgguide.Grammar, Judge, str]:
        rng, kind = self._rng, self._rng.choice(self._kinds)
        if kind == "text":
            text = "".join(rng.choices("ab(", k=rng.randint(1, 3)))
            return text, text.__eq__, repr(text)
        if kind == "free":
            stops = [
                "".join(rng.choices("ab", k=rng.randint(1, 3)))
                for _ in range(rng.choice("12") == "1" or 2)
            ]
            return free_text(until=stops), ends_at_the_first(stops), f"free_text({stops})"
        if kind == "pattern":
            pattern = rng.choice(PATTERNS)
            return regex(pattern), lambda text: bool(re.fullmatch(pattern, text)), f"/{pattern}/"
        name = rng.choice(sorted(self._grammars))
        return cfgguide.Grammar(self._grammars[name]), self._judges[name], name

    def sequence(self, leaves: int) -> tuple[cfgguide.Grammar, Judge, str]:
        parts, judges, names = zip(*(self.leaf() for _ in range(leaves)), strict=True)
        return concat(*parts), one_after_the_other(judges), f"concat({', '.join(names)})"

    def part(self, depth: int) -> tuple[str | cfgguide.Grammar, Judge, str]:
        kind = self._rng.random()
        if depth == 0 or kind < 0.35:
            return self.leaf()
        if kind < 0.8:
            count = self._rng.randint(2, 3)
            parts, judges, names = zip(*(self.part(depth - 1) for _ in range(count)), strict=True)
            return concat(*parts), one_after_the_other(judges), f"concat({', '.join(names)})"
        part, judge, name = self.part(depth - 1)
        least, most = self._rng.choice([(0, None), (1, None), (0, 1), (1, 2)])
        return repeat(part, least, most), repeated(judge, least, most), f"{name}{{{least},{most}}}"


def one_after_the_other(judges: tuple[Judge, ...]) -> Judge:
    @functools.cache
    def judge(text: str) -> bool:
        ends = {0}
        for each in judges:
            ends = {b for a in ends for b in range(a, len(text) + 1) if each(text[a:b])}
        return len(text) in ends

    return judge


def repeated(part: Judge, least: int, most: int | None) -> Judge:
    @functools.cache
    def judge(text: str) -> bool:
        ends = {0}
        if least == 0 and not text:
            return True
        for count in range(1, (most or len(text) + 1 + least) + 1):
            ends = {b for a in ends for b in range(a, len(text) + 1) if part(text[a:b])}
            if count >= least and len(text) in ends:
                return True
        return False

    return judge


def check_random_parts(parts: Random, texts: list[str], count: int) -> None:
    """All that Lark accepts can be divided, and the engine says what Lark says."""
    n_judged = 0
    while n_judged < count:
        part, defined, name = parts.part(3)
        grammar = concat(part, "(")
        defined = one_after_the_other((defined, "(".__eq__))
        try:
            judge = _both.__wrapped__(grammar)
        except GrammarError:
            continue  # refused; see the tests of refusals
        n_judged += 1
        wrong = [text for text in texts if judge(text) and not defined(text)]
        assert not wrong, (name, wrong[:3], grammar.text)


def test_what_lark_accepts_can_be_divided_into_the_parts():
    check_random_parts(Random(0, GRAMMARS, is_exact=False), TEXTS[:400], 6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_what_lark_accepts_can_be_divided_into_many_parts(seed):
    check_random_parts(Random(seed, GRAMMARS, is_exact=False), TEXTS, 15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_what_lark_accepts_can_be_divided_where_parts_ignore_spaces(seed):
    ignoring = {name: f'{text}\n%ignore " "' for name, text in GRAMMARS.items()}
    check_random_parts(Random(seed, ignoring, is_exact=False), SPACED, 15)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 8))]
)
def test_all_is_accepted_where_no_sentence_of_a_part_begins_another_one(seed):
    """Texts, free text and the sentences of `pairs` are such: where they end is always clear."""
    parts = Random(seed, {"pairs": GRAMMARS["pairs"]}, is_exact=True)
    n_judged = 0
    while n_judged < 6:
        grammar, defined, name = parts.sequence(random.Random(seed + n_judged).randint(2, 4))
        if re.search(r"pairs, pairs", name):
            continue  # refused: two grammars side by side
        n_judged += 1
        judge = _both.__wrapped__(grammar)
        different = [text for text in TEXTS if judge(text) != defined(text)]
        assert not different, (name, different[:3])


@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [
        (concat("a", "b"), "ab"),
        (concat(regex("a|ab"), "b"), "(a|ab)b"),
        (concat(regex("a*"), optional("b"), regex("a|ab")), "a*b?(a|ab)"),
        (repeat(concat(regex("a|ba"), "b"), 1, 2), "((a|ba)b){1,2}"),
        (repeat("ab"), "(ab)*"),
        (optional(repeat(regex("a?"), 2)), "(a?)*"),
        (concat(), ""),
        (concat("", cfgguide.choice(["a", ""]), ""), "a?"),
        (repeat(optional(cfgguide.choice(["a", "b"])), 0, 3), "[ab]{,3}"),
    ],
)
def test_texts_and_values_in_sequence_are_one_regular_expression(grammar, pattern):
    assert "PART" not in grammar.text
    for text in TEXTS[:364]:
        assert both_accept(grammar, text) == bool(re.fullmatch(pattern, text)), text


@pytest.mark.parametrize(
    ("grammar", "counts"),
    [
        (repeat(repeat(CALL, 1), 1, 2), {1, 2, 3, 4, 5}),
        (repeat(repeat(CALL, 1, 2), 1, 2), {1, 2, 3, 4}),
        (repeat(repeat(CALL, 2, 2), 1, 2), {2, 4}),
        (repeat(optional(CALL), 1, 2), {0, 1, 2}),
        (repeat(repeat(CALL), 1, 2), {0, 1, 2, 3, 4, 5}),
        (repeat(repeat(CALL, 0, 2), 0, 2), {0, 1, 2, 3, 4}),
        (optional(repeat(CALL, 1)), {0, 1, 2, 3, 4, 5}),
        (optional(repeat(CALL, 2)), {0, 2, 3, 4, 5}),
        (repeat(CALL, 3), {3, 4, 5}),
    ],
)
def test_what_is_repeated_may_be_repeated(grammar, counts):
    found = {count for count in range(6) if both_accept(grammar, "x<call>1</call>" * count)}
    assert found == counts


def test_values_stand_between_grammars_and_free_text():
    grammar = concat(
        "n=",
        cfgguide.values.integer(0, 12),
        ": ",
        JSON,
        ";",
        cfgguide.values.boolean(),
        free_text(),
    )
    for text in ("n=0: [1];true", "n=12: 1 ;false and more", "n=7: {};true;true"):
        assert both_accept(grammar, text)
    for text in ("n=13: 1;true", "n=1:1;true", "n=1: 1;tru", "n=1: ;true", " n=1: 1;true"):
        assert not both_accept(grammar, text)


def test_a_long_choice_stands_in_a_sequence():
    words = [f"{word}{number}" for word in ("alpha", "beta") for number in range(1000)]
    grammar = concat(free_text(until=": "), cfgguide.choice(words), "!")
    assert both_accept(grammar, "x: alpha999!")
    assert not both_accept(grammar, "x: alpha1000!")


def test_a_value_is_tried_on_until_what_follows_fits():
    """`a|ab` prefers `a`; behind it the text must end, or a free text follow."""
    grammar = repeat(concat(free_text(until="="), regex("(?:a|ab)(?:c|bcb)?")))
    for text in ("=ab", "=a", "x=abcb", "=abc", "=abcb(=a", "=acb=a"):
        divided = all(re.fullmatch("(?:a|ab)(?:c|bcb)?", each) for each in text.split("=")[1:])
        assert both_accept(grammar, text) or not divided, text


# --- The end of a grammar ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1], and so on.", True), ("[[1], 2]] [.", True), ('{"a": [1]}}.', True),
        ("1.5.", True), ("1.5, 2.", True), ("[1 and so on.", False), ("[1", False),
        ('"a"b.', True),
    ],
)  # fmt: skip
def test_free_text_begins_behind_a_whole_sentence_only(text, expected):
    """Lark's lexer takes the state behind `[1` and behind `1` alike; the rules must not."""
    assert both_accept(concat(JSON, free_text(until=".")), text) == expected


@pytest.mark.parametrize(
    "text", ["[[1]]", "[[[1], 2]]", "[[]]", "[1]", "[1", "1]", "[[1]", "[ 1 ]"]
)
def test_a_text_that_a_grammar_has_too_ends_it(text):
    expected = text[:1] == "[" and text[-1:] == "]" and json_says(text[1:-1])
    grammar = concat("[", cfgguide.Grammar(JSON.text + "\n%override _ws:\n"), "]")
    assert both_accept(grammar, text) == (expected and " " not in text)


RULES = {
    "json": JSON.text,
    "templates": 'start: _list{"a"} | ["b"] "c"~2..3\n_list{x}: x ("," x)*',
    "priorities": "start: A | b\nb.2: WORD\nA.2: /a+/i\nWORD: /[a-z]+/\n%ignore / +/",
    "keywords": 'start: ("if" NAME | NAME)+\nNAME: /[a-z]+/\n%ignore " "',
    "imports": "start: ESCAPED_STRING | SIGNED_INT\n%import common (ESCAPED_STRING, SIGNED_INT)",
    "order of names": 'start: A "y" | B "x"\nA: /[ab]/\nB: /[bc]/',
    "rules that compete": 'start: a "c" | b "c" "d"\na: "aa"\nb.2: "aa"',
    "odd names": 'start: "日" "é"i | "\\\\" | "/" "\\""',
    "never": 'start: "a" | "b" NEVER\n%declare NEVER',
    "empty": 'start: x*\nx: "a" ["b"]',
}  # fmt: skip
SENTENCES = [
    "", "a", "a,a,a", "a,", "bcc", "cc", "ccc", "bcccc", "AA", "aa", "word", "if x y", "ifx", "if",
    "b", '"a"', '"\\""', "-15", "+2", "日é", "日É", "日", "\\", '/"', "/", "ab", "abaab", "bb",
    "by", "bx", "cx", "aac", "aacd",
    "[1, {}]", "[1",
]  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_rules_written_again_have_the_same_sentences(name):
    expected = parses(cfgguide.Grammar(RULES[name]))
    rules = rules_of(cfgguide.Grammar(RULES[name]))
    for each in (rules, ended(rules)):
        written = cfgguide.Grammar(f"start: part1\n{each.text('part1')}")
        for text in SENTENCES:
            assert both_accept(written, text) == expected(text), text


def test_names_of_parts_do_not_meet():
    first = cfgguide.Grammar('start: x WORD\nx: "a" x | "."\nWORD: /[a-z]+/')
    second = cfgguide.Grammar('start: x "." WORD\nx: "b"\nWORD: /[0-9]+/')
    grammar = concat(first, "|", second, "|", first)
    assert both_accept(grammar, "aa.x|b.12|.y")
    assert not both_accept(grammar, "aa.x|b.x|.y")
    assert not both_accept(grammar, "b.12|b.12|.y")


# --- What is ignored -----------------------------------------------------------------------------

WORDS = cfgguide.Grammar('start: /[a-z]+/+\n%ignore " "')


@pytest.mark.parametrize(
    ("grammar", "accepted", "refused"),
    [
        (
            concat("<", WORDS, ">"),
            ["<a>", "< a b >", "<ab >"],
            [" <a>", "<a> ", " <a> ", "< >", "<a>a"],
        ),
        (
            concat("x", repeat(concat("<", WORDS, ">"), 1, 2), "."),
            ["x<a>.", "x< a ><a >."],
            ["x<a> .", "x<a> <b>.", "x<a>. ", "x <a>.", " x<a>."],
        ),
        (
            concat(free_text(until="<"), WORDS, ">", free_text()),
            [" <a>", "x < a > y", "<a> "],
            ["< >", " a>"],
        ),
        (concat(WORDS, ";", WORDS), [" a ; b ", "a;b"], ["a;", ";b", "a;;b"]),
        (concat(optional("!"), "<", WORDS, ">"), ["!<a>", "< a >"], ["! <a>", " <a>", "!<a> "]),
    ],
)
def test_what_a_part_ignores_is_ignored_there_only(grammar, accepted, refused):
    for text in accepted:
        assert both_accept(grammar, text), text
    for text in refused:
        assert not both_accept(grammar, text), text


# --- One of several ------------------------------------------------------------------------------

ABC = {
    "pairs": cfgguide.Grammar(GRAMMARS["pairs"]),
    "a": cfgguide.Grammar('start: "a" start? | "("'),
}


def either_of(*judges: Judge) -> Judge:
    return lambda text: any(judge(text) for judge in judges)


PAIRS, RIGHT = (functools.cache(parses(each)) for each in ABC.values())
EITHER: list[tuple[cfgguide.Grammar, Judge]] = [
    (either("a", "ab", regex("b*")), re.compile("a|ab|b*").fullmatch),
    (
        either(concat("a", ABC["pairs"]), concat("b", ABC["a"], "b")),
        either_of(
            one_after_the_other(("a".__eq__, PAIRS)),
            one_after_the_other(("b".__eq__, RIGHT, "b".__eq__)),
        ),
    ),
    (
        concat(either(concat("ab", ABC["a"]), concat("(", ABC["pairs"]), "b"), "b"),
        one_after_the_other((
            either_of(
                one_after_the_other(("ab".__eq__, RIGHT)),
                one_after_the_other(("(".__eq__, PAIRS)),
                "b".__eq__,
            ),
            "b".__eq__,
        )),
    ),
    (
        repeat(either(concat("aa", free_text(until="b")), concat("b", ABC["pairs"]), "(")),
        repeated(
            either_of(
                one_after_the_other(("aa".__eq__, ends_at_the_first(["b"]))),
                one_after_the_other(("b".__eq__, PAIRS)),
                "(".__eq__,
            ),
            0,
            None,
        ),
    ),
    (
        either(optional(concat("a", ABC["pairs"])), either(concat("b", free_text()))),
        either_of(
            "".__eq__, one_after_the_other(("a".__eq__, PAIRS)), lambda text: text[:1] == "b"
        ),
    ),
    (
        concat(either(concat("aa", WORDS, "("), concat("(", WORDS)), "b("),
        one_after_the_other((
            either_of(
                one_after_the_other(("aa".__eq__, parses(WORDS), "(".__eq__)),
                one_after_the_other(("(".__eq__, parses(WORDS))),
            ),
            "b(".__eq__,
        )),
    ),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(EITHER)))
def test_one_of_several_parts(number):
    grammar, defined = EITHER[number]
    accepted = [text for text in TEXTS if both_accept(grammar, text)]
    assert accepted
    if number < 5:
        assert accepted == [text for text in TEXTS if defined(text)]
    assert all(defined(text) for text in accepted)


# --- Refusals ------------------------------------------------------------------------------------

BRACKETS = cfgguide.Grammar('start: "(" start ")" | "x"')


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: concat(free_text(), "a"), "nothing can follow it; say where it stops"),
        (lambda: repeat(free_text()), "write repeat(x) instead of repeat(optional(x))"),
        (lambda: repeat(concat(optional(CALL), optional(CALL))), "the repeated part may be empty"),
        (lambda: concat(JSON, BRACKETS), "put a text between them"),
        (lambda: repeat(JSON), "put a text between them"),
        (lambda: concat("a", optional(BRACKETS), JSON), "put a text before one of them"),
        (lambda: concat(free_text(until="a"), regex("^a|b$")), "looks around"),
        (lambda: concat("a", regex(r"\ba")), "looks around"),
        (lambda: concat(WORDS, ";", JSON), "two parts do not ignore the same (%ignore)"),
        (lambda: concat(WORDS, free_text(until="a")), "a part has an %ignore"),
        (lambda: concat(optional("a"), WORDS), "a part has an %ignore"),
        (lambda: repeat(concat("<", WORDS, ">"), 1), "a part has an %ignore"),
        (
            lambda: concat("a", cfgguide.Grammar.bundled("python")),
            "a grammar with an indenter (postlex) cannot be a part of another one",
        ),
        (lambda: concat("a", cfgguide.Grammar("start: /b/", lexer="basic")), "lexer='basic'"),
        (lambda: concat("a", cfgguide.Grammar("start: /b/", regex_flags=re.I)), "regex_flags"),
        (lambda: concat("a", cfgguide.Grammar("start: b")), "Lark rejects the grammar"),
        (lambda: either(), "either needs at least one part"),
        (lambda: either(JSON, BRACKETS), "either the grammar"),
        (
            lambda: either(concat("a", JSON), concat("ab", JSON)),
            "put a text before each that differs",
        ),
        (lambda: either(concat("a", JSON), free_text(until="b")), "may begin like the other"),
        (lambda: either(concat("t", JSON), JSON), "may begin like the other"),
        (
            lambda: either(concat(regex("[ab]"), JSON), concat(regex("[bc]"), JSON)),
            "may begin like",
        ),
        (lambda: either(optional(concat("a", JSON)), optional(concat("b", JSON))), "may be empty"),
        (lambda: concat(1), "a part is a text or a Grammar, not int"),
        (lambda: concat(re.compile("a")), "for a pattern write cfgguide.regex(pattern)"),
        (lambda: repeat("a", -1), "minimum is a number from 0 up, not -1"),
        (lambda: repeat("a", 0, True), "maximum is a number from 0 up, not True"),
        (lambda: repeat("a", 3, 2), "maximum is at least 1 and not below minimum, not 2"),
        (lambda: repeat("a", 0, 0), "maximum is at least 1"),
        (lambda: free_text(until=""), "a stop string is a text that is not empty"),
        (lambda: free_text(until=5), "until is a stop string or several, not 5"),
        (lambda: free_text(until=[]), "a stop string is a text that is not empty"),
        (lambda: free_text(until=["a", 1]), "expected a text, not int: 1"),
        (lambda: free_text(until="\ud800"), "holds a surrogate"),
    ],
)
def test_parts_that_cannot_stand_where_they_are_are_refused(make, message):
    with pytest.raises(GrammarError, match=re.escape(message)):
        cfgguide.index.compile_recognizer(make(), use_cache=False)


# --- The grammar as a value ----------------------------------------------------------------------


def test_equal_parts_make_equal_grammars():
    one, other = (concat(free_text(until="<"), JSON, ">") for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != concat(free_text(until="<"), JSON, "|")
    assert one.text == other.text


def test_a_grammar_of_parts_is_copied_and_pickled():
    grammar = concat(free_text(until="<"), cfgguide.values.integer())
    for again in (copy.copy(grammar), copy.deepcopy(grammar), pickle.loads(pickle.dumps(grammar))):
        assert again == grammar
        assert concat(again, "!") == concat(grammar, "!")


def test_a_grammar_of_parts_has_no_attributes_of_its_own():
    with pytest.raises(AttributeError, match="has no attribute 'colour'"):
        _ = concat("a").colour
