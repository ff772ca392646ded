"""Kernels that run as Python say so, once, with the first mask."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path

import pytest

from cfgguide.base.uncompiled import warn_if_uncompiled
from cfgguide.errors import UncompiledWarning

TESTS = Path(__file__).parents[2]

FIRST_MASK = """
import support.uncompiled, sys
import cfgguide, cfgguide.studio.cli.main
index = cfgguide.compile(cfgguide.Grammar('start: "a"'), cfgguide.Vocabulary.of_bytes())
sys.stderr.write("compiled\\n")
for _ in range(2):
    assert cfgguide.Guide(index).allowed_token_ids().tolist() == [97]
"""

LISTED_NAMES = """
import support.uncompiled
import cfgguide
schema = cfgguide.json_schema({"properties": {"id": {"type": "integer"}, "ids": {"type": "null"}}})
machine = cfgguide.compile(schema, cfgguide.Vocabulary.of_bytes()).machine
reached = machine.initial
for byte in b'{"id": 1, "ids": null}':
    reached = machine.advance(reached, bytes([byte]))
assert machine.is_sentence(reached)
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"},
        capture_output=True,
        text=True,
        check=True,
    )


def test_a_schema_with_listed_names_is_read():
    run(LISTED_NAMES)


def test_the_first_mask_warns_and_nothing_before_or_after_it():
    before, _, after = run(FIRST_MASK).stderr.partition("compiled\n")
    assert before == ""
    assert after.count("UncompiledWarning") == 1


@pytest.fixture
def package(tmp_path) -> Path:
    warn_if_uncompiled.cache_clear()
    (tmp_path / "kernels.py").touch()
    (tmp_path / "kernels.pxd").touch()
    return tmp_path


def test_without_a_compiler_it_says_to_install_one(package):
    with pytest.warns(UncompiledWarning, match="no C compiler .* install one"):
        warn_if_uncompiled(str(package / "kernels.py"))


def test_kernels_of_another_python_are_named_with_what_to_do(package):
    (package / "kernels.cpython-299-x86_64-linux-gnu.so").touch()
    with pytest.warns(UncompiledWarning, match="cpython-299.* with the Python that runs it"):
        warn_if_uncompiled(str(package / "kernels.py"))


def test_compiled_kernels_warn_of_nothing(package):
    with warnings.catch_warnings(action="error"):
        warn_if_uncompiled(str(package / f"kernels{sysconfig.get_config_var('EXT_SUFFIX')}"))
