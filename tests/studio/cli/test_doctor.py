"""`cfgguide doctor`: what it looks at, what it finds, and what it does not tell."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import runpy
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import cfgguide
from cfgguide.studio.cli import doctor, health
from cfgguide.studio.cli.health import Status

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def checks(run):
    """What `doctor` says of the parts, by their names."""

    def checks(*options: str):
        found = run("doctor", "--json", *options)
        document = json.loads(found.out)
        statuses = [each["status"] for each in document["checks"]]
        assert (found.status == 1) == ("error" in statuses)
        assert document["status"] == max(statuses, key=["ok", "warning", "error"].index)
        assert all(each["advice"] for each in document["checks"] if each["status"] != "ok")
        return {each["name"]: each for each in document["checks"]}

    return checks


def test_doctor_names_the_versions(checks):
    found = checks()
    assert found["cfgguide"]["seen"] == cfgguide.__version__
    for name in ("lark", "numpy", "interegular"):
        assert found[name]["seen"] == version(name)
    assert ".".join(map(str, sys.version_info[:3])) in found["Python"]["seen"]


def test_the_kernels_are_those_that_the_build_compiles(checks):
    kernels = runpy.run_path(str(ROOT / "build_kernels.py"))["KERNELS"]
    names = {kernel.removeprefix("cfgguide/").replace("/", ".") for kernel in kernels}
    assert set(health.KERNELS) == names
    found = checks()
    for name in names:
        origin = importlib.util.find_spec(f"cfgguide.{name}").origin
        is_compiled = origin.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))
        assert found[f"kernel {name}"]["seen"].startswith("compiled") == is_compiled


def test_a_kernel_that_is_python_is_a_warning(checks, monkeypatch):
    monkeypatch.setattr(importlib.machinery, "EXTENSION_SUFFIXES", [".other"])
    found = checks()["kernel engine.masks.kernels"]
    assert (found["status"], found["seen"]) == ("warning", "not compiled (makes masks of grammars)")
    assert "install a C compiler" in found["advice"]


def test_grammars_are_looked_for_where_they_are_used(checks, monkeypatch, tmp_path):
    monkeypatch.setattr("cfgguide.base.cache.PACKAGED", tmp_path)
    found = checks()
    for name in cfgguide.Grammar.bundled_names():
        assert found[f"grammar {name}"]["status"] == "warning"


def test_the_cache_may_be_off_full_or_somebody_elses(checks, monkeypatch, tmp_path):
    assert checks()["cache"]["seen"] == "off (CFGGUIDE_CACHE)"
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path / "mine"))
    assert checks()["cache"]["seen"].endswith("mine/compiled: 0 entries, 0 B of 1.0 GB")
    monkeypatch.setenv("CFGGUIDE_CACHE_BYTES", "many")
    found = checks()["cache"]
    assert found["status"] == "error"
    assert "CFGGUIDE_CACHE_BYTES must be a number of bytes" in found["seen"]
    monkeypatch.setenv("CFGGUIDE_CACHE_BYTES", "2000")
    assert checks()["cache"]["seen"].endswith(" of 2.0 kB")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_cache_that_others_can_write_to_is_a_warning(checks, monkeypatch, tmp_path):
    folder = tmp_path / "mine" / "compiled"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path / "mine"))
    found = checks()["cache"]
    assert (found["status"], found["seen"]) == ("warning", f"{folder} can be written to by others")


def test_the_self_test_notices_a_wrong_mask(checks, monkeypatch):
    assert checks()["self-test"]["status"] == "ok"
    monkeypatch.setattr(health, "_ENDS", (b"}",))  # Lark then refuses what the mask allows
    found = checks()["self-test"]
    assert found["status"] == "error"
    assert "0x2c" in found["seen"]  # a comma, after which a number has to follow


def test_an_engine_that_fails_is_an_error(checks, monkeypatch):
    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("cfgguide.compiler.compile", fail)
    assert checks()["engine"]["seen"] == "RuntimeError: broken"


def test_a_tokenizer_is_checked_if_it_is_named(checks, tokenizer_folder):
    found = checks("--tokenizer", tokenizer_folder)
    assert found["tokenizer"]["status"] == "ok"
    assert " texts encoded, " in found["tokenizer"]["seen"]
    found = checks("--tokenizer", "nowhere")
    assert found["tokenizer"]["status"] == "error"
    assert "there is no tokenizer.json at 'nowhere'" in found["tokenizer"]["seen"]


def test_lines_say_what_to_do(run):
    found = run("doctor")
    lines = found.out.splitlines()
    assert lines[-1].startswith("0 errors, ")
    (number,) = (n for n, line in enumerate(lines) if " off (CFGGUIDE_CACHE)" in line)
    assert lines[number].startswith("warning cache ")
    assert lines[number + 1].strip() == "-> grammars are compiled anew in each process"


def test_the_users_name_is_not_told(run, monkeypatch, tmp_path):
    home = tmp_path / "home" / "somebody"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("LOGNAME", "somebody")
    monkeypatch.setenv("CFGGUIDE_CACHE", str(home / "cache"))
    out = run("doctor").out
    assert os.path.join("~", "cache", "compiled") in out
    assert "somebody" not in out
    assert doctor.anonymous(f"{home}/a {home}s /data/somebody/b") == (
        f"~/a {tmp_path}/home/somebodys /data/USER/b"
    )


@pytest.mark.parametrize(
    ("version", "relation", "bound", "holds"),
    [
        ("1.3.1", ">=", "1.2.2", True),
        ("1.3.1", "<", "1.4", True),
        ("1.4", "<", "1.4", False),
        ("1.10", ">=", "1.9", True),
        ("2.0.0", "==", "2.0", True),
        ("2.5.0+cpu", ">=", "2.4", True),
        ("1.2", ">=", "1.2.2", False),
    ],
)
def test_versions_are_compared_by_their_numbers(version, relation, bound, holds):
    assert health._holds(version, relation, bound) == holds


def test_a_package_that_does_not_fit_is_named_with_what_to_install():
    found = health._package("lark", "lark<1.0")
    assert (found.status, found.seen) == (Status.WARNING, f"{version('lark')}, not lark<1.0")
    assert "pip install 'lark<1.0'" in found.advice
    assert health._package("no-such-package", "no-such-package>=1").status is Status.ERROR


def test_torch_is_not_imported():
    from support.command_line import process

    ran = process(["doctor"], env={"PYTHONPROFILEIMPORTTIME": "1"})
    imported = {line.rpartition(b"|")[2].strip() for line in ran.communicate()[1].splitlines()}
    assert b"numpy" in imported
    assert not imported & {b"torch", b"transformers", b"tokenizers"}
