"""Collects JSON Schemas that packages ship, for first masks without instances.

``python benchmarks/shipped_schemas.py FOLDER`` writes a file for each schema, which
``python benchmarks/maskbench.py FOLDER ...`` reads. They come from check-jsonschema, whose wheel is
fetched from PyPI by exact version and not installed, and from all packages of this environment:
jsonschema-specifications has the metaschemas of all drafts.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

_WHEEL = "check-jsonschema==0.39.0"
_LARGEST = 5_000_000  # bytes of a file that is looked into


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, str] = {}
    for name, text in [*_of_wheel(_WHEEL), *_of_installed()]:
        schema = _schema(text)
        key = json.dumps(schema, sort_keys=True)
        if schema is not None and key not in written:
            written[key] = name
            case = json.dumps({"schema": schema, "tests": []}, ensure_ascii=False)
            (folder / f"{name}.json").write_text(case, encoding="utf-8")
    print(f"{len(written)} schemas in {folder}")


def _of_wheel(requirement: str) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the JSON files in a wheel of PyPI."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*command, "--dest", folder, requirement], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            for name in sorted(files.namelist()):
                if name.endswith(".json"):
                    yield _name(PurePosixPath(name)), files.read(name).decode()


def _of_installed() -> Iterator[tuple[str, str]]:
    """Yield names and texts of the JSON files in the packages of this environment."""
    for distribution in importlib.metadata.distributions():
        for path in sorted(distribution.files or ()):
            found = Path(str(distribution.locate_file(path)))
            is_looked_into = "json" in (path.suffix[1:], path.parent.name) or "schema" in path.name
            if is_looked_into and found.is_file() and found.stat().st_size <= _LARGEST:
                yield _name(path), found.read_bytes().decode(errors="replace")


def _name(path: PurePosixPath) -> str:
    """Return a file's name for a path in a package."""
    parts = path.with_suffix("").parts
    return "---".join([parts[0], "-".join(parts[1:])])


def _schema(text: str) -> dict[str, Any] | None:
    """Return the schema in a text; None if it is something else."""
    try:
        read = json.loads(text)
    except ValueError:
        return None
    if not isinstance(read, dict):
        return None
    says_so = "json-schema.org" in str(read.get("$schema"))
    return read if says_so or {"$defs", "properties"} & read.keys() else None


if __name__ == "__main__":
    main()
