"""What is generated in the grammars of Python is what the committed script writes."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from support.scripts import loaded

SCRIPT = Path(__file__).parents[2] / "tools" / "generate_python_parts.py"


def generator() -> Any:
    return loaded(SCRIPT)


@pytest.mark.parametrize("name", ["python.lark", "python_names.lark"])
def test_the_script_reproduces_the_file_byte_for_byte(name):
    module = generator()
    if name == "python_names.lark" and unicodedata.unidata_version != module.UNICODE:
        pytest.skip(f"the names are those of Unicode {module.UNICODE}")
    text = module.generated(name)
    assert text.encode() == (module.GRAMMARS / name).read_bytes()


def test_names_are_factored_into_alternatives():
    names = [("RED", "FOX"), ("BLUE", "FOX"), ("RED",), ("BLUE",), ("OWL",)]
    assert generator()._factored(names) == ["(?:BLUE|RED)(?: FOX)?", "OWL"]
