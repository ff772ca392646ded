"""What is published works without the checkout: the wheel holds the grammars and the types."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import cfgguide
from cfgguide import Grammar
from cfgguide.base.cache import PACKAGED

ROOT = Path(__file__).resolve().parents[2]
BUILD = runpy.run_path(str(ROOT / "build_kernels.py"))
GRAMMARS = sorted((ROOT / "grammars").glob("*.lark"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(
            importlib.util.find_spec(name)
            for name in ("build", "hatchling", "Cython", "setuptools")
        ),
        reason="needs the packages that make the wheel",
    ),
]


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """A folder with the source distribution, and the wheel that is built from that.

    The compiled grammars of the checkout are put there first: if they are what the build would
    make, it takes them, which saves minutes.
    """
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder))
    run(*build, "--sdist", str(ROOT))
    run(*build, "--wheel", str(unpacked(folder, folder / "source")))
    return folder


def unpacked(dist: Path, folder: Path) -> Path:
    """Return the sources of a distribution, with compiled grammars and without kernels."""
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as opened:
        opened.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    if PACKAGED.exists():
        shutil.copytree(PACKAGED, source / PACKAGED.relative_to(ROOT))
    return source


@pytest.fixture(scope="module")
def wheel(dist) -> Path:
    (path,) = dist.glob("*.whl")
    return path


def run(*command: str, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_the_package_and_the_grammars(wheel):
    with zipfile.ZipFile(wheel) as opened:
        held = {name: opened.read(name) for name in opened.namelist() if ".dist-info/" not in name}
    modules = sorted((ROOT / "cfgguide").rglob("*.py"))
    expected = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in modules}
    expected |= {f"cfgguide/grammars/{path.name}": path.read_bytes() for path in GRAMMARS}
    metaschemas = ROOT / "cfgguide" / "schema" / "metaschemas.json"
    expected["cfgguide/schema/metaschemas.json"] = metaschemas.read_bytes()
    page = (ROOT / "cfgguide" / "studio" / "playground" / "page").iterdir()
    expected |= {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in page}
    expected["cfgguide/py.typed"] = b""
    for name in BUILD["COMPILED"]:
        assert held.pop(name + BUILD["SUFFIX"]), "it is compiled"
    compiled = [name for name in held if name.startswith("cfgguide/compiled/grammar-")]
    assert len(compiled) >= len(Grammar.bundled_names())
    held = {name: data for name, data in held.items() if not name.startswith("cfgguide/compiled/")}
    assert "cfgguide/grammars/json.lark" in held
    assert held == expected


def test_grammars_may_be_left_out_of_what_is_installed(dist, tmp_path):
    source = unpacked(dist, tmp_path / "source")
    left_out = {"CFGGUIDE_UNCOMPILED": "1", "CFGGUIDE_PACKAGE_GRAMMARS": "off"}
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), "--wheel")
    run(*build, str(source), env={**os.environ, **left_out})
    (path,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        names = opened.namelist()
    assert "cfgguide/grammars/json.lark" in names
    assert not [name for name in names if name.startswith("cfgguide/compiled/")]


def test_the_wheel_says_what_it_needs(wheel):
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        (metadata,) = [name for name in names if name.endswith("/METADATA")]
        (entry_points,) = [name for name in names if name.endswith("/entry_points.txt")]
        said = Parser().parsestr(opened.read(metadata).decode())
        commands = opened.read(entry_points).decode()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [line for line in said.get_all("Requires-Dist") if "extra ==" not in line]
    assert len(needed) == len(project["dependencies"])
    assert not any(line.startswith(("torch", "transformers")) for line in needed)
    assert (said["Name"], said["Version"]) == ("cfgguide", cfgguide.__version__)
    assert said["Requires-Python"] == ">=3.11"
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Description-Content-Type"] == "text/markdown"
    assert "cfgguide = cfgguide.studio.cli.main:main" in commands
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_source_distribution_holds_the_tests_and_the_documentation(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    for name in ("README.md", "Makefile", "constraints.txt", "grammars/json.lark", "LICENSE"):
        assert name in held
    assert {f"tests/{test.name}" for test in (ROOT / "tests").glob("*.py")} <= held
    assert "docs/errors.md" in held
    made_here = re.compile(
        r"__pycache__|_cache/|\.(so|pyd|c|egg-info)$|^(\.venv|\.git|build|dist)/|/compiled/"
    )
    assert [name for name in held if made_here.search(name)] == []


def test_files_of_a_wheel_name_no_place_of_the_machine_that_made_it(wheel):
    places = [str(ROOT), tempfile.gettempdir()]
    with zipfile.ZipFile(wheel) as opened:
        for name in opened.namelist():
            if not name.endswith((".py", ".lark", ".json", "METADATA")):  # these are as committed
                data = opened.read(name)
                assert [place for place in places if f"{place}/".encode() in data] == [], name


@pytest.fixture(scope="module")
def fresh_python(wheel, tmp_path_factory) -> str:
    """A Python that has the wheel, and what it needs from the environment of the tests."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, symlinks=os.name != "nt", with_pip=False)
    scheme = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", scheme))
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    python = Path(sysconfig.get_path("scripts", "venv", scheme), Path(sys.executable).name)
    run(
        *(sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"),
        *("--no-deps", "--no-index", "--disable-pip-version-check", "--ignore-installed"),
        str(wheel),
    )
    return str(python)


def test_an_installed_wheel_passes_the_check_that_releases_run(fresh_python, tmp_path):
    said = run(fresh_python, str(ROOT / "tools" / "check_installed.py"), cwd=tmp_path)
    assert said.startswith(f"cfgguide {cfgguide.__version__} works: Python {sys.version[:4]}")


def test_the_citation_names_the_version():
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {cfgguide.__version__}" in lines


def test_an_installed_wheel_works_without_the_checkout(wheel, tmp_path):
    run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"),
        *("--disable-pip-version-check", "--target", str(tmp_path / "installed"), str(wheel)),
    )
    (tmp_path / "text.json").write_text('{"a": [1, true]}')
    script = f"""
import os, sys
installed = {str(tmp_path / "installed")!r}
others = [path for path in sys.path if not os.path.isfile(path + "/cfgguide/__init__.py")]
sys.path[:] = [installed, *others]
import cfgguide, cfgguide.studio.cli.main
assert cfgguide.__file__.startswith(installed), cfgguide.__file__
assert not any(os.path.isdir(os.path.join(path, "grammars")) for path in sys.path)
grammar = cfgguide.Grammar.bundled("json", max_ignored=1)
assert grammar.source_path.startswith(installed), grammar.source_path
vocabulary = cfgguide.Vocabulary.of_bytes()
guide = cfgguide.Guide(cfgguide.compile(grammar, vocabulary))
for byte in b'[1, "x"]':
    guide.advance(byte)
assert guide.allowed_token_ids().tolist() == [*sorted(b" \\t\\n\\r"), 256]
print(*cfgguide.Grammar.bundled_names())
sys.exit(cfgguide.studio.cli.main.main(["check", "json", "text.json"]))
"""
    said = run(sys.executable, "-c", script, cwd=tmp_path).splitlines()
    parts = ("postgresql_schema", "python_names", "sql_runs", "sql_runs_writing", "sql_schema")
    names = [path.stem for path in GRAMMARS if path.stem not in parts]
    assert said == [" ".join(names), "text.json: is a sentence"]


def test_without_a_compiler_a_wheel_for_every_machine_is_made_and_says_that_it_is_slow(
    dist, tmp_path
):
    source = unpacked(dist, tmp_path / "source")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, source],
        env={**os.environ, "CC": "no-such-compiler"},
        capture_output=True,
        text=True,
        check=True,
    )
    (path,) = tmp_path.glob("*.whl")
    assert path.name.endswith("-py3-none-any.whl")
    assert "Install a C compiler" in done.stdout + done.stderr
    with zipfile.ZipFile(path) as opened:
        assert not any(name.endswith((".so", ".pyd", ".c")) for name in opened.namelist())
