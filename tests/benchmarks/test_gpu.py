"""benchmarks/gpu.py in its small form, on the CPU: its parts do what they are said to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.slow  # torch and transformers are imported


@pytest.fixture(autouse=True)
def _scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def section(tmp_path, *options):
    """What the small form writes, and prints."""
    command = [sys.executable, BENCHMARKS / "gpu.py", "--quick", "--results", tmp_path, *options]
    done = subprocess.run(command, text=True, capture_output=True, check=True)
    return json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8")), done.stdout


def test_every_way_has_its_figures_or_the_reason_why_not(tmp_path):
    found, printed = section(tmp_path)
    ways = found["figures"]["ways"]
    assert [row["guide"] for row in ways if row["way"] == "serial"] == ["json", "sql", "schema"]
    assert {row["way"] for row in ways if "error" in row} <= {"hidden, triton"}
    for row in ways:
        assert "error" in row or row["steps"] == 6
        is_first_time = row["way"] == "hidden, new"
        # The same texts again: all of their masks are known.
        assert (row.get("new masks", 0) > 0) == is_first_time
        assert ("masks, mean" in row) == (
            row["way"].startswith(("hidden", "serial")) and "steps" in row
        )
    assert [row["guide"] for row in found["figures"]["parts"]] == ["json", "sql", "schema"]
    assert not found["figures"]["failed"]
    assert not found["figures"]["cut"]
    assert "| tiny | 4 | schema | serial | 6 |" in printed


def test_what_there_is_no_time_for_is_named(tmp_path):
    found, printed = section(tmp_path, "--minutes", "0")
    assert found["figures"]["ways"] == []
    assert found["figures"]["cut"] == ["tiny, batch 4"]
    assert "* no time was left for tiny, batch 4" in printed


@pytest.mark.parametrize("way", ["package", "table"])
@pytest.mark.parametrize("n_columns", [64, 70, 97])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_a_masking_writes_minus_infinity_where_a_bit_is_not_set(way, n_columns, dtype):
    from gpu_masking import MASKINGS

    random = np.random.default_rng(0)
    n_words = -(-n_columns // 32)
    words = random.integers(-(2**31), 2**31, (3, n_words), dtype=np.int32)
    before = torch.from_numpy(random.random((3, n_columns))).to(getattr(torch, dtype))
    after = before.clone()
    masking = MASKINGS[way](after)
    masking.take(torch.from_numpy(words))
    masking.apply(after)
    for row in range(3):
        for column in range(n_columns):
            is_allowed = int(words[row, column // 32]) >> (column % 32) & 1
            expected = before[row, column].item() if is_allowed else float("-inf")
            assert after[row, column].item() == expected


def test_heads_of_a_group_attend_with_the_same_keys():
    from gpu_model import _attend

    torch.manual_seed(0)
    query, key, value = (torch.randn(2, n, length, 8) for n, length in ((6, 1), (3, 5), (3, 5)))
    found, _ = _attend(torch.nn.Identity(), query, key, value, None, scaling=0.5)
    assert found.shape == (2, 1, 6, 8)
    for row in range(2):
        for head in range(6):
            weights = torch.softmax(0.5 * key[row, head // 2] @ query[row, head, 0], dim=0)
            assert torch.allclose(found[row, 0, head], weights @ value[row, head // 2], atol=1e-6)


def test_a_decoder_without_a_past_has_the_logits_of_the_model_itself():
    from gpu_model import Decoder, random_model

    torch.manual_seed(0)
    model = random_model("tiny", 300, torch.device("cpu"))
    with torch.inference_mode():
        decoder = Decoder(model, 3, 1)
        decoder.ids.copy_(torch.tensor([[7], [0], [299]]))
        decoder.forward()
        model.config._attn_implementation = "eager"
        expected = model(input_ids=decoder.ids, use_cache=False).logits[:, -1]
    assert torch.allclose(decoder.logits, expected, atol=1e-5)


def test_a_text_that_has_ended_begins_again():
    from gpu_loop import Rows

    import cfgguide

    vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
    rows = Rows(cfgguide.compile(cfgguide.Grammar('start: "a" | "b"'), vocabulary), 2)
    out = torch.zeros((2, 1), dtype=torch.int32)
    masks = []
    for tokens in (None, [0, 1], [2, 2], [1, 0]):
        rows.fill(tokens, out)
        masks.append(out.view(-1).tolist())
    assert masks == [[0b011] * 2, [0b100] * 2, [0b011] * 2, [0b100] * 2]
    assert rows.n_ended == 2


def test_a_vocabulary_of_any_size_has_every_byte_and_no_token_twice():
    from vocabularies import made_tokens

    tokens = made_tokens(60_000)
    assert len(set(tokens)) == len(tokens) == 60_000
    assert {bytes([byte]) for byte in range(256)} <= set(tokens)
    assert made_tokens(1_000)[:744] == tokens[:744]
