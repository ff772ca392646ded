"""Scripts of the repository as modules, which are in no package, and programs that print."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType


def loaded(path: Path) -> ModuleType:
    """Return the script in a file as a module."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(code: str, given: str = "", seeds: tuple[str, ...] = ("0", "1", "2", "12345")) -> str:
    """Return what a program prints in processes of their own: the same, whatever the hash seed."""
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=given,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in seeds
    }
    assert len(found) == 1
    return found.pop()
