"""The guarantees as laws, on a vocabulary of realistic size: sound, complete, live, and the rest.

Texts are drawn at random, and so is the way in which tokens spell them. The judges are Lark and,
for JSON, Python's `json`.
"""

from __future__ import annotations

import functools
import heapq
import json
import random

import lark
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_walks import Judges, sample
from support.small_tokenizers import standard_library_vocabulary

import cfgguide
from cfgguide.compiler import compile_recognizer
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.masks.token_classes import TokenClasses
from cfgguide.engine.masks.walk import LrWalker
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.engine.vocabulary.trie import VocabularyTrie

STATEMENTS = r"""
start: (_statement _NL)*
_statement: assignment | condition | "pass"
assignment: NAME "=" expression
condition: "if" expression "then" _statement ["else" _statement]
?expression: product | expression ("+" | "-") product
?product: atom | product ("*" | "**") atom
?atom: NUMBER | NAME | STRING | "(" expression ")" | NAME "(" [expression ("," expression)*] ")"
NAME: /[^\W\d]\w*/
NUMBER: /[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?/
STRING: /".*?(?<!\\)(\\\\)*?"/ | /'[^'\n]*'/
_NL: /(\r?\n)+/
COMMENT: /#[^\n]*/
%ignore " "
%ignore COMMENT
"""

TAGS = """
start: element
element: "<" NAME attribute* ("/>" | ">" content* "</" NAME ">")
attribute: _SPACE NAME "=" (/"[^"<]*"/ | /'[^'<]*'/)
content: element | TEXT | "&" NAME ";" | "<!--" COMMENT "-->"
NAME: /[a-z][a-z0-9-]*/i
TEXT.-1: /[^<&]+/
COMMENT: /([^-]|-[^-])+/
_SPACE: /[ \\n]+/
"""

GRAMMARS = {
    "json": cfgguide.Grammar.bundled("json"),
    "statements": cfgguide.Grammar(STATEMENTS),
    "tags": cfgguide.Grammar(TAGS),
}
names = pytest.mark.parametrize(
    "name", ["json", "statements", pytest.param("tags", marks=pytest.mark.slow)]
)


@functools.cache
def index_of(name: str) -> cfgguide.Index:
    return cfgguide.compile(GRAMMARS[name], standard_library_vocabulary())


@functools.cache
def parser_of(name: str) -> lark.Lark:
    return lark.Lark(GRAMMARS[name].text, parser="lalr", lexer="contextual")


@functools.cache
def tokens_by_text() -> dict[bytes, int]:
    return {
        token: token_id
        for token_id, token in enumerate(standard_library_vocabulary().tokens)
        if token
    }


def tokenised(text: bytes, rng: random.Random) -> list[int]:
    """Return tokens that spell a text, each chosen at random from those that fit."""
    ids, start, known = [], 0, tokens_by_text()
    while start < len(text):
        ends = [end for end in range(start + 1, start + 17) if text[start:end] in known]
        end = rng.choice([end for end in ends if end <= len(text)])
        ids.append(known[text[start:end]])
        start = end
    return ids


def eos() -> int:
    return standard_library_vocabulary().eos_token_ids[0]


# --- Soundness and liveness -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "documents", "ends_after"), [("json", 60, None), ("statements", 30, 20)]
)
def test_random_walks_end_in_sentences_and_are_never_stuck(name, documents, ends_after):
    report = sample(
        index_of(name),
        Judges(GRAMMARS[name], is_json=name == "json"),
        documents=documents,
        max_tokens=300,
        seed=1,
        ends_after=ends_after,
    )
    assert report.is_clean, "\n".join(report.lines())
    assert report.n_finished > documents / 4, "too few ended for the test to say anything"


@names
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_after_any_allowed_tokens_there_is_a_way_to_a_sentence(name, seed):
    guide = walked(name, seed, most=12)
    rest = way_out(guide)
    assert rest is not None, guide.text
    parser_of(name).parse((guide.text + rest).decode())
    for byte in rest:
        guide.advance(tokens_by_text()[bytes([byte])])
    assert eos() in guide.allowed_token_ids()


def way_out(guide: cfgguide.Guide, most: int = 20_000) -> bytes | None:
    """Return bytes that make a sentence of the text; low stacks are tried first."""
    recognizer = guide.index.machine.recognizer
    pending = [(0, 0, b"", guide.configuration)]
    seen = {guide.configuration}
    while pending and len(seen) < most:
        _, _, rest, configuration = heapq.heappop(pending)
        if recognizer.is_sentence(configuration):
            return rest
        for byte in b"\"'0a=\n)]}/>-<:;n\xa9\xa9\xbf\x80te lsruf\\":
            after = recognizer.advance(configuration, bytes([byte]))
            if after is not None and after not in seen:
                seen.add(after)
                height = min(each.stack.height for each in after.hypotheses)
                heapq.heappush(
                    pending, (len(rest) + 3 * height, len(seen), rest + bytes([byte]), after)
                )
    return None


# --- Completeness ---------------------------------------------------------------------------------

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=15,
)
indentations = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "indent": st.sampled_from([None, 0, 1, 4, "\t"]),
        "separators": st.sampled_from([None, (",", ":"), (" , ", " : "), ("\n,\r", ":\t")]),
    }
)


@settings(max_examples=120, deadline=None)
@given(values, indentations, st.integers(0, 2**32))
def test_any_json_text_in_any_tokens_is_allowed(value, indentation, seed):
    text = json.dumps(value, **indentation).encode("utf-8", "surrogatepass")
    try:
        text.decode()
    except UnicodeDecodeError:
        text = json.dumps(value, **{**indentation, "ensure_ascii": True}).encode()
    accepts_all("json", text, seed)


def accepts_all(name: str, text: bytes, seed: int) -> None:
    guide = cfgguide.Guide(index_of(name))
    for token_id in tokenised(text, random.Random(seed)):
        assert token_id in guide.allowed_token_ids(), guide.text
        guide.advance(token_id)
    assert eos() in guide.allowed_token_ids()
    assert guide.text == text


STATEMENT_TEXTS = [
    "",
    "pass\n",
    "x=1\ny = x + 2.5e-3 * (z - 'a b')  # why\n\n",
    'if iffy then then_ = "a \\" b\\\\" else pass\r\n',
    "élan = f(1., 2**3)\n",
    "passed=passing+if_\n",
    "if a then if b then pass else x=''\n",
    "if 1then a=1e5else pass\n",
]
TAG_TEXTS = [
    "<a/>",
    '<a b="c" d=\'e "f\'>text &amp; more<b/></a>',
    "<A-1>\n<!--a comment - of sorts--></A-1>",
    "<x>naïve 日本語 \t</y>",
]


@pytest.mark.parametrize(
    ("name", "text"),
    [("statements", text) for text in STATEMENT_TEXTS] + [("tags", text) for text in TAG_TEXTS],
)
def test_sentences_of_other_grammars_in_any_tokens_are_allowed(name, text):
    parser_of(name).parse(text)
    for seed in range(10):
        accepts_all(name, text.encode(), seed)


def some_sentence(name: str, rng: random.Random) -> str:
    if name == "json":
        value = {"a": [rng.randint(-99, 99) / 7, None, "é\\n\n"], "": {"b": [True, [], {}]}}
        return json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]))
    if name == "tags":
        return rng.choice(TAG_TEXTS)
    return "".join(rng.choices(STATEMENT_TEXTS, k=2))


@names
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_lark_makes_of_a_broken_sentence_is_what_we_make_of_it(name, seed):
    """One byte is deleted, doubled or replaced; many such texts are sentences all the same."""
    rng = random.Random(seed)
    text = bytearray(some_sentence(name, rng).encode()) or bytearray(b"x")
    place = rng.randrange(len(text))
    mark = bytes([rng.choice(b" \"\\{}[]<>/,:=\n'1ae-;&#")])
    text[place : place + 1] = rng.choice([b"", text[place : place + 1] * 2, mark])
    recognizer = index_of(name).machine.recognizer
    configuration = recognizer.advance(recognizer.initial, bytes(text))
    ours = configuration is not None and recognizer.is_sentence(configuration)
    try:
        parser_of(name).parse(text.decode())
    except (lark.exceptions.LarkError, UnicodeDecodeError, EOFError):
        assert not ours
    else:
        assert ours


# --- The same text --------------------------------------------------------------------------------


@names
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_same_text_by_other_tokens_is_the_same_state(name, seed):
    text, rng = walked(name, seed).text, random.Random(seed)
    one, other = (advanced(name, tokenised(text, rng)) for _ in range(2))
    assert one.text == other.text == text
    assert one.configuration == other.configuration
    assert hash(one.configuration) == hash(other.configuration)
    assert (one.allowed_token_ids() == other.allowed_token_ids()).all()
    assert one.expected() == other.expected()
    assert one.is_accepting == other.is_accepting


def walked(name: str, seed: int, most: int = 30) -> cfgguide.Guide:
    """Return a guide after a random number of random allowed tokens, none of them EOS."""
    guide, rng = cfgguide.Guide(index_of(name)), random.Random(seed)
    for _ in range(rng.randint(0, most)):
        allowed = [i for i in guide.allowed_token_ids().tolist() if i != eos()]
        if not allowed:
            break
        guide.advance(rng.choice(allowed))
    return guide


def advanced(name: str, token_ids: list[int]) -> cfgguide.Guide:
    guide = cfgguide.Guide(index_of(name))
    for token_id in token_ids:
        guide.advance(token_id)
    return guide


# --- Back and aside -------------------------------------------------------------------------------


@pytest.mark.few(1)
@names
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_rollback_restores_everything(name, seed):
    rng, guide = random.Random(seed), walked(name, seed)
    before = state(guide)
    aside = guide.copy()
    n = 0
    for _ in range(rng.randint(1, 10)):
        allowed = guide.allowed_token_ids().tolist()
        if not allowed:
            break
        guide.advance(rng.choice(allowed))
        n += 1
    after = state(guide)
    assert state(aside) == before
    guide.rollback(n)
    assert state(guide) == before
    for token_id in after[1][len(before[1]) :]:
        guide.advance(token_id)
    assert state(guide) == after


def state(guide: cfgguide.Guide) -> tuple[object, ...]:
    out = np.empty(guide.index.vocabulary.n_words, dtype=np.int32)
    guide.fill_bitmask(out)
    return (
        guide.text, guide.token_ids, guide.configuration, guide.is_accepting, guide.is_finished,
        guide.expected(), out.tobytes(), tuple(guide.allowed_token_ids().tolist()),
    )  # fmt: skip


# --- One mask, asked in every way -----------------------------------------------------------------


@pytest.mark.slow
@names
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_accepts_and_the_masks_agree_on_every_id(name, seed):
    """`accepts` decides each token by itself, before the mask is made."""
    fresh = cfgguide.Guide(cfgguide.compile(GRAMMARS[name], standard_library_vocabulary()))
    for token_id in walked(name, seed).token_ids:
        fresh.advance(token_id)
    one_by_one = [i for i in range(standard_library_vocabulary().size) if fresh.accepts(i)]
    ids = fresh.allowed_token_ids().tolist()
    out = np.empty(standard_library_vocabulary().n_words, dtype=np.int32)
    fresh.fill_bitmask(out)
    bits = np.flatnonzero(np.unpackbits(out.view(np.uint8), bitorder="little")).tolist()
    assert one_by_one == ids == bits
    assert [i for i in range(standard_library_vocabulary().size) if fresh.accepts(i)] == ids


@pytest.mark.slow
@names
def test_masks_do_not_depend_on_the_order_in_which_the_index_was_filled(name):
    prefixes = [walked(name, seed).token_ids for seed in range(40)]
    masks = []
    for order in (prefixes, prefixes[::-1]):
        index = cfgguide.compile(GRAMMARS[name], standard_library_vocabulary())
        found = {}
        for token_ids in order:
            guide = cfgguide.Guide(index)
            for token_id in token_ids:
                guide.advance(token_id)
            found[token_ids] = guide.allowed_token_ids().tolist()
        masks.append(found)
        assert index.n_entries <= len(prefixes)
    assert masks[0] == masks[1]
    filled = {
        token_ids: advanced(name, list(token_ids)).allowed_token_ids().tolist()
        for token_ids in prefixes
    }
    assert filled == masks[0]


@pytest.mark.slow
@names
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_walk_is_the_recognizer_token_by_token(name, seed):
    made = compile_recognizer(GRAMMARS[name])
    # Like the walk, it leaves stacks as they are.
    recognizer = Recognizer(
        made.parse_table, made.scanner, made.indentation_rules, shortens_stacks=False
    )
    vocabulary = standard_library_vocabulary()
    always_live = AlwaysLive.of(recognizer, Spelling.of(vocabulary.tokens))
    walker = LrWalker(
        recognizer, TokenClasses(recognizer, VocabularyTrie.of(vocabulary.tokens)), always_live
    )
    configuration = made.advance(made.initial, walked(name, seed).text)
    found = walker.walk(configuration)
    led = {
        token_id: found.outcome(outcome).configuration
        for token_id, outcome in found.outcome_of_tokens().items()
    }
    for token_id, token in enumerate(vocabulary.tokens):
        after = recognizer.advance(configuration, token) if token else None
        assert led.get(token_id) == after
