r"""JSON strings whose values are sentences: `json`, `re`, and Lark with the grammar judge them.

The string of a text is what `json.dumps(text, ensure_ascii=False)` writes, and a string is one of
the grammar's just if its value is a sentence and it is spelled so.
"""

from __future__ import annotations

import functools
import json
import random
import re
import sqlite3

import pytest
from support import sql_judge
from support.ci import or_in_ci
from support.derivations import Deriver
from support.judged_texts import texts_of
from support.judges import accepts, parses
from support.languages import bundled_parser
from support.sql_grammars import SAMPLES

import cfgguide
from cfgguide import concat, free_text, regex, repeat
from cfgguide.combinators import json_string, optional
from cfgguide.errors import GrammarError
from cfgguide.grammar.combinators.escaping import escaped_pattern
from cfgguide.sql import with_schema

JSON = cfgguide.Grammar.bundled("json")
LETTERS = 'ab"\\\n\t\x01é/ #n1_'
BYTES = cfgguide.Vocabulary.of_bytes([b'\\"', b'"}', b"SELECT ", b"\\n", b' \\"', b"n", b'\\\\"'])


def spelled(text):
    return json.dumps(text, ensure_ascii=False)


def random_texts(rng, count, letters=LETTERS):
    return ["".join(rng.choices(letters, k=rng.randrange(9))) for _ in range(count)]


# --- Patterns ------------------------------------------------------------------------------------

ATOMS = [
    *("a", "b", r"\"", r"\\", r"\n", r"\t", r"\x01", "é", "/", ".", r"\s", r"\S", r"\w", r"\W"),
    r"\d",
    *('[^"]', r"[^\\\n]", r'["a]', r"[\x00-\x1f#]", r"[\s\d]", "[^a]", r"[\W_]", "(?!a)", '(?!")'),
    *(r"(?=[\n\\])", "(?<=#)", r"(?<!\\)", r'(?<=["\\/])', r'(?<!["_])', "(?<=é )"),
    *("$", r"\Z", r"\A", "^", r"a\b", "(?![^/])", r"(?=.\n|$)"),
]  # fmt: skip
TIMES = ["", "", "", "*", "+?", "??", "{1,2}", "*?"]


def random_pattern(rng, depth=3):
    if depth == 0 or rng.random() < 0.3:
        atom = rng.choice(ATOMS)
        looks = atom.startswith("(?") or atom in ("$", "^", r"\Z", r"\A", r"a\b")
        return atom if looks else atom + rng.choice(TIMES)
    parts = [random_pattern(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.4:
        return f"(?:{'|'.join(parts)})"
    return "".join(parts)


@pytest.mark.filterwarnings("ignore:Possible nested set")
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 9))]
)
def test_a_pattern_matches_the_codes_of_what_it_matched(seed):
    """`re` finds the same match: in the text, and in its string from after the quote on."""
    rng = random.Random(seed)
    n_matched = 0
    for _ in range(150):
        pattern = random_pattern(rng)
        flags = rng.choice([0, 0, re.I, re.S, re.A | re.I])
        before = re.compile(pattern, flags)
        after = re.compile(escaped_pattern(pattern, flags), flags)
        for text in random_texts(rng, 30):
            codes = [spelled(letter)[1:-1] for letter in text]
            for start in {0, len(text) // 2}:
                found = before.match(text, start)
                place = 1 + len("".join(codes[:start]))
                expected = None if found is None else 1 + len("".join(codes[: found.end()]))
                again = after.match(spelled(text), place)
                assert (None if again is None else again.end()) == expected, (pattern, text, start)
                n_matched += found is not None and found.end() > start
    assert n_matched > 1000


@pytest.mark.parametrize(
    "pattern",
    ["(?<=n)a", "(?<![a-z])a", r"(?<!\n)a", r"\ba", r"a\B", r"(?m:^a)", r'"\b', "(?<!1)a"],
)  # fmt: skip
def test_looking_back_at_what_escapes_hide_is_refused(pattern):
    with pytest.raises(
        GrammarError, match="the terminal __ANON_0: it looks back, in a JSON string"
    ):
        json_string(cfgguide.Grammar(f"start: /{pattern}/"))


# --- Grammars ------------------------------------------------------------------------------------

GRAMMARS = {  # and the letters of texts
    "names": ('start: ("if" NAME | NAME "\\n"?)+\nNAME: /[abif"]+/\n%ignore " "', 'ab"if \n'),
    "strings": ("start: ESCAPED_STRING+\n%import common.ESCAPED_STRING", 'a\\"'),
    "priorities": (
        'start: A | b\nb.2: WORD\nA.2: /a+/i\nWORD: /[a"n]+/\n%ignore /[ \\n]+/',
        'aAn" \n',
    ),
    "any case": ('start: "a\\""i "N"i*', 'aA"nN'),
    "lines": ("start: LINE+\nLINE: /.*?$\\n/m", "ab\n\\"),
    "longest": ('start: ("\\"" | "\\"\\"" | "\\\\" | "\\\\n" | "n")+', '"\\n'),
    "empty": ('start: x*\nx: "a" ["\\t"]', "a\t"),
    "ignored": (
        'start: A B* (C start)?\nA: /a+/\nB: /b"?/i\nC: /-+/\n'
        '%ignore / +|\\n/\n%ignore /--[^n]*/\n%ignore /"(?=b)/',
        'aBb"- \nn',
    ),
    "ignored last": ("start: A+\nA.2: /a | +n/\n%ignore / /", "a n"),
    "order": (
        r"""start: (A | B "!" | C "?")+
A: /[#n]{1,3}/
B: /[#\n]{1,2}/
C: /[#nn]{1,3}/""",
        "#n\n!?",
    ),
    "flags": ("start: WORD+\nWORD: / a | \\# + /x", "a# "),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAMMARS)
def test_strings_are_those_of_the_sentences(name):
    rules, letters = GRAMMARS[name]
    grammar, rng = cfgguide.Grammar(rules), random.Random(name)
    is_sentence, string = parses(grammar), json_string(grammar)
    lark_says, engine_says = parses(string), accepts(string)
    n_sentences = 0
    for text in ["", *random_texts(rng, 1500, letters)]:
        expected = is_sentence(text)
        assert lark_says(spelled(text)) == engine_says(spelled(text)) == expected, text
        n_sentences += expected
        for odd in (f'"{text}"', f" {spelled(text)}", f"{spelled(text)} ", spelled(text)[:-1]):
            if odd != spelled(text):
                assert not engine_says(odd) or (
                    json.loads(odd) != text and is_sentence(json.loads(odd))
                )
    assert n_sentences > 3


def test_other_spellings_are_no_sentences():
    says = accepts(json_string(regex(".*", re.DOTALL)))
    for text in (
        '"a"',
        '"/"',
        '"\\n\\t\\b\\f\\r"',
        '"\\u0000\\u001f"',
        '"\x7f\u2028é"',
        '"\\\\\\""',
    ):
        assert says(text)
        assert spelled(json.loads(text)) == text
    for text in ('"\\u0041"', '"\\/"', '"\\u000a"', '"\\u001F"', '"\t"', '"\\"', '"""', "a", ""):
        assert not says(text)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("part", "is_value"),
    [
        ("a\"b\n", 'a"b\n'.__eq__),
        (cfgguide.choice(["a", '"', "\n\n"]), ["a", '"', "\n\n"].__contains__),
        (regex(r'a*|"+'), lambda text: re.fullmatch(r'a*|"+', text) is not None),
        (regex(r'(?="|\\).*', re.DOTALL), lambda text: text[:1] in ('"', "\\") and text != ""),
        (free_text(), lambda text: True),
        (free_text(until='"'), lambda text: text.find('"') == len(text) - 1 >= 0),
        (concat("a", optional('"'), free_text(until="\n")), re.compile('a"?[^\n]*\n').fullmatch),
        (repeat(concat(free_text(until="\\"), JSON, '"')), None),
        (json_string(free_text(until="a")), None),
    ],
)  # fmt: skip
def test_parts_stand_in_strings(part, is_value):
    grammar = cfgguide.combinators.concat(part)
    judge = is_value or parses(grammar)
    engine_says = accepts(json_string(part))
    rng = random.Random(2)
    texts = [
        *random_texts(rng, 500, 'a"\\\n'),
        *random_texts(rng, 500),
        'a"b\n',
        'x\\1"',
        'x\\[1]"\\2"',
    ]
    for text in [*texts, *map(spelled, texts)]:
        assert engine_says(spelled(text)) == bool(judge(text)), text


# --- Real sentences ------------------------------------------------------------------------------

DATABASE = sqlite3.connect(":memory:")
DATABASE.execute('CREATE TABLE users (id, name, "e-mail")')


SLOW_NAMES = ("sql_select", "sql_select of users", "sql")


@functools.cache
def index_of(name):
    start = {"sql": "statement"}.get(name, "start")
    grammar = cfgguide.Grammar.bundled(name.removesuffix(" of users"), start=start)
    if name.endswith("users"):
        grammar = with_schema(grammar, DATABASE)
    call = concat('{"query": ', json_string(grammar), "}")
    return grammar, cfgguide.compile(call, BYTES, use_cache=False)


def is_written(index, text, rng):
    """Whether a text can be written, in tokens that are chosen at random."""
    guide, data = cfgguide.Guide(index), text.encode()
    while data:
        tokens = [each for each in BYTES.tokens if each and data.startswith(each)]
        token = rng.choice(tokens)
        token_id = BYTES.tokens.index(token)
        if not guide.accepts(token_id):
            return False
        guide.advance(token_id)
        data = data[len(token) :]
    return guide.is_accepting


def sentences(name, rng):
    """Sentences, most of them SQL, with texts that few tokens of SQL have, and what is none."""
    deriver = Deriver(bundled_parser("sql", "statement"), SAMPLES)
    for _ in range(100):
        words = deriver.sentence(rng, "statement", rng.choice((5, 20, 40)))
        yield "".join(word + rng.choice([" ", "\n", "\t ", "\f\r\n", ""]) for word in words)
    for mark in "+-~":
        yield from texts_of("sql_texts.txt", mark)
    yield from ("SELECT name\nFROM users\tWHERE id = '\"\\\n\x01é'", '{"a": "\\n"}', '[1, "\\""]\n')
    yield from ('SELECT "e-mail" FROM users u;', "select a.name, 1 from users as a", "SELECT '")
    if name == "json":
        yield from (json.dumps(json.loads(text)) for text in ('{"é": [1.5, null]}', '"\\u0001"'))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["json", *SLOW_NAMES])
def test_real_sentences_can_be_written_in_a_call(name):
    grammar, index = index_of(name)
    is_sentence, rng = parses(grammar), random.Random(name)
    n_sentences = 0
    for text in sentences(name, rng):
        expected = is_sentence(text)
        assert is_written(index, f'{{"query": {spelled(text)}}}', rng) == expected, text
        n_sentences += expected
    assert n_sentences > {"sql": 80, "sql_select": 20}.get(name, 2)


@pytest.mark.parametrize(
    "name", ["json", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_NAMES)]
)
def test_what_masks_allow_has_a_sentence_as_its_value(name):
    grammar, index = index_of(name)
    is_sentence, rng = parses(grammar), random.Random(name)
    for _ in range(or_in_ci(30, 10)):
        guide = cfgguide.Guide(index)
        for left in range(100, 0, -1):
            guide.advance(int(rng.choice(guide.allowed_within(left))))
            if guide.is_finished:
                break
        text = guide.text.decode()
        query = json.loads(text)["query"]
        assert text == f'{{"query": {spelled(query)}}}'
        assert is_sentence(query), query
        assert name == "json" or sql_judge.verdict(query) is not False


@pytest.mark.slow  # 30 seconds to compile
def test_sentences_of_postgresql_can_be_written_in_a_call():
    grammar = cfgguide.Grammar.bundled("postgresql")
    is_sentence, engine_says = parses(grammar), accepts(json_string(grammar))
    texts = [each for mark in "+-~" for each in texts_of("postgresql_texts.txt", mark)]
    assert len(texts) > 50
    texts = texts[:: or_in_ci(1, 10)]
    for text in [*texts, *(f'{each}\n-- "c"' for each in texts)]:
        assert engine_says(spelled(text)) == is_sentence(text), text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: json_string(1), "a part is a text or a Grammar, not int"),
        (lambda: json_string(cfgguide.combinators.special("<x>")), "special tokens"),
        (lambda: json_string(cfgguide.Grammar.bundled("python")), "an indenter"),
        (lambda: json_string(cfgguide.Grammar('start: "a\\n"i')), "in any case"),
        (
            lambda: json_string(cfgguide.Grammar(
                'start: ("#" | R | X | Y)+\nR: /#{1,9}/\nX: /[#n]{1,3}/\nY: /[#\\n]{1,2}/'
            )),
            "may match at the same place",
        ),
    ],
)  # fmt: skip
def test_what_cannot_stand_in_a_string_is_refused(make, message):
    with pytest.raises(GrammarError, match=re.escape(message)):
        make()
