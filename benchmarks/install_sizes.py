"""What installing a package brings: packages, bytes to download, bytes on the disk.

::

    python -m build
    python benchmarks/install_sizes.py dist/cfgguide-*-linux_x86_64.whl outlines-core llguidance

Each package is resolved alone, for the Python that runs this. What brings torch is not installed,
since its default build brings gigabytes of CUDA: its last column is empty.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
OPTIONS = ["--ignore-installed", "--only-binary", ":all:"]


def resolved(requirement: str) -> list[dict[str, Any]]:
    """Return what pip would install, as its report has it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [*PIP, "install", "--dry-run", *OPTIONS, "--report", str(report), requirement]
        subprocess.run(command, check=True)
        installed: list[dict[str, Any]] = json.loads(report.read_text("utf-8"))["install"]
        return installed


def download_bytes(url: str) -> int:
    """Return the size of a wheel without fetching it."""
    if url.startswith("file:"):
        return Path(urllib.request.url2pathname(url.removeprefix("file://"))).stat().st_size
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:
        return int(answer.headers["Content-Length"])


def installed_bytes(requirement: str) -> int:
    """Return the size of all files, without compiled bytecode."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*PIP, "install", "--no-compile", *OPTIONS, "--target", folder, requirement]
        subprocess.run(command, check=True)
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def main() -> None:
    """Print a row of a table for each package."""
    print("| package | packages | own wheel, MB | all wheels, MB | installed, MB |")
    print("|---|---|---|---|---|")
    for requirement in sys.argv[1:]:
        parts = resolved(requirement)
        sizes = [download_bytes(part["download_info"]["url"]) for part in parts]
        (own,) = [i for i, part in enumerate(parts) if part["requested"]]
        has_torch = any(part["metadata"]["name"] == "torch" for part in parts)
        row = [
            "{name} {version}".format(**parts[own]["metadata"]),
            str(len(parts)),
            f"{sizes[own] / 1e6:.1f}",
            f"{sum(sizes) / 1e6:,.1f}",
            "" if has_torch else f"{installed_bytes(requirement) / 1e6:.1f}",
        ]
        print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
