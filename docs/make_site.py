"""Builds the documentation site: lays out the pages, and runs Sphinx over them.

Run ``make site``; the site is then in `build/site`, and opens from the file system. Pages are plain
Markdown, which GitHub shows as well. What is only for the site happens here, on copies in
`build/site-source`:

* documents outside of `docs/` become pages (`OUTSIDE`), and links to them lead there;
* other files that pages link to, such as examples, become pages that show them;
* the table of contents (`SECTIONS`) is written under the pages that have one;
* a picture with a moving twin (`name.svg`, `name.html`) is replaced by it.

Sphinx treats each warning as an error: a link or an anchor that leads nowhere, or a page that
stands in no table of contents.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
BUILD = ROOT / "build"

#: The table of contents. A page that is not there (yet) is left out; one that is there and not in
#: the table is an error.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Start": ("quickstart", "installing", "choosing", "coming-from"),
    "Guides": (
        "json-schema", "types", "describing", "own-grammar", "grammars", "sql", "python",
        "languages", "tools", "defaults", "transformers", "llama-cpp", "sampling", "client",
        "serving", "production", "capacity", "fine-tuning", "comparing", "measuring", "seeing-why",
        "monitors", "llguidance",
    ),
    "Understanding": ("how-a-mask-is-made", "paper", "drawing", "playground", "architecture"),
    "Performance": ("performance", "benchmarks", "gallery-of-grammars", "performance/index"),
    "Reference": (
        "api/index", "command-line", "errors", "glossary", "security", "changelog",
        "contributing", "releasing", "design/index", "files/index",
    ),
}  # fmt: skip

#: Documents of the repository that get another name on the site.
OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/gallery/README.md": "gallery-of-grammars.md",
    "docs/design/README.md": "design/index.md",
}
PICTURES = (".svg", ".png", ".gif", ".webp")
LANGUAGES = {".py": "python", ".lark": "text", ".mjs": "javascript"}

_FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_PICTURE = re.compile(r"^!\[[^\]]*\]\(([^)\s]+)\.svg\)$", re.MULTILINE)


def main(folder: Path = BUILD) -> int:
    """Build the site in `folder/site`, and return Sphinx's exit status."""
    from sphinx.cmd.build import main as sphinx  # so that laying out needs no Sphinx

    source, target, doctrees = folder / "site-source", folder / "site", folder / "site-doctrees"
    for old in (target, doctrees):
        shutil.rmtree(old, ignore_errors=True)
    lay_out(source)
    options = ["-b", "html", "-W", "--keep-going", "-q", "-c", str(DOCS), "-d", str(doctrees)]
    return sphinx([*options, str(source), str(target)])


def lay_out(target: Path) -> None:
    """Write the pages as Sphinx reads them."""
    shutil.rmtree(target, ignore_errors=True)
    pages = _pages()
    texts: dict[str, str] = {}
    shown: set[str] = set()
    pictured: set[str] = set()
    for path, page in pages.items():
        if path != "README.md":
            texts[page] = _linked(path, pages, shown, pictured)
    for path in sorted(shown):
        texts[f"files/{path}.md"] = _shown(ROOT / path)
    texts["performance/index.md"] = "# Raw tables\n\nWhat each benchmark printed.\n"
    texts["files/index.md"] = "# Files\n\nExamples and grammars that pages link to.\n"
    texts["index.md"] += "".join(
        _contents([page for page in names if f"{page}.md" in texts], f":caption: {title}")
        for title, names in SECTIONS.items()
    )
    beneath = ("api/index", "design/index", "performance/index", "files/index")
    for index in beneath:
        folder = index.removesuffix("index")
        names = [page.removesuffix(".md") for page in sorted(texts) if page.startswith(folder)]
        entries = [name for name in names if name != index]
        hidden = "" if index in ("performance/index", "files/index", "design/index") else ":hidden:"
        texts[f"{index}.md"] += _contents(entries, hidden)
    for page, text in texts.items():
        file = target / page
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for picture in sorted(pictured):
        file = target / picture.removeprefix("docs/")
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / picture, file)


def _pages() -> dict[str, str]:
    """Return the page of each document, both as paths from the root of their trees."""
    documents = sorted(path.relative_to(ROOT).as_posix() for path in DOCS.rglob("*.md"))
    return {path: path.removeprefix("docs/") for path in documents} | OUTSIDE


def _linked(path: str, pages: dict[str, str], shown: set[str], pictured: set[str]) -> str:
    """Return the text of a document with its links as they are on the site.

    The files that it links to are added to `pictured` if they are pictures, and to `shown` if they
    are neither that nor documents.
    """
    folder, page = posixpath.dirname(path), pages[path]

    def followed(match: re.Match[str]) -> str:
        file, hash_, anchor = match[2].partition("#")
        if not file or re.match(r"[a-z]+:", file):
            return match[0]
        linked = posixpath.normpath(posixpath.join(folder, file))
        if linked.endswith(PICTURES):
            pictured.add(linked)
            place = linked.removeprefix("docs/")
        elif linked in pages:
            place = pages[linked]
        else:
            shown.add(linked)
            place = f"files/{linked}.md"
        relative = posixpath.relpath(place, posixpath.dirname(page) or ".")
        return f"{match[1]}{relative}{hash_}{anchor}{match[3]}"

    return "".join(
        part if part.startswith("```") else _moving(_LINK.sub(followed, part))
        for part in _parts((ROOT / path).read_text(encoding="utf-8"))
    )


def _parts(text: str) -> Iterator[str]:
    """Yield prose and blocks of code in turn."""
    end = 0
    for match in _FENCE.finditer(text):
        yield text[end : match.start()]
        yield match[0]
        end = match.end()
    yield text[end:]


def _moving(prose: str) -> str:
    """Replace pictures that have a moving twin."""

    def replaced(match: re.Match[str]) -> str:
        twin = DOCS / f"{match[1]}.html"
        if not twin.exists():
            return match[0]
        return f"`````{{raw}} html\n{twin.read_text(encoding='utf-8')}`````"

    return _PICTURE.sub(replaced, prose)


def _shown(path: Path) -> str:
    """Return a page that shows a file, or lists a folder."""
    name = path.relative_to(ROOT).as_posix()
    if path.is_dir():
        listed = sorted(each.name for each in path.iterdir() if each.suffix)
        return f"# {name}\n\n" + "\n".join(f"* `{each}`" for each in listed) + "\n"
    language = LANGUAGES.get(path.suffix, "text")
    return f"# {name}\n\n`````{language}\n{path.read_text(encoding='utf-8').rstrip()}\n`````\n"


def _contents(names: list[str], option: str) -> str:
    """Return a table of contents; the names are those of pages, from the root."""
    entries = "\n".join(f"/{name}" for name in names)
    options = [":maxdepth: 1", *([":hidden:", option] if "caption" in option else [option])]
    lines = "\n".join(each for each in options if each)
    return f"\n```{{toctree}}\n{lines}\n\n{entries}\n```\n"


if __name__ == "__main__":
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    sys.exit(main())
