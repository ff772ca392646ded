"""What an operator says in the environment is read, checked, and written down in the docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cfgguide
from cfgguide.models.serving.settings import VARIABLES, Settings, warn_of_unknown_variables

ROOT = Path(__file__).resolve().parents[3]
_NAME = re.compile(r"\bCFGGUIDE_[A-Z_]+\b")


def table() -> dict[str, str]:
    """The variables of the table in docs/serving.md, and what they are by default."""
    text = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(CFGGUIDE_\w+)` \| ([^|]+) \|", text, re.MULTILINE)
    return {name: re.sub(r"[`]", "", default).strip() for name, default in rows}


def test_the_docs_have_one_table_of_all_variables_and_their_defaults():
    assert table() == {name: default or "-" for name, default in VARIABLES.items()}


def test_the_code_reads_no_other_variables():
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "cfgguide").rglob("*.py")]
    found = {name for text in sources for name in _NAME.findall(text)}
    assert found == set(VARIABLES)


def test_by_default_the_environment_says_nothing(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    said = str(Settings.of_environment())
    assert said == (
        "tidy on, finish on, isolate on, memory 500 MB, masks 0.3 s, queue 32 requests and 20 s"
    )


def test_the_line_at_the_start_has_what_is_there(monkeypatch, tmp_path):
    (tmp_path / "mine.lark").write_text('start: "a"')
    monkeypatch.setenv("CFGGUIDE_GRAMMARS", str(tmp_path))
    monkeypatch.setenv("CFGGUIDE_WARM", "sql,json")
    monkeypatch.setenv("CFGGUIDE_ISOLATE", "off")
    said = str(Settings.of_environment())
    assert "isolate off" in said
    assert said.endswith("own grammars: mine, warm: sql, json")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("CFGGUIDE_VLLM", "al", "one of marked, all, off"),
        ("CFGGUIDE_TIDY", "no", "on or off"),
        ("CFGGUIDE_FINISH", "1", "on or off"),
        ("CFGGUIDE_MEMORY", "1 GB", "a number of megabytes"),
        ("CFGGUIDE_QUEUE", "-1", "a number of requests"),
        ("CFGGUIDE_WAIT_SECONDS", "0", "a number above 0"),
        ("CFGGUIDE_CLIENT", "x user", "address, or a header's name"),
        ("CFGGUIDE_GRAMMARS", "no_such_module:grammars", "No module named 'no_such_module'"),
        ("CFGGUIDE_GRAMMARS", "os:nothing", "has no attribute 'nothing'"),
        ("CFGGUIDE_GRAMMARS", "os:getcwd", "which returns str: it is a mapping of names"),
    ],
)
def test_a_wrong_value_names_the_variable(monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=re.escape(message)) as told:
        Settings.of_environment()
    assert name in str(told.value)


def test_a_misspelt_variable_is_told_with_the_nearest(monkeypatch, caplog):
    monkeypatch.setenv("CFGGUIDE_VLM", "all")
    monkeypatch.setenv("CFGGUIDE_TIDY", "on")
    warn_of_unknown_variables()
    (said,) = (each for each in caplog.messages if "CFGGUIDE_VLM;" in each)
    assert "did you mean CFGGUIDE_VLLM?" in said


def test_a_version_is_told_with_it():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", cfgguide.__version__)
