"""The command line in this process, with a small tokenizer and a random model."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.command_line import Run
from support.tiny_models import N_SMALL, random_model, small_tokenizer

from cfgguide.studio.cli.main import main


@pytest.fixture
def run(capsys, monkeypatch, tmp_path) -> Run:
    """Runs `main` in an empty folder; gives exit status, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> SimpleNamespace:
        try:
            status = main(list(arguments))
        except SystemExit as exit_:  # argparse's own way to end
            status = exit_.code
        captured = capsys.readouterr()
        return SimpleNamespace(status=status, out=captured.out, err=captured.err)

    return run


@pytest.fixture(scope="session")
def writer() -> tuple[object, object]:
    """A random model and its tokenizer, made once."""
    return random_model(N_SMALL + 5), small_tokenizer()


@pytest.fixture
def random_writer(monkeypatch, writer) -> None:
    """Puts a random model in the place of SmolLM2."""
    monkeypatch.setattr("cfgguide.models.load.prepare_smollm2", lambda progress: Path("smollm2"))
    monkeypatch.setattr("cfgguide.models.load.load_model", lambda path: writer)


@pytest.fixture(scope="session")
def saved_tokenizer(writer, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "tokenizer"
    writer[1].save_pretrained(folder)
    return folder


@pytest.fixture
def tokenizer_folder(tmp_path, saved_tokenizer) -> str:
    return str(shutil.copytree(saved_tokenizer, tmp_path / "tokenizer"))
