"""benchmarks/cold.py and `batches.py --cold`: what the figures are over, and what is made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from support.small_tokenizers import END_OF_TEXT, standard_library_tokenizer

pytest.importorskip("transformers")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_the_figures_are_over_all_steps_of_all_texts():
    """1,000 steps: 989 of 1 us, 9 of 2 ms, one of 20 ms and one of 30."""
    from cold import Steps, figures_of, worst_of

    short = Steps("short", [], np.ones(500))
    long = Steps("long", [], np.array([*[1.0] * 489, *[2e3] * 9, 3e4, 2e4]))
    figures = figures_of([short, long])
    assert figures.pop("mean") == pytest.approx((989 + 9 * 2e3 + 5e4) / 1000)
    # The rank of a percentile is its share of 999: 989.01 and 998.001 of the sorted steps.
    assert figures.pop("p99") == pytest.approx(2e3)
    assert figures.pop("p99.9") == pytest.approx(2e4 + 0.001 * 1e4)
    assert figures == {"steps": 1000, "worst": 3e4, "over 1 ms": 11, "over 10 ms": 2}
    assert worst_of([short, long]) == (long, 498)
    assert figures_of([]) == {}


def test_tokens_that_one_engine_did_not_get_to_are_no_ones():
    from cold import Steps, shared_part

    found = {"a": [3, 2], "b": [1, 2], "c": [2, 5]}  # numbers of steps
    texts = {
        name: [Steps("", [], np.arange(n)) for n in lengths] for name, lengths in found.items()
    }
    for of_engine in shared_part(texts).values():
        assert [each.times.tolist() for each in of_engine] == [[0], [0, 1]]


def test_made_documents_are_valid_and_differ():
    from schema_cases import drawn

    cases = drawn([], 60, 0)
    for case in cases:
        for instance in case.instances:
            assert instance.is_valid
            jsonschema.validate(json.loads(instance.text), case.schema)
    assert len({json.dumps(case.schema) for case in cases}) == 60
    assert drawn([], 60, 0) == cases
    assert drawn([], 2, 1) == cases[1:3]


@pytest.fixture
def run(tmp_path):
    """Runs a script; returns what it prints, and the figures of its section."""
    standard_library_tokenizer().save(str(tmp_path / "tokenizer.json"))
    settings = json.dumps({"eos_token": END_OF_TEXT})
    (tmp_path / "tokenizer_config.json").write_text(settings, encoding="utf-8")

    def of(script, name, *options):
        command = [sys.executable, BENCHMARKS / script, *options, "--engines", "cfgguide"]
        command += ["--tokenizer", tmp_path, "--results", tmp_path / "results"]
        done = subprocess.run(command, text=True, capture_output=True, check=True)
        section = json.loads((tmp_path / "results" / f"{name}.json").read_text(encoding="utf-8"))
        return done.stdout, section["figures"]

    return of


@pytest.mark.slow
def test_schemas_and_texts_are_read_to_their_ends(run):
    from schema_cases import drawn

    printed, figures = run("cold.py", "cold", "--sample", "3", "--grammars", "json", "--texts", "4")
    encode = standard_library_tokenizer().encode
    n_tokens = sum(
        len(encode(each.text).ids) for case in drawn([], 3, 0) for each in case.instances
    )
    of_schemas = figures["schemas"]["cfgguide"]
    assert of_schemas["steps"] == n_tokens
    assert of_schemas["mean"] <= of_schemas["p99.9"] <= of_schemas["worst"]
    assert figures["json"]["cfgguide"]["steps"] > 4
    assert figures["shared"] == figures["schemas"]  # there is one engine
    assert "cfgguide 3; by all engines 3." in printed
    assert "### json: 4 texts" in printed
    assert printed.count("* cfgguide: ") == 3  # the worst step of each, with its text


@pytest.mark.slow
def test_a_cold_batch_has_so_many_rows_of_each_kind(run):
    printed, figures = run("batches.py", "batches-cold", "--cold", "--rows", "6")
    assert "#### Different schemas: 6 rows" in printed
    assert "#### json, sql, python_expressions: 6 rows" in printed
    for each in figures.values():
        assert len(each["cfgguide"]["steps"]) == 31  # the first masks, and 30 tokens
    assert printed.count("| 0 |") == 2  # rows that refuse a token
