"""The package of a revision in a folder of its own, with its kernels.

In: a revision, or a folder with a checkout. Out: the folder to import `cfgguide` from. A revision
is unpacked once, under ``build/same``: kernels whose sources are those of this checkout are copied
from it, others are compiled there by its own ``build_kernels.py``. What is compiled of the bundled
grammars is used if it fits the revision; else each process compiles those that it needs.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "same"
_PARTS = ("cfgguide", "grammars", "build_kernels.py", "pyproject.toml")
_DONE = "unpacked"  # a file: nothing was interrupted


def tree_of(revision: str) -> Path:
    """Return the folder with the package of a revision, or of a checkout in a folder."""
    if (Path(revision) / "cfgguide" / "__init__.py").is_file():
        return Path(revision).resolve()
    folder = KEPT / full_name(revision)
    if not (folder / _DONE).is_file():
        shutil.rmtree(folder, ignore_errors=True)
        _unpack(folder.name, folder)
        _compile(folder)
        (folder / _DONE).touch()
    return folder


def full_name(revision: str) -> str:
    """Return the full hash of a revision."""
    command = ["git", "rev-parse", "--verify", f"{revision}^{{commit}}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"there is no revision {revision!r}, nor a folder with cfgguide in it")
    return done.stdout.strip()


def _unpack(name: str, folder: Path) -> None:
    """Write the files of a revision; a worktree of git would stay registered without them."""
    archive = subprocess.run(
        ["git", "archive", name, *_PARTS], cwd=ROOT, capture_output=True, check=True
    ).stdout
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def _compile(folder: Path) -> None:
    """Copy or compile what is compiled of a tree."""
    sources = ["build_kernels.py", *(str(p.relative_to(ROOT)) for p in _pxds(ROOT))]
    is_alike = sources == ["build_kernels.py", *(str(p.relative_to(folder)) for p in _pxds(folder))]
    is_alike = is_alike and all(_is_equal(folder, name) for name in sources)
    pxds = [module.relative_to(folder) for module in _pxds(folder)]
    equal = [path for path in pxds if _is_equal(folder, str(path.with_suffix(".py")))]
    for path in [*equal, Path("cfgguide", "shared_by_kernels.pxd")] if is_alike else ():
        for compiled in (ROOT / path).parent.glob(f"{path.stem}.*.so"):
            shutil.copy2(compiled, folder / path.parent / compiled.name)
    if is_alike and (ROOT / "build" / "kernels.json").is_file():
        (folder / "build").mkdir(exist_ok=True)
        shutil.copy2(ROOT / "build" / "kernels.json", folder / "build" / "kernels.json")
    if (ROOT / "cfgguide" / "compiled").is_dir():  # they know what they were made of
        shutil.copytree(ROOT / "cfgguide" / "compiled", folder / "cfgguide" / "compiled")
    subprocess.run([sys.executable, "build_kernels.py"], cwd=folder, check=True, env=_alone())


def _pxds(folder: Path) -> list[Path]:
    return sorted((folder / "cfgguide").glob("**/*.pxd"))


def _is_equal(folder: Path, name: str) -> bool:
    return (folder / name).is_file() and (folder / name).read_bytes() == (ROOT / name).read_bytes()


def _alone() -> dict[str, str]:
    """Return an environment in which only the tree itself is imported."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
