"""Each script in examples/paper shows what docs/paper.md says of it."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "paper"
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
NO_SCRIPTS = {"algorithms.py", "maskers.py", "verdicts.py"}
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if path.name not in NO_SCRIPTS)
NEEDS_TOKENIZER = re.compile(r"load_model|load_tokenizer")

# Verdicts in the order in which a script prints them. `figure_2.py` judges a third claim where
# other engines are installed.
VERDICTS = {
    "figure_1.py": ["held", "held", "held in part", "held"],
    "example_1.py": ["held", "did not hold", "held in part", "held in part"],
    "section_4.py": ["held", "did not hold", "held in part", "held", "held", "held"],
    "figure_2.py": ["held in part", "held"],
    "python_index.py": ["held in part", "held in part"],
    "blog.py": ["held", "held in part"],
    "rellm.py": ["held in part", "did not hold", "did not hold"],
    "parserllm.py": ["held in part", "held", "did not hold", "did not hold"],
}


def case(path: Path) -> object:
    needs_model = NEEDS_TOKENIZER.search(path.read_text(encoding="utf-8")) is not None
    marks = [pytest.mark.model, pytest.mark.slow] if needs_model else []
    return pytest.param(path, id=path.name, marks=marks)


@pytest.mark.parametrize("path", [case(path) for path in SCRIPTS])
def test_each_script_comes_to_its_verdicts(path, monkeypatch, capsys):
    for name in NO_SCRIPTS:  # which the script imports from its own folder
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr("sys.argv", [str(path), "--quick"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    assert not ended.value.code, printed
    verdicts = re.findall(r"^verdict   ([a-z ]+)", printed, re.MULTILINE)
    n = len(VERDICTS[path.name])
    assert verdicts[:n] == VERDICTS[path.name]
    assert len(verdicts) <= n + (path.name == "figure_2.py")


def test_the_page_has_a_row_for_each_verdict():
    for path in SCRIPTS:
        rows = re.findall(rf"^\|.*`{re.escape(path.name)}`.*\| ([a-z ]+?) \|$", PAGE, re.MULTILINE)
        assert rows[: len(VERDICTS[path.name])] == VERDICTS[path.name], path.name


def test_a_verdict_that_is_not_supported_fails(capsys):
    claims = runpy.run_path(str(FOLDER / "verdicts.py"))["Claims"]("A test")
    claims.judge("a claim", "a fact", "held", shown=True)
    assert claims.status() == 0
    claims.judge("a claim", "another fact", "did not hold", "since so", shown=False)
    assert claims.status() == 1
    assert "NOT SHOWN" in capsys.readouterr().out
