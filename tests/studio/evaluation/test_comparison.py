"""Comparing answers: which are valid and right, the bootstrap, files that go on, and mistakes."""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from support.tiny_models import N_SMALL, random_model, small_tokenizer

import cfgguide
from cfgguide.errors import EvaluationError
from cfgguide.evaluation import Answer, Comparison, compare
from cfgguide.studio.evaluation.answers import AnswerReading, fields_of, right_fields

N_COLUMNS = N_SMALL + 5


class Home(BaseModel):
    """Where one lives."""

    city: str
    zip: int | None = None


class Person(BaseModel):
    """A person."""

    name: str
    home: Home
    kind: Literal["cat", "dog"] = "cat"


ANN = {"name": "Ann", "home": {"city": "Nice", "zip": None}, "kind": "cat"}
SHORT = '{"home":{"city":"Nice"},"name":"Ann"}'
CODE = "```"


@pytest.mark.parametrize(
    ("what", "text", "value", "is_valid"),
    [
        (Person, SHORT, ANN, True),
        (Person, f"\n {SHORT} \n", ANN, True),
        (Person, f"Of course!\n{CODE}json\n{SHORT}\n{CODE}\nBye.", ANN, True),
        (Person, f"{CODE}\n{SHORT}", ANN, True),
        (Person, f"The answer is {SHORT}, I think {{}}.", ANN, True),
        (Person, '{"name": "Ann"}', None, False),
        (Person, '{"name": "Ann", "home": {"city": "Nice"', None, False),
        (Person, "Ann of Nice", None, False),
        (Literal["a", "b"], '"a"', "a", True),
        (Literal["a", "b"], "a", None, False),
        (list[int], "They are [1, 2].", [1, 2], True),
        ({"type": "object", "required": ["a"]}, '{"a":1e0}', {"a": 1.0}, True),
        ({"type": "object", "required": ["a"]}, "{}", None, False),
        ({"type": "integer", "minimum": 3}, " 4\n", 4, True),
        ({"type": "integer", "minimum": 3}, "2", None, False),
        (["yes", "no"], "yes\n", "yes", True),
        (["yes", "no"], "Yes", "Yes", False),
        (["yes", "no"], f"yes\n{CODE}\nThat is it.", "yes", True),
        (["yes", "no"], f"Well\n{CODE}\nperhaps\n{CODE}", f"Well\n{CODE}\nperhaps\n{CODE}", False),
        (["yes", "no"], f"{CODE}\nno\n{CODE}", "no", True),
        ("sql_select", "SELECT 1", "SELECT 1", True),
        ("sql_select", "I do not know", "I do not know", False),
    ],
)
def test_what_is_read_in_a_text(what: Any, text: str, value: Any, is_valid: bool) -> None:
    assert AnswerReading(what).read(text) == (value, is_valid)


def test_fields_are_paths_to_what_is_no_object() -> None:
    assert fields_of(ANN) == {"name": "Ann", "home.city": "Nice", "home.zip": None, "kind": "cat"}
    assert fields_of({"a": {}, "b": [{"c": 1}]}) == {"a": {}, "b": [{"c": 1}]}
    assert fields_of(None) == {"answer": None}


@pytest.mark.parametrize(
    ("value", "reference", "how", "is_right"),
    [
        (1, 1.0, "exact", True),
        (1, True, "exact", False),
        (True, 1.0, 0.5, False),
        ("a", "A", "exact", False),
        ([1, 2], [2, 1], "exact", False),
        ([1, 2, 2], [2, 1], "set", True),
        ([1, 2], [1, 2, 3], "set", False),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}], "set", True),
        (1.25, 1, 0.25, True),
        (1.26, 1, 0.25, False),
        ("1", 1, 0.25, False),
        (None, None, "exact", True),
        (None, 0, 1.0, False),
    ],
)
def test_when_a_field_is_right(value: Any, reference: Any, how: Any, is_right: bool) -> None:
    assert right_fields({"a": value}, {"a": reference}, {"a": how}) == {"a": is_right}


def test_missing_fields_are_wrong_and_others_do_not_count() -> None:
    assert right_fields({"a": 1, "c": 2}, {"a": 1, "b": None}, {}) == {"a": True, "b": False}
    assert right_fields(None, {"a": 1}, {}) == {"a": False}


def answer(line: int, way: str, *, is_right: bool, seconds: float = 1.0) -> Answer:
    return Answer(line, way, "x" * line, is_right, {"a": is_right}, line, seconds)


def test_intervals_are_those_of_examples_drawn_again() -> None:
    """For four examples, of all 256 ways to draw them; and a difference is paired."""
    right = {"free": [1, 0, 0, 0], "masked": [1, 1, 1, 0]}
    found = Comparison(
        tuple(
            answer(line, way, is_right=bool(each[line]))
            for line, (way, each) in itertools.product(range(4), right.items())
        )
    )
    for beside, values in ((None, right["masked"]), ("free", [0, 1, 1, 0])):
        drawn = sorted(
            sum(values[n] for n in numbers) / 4 for numbers in itertools.product(range(4), repeat=4)
        )
        interval = found.interval("right a", "masked", beside)
        assert interval is not None
        assert interval.mean == sum(values) / 4
        assert interval.low == drawn[math.floor(0.025 * 256)]
        assert interval.high == drawn[math.ceil(0.975 * 256)]
    assert found.interval("right a", "free") == found.interval("valid", "free")
    for names in (("kept a", "free"), ("valid", "guided"), ("valid", "free", "guided")):
        with pytest.raises(EvaluationError, match=r"there is no '(kept a|guided)'; there is "):
            found.interval(*names)
    only = Comparison((*found.answers[:2], Answer(9, "free", "", True, {"b": True}, 1, 1.0)))
    assert only.interval("right a", "free") == (1.0, 1.0, 1.0)
    assert found.measures == ("valid", "right a", "tokens", "characters", "seconds")


def model() -> tuple[Any, Any]:
    return random_model(N_COLUMNS), small_tokenizer()


PLAIN = [
    {"prompt": "a = ", "reference": {"ok": True, "n": 2}},
    {"prompt": "c", "reference": {"ok": True}},
]
SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["ok", "n"],
    "additionalProperties": False,
}


def test_masked_answers_are_valid_and_those_of_generate() -> None:
    ways = ("free", "masked", "masked, described", "or unknown")
    found = compare(model(), PLAIN, SCHEMA, ways=ways, max_new_tokens=40)
    assert found.ways == ways
    by_place = {(each.line, each.way): each for each in found.answers}
    told = cfgguide.describe(SCHEMA).instruction
    for line, example in enumerate(PLAIN, 1):
        alone = cfgguide.generate(model(), example["prompt"], SCHEMA, max_new_tokens=40)
        assert by_place[line, "masked"].text == alone.text
        assert by_place[line, "masked"].n_tokens == len(alone.token_ids)
        asked = f"{told}\n\n{example['prompt']}"
        alone = cfgguide.generate(model(), asked, SCHEMA, max_new_tokens=40)
        assert by_place[line, "masked, described"].text == alone.text
        value, reference = json.loads(by_place[line, "masked"].text), example["reference"]
        right = {name: value[name] == each for name, each in reference.items()}  # type: ignore[attr-defined]
        assert by_place[line, "masked"].right == right
        assert not by_place[line, "free"].is_valid
        assert by_place[line, "free"].kept == {}
    assert all(each.is_valid for each in found.answers if each.way != "free")
    assert "| valid | 0.00 (0.00 to 0.00) | 1.00 (1.00 to 1.00) |" in str(found)
    assert found.picture().svg.count("<circle") > 8


def test_what_is_kept_is_the_product_of_what_each_mask_keeps() -> None:
    """From the model's own softmax and a guide's masks, token by token."""
    import torch

    writer, tokenizer = model()
    [found] = compare((writer, tokenizer), PLAIN[:1], SCHEMA, ways=["masked"]).answers
    written = cfgguide.generate((writer, tokenizer), "a = ", SCHEMA)
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer)
    guide = cfgguide.Guide(cfgguide.compile(SCHEMA, vocabulary))
    ids, kept = list(tokenizer("a = ")["input_ids"]), []
    for token_id in written.token_ids:
        with torch.no_grad():
            logits = writer(torch.tensor([ids])).logits[0, -1].double()
        shares = torch.softmax(logits, dim=-1)[guide.allowed_token_ids().tolist()]
        kept.append(float(shares.sum()))
        guide.advance(token_id)
        ids.append(token_id)
    assert found.kept["(all)"] == pytest.approx(math.prod(kept), rel=1e-3, abs=1e-6)
    text = written.text
    for name, value in json.loads(text).items():
        spelled = json.dumps(value)
        begin = text.index(": ", text.index(f'"{name}"')) + 2
        end, at, product = begin + len(spelled), 0, 1.0
        for token_id, each in zip(written.token_ids, kept, strict=True):
            after = at + len(vocabulary.tokens[token_id] or b"")
            product *= each if at < end and after > begin else 1.0
            at = after
        assert found.kept[name] == pytest.approx(product, rel=1e-3, abs=1e-6)


def test_an_interrupted_file_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"ways": ["free", "masked"], "max_new_tokens": 30, "temperature": 1.0}
    whole = compare(model(), PLAIN, SCHEMA, **options, output=tmp_path / "whole")
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 4
    part = tmp_path / "part"
    part.write_bytes(b"".join(lines[:3]) + lines[3][:20])
    again = compare(model(), PLAIN, SCHEMA, **options, output=part)
    texts = [each.text for each in whole.answers]
    assert [each.text for each in again.answers] == texts
    assert part.read_bytes().splitlines()[:3] == [each.rstrip() for each in lines[:3]]
    assert len(part.read_bytes().splitlines()) == 5
    # What is there is not asked for again.
    monkeypatch.setattr("cfgguide.studio.evaluation.comparison.generate", None)
    assert [
        each.text for each in compare(model(), PLAIN, SCHEMA, **options, output=part).answers
    ] == texts
    monkeypatch.undo()
    with pytest.raises(EvaluationError, match="of other settings; name another file"):
        compare(model(), PLAIN, SCHEMA, **{**options, "seed": 1}, output=part)
    part.write_bytes(lines[0] + b'{"line": 1}\n')
    with pytest.raises(EvaluationError, match="part', line 2: it is no answer"):
        compare(model(), PLAIN, SCHEMA, **options, output=part)


def test_a_score_of_ones_own() -> None:
    def score(value: Any, reference: Any) -> Any:
        return {"same length": len(value) == len(reference)}

    examples = [{"prompt": "a", "reference": "12"}, {"prompt": "b", "reference": "1"}]
    found = compare(model(), examples, ["aa", "bb"], ways=["masked"], score=score)
    assert [each.right for each in found.answers] == [{"same length": True}, {"same length": False}]
    with pytest.raises(EvaluationError, match="line 1: the score is 7; it is True or False"):
        compare(model(), examples, ["aa", "bb"], ways=["masked"], score=lambda *_: 7)  # type: ignore[arg-type, return-value]


def test_the_same_seed_gives_the_same_answers_and_intervals() -> None:
    tables = [
        compare(model(), PLAIN, SCHEMA, ways=["masked"], temperature=1.0, seed=seed).table()
        for seed in (1, 1)
    ]
    for each in tables:
        del each["seconds"]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["", '{"prompt": "a"'], "line 2: it is not JSON: "),
        (["[1]"], 'line 1: it is an object with "reference"'),
        (['{"prompt": "a"}'], 'line 1: it is an object with "reference"'),
        (['{"reference": 1}'], 'line 1: it has either "prompt"'),
        (['{"prompt": "a", "messages": [], "reference": 1}'], 'line 1: it has either "prompt"'),
        (['{"prompt": 1, "reference": 1}'], 'line 1: "prompt" is a text, not 1'),
        (['{"messages": "a", "reference": 1}'], 'line 1: "messages" is a list of objects'),
        (['{"messages": [{}], "reference": 1}'], 'line 1: "messages" is a list of objects'),
        (["", " "], "there are no examples"),
    ],
)
def test_lines_that_are_no_examples(tmp_path: Path, lines: list[str], said: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(EvaluationError) as error:
        compare(None, path, SCHEMA)
    assert f"[evaluation] {said}" in str(error.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ways": ["masked", "guided"]}, r"there is no way \['guided'\]; there are free, "),
        ({"ways": []}, "there is no way"),
        ({"match": {"m": "set"}}, "no reference has the field 'm'; there is ok, n"),
        ({"match": {"n": "near"}}, "n is compared by 'near'"),
        ({"match": {"n": -0.5}}, "n is compared by -0.5"),
    ],
)
def test_options_that_mean_nothing(options: Any, said: str) -> None:
    with pytest.raises(EvaluationError, match=said):
        compare(None, PLAIN, SCHEMA, **options)
    with pytest.raises(EvaluationError, match=r"cannot read the examples 'none\.jsonl'"):
        compare(None, "none.jsonl", SCHEMA)


def test_the_bootstrap_covers_what_it_should() -> None:
    """Of 200 samples of 40 with a share of 0.6, some 95 % have it in the interval."""
    rng, n_covering = random.Random(0), 0
    for _ in range(200):
        answers = tuple(answer(n, "free", is_right=rng.random() < 0.6) for n in range(40))
        interval = Comparison(answers).interval("right a", "free")
        assert interval is not None
        n_covering += interval.low <= 0.6 <= interval.high
    assert 0.88 <= n_covering / 200 <= 0.99
