"""Structural tags, against a judge that tries all ways to cut a message into parts."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
import random

import pytest
from support.message_judge import PRIVATE, Judge, random_spec

import cfgguide
from cfgguide.errors import BudgetError, GrammarError, SchemaError, VocabularyError
from cfgguide.schema.messages.parts import PlainText, Sequence, UnsupportedTagError, Value
from cfgguide.schema.messages.structure import Structure, StructureState

TEXTS = [bytes([byte]) for byte in range(256)] + [
    b"<a>", b"</a>", b"ab", b'"k"', b"x</", b"}x", b"\xc3\xa9<",
]  # fmt: skip
SPECIAL = ["<a>", "</a>", "<b>"]
N = len(TEXTS)
NAMES = {name: N + number for number, name in enumerate(SPECIAL)}
VOCABULARY = cfgguide.Vocabulary([*TEXTS, *[None] * 4], eos_token_ids=N + 3, special_tokens=NAMES)
EOS = N + 3
CALL = {
    "type": "triggered_tags",
    "triggers": ["<a>"],
    "tags": [
        {
            "begin": "<a>f",
            "content": {"type": "json_schema", "json_schema": {"type": "object"}},
            "end": "</a>",
        }
    ],
}


def judged_text(vocabulary, token_ids):
    """Return what the judge reads: special tokens are characters.

    None if the text is not UTF-8, or has such characters of its own.
    """
    names = {token_id: name for name, token_id in NAMES.items()}
    data = b"".join(
        chr(PRIVATE + SPECIAL.index(names[each])).encode() if each in names else TEXTS[each]
        for each in token_ids
        if each != EOS
    )
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    n_special = sum(each in names for each in token_ids)
    is_own = sum(PRIVATE <= ord(character) < PRIVATE + 16 for character in text) > n_special
    return None if is_own else text


def compiled(spec):
    """Return the index of a tag; None if it does not tell its parts apart."""
    with contextlib.suppress(SchemaError):
        return cfgguide.compile(cfgguide.structural_tag(spec), VOCABULARY)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_masks_are_those_of_the_judge(seed):
    rng = random.Random(seed)
    n_compiled = 0
    for _ in range(25):
        spec = random_spec(rng)
        index = compiled(spec)
        if index is None:
            continue
        n_compiled += 1
        # Which of the names that the tag has are tokens; the judge reads the others as text.
        judge = Judge(
            spec, [name for name in SPECIAL if name in json.dumps(spec, ensure_ascii=False)]
        )
        judge.names = {name: chr(PRIVATE + SPECIAL.index(name)) for name in judge.names}
        (find,) = index.machine.endings(index.vocabulary, len)
        for _ in range(3):
            guide, token_ids = cfgguide.Guide(index), []
            while len(token_ids) < 14 and not guide.is_finished:
                allowed = guide.allowed_token_ids().tolist()
                assert allowed, (spec, token_ids)
                text = judged_text(VOCABULARY, token_ids)
                if text is not None:
                    assert guide.is_accepting == judge.accepts(text), (spec, text)
                assert guide.is_accepting == (EOS in allowed)
                for token_id in rng.sample(range(EOS), 20):
                    # An ending shows that a message goes on with what is allowed.
                    if token_id in allowed:
                        after = index.machine.advance(
                            guide.configuration, index.vocabulary.tokens[token_id]
                        )
                        ending = find(after)
                        whole = [*token_ids, token_id, *ids_of(index, ending)]
                        judged = judged_text(VOCABULARY, whole)
                        assert judged is None or judge.accepts(judged), (spec, judged)
                    elif (refused := judged_text(VOCABULARY, [*token_ids, token_id])) is not None:
                        assert not judge.accepts(refused), (spec, refused)
                # The rarer tokens first, so that texts end.
                rng.shuffle(allowed)
                token_id = min(allowed[:4], key=lambda each: -each)
                guide.advance(token_id)
                token_ids.append(token_id)
    assert n_compiled > 5


def ids_of(index, data):
    """Return single bytes and special tokens for the bytes of a text."""
    symbols = {
        index.vocabulary.tokens[token_id]: token_id
        for token_id in NAMES.values()
        if index.vocabulary.tokens[token_id]
    }
    return [symbols.get(bytes([byte]), byte) for byte in data]


@pytest.mark.parametrize("seed", range(4))
def test_random_texts_of_the_judge_are_all_accepted(seed):
    """Completeness: short texts over a few pieces, each accepted exactly if the judge does."""
    rng = random.Random(1000 + seed)
    pieces = [*range(EOS - 3, EOS), *map(ord, 'ab{}[],1"kx<>/'), N - 7, N - 6, N - 3, N - 1]
    for _ in range(30):
        spec = random_spec(rng, 2)
        index = compiled(spec)
        if index is None:
            continue
        judge = Judge(
            spec, [name for name in SPECIAL if name in json.dumps(spec, ensure_ascii=False)]
        )
        judge.names = {name: chr(PRIVATE + SPECIAL.index(name)) for name in judge.names}
        for _ in range(120):
            token_ids = rng.choices(pieces, k=rng.randint(0, 4))
            text = judged_text(VOCABULARY, token_ids)
            guide = cfgguide.Guide(index)
            accepted = True
            for token_id in token_ids:
                if not guide.accepts(token_id):
                    accepted = False
                    break
                guide.advance(token_id)
            if text is not None:
                assert (accepted and guide.is_accepting) == judge.accepts(text), (spec, text)


def test_a_name_is_a_token_where_the_vocabulary_has_one_and_text_elsewhere():
    grammar = cfgguide.structural_tag(CALL)
    guide = cfgguide.Guide(grammar, VOCABULARY)
    assert guide.accepts(NAMES["<a>"])
    assert not guide.accepts(TEXTS.index(b"<a>"))  # not as text, since that is a call to a parser
    guide.advance(NAMES["<a>"])
    assert guide.allowed_token_ids().tolist() == [ord("f")]
    without = cfgguide.Vocabulary([*TEXTS, *[None] * 4], eos_token_ids=EOS)
    guide = cfgguide.Guide(grammar, without)
    assert guide.accepts(TEXTS.index(b"<a>"))


def test_an_index_of_messages_is_saved_pickled_and_copied(tmp_path):
    index = cfgguide.compile(cfgguide.structural_tag(CALL), VOCABULARY)
    index.save(tmp_path / "index")
    token_ids = [ord("x"), NAMES["<a>"], ord("f"), ord("{")]
    expected = cfgguide.Guide(index)
    others = [
        cfgguide.Index.load(tmp_path / "index", VOCABULARY),
        pickle.loads(pickle.dumps(index)),
        copy.deepcopy(index),
        cfgguide.compile(pickle.loads(pickle.dumps(cfgguide.structural_tag(CALL))), VOCABULARY),
    ]
    guides = [cfgguide.Guide(other) for other in others]
    for token_id in token_ids:
        for guide in guides:
            assert (guide.allowed_token_ids() == expected.allowed_token_ids()).all()
            guide.advance(token_id)
        expected.advance(token_id)
    assert {other.digest for other in others} == {index.digest}


@pytest.mark.parametrize("budget", [1, 3, 6, 12])
def test_messages_end_within_a_budget(budget):
    rng = random.Random(budget)
    index = cfgguide.compile(cfgguide.structural_tag(CALL), VOCABULARY)
    for _ in range(30):
        guide = cfgguide.Guide(index)
        for left in range(budget, 0, -1):
            allowed = guide.allowed_within(left)
            guide.advance(int(rng.choice(allowed)))
            if guide.is_finished:
                break
        assert guide.is_finished


def test_a_text_with_a_limit_is_left_in_time():
    rng = random.Random(5)
    spec = {
        "type": "sequence",
        "elements": [
            {
                "type": "tag",
                "begin": "<b>",
                "content": {"type": "any_text", "max_tokens": 4},
                "end": "ab>",
            },
            {"type": "json_schema", "json_schema": {"type": "boolean"}},
        ],
    }
    index = cfgguide.compile(cfgguide.structural_tag(spec), VOCABULARY)
    lengths = set()
    for _ in range(200):
        guide = cfgguide.Guide(index)
        guide.advance(NAMES["<b>"])
        while not guide.text.endswith(b"ab>"):
            allowed = guide.allowed_token_ids()
            assert len(allowed)
            guide.advance(int(rng.choice(allowed)))
        n_tokens = len(guide.token_ids) - 1
        lengths.add(n_tokens)
        # Four, and what the end needs: up to three bytes of a character, and `ab>`.
        assert n_tokens <= 4 + 3 + 3
        copied = pickle.loads(pickle.dumps(guide))
        assert (copied.allowed_token_ids() == guide.allowed_token_ids()).all()
    assert max(lengths) > 4
    with pytest.raises(BudgetError):
        cfgguide.Guide(index).allowed_within(3)
    for budget in (8, 9, 12, 20):
        guide = cfgguide.Guide(index)
        for left in range(budget, 0, -1):
            guide.advance(int(rng.choice(guide.allowed_within(left))))
            if guide.is_finished:
                break
        assert guide.is_finished


LIMITED = {"type": "any_text", "max_tokens": 3}


def limited(**options):
    return {**LIMITED, **options}


def sequence_of(*elements):
    return {"type": "sequence", "elements": list(elements)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        LIMITED,
        limited(max_tokens=0),
        sequence_of(LIMITED, {"type": "optional", "content": {"type": "token", "token": "<b>"}}),
        sequence_of(
            limited(excludes=["{"]), {"type": "json_schema", "json_schema": {"type": "object"}}
        ),
        sequence_of(LIMITED, {"type": "regex", "pattern": "x{5}"}),
        sequence_of(LIMITED, LIMITED),
        sequence_of(limited(excludes=["."]), {"type": "const_string", "value": "."}, LIMITED),
        {"type": "star", "content": {"type": "tag", "begin": "<", "content": LIMITED, "end": ">"}},
        {
            "type": "tag",
            "begin": "x",
            "content": {
                "type": "star",
                "content": sequence_of({"type": "const_string", "value": "é"}, LIMITED),
            },
            "end": ">",
        },
    ],
    ids=str,
)
def test_texts_with_limits_have_no_dead_ends(spec):
    rng = random.Random(8)
    index = cfgguide.compile(cfgguide.structural_tag(spec), VOCABULARY)
    tokens = index.vocabulary.tokens
    for run in range(40):
        guide = cfgguide.Guide(index)
        for left in range(20, 0, -1):
            allowed = set(guide.allowed_token_ids().tolist())
            after = guide.configuration
            assert allowed - {EOS} == {
                token_id
                for token_id, token in enumerate(tokens)
                if token and index.machine.advance(after, token) is not None
            }
            if run % 2:  # within a budget
                within = set(guide.allowed_within(left).tolist())
                assert within <= allowed
                allowed = within
            guide.advance(rng.choice(sorted(allowed)))
            if guide.is_finished:
                break
        assert guide.is_finished or not run % 2


@pytest.mark.parametrize("pattern", ["\U00040000|b", "[\U00040000c]d", "x\x04|y"])
def test_what_the_vocabulary_cannot_spell_does_not_begin(pattern):
    lacking = [text for text in TEXTS if not {4, 0xF1} & set(text)]
    vocabulary = cfgguide.Vocabulary([*lacking, None], eos_token_ids=len(lacking))
    tag = {"type": "regex", "pattern": pattern}
    (text,) = written_by(cfgguide.compile(cfgguide.structural_tag(tag), vocabulary))
    assert text in (b"b", b"cd", b"y")
    with pytest.raises(SchemaError, match="can spell"):
        cfgguide.compile(cfgguide.structural_tag({"type": "regex", "pattern": "a\x04"}), vocabulary)
    with pytest.raises(VocabularyError, match="no tokens for some bytes"):
        cfgguide.compile(
            cfgguide.structural_tag({"type": "const_string", "value": "a\x04"}), vocabulary
        )


def written_by(index):
    """Return all texts of an index with few."""
    found, open_guides = set(), [cfgguide.Guide(index)]
    while open_guides:
        guide = open_guides.pop()
        for token_id in guide.allowed_token_ids().tolist():
            after = guide.copy()
            after.advance(token_id)
            if after.is_finished:
                found.add(after.text)
            else:
                open_guides.append(after)
    return found


def test_no_text_is_allowed_with_a_limit_of_none():
    spec = {
        "type": "tag",
        "begin": "",
        "content": {"type": "any_text", "max_tokens": 0},
        "end": "<b>",
    }
    guide = cfgguide.Guide(cfgguide.structural_tag(spec), VOCABULARY)
    assert guide.allowed_token_ids().tolist() == [NAMES["<b>"]]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{", "not JSON"),
        ([], "object"),
        ({}, "type"),
        ({"type": "nothing"}, "there is const_string"),
        ({"type": "grammar", "grammar": "x"}, "grammar alone"),
        ({"type": "const_string"}, "/value: that is a text"),
        ({"type": "any_text", "excludes": [""]}, "empty"),
        ({"type": "any_text", "excludes": "x"}, "list of texts"),
        ({"type": "any_text", "max_tokens": -1}, "max_tokens"),
        ({"type": "any_text", "max_chars": 3}, "max_chars"),
        ({"type": "regex", "pattern": "x("}, r"at /pattern: the pattern 'x\('.* position 1"),
        ({"type": "const_string", "value": "\ud800"}, "at /value: .* half a surrogate pair"),
        ({"type": "any_text", "excludes": ["\ud800"]}, "at /excludes: .* half a surrogate pair"),
        ({"type": "regex", "pattern": "\ud800"}, "at /pattern: .* half a surrogate pair"),
        ({"type": "json_schema", "json_schema": {"type": "x"}}, "/json_schema: .*type"),
        ({"type": "json_schema", "json_schema": {"not": {}}}, "no value"),
        ({"type": "json_schema", "json_schema": True, "style": "qwen_xml"}, "of pairs is an"),
        ({"type": "json_schema", "json_schema": {}, "style": "x_xml"}, "there is json, qwen_xml"),
        ({"type": "json_schema", "json_schema": True, "excludes": ["a"]}, "excludes"),
        ({"type": "json_schema", "json_schema": True, "marks": "a"}, "/marks: that is a list"),
        ({"type": "json_schema", "json_schema": True, "marks": [""]}, "/marks: the empty text"),
        ({"type": "json_schema", "json_schema": {"const": "ab"}, "marks": ["b"]}, "at /.*: each v"),
        ({"type": "sequence", "elements": 1}, "elements"),
        ({"type": "or", "elements": []}, "choose"),
        ({"type": "repeat", "min": 2, "max": 1, "content": {"type": "any_text"}}, "min and max"),
        ({"type": "repeat", "min": 0, "max": 9_999, "content": {"type": "any_text"}}, "9999 times"),
        ({"type": "tag", "begin": "a", "end": []}, "/end: a tag has an end"),
        ({"type": "triggered_tags", "triggers": ["<x>"], "tags": CALL["tags"]}, "no trigger"),
        ({"type": "tags_with_separator", "tags": [], "separator": ""}, "no tags"),
        ({"type": "dispatch", "rules": [["a"]]}, "a rule is"),
        ({"type": "token", "token": True}, "name or its id"),
    ],
)
def test_a_wrong_tag_is_an_error_that_says_where(spec, message):
    with pytest.raises(SchemaError, match=message):
        cfgguide.compile(cfgguide.structural_tag(spec), VOCABULARY)


@pytest.mark.parametrize(
    ("text", "is_sentence"),
    [
        ('{"a": "b*"}', True),
        ('{"a": "*/"}', False),
        ('{"*/": "a"}', False),
        ('["a-b c", 1]', False),
        ('["a- b c", 1]', True),
    ],
)
def test_no_text_in_a_value_has_its_marks(text, is_sentence):
    spec = {"type": "json_schema", "json_schema": True, "marks": ["*/", "-b c"]}
    comment = {"type": "tag", "begin": "/*", "content": spec, "end": "*/"}
    assert (
        cfgguide.check(cfgguide.structural_tag(comment), f"/*{text}*/").is_sentence is is_sentence
    )
    once = {**spec, "marks": ["*/"]}  # two values with one schema in a message
    both = cfgguide.structural_tag({"type": "sequence", "elements": [once, comment]})
    assert cfgguide.check(both, f'["-b c"]/*{text}*/').is_sentence is is_sentence


def test_the_older_notation_may_have_no_type():
    structure = {"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}
    spec = {"structures": [structure], "triggers": ["<f"]}
    grammar = cfgguide.structural_tag(spec)
    assert cfgguide.check(grammar, "some <f>7</f>").is_sentence
    assert not cfgguide.check(grammar, "some <f>x</f>").is_sentence


def test_deep_and_large_tags_are_refused_quickly():
    deep = {"type": "any_text"}
    for _ in range(200):
        deep = {"type": "star", "content": deep}
    with pytest.raises(SchemaError, match="deep"):
        cfgguide.structural_tag(deep)
    large = {"type": "const_string", "value": "x" * 2_000_000}
    with pytest.raises(SchemaError, match="states"):
        cfgguide.compile(cfgguide.structural_tag(large), VOCABULARY)


def test_a_value_that_text_may_be_is_refused():
    spec = {
        "type": "sequence",
        "elements": [{"type": "any_text"}, {"type": "json_schema", "json_schema": True}],
    }
    with pytest.raises(SchemaError, match="tell them apart"):
        cfgguide.compile(cfgguide.structural_tag(spec), VOCABULARY)


def test_a_token_that_the_vocabulary_lacks_is_an_error():
    with pytest.raises(VocabularyError, match="<c>"):
        cfgguide.compile(cfgguide.structural_tag({"type": "token", "token": "<c>"}), VOCABULARY)


def test_a_text_is_not_checked_where_a_token_is_no_text():
    tag = cfgguide.structural_tag({"type": "token", "token": "<b>"})
    with pytest.raises(VocabularyError, match="the special token '<b>' is no text"):
        cfgguide.check(tag, "x")


def test_a_structural_tag_has_no_text_in_larks_language():
    with pytest.raises(GrammarError, match="special"):
        _ = cfgguide.structural_tag(CALL).text


def test_the_older_notation_is_read():
    old = {
        "type": "structural_tag",
        "triggers": ["<a>"],
        "structures": [{"begin": "<a>f", "schema": {"type": "object"}, "end": "</a>"}],
    }
    guide = cfgguide.Guide(cfgguide.structural_tag(old), VOCABULARY)
    for token_id in (ord("y"), NAMES["<a>"], ord("f"), ord("{"), ord("}"), NAMES["</a>"]):
        guide.advance(token_id)
    assert guide.is_accepting


def test_tokens_are_explained():
    spec = {"type": "tag", "begin": "<a>", "content": limited(max_tokens=1), "end": "</a>"}
    guide = cfgguide.Guide(cfgguide.structural_tag(spec), VOCABULARY)
    assert str(guide.explain(ord("x"))) == (
        f"token {ord('x')} ('x') is refused at byte 0, 'x': nothing that may stand there begins "
        "with it\n  expected there: <a>"
    )
    guide.advance(NAMES["<a>"])
    first = guide.explain(ord("x"))
    assert first.is_allowed
    assert [each.terminal for each in first.expected] == ["</a>", "TEXT"]
    guide.advance(ord("x"))
    assert guide.explain(ord("y")).reason == "the text has had all the tokens that it may have"
    assert str(guide.explain(NAMES["</a>"])) == (
        f"token {NAMES['</a>']} (</a>) is allowed\n  then may follow: $END"
    )
    assert guide.explain(EOS).reason == "the text so far is not a sentence"


@pytest.mark.parametrize("end", ["\n</function>", "</function>"])
def test_pairs_that_end_lines_meet_an_end_that_begins_one(end):
    """XGrammar's tags for Qwen's coders have the line break in the end."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    content = {"type": "json_schema", "style": "qwen_xml", "json_schema": schema}
    tag = {"type": "tag", "begin": "<function=f>\n", "content": content, "end": end}
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.structural_tag(tag), VOCABULARY))
    for byte in b"<function=f>\n<parameter=a>\n1\n</parameter>\n</function>":
        assert byte in guide.allowed_token_ids()
        guide.advance(byte)
    assert guide.is_accepting


def test_a_message_that_cannot_be_read_is_not_made_whole():
    """After the first `</think>`, `{` may be more of the text, or the value."""
    asked = []

    def check(state: StructureState) -> None:
        asked.append(state)
        if state.moves and state.values:
            raise UnsupportedTagError("cannot be told apart")

    text = PlainText(r"<think>[\s\S]{0,2000}</think>")
    with pytest.raises(UnsupportedTagError):
        Structure(Sequence((text, Value("{}", "/"))), {}, check=check)
    assert len(asked) < 200
