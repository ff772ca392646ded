"""benchmarks/maskbench.py keeps to the protocol that it names."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from support.small_tokenizers import END_OF_TEXT, standard_library_tokenizer

pytest.importorskip("transformers")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
EOS = 9
INTEGER = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


def case(name, schema, *tests):
    labelled = [{"valid": is_valid, "data": data} for is_valid, data in tests]
    return {"id": name, "schema": schema, "tests": labelled}


CASES = [
    case("integer", INTEGER, (True, {"a": 1}), (False, {"a": "x"}), (False, {"a": 2})),
    case("words", {"enum": ["é", "no"]}, (True, "é"), (False, "n"), (False, "nothing")),
    case("nowhere", {"$ref": "#/definitions/nowhere"}, (True, 1)),
]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """The folder of a tokenizer."""
    folder = tmp_path_factory.mktemp("standard-library")
    standard_library_tokenizer().save(str(folder / "tokenizer.json"))
    settings = json.dumps({"eos_token": END_OF_TEXT})
    (folder / "tokenizer_config.json").write_text(settings, encoding="utf-8")
    return folder


def run(tmp_path, tokenizer, *options):
    """The report, and all single results by schema."""
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in CASES), encoding="utf-8")
    out = tmp_path / "out.json"
    command = [sys.executable, BENCHMARKS / "maskbench.py", file, "--tokenizer", tokenizer]
    done = subprocess.run(
        [*command, "--engines", "cfgguide", "--out", out, *options],
        text=True,
        capture_output=True,
        check=True,
    )
    schemas = json.loads(out.read_text(encoding="utf-8"))["schemas"]
    return done.stdout, {each["id"]: each["engines"]["cfgguide"] for each in schemas}


def test_a_folder_holds_a_file_for_each_schema(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from schema_cases import Instance, read_cases

    for name, each in (("b", {"schema": True, "tests": []}), ("a", CASES[1])):
        (tmp_path / f"{name}.json").write_text(json.dumps(each), encoding="utf-8")
    first, second = read_cases([tmp_path])
    assert (first.name, second.name) == ("words", "b")
    assert first.instances[:2] == (Instance('"é"', True), Instance('"n"', False))


@pytest.mark.slow
def test_verdicts_and_steps_of_tiny_schemas(tmp_path, tokenizer):
    report, found = run(tmp_path, tokenizer, "--warm", "--check-labels")
    # {"a": 2} is valid, whatever its label says
    assert found["integer"]["verdicts"] == ["right", "right", "not judged"]
    assert found["words"]["verdicts"] == ["right"] * 3
    assert found["nowhere"]["outcome"] == "compile error"
    assert found["nowhere"]["first_mask"] is None
    assert "integer, 2: labelled invalid, jsonschema disagrees" in report
    encode = standard_library_tokenizer().encode
    for name, texts in (("integer", ['{"a": 1}', '{"a": "x"}']), ("words", ['"é"', '"n"'])):
        engine = found[name]
        assert engine["outcome"] == "compiled"
        assert engine["first_mask"] > 0
        right, wrong = engine["cold"][:2]
        assert right["refused"] is None
        assert len(right["steps"]) == len(encode(texts[0]).ids)
        assert len(wrong["steps"]) == wrong["refused"] + 1 <= len(encode(texts[1]).ids)
        assert [each["refused"] for each in engine["warm"]] == [
            each["refused"] for each in engine["cold"]
        ]


@pytest.mark.slow
def test_labels_are_believed_unless_they_are_to_be_checked(tmp_path, tokenizer):
    _, found = run(tmp_path, tokenizer)
    assert found["integer"]["verdicts"] == ["right", "right", "invalid accepted"]
    assert found["integer"]["warm"] == []


@pytest.mark.slow
def test_the_limit_ends_an_engine_and_the_next_schema_starts_it_again(tmp_path, tokenizer):
    _, found = run(tmp_path, tokenizer, "--limit", "0.000001")
    assert [each["outcome"] for each in found.values()] == ["over the limit"] * 3


@dataclass
class Scripted:
    """An engine whose masks allow given tokens, in turn, and that takes only some of them."""

    allowed: list[set[int]]
    untaken: set[int] = field(default_factory=set)
    mask: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int32))

    def start(self):
        masks = iter(self.allowed)

        def fill():
            self.mask[0] = sum(1 << token for token in next(masks))

        return fill, lambda token: token not in self.untaken


@pytest.mark.parametrize(
    ("engine", "refused", "n_steps", "is_error"),
    [
        (Scripted([{1, 2}, {2}, {EOS}]), None, 2, False),
        (Scripted([{1}, {3}]), 1, 2, False),
        (Scripted([{2}]), 0, 1, False),
        (Scripted([{1}, {2}, {1}]), 2, 2, False),  # only EOS is refused
        (Scripted([{1}, {2}, {EOS}], untaken={2}), 1, 2, True),
        (Scripted([{1}]), 1, 1, True),  # the second mask raises
    ],
)
def test_a_text_is_read_up_to_the_first_token_that_its_mask_refuses(
    monkeypatch, engine, refused, n_steps, is_error
):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from schema_runs import read

    reading = read(engine, [1, 2], EOS)
    assert (reading.refused, len(reading.steps)) == (refused, n_steps)
    assert bool(reading.error) == is_error
