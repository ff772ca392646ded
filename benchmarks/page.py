"""The pages about performance: each script writes its section, this one makes pages of them.

In: `results/*.json`, a :class:`Section` each. Out: `docs/performance.md` from its heading "Targets"
on; its pictures; and for each section a page with all its tables in `docs/performance/`. The text
before that heading, which shows the pictures, is written by hand, and kept.
``python benchmarks/page.py docs/performance.md``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import shlex
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pictures
import tables
import targets
from targets import Target

RESULTS = Path(__file__).parent / "results"
ORDER = ["masks-json", "masks-sql", "masks-sqlite", "masks-python_expressions", "masks-python"]
ORDER += ["masks-python-large", "masks-ipv4", "masks-float", "scaling", "generation"]
ORDER += ["index_size", "index_size-python", "index_size-sql"]
ORDER += ["batches-json", "batches-sqlite", "cold", "batches-cold"]
ORDER += [f"stream-{name}" for name in ("json", "sql", "sqlite", "python_expressions", "python")]
_AMBIGUOUS = ("formulas", "statements", "queries")
ORDER += [f"stream-{name}{twin}" for name in _AMBIGUOUS for twin in ("", "_lalr")]
ORDER += ["gallery", "gpu"]
TARGETS = "## Targets"  # the heading of the page from which on it is generated


@dataclass
class Section:
    """What one script measured.

    Attributes
    ----------
    name, title : str
        Its name as a file, and its heading.
    command, date, machine : str
        How, when and on what.
    loads : list of str
        Load averages of the machine at the beginning and at the end.
    targets : list of Target
        Its part of the first table.
    lines : list of str
        Markdown.
    figures : dict
        All figures, as plain data.
    """

    name: str
    title: str
    command: str = ""
    date: str = ""
    machine: str = ""
    loads: list[str] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def begun(cls, name: str, title: str) -> Section:
        """Return an empty section; paths in the command are shortened to their last part."""
        script, *arguments = sys.argv
        shown = [Path(argument).name or argument for argument in arguments]
        return cls(
            name,
            title,
            command=shlex.join(["python", f"benchmarks/{Path(script).name}", *shown]),
            date=datetime.date.today().isoformat(),
            machine=_machine(),
            loads=[_load()],
        )

    def write(self, folder: Path = RESULTS) -> None:
        """Note how busy the machine is, write the section to a file and to standard output."""
        self.loads.append(_load())
        self.save(folder)
        print("\n".join([*_targets_table([self]), *self.markdown()]))

    def save(self, folder: Path) -> None:
        """Write the section to its file as it is by now."""
        folder.mkdir(parents=True, exist_ok=True)
        plain = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        (folder / f"{self.name}.json").write_text(plain + "\n", encoding="utf-8")

    def markdown(self) -> list[str]:
        """Return the heading, where the figures are from, and the lines."""
        return [
            f"## {self.title}",
            "",
            f"`{self.command}`, {self.date}; load average {' to '.join(self.loads)}.",
            "",
            *self.lines,
        ]


def _machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (
        f"{names[0] if names else model}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def read(folder: Path) -> list[Section]:
    """Return the sections that were written, in the order of the page."""
    found = []
    for name in ORDER:
        path = folder / f"{name}.json"
        if path.exists():
            plain = json.loads(path.read_text(encoding="utf-8"))
            plain["targets"] = [Target(**target) for target in plain["targets"]]
            found.append(Section(**plain))
    return found


def _targets_table(sections: list[Section]) -> list[str]:
    rows = [target.cells() for section in sections for target in section.targets]
    return [*tables.table(targets.HEAD, rows), ""] if rows else []


def generated_part(sections: list[Section]) -> str:
    """Return the page from the table of targets on."""
    every = [target for section in sections for target in section.targets]
    n_held = sum(target.holds for target in every)
    links = [
        f"* [{section.title}](performance/{section.name}.md): `{section.command}`, {section.date}"
        for section in sections
    ]
    lines = [
        TARGETS,
        "",
        "From here on the page is written by `benchmarks/page.py`; do not edit it by hand. "
        "[benchmarks/README.md](../benchmarks/README.md) tells how each figure is measured.",
        "",
        f"Machine: {', '.join(sorted({section.machine for section in sections}))}.",
        "",
        f"{n_held} of {len(every)} hold. Ratios are cfgguide's figure divided by the other's, in "
        "one run: the median of the rounds (smallest-largest; which peer).",
        "",
        *_targets_table(sections),
        "## All tables",
        "",
        *links,
    ]
    return "\n".join(lines) + "\n"


def as_page(section: Section) -> str:
    """Return the page of one section; its headings move up by one level."""
    text = "\n".join(section.markdown()).rstrip() + "\n"
    return re.sub(r"^#(?=#)", "", text, flags=re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("page", type=Path, help="docs/performance.md")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    sections = read(options.results)
    folder = options.page.parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    pictures.draw({section.name: section.figures for section in sections}, folder)
    by_hand = options.page.read_text(encoding="utf-8").partition(TARGETS)[0]
    options.page.write_text(by_hand + generated_part(sections), encoding="utf-8")
    pages = options.page.with_suffix("")
    pages.mkdir(exist_ok=True)
    for section in sections:
        (pages / f"{section.name}.md").write_text(as_page(section), encoding="utf-8")


if __name__ == "__main__":
    main()
